/* Tables of text: names, what columns become, categories, missing values, and a model's names; written by hand. */
#include "test/support.h"

#include <hinge/io.h>

#include <string.h>

static hinge_status parse(const char *text, const hinge_data_options *options, hinge_data *data)
{
    hinge_data_options csv = *options;
    csv.format = HINGE_FORMAT_CSV;
    return hinge_data_parse("t", text, strlen(text), &csv, data, &err);
}

/* Names with slashes behind them, the target's last. */
static void check_names(const hinge_data *data, const char *expected)
{
    char list[700] = "";
    for (size_t k = 0; k < data->names.count; k++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s/", data->names.word[k]);
    if (data->target != NULL)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s", data->target);
    assert_string_equal(list, expected);
}

/* Reads rows x cols values, each row's label first. */
static void check_table(const char *text, const hinge_data_options *options, size_t rows, size_t cols,
                        const char *names, const double *expected)
{
    hinge_data data;
    size_t nonzeros = 0;
    if (parse(text, options, &data) != HINGE_OK)
        fail_msg("%s", err.text);
    assert_int_equal(data.x.rows, rows);
    assert_int_equal(data.x.cols, cols);
    assert_int_equal(data.file_cols, cols);
    for (size_t i = 0; i < rows; i++) {
        assert_true(data.y[i] == *expected++);
        for (size_t j = 0; j < cols; j++) {
            double value = ((const double *)data.x.data)[i * data.x.stride + j];
            if (value != *expected)
                fail_msg("'%s' [%zu, %zu]: %g, not %g", text, i, j, value, *expected);
            nonzeros += *expected++ != 0;
        }
    }
    assert_int_equal(data.nonzeros, nonzeros);
    check_names(&data, names);
    hinge_data_free(&data);
    assert_null(data.target);
}

#define TABLE(text, rows, cols, names, options, ...) \
    check_table(text, &(hinge_data_options)options, rows, cols, names, (const double[]){ __VA_ARGS__ })
#define WITH(...) { __VA_ARGS__ }

static void check_refused(const char *text, const hinge_data_options *options, size_t line, const char *part)
{
    hinge_data data;
    hinge_data_options command = *options;
    if (parse(text, options, &data) == HINGE_OK)
        fail_msg("'%s' is read", text);
    assert_says(err.text, part);
    assert_null(strstr(err.text, "--"));
    assert_int_equal(err.line, line);
    command.as_command = 1;
    assert_true(parse(text, &command, &data) != HINGE_OK);
    assert_null(strstr(err.text, "drop_missing"));
    assert_null(strstr(err.text, "label_"));
    assert_null(strstr(err.text, "leave_out"));
}

#define REFUSED(text, line, part, ...) check_refused(text, &(hinge_data_options){ __VA_ARGS__ }, line, part)

static const char *const abc = "a,b,c\n1,2,3\n4,5,6\n";

TEST(columns_by_name)
{
    TABLE(abc, 2, 2, "b/c/a", WITH(0), 1, 2, 3, 4, 5, 6);
    TABLE(abc, 2, 2, "a/c/b", WITH(.label_name = "b"), 2, 1, 3, 5, 4, 6);
    TABLE(abc, 2, 2, "a/b/c", WITH(.label_name = "-1"), 3, 1, 2, 6, 4, 5);
    TABLE(abc, 2, 1, "c/b", WITH(.label_name = "b", .leave_out = "a"), 2, 3, 5, 6);
    TABLE(abc, 2, 1, "b/c", WITH(.label_name = "c", .take = "b"), 3, 2, 6, 5);
    TABLE(abc, 2, 1, "c/b", WITH(.leave_out = "1"), 2, 3, 5, 6);
    TABLE(abc, 2, 2, "a/b/c", WITH(.take = "1-2"), 3, 1, 2, 6, 4, 5);
    TABLE(abc, 2, 2, "b/c/", WITH(.take = "c,b", .no_labels = 1), 0, 2, 3, 0, 5, 6);
    TABLE(abc, 2, 0, "a", WITH(.take = ""), 1, 4);
    TABLE("2,1\n3,4\n", 2, 1, "", WITH(.take = "1"), 1, 2, 4, 3);
    TABLE("y,\"a,b\",a\n1,2,3\n", 1, 1, "a/y", WITH(.leave_out = "\"a,b\""), 1, 3);
    TABLE("y,2000,2001\n1,2,3\n", 1, 1, "2001/y", WITH(.header = 1, .leave_out = "2000"), 1, 3);
    TABLE("y,1,x\n1,2,3\n", 1, 2, "1/x/y", WITH(.label_name = "y"), 1, 2, 3); /* so that line 1 is a header */
    TABLE("y,,a\n1,2,3\n", 1, 2, "column 2/a/y", WITH(0), 1, 2, 3);
    TABLE("y,a,a\n1,2,3\n", 1, 2, "y", WITH(0), 1, 2, 3); /* names that are not all different are none */
    REFUSED(abc, 0, "label_name: there is no column 'd', only a, b, c", .label_name = "d");
    REFUSED(abc, 0, "label_name 'a,b': there can be one label", .label_name = "a,b");
    REFUSED(abc, 0, "leave_out: there is no column 'B'", .leave_out = "c,B");
    REFUSED(abc, 0, "take: '4': there are 3 columns", .take = "4");
    REFUSED(abc, 0, "take: '3-2': there are 3 columns", .take = "3-2");
    REFUSED(abc, 0, "take: '0': there are 3 columns", .take = "0");
    REFUSED(abc, 0, "leave_out: column 2 ('b') is the label", .label_name = "b", .leave_out = "b");
    REFUSED(abc, 0, "categories: column 2 ('b') is the label", .label_name = "b", .categories = "b");
    REFUSED("1,2\n3,4\n", 0, "line 1 is no header that has names", .label_name = "y", .header = -1);
    REFUSED("y,a,a\n1,2,3\n", 1, "take: 2 columns are called 'a'", .take = "a");
}

TEST(blanks)
{
    TABLE("1 2  3\n  4\t5 6  \n", 2, 2, "", WITH(0), 1, 2, 3, 4, 5, 6);
    TABLE("y \"a b\" c\r\n1 2 3\r\n", 1, 2, "a b/c/y", WITH(0), 1, 2, 3);
    TABLE("\"a\" \"y\"\n\"row 1\" 2 3\n\"row 2\" 4 5\n", 2, 1, "a/y",
          WITH(.label_name = "y", .leave_out = "1"), 3, 2, 5, 4);
    TABLE("a,y\n1,2,3\n2,4,5\n", 2, 2, "column 1/a/y", WITH(.label_name = "y"), 3, 1, 2, 5, 2, 4); /* as R's rows */
    REFUSED("1 2 3\n4 5\n", 2, "2 columns where line 1 has 3", 0);
    REFUSED("1 1:2 2:3\n", 1, "column 2: '1:2' is as in LIBSVM text: read it as such", 0);
}

TEST(categories)
{
    TABLE("y,c,d\n1,red,2\n2,blue,3\n1,red,4\n", 3, 3, "c=blue/c=red/d/y", WITH(.categories = "c"), 1, 0, 1, 2, 2, 1, 0,
          3, 1, 0, 1, 4);
    TABLE("1,u,1\n2,v,2\n", 2, 4, "column 2=u/column 2=v/column 3=1/column 3=2/",
          WITH(.categories = "2,3", .header = -1), 1, 1, 0, 1, 0, 2, 0, 1, 0, 1);
    TABLE("y,c\n1,\"a b\"\n2,?\n", 1, 1, "c=a b/y", WITH(.categories = "c", .drop_missing = 1), 1, 1);
    REFUSED("y,c\n1,\n2,a\n", 2, "missing value: column 2 ('c') is empty", .categories = "c");
    REFUSED("y,c,c\n1,a,a\n", 1, "two columns have the same name", .categories = "2-3");
    REFUSED("y,c,c\n1,a,2\n", 1, "two columns have the same name", .categories = "3"); /* c of numbers has no words */
    char word[501], text[16000] = "", name[600];
    memset(word, 'w', 500);
    word[500] = '\0';
    snprintf(text, sizeof text, "y,c\n1,%s\n", word);
    snprintf(name, sizeof name, "c=%s/y", word);
    TABLE(text, 1, 1, name, WITH(.categories = "c"), 1, 1);
    strcpy(text, "y,c\n");
    for (int k = 0; k < 1001; k++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "1,w%d\n", k);
    REFUSED(text, 0, "categories: column 2 ('c') has 1001 different words, 1000 at most", .categories = "c");
}

TEST(missing)
{
    static const char *const holes[] = { "", "NA", "na", "N/A", "NaN", "null", "NULL", "?", "\"\"", " " };
    char text[80];
    for (size_t k = 0; k < sizeof holes / sizeof *holes; k++) {
        snprintf(text, sizeof text, "y,a,b\n1,2,3\n4,%s,6\n%s,8,9\n2,1,0\n", holes[k], holes[k]);
        REFUSED(text, 3, "missing value: column 2 ('a') is ", 0);
        TABLE(text, 2, 2, "a/b/y", WITH(.drop_missing = 1), 1, 2, 3, 2, 1, 0);
        TABLE(text, 3, 1, "b/y", WITH(.drop_missing = 1, .leave_out = "a"), 1, 3, 4, 6, 2, 0);
        snprintf(text, sizeof text, "y,a\n%s,1\ncat,2\ndog,%s\nowl,4\n", holes[k], holes[k]);
        TABLE(text, 2, 1, "a/y", WITH(.drop_missing = 1), 1, 2, 2, 4);
    }
    hinge_data data;
    assert_int_equal(parse("1,NA\n,2\n3,4\n", &(hinge_data_options){ .drop_missing = 1 }, &data), HINGE_OK);
    assert_int_equal(data.dropped, 2);
    hinge_data_free(&data);
    REFUSED("y,a\n1,NA\n", 0, "no row is without a missing value", .drop_missing = 1);
    REFUSED("y,a\n1,NA\n1,b\n", 3, "'b' is not a number", .drop_missing = 1);
}

/* What is no number is called by its name; the label is thought of for a word, where nobody said which it is. */
TEST(cells)
{
    REFUSED("y,a\n1,2020-01-31\n", 2, "column 2 ('a'): '2020-01-31' is a date, not a number: leave the column out", 0);
    REFUSED("y,a\n1,31/1/2020\n", 2, "is a date", 0);
    REFUSED("y,a\n1,2020-01-31 12:00:00\n", 2, "is a date", 0);
    REFUSED("y;a\n1;-1,5\n", 2, "'-1,5' has a decimal comma: write points", 0);
    REFUSED("y,a\n1,TRUE\n", 2, "'TRUE' is a truth value, not a number: write 1 or 0", 0);
    REFUSED("y,a\n1,no\n", 2, "'no' is a truth value", 0);
    REFUSED("y,a\n1,cat\n", 2, "'cat' is not a number; the label is column 1 ('y') (label_column), and words", 0);
    REFUSED("y,a\n1,cat\n", 2, "'cat' is not a number; words can be made columns", .label_name = "y");
    REFUSED("y,a\n1,0x10\n", 2, "'0x10' is hexadecimal, which is not read here", 0);
    REFUSED("y,a\n0X10,1\n", 2, "'0X10' is hexadecimal", 0);
    REFUSED("y,a\n1,inf\n", 2, "'inf' is not finite", 0);
    REFUSED("y,a\n1,1:2\n", 2, "'1:2' is as in LIBSVM text", 0);
    REFUSED("y,a\n1,1-2-3-4\n", 2, "'1-2-3-4' is not a number", 0);
}

/* A model's names give columns their places, wherever they stand. */
TEST(names_of_a_model)
{
    static const char *list[] = { "c=blue", "c=red", "a", "b" };
    static const char *by_number[] = { "column 3", "column 2=u", "column 2=v" };
    const hinge_words names = { 4, list }, plain = { 2, list + 2 }, numbered = { 3, by_number };
    TABLE("b,id,c,y,a\n1,9,red,3,2\n5,9,blue,4,6\n", 2, 4, "c=blue/c=red/a/b/y", WITH(.names = &names, .target = "y"),
          3, 0, 1, 2, 1, 4, 1, 0, 6, 5);
    TABLE("b,c,a\n1,red,2\n", 1, 4, "c=blue/c=red/a/b/", WITH(.names = &names, .target = "y"), 0, 0, 1, 2, 1);
    TABLE("b,a\n1,2\n", 1, 2, "a/b/", WITH(.names = &plain), 0, 2, 1);
    TABLE("u,b,a\n3,1,2\n", 1, 2, "a/b/u", WITH(.names = &plain), 3, 2, 1);
    TABLE("b,a,u\n1,2,3\n", 1, 2, "a/b/u", WITH(.names = &plain, .target = "y", .label_name = "u"), 3, 2, 1);
    TABLE("3,1,2\n", 1, 2, "", WITH(.names = &plain, .target = "y"), 3, 1, 2); /* no header: by the order */
    TABLE("3,u,7\n4,v,8\n", 2, 3, "column 3/column 2=u/column 2=v/", WITH(.names = &numbered, .header = -1), 3, 7, 1, 0,
          4, 8, 0, 1); /* or by numbers, which are the names where a model has words of them */
    REFUSED("y,b,d\n3,1,2\n", 1, "there is no column 'a', which the model has", .names = &plain, .target = "y");
    REFUSED("b,c,a\n1,green,2\n", 2, "column 2 ('c'): 'green' is none of the categories that the model knows",
            .names = &names);
    REFUSED("b,a,a\n1,2,3\n", 1, "two columns are called 'a'", .names = &plain);
}

/* A model has its names from and to its file, on the line of which LIBSVM reads the first word. */
TEST(model_file)
{
    static const char *list[] = { "a b", "50%" }, *twice[] = { "a", "a" }, *empty[] = { "" };
    const double x[] = { 0, 0, 1, 1 }, y[] = { 1, 2 };
    const hinge_matrix rows = hinge_matrix_f64(x, 2, 2);
    hinge_params params = hinge_params_default(HINGE_C_SVC);
    hinge_model *model = NULL, *again = NULL;
    char *bytes, *plain;
    size_t size, plain_size;
    assert_int_equal(hinge_train(&model, &rows, y, &params, NULL, &err), HINGE_OK);
    assert_int_equal(hinge_model_format(model, &plain, &plain_size, &err), HINGE_OK);
    assert_null(hinge_model_names(model));
    assert_null(hinge_model_target(model));
    assert_int_equal(hinge_model_set_names(model, &(hinge_words){ 2, list }, "sort", &err), HINGE_OK);
    assert_int_equal(hinge_model_set_names(model, &(hinge_words){ 2, twice }, "sort", &err), HINGE_EINVAL);
    assert_int_equal(hinge_model_set_names(model, &(hinge_words){ 2, list }, "", &err), HINGE_EINVAL);
    assert_int_equal(hinge_model_set_names(model, &(hinge_words){ 1, empty }, NULL, &err), HINGE_EINVAL);
    assert_int_equal(hinge_model_set_names(model, &(hinge_words){ 3, list }, NULL, &err), HINGE_EINVAL);
    assert_int_equal(hinge_model_set_names(NULL, NULL, NULL, &err), HINGE_EINVAL);
    assert_int_equal(hinge_model_format(model, &bytes, &size, &err), HINGE_OK);
    assert_non_null(memmem(bytes, size, "\nSV hinge_names 2 1 a%20b 50%25 sort\n", 37));
    assert_int_equal(hinge_model_parse(&again, "m", bytes, size, NULL, &err), HINGE_OK);
    assert_int_equal(hinge_model_names(again)->count, 2);
    assert_string_equal(hinge_model_names(again)->word[0], "a b");
    assert_string_equal(hinge_model_names(again)->word[1], "50%");
    assert_string_equal(hinge_model_target(again), "sort");
    hinge_free(bytes);
    assert_int_equal(hinge_model_set_names(again, NULL, NULL, &err), HINGE_OK);
    assert_int_equal(hinge_model_format(again, &bytes, &size, &err), HINGE_OK);
    assert_int_equal(size, plain_size);
    assert_memory_equal(bytes, plain, size); /* without names a file is what it was */
    hinge_free(bytes);
    hinge_free(plain);
    hinge_model_free(model);
    hinge_model_free(again);
}

TEST(model_file_refuses)
{
    static const char head[] =
        "svm_type epsilon_svr\nkernel_type linear\nnr_class 2\ntotal_sv 1\nrho 0\nSV hinge_names";
    static const struct {
        const char *behind, *why;
    } cases[] = {
        { " 2 0 a\n", "hinge_names has fewer words than it says" },
        { " x 0 a\n", "hinge_names 'x' is not a count" },
        { " 1 2 a b c\n", "hinge_names '2' is not a count" },
        { " 2 0 a a\n", "'a' stands twice" },
        { " 3 0 a b c\n", "hinge_names: 3, and the model has 2 features" },
        { " 1 0 a%2\n", "is no word" },
        { " 1 0 a\x14\n", "hinge_names: 'a?' is empty or holds control characters" },
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char text[300];
        hinge_model *model = NULL;
        snprintf(text, sizeof text, "%s%s1 1:1 2:1\n", head, cases[k].behind);
        assert_int_equal(hinge_model_parse(&model, "m", text, strlen(text), NULL, &err), HINGE_EFORMAT);
        assert_says(err.text, cases[k].why);
        assert_int_equal(err.line, 6);
    }
}

/* Manifests: what their files hold is read as one file that has the rows of all, one file's after the other's. */
#include "hg_config.h"
#include "test/support.h"

#include <hinge/io.h>

static void write_text(const char *name, const char *text)
{
    write_file(path_of(name), text, strlen(text));
}

static const char *manifest(const char *lines)
{
    static char path[512];
    write_text("list.txt", lines);
    snprintf(path, sizeof path, "@%s", path_of("list.txt"));
    return path;
}

/* The same rows, labels and words, and the features that only a later file has are 0 in those before. */
static void assert_same_data(const hinge_data *a, const hinge_data *b)
{
    assert_int_equal(a->x.rows, b->x.rows);
    assert_int_equal(a->x.cols, b->x.cols);
    assert_int_equal(a->file_cols, b->file_cols);
    assert_int_equal(a->nonzeros, b->nonzeros);
    assert_int_equal(a->dropped, b->dropped);
    assert_int_equal(a->format, b->format);
    assert_int_equal(a->labelled, b->labelled);
    assert_int_equal(a->label_column, b->label_column);
    assert_int_equal(a->header, b->header);
    assert_int_equal(a->words.count, b->words.count);
    assert_int_equal(a->names.count, b->names.count);
    for (size_t k = 0; k < a->words.count; k++)
        assert_string_equal(a->words.word[k], b->words.word[k]);
    for (size_t k = 0; k < a->names.count; k++)
        assert_string_equal(a->names.word[k], b->names.word[k]);
    for (size_t i = 0; i < a->x.rows; i++) {
        assert_true(a->y[i] == b->y[i]);
        for (size_t c = 0; c < a->x.cols; c++)
            assert_true(((const double *)a->x.data)[i * a->x.stride + c] ==
                        ((const double *)b->x.data)[i * b->x.stride + c]);
    }
}

/* A manifest is read as `whole`, a file of its own. */
static void check_as(const char *lines, const char *name, const char *whole, hinge_data_options options)
{
    hinge_data all, one;
    assert_ok(hinge_data_read(manifest(lines), &options, &all, &err));
    write_text(name, whole);
    assert_ok(hinge_data_read(path_of(name), &options, &one, &err));
    assert_same_data(&all, &one);
    hinge_data_free(&all);
    hinge_data_free(&one);
}

TEST(test_text)
{
    char lines[1024], command[1024];
    write_text("a", "1 1:2\n-1 2:3\n");
    write_text("b", "1 4:7");
    write_text("c d", "-1 1:1 2:2\r\n1\r\n");
    check_as("a\nb\nc d\n", "whole", "1 1:2\n-1 2:3\n1 4:7\n-1 1:1 2:2\n1\n", (hinge_data_options){ 0 });
    check_as("# two\r\n\n  b \r\n\ta", "whole", "1 4:7\n1 1:2\n-1 2:3\n", (hinge_data_options){ .min_cols = 9 });
    check_as("b", "whole", "1 4:7\n", (hinge_data_options){ .drop_empty = 1 });
    if (HG_HAVE_ZLIB) {
        snprintf(command, sizeof command, "gzip -f -k '%s'", path_of("a"));
        assert_int_equal(system(command), 0);
    }
    snprintf(lines, sizeof lines, "%s\nb\na\n", path_of(HG_HAVE_ZLIB ? "a.gz" : "a")); /* the way from / on */
    check_as(lines, "whole", "1 1:2\n-1 2:3\n1 4:7\n1 1:2\n-1 2:3\n", (hinge_data_options){ 0 });
}

TEST(test_words)
{
    write_text("a", "cat 1:2\ndog 2:1\n");
    write_text("b", "hen 1:1\ndog 1:1\n");
    write_text("c", "ox\n");
    check_as("a\nb\nc\n", "whole", "cat 1:2\ndog 2:1\nhen 1:1\ndog 1:1\nox\n", (hinge_data_options){ 0 });
    check_as("c\nb\n", "whole", "ox\nhen 1:1\ndog 1:1\n", (hinge_data_options){ 0 });
}

TEST(test_tables)
{
    const hinge_data_options plain = { 0 }, missing = { .drop_missing = 1 };
    write_text("a.csv", "y,u,v\n1,2,3\n-1,3,\n");
    write_text("b.csv", "y,u,v\n1,5,6\n");
    write_text("c.csv", "-1,7,8\n1,9,10\n");
    write_text("none.csv", "y,u,v\n1,,6\n");
    check_as("b.csv\nb.csv\n", "whole.csv", "y,u,v\n1,5,6\n1,5,6\n", plain);
    check_as("a.csv\nb.csv\n", "whole.csv", "y,u,v\n1,2,3\n-1,3,\n1,5,6\n", missing);
    check_as("b.csv\nnone.csv\nb.csv\n", "whole.csv", "y,u,v\n1,5,6\n1,,6\n1,5,6\n", missing);
    check_as("b.csv\nc.csv\n", "whole.csv", "y,u,v\n1,5,6\n-1,7,8\n1,9,10\n", plain); /* as split leaves it */
}

/* An array of doubles from `first` on. */
static void write_npy(const char *name, size_t rows, size_t cols, double first)
{
    char bytes[1024] = "\x93NUMPY\x01\x00\x76\x00";
    int length =
        snprintf(bytes + 10, 118, "{'descr': '" NPY_F8 "', 'fortran_order': False, 'shape': (%zu, %zu), }", rows, cols);
    memset(bytes + 10 + length, ' ', 118 - (size_t)length);
    for (size_t k = 0; k < rows * cols; k++, first++)
        memcpy(bytes + 128 + 8 * k, &first, 8);
    write_file(path_of(name), bytes, 128 + 8 * rows * cols);
}

TEST(test_npy)
{
    char labels[512];
    hinge_data data;
    write_npy("a", 2, 3, 1);
    write_npy("b", 3, 3, 7);
    write_npy("y_a", 2, 1, 1);
    write_npy("y_b", 1, 3, 3);
    write_text("labels.txt", "y_a\ny_b\n");
    snprintf(labels, sizeof labels, "@%s", path_of("labels.txt"));
    hinge_data_options options = { .labels_path = labels };
    assert_ok(hinge_data_read(manifest("a\nb\n"), &options, &data, &err));
    assert_int_equal(data.x.rows, 5);
    assert_int_equal(data.labelled, 1);
    for (size_t k = 0; k < 15; k++)
        assert_true(((const double *)data.x.data)[k] == (double)k + 1);
    for (size_t i = 0; i < 5; i++)
        assert_true(data.y[i] == (double)i + 1);
    hinge_data_free(&data);
    assert_refused(hinge_data_read(manifest("a\nb\na\n"), &options, &data, &err), HINGE_EINVAL,
                   "2 files of labels for 3");
}

/* What is wrong is told by the file and the line where it is. */
static void check_refused(const char *lines, hinge_status status, const char *text, size_t line)
{
    hinge_data data;
    assert_refused(hinge_data_read(manifest(lines), NULL, &data, &err), status, text);
    assert_int_equal(err.line, line);
}

TEST(test_refused)
{
    write_text("a", "1 1:2\n-1 2:3\n");
    write_text("bad", "1 1:2\n1 2:x\n");
    write_text("words", "cat 1:2\n");
    write_text("no_pairs", "cat\n");
    write_text("empty", "");
    write_text("t.csv", "1,2,3\n");
    write_text("u.csv", "1,2\n");
    write_text("v.csv", "y,u,v\n1,2,3\n");
    write_text("w.csv", "y,v,u\n1,2,3\n");
    check_refused("a\nbad\n", HINGE_EFORMAT, "bad:2", 2);
    check_refused("a\n# more\nnone\n", HINGE_EFORMAT, "list.txt:3: there is no file", 3);
    check_refused("# nothing\n\n", HINGE_EFORMAT, "names no file", 0);
    check_refused("a\nempty\n", HINGE_EFORMAT, "empty: no rows", 0);
    check_refused("a\nwords\n", HINGE_EFORMAT, "words: labels are words, and those of", 0);
    check_refused("no_pairs\nno_pairs\n", HINGE_EFORMAT, "no_pairs:1: label 'cat'", 1);
    check_refused("a\nt.csv\n", HINGE_EFORMAT, "t.csv: this is CSV, and", 0);
    check_refused("t.csv\nu.csv\n", HINGE_EFORMAT, "u.csv: 1 features, and", 0);
    check_refused("v.csv\nw.csv\n", HINGE_EFORMAT, "w.csv: its features are not called", 0);
}

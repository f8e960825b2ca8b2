/* Tables of text: a model's names, in its file. */
#include "test/support.h"

#include <hinge/io.h>

#include <string.h>

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

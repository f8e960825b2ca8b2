/* Model files: LIBSVM's text to the letter, exact reloading, and what is refused and where. */
#include "lib/model/model.h"
#include "test/support.h"

#include <hinge/io.h>
#include <hinge/scaling.h>
#include <libsvm/svm.h>

#include <omp.h>
#include <sys/wait.h>
#include <unistd.h>

static int user_function(void *cookie, const hinge_matrix *a, const hinge_matrix *b, double *out, size_t ld)
{
    for (size_t i = 0; i < a->rows; i++)
        for (size_t j = 0; j < b->rows; j++)
            out[i * ld + j] = 1;
    return 0;
}

static struct hinge_model *parse_text(const char *text, size_t size, const hinge_kernel *user)
{
    struct hinge_model *model = NULL;
    assert_ok(hinge_model_parse(&model, "m", copy_of(text, size), size, user, &err));
    return given_back(model);
}

static void check_format(const struct hinge_model *model, const char *expected)
{
    struct text text = text_of(model);
    if (text.size != strlen(expected) || memcmp(text.bytes, expected, text.size) != 0)
        fail_msg("%.*s is not\n%s", (int)text.size, text.bytes, expected);
}

static void check_same(const void *a, const void *b, size_t count, size_t size)
{
    assert_true((a == NULL) == (b == NULL));
    if (a != NULL && count > 0)
        assert_memory_equal(a, b, count * size);
}

static void check_equal(const struct hinge_model *a, const struct hinge_model *b)
{
    assert_int_equal(a->task, b->task);
    assert_int_equal(a->kernel.type, b->kernel.type);
    hinge_kernel_type type = a->kernel.type; /* a file holds what its kernel uses */
    if (type == HINGE_POLYNOMIAL)
        assert_int_equal(a->kernel.degree, b->kernel.degree);
    if (type == HINGE_POLYNOMIAL || type == HINGE_RBF || type == HINGE_SIGMOID)
        assert_true(a->kernel.gamma == b->kernel.gamma);
    if (type == HINGE_POLYNOMIAL || type == HINGE_SIGMOID)
        assert_true(a->kernel.coef0 == b->kernel.coef0);
    assert_int_equal(a->d, b->d);
    assert_int_equal(a->n_classes, b->n_classes);
    assert_int_equal(a->n_problems, b->n_problems);
    assert_int_equal(a->n_sv, b->n_sv);
    check_same(a->labels, b->labels, a->n_classes, sizeof *a->labels);
    check_same(a->class_sv, b->class_sv, a->n_classes, sizeof *a->class_sv);
    check_same(a->rho, b->rho, a->n_problems, sizeof *a->rho);
    check_same(a->coef, b->coef, hg_model_coef_rows(a) * a->n_sv, sizeof *a->coef);
    assert_int_equal(a->sv_type, b->sv_type);
    check_same(a->sv, b->sv, a->n_sv * a->d, hg_size_of(a->sv_type));
    check_same(a->sv_serial, b->sv_serial, a->n_sv, sizeof *a->sv_serial);
    assert_int_equal(a->multiclass, b->multiclass);
    check_same(a->prob_a, b->prob_a, a->n_problems, sizeof *a->prob_a);
    check_same(a->prob_b, b->prob_b, a->n_problems, sizeof *a->prob_b);
    check_same(a->density_marks, b->density_marks, 10, sizeof *a->density_marks);
    check_same(a->scale_factor, b->scale_factor, a->d, sizeof *a->scale_factor);
    check_same(a->scale_offset, b->scale_offset, a->d, sizeof *a->scale_offset);
    check_same(a->scale_origin, b->scale_origin, a->d, sizeof *a->scale_origin);
    check_same(a->scale_base, b->scale_base, a->d, sizeof *a->scale_base);
}

/* Three classes, four SVs, three features; one SV is all 0, and the highest feature is used. */
static struct hinge_model *three_classes(hinge_kernel kernel)
{
    struct hinge_model *m = hg_model_new(HINGE_C_SVC, kernel, HINGE_ONE_VS_ONE, 3, 0, 4, 3, HINGE_F64);
    assert_non_null(m);
    const double rho[] = { 0.25, -1.0 / 3, 1e-20 }, labels[] = { 2, -1, 7 };
    const double coef[] = { 1, -0.5, -0.5, 0, 0.1, 0, 2, -1e-5 };
    const double sv[] = { 0.5, 0, -2, 0, 0, 0, 1, 1.0 / 3, 0, 0, 0, 1e22 };
    const size_t class_sv[] = { 2, 1, 1 };
    memcpy(m->rho, rho, sizeof rho);
    memcpy(m->labels, labels, sizeof labels);
    memcpy(m->class_sv, class_sv, sizeof class_sv);
    memcpy(m->coef, coef, sizeof coef);
    memcpy(m->sv, sv, sizeof sv);
    return given_back(m);
}

#define THREE_CLASSES                                                                                          \
    "nr_class 3\ntotal_sv 4\nrho 0.25 -0.3333333333333333 1e-20\nlabel 2 -1 7\nnr_sv 2 1 1\nSV\n"              \
    "1 0.1 1:0.5 3:-2 \n-0.5 0 \n-0.5 2 1:1 2:0.3333333333333333 \n0 -1e-05 3:1e+22 \n"

#define ONE_VS_REST                                                                                            \
    "svm_type c_svc\nkernel_type rbf\ngamma 0.5\nhinge_multiclass one_vs_rest\nnr_class 3\ntotal_sv 2\n"      \
    "rho 1 -1 0.5\nlabel 4 2 8\nnr_sv 1 0 1\nSV\n1 0 -0.25 1:1 2:0 \n-1 0.5 0 2:3 \n"

#define SCALED                                                                                                 \
    "svm_type c_svc\nkernel_type rbf\ngamma 0.5\nnr_class 2\ntotal_sv 2\nrho 1\nlabel 1 -1\nprobA -2\n"        \
    "probB 0.1\nnr_sv 1 1\nhinge_scale_factor 0.5 2 0\nhinge_scale_offset -1 0 3\n"                           \
    "hinge_scale_origin 0.5 -7 0\nhinge_scale_base 0 1 0\nSV\n1 1:1 3:0 \n-1 2:3 \n"

TEST(layout)
{
    const struct {
        hinge_kernel kernel;
        const char *text;
    } cases[] = {
        { hinge_kernel_linear(), "svm_type c_svc\nkernel_type linear\n" THREE_CLASSES },
        { hinge_kernel_polynomial(2, 0.5, -1),
          "svm_type c_svc\nkernel_type polynomial\ndegree 2\ngamma 0.5\ncoef0 -1\n" THREE_CLASSES },
        { hinge_kernel_rbf(0.1), "svm_type c_svc\nkernel_type rbf\ngamma 0.1\n" THREE_CLASSES },
        { hinge_kernel_sigmoid(0.5, 1),
          "svm_type c_svc\nkernel_type sigmoid\ngamma 0.5\ncoef0 1\n" THREE_CLASSES },
        { hinge_kernel_user("my-one", user_function, NULL),
          "svm_type c_svc\nkernel_type user\nhinge_kernel my-one\n" THREE_CLASSES },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hinge_model *model = three_classes(cases[i].kernel);
        check_format(model, cases[i].text);
        struct hinge_model *again = parse_text(cases[i].text, strlen(cases[i].text), &cases[i].kernel);
        check_equal(model, again);
        check_format(again, cases[i].text);
    }
}

TEST(regression_and_one_class)
{
    static const char *const texts[] = {
        "svm_type one_class\nkernel_type linear\nnr_class 2\ntotal_sv 1\nrho 0.5\nSV\n1 1:0.5 \n",
        "svm_type epsilon_svr\nkernel_type linear\nnr_class 2\ntotal_sv 2\nrho -3\nSV\n-1 2:0.5 \n1 \n",
        "svm_type nu_svr\nkernel_type rbf\ngamma 1\nnr_class 2\ntotal_sv 0\nrho 0\nSV\n",
        "svm_type nu_svc\nkernel_type linear\nnr_class 1\ntotal_sv 0\nrho\nlabel 5\nnr_sv 0\nSV\n",
        ("svm_type c_svc\nkernel_type linear\nnr_class 2\ntotal_sv 1\nrho 1\nhinge_label 0.5 3000000000\nnr_sv "
         "1 0\nSV\n"
         "1 1:1 \n"),
        ("svm_type c_svc\nkernel_type linear\nnr_class 2\ntotal_sv 1\nrho 1\nlabel -2147483648 "
         "2147483647\nnr_sv 1 0\n"
         "SV\n1 1:1 \n"),
        ("svm_type c_svc\nkernel_type precomputed\nnr_class 2\ntotal_sv 2\nrho 1\nlabel 1 -1\nnr_sv 1 1\nSV\n"
         "1 0:7 \n-1 0:3 \n"),
        /* calibrated */
        "svm_type epsilon_svr\nkernel_type linear\nnr_class 2\ntotal_sv 1\nrho -3\nprobA 0.5\nSV\n-1 2:0.5 \n",
        "svm_type one_class\nkernel_type linear\nnr_class 2\ntotal_sv 1\nrho 0.5\n"
        "prob_density_marks -5 -4 -3 -2 -1 1 2 3 4 5e-324\nSV\n1 1:0.5 \n",
        "svm_type c_svc\nkernel_type linear\nnr_class 1\ntotal_sv 0\nrho\nlabel 5\nprobA\nprobB\nnr_sv 0\nSV\n",
        ONE_VS_REST,
        "svm_type c_svc\nkernel_type linear\nhinge_multiclass one_vs_rest\nnr_class 3\ntotal_sv 0\nrho 1 2 3\n"
        "label 4 2 8\nprobA -1 -2 -3\nprobB 1 2 0\nnr_sv 0 0 0\nSV\n",
        SCALED,
        "svm_type epsilon_svr\nkernel_type linear\nnr_class 2\ntotal_sv 0\nrho 0\n"
        "hinge_training 4 0.5 0.1 0.001 0 1 -1 1 2 0.25\nSV\n",
        "svm_type nu_svr\nkernel_type linear\nnr_class 2\ntotal_sv 0\nrho 0\nhinge_scale_factor 1 2\n"
        "hinge_scale_offset 0 0.5\nSV\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct hinge_model *model = parse_text(texts[i], strlen(texts[i]), NULL);
        check_format(model, texts[i]);
    }
    struct hinge_model *model = parse_text(texts[6], strlen(texts[6]), NULL);
    assert_int_equal(model->sv_serial[0], 6);
    assert_int_equal(model->sv_serial[1], 2);
    assert_int_equal(model->d, 7);
}

/* How a model was trained goes through a file, the hard margin too. */
TEST(training_is_told)
{
    const double labels[] = { 2, -1 }, weights[] = { 0.5, 3 }, examples[] = { 1 };
    for (int hard = 0; hard < 2; hard++) {
        struct hinge_model *model = three_classes(hinge_kernel_rbf(0.1));
        hinge_params params = hinge_params_default(HINGE_C_SVC), told = { 0 };
        int weighted = -1;
        params.C = hard ? INFINITY : 7;
        params.nu = 0.25;
        params.p = 0.5;
        params.eps = 1e-5;
        params.no_bias = hard;
        params.n_class_weights = hard ? 0 : 2;
        params.class_labels = labels;
        params.class_weights = weights;
        params.weights = hard ? NULL : examples;
        assert_int_equal(hinge_model_training(model, &told, &weighted), 0);
        assert_int_equal(hinge_model_set_training(model, &params, NULL), HINGE_OK);
        struct hinge_model *again = written_and_read(model);
        assert_int_equal(hinge_model_training(again, &told, &weighted), 1);
        assert_true(told.task == HINGE_C_SVC && told.kernel.type == HINGE_RBF && told.kernel.gamma == 0.1);
        assert_true(told.C == params.C && told.nu == 0.25 && told.p == 0.5 && told.eps == 1e-5);
        assert_true(told.no_bias == hard && weighted == !hard && told.n_class_weights == params.n_class_weights);
        for (size_t k = 0; k < told.n_class_weights; k++)
            assert_true(told.class_labels[k] == labels[k] && told.class_weights[k] == weights[k]);
        assert_int_equal(hinge_model_set_training(again, NULL, NULL), HINGE_OK);
        assert_int_equal(hinge_model_training(again, &told, NULL), 0);
        params.task = HINGE_NU_SVC;
        assert_int_equal(hinge_model_set_training(model, &params, NULL), HINGE_EINVAL);
    }
}

/* Old files have %g; keys come in any order; CR LF. */
TEST(reads_other_layouts)
{
    static const char other[] =
        "total_sv 2\r\nnr_class 2\r\nprobA -1.5\r\nprobB 0.25\r\nkernel_type rbf\r\ngamma .25 \r\n"
        "label 1 -1\r\nnr_sv 1 1\r\nrho 1.23456e-05\r\nsvm_type c_svc\r\nSV\r\n"
        "+1 1:.5 3:0 \r\n-1e0 2:0x1p-1";
    struct hinge_model *model = parse_text(other, sizeof other - 1, NULL);
    assert_true(model->rho[0] == 1.23456e-05 && model->kernel.gamma == 0.25);
    assert_int_equal(model->d, 3); /* feature 3 is 0 everywhere, but it is there */
    const double sv[] = { 0.5, 0, 0, 0, 0.5, 0 }, coef[] = { 1, -1 };
    assert_memory_equal(model->sv, sv, sizeof sv);
    assert_memory_equal(model->coef, coef, sizeof coef);
    check_format(model, "svm_type c_svc\nkernel_type rbf\ngamma 0.25\nnr_class 2\ntotal_sv 2\nrho 1.23456e-05\n"
                        "label 1 -1\nprobA -1.5\nprobB 0.25\nnr_sv 1 1\nSV\n1 1:0.5 3:0 \n-1 2:0.5 \n");
    static const char density[] = "svm_type one_class\nkernel_type linear\nnr_class 2\ntotal_sv 1\nrho 1\n"
                                  "prob_density_marks 1 2 3 4 5 6 7 8 9 10\nSV\n1 1:1 \n";
    parse_text(density, sizeof density - 1, NULL);
}

static void check_refused(const char *text, const hinge_kernel *user, hinge_status expected, size_t line,
                          const char *part)
{
    struct hinge_model *model = (struct hinge_model *)(uintptr_t)8, *before = model;
    size_t size = strlen(text);
    const char *copy = copy_of(text, size);
    hinge_status status = hinge_model_parse(&model, "m", copy, size, user, &err);
    if (status != expected || err.line != line || strstr(err.text, part) == NULL || strncmp(err.text, "m:", 2) != 0)
        fail_msg("status %d, line %zu, '%s' where line %zu and '%s' are due", (int)status, err.line, err.text, line,
                 part);
    assert_ptr_equal(model, before);
    assert_int_equal(hinge_model_parse(&model, "m", copy, size, user, NULL), expected);
}

#define REFUSED(text, line, part) check_refused(text, NULL, HINGE_EFORMAT, line, part)
#define TYPES                     "svm_type c_svc\nkernel_type linear\n"
#define SIZES                     TYPES "nr_class 2\ntotal_sv 2\n"
#define CLASSES                   SIZES "rho 0\nlabel 1 -1\nnr_sv 1 1\n"

/* A model of a few columns far apart: files name them, and are read so without what lies between. */
TEST(few_columns)
{
    const size_t columns[] = { 3, 70, 1999999 }, bad[] = { 3, 3, 4 };
    struct hinge_model *model = three_classes(hinge_kernel_rbf(0.5));
    size_t n;
    assert_refused(hinge_model_set_columns(model, columns, 2, &err), HINGE_EINVAL, "columns: 2 of a model with 3");
    assert_refused(hinge_model_set_columns(model, bad, 3, &err), HINGE_EINVAL, "columns[1]: 3");
    assert_null(hinge_model_columns(model, &n));
    assert_int_equal(hinge_model_set_columns(model, columns, 3, &err), HINGE_OK);
    struct text text = text_of(model);
    assert_non_null(memmem(text.bytes, text.size, "3:0.5 1999999:-2", 16));
    struct hinge_model *again = parse_text(text.bytes, text.size, NULL);
    check_equal(model, again);
    assert_memory_equal(hinge_model_columns(again, &n), columns, sizeof columns);
    assert_int_equal(n, 3);
    /* one more, which is none of the file's */
    assert_int_equal(hinge_model_widen(again, 4, &err), HINGE_OK);
    struct text wider = text_of(again);
    assert_int_equal(wider.size, text.size);
    assert_memory_equal(wider.bytes, text.bytes, text.size);
    const double ones[] = { 1, 1, 1, 1 };
    assert_int_equal(hinge_model_set_scaling(again, ones, ones, &err), HINGE_EINVAL);
}

/* Words of labels: in the file, read back, and nothing to LIBSVM, which sees the numbers. */
TEST(words)
{
    const char *list[] = { "a cat", "dog", "50%", "p", "q", "r", "x" }, *bad[] = { "", "b" }, *twice[] = { "b", "b" };
    const hinge_words all = { 7, list }, few = { 2, list }, empty = { 2, bad }, same = { 2, twice };
    struct hinge_model *model = three_classes(hinge_kernel_rbf(0.5));
    assert_int_equal(hinge_model_set_words(model, &all, &err), HINGE_EINVAL);
    assert_string_equal(err.text, "words: there are 7, and the label -1 has none");
    model->labels[1] = 1;
    assert_int_equal(hinge_model_set_words(model, &few, &err), HINGE_EINVAL);
    assert_null(hinge_model_words(model));
    assert_int_equal(hinge_model_set_words(model, &all, &err), HINGE_OK);
    struct text text = text_of(model);
    assert_non_null(memmem(text.bytes, text.size, "\nlabel 2 1 7\n", 13));
    assert_non_null(memmem(text.bytes, text.size, "\nSV hinge_words a%20cat dog 50%25 p q r x\n", 42));
    struct hinge_model *again = parse_text(text.bytes, text.size, NULL);
    assert_int_equal(hinge_model_words(again)->count, 7);
    for (size_t k = 0; k < 7; k++)
        assert_string_equal(hinge_model_words(again)->word[k], list[k]);
    int labels[3];
    svm_get_labels(oracle_read(model).model, labels);
    assert_true(labels[0] == 2 && labels[1] == 1 && labels[2] == 7);
    assert_int_equal(hinge_model_set_words(again, NULL, &err), HINGE_OK);
    assert_null(hinge_model_words(again));
    model->labels[2] = 2; /* so that two words would do */
    assert_int_equal(hinge_model_set_words(model, &empty, &err), HINGE_EINVAL);
    assert_int_equal(hinge_model_set_words(model, &same, &err), HINGE_EINVAL);
    assert_string_equal(err.text, "words: 'b' stands twice");
    REFUSED(SIZES "rho 0\nlabel 2 2\nnr_sv 1 1\nSV\n1 1:1\n-1 1:2\n", 6, "names a class twice");
    REFUSED(SIZES "rho 0\nlabel 1 2\nnr_sv 1 1\nSV hinge_words a\n1 1:1\n-1 1:2\n", 8, "hinge_words: there are 1");
    REFUSED(SIZES "rho 0\nlabel 1 2\nnr_sv 1 1\nSV hinge_words a%2 b\n1 1:1\n-1 1:2\n", 8, "'a%2' is no word");
    REFUSED(SIZES "rho 0\nlabel 1 2\nnr_sv 1 1\nSV hinge_words a %0a\n1 1:1\n-1 1:2\n", 8, "control characters");
}

TEST(refuses_headers)
{
    REFUSED("", 0, "no line 'SV'");
    REFUSED(CLASSES, 0, "no line 'SV'");
    REFUSED("1 1:0.5\n", 1, "'1' is not a key");
    REFUSED("svm_type c_svc\n\n", 2, "'' is not a key");
    REFUSED(TYPES "colour red\n", 3, "'colour' is not a key");
    REFUSED(TYPES "svm_type c_svc\n", 3, "svm_type stands in line 1 already");
    REFUSED("kernel_type linear\nSV\n", 0, "svm_type is missing");
    REFUSED("svm_type c_svc\nSV\n", 0, "kernel_type is missing");
    REFUSED("svm_type x_svc\nSV\n", 1, "svm_type 'x_svc' is not known");
    REFUSED("svm_type\nSV\n", 1, "svm_type '' is not known");
    REFUSED("svm_type c_svc\nkernel_type cubic\nSV\n", 2, "kernel_type 'cubic' is not known");
    REFUSED("svm_type c_svc\nkernel_type rbf\nSV\n", 0, "gamma is missing");
    REFUSED("svm_type c_svc\nkernel_type rbf\ngamma -1\nSV\n", 3, "gamma '-1' is negative");
    REFUSED("svm_type c_svc\nkernel_type rbf\ngamma nan\nSV\n", 3, "gamma 'nan' is not a finite number");
    REFUSED("svm_type c_svc\nkernel_type rbf\ngamma 1 2\nSV\n", 3, "gamma '1 2'");
    REFUSED("svm_type c_svc\nkernel_type polynomial\ngamma 1\ncoef0 0\nSV\n", 0, "degree is missing");
    REFUSED("svm_type c_svc\nkernel_type polynomial\ndegree -3\nSV\n", 3, "degree '-3'");
    REFUSED("svm_type c_svc\nkernel_type polynomial\ndegree 3\ngamma 1\nSV\n", 0, "coef0 is missing");
    REFUSED(TYPES "total_sv 2\nSV\n", 0, "nr_class is missing");
    REFUSED(TYPES "nr_class 2\nSV\n", 0, "total_sv is missing");
    REFUSED(TYPES "nr_class 0\ntotal_sv 2\nSV\n", 3, "nr_class '0'");
    REFUSED(TYPES "nr_class -2\ntotal_sv 2\nSV\n", 3, "nr_class '-2'");
    REFUSED(TYPES "nr_class 99999999999999999999\ntotal_sv 2\nSV\n", 3, "nr_class '99999999999999999999'");
    REFUSED(TYPES "nr_class 2000000000\ntotal_sv 2\nrho 0\nSV\n", 5,
            "rho has 1 values, and nr_class 2000000000");
    REFUSED(SIZES "SV\n", 0, "rho is missing");
    REFUSED(SIZES "rho 1 2\nSV\n", 5, "rho has 2 values");
    REFUSED(SIZES "rho\nSV\n", 5, "rho has 0 values");
    REFUSED(SIZES "rho 0\nnr_sv 1 1\nSV\n", 0, "label is missing");
    REFUSED(SIZES "rho 0\nlabel 1\nnr_sv 1 1\nSV\n", 6, "label has 1 values");
    REFUSED(SIZES "rho 0\nlabel 1 -1\nSV\n", 0, "nr_sv is missing");
    REFUSED(SIZES "rho 0\nlabel 1 -1\nnr_sv 2\nSV\n", 7, "nr_sv has 1 values");
    REFUSED(SIZES "rho 0\nlabel 1 -1\nnr_sv 1 2\nSV\n", 7, "sum to 3, and total_sv is 2");
    REFUSED(SIZES "rho 0\nlabel 1 -1\nnr_sv 3 -1\nSV\n", 7, "nr_sv '3 -1'");
    REFUSED(SIZES "rho 0\nlabel 1 -1\nnr_sv 1 99999999999999999999\nSV\n", 7, "not all counts");
    REFUSED(SIZES "rho 0\nlabel 1 -1\nhinge_label 1 -1\nnr_sv 1 1\nSV\n", 7, "beside label");
    REFUSED(SIZES "rho nan\nlabel 1 -1\nnr_sv 1 1\nSV\n1 1:1\n-1 1:2\n", 5, "rho 'nan' is not finite");
    REFUSED(SIZES "rho x\nlabel 1 -1\nnr_sv 1 1\nSV\n1 1:1\n-1 1:2\n", 5, "rho 'x' is not a number");
    REFUSED(SIZES "rho 0\nlabel 1 0.5\nnr_sv 1 1\nSV\n1 1:1\n-1 1:2\n", 6,
            "label '1 0.5' are not all integers");
    REFUSED(SIZES "rho 0\nlabel 1 2147483648\nnr_sv 1 1\nSV\n1 1:1\n-1 1:2\n", 6, "not all integers");
    REFUSED("svm_type nu_svr\nkernel_type linear\nnr_class 3\ntotal_sv 2\nrho 0\nSV\n", 3,
            "nr_class '3' is not 2");
    REFUSED("svm_type nu_svr\nkernel_type linear\nnr_class 2\ntotal_sv 2\nrho 0\nlabel 1 2\nSV\n", 6,
            "label '1 2' of a task that has no classes");
    REFUSED(TYPES "nr_class 1\ntotal_sv 1\nrho\nlabel 1\nnr_sv 1\nSV\n1:1\n", 4,
            "total_sv '1' with nr_class 1");
    /* what made LIBSVM write behind its arrays */
    REFUSED(TYPES "nr_class 2\ntotal_sv 1\nrho 0\nlabel 1 -1\nnr_sv 1000000 0\nSV\n1 1:1\n", 7,
            "sum to 1000000");
    REFUSED(TYPES "nr_class 2\ntotal_sv 1000000\nrho 0\nlabel 1 -1\nnr_sv 1000000 0\nSV\n1 1:1\n", 10,
            "1 support vectors, and total_sv is 1000000");
}

#define ONE_CLASS_SIZES "svm_type one_class\nkernel_type linear\nnr_class 2\ntotal_sv 1\nrho 0\n"
#define SVR_SIZES       "svm_type nu_svr\nkernel_type linear\nnr_class 2\ntotal_sv 1\nrho 0\n"
#define ONE_SV          "SV\n1 1:1\n"

TEST(refuses_calibration)
{
    REFUSED(CLASSES "probA 1 2\nprobB 1\nSV\n1 1:1\n-1 1:2\n", 8, "probA has 2 values");
    REFUSED(CLASSES "probA 1\nprobB\nSV\n1 1:1\n-1 1:2\n", 9, "probB has 0 values");
    REFUSED(CLASSES "probA 1\nSV\n1 1:1\n-1 1:2\n", 0, "probB is missing");
    REFUSED(CLASSES "probB 1\nSV\n1 1:1\n-1 1:2\n", 0, "probA is missing");
    REFUSED(CLASSES "probA 1\nprobB inf\nSV\n1 1:1\n-1 1:2\n", 9, "probB 'inf' is not finite");
    REFUSED(CLASSES "probA one\nprobB 1\nSV\n1 1:1\n-1 1:2\n", 8, "probA 'one' is not a number");
    REFUSED(CLASSES "prob_density_marks 1 2 3 4 5 6 7 8 9 10\nSV\n1 1:1\n-1 1:2\n", 8,
            "of a model that has none");
    REFUSED(ONE_CLASS_SIZES "probA 1\n" ONE_SV, 6, "probA '1' of a model that has none");
    REFUSED(ONE_CLASS_SIZES "prob_density_marks 1 2 3\n" ONE_SV, 6, "prob_density_marks has 3 values");
    REFUSED(ONE_CLASS_SIZES "prob_density_marks 1 2 3 4 5 6 7 8 9 x\n" ONE_SV, 6, "prob_density_marks 'x'");
    REFUSED(SVR_SIZES "probA -1\n" ONE_SV, 6, "negative");
    REFUSED(SVR_SIZES "probA 1 2\n" ONE_SV, 6, "probA has 2 values");
    REFUSED(SVR_SIZES "probA 1\nprobB 1\n" ONE_SV, 7, "probB '1' of a model that has none");
}

TEST(refuses_our_own)
{
    REFUSED(CLASSES "hinge_multiclass one_vs_rest\nSV\n1 1:1\n-1 1:2\n", 8, "less than three classes");
    REFUSED(SVR_SIZES "hinge_multiclass one_vs_rest\n" ONE_SV, 6, "less than three classes");
    REFUSED(CLASSES "hinge_multiclass all\nSV\n1 1:1\n-1 1:2\n", 8, "hinge_multiclass 'all' is not known");
    REFUSED(TYPES "hinge_multiclass one_vs_rest\nnr_class 4\ntotal_sv 1\nrho 1 2 3 4 5 6\nSV\n", 6,
            "rho has 6 values, and nr_class 4 asks for 4");
    REFUSED(TYPES "hinge_multiclass one_vs_rest\nnr_class 3\ntotal_sv 1\nrho 1 2 3\nlabel 1 2 3\nnr_sv 1 0 0\n"
                  "probA 1 2\nprobB 1 2 3\nSV\n1 2 3 1:1\n",
            9, "probA has 2 values");
    REFUSED(TYPES "hinge_multiclass one_vs_rest\nnr_class 3\ntotal_sv 1\nrho 1 2 3\nlabel 1 2 3\nnr_sv 1 0 0\n"
                  "SV\n1 2 1:1\n",
            10, "coefficient");
    REFUSED(SVR_SIZES "hinge_training 1 1 1 1 0\n" ONE_SV, 6, "not as many values");
    REFUSED(SVR_SIZES "hinge_training 1 1 1 1 0 0 3\n" ONE_SV, 6, "not as many values");
    REFUSED(SVR_SIZES "hinge_training 1 1 1 -1 0 0\n" ONE_SV, 6, "a negative number");
    REFUSED(SVR_SIZES "hinge_training 1 1 1 1 0 0 -3 -2\n" ONE_SV, 6, "a negative number");
    REFUSED(SVR_SIZES "hinge_scale_factor 1\n" ONE_SV, 0, "hinge_scale_offset is missing");
    REFUSED(SVR_SIZES "hinge_scale_offset 1\n" ONE_SV, 0, "hinge_scale_factor is missing");
    REFUSED(SVR_SIZES "hinge_scale_origin 1\n" ONE_SV, 0, "hinge_scale_base is missing");
    REFUSED(SVR_SIZES "hinge_scale_factor 1 1\nhinge_scale_offset 1\n" ONE_SV, 7,
            "hinge_scale_offset has 1 values");
    REFUSED(SVR_SIZES "hinge_scale_factor 1\nhinge_scale_offset nan\n" ONE_SV, 7, "hinge_scale_offset 'nan'");
    REFUSED(SVR_SIZES "hinge_scale_factor 1\nhinge_scale_offset 1\nSV\n1 2:1\n", 6,
            "hinge_scale_factor has 1 values, and the support vectors 2 features");
    REFUSED("svm_type nu_svr\nkernel_type precomputed\nnr_class 2\ntotal_sv 1\nrho 0\nhinge_scale_factor 1\n"
            "hinge_scale_offset 1\nSV\n1 0:1\n",
            6, "with a precomputed kernel");
    /* a feature more than the vectors name is one that is 0 there */
    static const char wide[] = SVR_SIZES "hinge_scale_factor 1 2\nhinge_scale_offset 0 1\n" ONE_SV;
    struct hinge_model *model = parse_text(wide, sizeof wide - 1, NULL);
    assert_int_equal(model->d, 2);
    assert_true(hg_model_value(model, 0, 0) == 1 && hg_model_value(model, 0, 1) == 0);
}

TEST(refuses_bodies)
{
    REFUSED(CLASSES "SV\n", 9, "0 support vectors, and total_sv is 2");
    REFUSED(CLASSES "SV\n1 1:1\n", 10, "1 support vectors");
    REFUSED(CLASSES "SV\n1 1:1\n-1 1:1\n1 1:1\n", 11, "3 support vectors");
    REFUSED(CLASSES "SV\n1 1:1\n\n", 10, "coefficient '' is not a number");
    REFUSED(CLASSES "SV\n1 1:1\nx 1:1\n", 10, "coefficient 'x' is not a number");
    REFUSED(CLASSES "SV\n1:1\n1 1:1\n", 9, "coefficient '1:1' is not a number");
    REFUSED(CLASSES "SV\n1 1:1\n-inf 1:1\n", 10, "coefficient '-inf' is not finite");
    REFUSED(CLASSES "SV\n1 2 1:1\n1 1:1\n", 9, "'2' is not index:value");
    REFUSED(CLASSES "SV\n1 1:1\n-1 1:nan\n", 10, "value 'nan' of index 1 is not finite");
    REFUSED(CLASSES "SV\n1 2:1 1:1\n-1 1:1\n", 9, "index 1 after 2");
    REFUSED(CLASSES "SV\n1 2:1 2:1\n-1 1:1\n", 9, "index 2 stands twice");
    REFUSED(CLASSES "SV\n1 0:1\n-1 1:1\n", 9, "index 0");
    REFUSED(CLASSES "SV\n1 4294967297:1\n-1 1:1\n", 9, "'4294967297:1' exceeds");
#define KERNEL_VALUES                                                                                          \
    "svm_type c_svc\nkernel_type precomputed\nnr_class 2\ntotal_sv 2\nrho 0\nlabel 1 -1\nnr_sv 1 1\nSV\n"
    REFUSED(KERNEL_VALUES "1 0:1\n-1 1:1\n", 10, "0:serial");
    REFUSED(KERNEL_VALUES "1 0:1\n-1 0:0\n", 10, "serial number");
    REFUSED(KERNEL_VALUES "1 0:1.5\n-1 0:1\n", 9, "serial number");
    /* little text, much memory */
    static char text[60000];
    size_t n = (size_t)sprintf(text, TYPES "nr_class 2\ntotal_sv 2000\nrho 0\nlabel 1 -1\nnr_sv 1000 1000\nSV\n");
    for (int i = 0; i < 2000; i++)
        n += (size_t)sprintf(text + n, "1 1000000000:1\n");
    struct hinge_model *wide = parse_text(text, n, NULL); /* of one column, which is far away */
    size_t columns;
    assert_int_equal(wide->d, 1);
    assert_int_equal(hinge_model_columns(wide, &columns)[0], 1000000000);
    assert_int_equal(columns, 1);
}

TEST(user_kernels)
{
    static const char text[] =
        "svm_type one_class\nkernel_type user\nhinge_kernel mine\nnr_class 2\ntotal_sv 1\nrho 1\n"
        "SV\n1 1:1 \n";
    int cookie;
    const hinge_kernel mine = hinge_kernel_user("mine", user_function, &cookie);
    const hinge_kernel other = hinge_kernel_user("other", user_function, NULL), rbf = hinge_kernel_rbf(1);
    struct hinge_model *model = parse_text(text, sizeof text - 1, &mine);
    assert_ptr_equal(model->kernel.cookie, &cookie);
    assert_true(model->kernel.user == user_function);
    check_format(model, text);
    check_refused(text, NULL, HINGE_EINVAL, 3, "'mine'");
    check_refused(text, &rbf, HINGE_EINVAL, 3, "'mine'");
    check_refused(text, &other, HINGE_EINVAL, 3, "'mine', not 'other'");
    REFUSED("svm_type one_class\nkernel_type user\nnr_class 2\ntotal_sv 1\nrho 1\nSV\n1 1:1 \n", 0,
            "hinge_kernel is missing");
}

/* A beginning of a good file is refused, until but the last digits are missing. */
TEST(truncated)
{
    static const char text[] = "svm_type c_svc\nkernel_type rbf\ngamma 0.1\n" THREE_CLASSES;
    size_t last_line = (size_t)(strstr(text, "0 -1e-05 3:1e+22") - text);
    for (size_t size = 0; size < sizeof text - 1; size++) {
        struct hinge_model *model = NULL;
        hinge_status status = hinge_model_parse(&model, "m", copy_of(text, size), size, NULL, NULL);
        if (status != HINGE_EFORMAT && size < last_line + 3)
            fail_msg("%zu bytes are taken for a model", size);
        hinge_model_free(model);
    }
}

/* Random edits must be refused or read, under sanitizers without complaint. No ':' among them, so that no index
 * is so large that it takes much memory. */
TEST(damaged)
{
    static const char *const texts[] = { "svm_type c_svc\nkernel_type rbf\ngamma 0.1\n" THREE_CLASSES,
                                         ONE_VS_REST, SCALED };
    static const char bytes[] = "0123456789 .-+e\n\r\t#\0x";
    uint64_t seed = 9;
    for (int i = 0; i < 30000; i++) {
        size_t size = strlen(texts[i % 3]);
        char *copy = copy_of(texts[i % 3], size);
        for (int k = 0; k < 1 + i / 3 % 3; k++) {
            char c = bytes[hg_random_below(&seed, sizeof bytes)];
            copy[hg_random_below(&seed, size)] = c;
        }
        struct hinge_model *model = NULL;
        hinge_status status = hinge_model_parse(&model, "m", copy, size, NULL, NULL);
        assert_true(status == HINGE_OK || status == HINGE_EFORMAT || status == HINGE_ENOMEM);
        hinge_model_free(model);
    }
}

/* A model large enough for several chunks and threads, of awkward numbers. */
struct pieces { /* of a text; of which all but `most` are refused */
    struct text whole;
    size_t at, count, most;
};

static int compare_piece(void *arg, const char *bytes, size_t size)
{
    struct pieces *p = arg;
    assert_true(p->at + size <= p->whole.size);
    assert_memory_equal(bytes, p->whole.bytes + p->at, size);
    p->at += size;
    return ++p->count > p->most;
}

TEST(saves_exactly)
{
    enum { N = 3000, D = 50 };
    struct hinge_model *model =
        hg_model_new(HINGE_C_SVC, hinge_kernel_rbf(1.0 / 3), HINGE_ONE_VS_ONE, 2, 0, N, D, HINGE_F64);
    assert_non_null(model);
    uint64_t seed = 7;
    model->labels[0] = 1;
    model->labels[1] = 1e300;
    model->class_sv[0] = 1000;
    model->class_sv[1] = N - 1000;
    model->rho[0] = -5e-324;
    for (size_t i = 0; i < N; i++)
        model->coef[i] = ldexp((double)(hg_random(&seed) | 1), -(int)(hg_random(&seed) % 200));
    double *sv = model->sv;
    for (size_t i = 0; i < (size_t)N * D; i++)
        sv[i] = hg_random(&seed) % 3 == 0 ? ldexp(-(double)hg_random(&seed), -(int)(hg_random(&seed) % 90)) : 0;
    sv[D - 1] = 1;
    struct hinge_model *again = NULL;
    assert_ok(hinge_model_save(given_back(model), path_of("model"), &err));
    assert_ok(hinge_model_load(&again, path_of("model"), NULL, &err));
    check_equal(model, given_back(again));
    assert_int_equal(hinge_model_load(&again, "/nowhere/at/all", NULL, &err), HINGE_EIO);
    assert_int_equal(hinge_model_save(NULL, path_of("model"), &err), HINGE_EINVAL);
    struct pieces pieces = { .whole = text_of(model), .most = SIZE_MAX };
    assert_ok(hinge_model_write(model, compare_piece, &pieces, &err));
    assert_true(pieces.at == pieces.whole.size && pieces.count > 2);
    pieces.at = pieces.count = 0, pieces.most = 1;
    assert_int_equal(hinge_model_write(model, compare_piece, &pieces, &err), HINGE_ECALLBACK);
    assert_true(pieces.count == 2);
    assert_int_equal(hinge_model_write(model, NULL, NULL, &err), HINGE_EINVAL);
    assert_int_equal(hinge_model_write(NULL, compare_piece, &pieces, &err), HINGE_EINVAL);
}

/* ---- LIBSVM reads ours, we read LIBSVM's --------------------------------------------------------------- */

TEST(libsvm_reads_ours)
{
    const hinge_kernel kernels[] = { hinge_kernel_linear(), hinge_kernel_polynomial(2, 0.5, -1),
                                     hinge_kernel_rbf(0.1), hinge_kernel_sigmoid(0.5, 1) };
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        struct hinge_model *model = three_classes(kernels[k]);
        const struct svm_model *theirs = oracle_read(model).model;
        assert_int_equal(theirs->l, 4);
        assert_int_equal(theirs->nr_class, 3);
        assert_int_equal(theirs->param.kernel_type, kernels[k].type);
        for (int p = 0; p < 3; p++) {
            assert_true(theirs->rho[p] == model->rho[p]);
            assert_true(theirs->label[p] == (int)model->labels[p]);
            assert_int_equal(theirs->nSV[p], model->class_sv[p]);
        }
        for (size_t i = 0; i < 4; i++) {
            double row[3] = { 0 };
            for (const struct svm_node *node = theirs->SV[i]; node->index != -1; node++)
                row[node->index - 1] = node->value;
            assert_memory_equal(row, (double *)model->sv + 3 * i, sizeof row);
            assert_true(theirs->sv_coef[0][i] == model->coef[i] && theirs->sv_coef[1][i] == model->coef[4 + i]);
        }
    }
    /* what LIBSVM has no words for, it refuses */
    struct hinge_model *model = three_classes(hinge_kernel_linear());
    model->labels[0] = 0.5;
    assert_true(oracle_refuses(model));
}

static void check_theirs(const struct svm_model *theirs)
{
    struct hinge_model *ours = NULL;
    assert_int_equal(svm_save_model(path_of("model"), theirs), 0);
    assert_ok(hinge_model_load(&ours, path_of("model"), NULL, &err));
    given_back(ours);
    assert_int_equal(ours->task, theirs->param.svm_type);
    assert_int_equal(ours->kernel.type, theirs->param.kernel_type);
    assert_int_equal(ours->n_classes, theirs->nr_class);
    assert_int_equal(ours->n_sv, theirs->l);
    for (size_t p = 0; p < ours->n_problems; p++)
        assert_true(fabs(ours->rho[p] - theirs->rho[p]) <= 1e-5 * fabs(theirs->rho[p]));
    assert_true((ours->prob_a != NULL) == (theirs->probA != NULL));
    assert_true((ours->prob_b != NULL) == (theirs->probB != NULL));
    for (size_t p = 0; p < ours->n_problems && ours->prob_a != NULL; p++) {
        assert_true(fabs(ours->prob_a[p] - theirs->probA[p]) <= 1e-5 * fabs(theirs->probA[p]));
        if (ours->prob_b != NULL)
            assert_true(fabs(ours->prob_b[p] - theirs->probB[p]) <= 1e-5 * fabs(theirs->probB[p]));
    }
    for (size_t i = 0; i < ours->n_classes && ours->labels != NULL; i++) {
        assert_true(ours->labels[i] == theirs->label[i]);
        assert_int_equal(ours->class_sv[i], theirs->nSV[i]);
    }
    for (size_t i = 0; i < ours->n_sv; i++) {
        for (size_t m = 0; m < hg_model_coef_rows(ours); m++)
            assert_true(fabs(ours->coef[m * ours->n_sv + i] - theirs->sv_coef[m][i]) <=
                        1e-15 * fabs(theirs->sv_coef[m][i]));
        for (const struct svm_node *node = theirs->SV[i]; node->index != -1; node++) {
            if (ours->sv_serial != NULL)
                assert_int_equal(ours->sv_serial[i] + 1, (int)node->value);
            else
                assert_true(fabs(hg_model_value(ours, i, (size_t)node->index - 1) - node->value) <=
                            1e-7 * fabs(node->value));
            if (ours->sv_serial != NULL)
                break;
        }
    }
}

TEST(reads_libsvm)
{
    const double labels[] = { 0, 1, 2 };
    struct set set = set_blobs(11, 60, 4, 3, labels, 1), kernel_values = set;
    kernel_values.d = set.n;
    kernel_values.x = plain_gram(&(hinge_kernel){ .type = HINGE_LINEAR }, &set, &set);
    for (int task = HINGE_C_SVC; task <= HINGE_NU_SVR; task++)
        for (int type = HINGE_LINEAR; type <= HINGE_PRECOMPUTED; type++)
            for (int probability = 0; probability < 2; probability++) {
                hinge_params params = hinge_params_default((hinge_task)task);
                params.kernel = hinge_kernel_polynomial(2, 0.3, 0.1);
                params.kernel.type = (hinge_kernel_type)type;
                params.nu = 0.4;
                params.probability = probability && task != HINGE_ONE_CLASS;
                if (type != HINGE_SIGMOID || task != HINGE_NU_SVC) /* may be unbounded */
                    check_theirs(oracle_train(type == HINGE_PRECOMPUTED ? &kernel_values : &set, &params).model);
            }
    for (size_t i = 0; i < set.n; i++) /* one class only */
        set.y[i] = 4;
    hinge_params params = hinge_params_default(HINGE_C_SVC);
    check_theirs(oracle_train(&set, &params).model);
}

/* A child has not the threads that its parent's regions left: what asks for more than one of them waits for ever. */
TEST(files_after_a_fork)
{
    enum { N = 2500, D = 40, SMALL = 50 };
    double *points = get((size_t)N * D, sizeof *points), y[N];
    for (size_t i = 0; i < (size_t)N * D; i++)
        points[i] = sin(7.0 * (double)i * (double)i);
    for (size_t i = 0; i < N; i++)
        y[i] = i % 2 == 0 ? 1 : -1;
    for (size_t n = SMALL; n <= N; n += N - SMALL) {
        hinge_matrix x = hinge_matrix_f64(points, n, D);
        hinge_params params = hinge_params_default(HINGE_C_SVC);
        params.threads = 2;
        params.C = 0.01; /* all rows are support vectors */
        const hinge_model *model = trained(&x, y, &params, NULL);
        omp_set_num_threads(2);
        struct text text = text_of(model);
        assert_int_equal(hinge_model_n_sv(model), n);
        pid_t child = fork();
        if (child == 0) {
            alarm(60);
            if (n > SMALL) /* what is worth threads goes by the caller's */
                omp_set_num_threads(1);
            _exit(!same_text(text, text_of(parse_text(text.bytes, text.size, NULL))));
        }
        int status = -1;
        assert_true(waitpid(child, &status, 0) == child);
        assert_int_equal(status, 0);
    }
}

/*
 * The interface of LIBSVM on top of hinge, through compat/svm.h alone: golden values, the structs' meaning,
 * refusals, model files (of LIBSVM's svm-train too, where it is installed), prediction from the public fields.
 */
#include "test/folder.h"
#include "test/golden.h"
#include "test/tests.h"

#include <hinge/compat/svm.h>
#include <hinge/hinge.h>
#include <hinge/io.h>

#include <limits.h>
#include <locale.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- what the tests share -------------------------------------------------------------------------------- */

static char printed[1 << 16];

static void keep_text(const char *text)
{
    size_t used = strlen(printed);
    snprintf(printed + used, sizeof printed - used, "%s", text);
}

/* The number behind the last occurrence of a word. */
static double printed_number(const char *word)
{
    const char *found = NULL;
    for (const char *p = printed; (p = strstr(p, word)) != NULL; p++)
        found = p;
    if (found == NULL)
        fail_msg("no '%s' in: %s", word, printed);
    return strtod(found + strlen(word), NULL);
}

static void near(double a, double b, double tolerance, const char *what)
{
    if (!(fabs(a - b) <= tolerance))
        fail_msg("%s: %.12g, but %.12g expected, within %g", what, a, b, tolerance);
}

static void *kept[400]; /* until the end of the test */
static size_t n_kept;
static struct svm_model *models[80];
static size_t n_models;

static void *keep(size_t size)
{
    assert_true(n_kept < sizeof kept / sizeof *kept);
    return kept[n_kept++] = malloc(size);
}

static struct svm_model *kept_model(struct svm_model *model)
{
    assert_non_null(model);
    assert_true(n_models < sizeof models / sizeof *models);
    return models[n_models++] = model;
}

static int set_up(void **state)
{
    printed[0] = 0;
    svm_set_print_string_function(keep_text);
    return 0;
}

static int give_back(void **state)
{
    while (n_kept > 0)
        free(kept[--n_kept]);
    while (n_models > 0)
        svm_free_and_destroy_model(&models[--n_models]);
    return remove_folder();
}

#undef TEST
#define TEST(name) TEST_WITH(name, set_up, give_back)

/* A problem and what it points into, which is kept. */
struct set {
    struct svm_problem prob;
    struct svm_node *nodes;
    size_t d;
    double *x; /* [l * d], dense */
};

/* Zeros are left out, as in a file; keep_zeros: all nodes stand there. */
static struct set set_of(const double *x, const double *y, size_t n, size_t d, bool keep_zeros)
{
    struct set s = { { (int)n, keep(n * sizeof(double)), keep(n * sizeof(struct svm_node *)) },
                     keep(n * (d + 2) * sizeof(struct svm_node)), d, keep(n * d * sizeof(double)) };
    struct svm_node *node = s.nodes;
    memcpy(s.prob.y, y, n * sizeof(double));
    memcpy(s.x, x, n * d * sizeof(double));
    for (size_t i = 0; i < n; i++) {
        s.prob.x[i] = node;
        for (size_t c = 0; c < d; c++)
            if (x[i * d + c] != 0 || keep_zeros)
                *node++ = (struct svm_node){ (int)c + 1, x[i * d + c] };
        *node++ = (struct svm_node){ -1, 0 };
    }
    return s;
}

/* n rows from a file of LIBSVM's, of another one behind it where named; features scaled to [0, 1] on
 * request. */
static struct set set_read(const char *where, const char *first, const char *second, size_t n, bool scale)
{
    const char *name[] = { first, second };
    double *x = NULL, *y = NULL;
    size_t rows = 0, d = 0;
    for (int k = 0; k < 2 && name[k] != NULL; k++) {
        char path[1024];
        hinge_error err;
        hinge_data data;
        snprintf(path, sizeof path, "%s/%s", where, name[k]);
        if (hinge_data_read(path, NULL, &data, &err) != HINGE_OK)
            fail_msg("%s", err.text);
        d = data.x.cols;
        x = realloc(x, (rows + data.x.rows) * d * sizeof *x);
        y = realloc(y, (rows + data.x.rows) * sizeof *y);
        for (size_t i = 0; i < data.x.rows; i++)
            memcpy(x + (rows + i) * d, (const double *)data.x.data + i * data.x.stride, d * sizeof *x);
        memcpy(y + rows, data.y, data.x.rows * sizeof *y);
        rows += data.x.rows;
        hinge_data_free(&data);
    }
    rows = n > 0 && n < rows ? n : rows;
    for (size_t c = 0; c < d && scale; c++) {
        double low = INFINITY, high = -INFINITY;
        for (size_t i = 0; i < rows; i++) {
            low = fmin(low, x[i * d + c]);
            high = fmax(high, x[i * d + c]);
        }
        for (size_t i = 0; i < rows; i++)
            x[i * d + c] = high > low ? (x[i * d + c] - low) / (high - low) : 0;
    }
    struct set s = set_of(x, y, rows, d, false);
    free(x);
    free(y);
    return s;
}

static struct set shipped(const char *file, size_t n, bool scale)
{
    char data[512];
    const char *source = getenv("HINGE_SOURCE");
    snprintf(data, sizeof data, "%s/data", source != NULL ? source : ".");
    return set_read(data, file, NULL, n, scale);
}

static struct svm_parameter parameters(int svm_type, int kernel_type, double gamma)
{
    return (struct svm_parameter){ svm_type, kernel_type, 3, gamma, 0, 100, 1e-3, 1, 0, NULL, NULL, 0.5, 0.1, 1, 0 };
}

static struct svm_model *fit(const struct set *s, const struct svm_parameter *p)
{
    printed[0] = 0;
    const char *fault = svm_check_parameter(&s->prob, p);
    if (fault != NULL)
        fail_msg("%s", fault);
    struct svm_model *m = svm_train(&s->prob, p);
    if (m == NULL)
        fail_msg("not trained: %s", printed);
    return kept_model(m);
}

static struct svm_model *saved_and_loaded(const struct svm_model *m)
{
    assert_int_equal(svm_save_model(path_of("model"), m), 0);
    return kept_model(svm_load_model(path_of("model")));
}

static size_t pairs_of(const struct svm_model *m)
{
    return (size_t)m->nr_class * (size_t)(m->nr_class - 1) / 2;
}

/* Largest difference of decision values over the examples of a set. */
static double decision_difference(const struct svm_model *a, const struct svm_model *b, const struct set *s)
{
    double of_a[64], of_b[64], largest = 0;
    for (int i = 0; i < s->prob.l; i++) {
        svm_predict_values(a, s->prob.x[i], of_a);
        svm_predict_values(b, s->prob.x[i], of_b);
        for (size_t p = 0; p < pairs_of(a); p++)
            largest = fmax(largest, fabs(of_a[p] - of_b[p]));
    }
    return largest;
}

/* ---- golden values --------------------------------------------------------------------------------------- */

TEST(heart_gives_the_golden_values)
{
    const char *data = getenv("HINGE_DATA");
    if (data == NULL)
        skip_because("no HINGE_DATA");
    struct set s = set_read(data, "heart_scale.train.xz", "heart_scale.test.xz", 0, false);
    assert_int_equal(s.prob.l, 270);
    for (size_t k = 0; k < sizeof goldens / sizeof *goldens; k++) {
        const struct golden *g = &goldens[k];
        struct svm_parameter p = parameters(g->task, g->kernel, 1.0 / 13);
        char what[64];
        p.eps = 1e-6;
        struct svm_model *m = fit(&s, &p);
        double objective = printed_number("obj = "), scale = 1;
        if (g->task == NU_SVC) /* objective r^2 */
            scale = g->C * g->C / (printed_number("C = ") * printed_number("C = "));
        snprintf(what, sizeof what, "task %d kernel %d", g->task, g->kernel);
        /* %f prints six decimals of objective and C */
        near(objective * scale, g->objective,
             fabs(g->objective) * (g->kernel == SIGMOID ? 0.05 : 1e-5) +
                 (g->task == NU_SVC ? fabs(objective) * 4e-5 : 1e-6),
             what);
        if (g->kernel != SIGMOID)
            near(m->rho[0], g->rho, 1e-4 * (1 + fabs(g->rho)), what);
        near(printed_number("rho = "), m->rho[0], 1e-6, what);
        assert_int_equal((int)printed_number("\nnSV = "), m->l);
    }
}

/* ---- structs --------------------------------------------------------------------------------------------- */

/* As a compiler for LP64 lays LIBSVM 3.37's struct out. */
TEST(layout_is_that_of_337)
{
    if (sizeof(void *) != 8)
        skip_because("pointers are not of 64 bits");
    assert_int_equal(sizeof(struct svm_node), 16);
    assert_int_equal(sizeof(struct svm_problem), 24);
    assert_int_equal(sizeof(struct svm_parameter), 104);
    assert_int_equal(offsetof(struct svm_parameter, gamma), 16);
    assert_int_equal(offsetof(struct svm_parameter, weight_label), 64);
    assert_int_equal(offsetof(struct svm_parameter, probability), 100);
    assert_int_equal(offsetof(struct svm_model, nr_class), 104);
    assert_int_equal(offsetof(struct svm_model, SV), 112);
    assert_int_equal(offsetof(struct svm_model, probB), 144);
    assert_int_equal(offsetof(struct svm_model, prob_density_marks), 152);
    assert_int_equal(offsetof(struct svm_model, sv_indices), 160);
    assert_int_equal(offsetof(struct svm_model, free_sv), 184);
    assert_int_equal(sizeof(struct svm_model), 192);
    assert_int_equal(libsvm_version, 337);
    assert_int_equal(LIBSVM_VERSION, 337);
}

static void check_fields(const struct svm_model *m, const struct set *s, const struct svm_parameter *p)
{
    bool classifies = p->svm_type == C_SVC || p->svm_type == NU_SVC;
    assert_memory_equal(&m->param, p, sizeof *p);
    assert_int_equal(m->free_sv, 0);
    assert_int_equal(svm_get_svm_type(m), p->svm_type);
    assert_int_equal(svm_get_nr_class(m), m->nr_class);
    assert_int_equal(svm_get_nr_sv(m), m->l);
    assert_true(m->l > 0);
    assert_null(m->probA);
    assert_null(m->prob_density_marks);
    for (int i = 0; i < m->l; i++) {
        assert_in_range(m->sv_indices[i], 1, s->prob.l);
        assert_ptr_equal(m->SV[i], s->prob.x[m->sv_indices[i] - 1]);
    }
    if (!classifies) {
        assert_int_equal(m->nr_class, 2);
        assert_null(m->label);
        assert_null(m->nSV);
        return;
    }
    int labels[16], *indices = malloc((size_t)m->l * sizeof *indices), i = 0;
    svm_get_labels(m, labels);
    svm_get_sv_indices(m, indices);
    assert_memory_equal(indices, m->sv_indices, (size_t)m->l * sizeof *indices);
    if (m->nr_class > 2) /* -1, +1 are swapped */
        assert_int_equal(labels[0], (int)s->prob.y[0]);
    else
        assert_int_equal(labels[0], 1);
    for (int c = 0; c < m->nr_class; c++)
        for (int k = 0; k < m->nSV[c]; k++, i++)
            assert_int_equal((int)s->prob.y[m->sv_indices[i] - 1], labels[c]);
    assert_int_equal(i, m->l);
    free(indices);
}

/* The decision values of hinge's own prediction, from the file that the compat library writes. */
static void check_decisions(const struct svm_model *m, const struct set *s)
{
    hinge_model *h = NULL;
    hinge_error err;
    hinge_predict_options options = { .threads = 1, .precision = HINGE_PRECISION_F64 };
    size_t n = (size_t)s->prob.l, pairs = pairs_of(m);
    double *decisions = malloc(n * pairs * sizeof *decisions), *labels = malloc(n * sizeof *labels), mine[64];
    hinge_matrix x = hinge_matrix_f64(s->x, n, s->d);
    assert_int_equal(svm_save_model(path_of("model"), m), 0);
    if (hinge_model_load(&h, path_of("model"), NULL, &err) != HINGE_OK ||
        hinge_model_widen(h, s->d, &err) != HINGE_OK ||
        hinge_predict(h, &x, &options, labels, decisions, &err) != HINGE_OK)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < n; i++) {
        double label = svm_predict_values(m, s->prob.x[i], mine);
        assert_true(label == svm_predict(m, s->prob.x[i]));
        for (size_t p = 0; p < pairs; p++)
            near(mine[p], decisions[i * pairs + p], 1e-9 * (1 + fabs(mine[p])), "decision value");
        if (m->label != NULL || m->param.svm_type == ONE_CLASS)
            near(label, labels[i], 0, "label");
    }
    hinge_model_free(h);
    free(decisions);
    free(labels);
}

TEST(fields_are_libsvms)
{
    struct set two = shipped("breast_cancer.train.xz", 200, true), ten = shipped("digits.train.xz", 300, true);
    for (int task = C_SVC; task <= NU_SVR; task++)
        for (int kernel = LINEAR; kernel <= SIGMOID; kernel++) {
            struct svm_parameter p = parameters(task, kernel, kernel == SIGMOID ? 0.01 : 0.1);
            p.nu = 0.1;
            struct svm_model *m = fit(&two, &p);
            check_fields(m, &two, &p);
            check_decisions(m, &two);
            if (task > NU_SVC)
                continue;
            m = fit(&ten, &p);
            assert_int_equal(m->nr_class, 10);
            assert_int_equal((int)printed_number("Total nSV = "), m->l);
            check_fields(m, &ten, &p);
            check_decisions(m, &ten);
        }
}

/* What a wrapper does: it copies the fields into memory of its own and frees the model. */
TEST(copied_models_predict)
{
    struct set s = shipped("breast_cancer.train.xz", 150, true);
    struct svm_parameter p = parameters(C_SVC, RBF, 0.5);
    struct svm_model *m = svm_train(&s.prob, &p), copy = *m;
    double *coef = malloc((size_t)m->l * sizeof *coef), rho = m->rho[0], before[150], after;
    int label[2], n_sv[2];
    struct svm_node **rows = malloc((size_t)m->l * sizeof *rows);
    memcpy(coef, m->sv_coef[0], (size_t)m->l * sizeof *coef);
    memcpy(rows, m->SV, (size_t)m->l * sizeof *rows);
    memcpy(label, m->label, sizeof label);
    memcpy(n_sv, m->nSV, sizeof n_sv);
    for (int i = 0; i < s.prob.l; i++)
        svm_predict_values(m, s.prob.x[i], &before[i]);
    svm_free_and_destroy_model(&m);
    assert_null(m);
    copy.sv_coef = &coef;
    copy.SV = rows;
    copy.rho = &rho;
    copy.label = label;
    copy.nSV = n_sv;
    copy.sv_indices = NULL;
    for (int i = 0; i < s.prob.l; i++) {
        svm_predict_values(&copy, s.prob.x[i], &after);
        assert_true(after == before[i]);
    }
    assert_int_equal(svm_save_model(path_of("model"), &copy), 0);
    free(coef);
    free(rows);
}

TEST(null_does_no_harm)
{
    struct svm_model *none = NULL;
    struct svm_parameter p = parameters(C_SVC, RBF, 1);
    struct svm_node x = { -1, 0 };
    double values[4] = { 0 };
    assert_null(svm_train(NULL, &p));
    assert_null(svm_train(NULL, NULL));
    assert_null(svm_check_parameter(NULL, &p)); /* no examples yet */
    assert_non_null(svm_check_parameter(NULL, NULL));
    svm_cross_validation(NULL, NULL, 5, NULL);
    assert_int_equal(svm_save_model("x", NULL), -1);
    assert_null(svm_load_model(NULL));
    assert_null(svm_load_model("no/such/file"));
    svm_get_svm_type(NULL);
    assert_int_equal(svm_get_nr_class(NULL), 0);
    assert_int_equal(svm_get_nr_sv(NULL), 0);
    svm_get_labels(NULL, NULL);
    svm_get_sv_indices(NULL, NULL);
    assert_true(svm_get_svr_probability(NULL) == 0);
    assert_int_equal(svm_check_probability_model(NULL), 0);
    assert_true(svm_predict(NULL, &x) == 0);
    assert_true(svm_predict_values(NULL, &x, values) == 0);
    assert_true(svm_predict_probability(NULL, &x, values) == 0);
    svm_free_model_content(NULL);
    svm_free_and_destroy_model(NULL);
    svm_free_and_destroy_model(&none);
    svm_destroy_param(NULL);
}

/* ---- refusals -------------------------------------------------------------------------------------------- */

static void refuse(const struct svm_problem *prob, const struct svm_parameter *p, const char *message)
{
    const char *fault = svm_check_parameter(prob, p);
    if (fault == NULL || strcmp(fault, message) != 0)
        fail_msg("'%s' instead of '%s'", fault != NULL ? fault : "NULL", message);
}

TEST(messages_are_libsvms)
{
    double x[] = { 1, 2, 3, 4, 5 }, y[] = { 1, 1, 1, 1, 2 };
    struct set s = set_of(x, y, 5, 1, false);
    const struct svm_parameter good = parameters(C_SVC, RBF, 1);
    struct svm_parameter p = good;
    assert_null(svm_check_parameter(&s.prob, &p));
#define REFUSES(field, value, message) (p = good, p.field = (value), refuse(&s.prob, &p, message))
    REFUSES(svm_type, 5, "unknown svm type");
    REFUSES(svm_type, -1, "unknown svm type");
    REFUSES(kernel_type, 5, "unknown kernel type");
    REFUSES(gamma, -1, "gamma < 0");
    REFUSES(cache_size, 0, "cache_size <= 0");
    REFUSES(eps, 0, "eps <= 0");
    REFUSES(eps, NAN, "eps <= 0");
    REFUSES(C, 0, "C <= 0");
    REFUSES(shrinking, 2, "shrinking != 0 and shrinking != 1");
    REFUSES(probability, -1, "probability != 0 and probability != 1");
#undef REFUSES
    p = parameters(C_SVC, POLY, 1);
    p.degree = -1;
    refuse(&s.prob, &p, "degree of polynomial kernel < 0");
    p = parameters(NU_SVC, RBF, 1);
    refuse(&s.prob, &p, "specified nu is infeasible");
    p.nu = 1.5;
    refuse(&s.prob, &p, "nu <= 0 or nu > 1");
    p = parameters(EPSILON_SVR, RBF, 1);
    p.p = -0.1;
    refuse(&s.prob, &p, "p < 0");
    p = parameters(NU_SVC, RBF, 1); /* 0.4 (4 + 1) / 2 = 1 */
    p.nu = 0.4;
    assert_null(svm_check_parameter(&s.prob, &p));
    p = parameters(LINEAR, C_SVC, -1); /* a parameter that does not matter */
    p.nu = p.p = -1;
    assert_null(svm_check_parameter(&s.prob, &p));
}

/* Refused by training, which says why and gives NULL; the check looks at parameters alone, as LIBSVM's does. */
static void refuse_to_train(const struct set *s, const struct svm_parameter *p, const char *words)
{
    double target[16] = { 0 };
    char said[256] = "";
    FILE *file = tmpfile();
    int old = dup(STDERR_FILENO);
    assert_null(svm_check_parameter(&s->prob, p));
    printed[0] = 0;
    assert_true(file != NULL && old >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
    struct svm_model *m = svm_train(&s->prob, p);
    dup2(old, STDERR_FILENO);
    close(old);
    rewind(file);
    assert_true(fread(said, 1, sizeof said - 1, file) > 0);
    fclose(file);
    assert_null(m);
    assert_non_null(strstr(said, words));
    assert_string_equal(printed, ""); /* which -q would not show */
    if (s->prob.l > 16)
        return;
    svm_cross_validation(&s->prob, p, 2, target);
    assert_true(isnan(target[0]));
}

TEST(what_hinge_cannot_train_is_told)
{
    double x[] = { 1, 2, 3, 4 }, y[] = { 1, 1, 2, 2 }, weight[] = { -1 };
    int weight_label[] = { 2 };
    struct svm_parameter p = parameters(C_SVC, RBF, 1);
    struct set s = set_of(x, y, 4, 1, false);
    s.prob.x[2]->value = NAN;
    refuse_to_train(&s, &p, "not a finite number");
    s.prob.x[2]->value = 3;
    s.prob.y[0] = 3e9;
    refuse_to_train(&s, &p, "does not fit an int");
    s.prob.y[0] = INFINITY;
    refuse_to_train(&s, &p, "not a finite number");
    s.prob.y[0] = 1;
    p.nr_weight = 1;
    p.weight_label = weight_label;
    p.weight = weight;
    refuse_to_train(&s, &p, "weight of a class");
    p = parameters(NU_SVR, RBF, 1);
    p.C = INFINITY;
    refuse_to_train(&s, &p, "a parameter is not a finite");
    p = parameters(C_SVC, PRECOMPUTED, 1);
    refuse_to_train(&s, &p, "0:serial");
    double pair[] = { 1, 2, 3, 4 };
    s = set_of(pair, y, 2, 2, false);
    s.prob.x[0][1].index = 1;
    p = parameters(C_SVC, RBF, 1);
    refuse_to_train(&s, &p, "not ascending");
}

/* Algorithm::SVM and others check before they have examples, whose arrays are there or not. */
TEST(checked_before_examples)
{
    double y[3] = { 7e-310, NAN, 1 };
    struct svm_node *x[3] = { NULL, NULL, NULL };
    struct svm_problem tries[] = { { 0, NULL, NULL }, { 3, NULL, NULL }, { 3, y, x } };
    for (int type = C_SVC; type <= NU_SVR; type++)
        for (int k = 0; k < 3; k++) {
            struct svm_parameter p = parameters(type, RBF, 1);
            assert_null(svm_check_parameter(&tries[k], &p));
        }
}

/* A class of weight 0 has no coefficients: what is predicted is the other one. */
TEST(a_class_of_weight_0)
{
    double x[] = { 1, 2, 3, 4, 5, 6 }, y[] = { 1, 2, 1, 2, 2, 1 }, weight[] = { 0 };
    int weight_label[] = { 1 };
    struct set s = set_of(x, y, 6, 1, false);
    struct svm_parameter p = parameters(C_SVC, RBF, 1);
    p.nr_weight = 1;
    p.weight_label = weight_label;
    p.weight = weight;
    assert_null(svm_check_parameter(&s.prob, &p));
    struct svm_model *m = kept_model(svm_train(&s.prob, &p));
    for (int i = 0; i < 6; i++)
        assert_true(svm_predict(m, s.prob.x[i]) == 2);
}

/* C = infinity: the hard margin of 1 and 3 is at 2, with alpha = 1/2 each; the hard tube holds every target. */
TEST(c_may_be_infinite)
{
    double x[] = { 0, 1, 3, 4 }, y[] = { 1, 1, -1, -1 }, targets[] = { 0, 1, 4, 3 }, value;
    struct set s = set_of(x, y, 4, 1, false), t = set_of(x, targets, 4, 1, false);
    struct svm_parameter p = parameters(C_SVC, LINEAR, 1);
    p.C = INFINITY;
    assert_null(svm_check_parameter(&s.prob, &p));
    struct svm_model *m = kept_model(svm_train(&s.prob, &p));
    svm_predict_values(m, s.prob.x[0], &value);
    assert_true(fabs(value - 2) < 1e-3);
    assert_int_equal(m->l, 2);
    assert_true(fabs(m->sv_coef[0][0] - 0.5) < 1e-3);
    p = parameters(EPSILON_SVR, RBF, 1);
    p.C = INFINITY;
    p.p = 0.1;
    m = kept_model(svm_train(&t.prob, &p));
    for (int i = 0; i < 4; i++)
        assert_true(fabs(svm_predict(m, t.prob.x[i]) - targets[i]) <= 0.1 + 2 * p.eps);
}

/* One class with probability is a probability model, which is sure of it, also read from a file. */
TEST(one_class_is_probable)
{
    double x[] = { 1, 2, 3 }, y[] = { 7, 7, 7 }, estimate[2] = { 0, 0 };
    struct set s = set_of(x, y, 3, 1, false);
    struct svm_parameter p = parameters(C_SVC, RBF, 1);
    p.probability = 1;
    struct svm_model *m = kept_model(svm_train(&s.prob, &p));
    assert_int_equal(svm_check_probability_model(m), 1);
    assert_true(svm_predict_probability(m, s.prob.x[0], estimate) == 7 && estimate[0] == 1);
}

/* After a training, a child trains too, and comes to the same. */
TEST(trains_in_a_child)
{
    double x[600], y[300];
    for (int i = 0; i < 300; i++) {
        x[2 * i] = sin(i);
        x[2 * i + 1] = cos(3 * i);
        y[i] = x[2 * i] + 0.3 * sin(7 * i) > 0 ? 1 : -1;
    }
    struct set s = set_of(x, y, 300, 2, false);
    struct svm_parameter p = parameters(C_SVC, RBF, 1);
    double target[300];
    p.probability = 1;
    for (int threads = 0; threads <= 3; threads += 3) {
        svm_set_num_threads(threads);
        struct svm_model *m = svm_train(&s.prob, &p);
        pid_t child = fork();
        if (child == 0) {
            alarm(60); /* a wait for threads that are not there does not end */
            struct svm_model *again = svm_train(&s.prob, &p);
            svm_cross_validation(&s.prob, &p, 3, target);
            _exit(again == NULL || again->rho[0] != m->rho[0] || again->probA[0] != m->probA[0] || isnan(target[0]));
        }
        int status = -1;
        assert_true(waitpid(child, &status, 0) == child);
        assert_int_equal(status, 0);
    }
    svm_set_num_threads(0);
}

/* nu-SVR without support vectors has a tube all the same. */
TEST(tube_of_an_empty_model)
{
    double x[] = { 1, 2, 3 }, y[] = { 5, 5, 5 };
    struct set s = set_of(x, y, 3, 1, false);
    struct svm_parameter p = parameters(NU_SVR, RBF, 1);
    printed[0] = 0;
    kept_model(svm_train(&s.prob, &p));
    assert_non_null(strstr(printed, "epsilon = "));
    assert_null(strstr(printed, "inf"));
    assert_null(strstr(printed, "nan"));
}

/* A file that holds the text gives the value for x = (2). */
static void predicts(const char *text, double value)
{
    write_file(path_of("model"), text, strlen(text));
    struct svm_model *m = kept_model(svm_load_model(path_of("model")));
    struct svm_node x[] = { { 1, 2 }, { -1, 0 } };
    assert_true(svm_predict(m, x) == value);
}

/* A model that names a label twice is read as LIBSVM reads it. */
TEST(a_label_twice)
{
    predicts("svm_type c_svc\nkernel_type linear\nnr_class 2\ntotal_sv 2\nrho 0\nlabel 3 3\nnr_sv 1 1\nSV\n"
             "1 1:1 \n-1 1:-1 \n", 3);
}

TEST(keys_stand_in_any_order)
{
    predicts("rho 0.5\nnr_sv 1 0\nlabel 1 -1\ntotal_sv 1\nnr_class 2\nkernel_type linear\nsvm_type c_svc\nSV\n1 1:2\n",
             1);
}

/* Of the line "SV" the first word is read: hinge tells behind it what LIBSVM can do without. */
TEST(words_behind_sv)
{
    predicts("svm_type epsilon_svr\nkernel_type linear\nnr_class 2\ntotal_sv 1\nrho -1\nSV hinge_tau 0.9\n3 1:1 \n", 7);
    predicts("svm_type epsilon_svr\nkernel_type linear\nnr_class 2\ntotal_sv 0\nrho -1\nSV hinge_features 5\n", 1);
}

/* One value a row, each in a column of its own: as dense rows more than the machine's memory. */
TEST(too_large_is_told)
{
    size_t n = (size_t)sqrt((double)hinge_machine_info().total_memory / 8);
    struct set s = { { (int)n, malloc(n * sizeof(double)), malloc(n * sizeof(struct svm_node *)) },
                     malloc(2 * n * sizeof(struct svm_node)), 0, NULL };
    struct svm_parameter p = parameters(C_SVC, LINEAR, 1);
    for (size_t i = 0; i < n; i++) {
        s.prob.x[i] = s.nodes + 2 * i;
        s.nodes[2 * i] = (struct svm_node){ (int)i + 1, 1 };
        s.nodes[2 * i + 1] = (struct svm_node){ -1, 0 };
        s.prob.y[i] = i % 2 ? 1 : -1;
    }
    refuse_to_train(&s, &p, "do not fit the memory");
}

TEST(labels_are_ints)
{
    double x[] = { 1, 2, 3, 4 }, y[] = { 1.2, 1.7, 2.5, 2.9 };
    struct set s = set_of(x, y, 4, 1, false);
    struct svm_parameter p = parameters(C_SVC, LINEAR, 1);
    struct svm_model *m = fit(&s, &p);
    assert_int_equal(m->nr_class, 2);
    assert_int_equal(m->label[0], 1);
    assert_int_equal(m->label[1], 2);
    s.prob.y[2] = s.prob.y[3] = 1;
    m = fit(&s, &p);
    assert_int_equal(m->nr_class, 1);
    assert_int_equal(m->l, 0);
    assert_true(svm_predict(m, s.prob.x[0]) == 1);
    m = saved_and_loaded(m);
    assert_true(svm_predict(m, s.prob.x[0]) == 1);
}

/* ---- shapes of data -------------------------------------------------------------------------------------- */

TEST(columns_of_zeros_are_dropped)
{
    struct set s = shipped("breast_cancer.train.xz", 100, true);
    struct set wide = set_of(s.x, s.prob.y, 100, s.d, true);
    struct svm_parameter p = parameters(C_SVC, RBF, 0.5);
    for (int i = 0; i < 100; i++) /* indices far apart, and one feature that is always 0 */
        for (struct svm_node *x = wide.prob.x[i]; x->index != -1; x++)
            x->index = x->index * 70000001 - 70000000;
    struct svm_model *a = fit(&s, &p), *b = fit(&wide, &p);
    assert_int_equal(a->l, b->l);
    assert_memory_equal(a->sv_coef[0], b->sv_coef[0], (size_t)a->l * sizeof(double));
}

TEST(rows_of_zeros_are_fine)
{
    double x[] = { 0, 0, 0, 0 }, y[] = { 1, -1, 1, -1 };
    struct set s = set_of(x, y, 4, 1, false);
    for (int task = C_SVC; task <= NU_SVR; task++) {
        struct svm_parameter p = parameters(task, RBF, 1);
        struct svm_model *m = fit(&s, &p);
        assert_true(isfinite(svm_predict(m, s.prob.x[0])));
    }
}

/* Linear kernel, its values given: all rows, then every other row under its own serial number, last first. */
TEST(precomputed_is_linear)
{
    struct set s = shipped("breast_cancer.train.xz", 60, true);
    double gram[60 * 62];
    for (int i = 0; i < 60; i++)
        for (int j = -1; j < 60; j++) {
            double sum = j < 0 ? i + 1 : 0;
            for (size_t c = 0; j >= 0 && c < s.d; c++)
                sum += s.x[(size_t)i * s.d + c] * s.x[(size_t)j * s.d + c];
            gram[i * 61 + j + 1] = sum;
        }
    struct set k = set_of(gram, s.prob.y, 60, 61, true);
    for (struct svm_node *x = k.nodes; x < k.nodes + 60 * 62; x++)
        x->index -= x->index > 0;
    for (int subset = 0; subset < 2; subset++) {
        struct svm_parameter p = parameters(C_SVC, LINEAR, 0);
        p.eps = 1e-6;
        for (int i = 0; subset && i < 30; i++) {
            s.prob.x[i] = s.prob.x[59 - i];
            k.prob.x[i] = k.prob.x[59 - i];
            s.prob.y[i] = k.prob.y[i] = s.prob.y[59 - i];
        }
        s.prob.l = k.prob.l = subset ? 30 : 60;
        struct svm_model *a = fit(&s, &p);
        p.kernel_type = PRECOMPUTED;
        struct svm_model *b = fit(&k, &p);
        double of_a, of_b;
        for (int i = 0; i < s.prob.l; i++) {
            svm_predict_values(a, s.prob.x[i], &of_a);
            svm_predict_values(b, k.prob.x[i], &of_b);
            near(of_b, of_a, 1e-4, "decision by kernel values");
        }
        assert_true(decision_difference(b, saved_and_loaded(b), &k) == 0);
    }
    k.prob.x[0][31].index = -1; /* too few values for the serial numbers */
    struct svm_parameter p = parameters(C_SVC, PRECOMPUTED, 0);
    refuse_to_train(&k, &p, "too few values");
}

/* ---- probability, cross-validation ----------------------------------------------------------------------- */

TEST(probabilities_add_up)
{
    struct set two = shipped("breast_cancer.train.xz", 200, true), ten = shipped("digits.train.xz", 300, true);
    struct svm_parameter p = parameters(C_SVC, RBF, 0.5);
    double estimates[16];
    p.probability = 1;
    for (int k = 0; k < 2; k++) {
        const struct set *s = k == 0 ? &two : &ten;
        struct svm_model *m = fit(s, &p);
        assert_int_equal(svm_check_probability_model(m), 1);
        int right = 0;
        for (int i = 0; i < s->prob.l; i++) {
            double label = svm_predict_probability(m, s->prob.x[i], estimates), sum = 0;
            for (int c = 0; c < m->nr_class; c++) {
                assert_true(estimates[c] >= 0 && estimates[c] <= 1);
                sum += estimates[c];
                if (m->label[c] == (int)label)
                    for (int b = 0; b < m->nr_class; b++)
                        assert_true(estimates[b] <= estimates[c]);
            }
            near(sum, 1, 1e-9, "sum of probabilities");
            right += label == s->prob.y[i];
        }
        assert_true(right > 0.9 * s->prob.l);
    }
}

TEST(regression_and_one_class_calibrate)
{
    struct set s = shipped("breast_cancer.train.xz", 200, true);
    struct svm_parameter p = parameters(EPSILON_SVR, RBF, 0.5);
    double estimates[2];
    p.probability = 1;
    struct svm_model *m = fit(&s, &p);
    assert_non_null(m->probA);
    assert_null(m->probB);
    assert_true(svm_get_svr_probability(m) > 0 && svm_get_svr_probability(m) < 1);
    assert_true(svm_predict_probability(m, s.prob.x[0], estimates) == svm_predict(m, s.prob.x[0]));
    p.svm_type = ONE_CLASS;
    m = fit(&s, &p);
    assert_non_null(m->prob_density_marks);
    for (int i = 1; i < 10; i++)
        assert_true(m->prob_density_marks[i] >= m->prob_density_marks[i - 1]);
    struct svm_model *again = saved_and_loaded(m);
    assert_memory_equal(again->prob_density_marks, m->prob_density_marks, 10 * sizeof(double));
    for (int i = 0; i < s.prob.l; i++) {
        assert_true(svm_predict_probability(m, s.prob.x[i], estimates) == svm_predict(m, s.prob.x[i]));
        near(estimates[0] + estimates[1], 1, 1e-15, "sum");
    }
}

TEST(cross_validation_predicts)
{
    struct set s = shipped("breast_cancer.train.xz", 200, true);
    double first[200], second[200];
    for (int task = C_SVC; task <= NU_SVR; task++) {
        struct svm_parameter p = parameters(task, RBF, 0.5);
        double right = 0, error = 0;
        p.nu = 0.2;
        unsigned long before = hinge_svm_train_count();
        svm_cross_validation(&s.prob, &p, 5, first);
        assert_true(hinge_svm_train_count() > before);
        svm_cross_validation(&s.prob, &p, 5, second);
        assert_memory_equal(first, second, sizeof first);
        for (int i = 0; i < 200; i++) {
            right += first[i] == s.prob.y[i];
            error += (first[i] - s.prob.y[i]) * (first[i] - s.prob.y[i]) / 200;
        }
        assert_true(task > NU_SVC || right >= 180);
        assert_true(task < EPSILON_SVR || error < 0.3);
        svm_cross_validation(&s.prob, &p, 1000, first); /* as many folds as examples, and a line that says so */
        assert_true(isfinite(first[0]));
    }
}

TEST(threads_do_not_change_the_model)
{
    struct set s = shipped("digits.train.xz", 300, true);
    struct svm_parameter p = parameters(C_SVC, RBF, 0.05);
    svm_set_num_threads(1);
    assert_int_equal(svm_get_max_threads(), 1);
    struct svm_model *one = fit(&s, &p);
    svm_set_num_threads(2);
    assert_int_equal(svm_get_max_threads(), 2);
    struct svm_model *two = fit(&s, &p);
    svm_set_num_threads(0);
    assert_true(svm_get_max_threads() >= 1);
    assert_true(decision_difference(one, two, &s) == 0);
}

/* ---- files ----------------------------------------------------------------------------------------------- */

TEST(files_are_lossless)
{
    struct set two = shipped("breast_cancer.train.xz", 150, true), ten = shipped("digits.train.xz", 300, true);
    for (int task = C_SVC; task <= NU_SVR; task++) {
        const struct set *s = task == C_SVC ? &ten : &two;
        struct svm_parameter p = parameters(task, task == C_SVC ? RBF : POLY, 0.3);
        p.probability = task != ONE_CLASS;
        p.coef0 = 1.0 / 3;
        p.nu = 0.1;
        struct svm_model *m = fit(s, &p);
        bool german = setlocale(LC_NUMERIC, "de_DE.UTF-8") != NULL; /* decimal comma, where it is installed */
        struct svm_model *again = saved_and_loaded(m);
        if (german)
            setlocale(LC_NUMERIC, "C");
        assert_int_equal(again->free_sv, 1);
        assert_null(again->sv_indices);
        assert_int_equal(again->l, m->l);
        assert_true(again->param.gamma == m->param.gamma);
        assert_int_equal(svm_check_probability_model(again), svm_check_probability_model(m));
        assert_true(decision_difference(m, again, s) == 0);
    }
}

TEST(broken_files_are_refused)
{
#define HEAD "svm_type c_svc\nkernel_type linear\nnr_class 2\ntotal_sv 1\n"
    static const char *const files[] = {
        HEAD "rho 0.5\nlabel 1 -1\nnr_sv 1 0\nSV\n1 1:2 3:4 \n", /* the only good one */
        "",
        "no model at all\n",
        HEAD "rho 0.5\nlabel 1 -1\nnr_sv 1000000 0\nSV\n1 1:2\n",
        HEAD "rho 0.5\nlabel 1 -1\nnr_sv -1 2\nSV\n1 1:2\n",
        HEAD "rho 0.5\nlabel 1 -1\nSV\n1 1:2\n",
        HEAD "label 1 -1\nnr_sv 1 0\nSV\n1 1:2\n",
        HEAD "rho 0.5\nnr_sv 1 0\nSV\n1 1:2\n",
        HEAD "rho 0.5 7\nlabel 1 -1\nnr_sv 1 0\nSV\n1 1:2\n",
        HEAD "rho 0.5\nrho 0.5\nlabel 1 -1\nnr_sv 1 0\nSV\n1 1:2\n",
        HEAD "rho x\nlabel 1 -1\nnr_sv 1 0\nSV\n1 1:2\n",
        HEAD "rho 0.5\nlabel 1 -1\nnr_sv 1 0\nSV\n",
        HEAD "rho 0.5\nlabel 1 -1\nnr_sv 1 0\nSV\n1 1:\n",
        HEAD "rho 0.5\nlabel 1 -1\nnr_sv 1 0\nSV\n1 1\n",
        HEAD "rho 0.5\nlabel 1 -1\nnr_sv 1 0\nSV\n1 -1:2\n",
        HEAD "rho 0.5\nlabel 1 -1\nnr_sv 1 0\nSV\n1 1:2\n1 1:2\n",
        HEAD "rho 0.5\nhinge_label 1 -1.5\nnr_sv 1 0\nSV\n1 1:2\n",
        HEAD "rho 0.5\nlabel 1 -1\nnr_sv 1 0\nhinge_scale_factor 2\nhinge_scale_offset 0\nSV\n1 1:2\n",
        HEAD "rho 0.5\nlabel 1 -1\nnr_sv 1 0\nhinge_training 1 0 0 1 0 0\nSV\n1 1:2\n",
        "svm_type c_svc\nkernel_type linear\nnr_class 2147483647\ntotal_sv 0\nrho 1\nSV\n",
        "svm_type c_svc\nkernel_type linear\nnr_class 2\ntotal_sv 2147483647\nrho 1\nSV\n",
        "svm_type c_svc\nkernel_type nonsense\nnr_class 2\ntotal_sv 0\nrho 1\nlabel 1 2\nnr_sv 0 0\nSV\n",
        "svm_type c_svc\nkernel_type matern32\ngamma 1\nnr_class 2\ntotal_sv 0\nrho 1\nlabel 1 2\nnr_sv 0 0\nSV\n",
        "svm_type c_svc\nkernel_type precomputed\nnr_class 2\ntotal_sv 1\nrho 1\nlabel 1 2\nnr_sv 1 0\nSV\n1 \n",
    };
#undef HEAD
    for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
        write_file(path_of("model"), files[k], strlen(files[k]));
        struct svm_model *m = svm_load_model(path_of("model"));
        if ((m != NULL) != (k == 0))
            fail_msg("%s: %s", k == 0 ? "refused" : "taken for a model", files[k]);
        svm_free_and_destroy_model(&m);
    }
}

static bool have_svm_train(void)
{
    return system("svm-train >/dev/null 2>&1; test $? -ne 127") == 0 && access("/bin/sh", X_OK) == 0;
}

static void write_data(const struct set *s, const char *name)
{
    hinge_matrix x = hinge_matrix_f64(s->x, (size_t)s->prob.l, s->d);
    assert_int_equal(hinge_data_write(path_of(name), &x, s->prob.y, NULL), HINGE_OK);
}

/* What svm-predict prints of a model is what svm_predict and svm_predict_probability return. */
static void compare_outputs(const struct svm_model *m, const struct set *s, bool probability)
{
    FILE *f = fopen(path_of("out"), "r");
    char line[1024];
    double estimates[16];
    assert_non_null(f);
    if (probability)
        assert_non_null(fgets(line, sizeof line, f));
    for (int i = 0; i < s->prob.l; i++) {
        assert_non_null(fgets(line, sizeof line, f));
        char *p = line;
        double label =
            probability ? svm_predict_probability(m, s->prob.x[i], estimates) : svm_predict(m, s->prob.x[i]);
        near(label, strtod(p, &p), 1e-5 * (1 + fabs(label)),
             "prediction"); /* %g of older ones has six digits */
        for (int c = 0; probability && c < m->nr_class; c++)
            near(estimates[c], strtod(p, &p), 1e-5, "probability");
    }
    fclose(f);
}

TEST(models_of_svm_train_load)
{
    if (!have_svm_train())
        skip_because("no svm-train");
    struct set two = shipped("breast_cancer.train.xz", 150, true), ten = shipped("digits.train.xz", 300, true);
    write_data(&two, "two");
    write_data(&ten, "ten");
    for (int task = C_SVC; task <= NU_SVR; task++)
        for (int kernel = LINEAR; kernel <= SIGMOID; kernel++)
            for (int classes = 2; classes <= (task <= NU_SVC ? 10 : 2); classes += 8) {
                bool probability = task <= NU_SVC && (kernel == RBF || kernel == LINEAR);
                const char *data = classes == 2 ? "two" : "ten";
                const struct set *s = classes == 2 ? &two : &ten;
                char command[800];
                snprintf(command, sizeof command,
                         "cd %s && svm-train -q -s %d -t %d -g 0.1 -r 0.5 -n 0.1 -b %d %s model && "
                         "svm-predict -b %d %s model out >/dev/null",
                         folder(), task, kernel, probability, data, probability, data);
                assert_int_equal(system(command), 0);
                compare_outputs(kept_model(svm_load_model(path_of("model"))), s, probability);
            }
}

/* One feature is large, and all have it; what an example has besides must not drown in it. */
TEST(one_large_feature)
{
    for (double large = 1e3; large < 1e13; large *= 100)
        for (int full = 0; full < 2; full++) {
            struct svm_node x[] = { { 1, large }, { full ? 2 : 3, 0.5 }, { full ? 3 : 7, 0.25 }, { -1, 0 } };
            struct svm_node sv[] = { { 1, large }, { full ? 2 : 5, 0.75 }, { -1, 0 } }, *svs[] = { sv };
            double coef[] = { 1 }, *coefs[] = { coef }, rho[] = { 0 }, f = 0;
            double want = full ? 0.0625 + 0.0625 : 0.25 + 0.0625 + 0.5625; /* squared distance */
            struct svm_model model = { 0 };
            model.param.svm_type = EPSILON_SVR;
            model.param.kernel_type = RBF;
            model.param.gamma = 1;
            model.nr_class = 2;
            model.l = 1;
            model.SV = svs;
            model.sv_coef = coefs;
            model.rho = rho;
            svm_predict_values(&model, x, &f);
            assert_true(fabs(f - exp(-want)) <= 1e-12);
        }
}

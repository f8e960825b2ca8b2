/*
 * Every allocation that hinge makes fails once, and from there on, over the whole interface: the call says
 * HINGE_ENOMEM, leaves its outputs as they were and holds no memory. Every step of writing a file fails, or is the
 * process's last: the old file stays whole.
 */
#include "test/faults.h"
#include "test/support.h"
#include "hg_config.h"

#include <hinge/explain.h>
#include <hinge/io.h>
#include <hinge/qp.h>
#include <hinge/scaling.h>
#include <hinge/select.h>
#include <hinge/theory.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static size_t injected;

/* ---- what a call leaves behind ----------------------------------------------------------------------------------- */

/* The fault that the next call meets. */
static struct {
    enum fault_kind kind;
    long k, failed;
    bool on;
    int error;
} due;

static void arm(void)
{
    faults_begin(due.kind, due.k, due.on, due.error);
}

static hinge_status disarm(hinge_status status)
{
    faults_end(&due.failed);
    return status;
}

/* A call of hinge, under the fault that is due; what the test does around it is not. */
#define FAULTED(call) (arm(), disarm(call))

/* A call under test. On failure it must find its outputs untouched; on success it hashes them and gives them back. */
typedef hinge_status (*deed)(const void *arg, uint64_t *hash, hinge_error *err);

static void mix(uint64_t *hash, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        *hash = (*hash ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3u;
}

/* Memory that a call is to fill, or to leave alone. */
static void *scribble(void *memory, size_t size)
{
    return memset(memory, 0x5a, size);
}

static void check_scribble(const void *memory, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (((const unsigned char *)memory)[i] != 0x5a)
            fail_msg("byte %zu of %zu of an output was touched", i, size);
}

/* Outputs after a call: hashed, or untouched. */
static hinge_status check_output(hinge_status status, const void *memory, size_t size, uint64_t *hash)
{
    if (status == HINGE_OK)
        mix(hash, memory, size);
    else
        check_scribble(memory, size);
    return status;
}

/* A call of hinge with one output, a variable or an array. */
#define FAULTED_OUTPUT(out, call) \
    (scribble(&(out), sizeof(out)), check_output(FAULTED(call), &(out), sizeof(out), hash))

static void hash_model(const hinge_model *model, uint64_t *hash)
{
    char *bytes;
    size_t size;
    hinge_error err;
    assert_int_equal(hinge_model_format(model, &bytes, &size, &err), HINGE_OK);
    mix(hash, bytes, size);
    hinge_free(bytes);
}

/* The same of a model, which is freed. */
static hinge_status check_model(hinge_status status, hinge_model **model, uint64_t *hash)
{
    if (status == HINGE_OK) {
        hash_model(*model, hash);
        hinge_model_free(*model);
    } else {
        check_scribble(model, sizeof *model);
    }
    return status;
}

/* Where the next allocation fails: one by one at first, where a call's own structures are made, then in steps, which
 * grow as far as the same loops make the same again. All of the first hundreds where the test is made in full. */
static long next_fault(long k, bool on)
{
    long each = in_full() ? 300 : 40;
    return k < each ? k + 1 + on : k < 300 ? k + 3 : k + k / 50;
}

/* Fails the allocations of a call in turn. */
static void fail_allocations(const char *name, deed call, const void *arg)
{
    hinge_error err;
    uint64_t wanted = 0, hash = 0;
    for (int warm = 0; warm < 2; warm++) { /* threads are made, and their stacks, before memory is counted */
        wanted = 0;
        if (call(arg, &wanted, &err) != HINGE_OK)
            fail_msg("%s: %s", name, err.text);
    }
    for (int on = 0; on < 2; on++)
        for (long k = 1;; k = next_fault(k, on != 0)) {
            long before = faults_held();
            scribble(&err, sizeof err);
            hash = 0;
            due.kind = FAULT_MEMORY;
            due.k = k;
            due.on = on != 0;
            hinge_status status = call(arg, &hash, &err);
            due.kind = FAULT_NONE;
            if (faults_held() != before)
                fail_msg("%s, allocation %ld: %ld pieces of memory leak", name, k, faults_held() - before);
            if (status == HINGE_OK && hash != wanted)
                fail_msg("%s, allocation %ld: another result without memory", name, k);
            if (status != HINGE_OK && (status != HINGE_ENOMEM || err.status != status || err.text[0] == 0))
                fail_msg("%s, allocation %ld: status %d (%s)", name, k, (int)status, err.text);
            if (due.failed == 0) {
                assert_int_equal(status, HINGE_OK);
                break;
            }
            injected++;
        }
}

/* ---- training ---------------------------------------------------------------------------------------------------- */

struct subject {
    const hinge_matrix *x;
    const double *y;
    hinge_params params;
    const hinge_model *model;
    const hinge_predict_options *options;
    const char *path;
};

static hinge_status call_train(const void *arg, uint64_t *hash, hinge_error *err)
{
    const struct subject *s = arg;
    hinge_model *model;
    hinge_report report;
    scribble(&model, sizeof model);
    scribble(&report, sizeof report);
    hinge_status status = FAULTED(hinge_train(&model, s->x, s->y, &s->params, &report, err));
    if (status != HINGE_OK)
        check_scribble(&report, sizeof report);
    return check_model(status, &model, hash);
}

static void train_everyhow(const char *name, const hinge_matrix *x, const double *y, hinge_params params)
{
    struct subject s = { .x = x, .y = y, .params = params };
    for (int threads = 1; threads <= 2; threads++) {
        s.params.threads = threads;
        fail_allocations(name, call_train, &s);
    }
}

static hinge_params params_of(hinge_task task)
{
    return params_for(task, hinge_kernel_rbf(0.5), 1);
}

TEST(trainings)
{
    const double labels[] = { 3, 1, 2 };
    struct set two = set_two_class(1, 60, 4, 1), three = set_blobs(2, 60, 4, 3, labels, 1);
    struct set line = set_regression(3, 50, 3);
    hinge_matrix x2 = set_matrix(&two), x3 = set_matrix(&three), xr = set_matrix(&line);
    for (int task = 0; hinge_task_info((hinge_task)task) != NULL; task++) {
        bool regression = task >= HINGE_EPSILON_SVR;
        hinge_params params = params_of((hinge_task)task);
        params.nu = 0.3;
        train_everyhow("a task", regression ? &xr : &x2, regression ? line.y : two.y, params);
    }
    train_everyhow("three classes", &x3, three.y, params_of(HINGE_C_SVC));
    hinge_params rest = params_of(HINGE_NU_SVC);
    rest.multiclass = HINGE_ONE_VS_REST;
    rest.nu = 0.2;
    train_everyhow("one-vs-rest", &x3, three.y, rest);
    const hinge_scaling ends = { .lower = -1, .upper = 1 };
    hinge_params scaled = params_of(HINGE_C_SVC);
    scaled.scaling = &ends;
    train_everyhow("scaled", &x2, two.y, scaled);
}

/* Data and parameters that take every other way through the solver. */
TEST(trainings_of_all_kinds)
{
    hinge_kernel linear = hinge_kernel_linear();
    struct set set = set_two_class(4, 150, 6, 1.5);
    hinge_matrix x = set_matrix(&set);
    hinge_params params = params_of(HINGE_C_SVC);
    params.precision = HINGE_PRECISION_F64;
    train_everyhow("f64", &x, set.y, params);
    params = params_of(HINGE_C_SVC);
    params.working_set = 16; /* rows are cached, and evicted; points are shrunk */
    params.C = 100;
    params.cache_bytes = 20 * 150 * sizeof(float);
    train_everyhow("evictions", &x, set.y, params);
    params.eps = 1e-9; /* corrections, then f64 rows */
    params.max_iter = 20000;
    train_everyhow("too fine for f32", &x, set.y, params);
    params = params_of(HINGE_C_SVC);
    params.kernel = hinge_kernel_user("dot", plain_block, &linear);
    params.max_iter = 1000;
    train_everyhow("user's kernel", &x, set.y, params);
    params.kernel = hinge_kernel_sigmoid(0.01, -1);
    train_everyhow("sigmoid", &x, set.y, params);
    params.kernel = hinge_kernel_polynomial(2, 0.1, 1);
    double weights[150], beta0[150] = { 0 };
    for (size_t i = 0; i < 150; i++)
        weights[i] = i % 5 == 0 ? 0 : 1 + i % 3;
    params.weights = weights;
    params.beta0 = beta0;
    train_everyhow("weights, warm start", &x, set.y, params);
    double *gram = plain_gram(&params.kernel, &set, &set);
    hinge_matrix k = hinge_matrix_f64(gram, set.n, set.n);
    params.kernel = hinge_kernel_precomputed();
    train_everyhow("precomputed", &k, set.y, params);
    for (size_t i = 0; i < set.n * set.d; i++) /* few non-zeros: lists and panels */
        set.x[i] = i * 7 % 11 < 2 ? set.x[i] : 0;
    train_everyhow("lists", &x, set.y, params_of(HINGE_C_SVC));
    for (size_t i = 0; i < set.n * set.d; i++) /* centred */
        set.x[i] += 100;
    train_everyhow("far from 0", &x, set.y, params_of(HINGE_C_SVC));
    for (size_t i = 0; i < set.n * set.d; i++) /* two values: counts */
        set.x[i] = set.x[i] > 100;
    params = params_of(HINGE_C_SVC);
    params.working_set = 32;
    train_everyhow("counts", &x, set.y, params);
    struct set wide = set_two_class(5, 300, 300, 1); /* large enough for an f32 copy in the model */
    hinge_matrix xw = set_matrix(&wide);
    params = params_of(HINGE_C_SVC);
    params.kernel = hinge_kernel_rbf(0.001);
    train_everyhow("f32 model", &xw, wide.y, params);
}

TEST(trainings_by_interior_point)
{
    struct set set = set_two_class(6, 120, 4, 1), line = set_regression(7, 120, 3);
    hinge_matrix x = set_matrix(&set), xr = set_matrix(&line);
    hinge_params params = hinge_params_default(HINGE_C_SVC);
    params.solver = HINGE_SOLVER_INTERIOR_POINT;
    params.kernel = hinge_kernel_linear();
    train_everyhow("interior point", &x, set.y, params);
    params.no_bias = 1;
    train_everyhow("no bias", &x, set.y, params);
    params.no_bias = 0;
    params.C = INFINITY;
    train_everyhow("hard margin, none", &x, set.y, params);
    for (size_t i = 0; i < set.n; i++)
        set.x[i * set.d] += 20 * set.y[i];
    train_everyhow("hard margin", &x, set.y, params);
    params.C = 1;
    params.kernel = hinge_kernel_rbf(0.3);
    params.rank = 30;
    train_everyhow("low rank", &x, set.y, params);
    params.task = HINGE_ONE_CLASS;
    params.nu = 0.2;
    train_everyhow("one-class, low rank", &x, set.y, params);
    params.task = HINGE_EPSILON_SVR;
    train_everyhow("regression, low rank", &xr, line.y, params);
    params.kernel = hinge_kernel_linear();
    params.rank = 0;
    train_everyhow("regression, interior point", &xr, line.y, params);
}

/* ---- trainings of trainings -------------------------------------------------------------------------------------- */

static hinge_status call_cross_validate(const void *arg, uint64_t *hash, hinge_error *err)
{
    const struct subject *s = arg;
    double predictions[64];
    hinge_report report;
    scribble(predictions, sizeof predictions);
    scribble(&report, sizeof report);
    hinge_status status = FAULTED(hinge_cross_validate(s->x, s->y, &s->params, 3, predictions, &report, err));
    check_output(status, predictions, s->x->rows * sizeof *predictions, hash);
    if (status != HINGE_OK)
        check_scribble(&report, sizeof report);
    return status;
}

static hinge_status call_leave_one_out(const void *arg, uint64_t *hash, hinge_error *err)
{
    const struct subject *s = arg;
    double predictions[64];
    hinge_leave_one_out_report report;
    scribble(predictions, sizeof predictions);
    scribble(&report, sizeof report);
    hinge_status status = FAULTED(hinge_leave_one_out(s->x, s->y, &s->params, predictions, &report, err));
    check_output(status, predictions, s->x->rows * sizeof *predictions, hash);
    if (status != HINGE_OK)
        check_scribble(&report, sizeof report);
    return status;
}

static hinge_status call_select(const void *arg, uint64_t *hash, hinge_error *err)
{
    const struct subject *s = arg;
    const double C[] = { 0.5, 4 }, gamma[] = { 0.1, 0.3 };
    hinge_select_options options = { .C = { C, 2 }, .gamma = { gamma, 2 }, .folds = 3, .decisions = 1 };
    hinge_selection *selection;
    scribble(&selection, sizeof selection);
    hinge_status status = FAULTED(hinge_select(&selection, s->x, s->y, &s->params, &options, err));
    if (status != HINGE_OK) {
        check_scribble(&selection, sizeof selection);
        return status;
    }
    for (size_t k = 0; k < selection->n_points; k++) {
        mix(hash, selection->points[k].score, sizeof selection->points[k].score);
        mix(hash, selection->points[k].predictions, selection->rows * sizeof *selection->points[k].predictions);
    }
    hinge_selection_free(selection);
    return status;
}

TEST(trainings_of_trainings)
{
    const double labels[] = { 3, 1, 2 };
    struct set three = set_blobs(8, 45, 3, 3, labels, 0.7), line = set_regression(9, 24, 2);
    hinge_matrix x3 = set_matrix(&three), xr = set_matrix(&line);
    struct subject s = { .x = &x3, .y = three.y, .params = params_of(HINGE_C_SVC) };
    for (int threads = 1; threads <= 2; threads++) {
        s = (struct subject){ .x = &x3, .y = three.y, .params = params_of(HINGE_C_SVC) };
        s.params.threads = threads;
        fail_allocations("cross-validation", call_cross_validate, &s);
        fail_allocations("leave-one-out", call_leave_one_out, &s);
        fail_allocations("model selection", call_select, &s);
        s.params.probability = 1;
        fail_allocations("calibrated training", call_train, &s);
        fail_allocations("calibrated cross-validation", call_cross_validate, &s);
        s.params.task = HINGE_ONE_CLASS;
        fail_allocations("calibrated one-class", call_train, &s);
        s.params.task = HINGE_EPSILON_SVR;
        s.x = &xr;
        s.y = line.y;
        fail_allocations("calibrated regression", call_train, &s);
        fail_allocations("cross-validated regression", call_cross_validate, &s);
        fail_allocations("leave-one-out of regression", call_leave_one_out, &s);
        s.params.scaling = &(hinge_scaling){ .lower = 0, .upper = 1 };
        fail_allocations("model selection for regression, scaled by fold", call_select, &s);
    }
}

/* ---- prediction, and all that looks at models -------------------------------------------------------------------- */

enum { ROWS = 300, CLASSES = 3 };

static hinge_status call_predict(const void *arg, uint64_t *hash, hinge_error *err)
{
    const struct subject *s = arg;
    double labels[ROWS], decisions[ROWS * CLASSES];
    scribble(labels, sizeof labels);
    scribble(decisions, sizeof decisions);
    hinge_status status = FAULTED(hinge_predict(s->model, s->x, s->options, labels, decisions, err));
    check_output(status, labels, sizeof labels, hash);
    check_output(status, decisions, sizeof decisions, hash);
    return status;
}

static hinge_status call_probability(const void *arg, uint64_t *hash, hinge_error *err)
{
    const struct subject *s = arg;
    size_t n = s->x->rows;
    double *labels = malloc(n * sizeof *labels), *p = malloc(n * CLASSES * sizeof *p);
    assert_true(labels != NULL && p != NULL);
    scribble(labels, n * sizeof *labels);
    scribble(p, n * CLASSES * sizeof *p);
    hinge_status status = FAULTED(hinge_predict_probability(s->model, s->x, s->options, labels, p, err));
    check_output(status, labels, n * sizeof *labels, hash);
    check_output(status, p, n * CLASSES * sizeof *p, hash);
    free(labels);
    free(p);
    return status;
}

static hinge_status call_explain(const void *arg, uint64_t *hash, hinge_error *err)
{
    const struct subject *s = arg;
    size_t size = 4 * CLASSES * s->x->cols * sizeof(double);
    hinge_matrix few = *s->x;
    double *values = malloc(size), base[CLASSES];
    assert_non_null(values);
    few.rows = 4;
    for (int with = 0; with < 2; with++) {
        scribble(values, size);
        scribble(base, sizeof base);
        hinge_status status = FAULTED(hinge_explain(s->model, &few, with ? &few : NULL, s->options, values, base, err));
        check_output(status, values, size, hash);
        check_output(status, base, sizeof base, hash);
        if (status != HINGE_OK)
            return free(values), status;
    }
    scribble(values, size);
    hinge_status status = FAULTED(hinge_gradients(s->model, &few, s->options, values, err));
    check_output(status, values, size, hash);
    free(values);
    return status;
}

static hinge_status call_certify(const void *arg, uint64_t *hash, hinge_error *err)
{
    const struct subject *s = arg;
    hinge_certificate c;
    scribble(&c, sizeof c);
    hinge_status status = FAULTED(hinge_certify(s->model, s->x, s->y, &s->params, &c, err));
    c.seconds = status == HINGE_OK ? 0 : c.seconds;
    check_output(status, &c, sizeof c, hash);
    return status;
}

static hinge_status call_kinds(const void *arg, uint64_t *hash, hinge_error *err)
{
    const struct subject *s = arg;
    hinge_kinds kinds;
    hinge_point points[ROWS];
    scribble(&kinds, sizeof kinds);
    scribble(points, sizeof points);
    hinge_status status = FAULTED(hinge_kinds_of(s->model, s->x, s->y, &s->params, 1, 0.01, &kinds, points, err));
    check_output(status, &kinds.norm2, sizeof kinds.norm2, hash);
    if (status != HINGE_OK) {
        check_scribble(&kinds, sizeof kinds);
        check_scribble(points, sizeof points);
    }
    return status;
}

static int hash_kinds(void *arg, size_t problem, const hinge_kinds *kinds, const hinge_point *points)
{
    mix(arg, &problem, sizeof problem);
    mix(arg, kinds, sizeof *kinds);
    return 0;
}

static hinge_status call_kinds_each(const void *arg, uint64_t *hash, hinge_error *err)
{
    const struct subject *s = arg;
    uint64_t told = 0;
    hinge_status status = FAULTED(hinge_kinds_each(s->model, s->x, s->y, &s->params, 0.01, hash_kinds, &told, err));
    if (status == HINGE_OK)
        mix(hash, &told, sizeof told);
    return status;
}

static hinge_status call_norm2(const void *arg, uint64_t *hash, hinge_error *err)
{
    const struct subject *s = arg;
    double norm2;
    return FAULTED_OUTPUT(norm2, hinge_model_norm2(s->model, 0, &norm2, err));
}

static hinge_status call_format(const void *arg, uint64_t *hash, hinge_error *err)
{
    const struct subject *s = arg;
    char *bytes;
    size_t size;
    scribble(&bytes, sizeof bytes);
    scribble(&size, sizeof size);
    hinge_status status = FAULTED(hinge_model_format(s->model, &bytes, &size, err));
    if (status == HINGE_OK) {
        mix(hash, bytes, size);
        hinge_free(bytes);
    } else {
        check_scribble(&bytes, sizeof bytes);
        check_scribble(&size, sizeof size);
    }
    return status;
}

/* A calibrated model of three classes and its data. */
struct three {
    struct set set;
    hinge_matrix x;
    hinge_params params;
    hinge_model *model;
};

static struct three three_classes(hinge_kernel kernel)
{
    const double labels[] = { 3, 1, 2 };
    struct three t = { .set = set_blobs(10, ROWS, 4, CLASSES, labels, 0.8) };
    t.x = set_matrix(&t.set);
    t.params = params_of(HINGE_C_SVC);
    t.params.kernel = kernel;
    t.params.probability = 1;
    t.params.threads = 2;
    t.model = fit(&t.set, &t.params, NULL);
    return t;
}

TEST(looks_at_models)
{
    struct three t = three_classes(hinge_kernel_rbf(0.5)), linear = three_classes(hinge_kernel_linear());
    const hinge_predict_options options[] = { { .threads = 1 },
                                              { .threads = 2, .precision = HINGE_PRECISION_F32 },
                                              { .threads = 2, .precision = HINGE_PRECISION_F64, .cpu_level = 1 } };
    for (size_t i = 0; i < 3; i++) {
        struct subject s = { .x = &t.x, .y = t.set.y, .params = t.params, .model = t.model, .options = &options[i] };
        s.params.threads = options[i].threads;
        fail_allocations("predict", call_predict, &s);
        fail_allocations("probabilities", call_probability, &s);
        fail_allocations("explain", call_explain, &s);
        fail_allocations("certify", call_certify, &s);
        fail_allocations("kinds", call_kinds, &s);
        fail_allocations("kinds of each problem", call_kinds_each, &s);
        fail_allocations("norm", call_norm2, &s);
        fail_allocations("format", call_format, &s);
        s.model = linear.model;
        fail_allocations("predict, linear", call_predict, &s);
        fail_allocations("explain, linear", call_explain, &s);
    }
    /* more than one stretch of rows */
    struct set many = set_two_class(11, 9000, 4, 1);
    hinge_matrix x = set_matrix(&many);
    struct subject s = { .x = &x, .model = t.model, .options = &options[1] };
    fail_allocations("probabilities of many rows", call_probability, &s);
}

/* ---- models that are changed ------------------------------------------------------------------------------------- */

/* The model as it is told and as it predicts. */
static void hash_behaviour(const hinge_model *model, const hinge_matrix *x, uint64_t *hash)
{
    double decisions[ROWS * CLASSES];
    hinge_error err;
    hash_model(model, hash);
    if (x->cols == hinge_model_n_features(model))
        assert_int_equal(hinge_predict(model, x, NULL, NULL, decisions, &err), HINGE_OK);
    if (x->cols == hinge_model_n_features(model))
        mix(hash, decisions, x->rows * hinge_model_n_problems(model) * sizeof *decisions);
}

static hinge_status widen(hinge_model *model, const struct subject *s, hinge_error *err)
{
    return FAULTED(hinge_model_widen(model, s->x->cols + 3, err));
}

static hinge_status set_scaling(hinge_model *model, const struct subject *s, hinge_error *err)
{
    double factor[512], offset[512];
    for (size_t c = 0; c < s->x->cols; c++) {
        factor[c] = 1 + 0.1 * (double)c;
        offset[c] = 3;
    }
    return FAULTED(hinge_model_set_scaling(model, factor, offset, err));
}

static hinge_status calibrate(hinge_model *model, const struct subject *s, hinge_error *err)
{
    return FAULTED(hinge_calibrate(model, s->x, s->y, s->options, err));
}

static hinge_status locate(hinge_model *model, const struct subject *s, hinge_error *err)
{
    size_t missing;
    scribble(&missing, sizeof missing);
    hinge_status status = FAULTED(hinge_model_locate(model, s->x, s->y, &missing, err));
    if (status == HINGE_OK)
        assert_int_equal(missing, 0);
    else
        check_scribble(&missing, sizeof missing);
    assert_int_equal(hinge_model_sv_index(model) != NULL, status == HINGE_OK);
    return status;
}

struct change {
    struct subject s;
    hinge_status (*make)(hinge_model *model, const struct subject *s, hinge_error *err);
};

/* A model that is gone before the end of the test: what a call leaves behind is counted. */
static hinge_model *model_copy(const hinge_model *model)
{
    hinge_model *copy = NULL;
    char *text;
    size_t size;
    assert_int_equal(hinge_model_format(model, &text, &size, NULL), HINGE_OK);
    assert_int_equal(hinge_model_parse(&copy, "copy", text, size, NULL, NULL), HINGE_OK);
    hinge_free(text);
    return copy;
}

static hinge_status call_change(const void *arg, uint64_t *hash, hinge_error *err)
{
    const struct change *c = arg;
    hinge_model *model = model_copy(c->s.model);
    uint64_t before = 0, after = 0;
    hash_behaviour(model, c->s.x, &before);
    hinge_status status = c->make(model, &c->s, err);
    hash_behaviour(model, c->s.x, status == HINGE_OK ? hash : &after);
    if (status != HINGE_OK && before != after)
        fail_msg("the model is not what it was");
    hinge_model_free(model);
    return status;
}

TEST(changed_models)
{
    struct three t = three_classes(hinge_kernel_rbf(0.5));
    struct set wide = set_two_class(12, 280, 300, 1);
    hinge_matrix xw = set_matrix(&wide);
    hinge_params params = params_of(HINGE_C_SVC);
    params.kernel = hinge_kernel_rbf(0.001);
    hinge_model *large = fit(&wide, &params, NULL); /* it predicts in f32 */
    for (size_t i = 0; i < wide.n * wide.d; i++)    /* few non-zeros: panels */
        wide.x[i] = i * 7 % 11 < 2 ? wide.x[i] : 0;
    hinge_model *lists = fit(&wide, &params, NULL);
    const struct change changes[] = {
        { { .x = &t.x, .y = t.set.y, .model = t.model }, widen },
        { { .x = &t.x, .y = t.set.y, .model = t.model }, set_scaling },
        { { .x = &t.x, .y = t.set.y, .model = t.model }, calibrate },
        { { .x = &t.x, .y = t.set.y, .model = t.model }, locate },
        { { .x = &xw, .y = wide.y, .model = large }, widen },
        { { .x = &xw, .y = wide.y, .model = large }, set_scaling },
        { { .x = &xw, .y = wide.y, .model = lists }, widen },
        { { .x = &xw, .y = wide.y, .model = lists }, set_scaling },
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        fail_allocations("change of a model", call_change, &changes[i]);
}

/* ---- the rest of the interface ----------------------------------------------------------------------------------- */

static hinge_status call_mercer(const void *arg, uint64_t *hash, hinge_error *err)
{
    const struct subject *s = arg;
    hinge_mercer mercer;
    return FAULTED_OUTPUT(mercer, hinge_mercer_check(s->x, &s->params.kernel, 0, 2, &mercer, err));
}

static hinge_status call_radius(const void *arg, uint64_t *hash, hinge_error *err)
{
    const struct subject *s = arg;
    double radius;
    return FAULTED_OUTPUT(radius, hinge_radius(s->x, &s->params.kernel, 1, 2, &radius, err));
}

static hinge_status call_features(const void *arg, uint64_t *hash, hinge_error *err)
{
    const struct subject *s = arg;
    double z[40 * 10];
    hinge_kernel kernel = hinge_kernel_polynomial(2, 1, 1);
    return FAULTED_OUTPUT(z, hinge_polynomial_features(s->x, &kernel, 2, z, err));
}

static hinge_status call_perceptron(const void *arg, uint64_t *hash, hinge_error *err)
{
    const struct subject *s = arg;
    double out[4];
    hinge_online_round history[20];
    size_t rounds;
    hinge_perceptron_options options = { .rounds = 20, .batch = 3, .bias = 1, .threads = 2 };
    scribble(out, sizeof out);
    scribble(history, sizeof history);
    scribble(&rounds, sizeof rounds);
    hinge_status status = FAULTED(hinge_perceptron(s->x, s->y, &options, out, &out[3], history, &rounds, err));
    check_output(status, out, sizeof out, hash);
    if (status != HINGE_OK) {
        check_scribble(history, sizeof history);
        check_scribble(&rounds, sizeof rounds);
    }
    return status;
}

static hinge_status call_sgd(const void *arg, uint64_t *hash, hinge_error *err)
{
    const struct subject *s = arg;
    double out[4];
    hinge_online_round history[20];
    hinge_sgd_options options = { .lambda = 0.1, .epochs = 20, .batch = 3, .bias = 1, .threads = 2 };
    scribble(out, sizeof out);
    scribble(history, sizeof history);
    hinge_status status = FAULTED(hinge_sgd(s->x, s->y, &options, out, &out[3], history, err));
    check_output(status, out, sizeof out, hash);
    if (status != HINGE_OK)
        check_scribble(history, sizeof history);
    return status;
}

static hinge_status call_ball(const void *arg, uint64_t *hash, hinge_error *err)
{
    const struct subject *s = arg;
    hinge_params params = s->params;
    hinge_model *model;
    double C;
    params.task = HINGE_C_SVC;
    params.kernel = hinge_kernel_linear();
    scribble(&model, sizeof model);
    scribble(&C, sizeof C);
    hinge_status status = FAULTED(hinge_tradeoff_ball(&model, s->x, s->y, &params, 0.05, &C, err));
    check_output(status, &C, sizeof C, hash);
    return check_model(status, &model, hash);
}

static hinge_status call_normalise(const void *arg, uint64_t *hash, hinge_error *err)
{
    const struct subject *s = arg;
    double w[3] = { 1, 2, 3 }, b = 0.5;
    hinge_status status = FAULTED(hinge_normalise(s->x, w, &b, 2, err));
    assert_true(status == HINGE_OK || (w[0] == 1 && w[2] == 3 && b == 0.5));
    return status;
}

static hinge_status call_decisions(const void *arg, uint64_t *hash, hinge_error *err)
{
    const struct subject *s = arg;
    const double w[6] = { 1, 2, 3, 4, 5, 6 };
    double out[80];
    return FAULTED_OUTPUT(out, hinge_linear_decisions(s->x, w, NULL, 2, 2, out, err));
}

static hinge_status call_linear_model(const void *arg, uint64_t *hash, hinge_error *err)
{
    const double w[3] = { 1, 2, 3 };
    hinge_model *model;
    scribble(&model, sizeof model);
    hinge_status status = FAULTED(hinge_linear_model(&model, w, 3, 1, 1, -1, err));
    return check_model(status, &model, hash);
}

static hinge_status call_qp(const void *arg, uint64_t *hash, hinge_error *err)
{
    const double q[4] = { 2, 0, 0, 2 }, p[2] = { -2, -6 }, a[4] = { -1, -1, 1, 0 }, c[2] = { -2, 0 };
    const double e[2] = { 1, -1 }, f[1] = { 0 };
    double u[2], z[2], y[1];
    hinge_qp problem = { 2, q, p, 2, a, c, 1, e, f, 0, 0 };
    hinge_qp_result result;
    scribble(&result, sizeof result);
    result.u = scribble(u, sizeof u);
    result.z = scribble(z, sizeof z);
    result.y = scribble(y, sizeof y);
    hinge_status status = FAULTED(hinge_qp_solve(&problem, &result, err));
    check_output(status, u, sizeof u, hash);
    check_output(status, z, sizeof z, hash);
    check_output(status, y, sizeof y, hash);
    scribble(&result.u, sizeof result.u); /* these three are set by the caller */
    scribble(&result.z, sizeof result.z);
    scribble(&result.y, sizeof result.y);
    if (status != HINGE_OK)
        check_scribble(&result, sizeof result);
    return status;
}

TEST(everything_else)
{
    struct set set = set_two_class(13, 40, 3, 1);
    hinge_matrix x = set_matrix(&set);
    struct subject s = { .x = &x, .y = set.y, .params = params_of(HINGE_C_SVC) };
    fail_allocations("Mercer", call_mercer, &s);
    fail_allocations("radius", call_radius, &s);
    fail_allocations("features", call_features, &s);
    fail_allocations("perceptron", call_perceptron, &s);
    fail_allocations("SGD", call_sgd, &s);
    fail_allocations("the ball", call_ball, &s);
    fail_allocations("normalised", call_normalise, &s);
    fail_allocations("decisions", call_decisions, &s);
    fail_allocations("linear model", call_linear_model, &s);
    fail_allocations("QP", call_qp, &s);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static char *read_whole(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    char *bytes = calloc(1, (size_t)1 << 22);
    assert_true(file != NULL && bytes != NULL);
    *size = fread(bytes, 1, (size_t)1 << 22, file);
    fclose(file);
    return bytes;
}

struct reading {
    const char *path;
    hinge_data_options options;
    bool from_memory;
};

static hinge_status call_read(const void *arg, uint64_t *hash, hinge_error *err)
{
    const struct reading *r = arg;
    hinge_data data;
    size_t size = 0;
    char *bytes = r->from_memory ? read_whole(r->path, &size) : NULL;
    scribble(&data, sizeof data);
    hinge_status status = FAULTED(bytes != NULL ? hinge_data_parse(r->path, bytes, size, &r->options, &data, err)
                                                : hinge_data_read(r->path, &r->options, &data, err));
    free(bytes);
    if (status == HINGE_OK) {
        for (size_t i = 0; i < data.x.rows; i++)
            mix(hash, (const char *)data.x.data + i * data.x.stride * (size_t)data.x.type * 4,
                data.x.cols * (size_t)data.x.type * 4);
        mix(hash, data.y, data.x.rows * sizeof *data.y);
        hinge_data_free(&data);
    } else {
        check_scribble(&data, sizeof data);
    }
    return status;
}

static hinge_status call_load(const void *arg, uint64_t *hash, hinge_error *err)
{
    const struct reading *r = arg;
    hinge_model *model;
    size_t size = 0;
    char *bytes = r->from_memory ? read_whole(r->path, &size) : NULL;
    scribble(&model, sizeof model);
    hinge_status status = FAULTED(bytes != NULL ? hinge_model_parse(&model, r->path, bytes, size, NULL, err)
                                                : hinge_model_load(&model, r->path, NULL, err));
    free(bytes);
    return check_model(status, &model, hash);
}

static hinge_status call_file(const void *arg, uint64_t *hash, hinge_error *err)
{
    const struct reading *r = arg;
    struct { char *bytes; size_t size; } file;
    scribble(&file, sizeof file);
    hinge_status status = FAULTED(hinge_file_read(r->path, &file.bytes, &file.size, err));
    if (status == HINGE_OK) {
        mix(hash, file.bytes, file.size + 1);
        hinge_free(file.bytes);
    } else {
        check_scribble(&file, sizeof file);
    }
    return status;
}

static void write_npy(const char *path, const char *shape, const double *values, size_t n)
{
    char header[128];
    memset(header, ' ', sizeof header);
    memcpy(header, "\x93NUMPY\x01\x00\x76\x00", 10);
    int used = snprintf(header + 10, 100, "{'descr': '<f8', 'fortran_order': False, 'shape': %s, }", shape);
    header[10 + used] = ' ';
    header[127] = '\n';
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fwrite(header, 1, sizeof header, file);
    fwrite(values, sizeof *values, n, file);
    assert_int_equal(fclose(file), 0);
}

TEST(readings)
{
    struct three t = three_classes(hinge_kernel_rbf(0.5));
    const size_t columns[] = { 7, 8 };
    const char *libsvm = path_of("data"), *csv = path_of("data.csv"), *npy = path_of("data.npy"), *y = path_of("y.npy"),
               *model = path_of("model"), *wide = path_of("wide"), *serial = path_of("serial"),
               *xz = path_of("data.xz"), *gz = path_of("data.gz"), *model_xz = path_of("model.xz");
    char command[600];
    hinge_error err;
    assert_int_equal(hinge_data_write(libsvm, &t.x, t.set.y, &err), HINGE_OK);
    assert_int_equal(hinge_model_save(t.model, model, &err), HINGE_OK);
    write_file(csv, "1,2,3\n4,5,6\n", 12);
    write_file(wide, "1 7:1 20000000:2\n2 9:1\n", 23);
    write_file(serial, "1 0:1 1:2 2:1\n2 0:2 1:1 2:3\n", 28);
    write_npy(npy, "(20, 3)", t.set.x, 60);
    write_npy(y, "(20,)", t.set.x, 20);
    snprintf(command, sizeof command, "cd %s && xz -k data model && gzip -k data", folder());
    if (system(command) != 0)
        fail_msg("failed: %s", command);
    for (int threads = 1; threads <= 2; threads++)
        for (int memory = 0; memory < 2; memory++) {
            const struct reading readings[] = {
                { libsvm, { .threads = threads }, memory },
                { libsvm, { .threads = threads, .type = HINGE_F32 }, memory },
                { serial, { .threads = threads, .precomputed = 1 }, memory },
                { wide, { .threads = threads, .drop_empty = 1 }, memory },
                { wide, { .threads = threads, .columns = columns, .n_columns = 2 }, memory },
#if HG_HAVE_LZMA
                { xz, { .threads = threads }, memory },
#endif
#if HG_HAVE_ZLIB
                { gz, { .threads = threads }, memory },
#endif
                { csv, { .threads = threads }, memory },
                { npy, { .threads = threads, .labels_path = y }, memory },
            };
            for (size_t i = 0; i < sizeof readings / sizeof *readings; i++)
                fail_allocations(readings[i].path, call_read, &readings[i]);
            for (size_t i = 0; i < sizeof readings / sizeof *readings && !memory; i++)
                fail_allocations(readings[i].path, call_file, &readings[i]);
            fail_allocations("model", call_load, &(struct reading){ .path = model, .from_memory = memory });
#if HG_HAVE_LZMA
            fail_allocations("model.xz", call_load, &(struct reading){ .path = model_xz, .from_memory = memory });
#endif
        }
}

/* ---- files that cannot be written -------------------------------------------------------------------------------- */

static const char old_text[] = "this is the old file\n";

static void write_old(const char *path)
{
    write_file(path, old_text, sizeof old_text - 1);
}

static bool holds(const char *path, const char *wanted, size_t wanted_size)
{
    size_t size;
    char *bytes = read_whole(path, &size);
    bool same = size == wanted_size && memcmp(bytes, wanted, size) == 0;
    free(bytes);
    return same;
}

static size_t entries(const char *path)
{
    size_t count = 0;
    DIR *directory = opendir(path);
    assert_non_null(directory);
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count;
}

static hinge_status save_model(const char *path, const struct three *t, hinge_error *err)
{
    return FAULTED(hinge_model_save(t->model, path, err));
}

static hinge_status write_data(const char *path, const struct three *t, hinge_error *err)
{
    return FAULTED(hinge_data_write(path, &t->x, t->set.y, err));
}

typedef hinge_status (*writer)(const char *path, const struct three *t, hinge_error *err);

static void check_not_written(hinge_status status, const hinge_error *err, const char *reason, const char *path)
{
    assert_int_equal(status, HINGE_EIO);
    assert_int_equal(err->status, HINGE_EIO);
    if (strstr(err->text, reason) == NULL || strstr(err->text, path) == NULL)
        fail_msg("\"%s\" does not name %s and \"%s\"", err->text, path, reason);
    assert_true(holds(path, old_text, sizeof old_text - 1));
}

static void fail_writes(writer write_it, const struct three *t, int error, bool on)
{
    const char *path = path_of("kept");
    hinge_error err;
    write_old(path);
    size_t files = entries(folder()), descriptors = entries("/proc/self/fd");
    due.kind = FAULT_FILE;
    due.error = error;
    due.on = on;
    for (due.k = 1;; due.k++) {
        hinge_status status = write_it(path, t, &err);
        assert_int_equal(entries("/proc/self/fd"), descriptors);
        assert_int_equal(entries(folder()), files);
        if (due.failed == 0)
            break;
        check_not_written(status, &err, strerror(error), path);
        injected++;
    }
    due.kind = FAULT_NONE;
    assert_true(due.k > 5); /* open, write, fsync, close, rename */
    assert_false(holds(path, old_text, sizeof old_text - 1));
}

TEST(writes_fail)
{
    const int errors[] = { ENOSPC, EIO, EDQUOT };
    struct three t = three_classes(hinge_kernel_rbf(0.5));
    for (size_t e = 0; e < 3; e++)
        for (int on = 0; on < 2; on++) {
            fail_writes(save_model, &t, errors[e], on != 0);
            fail_writes(write_data, &t, errors[e], on != 0);
        }
}

TEST(writes_are_short)
{
    const char *path = path_of("short");
    char *bytes;
    size_t size;
    hinge_error err;
    struct three t = three_classes(hinge_kernel_rbf(0.5));
    assert_int_equal(hinge_model_format(t.model, &bytes, &size, &err), HINGE_OK);
    due.kind = FAULT_SHORT;
    due.k = 0;
    assert_int_equal(save_model(path, &t, &err), HINGE_OK);
    due.kind = FAULT_NONE;
    assert_true(holds(path, bytes, size));
    hinge_free(bytes);
}

TEST(saving_without_memory)
{
    struct three t = three_classes(hinge_kernel_rbf(0.5));
    const char *path = path_of("no-memory");
    hinge_error err;
    write_old(path);
    size_t files = entries(folder());
    due.kind = FAULT_MEMORY;
    due.on = false;
    for (due.k = 1;; due.k++) {
        long before = faults_held();
        hinge_status status = (due.k % 2 == 0 ? save_model : write_data)(path, &t, &err);
        assert_int_equal(faults_held(), before);
        assert_int_equal(entries(folder()), files);
        if (due.failed == 0)
            break;
        assert_int_equal(status, HINGE_ENOMEM);
        assert_true(holds(path, old_text, sizeof old_text - 1));
        injected++;
    }
    due.kind = FAULT_NONE;
}

/* Limits and devices of the system itself. */
TEST(writes_meet_limits)
{
    struct three t = three_classes(hinge_kernel_rbf(0.5));
    const char *path = path_of("limited");
    hinge_error err;
    struct stat info;
    struct rlimit limit, small;
    assert_int_equal(save_model("/dev/full", &t, &err), HINGE_EIO);
    assert_non_null(strstr(err.text, strerror(ENOSPC)));
    assert_true(stat("/dev/full", &info) == 0 && S_ISCHR(info.st_mode));
    write_old(path);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    small = limit;
    small.rlim_cur = 100;
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    hinge_status status = save_model(path, &t, &err);
    setrlimit(RLIMIT_FSIZE, &limit);
    signal(SIGXFSZ, before);
    check_not_written(status, &err, strerror(EFBIG), path);
}

/* ---- in another process: it is killed, or may not write ---------------------------------------------------------- */

/* Runs this program anew, as `mode` says (see do_as_told); returns its wait status. */
static int run_self(const char *mode, const char *model, const char *path, long k)
{
    char number[24];
    snprintf(number, sizeof number, "%ld", k);
    pid_t child = fork();
    if (child == 0) {
        execl("/proc/self/exe", "test_faults", mode, model, path, number, (char *)NULL);
        _exit(99);
    }
    int status = 0;
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    return status;
}

/* Saves a model as "saved", tells its bytes. */
static char *saved_model(size_t *size)
{
    char *bytes;
    hinge_error err;
    struct three t = three_classes(hinge_kernel_rbf(0.5));
    assert_int_equal(save_model(path_of("saved"), &t, &err), HINGE_OK);
    assert_int_equal(hinge_model_format(t.model, &bytes, size, &err), HINGE_OK);
    return bytes;
}

TEST(killed_in_the_middle)
{
    const char *model = path_of("saved"), *inner = path_of("killed"), *path = path_of("killed/m");
    size_t size;
    char *bytes = saved_model(&size);
    assert_int_equal(mkdir(inner, 0755), 0);
    long k = 1;
    for (;; k++) {
        write_old(path);
        int status = run_self("killed", model, path, k);
        if (WIFEXITED(status)) {
            assert_int_equal(WEXITSTATUS(status), 0);
            break;
        }
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        if (!holds(path, old_text, sizeof old_text - 1))
            fail_msg("killed at step %ld: the old file is not whole", k);
        injected++;
    }
    assert_true(k > 5);
    assert_true(holds(path, bytes, size)); /* what the dead left behind is in nobody's way */
    hinge_free(bytes);
    char command[600];
    snprintf(command, sizeof command, "rm -r %s", inner);
    assert_int_equal(system(command), 0);
}

static void check_exit(int status)
{
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip_because("the file system could not be made, or filled");
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

TEST(read_only_folder)
{
    const char *model = path_of("saved"), *inner = path_of("read-only"), *path = path_of("read-only/m");
    size_t size;
    hinge_free(saved_model(&size));
    assert_int_equal(chmod(folder(), 0755), 0); /* another user may look into it */
    assert_int_equal(mkdir(inner, 0755), 0);
    write_old(path);
    assert_int_equal(chmod(inner, 0555), 0);
    int status = run_self("read-only", model, path, 0);
    bool whole = holds(path, old_text, sizeof old_text - 1) && entries(inner) == 3;
    chmod(inner, 0755);
    assert_true(whole);
    check_exit(status);
}

TEST(full_disk)
{
    const char *model = path_of("saved"), *inner = path_of("disk"), *path = path_of("disk/m");
    size_t size;
    hinge_free(saved_model(&size));
    assert_int_equal(chmod(folder(), 0755), 0); /* another user may look into it */
    assert_int_equal(mkdir(inner, 0755), 0);
    check_exit(run_self("full-disk", model, path, 0));
}

/* A small disk of our own at the folder of path; false: not permitted. */
static bool mount_disk(const char *path)
{
    char where[512], map[40];
    snprintf(where, sizeof where, "%.*s", (int)(strrchr(path, '/') - path), path);
    snprintf(map, sizeof map, "0 %u 1", (unsigned)geteuid());
    if (geteuid() != 0) {
        int fd;
        if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0 || (fd = open("/proc/self/uid_map", O_WRONLY)) < 0)
            return false;
        bool mapped = write(fd, map, strlen(map)) == (ssize_t)strlen(map);
        close(fd);
        if (!mapped)
            return false;
    } else if (unshare(CLONE_NEWNS) != 0) {
        return false;
    }
    return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 && mount("hinge", where, "tmpfs", 0, "size=64k") == 0;
}

/* Until nothing more goes onto the disk. */
static void fill_disk(const char *path)
{
    static const char zeros[4096];
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    for (size_t size = sizeof zeros; fd >= 0 && size > 0;)
        if (write(fd, zeros, size) <= 0)
            size /= 2;
    close(fd);
}

enum { SKIPPED = 77 };

static int full_disk_in_child(const char *model_path, const char *path)
{
    char filler[600];
    hinge_model *model = NULL;
    hinge_error err;
    if (!mount_disk(path))
        return SKIPPED;
    if (hinge_model_load(&model, model_path, NULL, &err) != HINGE_OK)
        return 2;
    write_old(path);
    snprintf(filler, sizeof filler, "%s-filler", path);
    fill_disk(filler);
    if (hinge_model_save(model, path, &err) != HINGE_EIO || strstr(err.text, strerror(ENOSPC)) == NULL)
        return 3;
    if (!holds(path, old_text, sizeof old_text - 1))
        return 4;
    unlink(filler);
    if (hinge_model_save(model, path, &err) != HINGE_OK || holds(path, old_text, sizeof old_text - 1))
        return 5;
    hinge_model_free(model);
    return 0;
}

static int do_as_told(char **argv)
{
    hinge_model *model = NULL;
    hinge_error err;
    const char *mode = argv[1], *model_path = argv[2], *path = argv[3];
    if (strcmp(mode, "full-disk") == 0)
        return full_disk_in_child(model_path, path);
    if (hinge_model_load(&model, model_path, NULL, &err) != HINGE_OK)
        return 2;
    if (strcmp(mode, "read-only") == 0) {
        if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) /* no folder is read-only for root */
            return SKIPPED;
        hinge_status status = hinge_model_save(model, path, &err);
        hinge_model_free(model);
        return status == HINGE_EIO && strstr(err.text, strerror(EACCES)) != NULL ? 0 : 3;
    }
    faults_begin(FAULT_KILL, atol(argv[4]), false, 0);
    hinge_status status = hinge_model_save(model, path, &err);
    faults_end(NULL);
    hinge_model_free(model);
    return status == HINGE_OK ? 0 : 3;
}

int main(int argc, char **argv)
{
    if (argc == 5)
        return do_as_told(argv);
    int failed = run_program(argv[argc > 1 ? 1 : argc]);
    print_message("%zu faults injected\n", injected);
    return failed;
}

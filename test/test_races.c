/*
 * hinge among threads: several trainings at once, one const model used by many, a stop from elsewhere, files saved and
 * loaded at the same time. Results must be those of one thread, bit for bit; test/sanitize.sh runs this program under
 * ThreadSanitizer as well.
 */
#include "test/support.h"

#include <hinge/io.h>

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

/* Worker threads make no assertions, which cmocka wants in the main thread: they keep what they saw. */
/* ---- several trainings at once ----------------------------------------------------------------------------------- */

enum { JOBS = 9, FOLDS = 3 };

struct job {
    const char *name;
    const struct set *set;
    hinge_params params;
    struct text alone;
    double *folds; /* predictions of a cross-validation, alone */
};

struct jobs {
    struct set two, three, values, sparse;
    struct job job[JOBS];
};

static struct job make_job(const char *name, const struct set *set, hinge_task task, hinge_kernel kernel)
{
    struct job job = { .name = name, .set = set, .params = hinge_params_default(task) };
    job.params.kernel = kernel;
    job.params.threads = 2;
    job.params.working_set = 64;
    job.params.profile = 1;
    return job;
}

static void make_jobs(struct jobs *jobs)
{
    const double labels[] = { 4, 2, 8 };
    jobs->two = set_two_class(50, 400, 6, 1);
    jobs->three = set_blobs(51, 300, 5, 3, labels, 1);
    jobs->values = set_regression(52, 250, 4);
    jobs->sparse = set_two_class(53, 300, 60, 1); /* one entry in ten: lists instead of BLAS */
    for (size_t i = 0; i < 300 * 60; i++)
        jobs->sparse.x[i] *= i % 10 == 3;
    static hinge_kernel dot;
    dot = hinge_kernel_polynomial(1, 1, 1);
    struct job *job = jobs->job;
    job[0] = make_job("rbf", &jobs->two, HINGE_C_SVC, hinge_kernel_rbf(0.1));
    job[1] = make_job("probability", &jobs->three, HINGE_C_SVC, hinge_kernel_rbf(0.2));
    job[1].params.probability = 1;
    job[2] = make_job("interior point", &jobs->two, HINGE_C_SVC, hinge_kernel_linear());
    job[2].params.solver = HINGE_SOLVER_INTERIOR_POINT;
    job[3] = make_job("regression", &jobs->values, HINGE_EPSILON_SVR, hinge_kernel_polynomial(2, 0.5, 1));
    job[3].params.cache_bytes = 100000;
    job[4] = make_job("one class", &jobs->two, HINGE_ONE_CLASS, hinge_kernel_sigmoid(0.01, 0));
    job[5] = make_job("one-vs-rest", &jobs->three, HINGE_NU_SVC, hinge_kernel_rbf(0.3));
    job[5].params.multiclass = HINGE_ONE_VS_REST;
    job[5].params.nu = 0.2;
    job[6] = make_job("user", &jobs->two, HINGE_C_SVC, hinge_kernel_user("dot", plain_block, &dot));
    job[6].params.C = 0.01;
    job[7] = make_job("lists", &jobs->sparse, HINGE_C_SVC, hinge_kernel_rbf(0.05));
    job[8] = make_job("low rank", &jobs->values, HINGE_EPSILON_SVR, hinge_kernel_rbf(0.5));
    job[8].params.solver = HINGE_SOLVER_INTERIOR_POINT;
    job[8].params.rank = 30;
}

static void free_jobs(struct jobs *jobs)
{
    for (size_t i = 0; i < JOBS; i++) {
        hinge_free(jobs->job[i].alone.bytes);
        free(jobs->job[i].folds);
    }
}

/* The model as text; no bytes: it failed. */
static struct text train_job(const struct job *job)
{
    hinge_matrix x = set_matrix(job->set);
    hinge_model *model = NULL;
    hinge_report report;
    struct text text = { NULL, 0 };
    if (hinge_train(&model, &x, job->set->y, &job->params, &report, NULL) == HINGE_OK)
        hinge_model_format(model, &text.bytes, &text.size, NULL);
    hinge_model_free(model);
    return text;
}

static double *validate_job(const struct job *job)
{
    hinge_matrix x = set_matrix(job->set);
    hinge_params params = job->params;
    double *predictions = calloc(job->set->n, sizeof *predictions);
    params.probability = 0;
    if (hinge_cross_validate(&x, job->set->y, &params, FOLDS, predictions, NULL, NULL) == HINGE_OK)
        return predictions;
    free(predictions);
    return NULL;
}

struct worker {
    const struct jobs *jobs;
    size_t first;          /* job to begin with */
    const char *different; /* name of a job whose result was not that of a thread alone */
};

static void *do_jobs(void *arg)
{
    struct worker *worker = arg;
    for (size_t i = 0; i < JOBS; i++) {
        const struct job *job = &worker->jobs->job[(worker->first + i) % JOBS];
        struct text text = train_job(job);
        double *folds = validate_job(job);
        if (!same_text(text, job->alone) || folds == NULL ||
            memcmp(folds, job->folds, job->set->n * sizeof *folds) != 0)
            worker->different = job->name;
        hinge_free(text.bytes);
        free(folds);
    }
    return NULL;
}

TEST(trainings_at_once)
{
    struct jobs jobs;
    make_jobs(&jobs);
    for (size_t i = 0; i < JOBS; i++) {
        jobs.job[i].alone = train_job(&jobs.job[i]);
        jobs.job[i].folds = validate_job(&jobs.job[i]);
        if (jobs.job[i].alone.bytes == NULL || jobs.job[i].folds == NULL)
            fail_msg("%s: training alone failed", jobs.job[i].name);
    }
    struct worker workers[] = { { &jobs, 0, NULL }, { &jobs, 0, NULL }, { &jobs, JOBS / 2, NULL } };
    pthread_t threads[3];
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, do_jobs, &workers[i]), 0);
    for (size_t i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    for (size_t i = 0; i < 3; i++)
        if (workers[i].different != NULL)
            fail_msg("thread %zu, %s: not the result of a thread alone", i, workers[i].different);
    free_jobs(&jobs);
}

/* ---- one model, many readers ------------------------------------------------------------------------------------- */

struct reading {
    double *labels, *decisions, *probabilities;
    struct text text;
    hinge_certificate certificate;
};

struct reader {
    const hinge_model *model;
    const struct set *set;
    const hinge_params *params;
    hinge_predict_options options;
    struct reading reading;
    bool ok;
};

static void *do_read(void *arg)
{
    struct reader *r = arg;
    struct reading *to = &r->reading;
    size_t n = r->set->n;
    hinge_matrix x = set_matrix(r->set);
    to->labels = calloc(n, sizeof(double));
    to->decisions = calloc(n * hinge_model_n_problems(r->model), sizeof(double));
    to->probabilities = calloc(n * hinge_model_n_classes(r->model), sizeof(double));
    r->ok = hinge_predict_probability(r->model, &x, &r->options, NULL, to->probabilities, NULL) == HINGE_OK &&
            hinge_predict(r->model, &x, &r->options, to->labels, to->decisions, NULL) == HINGE_OK &&
            hinge_model_format(r->model, &to->text.bytes, &to->text.size, NULL) == HINGE_OK &&
            hinge_certify(r->model, &x, r->set->y, r->params, &to->certificate, NULL) == HINGE_OK;
    return NULL;
}

static void check_reading(const struct reader *a, const struct reader *b)
{
    size_t n = a->set->n;
    assert_true(a->ok && b->ok);
    assert_memory_equal(a->reading.labels, b->reading.labels, n * sizeof(double));
    assert_memory_equal(a->reading.decisions, b->reading.decisions,
                        n * hinge_model_n_problems(a->model) * sizeof(double));
    assert_memory_equal(a->reading.probabilities, b->reading.probabilities,
                        n * hinge_model_n_classes(a->model) * sizeof(double));
    assert_true(same_text(a->reading.text, b->reading.text));
    assert_true(a->reading.certificate.primal == b->reading.certificate.primal);
    assert_true(a->reading.certificate.dual == b->reading.certificate.dual);
}

static void free_reading(struct reading *reading)
{
    free(reading->labels);
    free(reading->decisions);
    free(reading->probabilities);
    hinge_free(reading->text.bytes);
}

TEST(one_model_many_readers)
{
    const double labels[] = { 4, 2, 8 };
    struct set set = set_blobs(54, 300, 40, 3, labels, 2);
    const hinge_kernel kernels[] = { hinge_kernel_rbf(0.05), hinge_kernel_linear(),
                                     hinge_kernel_polynomial(2, 0.1, 1) };
    for (size_t k = 0; k < 3; k++) {
        hinge_params params = hinge_params_default(HINGE_C_SVC);
        params.kernel = kernels[k];
        params.probability = 1;
        hinge_model *model = fit(&set, &params, NULL);
        struct reader readers[6];
        pthread_t threads[6];
        for (size_t i = 0; i < 6; i++) /* first the ones that read alone: auto, f32, f64 */
            readers[i] = (struct reader){ .model = model,
                                          .set = &set,
                                          .params = &params,
                                          .options = { .threads = 2, .precision = (hinge_precision)(i % 3) } };
        for (size_t i = 0; i < 3; i++)
            do_read(&readers[i]);
        for (size_t i = 3; i < 6; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, do_read, &readers[i]), 0);
        for (size_t i = 3; i < 6; i++)
            pthread_join(threads[i], NULL);
        for (size_t i = 3; i < 6; i++)
            check_reading(&readers[i - 3], &readers[i]);
        for (size_t i = 0; i < 6; i++)
            free_reading(&readers[i].reading);
    }
}

/* ---- a stop from elsewhere --------------------------------------------------------------------------------------- */

struct canceled {
    const struct set *set;
    hinge_params params;
    atomic_int rounds, stop;
    hinge_status status;
    hinge_report report;
    struct text text;
};

static int watch(void *arg, const hinge_progress *progress)
{
    struct canceled *c = arg;
    if (atomic_fetch_add(&c->rounds, 1) >= 10) /* it must not be done before it is stopped */
        while (!atomic_load(&c->stop))
            usleep(100);
    return atomic_load(&c->stop);
}

static void *do_canceled(void *arg)
{
    struct canceled *c = arg;
    hinge_matrix x = set_matrix(c->set);
    hinge_model *model = NULL;
    c->status = hinge_train(&model, &x, c->set->y, &c->params, &c->report, NULL);
    if (c->status == HINGE_OK)
        hinge_model_format(model, &c->text.bytes, &c->text.size, NULL);
    hinge_model_free(model);
    return NULL;
}

/* A problem of more than ten rounds, stopped after the second. */
TEST(stop_from_elsewhere)
{
    struct set set = set_two_class(55, 1500, 6, 4);
    const hinge_solver solvers[] = { HINGE_SOLVER_SMO, HINGE_SOLVER_INTERIOR_POINT };
    for (size_t s = 0; s < 2; s++) {
        struct canceled c = { .set = &set, .params = hinge_params_default(HINGE_C_SVC) };
        pthread_t thread;
        c.params.C = 1e6;
        c.params.eps = 1e-9;
        c.params.threads = 2;
        c.params.working_set = 32;
        c.params.solver = solvers[s];
        c.params.rank = s == 0 ? 0 : 400;
        c.params.progress = watch;
        c.params.progress_arg = &c;
        assert_int_equal(pthread_create(&thread, NULL, do_canceled, &c), 0);
        while (atomic_load(&c.rounds) < 2)
            usleep(100);
        atomic_store(&c.stop, 1);
        pthread_join(thread, NULL);
        assert_int_equal(c.status, HINGE_OK);
        assert_int_equal(c.report.outcome, HINGE_STOPPED);
        assert_non_null(c.text.bytes);
        hinge_free(c.text.bytes);
    }
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

struct user {
    const char *path;
    const hinge_model *model; /* to be saved; NULL: load */
    struct text either[2];    /* what may be loaded */
    bool ok;
};

#ifdef _WIN32 /* does not replace a file that somebody reads */
enum { REFUSES = true };
#else
enum { REFUSES = false };
#endif

static void *use_file(void *arg)
{
    struct user *user = arg;
    user->ok = true;
    for (int i = 0; i < 50; i++) {
        hinge_model *model = NULL;
        struct text text = { NULL, 0 };
        hinge_status status = user->model != NULL ? hinge_model_save(user->model, user->path, NULL)
                                                  : hinge_model_load(&model, user->path, NULL, NULL);
        user->ok = user->ok && (status == HINGE_OK || (REFUSES && status == HINGE_EIO));
        if (model == NULL)
            continue;
        user->ok = user->ok && hinge_model_format(model, &text.bytes, &text.size, NULL) == HINGE_OK &&
                   (same_text(text, user->either[0]) || same_text(text, user->either[1]));
        hinge_free(text.bytes);
        hinge_model_free(model);
    }
    return NULL;
}

/* Two threads save over one another; what two others load is one of the two models, whole. */
TEST(files_at_once)
{
    const char *path = path_of("model");
    struct set set = set_two_class(56, 200, 10, 1);
    hinge_params params = hinge_params_default(HINGE_C_SVC);
    hinge_model *models[2];
    struct text texts[2];
    for (size_t i = 0; i < 2; i++) {
        params.C = i == 0 ? 1 : 100;
        models[i] = fit(&set, &params, NULL);
        texts[i] = text_of(models[i]);
    }
    assert_false(same_text(texts[0], texts[1]));
    assert_int_equal(hinge_model_save(models[0], path, NULL), HINGE_OK);
    struct user users[4];
    pthread_t threads[4];
    for (size_t i = 0; i < 4; i++) {
        users[i] = (struct user){ path, i < 2 ? models[i] : NULL, { texts[0], texts[1] }, false };
        assert_int_equal(pthread_create(&threads[i], NULL, use_file, &users[i]), 0);
    }
    for (size_t i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    for (size_t i = 0; i < 4; i++)
        assert_true(users[i].ok);
}

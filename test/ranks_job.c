#include "test/ranks_job.h"

struct job job_of(const struct set *set, hinge_params params)
{
    params.threads = params.threads > 0 ? params.threads : 1;
    return (struct job){ .set = set, .params = params, .stopped_rank = -1, .failing_rank = -1 };
}

struct counted { /* a kernel that counts its values, and may fail */
    hinge_kernel kernel;
    double values;
    int calls_left; /* -1: it never fails */
};

static int count_block(void *cookie, const hinge_matrix *a, const hinge_matrix *b, double *out, size_t ld)
{
    struct counted *c = cookie;
    int left;
#pragma omp critical(count)
    {
        c->values += (double)(a->rows * b->rows);
        left = c->calls_left > 0 ? --c->calls_left : c->calls_left;
    }
    return left == 0 ? 1 : plain_block(&c->kernel, a, b, out, ld);
}

static int count_down(void *arg, const hinge_progress *p)
{
    (void)p;
    return --*(int *)arg <= 0;
}

void train_rank(const struct hm_net *net, void *arg)
{
    struct job *t = arg;
    size_t n = t->set->n, first = n * (size_t)net->rank / (size_t)net->ranks;
    size_t rows = n * ((size_t)net->rank + 1) / (size_t)net->ranks - first;
    struct set mine = { rows, t->set->d, t->set->x + first * t->set->d, t->set->y + first };
    struct counted counted = { t->params.kernel, 0, net->rank == t->failing_rank ? 3 : -1 };
    hinge_matrix x = set_matrix(&mine);
    hinge_params params = t->params;
    hinge_model *model = NULL;
    hinge_report report = { 0 };
    struct hm_options options = { .certificate = &(hinge_certificate){ 0 },
                                  .traffic = &t->traffic[net->rank],
                                  .checkpoint = t->checkpoint,
                                  .every = t->every,
                                  .tile = t->tile };
    int calls = t->calls > 0 ? t->calls : 3;
    double *beta0 = get(t->problems * rows + 1, sizeof *beta0);
    for (size_t p = 0; p < t->problems; p++)
        memcpy(beta0 + p * rows, t->beta0 + p * n + first, rows * sizeof *beta0);
    params.beta0 = t->problems > 0 ? beta0 : NULL;
    params.weights = t->weights != NULL ? t->weights + first : NULL;
    if (params.kernel.type == HINGE_USER)
        params.kernel = hinge_kernel_user("counted", count_block, &counted);
    counted.kernel.type = HINGE_RBF;
    if (net->rank == t->stopped_rank) {
        params.progress = count_down;
        params.progress_arg = &calls;
    }
    if (params.kernel.type == HINGE_USER) /* has no certificate by a model that ends with its cookie */
        options.certificate = NULL;
    hinge_error *err = &t->err[net->rank];
    const struct hm_options plain = { 0 };
    hinge_status status = t->folds > 0 ? hm_cross_validate(net, &x, mine.y, &params, t->folds, &plain,
                                                           t->predictions + first, &report, err)
                                       : hm_train(net, &x, mine.y, &params, &options, &model, &report, err);
    assert_int_equal(status, err->status);
    t->values[net->rank] = counted.values;
    if (net->rank != 0) {
        assert_null(model);
        return;
    }
    t->model = model != NULL ? given_back(model) : NULL;
    t->report = report;
    if (options.certificate != NULL)
        t->certificate = *options.certificate;
}

void assert_same_model(const hinge_model *a, const hinge_model *b)
{
    assert_true(same_text(text_of(a), text_of(b)));
    assert_int_equal(hinge_model_n_sv(a), hinge_model_n_sv(b));
    if (hinge_model_sv_index(a) != NULL)
        assert_memory_equal(hinge_model_sv_index(a), hinge_model_sv_index(b), hinge_model_n_sv(a) * sizeof(size_t));
}

/*
 * A training over ranks: the deal (deal.c), one problem after the other (problem.c), and the model, which rank 0 makes
 * of the support vectors that all send it.
 */
#include "mpi/mpi_train.h"
#include "lib/base/team.h"
#include "lib/data/params.h"
#include "lib/train/training.h"
#include "mpi/mpi_run.h"
#include "mpi/save.h"

#include <hinge/scaling.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct training {
    const struct hm_net *net;
    struct hm_own own;
    struct hm_watch watch;
    size_t coef_rows;              /* of a model: one for each other class, or class, or one */
    double *coef;                  /* [own.n * coef_rows] */
    struct hm_solved *solved, all; /* [n_problems], and what they come to together */
    bool certifies, deals;         /* deals: problems that fit one rank are for one each */
    size_t n_alone;                /* which were */
};

/* ---- a problem --------------------------------------------------------------------------------------------------- */

/* Counts own coefficients at their bounds (hm_sum_tiles). */
static void count_at_bounds(const struct hm_run *run, size_t at, size_t n, double *part)
{
    const struct hg_qp *qp = &run->qp;
    part[0] = 0;
    for (size_t i = at; i < at + n; i++) {
        double b = qp->beta[0][i], low = qp->lo[0][i], high = qp->hi[0][i];
        part[0] += low < high && (b <= low || b >= high);
    }
}

/* Puts a coefficient of a problem where the model has it: does hm_pairs.put. */
static void put_coef(void *arg, size_t p, size_t point, bool first, double coef)
{
    const struct training *job = arg;
    size_t a, b;
    hg_problem_pair(&job->own.pr, p, &a, &b);
    size_t row = job->coef_rows == 1 ? 0 : job->own.pr.one_vs_rest ? p : first ? b - 1 : a;
    job->coef[point * job->coef_rows + row] = coef;
}

/* Takes the scale out, as lib/train/solve.c does. has_margin: r is more than rounding makes. */
static void keep_solution(struct training *job, struct hm_run *run, bool has_margin)
{
    const struct hg_problem *pr = &job->own.pr;
    hinge_report *report = &run->report;
    size_t p = run->problem;
    double b, factor;
    hg_problem_bias(pr, run->bias, &b, &factor);
    if (!isfinite(b))
        b = 0;
    if (factor == 0 || !has_margin) { /* r <= 0, for all that is known */
        factor = 1;
        report->outcome = report->outcome == HINGE_CONVERGED ? HINGE_NO_MARGIN : report->outcome;
    }
    report->objective *= factor * factor;
    for (size_t at = 0; at < run->points.n; at++)
        put_coef(job, p, run->points.of[at], hm_is_first(run, at), hg_qp_beta(&run->qp, at) * factor);
    struct hm_solved *s = &job->solved[p];
    s->rho = b != 0 ? -b * factor : 0;
    s->report = *report;
    s->q = run->w.q;
    snprintf(s->maker, sizeof s->maker, "%s", run->points.part[0].gram.tiler.maker->name);
}

/* Looks whether a solution to eps has a margin, or a hard tube a function, and has nu-SVC take the closest nu that has
 * one. */
static hinge_status settle_margin(struct training *job, struct hm_run *run, bool *has_margin, hinge_error *err)
{
    const hinge_params *params = &job->own.pr.params;
    double bounded, *nu = &job->solved[run->problem].nu;
    *has_margin = true;
    if (run->report.outcome != HINGE_CONVERGED)
        return HINGE_OK;
    if (hg_params_hard_tube(params)) {
        hm_sum_tiles(run, count_at_bounds, 1, &bounded);
        *has_margin = bounded == 0;
    }
    if (params->task != HINGE_NU_SVC)
        return HINGE_OK;
    HG_TRY(hm_look_at_margin(run, 1, has_margin, err));
    if (*has_margin)
        return HINGE_OK;
    HG_TRY(hm_closest_nu(run, &job->own, &job->watch, nu, err));
    *has_margin = *nu > 0;
    return HINGE_OK;
}

static hinge_status solve_one(struct training *job, size_t p, hinge_error *err)
{
    struct hm_run run;
    struct hm_solved *s = &job->solved[p];
    bool has_margin = true;
    hinge_status status = hm_solve(&run, job->net, &job->own, p, &job->watch, err);
    HG_THEN(status, settle_margin(job, &run, &has_margin, err));
    if (status == HINGE_OK)
        keep_solution(job, &run, has_margin);
    hm_count_as(job->net, HM_REST);
    if (status == HINGE_OK && job->certifies)
        status = hm_certify(&run, &s->certificate, err);
    hm_count_as(job->net, HM_SOLVING);
    if (status == HINGE_OK && hg_ended_early(run.report.outcome))
        job->own.pr.params.max_iter = 1; /* the rest as it starts */
    s->values = hm_run_free(&run);
    return status;
}

/* Solves a problem alone: does hm_pairs.solve. */
static hinge_status solve_alone(void *arg, const struct hm_net *net, const struct hm_own *alone, size_t p, double *coef,
                                hinge_error *err)
{
    struct training *job = arg, one = *job;
    struct hm_save save = { 0 };
    if (one.watch.save != NULL) {
        save = *one.watch.save;
        one.watch.save = &save;
    }
    one.net = net;
    one.own = *alone;
    one.own.pr.params.max_iter = job->own.pr.params.max_iter;
    one.coef_rows = 1;
    one.coef = coef;
    hinge_status status = solve_one(&one, p, err);
    job->own.pr.params.max_iter = one.own.pr.params.max_iter;
    job->watch.saved = one.watch.saved;
    job->solved[p].restored = one.watch.restored;
    return status;
}

static hinge_status solve_all(struct training *job, hinge_error *err)
{
    struct hm_solved *all = &job->all;
    const struct hm_pairs pairs = { solve_alone, put_coef, job, job->solved };
    hinge_status status = job->deals ? hm_solve_pairs(job->net, &job->own, &pairs, err) : HINGE_OK;
    for (size_t p = 0; p < job->own.pr.n_problems; p++)
        if (!job->solved[p].by_one)
            HG_THEN(status, solve_one(job, p, err));
    for (size_t p = 0; p < job->own.pr.n_problems; p++) {
        const struct hm_solved *s = &job->solved[p];
        hg_add_report(&all->report, &s->report);
        hm_add_certificate(&all->certificate, &s->certificate);
        all->q = HG_MAX(all->q, s->q);
        all->nu = HG_MAX(all->nu, s->nu);
        all->values += s->values;
        memcpy(all->maker, s->maker, sizeof all->maker);
        job->watch.restored |= s->restored;
        job->n_alone += s->by_one;
    }
    if (job->net->traffic != NULL)
        job->net->traffic->values = all->values;
    hm_count_as(job->net, HM_REST);
    if (status == HINGE_OK)
        hm_add_counts(job->net, &all->values, 1);
    all->report.kernel_values = all->values;
    return status;
}

/* ---- the model --------------------------------------------------------------------------------------------------- */

struct vector { /* a support vector on its way; coef_rows coefficients and d values follow */
    uint64_t number, row;
};

static int by_number(const void *a, const void *b)
{
    const struct vector *p = a, *q = b;
    return p->number < q->number ? -1 : p->number > q->number;
}

static size_t vector_bytes(const struct training *job)
{
    return sizeof(struct vector) + (job->coef_rows + job->own.pr.data.d) * sizeof(double);
}

static bool is_support(const struct training *job, size_t i)
{
    const double *coef = job->coef + i * job->coef_rows;
    size_t k = 0;
    while (k < job->coef_rows && coef[k] == 0)
        k++;
    return k < job->coef_rows;
}

static hinge_status send_vectors(const struct training *job, void **all, size_t *total, hinge_error *err)
{
    const struct hm_own *own = &job->own;
    size_t bytes = vector_bytes(job), coefs = job->coef_rows * sizeof(double), count = 0;
    for (size_t i = 0; i < own->n; i++)
        count += is_support(job, i);
    char *mine = hg_alloc(count, bytes), *to = mine;
    for (size_t i = 0; mine != NULL && i < own->n; i++)
        if (is_support(job, i)) {
            struct vector v = { own->number[i], own->row[i] };
            memcpy(to, &v, sizeof v);
            memcpy(to + sizeof v, job->coef + i * job->coef_rows, coefs);
            hg_points_pack(&own->points, NULL, i, 1, HINGE_F64, to + sizeof v + coefs, own->pr.data.d);
            to += bytes;
        }
    hinge_status status = hm_collect(job->net, mine, count * bytes, all, total, err);
    hg_free(mine);
    return status;
}

static hinge_status build_model(const struct training *job, char *vectors, size_t n_sv, hinge_model **model,
                                hinge_error *err)
{
    const struct hm_own *own = &job->own;
    size_t d = own->pr.data.d, bytes = vector_bytes(job);
    HG_TRY(hg_empty_model(&own->pr, own->rows, n_sv, HINGE_F64, model, err));
    hinge_model *m = *model;
    qsort(vectors, n_sv, bytes, by_number);
    for (size_t k = 0, c = 0; k < n_sv; k++) {
        struct vector v;
        const double *coef = (const void *)(vectors + k * bytes + sizeof v);
        memcpy(&v, vectors + k * bytes, sizeof v);
        while (v.number >= own->pr.start[c + 1])
            c++;
        m->sv_index[k] = v.row;
        if (m->class_sv != NULL)
            m->class_sv[c]++;
        for (size_t row = 0; row < job->coef_rows; row++)
            m->coef[row * n_sv + k] = coef[row];
        memcpy((double *)m->sv + k * d, coef + job->coef_rows, d * sizeof *coef);
    }
    for (size_t p = 0; p < m->n_problems; p++) {
        m->rho[p] = job->solved[p].rho;
        m->objectives[p] = job->solved[p].report.objective;
    }
    return hg_model_finish(m, hg_threads(own->pr.params.threads), err);
}

static void fill_report(struct training *job, const hinge_model *model, hinge_report *r)
{
    const struct hg_problem *pr = &job->own.pr;
    hinge_machine machine = hg_processor_info();
    *r = job->all.report;
    r->n = r->distinct = pr->data.n;
    r->d = pr->data.d;
    r->n_classes = pr->n_classes;
    r->n_problems = pr->n_problems;
    r->n_sv = model != NULL ? hinge_model_n_sv(model) : 0;
    r->gap = NAN;
    r->threads = hg_threads(pr->params.threads);
    r->seconds = hg_now() - job->watch.begin;
    r->blas_slow = machine.blas_slow;
    memcpy(r->blas, machine.blas, sizeof r->blas);
    snprintf(r->path, sizeof r->path, "block-smo q=%zu, %d ranks, tiles of %zu, %s %s %s", job->all.q, job->net->ranks,
             job->own.tile, job->all.maker, r->precision == HINGE_PRECISION_F64 ? "f64" : "f32",
             hg_kernel_row(pr->data.kernel.type)->told.keyword);
    if (job->n_alone > 0)
        hg_tell_path(r, ", %zu of %zu pairs by one rank each", job->n_alone, pr->n_problems);
    if (job->watch.restored)
        hg_tell_path(r, ", from a checkpoint");
    if (job->all.nu > 0)
        hg_tell_path(r, ", margin from nu=%.9g", job->all.nu);
}

static hinge_status train(struct training *job, hinge_model **model, hinge_error *err)
{
    const struct hg_problem *pr = &job->own.pr;
    size_t total;
    void *vectors = NULL;
    job->coef_rows = !pr->classifies ? 1 : pr->one_vs_rest ? pr->n_classes : pr->n_classes - 1;
    HG_TRY(HM_MAKE(job->net, err, "coefficients", HG_ZEROS(job->coef, job->own.n * job->coef_rows),
                   HG_ZEROS(job->solved, pr->n_problems)));
    hm_count_as(job->net, HM_SOLVING);
    HG_TRY(solve_all(job, err));
    HG_TRY(send_vectors(job, &vectors, &total, err));
    hinge_status status = HINGE_OK;
    if (job->net->rank == 0)
        status = build_model(job, vectors, total / vector_bytes(job), model, err);
    hg_free(vectors);
    return hm_agree(job->net, status, err);
}

/* On rank 0, where a file is named. */
static hinge_status open_rounds(struct training *job, const char *path, hinge_error *err)
{
    hinge_status status = HINGE_OK;
    if (path != NULL && job->net->rank == 0) {
        job->watch.rounds = fopen(path, "w");
        if (job->watch.rounds == NULL || fputs(HM_ROUNDS, job->watch.rounds) == EOF)
            status = hg_fail(err, HINGE_EIO, "%s: cannot write", path);
    }
    return hm_agree(job->net, status, err);
}

/* Trains by rows that are dealt; *model is to be freed on failure too. */
static hinge_status train_dealt(const struct hm_net *net, const hinge_matrix *x, const double *y,
                                const hinge_params *params, const struct hm_options *options, hinge_model **model,
                                hinge_report *report, hinge_error *err)
{
    struct training job = { .net = net,
                            .watch = { .begin = hg_now() },
                            .certifies = options->certificate != NULL,
                            .deals = options->rounds == NULL };
    struct hm_save save = { .folder = options->checkpoint };
    hinge_model *made = NULL;
    job.watch.saved = job.watch.begin;
    job.watch.save = options->checkpoint != NULL ? &save : NULL;
    job.watch.every = options->every > 0 ? options->every : 600;
    hinge_status status = hm_deal(net, x, y, params, options->tile, &job.own, err);
    if (status == HINGE_OK && job.watch.save != NULL)
        save.identity = hm_identify(net, &job.own);
    HG_THEN(status, open_rounds(&job, options->rounds, err));
    HG_THEN(status, train(&job, &made, err));
    FILE *rounds = job.watch.rounds;
    if (rounds != NULL && (ferror(rounds) | fclose(rounds)) != 0 && status == HINGE_OK)
        status = hg_fail(err, HINGE_EIO, "%s: cannot write", options->rounds);
    if (status == HINGE_OK && made != NULL && params->scaling != NULL)
        status = hinge_scaling_attach(&job.own.scaling, made, err);
    status = hm_agree(net, status, err);
    if (status == HINGE_OK)
        fill_report(&job, made, report);
    if (status == HINGE_OK && job.certifies)
        *options->certificate = job.all.certificate;
    hg_free(job.coef);
    hm_own_free(&job.own);
    *model = made;
    return status;
}

hinge_status hm_train(const struct hm_net *net, const hinge_matrix *x, const double *y, const hinge_params *params,
                      const struct hm_options *options, hinge_model **model, hinge_report *report, hinge_error *err)
{
    double begin = hg_now();
    hinge_model *made = NULL;
    hinge_report r = { 0 };
    struct hm_net counted;
    hg_ok(err);
    if (options->traffic != NULL) {
        hm_traffic_begin(options->traffic, net, &counted);
        net = &counted;
    }
    if (options->certificate != NULL)
        *options->certificate = (hinge_certificate){ 0 };
    hinge_status status = hm_agree(net, hm_check_rows(x, y, params, err), err);
    bool shared = status == HINGE_OK && hm_fits(net, x, params, options);
    HG_THEN(status, (shared ? hm_train_shared : train_dealt)(net, x, y, params, options, &made, &r, err));
    if (status == HINGE_OK && params->probability && !shared && !hg_ended_early(r.outcome)) {
        status = hm_calibrate(net, x, y, params, options, begin, made, &r.outcome, err);
        r.seconds = hg_now() - begin;
    }
    if (status != HINGE_OK) {
        hinge_model_free(made);
        return status;
    }
    if (options->traffic != NULL)
        hm_traffic_end(options->traffic);
    if (report != NULL)
        *report = r;
    *model = made;
    return HINGE_OK;
}

/* ---- prediction -------------------------------------------------------------------------------------------------- */

/* The model of rank 0 on this one, as its file would bring it. */
static hinge_status share_model(const struct hm_net *net, const hinge_model *model, size_t d, hinge_model **own,
                                hinge_error *err)
{
    char *bytes = NULL;
    size_t size = 0;
    uint64_t told = 0;
    hinge_status status = HINGE_OK;
    if (net->rank == 0)
        status = model != NULL ? hinge_model_format(model, &bytes, &size, err)
                               : hg_fail(err, HINGE_EINVAL, "model: NULL on rank 0");
    status = hm_agree(net, status, err);
    told = size;
    if (status == HINGE_OK) {
        net->broadcast(net, &told, sizeof told, 0);
        size = told;
        if (net->rank != 0)
            bytes = hg_alloc(size + 8, 1);
        status = HM_HAVE(net, bytes != NULL, err, "no memory for a model");
    }
    if (status == HINGE_OK) {
        net->broadcast(net, bytes, size, 0);
        status = hinge_model_parse(own, "model", bytes, size, NULL, err);
        if (status == HINGE_OK && hinge_model_n_features(*own) < d && hinge_model_scale_factor(*own) == NULL)
            status = hinge_model_widen(*own, d, err); /* a file does not tell of features that are 0 in all vectors */
        status = hm_agree(net, status, err);
    }
    hg_free(bytes);
    return status;
}

hinge_status hm_predict(const struct hm_net *net, const hinge_model *model, const hinge_matrix *x,
                        const hinge_predict_options *options, bool probable, double *labels, double *values,
                        hinge_error *err)
{
    hinge_model *own = NULL;
    hg_ok(err);
    hinge_status status = share_model(net, model, x->cols, &own, err);
    if (status == HINGE_OK && options != NULL && options->report != NULL)
        *options->report = (hinge_predict_report){ .promise = hg_model_promise(own) };
    if (status == HINGE_OK && x->rows > 0)
        status = (probable ? hinge_predict_probability : hinge_predict)(own, x, options, labels, values, err);
    status = hm_agree(net, status, err);
    hinge_model_free(own);
    return status;
}

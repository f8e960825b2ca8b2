/*
 * Probabilities. Classification: a sigmoid over each two-class problem's decision values (Platt 2000; Lin, Lin, Weng
 * 2007), fitted on values from its 5-fold cross-validation; then coupling of the pairs (Wu, Lin, Weng 2004), or of
 * classes against the rest by dividing by their sum (Zadrozny, Elkan 2002).
 * Regression: the width of a Laplace density of the residuals. One-class: where a decision value stands among
 * those of training.
 */
#include "lib/proba.h"
#include "lib/folds.h"
#include "lib/params.h"
#include "lib/problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FOLDS = 5, MARKS = 10 };

static const double LEAST = 1e-7; /* no two-class problem is surer than this */

/* ---- the sigmoid ----------------------------------------------------------------------------------------- */

double hg_sigmoid(double decision, double a, double b)
{
    double z = decision * a + b; /* never 1 - p: that cancels */
    return z >= 0 ? exp(-z) / (1 + exp(-z)) : 1 / (1 + exp(z));
}

struct sigmoid {
    const double *decision;
    const bool *first;
    size_t n;
    double high, low; /* targets: not 1 and 0, but the posterior means under a uniform prior */
};

/* -log likelihood = sum t z + log(1 + exp(-z)), z = a f + b */
static double loss(const struct sigmoid *s, double a, double b)
{
    double sum = 0;
    for (size_t i = 0; i < s->n; i++) {
        double z = s->decision[i] * a + b, t = s->first[i] ? s->high : s->low;
        sum += z >= 0 ? t * z + log1p(exp(-z)) : (t - 1) * z + log1p(exp(z));
    }
    return sum;
}

/* gradient g[2] and Hessian h[3] = aa, ab, bb */
static void derive(const struct sigmoid *s, double a, double b, double *g, double *h)
{
    g[0] = g[1] = h[1] = 0;
    h[0] = h[2] = 1e-12; /* positive definite also in floating point */
    for (size_t i = 0; i < s->n; i++) {
        double f = s->decision[i], p = hg_sigmoid(f, a, b), q = hg_sigmoid(-f, a, -b);
        double rest = (s->first[i] ? s->high : s->low) - p;
        g[0] += f * rest;
        g[1] += rest;
        h[0] += f * f * p * q;
        h[1] += f * p * q;
        h[2] += p * q;
    }
}

void hg_fit_sigmoid(const double *decision, const bool *first, size_t n, double *a, double *b)
{
    double n_first = 0, g[2], h[3];
    for (size_t i = 0; i < n; i++)
        n_first += first[i];
    double n_second = (double)n - n_first;
    struct sigmoid s = { decision, first, n, (n_first + 1) / (n_first + 2), 1 / (n_second + 2) };
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a and b are the caller's */
    *a = 0;
    *b = log((n_second + 1) / (n_first + 1));
    double value = loss(&s, *a, *b);
    for (int iteration = 0; iteration < 100; iteration++) {
        derive(&s, *a, *b, g, h);
        if (fabs(g[0]) < 1e-5 && fabs(g[1]) < 1e-5)
            return;
        double det = h[0] * h[2] - h[1] * h[1];
        double da = -(h[2] * g[0] - h[1] * g[1]) / det, db = -(h[0] * g[1] - h[1] * g[0]) / det;
        double slope = g[0] * da + g[1] * db, step = 1, other = loss(&s, *a + da, *b + db);
        while (!(other < value + 1e-4 * step * slope)) { /* Armijo */
            step /= 2;
            if (step < 1e-10)
                return; /* as good as the sums are */
            other = loss(&s, *a + step * da, *b + step * db);
        }
        *a += step * da;
        *b += step * db;
        value = other;
    }
}

/* ---- coupling -------------------------------------------------------------------------------------------- */

/* minimise sum over i of (sum over j of r_ji p_i - r_ij p_j)^2 on the simplex: p'Qp with Q_ii = sum of r_ji^2,
 * Q_ij = -r_ji r_ij. One coordinate after the other is set to what Qp = (p'Qp) e asks of it, and p is scaled
 * back. */
void hg_couple_pairs(size_t k, const double *r, double *p, double *work)
{
    double *q = work, *qp = work + k * k, limit = 0.005 / (double)k;
    for (size_t i = 0; i < k; i++) {
        p[i] = 1 / (double)k;
        q[i * k + i] = 0;
        for (size_t j = 0; j < k; j++)
            if (j != i) {
                q[i * k + i] += r[j * k + i] * r[j * k + i];
                q[i * k + j] = -r[j * k + i] * r[i * k + j];
            }
    }
    for (size_t round = 0; round < HG_MAX(k, (size_t)100); round++) {
        double pqp = 0, error = 0;
        for (size_t i = 0; i < k; i++) { /* anew each round, against drift */
            qp[i] = 0;
            for (size_t j = 0; j < k; j++)
                qp[i] += q[i * k + j] * p[j];
            pqp += p[i] * qp[i];
        }
        for (size_t i = 0; i < k; i++)
            error = fmax(error, fabs(qp[i] - pqp));
        if (error < limit)
            return;
        for (size_t i = 0; i < k; i++) {
            double move = (pqp - qp[i]) / q[i * k + i], scale = 1 / (1 + move);
            p[i] += move;
            pqp = (pqp + move * (move * q[i * k + i] + 2 * qp[i])) * scale * scale;
            for (size_t j = 0; j < k; j++) {
                qp[j] = (qp[j] + move * q[i * k + j]) * scale;
                p[j] *= scale;
            }
        }
    }
}

/* ---- from decision values to what a model keeps ---------------------------------------------------------- */

/* What a calibration sets; moves into the model as a whole. */
struct calibrated {
    double *a, *b, *marks;
};

static void calibrated_free(struct calibrated *c)
{
    hg_free(c->a);
    hg_free(c->b);
    hg_free(c->marks);
    memset(c, 0, sizeof *c);
}

static void install(hinge_model *m, struct calibrated *c)
{
    struct calibrated old = { m->prob_a, m->prob_b, m->density_marks };
    m->prob_a = c->a;
    m->prob_b = c->b;
    m->density_marks = c->marks;
    *c = old;
    calibrated_free(c);
}

static hinge_status calibrated_init(struct calibrated *c, const hinge_model *m, hinge_error *err)
{
    bool one = hinge_task_info(m->task)->one_class, classes = m->labels != NULL, ok;
    memset(c, 0, sizeof *c);
    if (one) {
        ok = (c->marks = hg_zalloc(MARKS, sizeof *c->marks)) != NULL;
    } else {
        c->a = hg_zalloc(m->n_problems, sizeof *c->a);
        c->b = classes ? hg_zalloc(m->n_problems, sizeof *c->b) : NULL;
        ok = c->a != NULL && (!classes || c->b != NULL);
    }
    if (ok)
        return HINGE_OK;
    calibrated_free(c);
    return hg_fail(err, HINGE_ENOMEM, "no memory for the calibration of %zu problems", m->n_problems);
}

static bool all_finite(const double *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(v[i]))
            return false;
    return true;
}

/* Mean absolute residual, those beyond five standard deviations left out. */
static double laplace_width(const double *residual, size_t n)
{
    double mean = 0, kept = 0;
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        mean += fabs(residual[i]);
    mean /= (double)n;
    for (size_t i = 0; i < n; i++)
        if (fabs(residual[i]) <= 5 * sqrt(2) * mean) {
            kept += fabs(residual[i]);
            count++;
        }
    return kept / (double)count; /* the smallest is never beyond the mean */
}

static int by_value(const void *a, const void *b)
{
    double p = *(const double *)a, q = *(const double *)b;
    return p < q ? -1 : p > q;
}

/* Five bins of equal count below 0 and five above; the marks are the middles of their ranges. Sorts the values.
 * false: fewer than five on a side. */
static bool density_marks(double *decision, size_t n, double *marks)
{
    enum { HALF = MARKS / 2 };
    double edge[MARKS + 1] = { 0 };
    size_t below = 0;
    qsort(decision, n, sizeof *decision, by_value);
    while (below < n && decision[below] < 0)
        below++;
    if (below < HALF || n - below < HALF)
        return false;
    for (size_t i = 0; i < HALF; i++)
        edge[i] = decision[i * below / HALF];
    for (size_t i = 1; i <= HALF; i++)
        edge[HALF + i] = decision[below - 1 + i * (n - below) / HALF];
    for (size_t i = 0; i < MARKS; i++)
        marks[i] = (edge[i] + edge[i + 1]) / 2;
    return true;
}

/* ---- calibration by folds -------------------------------------------------------------------------------- */

struct calibration {
    struct hg_jobs jobs; /* job p * FOLDS + f: fold f of problem p */
    const hinge_model *model;
    const struct hg_problem *problem;
    size_t *start;       /* [n_problems + 1] where problem p's decision values begin, */
    double *decision;    /* in the order of its points: first class first */
    hinge_outcome ended; /* TIME_LIMIT or STOPPED, of any fold; otherwise CONVERGED */
};

/* One fold of one problem. */
struct part {
    uint32_t *point, *fold, *work; /* [n] by position */
    uint32_t *train, *held;        /* rows of the caller's matrix; positions held out are in work */
    double *decision;
    double *y, *weight; /* one-vs-rest: [rows] labels of two classes, with the weights of all classes; otherwise NULL */
    size_t n, n_train, n_held;
    double first, second; /* summed weights of the training rows */
};

static void part_free(struct part *part)
{
    void *all[] = { part->point, part->fold,     part->work, part->train,
                    part->held,  part->decision, part->y,    part->weight };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        hg_free(all[i]);
}

static hinge_status part_init(struct part *part, size_t n, hinge_error *err)
{
    *part = (struct part){ .n = n };
    part->point = hg_alloc(n, sizeof *part->point);
    part->fold = hg_alloc(n, sizeof *part->fold);
    part->work = hg_alloc(n, sizeof *part->work);
    part->train = hg_alloc(n, sizeof *part->train);
    part->held = hg_alloc(n, sizeof *part->held);
    part->decision = hg_alloc(n, sizeof *part->decision);
    bool ok = part->point != NULL && part->fold != NULL && part->work != NULL && part->train != NULL &&
              part->held != NULL && part->decision != NULL;
    return ok ? HINGE_OK : hg_fail(err, HINGE_ENOMEM, "no memory for the folds of %zu rows", n);
}

/* The class against the rest, as a problem of two classes. */
static hinge_status part_set_rest(struct part *part, const struct hg_problem *pr, size_t class, hinge_error *err)
{
    size_t rows = pr->x.rows;
    part->y = hg_alloc(rows, sizeof *part->y);
    part->weight = hg_zalloc(rows, sizeof *part->weight);
    if (part->y == NULL || part->weight == NULL)
        return hg_fail(err, HINGE_ENOMEM, "no memory for the labels of %zu rows", rows);
    for (size_t i = 0; i < rows; i++)
        part->y[i] = -1;
    for (size_t i = 0; i < pr->n; i++) {
        part->y[pr->order[i]] = i >= pr->start[class] && i < pr->start[class + 1] ? 1 : -1;
        part->weight[pr->order[i]] = pr->weight[i];
    }
    return HINGE_OK;
}

static int by_row(const void *a, const void *b)
{
    uint32_t p = *(const uint32_t *)a, q = *(const uint32_t *)b;
    return p < q ? -1 : p > q;
}

/* Every problem has a stream of random numbers of its own, so that jobs need no order. */
static void split(const struct calibration *c, size_t p, size_t f, struct part *part)
{
    const struct hg_problem *pr = c->problem;
    size_t a, b;
    hg_problem_pair(pr, p, &a, &b);
    size_t n = hg_problem_points(pr, p, part->point);
    size_t n_first = pr->classifies ? pr->start[a + 1] - pr->start[a] : n;
    size_t start[3] = { 0, n_first, n };
    uint64_t stream = pr->params.seed + p * UINT64_C(0x632be59bd9b4e019), state = hg_random(&stream);
    hg_folds_deal(&state, start, 2, HG_MIN((size_t)FOLDS, n), part->work, part->fold);
    for (size_t i = 0; i < n; i++) {
        uint32_t row = pr->order[part->point[i]];
        if (part->fold[i] == f) {
            part->work[part->n_held] = (uint32_t)i;
            part->held[part->n_held++] = row;
        } else {
            *(i < n_first ? &part->first : &part->second) += pr->weight[part->point[i]];
            part->train[part->n_train++] = row;
        }
    }
    qsort(part->train, part->n_train, sizeof *part->train, by_row);
}

static void note_end(struct calibration *c, hinge_outcome outcome)
{
    if (!hg_ended_early(outcome))
        return;
    omp_set_lock(&c->jobs.lock);
    c->ended = hg_worse_outcome(c->ended, outcome);
    omp_unset_lock(&c->jobs.lock);
}

/* Without a model where training sees one class only; otherwise by one, its sign as the whole model has it. */
static hinge_status decide_held(struct calibration *c, size_t number, struct part *part, int threads,
                                hinge_error *err)
{
    const struct hg_problem *pr = c->problem;
    hinge_params params = c->jobs.params;
    hinge_predict_options options = { .threads = threads, .cpu_level = params.cpu_level };
    double sign = 1;
    hinge_model *model = NULL;
    hinge_report report;
    size_t a, b;
    hg_problem_pair(pr, number / FOLDS, &a, &b);
    if (pr->classifies && (part->first == 0 || part->second == 0)) {
        for (size_t i = 0; i < part->n_held; i++)
            part->decision[i] = part->first > 0 ? 1 : -1;
        return HINGE_OK;
    }
    if (params.task == HINGE_NU_SVC) /* a fold's share of the classes can differ by a row */
        params.nu = HG_MIN(params.nu, hg_most_nu((double[]){ part->first, part->second }, 2, false));
    if (pr->one_vs_rest) {
        params.weights = part->weight;
        params.n_class_weights = 0;
        params.positive_class = NULL;
    }
    const double *y = pr->one_vs_rest ? part->y : c->jobs.y;
    bool copy = pr->n_classes > 2 && !pr->one_vs_rest;
    hinge_status status = hg_jobs_train(&c->jobs, number, threads, part->train, part->n_train, y, copy, &params, &model,
                                        &report, err);
    if (status == HINGE_OK)
        status = hg_predict_rows(model, c->jobs.x, part->held, part->n_held, false, &options, NULL,
                                 part->decision, err);
    if (status == HINGE_OK) {
        note_end(c, report.outcome);
        sign = pr->classifies && model->labels[0] != (pr->one_vs_rest ? 1 : pr->labels[a]) ? -1 : 1;
    }
    for (size_t i = 0; status == HINGE_OK && i < part->n_held; i++)
        part->decision[i] *= sign;
    hinge_model_free(model);
    return status;
}

static hinge_status calibrate_fold(void *arg, size_t number, int threads, hinge_error *err)
{
    struct calibration *c = arg;
    size_t p = number / FOLDS, n = c->start[p + 1] - c->start[p];
    const struct hg_jobs *jobs = &c->jobs;
    struct part part;
    note_end(c, hg_jobs_ended(jobs));
    if (__atomic_load_n(&c->ended, __ATOMIC_RELAXED) != HINGE_CONVERGED)
        return HINGE_OK;
    hinge_status status = part_init(&part, n, err);
    if (status == HINGE_OK && c->problem->one_vs_rest)
        status = part_set_rest(&part, c->problem, p, err);
    if (status == HINGE_OK)
        split(c, p, number % FOLDS, &part);
    if (status == HINGE_OK && part.n_held > 0)
        status = decide_held(c, number, &part, threads, err);
    for (size_t i = 0; status == HINGE_OK && i < part.n_held; i++)
        c->decision[c->start[p] + part.work[i]] = part.decision[i];
    part_free(&part);
    return status;
}

/* Each problem's decision values to its sigmoid, or the residuals to their width. */
static hinge_status fit_problems(const struct calibration *c, struct calibrated *result, hinge_error *err)
{
    const struct hg_problem *pr = c->problem;
    int threads = pr->threads;
    if (!pr->classifies) {
        for (size_t i = 0; i < pr->n; i++)
            c->decision[i] = pr->y[pr->order[i]] - c->decision[i];
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): allocated by calibrated_init */
        result->a[0] = laplace_width(c->decision, pr->n);
        return HINGE_OK;
    }
    bool *first = hg_alloc(c->jobs.largest * (size_t)threads, sizeof *first);
    if (first == NULL)
        return hg_fail(err, HINGE_ENOMEM, "no memory for %zu rows", c->jobs.largest);
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
    for (size_t p = 0; p < pr->n_problems; p++) {
        size_t a, b, n = c->start[p + 1] - c->start[p];
        bool *mine = first + (size_t)omp_get_thread_num() * c->jobs.largest;
        hg_problem_pair(pr, p, &a, &b);
        for (size_t i = 0; i < n; i++)
            mine[i] = i < pr->start[a + 1] - pr->start[a];
        hg_fit_sigmoid(c->decision + c->start[p], mine, n, &result->a[p], &result->b[p]);
    }
    hg_free(first);
    return HINGE_OK;
}

static hinge_status by_folds(struct calibration *c, hinge_model *model, hinge_error *err)
{
    const struct hg_problem *pr = c->problem;
    struct calibrated result = { 0 };
    c->start = hg_zalloc(pr->n_problems + 1, sizeof *c->start);
    if (c->start == NULL)
        return hg_fail(err, HINGE_ENOMEM, "no memory for %zu two-class problems", pr->n_problems);
    for (size_t p = 0; p < pr->n_problems; p++) {
        c->start[p + 1] = c->start[p] + hg_problem_size(pr, p);
        c->jobs.largest = HG_MAX(c->jobs.largest, hg_problem_size(pr, p));
    }
    size_t total = c->start[pr->n_problems];
    c->decision = hg_zalloc(total, sizeof *c->decision);
    hinge_status status = c->decision != NULL
                              ? calibrated_init(&result, model, err)
                              : hg_fail(err, HINGE_ENOMEM, "no memory for %zu decision values", total);
    if (status == HINGE_OK)
        status = hg_jobs_run(&c->jobs, NULL, err);
    bool sound = status == HINGE_OK && c->ended == HINGE_CONVERGED && all_finite(c->decision, total);
    if (sound)
        status = fit_problems(c, &result, err);
    if (sound && status == HINGE_OK)
        install(model, &result);
    calibrated_free(&result);
    hg_free(c->start);
    hg_free(c->decision);
    return status;
}

/* The model's own decision values for the examples it was trained on. */
static hinge_status by_training_rows(hinge_model *model, const hinge_matrix *x, const struct hg_problem *pr,
                                     hinge_error *err)
{
    hinge_predict_options options = { .threads = pr->params.threads, .cpu_level = pr->params.cpu_level };
    struct calibrated result;
    hinge_status status = calibrated_init(&result, model, err);
    if (status != HINGE_OK)
        return status;
    double *decision = hg_alloc(pr->n, sizeof *decision);
    if (decision == NULL)
        status = hg_fail(err, HINGE_ENOMEM, "no memory for %zu decision values", pr->n);
    if (status == HINGE_OK)
        status = hg_predict_rows(model, x, pr->order, pr->n, false, &options, NULL, decision, err);
    if (status == HINGE_OK && all_finite(decision, pr->n) && density_marks(decision, pr->n, result.marks))
        install(model, &result);
    calibrated_free(&result);
    hg_free(decision);
    return status;
}

hinge_status hg_calibrate_by_folds(hinge_model *model, const hinge_matrix *x, const double *y,
                                   const hinge_params *params, double begin, hinge_outcome *outcome,
                                   hinge_error *err)
{
    struct hg_problem problem;
    struct calibration c = { .model = model, .problem = &problem };
    hinge_params plain = *params;
    plain.probability = 0;
    plain.beta0 = NULL;
    plain.scaling = NULL;
    hinge_status status = hg_problem_init(&problem, x, y, &plain, err);
    plain.scaling = params->scaling; /* fitted on each fold's training part */
    if (status != HINGE_OK)
        return status;
    c.jobs = (struct hg_jobs){ .x = x,
                               .y = y,
                               .params = plain,
                               .n_jobs = FOLDS * problem.n_problems,
                               .begin = begin,
                               .job = calibrate_fold,
                               .arg = &c };
    if (problem.task->one_class)
        status = by_training_rows(model, x, &problem, err);
    else if (problem.classifies || problem.n > 1)
        status = by_folds(&c, model, err);
    *outcome = hg_worse_outcome(*outcome, c.ended);
    hg_problem_free(&problem);
    return status;
}

/* ---- calibration on data held out ------------------------------------------------------------------------ */

static size_t class_of(const hinge_model *m, double label)
{
    size_t c = 0;
    while (c < m->n_classes && m->labels[c] != label)
        c++;
    return c;
}

/* The class of each row, and that each class is there. count: [n_classes] cleared */
static hinge_status classify_rows(const hinge_model *m, const double *y, size_t n, uint32_t *class,
                                  size_t *count, hinge_error *err)
{
    for (size_t i = 0; i < n; i++) {
        size_t c = class_of(m, y[i]);
        if (c == m->n_classes)
            return hg_fail(err, HINGE_EINVAL, "y: the label of row %zu is %g, no class of the model", i, y[i]);
        class[i] = (uint32_t)c;
        count[c]++;
    }
    for (size_t c = 0; c < m->n_classes; c++)
        if (count[c] == 0)
            return hg_fail(err, HINGE_EINVAL, "y: no row is of class %g", m->labels[c]);
    return HINGE_OK;
}

static hinge_status fit_classes(const hinge_model *m, const double *y, const double *decision, size_t n,
                              struct calibrated *result, hinge_error *err)
{
    uint32_t *class = hg_alloc(n, sizeof *class);
    size_t *count = hg_zalloc(m->n_classes, sizeof *count);
    double *mine = hg_alloc(n, sizeof *mine);
    bool *first = hg_alloc(n, sizeof *first);
    hinge_status status = class != NULL && count != NULL && mine != NULL && first != NULL
                              ? classify_rows(m, y, n, class, count, err)
                              : hg_fail(err, HINGE_ENOMEM, "no memory for %zu rows", n);
    bool rest = m->multiclass == HINGE_ONE_VS_REST;
    for (size_t p = 0, a = 0, b = 1, k; p < m->n_problems && status == HINGE_OK; p++) {
        k = 0;
        for (size_t i = 0; i < n; i++)
            if (rest || class[i] == a || class[i] == b) {
                mine[k] = decision[i * m->n_problems + p];
                first[k++] = class[i] == a;
            }
        hg_fit_sigmoid(mine, first, k, &result->a[p], &result->b[p]);
        a += rest || ++b == m->n_classes;
        b = b == m->n_classes ? a + 1 : b;
    }
    hg_free(class);
    hg_free(count);
    hg_free(mine);
    hg_free(first);
    return status;
}

/* decision is spoilt. */
static hinge_status fit_held_out(const hinge_model *m, const double *y, double *decision, size_t n,
                                 struct calibrated *result, hinge_error *err)
{
    if (!all_finite(decision, n * m->n_problems))
        return hg_fail(err, HINGE_EINVAL, "x: its decision values are not all finite");
    if (m->labels != NULL)
        return fit_classes(m, y, decision, n, result, err);
    if (hinge_task_info(m->task)->one_class)
        return density_marks(decision, n, result->marks)
                   ? HINGE_OK
                   : hg_fail(err, HINGE_EINVAL,
                             "x: %zu rows are too few: five are needed on either side of the "
                             "decision value 0",
                             n);
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(y[i]))
            return hg_fail(err, HINGE_EINVAL, "y: the target of row %zu is %g, not a finite number", i, y[i]);
        decision[i] = y[i] - decision[i];
    }
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): allocated by calibrated_init */
    result->a[0] = laplace_width(decision, n);
    return HINGE_OK;
}

hinge_status hinge_calibrate(hinge_model *m, const hinge_matrix *x, const double *y,
                             const hinge_predict_options *options, hinge_error *err)
{
    struct calibrated result = { 0 };
    size_t values = 0;
    if (m == NULL || x == NULL)
        return hg_fail(err, HINGE_EINVAL, "model or x: NULL");
    if (hinge_task_info(m->task)->uses_tau)
        return hg_fail(err, HINGE_EINVAL, "model: a quantile is no mean that targets spread around");
    if (y == NULL && !hinge_task_info(m->task)->one_class)
        return hg_fail(err, HINGE_EINVAL, "y: NULL, but this model needs labels or targets");
    if (x->rows == 0)
        return hg_fail(err, HINGE_EINVAL, "x: no rows to calibrate on");
    double *decision = hg_mul(x->rows, m->n_problems, &values) ? hg_alloc(values, sizeof *decision) : NULL;
    hinge_status status =
        decision != NULL ? calibrated_init(&result, m, err)
                         : hg_fail(err, HINGE_ENOMEM, "no memory for the decision values of %zu rows", x->rows);
    if (status == HINGE_OK)
        status = hinge_predict(m, x, options, NULL, decision, err);
    if (status == HINGE_OK)
        status = fit_held_out(m, y, decision, x->rows, &result, err);
    if (status == HINGE_OK)
        install(m, &result);
    calibrated_free(&result);
    hg_free(decision);
    return status == HINGE_OK ? hg_ok(err) : status;
}

/* ---- prediction ------------------------------------------------------------------------------------------ */

int hinge_model_has_probability(const hinge_model *m)
{
    return m != NULL && (m->prob_a != NULL || m->density_marks != NULL);
}

hinge_status hinge_model_laplace(const hinge_model *m, double *sigma, hinge_error *err)
{
    if (m == NULL || sigma == NULL)
        return hg_fail(err, HINGE_EINVAL, "model or sigma: NULL");
    if (!hinge_task_info(m->task)->regresses)
        return hg_fail(err, HINGE_EINVAL, "model: not of a regression");
    if (m->prob_a == NULL)
        return hg_fail(err, HINGE_EINVAL, "model: not calibrated");
    *sigma = m->prob_a[0];
    return hg_ok(err);
}

double hg_density(const double *marks, double decision)
{
    size_t i = 1;
    if (decision < marks[0])
        return 0.001;
    if (decision > marks[MARKS - 1])
        return 0.999;
    while (i < MARKS - 1 && decision >= marks[i])
        i++;
    return (double)i / MARKS;
}

static double first_of_two(double decision, double a, double b)
{
    double s = hg_sigmoid(decision, a, b);
    return HG_MIN(HG_MAX(s, LEAST), 1 - LEAST);
}

/* Each class against the rest. */
static void rest_probabilities(const hinge_model *m, const double *decision, double *p)
{
    double sum = 0;
    for (size_t c = 0; c < m->n_classes; c++)
        sum += p[c] = first_of_two(decision[c], m->prob_a[c], m->prob_b[c]);
    for (size_t c = 0; c < m->n_classes; c++)
        p[c] /= sum;
}

void hg_pair_probabilities(size_t k, const double *a_of, const double *b_of, const double *decision, double *p,
                           double *work)
{
    double *r = work;
    if (k == 1)
        p[0] = 1;
    for (size_t a = 0, pair = 0; a < k; a++)
        for (size_t b = a + 1; b < k; b++, pair++) {
            r[a * k + b] = first_of_two(decision[pair], a_of[pair], b_of[pair]);
            r[b * k + a] = 1 - r[a * k + b];
        }
    if (k == 2) {
        p[0] = r[1];
        p[1] = r[2];
    } else if (k > 2) {
        hg_couple_pairs(k, r, p, work + k * k);
    }
}

static double row_probabilities(const hinge_model *m, const double *decision, double *p, double *work)
{
    size_t best = 0;
    if (m->density_marks != NULL) {
        p[0] = hg_density(m->density_marks, decision[0]);
        p[1] = 1 - p[0];
        return decision[0] > 0 ? 1 : -1;
    }
    if (m->multiclass == HINGE_ONE_VS_REST)
        rest_probabilities(m, decision, p);
    else
        hg_pair_probabilities(m->n_classes, m->prob_a, m->prob_b, decision, p, work);
    for (size_t c = 1; c < m->n_classes; c++)
        if (p[c] > p[best])
            best = c;
    return m->labels[best];
}

static hinge_status check(const hinge_model *m, const hinge_matrix *x, const double *probabilities,
                          hinge_error *err)
{
    if (m == NULL || x == NULL || probabilities == NULL)
        return hg_fail(err, HINGE_EINVAL, "model, x or probabilities: NULL");
    if (hinge_task_info(m->task)->regresses)
        return hg_fail(err, HINGE_EINVAL,
                       "model: of a regression, whose probabilities hinge_model_laplace tells");
    if (!hinge_model_has_probability(m))
        return hg_fail(err, HINGE_EINVAL, "model: not calibrated (params.probability, or hinge_calibrate)");
    return HINGE_OK;
}

/* A chunk of rows. decision: [rows * n_problems], work: threads times work_size */
static hinge_status predict_chunk(const hinge_model *m, const hinge_matrix *x,
                                  const hinge_predict_options *options, double *labels, double *probabilities,
                                  double *decision, double *work, size_t work_size, int threads,
                                  hinge_error *err)
{
    hinge_status status = hinge_predict(m, x, options, NULL, decision, err);
    if (status != HINGE_OK)
        return status;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (size_t i = 0; i < x->rows; i++) {
        double *mine = work + (size_t)omp_get_thread_num() * work_size;
        double label =
            row_probabilities(m, decision + i * m->n_problems, probabilities + i * m->n_classes, mine);
        if (labels != NULL)
            labels[i] = label;
    }
    return HINGE_OK;
}

hinge_status hinge_predict_probability(const hinge_model *m, const hinge_matrix *x,
                                       const hinge_predict_options *options, double *labels,
                                       double *probabilities, hinge_error *err)
{
    hinge_status status = check(m, x, probabilities, err);
    if (status == HINGE_OK)
        status = hg_matrix_check(x, "x", err);
    if (status == HINGE_OK) /* all of it, before the first chunk is told */
        status = hg_matrix_check_finite(x, "x", 1, err);
    if (status != HINGE_OK)
        return status;
    int asked = options != NULL ? options->threads : 0, threads = asked > 4096 ? 1 : hg_threads(asked);
    size_t k = m->n_classes, work_size = (2 * k * k + k + 7) / 8 * 8;
    size_t chunk = HG_MIN(HG_MAX((size_t)4096, ((size_t)2 << 20) / HG_MAX(m->n_problems, (size_t)1)), x->rows),
           values;
    size_t type = x->type == HINGE_F32 ? sizeof(float) : sizeof(double);
    double *decision = hg_mul(chunk, m->n_problems, &values) ? hg_alloc(values, sizeof *decision) : NULL;
    double *work = hg_alloc((size_t)threads * work_size, sizeof *work);
    bool again = x->rows > chunk; /* outputs wait until the last chunk has gone well */
    double *p = probabilities, *label = labels;
    if (again) {
        p = hg_mul(x->rows, k, &values) ? hg_alloc(values, sizeof *p) : NULL;
        label = hg_alloc(x->rows, sizeof *label);
    }
    if (decision == NULL || work == NULL || p == NULL || (again && label == NULL))
        status = hg_fail(err, HINGE_ENOMEM, "no memory for the probabilities of %zu classes", k);
    for (size_t i = 0; status == HINGE_OK && (i == 0 || i < x->rows); i += HG_MAX(chunk, (size_t)1)) {
        hinge_matrix part = *x;
        part.rows = HG_MIN(chunk, x->rows - i);
        part.data = x->data != NULL ? (const char *)x->data + i * (hg_matrix_by_rows(x) ? x->stride : 1) * type
                                    : NULL;
        status = predict_chunk(m, &part, options, label != NULL ? label + i : NULL, p + i * k, decision, work,
                               work_size, threads, err);
    }
    if (status == HINGE_OK && again)
        memcpy(probabilities, p, x->rows * k * sizeof *p);
    if (status == HINGE_OK && again && labels != NULL)
        memcpy(labels, label, x->rows * sizeof *label);
    if (again) {
        hg_free(p);
        hg_free(label);
    }
    hg_free(decision);
    hg_free(work);
    return status == HINGE_OK ? hg_ok(err) : status;
}

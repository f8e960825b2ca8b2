/*
 * Makes QPs of data and parameters (problem.h, which is to be read before). The parts stand in the order in which they
 * run, after classes and the order of points (classes.c): what kernels need of the points, then each two-class problem,
 * whose box, linear term and sums are the table at the beginning of doc/solver.md. A point is a row of weight > 0;
 * points of one class stand side by side, so that a problem of two classes is two ranges of them, whichever the pair.
 */
#include "lib/data/problem.h"
#include "lib/base/team.h"
#include "lib/data/params.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- points ------------------------------------------------------------------------------------------------------ */

/* Refuses boxes whose sum is near overflow: sums of coefficients, which projections and objectives take, would be
 * infinite, and coefficients no numbers. An eighth of DBL_MAX leaves room for the kink, two layers and a step. */
static hinge_status check_boxes(const struct hg_problem *pr, hinge_error *err)
{
    const hinge_params *p = &pr->params;
    double sum = 0, C = pr->task->uses_C && isfinite(p->C) ? HG_MAX(p->C, 1.0) : 1;
    if (pr->targets != NULL)
        C = hg_targets_most(pr, C);
    for (size_t i = 0; i < pr->data.n; i++)
        sum += C * pr->weight[i];
    return sum <= DBL_MAX / 8
               ? HINGE_OK
               : hg_fail(err, HINGE_EINVAL, "C: the bounds of %zu rows, %g times their weights, sum to more than %.2g",
                         pr->data.n, C, DBL_MAX / 8);
}

/* The norm is the largest squared one of a point, or diagonal value of a matrix that is given; the user's own kernels
 * have none. hg_kernel_beyond_f32 tells by it whether kernel values fit f32. */
void hg_dataset_measure(struct hg_dataset *data)
{
    struct hg_survey survey = { .norms = data->norms };
    if (hg_kernel_is_of_features(hg_kernel_row(data->kernel.type)))
        hg_points_survey(&data->points, &survey, data->threads);
    for (size_t i = 0; i < data->n && data->kernel.type == HINGE_PRECOMPUTED; i++)
        survey.largest = HG_MAX(survey.largest, fabs(hg_points_value(&data->points, i, data->column[i])));
    data->points.nonzeros = survey.nonzeros;
    data->points.most_nonzeros = survey.most_nonzeros;
    data->norm = survey.largest;
}

/* Makes what hangs on the points in the order of need: a shift changes which values are 0, and norms are those of
 * shifted points. Equal points matter to kernels of the distance here, since that of two of them, from norms and a dot
 * product, is what rounding leaves and not 0 (kernels/equal.h). */
hinge_status hg_dataset_look(struct hg_dataset *data, hinge_error *err)
{
    const struct hg_kernel_row *row = hg_kernel_row(data->kernel.type);
    bool wanted = false;
    if (row->of_distance && data->d > 0)
        data->points.shift = data->shift = hg_points_centre(&data->points, data->threads, &wanted);
    if (data->shift == NULL && wanted)
        return hg_fail(err, HINGE_ENOMEM, "no memory for the means of %zu columns", data->d);
    if (row->of_distance)
        HG_TRY(HG_MAKE(err, "the norms of rows", HG_ARRAY(data->norms, data->n)));
    hg_dataset_measure(data);
    if (row->of_distance)
        HG_TRY(hg_equal_find(&data->points, data->threads, &data->equal, err));
    data->points.equal = data->equal;
    return HINGE_OK;
}

void hg_dataset_free(struct hg_dataset *data)
{
    hg_free(data->shift);
    hg_free(data->column);
    hg_free(data->norms);
    hg_free(data->equal);
    *data = (struct hg_dataset){ 0 };
}

struct hg_tiler hg_dataset_tiler(const struct hg_dataset *data, hinge_dtype type)
{
    return (struct hg_tiler){ data->kernel, hg_maps(hg_cpu_level(data->cpu_level)), type, data->d,
                              .asked = data->maker };
}

hinge_status hg_dataset_exact(const struct hg_dataset *data, const uint32_t *subset, size_t n, int threads,
                              struct hg_gram *gram, hinge_error *err)
{
    struct hg_tiler tiler = hg_dataset_tiler(data, HINGE_F64);
    return hg_gram_init(gram, &tiler, &data->points, subset, n, data->column, data->norms, threads, err);
}

/* Finds each row's column of a precomputed kernel matrix: the one that precomputed_index names, or that of the row's
 * own number. */
static hinge_status check_columns(struct hg_problem *pr, hinge_error *err)
{
    const size_t *index = pr->params.precomputed_index;
    if (pr->params.kernel.type != HINGE_PRECOMPUTED)
        return HINGE_OK;
    if (index == NULL && pr->x.cols != pr->x.rows)
        return hg_fail(err, HINGE_EINVAL,
                       "x: a precomputed kernel matrix of %zu rows has %zu columns; without "
                       "precomputed_index it must be square",
                       pr->x.rows, pr->x.cols);
    HG_TRY(HG_MAKE(err, "the columns of rows", HG_ARRAY(pr->data.column, pr->data.n)));
    for (size_t i = 0; i < pr->data.n; i++) {
        size_t column = index != NULL ? index[pr->order[i]] : pr->order[i];
        if (column >= pr->x.cols)
            return hg_fail(err, HINGE_EINVAL, "precomputed_index: row %u has column %zu, the matrix has %zu",
                           pr->order[i], column, pr->x.cols);
        pr->data.column[i] = (uint32_t)column;
    }
    return HINGE_OK;
}

/* Checks what a caller hands over, and fills the defaults in pr->params. Scaling is the business of callers above
 * (hg_scaled_init): a problem has scaled rows already. */
static hinge_status check_problem(struct hg_problem *pr, const hinge_matrix *x, const hinge_params *params,
                                  hinge_error *err)
{
    if (!pr->is_elsewhere)
        HG_TRY(hg_matrix_check(x, "x", err));
    HG_NEED(err, params, "params");
    if (x->rows == 0)
        return hg_fail(err, HINGE_EINVAL, "x: no rows to train on");
    if (params->scaling != NULL)
        return hg_fail(err, HINGE_EINVAL,
                       "scaling: this call takes scaled rows (hinge_scaling_apply), and "
                       "NULL here");
    HG_TRY(hg_params_check(params, x->rows, x->cols, &pr->params, err));
    if (pr->y == NULL && !hinge_task_info(params->task)->one_class)
        return hg_fail(err, HINGE_EINVAL, "y: NULL, but this task needs labels or targets");
    return HINGE_OK;
}

/* Makes classes, order, weights and points. pr->threads is set by then; what has been made is freed by the caller on
 * failure. */
static hinge_status fill_problem(struct hg_problem *pr, hinge_error *err)
{
    size_t rows = pr->x.rows;
    HG_TRY(HG_MAKE(err, "the order of rows", HG_ARRAY(pr->order, rows), HG_ARRAY(pr->weight, rows)));
    if (!pr->is_elsewhere)
        HG_TRY(hg_matrix_check_finite(&pr->x, "x", pr->data.threads, err));
    HG_TRY(hg_problem_order(pr, err));
    HG_TRY(check_boxes(pr, err));
    if (pr->is_elsewhere)
        return HINGE_OK;
    pr->data.points = (struct hg_points){ .x = pr->x, .order = pr->order, .n = pr->data.n };
    HG_TRY(check_columns(pr, err));
    return hg_dataset_look(&pr->data, err);
}

/* Checks, chooses threads by counted work, and fills the problem; what was made is freed on failure. */
hinge_status hg_problem_init(struct hg_problem *pr, const hinge_matrix *x, const double *y, const hinge_params *params,
                             const struct hg_given *given, hinge_error *err)
{
    *pr = (struct hg_problem){ .y = y };
    if (given != NULL) {
        pr->targets = given->targets;
        pr->y = given->targets != NULL ? given->targets->y : y;
        pr->known = given->labels;
        pr->n_known = given->n_labels;
        pr->is_elsewhere = given->is_elsewhere;
    }
    HG_TRY(check_problem(pr, x, params, err));
    const hinge_params *p = &pr->params;
    pr->data = (struct hg_dataset){ .kernel = p->kernel, .maker = p->maker, .cpu_level = p->cpu_level, .d = x->cols };
    pr->data.threads = hg_kernel_team(&p->kernel, p->threads, (double)x->rows * (double)x->rows, x->cols);
    pr->x = *x;
    pr->task = hinge_task_info(params->task);
    pr->classifies = pr->task->classifies && pr->targets == NULL;
    hinge_status status = fill_problem(pr, err);
    if (status != HINGE_OK)
        hg_problem_free(pr);
    return status;
}

void hg_problem_free(struct hg_problem *pr)
{
    hg_free(pr->order); /* and with it the weights */
    hg_free(pr->labels);
    hg_free(pr->start);
    hg_dataset_free(&pr->data);
    memset(pr, 0, sizeof *pr);
}

/* ---- two-class problems ------------------------------------------------------------------------------------------ */

/* Counts through pairs in LIBSVM's order, 0-1, 0-2, .., 1-2, ..: class `first` has n_classes - 1 - first of them. */
void hg_problem_pair(const struct hg_problem *pr, size_t p, size_t *first, size_t *second)
{
    *first = 0;
    *second = 1;
    if (!pr->classifies)
        return;
    if (pr->one_vs_rest) {
        *first = p;
        *second = SIZE_MAX;
        return;
    }
    while (p >= pr->n_classes - 1 - *first) {
        p -= pr->n_classes - 1 - *first;
        ++*first;
    }
    *second = *first + 1 + p;
}

size_t hg_problem_size(const struct hg_problem *pr, size_t p)
{
    size_t a, b;
    hg_problem_pair(pr, p, &a, &b);
    if (!pr->classifies || pr->one_vs_rest)
        return pr->data.n;
    return pr->start[a + 1] - pr->start[a] + pr->start[b + 1] - pr->start[b];
}

size_t hg_problem_firsts(const struct hg_problem *pr, size_t p)
{
    size_t a, b;
    hg_problem_pair(pr, p, &a, &b);
    return pr->classifies ? pr->start[a + 1] - pr->start[a] : pr->data.n;
}

size_t hg_problem_largest(const struct hg_problem *pr)
{
    size_t largest = 0;
    for (size_t p = 0; p < pr->n_problems; p++)
        largest = HG_MAX(largest, hg_problem_size(pr, p));
    return largest;
}

static size_t add_range(uint32_t *subset, size_t n, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        subset[n++] = (uint32_t)i;
    return n;
}

/* Lists the first class's range, then the second's; against the rest, all others in their order. */
size_t hg_problem_points(const struct hg_problem *pr, size_t p, uint32_t *subset)
{
    size_t a, b;
    hg_problem_pair(pr, p, &a, &b);
    size_t n = add_range(subset, 0, pr->start[a], pr->start[a + 1]);
    if (!pr->classifies)
        return n;
    if (!pr->one_vs_rest)
        return add_range(subset, n, pr->start[b], pr->start[b + 1]);
    n = add_range(subset, n, 0, pr->start[a]);
    return add_range(subset, n, pr->start[a + 1], pr->data.n);
}

/* Starts as LIBSVM starts the tasks with a sum: the first entries at their bound until the sum is reached. */
static void fill(struct hg_qp *qp, int layer, double sum)
{
    const double *bound = sum > 0 ? qp->hi[layer] : qp->lo[layer];
    double left = fabs(sum);
    for (size_t i = 0; i < qp->n && left > 0; i++) {
        double part = HG_MIN(fabs(bound[i]), left);
        qp->beta[layer][i] = part >= fabs(bound[i]) ? bound[i] : sum > 0 ? part : -part;
        left -= part;
    }
}

/* Fills row `task` of the table in doc/solver.md. A sum over two layers stands for b, and a point that a layer does not
 * have keeps lo = hi = 0 there. C is infinite for the hard margin, and then so is the bound. */
void hg_problem_box(const hinge_params *p, double w, double y, bool positive, struct hg_qp *qp, size_t k)
{
    switch (p->task) {
    case HINGE_C_SVC:
        qp->off[0][k] = positive ? -1 : 1;
        qp->hi[0][k] = positive ? p->C * w : 0;
        qp->lo[0][k] = positive ? 0 : -p->C * w;
        break;
    case HINGE_NU_SVC:
        qp->hi[0][k] = positive ? w : 0;
        qp->lo[1][k] = positive ? 0 : -w;
        break;
    case HINGE_ONE_CLASS:
        qp->hi[0][k] = w;
        break;
    case HINGE_EPSILON_SVR:
    case HINGE_QUANTILE:
        qp->off[0][k] = -y;
        qp->hi[0][k] = p->C * w * (p->task == HINGE_QUANTILE ? p->tau : 1);
        qp->lo[0][k] = -p->C * w * (p->task == HINGE_QUANTILE ? 1 - p->tau : 1);
        break;
    case HINGE_NU_SVR:
        qp->off[0][k] = qp->off[1][k] = -y;
        qp->hi[0][k] = p->C * w;
        qp->lo[1][k] = -p->C * w;
        break;
    }
}

/* Returns 2 min(W+, W-) / (W+ + W-), the least of it over all problems, W being the weights of both sides (Chang, Lin
 * 2001): each side's coefficients sum to nu (W+ + W-) / 2, and no box holds more than W. Of one-versus-one the smallest
 * and the largest class have the least. */
double hg_most_nu(const double *weight, size_t n_classes, bool one_vs_rest)
{
    double least = INFINITY, largest = 0, total = 0, most = 1;
    for (size_t c = 0; c < n_classes; c++) {
        total += weight[c];
        largest = HG_MAX(largest, weight[c]);
        least = weight[c] > 0 ? HG_MIN(least, weight[c]) : least;
    }
    if (!one_vs_rest) /* of the smallest and the largest class */
        return least < INFINITY ? 2 * least / (least + largest) : 1;
    for (size_t c = 0; c < n_classes; c++)
        if (weight[c] > 0 && weight[c] < total)
            most = HG_MIN(most, 2 * HG_MIN(weight[c], total - weight[c]) / total);
    return most;
}

/* Sets the column "sum" of the table in doc/solver.md. nu may be above its bound by rounding, 1e-12 of it: the sum is
 * then cut to what the boxes hold. */
hinge_status hg_problem_sums(const struct hg_problem *pr, const hinge_params *params, size_t p, double first,
                             double second, double *sums, hinge_error *err)
{
    double total = first + second;
    sums[0] = sums[1] = 0;
    if (params->task == HINGE_ONE_CLASS) {
        sums[0] = params->nu * total;
    } else if (params->task == HINGE_NU_SVC) {
        sums[0] = params->nu * total / 2;
        size_t a, b;
        double most = hg_most_nu((double[]){ first, second }, 2, false);
        hg_problem_pair(pr, p, &a, &b);
        if (sums[0] > HG_MIN(first, second) * (1 + 1e-12) && pr->one_vs_rest)
            return hg_fail(err, HINGE_EINVAL, "nu: %g is infeasible for class %g against the rest; at most %g",
                           params->nu, pr->labels[a], most);
        if (sums[0] > HG_MIN(first, second) * (1 + 1e-12))
            return hg_fail(err, HINGE_EINVAL, "nu: %g is infeasible for classes %g and %g; at most %g", params->nu,
                           pr->labels[a], pr->labels[b], most);
        sums[0] = HG_MIN(sums[0], HG_MIN(first, second));
        sums[1] = -sums[0];
    } else if (params->task == HINGE_NU_SVR) {
        sums[0] = params->C * params->nu * total / 2;
        sums[1] = -sums[0];
    }
    return HINGE_OK;
}

/* Takes nu-SVC's coefficients, which come as a model has them, divided by r: each layer is brought back to its sum, and
 * what that rounds off a bound is put there. */
static void unscale(struct hg_qp *qp, const double *sums)
{
    for (int l = 0; l < qp->layers; l++) {
        double sum = 0;
        for (size_t k = 0; k < qp->n; k++)
            sum += qp->beta[l][k];
        for (size_t k = 0; sum != 0 && isfinite(sum) && k < qp->n; k++)
            qp->beta[l][k] = hg_qp_snap(qp->beta[l][k] * sums[l] / sum, qp->lo[l][k], qp->hi[l][k], 1e-10);
    }
}

/* Keeps each point's b = b_0 + b_1 as it is while both layers grow by `part` in opposite directions, which is all that
 * the sums lack: nu-SVR's two sums are C nu n / 2 and its negative. What is lacking is the lesser of both layers'
 * lack. */
bool hg_problem_share(struct hg_qp *qp, const double *sums, const struct hg_numbered *order)
{
    double lacking = sums[0], other = -sums[1];
    for (size_t k = 0; k < qp->n; k++) {
        hg_qp_put(qp, k, hg_qp_beta(qp, k));
        lacking -= qp->beta[0][k];
        other += qp->beta[1][k];
    }
    lacking = HG_MIN(lacking, other);
    if (!(lacking > 1e-9 * sums[0])) /* rounding */
        return false;
    for (size_t at = 0; at < qp->n && lacking > 0; at++) {
        size_t k = order != NULL ? order[at].number : at;
        double room = HG_MIN(qp->hi[0][k] - qp->beta[0][k], qp->beta[1][k] - qp->lo[1][k]);
        double part = HG_MIN(HG_MAX(room, 0.0), lacking);
        qp->beta[0][k] += part;
        qp->beta[1][k] -= part;
        lacking -= part;
    }
    return true;
}

void hg_problem_take(const struct hg_problem *pr, const double *beta, const uint32_t *subset, struct hg_qp *qp,
                     const double *sums)
{
    for (size_t k = 0; k < qp->n; k++)
        hg_qp_put(qp, k, beta[pr->order[subset[k]]]);
    if (pr->params.task == HINGE_NU_SVR && sums != NULL)
        hg_problem_share(qp, sums, NULL);
}

/* Makes the QP in this order: sums by weights, boxes and linear terms, then the start, which is brought into its boxes
 * and to its sums by hg_qp_project. subset [n] has the first class's points first, as hg_problem_points puts them. */
hinge_status hg_problem_qp(const struct hg_problem *pr, const struct hg_boxes *boxes, size_t p, const uint32_t *subset,
                           size_t n, struct hg_qp *qp, double *sums, hinge_error *err)
{
    size_t n_first = hg_problem_firsts(pr, p);
    const double *given = boxes != NULL ? boxes->weight : pr->weight;
    hinge_params params = boxes != NULL ? *boxes->params : pr->params;
    double weight[2] = { 0, 0 };
    hg_target_params(pr->targets, p, &params);
    for (size_t k = 0; k < n; k++)
        weight[k >= n_first] += hg_entry_of(pr, given, p, subset[k], true).weight;
    HG_TRY(hg_problem_sums(pr, &params, p, weight[0], weight[1], sums, err));
    HG_TRY(hg_qp_init(qp, n, pr->task->two_sums ? 2 : 1, err));
    qp->no_sum = params.no_bias;
    qp->kink = pr->task->uses_p ? params.p : 0;
    for (size_t k = 0; k < n; k++) {
        struct hg_entry e = hg_entry_of(pr, given, p, subset[k], k < n_first);
        hg_problem_box(&params, e.weight, e.y, e.positive, qp, k);
    }
    if (params.beta0 != NULL) {
        HG_TRY(hg_check_finite(params.beta0 + p * pr->x.rows, pr->x.rows, "beta0: coefficient", err));
        hg_problem_take(pr, params.beta0 + p * pr->x.rows, subset, qp, sums);
        if (params.task == HINGE_NU_SVC)
            unscale(qp, sums);
    } else
        for (int l = 0; l < qp->layers; l++)
            fill(qp, l, sums[l]);
    if (!hg_qp_project(qp, sums)) {
        hg_qp_free(qp);
        return hg_fail(err, HINGE_EINTERNAL, "no feasible start for problem %zu", p);
    }
    return HINGE_OK;
}

/* Computes b = (bias_0 + bias_1) / 2 and r = (bias_1 - bias_0) / 2 (doc/solver.md, "The end"), the latter for nu-SVC
 * alone. A factor of 0 tells that no margin was found, or that 1 / r is no number. */
void hg_problem_bias(const struct hg_problem *pr, const double *bias, double *b, double *factor)
{
    *b = bias[0];
    *factor = 1;
    if (pr->task->two_sums) /* m+ = -bias[0], m- = -bias[1] */
        *b = (bias[0] + bias[1]) / 2;
    if (pr->params.task == HINGE_NU_SVC) {
        double r = (bias[1] - bias[0]) / 2;
        *factor = r > 0 && isfinite(1 / r) ? 1 / r : 0;
    }
}

/* Counts n_sv n (d + 8): dot products, and what the map adds to each of them. */
double hg_problem_gradient_work(const struct hg_problem *pr, const struct hg_qp *qp)
{
    return (double)hg_qp_support(qp, NULL, NULL, NULL) * (double)qp->n * (double)(pr->data.d + 8);
}

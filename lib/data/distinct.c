/*
 * Equal rows as one point (distinct.h): points are numbered, boxes added up, and coefficients given back to rows. The
 * first part makes the problem over distinct points once for a training; the second takes one two-class problem of it
 * to a solver and back.
 *
 * Many targets, by which equal rows may differ, go without. Otherwise nothing switches it off for kernels of dot
 * products; a test that wants rows apart gives the same kernel as a function of the user's own or as a precomputed
 * matrix, where rows are not compared.
 */
#include "lib/data/distinct.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- points ------------------------------------------------------------------------------------------------------ */

/* Returns what a row's linear term hangs on beside its weight. */
static double target_of(const struct hg_problem *pr, size_t i)
{
    return pr->classifies || pr->task->regresses ? pr->y[pr->order[i]] + 0.0 : 0; /* -0 is 0, also to a hash */
}

/* Makes the distinct problem's own arrays, of `count` points; the rest is borrowed from the whole problem. Two points
 * may have equal features and other labels or targets ("twins"): the kernel must know of them, so their numbers go into
 * `equal`. start has each class's range, as points are in the order of classes. */
static hinge_status take_points(struct hg_distinct *d, const struct hg_problem *whole, const uint32_t *equal,
                                const uint32_t *first, size_t count, hinge_error *err)
{
    struct hg_problem *pr = &d->problem;
    size_t classes = whole->classifies ? whole->n_classes : 1, norms = whole->data.norms != NULL ? count : 0;
    size_t twins = 0, c = 0;
    HG_TRY(HG_MAKE(err, "distinct rows", HG_ARRAY(pr->order, count), HG_ZEROS(pr->start, classes + 1),
                   HG_ARRAY(pr->data.norms, norms), HG_ARRAY(pr->data.equal, count)));
    pr->data.n = count;
    pr->weight = NULL;
    hg_gather(whole->order, sizeof *pr->order, first, count, pr->order);
    hg_gather(whole->data.norms, sizeof *pr->data.norms, first, norms, pr->data.norms);
    for (size_t k = 0; k < count; k++) {
        pr->data.equal[k] = d->point[equal[first[k]]];
        twins += pr->data.equal[k] != k;
        c += first[k] >= whole->start[c + 1]; /* each class has a row */
        pr->start[c + 1] = k + 1;
    }
    pr->data.equal = twins > 0 && whole->data.equal != NULL ? pr->data.equal : NULL;
    pr->data.norms = norms > 0 ? pr->data.norms : NULL;
    pr->data.points.order = pr->order;
    pr->data.points.equal = pr->data.equal;
    pr->data.points.n = count;
    return HINGE_OK;
}

/* Finds points that a solver may take as one. equal: hg_equal_find's. */
static hinge_status merge(struct hg_distinct *d, const struct hg_problem *whole, const uint32_t *equal,
                          hinge_error *err)
{
    size_t n = whole->data.n, count = 0;
    uint32_t *first;
    double *key;
    HG_TRY(HG_MAKE(err, "the numbers of rows", HG_ARRAY(first, n), HG_ARRAY(key, n)));
    hinge_status status = HG_MAKE(err, "the points of rows", HG_ARRAY(d->point, n));
    for (size_t i = 0; i < n; i++)
        key[i] = target_of(whole, i);
    HG_THEN(status, hg_equal_number(equal, key, n, d->point, first, &count, err));
    if (status == HINGE_OK && count < n)
        status = take_points(d, whole, equal, first, count, err);
    if (status != HINGE_OK || count == n) {
        hg_free(d->point);
        *d = (struct hg_distinct){ .problem = *whole };
    }
    hg_free(first);
    return status;
}

/* For kernels of the distance hg_dataset_look has found equal rows already; of other kernels of features they are
 * looked for here. */
hinge_status hg_distinct_init(struct hg_distinct *d, const struct hg_problem *whole, hinge_error *err)
{
    uint32_t *found = NULL;
    hinge_status status = HINGE_OK;
    *d = (struct hg_distinct){ .problem = *whole };
    const struct hg_kernel_row *row = hg_kernel_row(whole->data.kernel.type);
    if (!hg_kernel_is_of_features(row) || whole->n_problems == 0 || whole->targets != NULL)
        return HINGE_OK;
    if (!row->of_distance)
        status = hg_equal_find(&whole->data.points, whole->data.threads, &found, err);
    const uint32_t *equal = found != NULL ? found : whole->data.equal;
    if (status == HINGE_OK && equal != NULL)
        status = merge(d, whole, equal, err);
    hg_free(found);
    return status;
}

void hg_distinct_free(struct hg_distinct *d)
{
    if (d->point != NULL)
        hg_free(d->problem.order);
    hg_free(d->point);
    memset(d, 0, sizeof *d);
}

/* ---- a problem --------------------------------------------------------------------------------------------------- */

/* Makes the whole QP first, for its start and sums, then the one over points. `where` maps a point of the training to
 * its place in this problem; rows map through their point. All arrays are one block, whose first is `rows`. */
hinge_status hg_reduced_init(struct hg_reduced *reduced, const struct hg_distinct *d, const struct hg_problem *whole,
                             size_t p, hinge_error *err)
{
    uint32_t *where;
    size_t points = d->problem.data.n;
    *reduced = (struct hg_reduced){ .n = hg_problem_size(whole, p) };
    HG_TRY(HG_MAKE(err, "a two-class problem", HG_ARRAY(reduced->rows, whole->data.n),
                   HG_ARRAY(reduced->at, reduced->n), HG_ARRAY(reduced->points, points), HG_ARRAY(where, points),
                   HG_ARRAY(reduced->g, points), HG_ARRAY(reduced->kept, 2 * points)));
    hg_problem_points(whole, p, reduced->rows);
    HG_TRY(hg_problem_qp(whole, NULL, p, reduced->rows, reduced->n, &reduced->whole, reduced->sums, err));
    size_t n = hg_problem_points(&d->problem, p, reduced->points);
    for (size_t k = 0; k < n; k++)
        where[reduced->points[k]] = (uint32_t)k;
    for (size_t k = 0; k < reduced->n; k++)
        reduced->at[k] = where[d->point != NULL ? d->point[reduced->rows[k]] : reduced->rows[k]];
    hinge_status status = hg_qp_init(&reduced->qp, n, reduced->whole.layers, err);
    if (status == HINGE_OK)
        hg_reduced_start(reduced);
    return status;
}

/* Sums lo, hi and beta of a point's rows; off is the same for all of them. What rounding has left of sums that should
 * be 0 or a bound is put there (hg_qp_tidy). */
void hg_reduced_start(struct hg_reduced *reduced)
{
    const struct hg_qp *whole = &reduced->whole;
    struct hg_qp *qp = &reduced->qp;
    qp->no_sum = whole->no_sum;
    qp->kink = whole->kink;
    qp->size = 0;
    for (int l = 0; l < qp->layers; l++) {
        memset(qp->lo[l], 0, qp->n * sizeof(double));
        memset(qp->hi[l], 0, qp->n * sizeof(double));
        memset(qp->beta[l], 0, qp->n * sizeof(double));
        for (size_t k = 0; k < reduced->n; k++) {
            size_t i = reduced->at[k];
            qp->lo[l][i] += whole->lo[l][k];
            qp->hi[l][i] += whole->hi[l][k];
            qp->beta[l][i] += whole->beta[l][k];
            qp->off[l][i] = whole->off[l][k];
            qp->size += fabs(whole->beta[l][k]); /* which has left its rounding in its point's sum */
        }
    }
    if (qp->size == 0)
        return;
    hg_qp_tidy(qp, INFINITY);
    qp->size = 0;
    hg_qp_tidy(qp, INFINITY); /* which sets the size: from here on that of the points' largest */
}

/* Returns, of a point's coefficient beta, what the row gets whose box begins at `from`, where those before it end, and
 * holds up to `bound`: all of it where beta reaches beyond (but for rounding), what is left where it ends inside, 0
 * before. Bounds and beta have one sign. */
static double share_of(double beta, double from, double bound)
{
    double rounding = 8 * DBL_EPSILON * fabs(beta), towards = beta > 0 ? 1 : -1;
    if (towards * (beta - (from + bound)) >= -rounding)
        return bound;
    return towards * (beta - from) > rounding ? beta - from : 0;
}

/* Fills rows in their order. Of two layers, both sides of a point are first brought to the difference that a model
 * keeps, as equal rows would otherwise have both. lo of the reduced problem serves as work space: what earlier rows
 * hold. */
void hg_reduced_finish(struct hg_reduced *reduced)
{
    struct hg_qp *whole = &reduced->whole, *qp = &reduced->qp;
    for (size_t i = 0; qp->layers == 2 && i < qp->n; i++) /* of both sides of a point a model keeps the difference */
        hg_qp_put(qp, i, hg_qp_beta(qp, i));
    for (int l = 0; l < qp->layers; l++) {
        double *filled = qp->lo[l]; /* of no more use. What the boxes so far hold, summed as hg_reduced_start does */
        memset(filled, 0, qp->n * sizeof *filled);
        for (size_t k = 0; k < reduced->n; k++) {
            double beta = qp->beta[l][reduced->at[k]], bound = beta > 0 ? whole->hi[l][k] : whole->lo[l][k];
            double *from = &filled[reduced->at[k]];
            whole->beta[l][k] = share_of(beta, *from, bound);
            *from += bound;
        }
    }
}

void hg_reduced_free(struct hg_reduced *reduced)
{
    hg_qp_free(&reduced->qp);
    hg_qp_free(&reduced->whole);
    hg_free(reduced->rows);
}

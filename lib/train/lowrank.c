/*
 * Factors of a kernel matrix for the interior point (lowrank.h), and whether one pays. The parts: rows of Z as the
 * interior point asks for them; the greedy factor that is made before a run; what the kernel itself says of a solution
 * on ZZ'; and, last, the choice, with the search for a factor while SMO is at work. Read doc/interior-point.md,
 * "Kernels by a factor", before.
 */
#include "lib/train/lowrank.h"
#include "lib/base/team.h"
#include "solver/ipm/cholesky.h"
#include "solver/smo/block.h"

#include <cblas.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* Packs rows of Z = X, less the points' shift, in f64: the linear kernel's data are their own factor. */
static void rows_of_points(const struct hg_factor *super, size_t first, size_t count, double *out, size_t ld)
{
    const struct hg_lowrank *l = (const struct hg_lowrank *)super;
    hg_points_pack(l->points, l->subset + first, 0, count, HINGE_F64, out, ld);
}

/* Copies rows of a Z that was made; d of them are in use (drop_columns). */
static void rows_of_matrix(const struct hg_factor *super, size_t first, size_t count, double *out, size_t ld)
{
    const struct hg_lowrank *l = (const struct hg_lowrank *)super;
    for (size_t k = 0; k < count; k++)
        memcpy(out + k * ld, l->z + (first + k) * super->d, super->d * sizeof *out);
}

/* ---- the factor -------------------------------------------------------------------------------------------------- */

/* Z is made with room for `rank` columns; what is not used is given up by moving the rows together. */
static void drop_columns(struct hg_lowrank *l, size_t rank, size_t used)
{
    for (size_t i = 1; i < l->super.n && used < rank; i++)
        memmove(l->z + i * used, l->z + i * rank, used * sizeof *l->z);
    l->super.d = used;
}

/* Factors the kernel by pivoted Cholesky (Fine, Scheinberg 2001), up to `rank` columns or until next to nothing of the
 * trace is left: the pivots are the points that the columns so far represent worst. 1e-14 of the trace is what rounding
 * leaves; more columns would be noise. */
static hinge_status factor_kernel(struct hg_lowrank *l, const struct hg_problem *pr, size_t rank, int threads,
                                  const struct hg_halt *halt, hinge_error *err)
{
    struct hg_gram gram = { 0 };
    size_t n = l->super.n, used = 0;
    rank = HG_MIN(rank > 0 ? rank : (size_t)HG_RANK_DEFAULT, n);
    l->most = rank;
    HG_TRY(HG_MAKE(err, "a factor of the kernel matrix", HG_TABLE(l->z, n, rank)));
    HG_TRY(hg_dataset_exact(&pr->data, l->subset, n, threads, &gram, err));
    hinge_status status = hg_pivoted_cholesky(&gram.super, rank, 1e-14, halt, l->z, NULL, &used, &l->trace_error);
    l->values = gram.super.values;
    hg_gram_free(&gram);
    HG_TRY(hg_rows_told(status, err));
    drop_columns(l, rank, used);
    l->bytes = n * used * sizeof *l->z;
    l->super.rows = rows_of_matrix;
    return HINGE_OK;
}

/* Takes the data as they are for a linear kernel of no more features than rows. Polynomials get a column more than
 * their monomials are: the factorisation then ends by itself, below its limit, and it is known that it is all of the
 * kernel. */
hinge_status hg_lowrank_init(struct hg_lowrank *l, const struct hg_problem *pr, const uint32_t *subset, size_t n,
                             size_t rank, int threads, const struct hg_halt *halt, hinge_error *err)
{
    *l =
        (struct hg_lowrank){ .super = { n, pr->data.d, rows_of_points }, .points = &pr->data.points, .subset = subset };
    bool is_linear = pr->data.kernel.type == HINGE_LINEAR;
    if (is_linear && pr->data.d <= n && (rank == 0 || rank >= pr->data.d))
        return HINGE_OK;
    if (is_linear && rank == 0)
        rank = n; /* what rows span has no more dimensions than there are rows */
    if (!is_linear && rank == 0 && hg_lowrank_columns(pr) > 0)
        rank = hg_lowrank_columns(pr) + 1; /* so that they can be seen to be all */
    hinge_status status = factor_kernel(l, pr, rank, threads, halt, err);
    if (status != HINGE_OK)
        hg_lowrank_free(l);
    return status;
}

void hg_lowrank_free(struct hg_lowrank *l)
{
    hg_free(l->z);
    l->z = NULL;
}

/* Solves rows rank + 7 rank^2 = values for rank, values being a quarter of the memory in doubles: n rank of Z and some
 * 7 matrices rank x rank of the interior point. At least HG_RANK_DEFAULT, at most n. */
size_t hg_lowrank_most(size_t n)
{
    double values = (double)hg_total_memory() / (4 * sizeof(double)), rows = (double)n;
    double rank = (sqrt(rows * rows + 28 * values) - rows) / 14; /* rows * rank + 7 rank^2 = values */
    return HG_MIN(HG_MAX((size_t)rank, (size_t)HG_RANK_DEFAULT), n);
}

/* ---- solving on it ----------------------------------------------------------------------------------------------- */

/* Returns by how much a margin in the kernel's space may be larger than what is told of it by sums of rows, with
 * weights of sum 1, that lack a square of so much of the trace at most; rounding always does. */
static double hidden_margin(const struct hg_lowrank *l, double lack)
{
    double trace = 0;
    for (size_t i = 0; l->z != NULL && i < l->super.n * l->super.d; i++)
        trace += l->z[i] * l->z[i];
    return sqrt(HG_MAX(lack, 8 * DBL_EPSILON) * trace);
}

/* Has what it takes to let the kernel itself bound a hard margin. */
struct asked {
    const struct hg_lowrank *l;
    const struct hg_problem *pr;
    const struct hg_qp *qp;
    const struct hg_interior_options *options;
    double *g;           /* K beta */
    double bound;        /* no margin in the kernel's space is above: infinite until it was asked */
    hinge_status status; /* of what was asked last */
    hinge_error *err;
};

/* A margin of less than so much of what rows are long is taken for none: rounding of K is more than 1e-4 of beta'K beta
 * there, and of a model's norm. */
static const double least_margin = 1e-6;

/* Bounds the margin as margin_bound (interior.c) does, with K beta in place of ZZ'beta, by beta of a run on ZZ'. Where
 * ZZ' has next to no margin, K mostly has none either: beta is a sum over many points, and what Z lacks changes sign
 * between them. Lengths of rows are weighted as the rows are. The factor is too coarse where K has ten times the bound:
 * more columns are of use then, if they can be had. */
static enum hg_denial ask_kernel(void *arg, double bound)
{
    struct asked *a = arg;
    const struct hg_lowrank *l = a->l;
    double square = 0, size = 0, sum = 0, length = 0, longest = 0;
    a->status = hg_problem_gradient(a->pr, l->subset, a->qp, a->options->threads, &a->options->halt, a->g, a->err);
    if (a->status != HINGE_OK || hg_halted(&a->options->halt))
        return a->status != HINGE_OK ? HG_DENIES_FACTOR : HG_DENIES_NOTHING;
    for (size_t i = 0; i < a->qp->n; i++) {
        const double *z = l->z + i * l->super.d;
        double b = hg_qp_beta(a->qp, i), norm = sqrt(hg_dot(z, z, l->super.d));
        square += b * a->g[i];
        size += fabs(b);
        sum += b;
        length += fabs(b) * norm;
        longest = HG_MAX(longest, norm);
    }
    double off = a->qp->no_sum ? 0 : fabs(sum);
    double by_kernel = size > off ? (sqrt(HG_MAX(square, 0.0)) + longest * off) / (size - off) : INFINITY;
    a->bound = HG_MIN(a->bound, by_kernel);
    if (by_kernel * size <= least_margin * length)
        return HG_DENIES_MARGIN;
    bool coarse = l->finer && l->trace_error > HG_NOTHING_LEFT && by_kernel > 10 * bound;
    return coarse ? HG_DENIES_FACTOR : HG_DENIES_NOTHING;
}

/* Says that there is no margin, where the run has found one that is less than what rounding of ZZ' makes, as of equal
 * rows of both classes, and K denies it. */
static bool deny_margin(const struct hg_lowrank *l, struct hg_interior_result *result)
{
    bool denied = result->report.outcome == HINGE_STALLED && isfinite(result->margin_bound) &&
                  l->trace_error <= HG_NOTHING_LEFT && result->margin_bound <= hidden_margin(l, l->trace_error);
    if (!denied)
        return false;
    result->report.outcome = HINGE_NO_MARGIN;
    result->report.objective = -INFINITY;
    result->report.gap = result->report.violation = INFINITY;
    memset(result->bias, 0, sizeof result->bias);
    return true;
}

/* Solves on ZZ', and lets the kernel judge: where Z is not all of K, K beta is computed in f64, and objective,
 * violation, gap and bias are taken from it (hg_interior_judge), so that CONVERGED is said of K. For the linear kernel
 * Z is exact, and only an objective above 0, worse than beta = 0, asks for that look. A margin that ZZ' denies, K may
 * have: STALLED, unless K denies it too. Where there is none, no coefficients come back. */
hinge_status hg_lowrank_solve(const struct hg_lowrank *l, const struct hg_problem *pr, struct hg_qp *qp,
                              const struct hg_interior_options *options, double *g, bool whole,
                              struct hg_interior_result *result, hinge_error *err)
{
    struct asked asked = { l, pr, qp, options, g, INFINITY, HINGE_OK, err };
    struct hg_interior_options own = *options;
    own.ask = l->z != NULL && !hg_kernel_is_indefinite(&pr->data.kernel) ? ask_kernel : NULL;
    own.ask_arg = &asked;
    HG_TRY(hg_interior_point(qp, &l->super, &own, result, err));
    HG_TRY(asked.status);
    bool denied = result->report.outcome == HINGE_NO_MARGIN;
    if (denied && l->trace_error > HG_NOTHING_LEFT &&
        (own.ask == NULL || ask_kernel(&asked, result->margin_bound) != HG_DENIES_MARGIN))
        result->report.outcome = hg_halted(&options->halt) ? hg_halt_outcome(&options->halt) : HINGE_STALLED;
    HG_TRY(asked.status);
    bool is_judged = !denied && (l->z != NULL || result->report.objective > 0);
    /* also of a run that was ended, where that is told at once */
    const struct hg_halt *halt = hg_problem_gradient_work(pr, qp) > HG_AT_ONCE ? &options->halt : NULL;
    if (is_judged || whole)
        HG_TRY(hg_problem_gradient(pr, l->subset, qp, options->threads, halt, g, err));
    if (is_judged && halt != NULL && hg_halted(halt))
        result->report.outcome = hg_halt_outcome(halt);
    else if (is_judged)
        hg_interior_judge(qp, g, options, result);
    if (!denied && !deny_margin(l, result))
        return HINGE_OK;
    result->margin_bound =
        fmin(result->margin_bound + hidden_margin(l, l->trace_error), asked.bound + hidden_margin(l, 0));
    memset(qp->beta[0], 0, qp->n * sizeof *qp->beta[0]);
    if (whole)
        memset(g, 0, qp->n * sizeof *g);
    return HINGE_OK;
}

/* ---- the choice -------------------------------------------------------------------------------------------------- */

/* Counts the features of the kernel: d of the linear one; of (gamma <x, z> + coef0)^degree the monomials, C(d + degree,
 * degree) of all degrees up to it, or C(d - 1 + degree, degree) of that degree alone where coef0 is 0. */
size_t hg_lowrank_columns(const struct hg_problem *pr)
{
    const hinge_kernel *k = &pr->data.kernel;
    bool constant = k->coef0 != 0;
    double columns = 1;
    if (k->type == HINGE_LINEAR)
        return pr->data.d > 0 && pr->data.d <= HG_RANK_EXACT ? pr->data.d : 0;
    if (k->type != HINGE_POLYNOMIAL || k->degree < 1 || pr->data.d == 0 || !(k->gamma > 0 && k->coef0 >= 0))
        return 0;
    for (int i = 1; i <= k->degree && columns <= HG_RANK_EXACT; i++)
        columns = columns * ((double)pr->data.d - !constant + i) / i;
    return columns <= HG_RANK_EXACT ? (size_t)(columns + 0.5) : 0;
}

/* Refuses kernels of too many features: a factor of as many columns as half the rows, or more, is no shorter way than
 * the kernel matrix. */
size_t hg_lowrank_inside(const struct hg_problem *pr, size_t n)
{
    size_t columns = hg_lowrank_columns(pr);
    return n >= 2 * columns ? columns : 0;
}

/* Returns how many steps SMO may take before the interior point goes on: as many as take the time of 20 systems of n
 * columns^2 multiplications each, 3,000 of them a step, and 10,000 + 10 n in any case. doc/tried.md ("polynomials of
 * few monomials") has what the order of the two buys: the interior point at once is up to 20 times slower on easy
 * data. */
uint64_t hg_lowrank_steps(size_t n, size_t columns)
{
    const double each = 3000; /* multiplications in the time of a step; of some 20 systems */
    return 10000 + 10 * (uint64_t)n + (uint64_t)(20 * (double)n * (double)columns * (double)columns / each);
}

/* Returns what a factor may leave of the trace, so that what the lost part of K does to a gradient is no more than
 * `error`: errors of values, e each and of random sign, add up to e |beta|_2, and e is the share times the mean of the
 * diagonal. At least 1e-13, which rounding leaves, and 1e-3 at most. diagonal: [n] of the kernel. */
static double share_allowed(const double *diagonal, size_t n, const struct hg_qp *qp, double error)
{
    double mean = 0;
    for (size_t i = 0; i < n; i++)
        mean += diagonal[i] / (double)n;
    return HG_MIN(HG_MAX(error / (hg_qp_length(qp) * mean), 1e-13), 1e-3);
}

/* Holds the factor of a sample of the points: its pivots, and their rows of it, which are a lower triangle. Points are
 * given by their places among those of the problem. */
struct seed {
    uint32_t *sample, *pivot; /* [n] places, [most] */
    double *triangle;         /* [used * most] */
    double *left;             /* [all points] what the factor leaves of the kernel's diagonal */
    size_t n, most, used;
};

/* Factors the sample's kernel matrix greedily, and keeps its pivots as places among all points, and the triangle L of
 * their rows. Says whether a tenth of `enough` is all that this leaves of the sample's trace: a sample that has no
 * factor of so few columns tells at once that all points have none. */
static bool take_seed(struct seed *s, const struct hg_problem *pr, const uint32_t *subset, double enough, int threads,
                      const struct hg_halt *halt)
{
    struct hg_gram gram = { 0 };
    double *z, left = 1;
    uint32_t *point;
    if (!HG_ROOM(HG_ARRAY(point, s->n), HG_TABLE(z, s->n, s->most)))
        return false;
    hg_gather(subset, sizeof *subset, s->sample, s->n, point);
    if (hg_dataset_exact(&pr->data, point, s->n, threads, &gram, NULL) != HINGE_OK ||
        hg_pivoted_cholesky(&gram.super, s->most, enough / 10, halt, z, s->pivot, &s->used, &left) != HINGE_OK)
        left = 1;
    for (size_t c = 0; c < s->used; c++)
        memcpy(s->triangle + c * s->most, z + s->pivot[c] * s->most, s->used * sizeof *z);
    hg_gather(s->sample, sizeof *s->sample, s->pivot, s->used, s->pivot);
    hg_gram_free(&gram);
    hg_free(point);
    return left <= enough / 10;
}

struct projecting { /* a chunk of points, from `first` on */
    struct seed *seed;
    double *k, *z; /* [used * count] kernel values; all of Z */
    size_t first, count;
};

static void project_some(void *arg, int thread, size_t slice, size_t end)
{
    const struct projecting *p = arg;
    const struct seed *s = p->seed;
    size_t r = s->used;
    (void)thread;
    cblas_dtrsm(CblasRowMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, (int)r, (int)(end - slice), 1,
                s->triangle, (int)s->most, p->k + slice, (int)p->count);
    for (size_t i = slice; i < end; i++)
        for (size_t c = 0; c < r; c++) {
            double value = p->k[c * p->count + i];
            p->z[(p->first + i) * r + c] = value;
            s->left[p->first + i] -= value * value;
        }
}

/* Solves L z_i = K(pivots, i) for all points, L being the seed's triangle: Z is the factor of K with these pivots.
 * Points are taken in chunks, whose products are one block of kernel values, and slices of chunks by thread; s->left
 * [n] falls by |z_i|^2 to the diagonal of K - ZZ'. */
static hinge_status spread(struct hg_lowrank *l, struct seed *s, struct hg_gram *gram)
{
    enum { CHUNK = 2048, SLICE = 128 };
    size_t n = l->super.n, r = s->used;
    double *k;
    uint32_t *point;
    hinge_status status = hg_rows_diagonal(&gram->super, s->left, NULL);
    if (!HG_ROOM(HG_ARRAY(point, CHUNK), HG_TABLE(k, r, CHUNK)))
        return HINGE_ENOMEM;
    for (size_t first = 0, count; first < n && status == HINGE_OK; first += count) {
        count = HG_MIN(n - first, (size_t)CHUNK);
        for (size_t i = 0; i < count; i++)
            point[i] = (uint32_t)(first + i);
        status = hg_rows_block(&gram->super, s->pivot, r, point, count, k);
        hg_share(gram->super.threads, count, SLICE, project_some, &(struct projecting){ s, k, l->z, first, count });
    }
    hg_free(point);
    return status;
}

/* Makes the next sample: the pivots, and the points of which they leave most, up to `room`. false: no point is worse
 * than the pivots, so a further turn would choose the same. */
static bool resample(struct seed *s, size_t n, size_t room)
{
    double *sorted = hg_alloc(n, sizeof *sorted);
    size_t more = HG_MIN(room, n) - s->used;
    if (sorted == NULL)
        return false;
    for (size_t c = 0; c < s->used; c++)
        s->left[s->pivot[c]] = 0;
    memcpy(sorted, s->left, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, hg_by_value);
    double least = HG_MAX(sorted[n - more], 0.0);
    memcpy(s->sample, s->pivot, s->used * sizeof *s->sample);
    s->n = s->used;
    for (size_t i = 0; i < n && s->n < room; i++)
        if (s->left[i] > least)
            s->sample[s->n++] = (uint32_t)i;
    hg_free(sorted);
    return s->n > s->used;
}

/* Chooses pivots from points of even distance in the data, and then twice with those that were approximated worst.
 * Greedy pivots over all points would read all columns for each new one (doc/tried.md: 6 s where 980 columns of 16,512
 * rows are not enough); a sample of three times the columns says so in 0.1 s of a training of 10. */
static bool find_factor(struct hg_lowrank *l, const struct hg_problem *pr, const struct hg_qp *qp, double error,
                        struct seed *s, struct hg_gram *gram, const struct hg_halt *halt)
{
    enum { TURNS = 3 };
    size_t n = qp->n, room = s->n;
    if (hg_rows_diagonal(&gram->super, s->left, NULL) != HINGE_OK)
        return false;
    double whole = 0, enough = share_allowed(s->left, n, qp, error);
    for (size_t i = 0; i < n; i++)
        whole += fabs(s->left[i]);
    for (size_t k = 0; k < room; k++)
        s->sample[k] = (uint32_t)(k * n / room);
    for (int turn = 0; turn < TURNS && !hg_halted(halt); turn++) {
        double rest = 0;
        if (!take_seed(s, pr, l->subset, enough, gram->super.threads, halt))
            return false;
        hg_lowrank_free(l);
        l->super.d = l->most = s->used;
        l->bytes = n * s->used * sizeof *l->z;
        l->z = hg_alloc(n, s->used * sizeof *l->z);
        if (l->z == NULL || spread(l, s, gram) != HINGE_OK)
            return false;
        for (size_t i = 0; i < n; i++)
            rest += fabs(s->left[i]);
        l->trace_error = whole > 0 ? rest / whole : 0;
        if (l->trace_error <= enough)
            return true;
        if (!resample(s, n, room))
            return false;
    }
    return false;
}

/* Gives up, in this order: few points before 200 steps a row; kernels without smoothness, unless all points may be
 * columns; no room. columns_of_step turns steps into columns r by n r^2 = steps times what a step is worth. Errors of a
 * twentieth of eps are allowed, so that a violation that the factor's solution has is SMO's to judge. */
bool hg_lowrank_find(struct hg_lowrank *l, const struct hg_problem *pr, const uint32_t *subset, const struct hg_qp *qp,
                     double eps, uint64_t steps, int threads, const struct hg_halt *halt)
{
    /* Squared: a step takes as long as so many products of a row and column, fewer where it makes no rows. */
    const bool few = qp->n <= HG_FEW_POINTS;
    const double columns_of_step = few ? 300 : 1200;
    struct seed s = { .most = (size_t)HG_MIN(sqrt(columns_of_step * (double)steps / (double)qp->n),
                                             (double)HG_MIN(qp->n, (size_t)HG_RANK_EXACT)) };
    struct hg_gram gram = { 0 };
    const struct hg_kernel_row *row = hg_kernel_row(pr->data.kernel.type);
    s.n = HG_MIN(qp->n, 3 * s.most);
    if (few && steps < 4 * (uint64_t)HG_RANK_LOOK * qp->n)
        return false;
    if (hg_kernel_is_indefinite(&pr->data.kernel) || (!row->smooth && qp->n > HG_RANK_EXACT))
        return false;
    if (s.most == 0 || s.most > hg_lowrank_most(qp->n) ||
        !HG_ROOM(HG_ARRAY(s.pivot, s.most), HG_ARRAY(s.sample, s.n), HG_ARRAY(s.left, qp->n),
                 HG_TABLE(s.triangle, s.most, s.most)))
        return false;
    *l = (struct hg_lowrank){ .super = { qp->n, 0, rows_of_matrix }, .points = &pr->data.points, .subset = subset };
    bool found = hg_dataset_exact(&pr->data, subset, qp->n, threads, &gram, NULL) == HINGE_OK &&
                 find_factor(l, pr, qp, eps / 20, &s, &gram, halt);
    l->values = gram.super.values;
    hg_gram_free(&gram);
    hg_free(s.pivot);
    if (!found)
        hg_lowrank_free(l);
    return found;
}

/* Compares counted work. The interior point takes some 20 iterations of n (d + 1)^2 multiplications, and n times a
 * constant; SMO computes the rows of its support vectors, a share of n^2 d, and then takes steps whose number no count
 * tells before: it grows with C and with how the data are scaled. Measured (doc/interior-point.md), the interior point
 * is ahead from n = 3 d on at C = 1, and at C = 100 by one to three orders; below 100 rows both take less than a
 * millisecond. */
bool hg_lowrank_pays(const struct hg_problem *pr)
{
    enum { LEAST_ROWS = 100, ROWS_A_COLUMN = 3 };
    size_t columns = pr->data.kernel.type == HINGE_LINEAR ? hg_lowrank_columns(pr) : 0, rows = 0;
    if (columns == 0 || pr->n_problems == 0)
        return false;
    for (size_t p = 0; p < pr->n_problems; p++)
        rows += hg_problem_size(pr, p);
    rows /= pr->n_problems;
    return rows >= LEAST_ROWS && rows >= ROWS_A_COLUMN * columns;
}

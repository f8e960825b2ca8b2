/*
 * The margin of nu-SVC, whose coefficients are divided by r, half of what its two biases differ by. Where the reduced
 * hulls of both classes meet, w = 0 is the solution and r is 0; a run to eps has another w, next to nothing, and an r
 * that rounding or the violation has made. Read training.h before.
 *
 * What proves a margin: with g = K b, sums s_l that the layers are held to, and any biases m_l, every feasible b' has
 *
 *     <w, w'> = b'g >= - sum_l m_l s_l - sum_i max over the box of -(g_i + m_l) b_i = b'g at b, less its duality gap,
 *
 * which is above 0 only where no feasible w' is 0. The hulls are apart then, for every b, however it was found.
 */
#include "lib/train/training.h"
#include "lib/data/params.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Returns what rounding may take from b'g above, where each of g's sums has sum |b| terms of |K| <= most at most. */
double hg_margin_rounding(const double *sums, double most)
{
    double all = fabs(sums[0]) + fabs(sums[1]);
    return 8 * DBL_EPSILON * all * all * most;
}

/* The linear kernel's g is made of w, of which rounding takes a share (hg_problem_gradient). */
static double rounding_of(const struct hg_margin *m, double square, double most)
{
    const double *sums = m->reduced->sums;
    bool linear = m->problem->data.kernel.type == HINGE_LINEAR;
    return linear ? 8 * DBL_EPSILON * (fabs(sums[0]) + fabs(sums[1])) * sqrt(square * most)
                  : hg_margin_rounding(sums, most);
}

/* Returns b'g for the feasible b' where it is least, at least: |w|^2 less the gap; and brings biases and what they may
 * be off by, that of the violation, up to date. */
static double least_product(const struct hg_margin *m, const double *g)
{
    const struct hg_qp *qp = &m->reduced->qp;
    struct hg_solution *s = m->s;
    double square = 2 * hg_qp_objective(qp, g), gap = 0;
    s->f_error = hg_qp_violation(qp, g) / 2;
    for (int l = 0; l < qp->layers; l++) {
        s->bias[l] = hg_qp_bias(qp, NULL, qp->n, g, l);
        for (size_t i = 0; i < qp->n; i++)
            gap += hg_qp_gap(qp->beta[l][i], qp->lo[l][i], qp->hi[l][i], 0, g[i] + s->bias[l]);
    }
    return square - gap;
}

/* Returns what rounding may take from least_product's: of each g_i 8 roundings of |x_i| sum |b_j| |x_j|, lengths in the
 * kernel's space, times the box's width; nothing where b'_i is 0 at the least whatever rounding is. So a few far points
 * take no digits from a margin that they have no part in. */
static double rounding_at(const struct hg_margin *m, const double *g, const double *diagonal, double square)
{
    const struct hg_qp *qp = &m->reduced->qp;
    double size = 0, rounding = 0;
    for (size_t i = 0; i < qp->n; i++)
        size += fabs(hg_qp_beta(qp, i)) * sqrt(fabs(diagonal[i]));
    if (m->problem->data.kernel.type == HINGE_LINEAR) /* g is made of w, of which rounding takes a share */
        size = sqrt(HG_MAX(square, 0.0));
    for (int l = 0; l < qp->layers; l++)
        for (size_t i = 0; i < qp->n; i++) {
            double off = 8 * DBL_EPSILON * sqrt(fabs(diagonal[i])) * size, slope = g[i] + m->s->bias[l];
            bool at_0 = qp->hi[l][i] > 0 ? slope > off : slope < -off;
            rounding += at_0 ? 0 : off * (qp->hi[l][i] - qp->lo[l][i]);
        }
    return rounding;
}

/* Looks at the margin by g in f64, n_sv n kernel values. */
static hinge_status look_closely(const struct hg_margin *m, double digits, bool *has_margin, hinge_error *err)
{
    struct hg_reduced *r = m->reduced;
    struct hg_gram gram = { 0 };
    double *g = r->g, *diagonal = r->kept;
    const struct hg_problem *pr = m->problem;
    HG_TRY(hg_dataset_exact(&pr->data, r->points, r->qp.n, m->threads, &gram, err));
    hinge_status status = hg_rows_told(hg_rows_diagonal(&gram.super, diagonal, NULL), err);
    hg_gram_free(&gram);
    HG_TRY(status);
    HG_TRY(hg_problem_gradient(pr, r->points, &r->qp, m->threads, m->halt, g, err));
    if (hg_halted(m->halt))
        return HINGE_OK;
    double least = least_product(m, g), square = 2 * hg_qp_objective(&r->qp, g);
    double half = (m->s->bias[1] - m->s->bias[0]) / 2, sums = fabs(m->reduced->sums[0]) + fabs(m->reduced->sums[1]);
    double rounding = rounding_at(m, g, diagonal, square);
    /* a kernel whose b'K b is below 0, as it may be of any matrix or function that is given, is indefinite */
    bool proves = !hg_kernel_is_indefinite(&m->problem->data.kernel) && !(square < -rounding);
    *has_margin = (proves ? least : half * sums) > rounding && half > digits * m->s->f_error;
    return HINGE_OK;
}

/* Says whether the solution has a margin, and r so many digits. What the violation leaves of |w|^2 = 2 objective, for
 * entries that are off by f_error, tells that mostly; where it does not, the gradient in f64 decides. */
static hinge_status look(const struct hg_margin *m, double digits, bool *has_margin, hinge_error *err)
{
    const struct hg_qp *qp = &m->reduced->qp;
    const struct hg_solution *s = m->s;
    const struct hg_problem *pr = m->problem;
    double caps = 0, square = 2 * s->report.objective, r = (s->bias[1] - s->bias[0]) / 2;
    double most = hg_kernel_most(&pr->data.kernel, pr->data.norm);
    for (int l = 0; l < qp->layers; l++)
        for (size_t i = 0; i < qp->n; i++)
            caps += qp->hi[l][i] - qp->lo[l][i];
    *has_margin = r > digits * s->f_error;
    if (*has_margin && square > 4 * s->f_error * caps && square > 2 * rounding_of(m, square, most))
        return HINGE_OK;
    return *has_margin ? look_closely(m, digits, has_margin, err) : HINGE_OK;
}

#define LEAST_EPS 1e-13 /* to which margins are looked for */

/* ---- a finer solution -------------------------------------------------------------------------------------------- */

/* Copies the coefficients aside, or back. */
static void keep(struct hg_qp *qp, double *room, bool back)
{
    for (int l = 0; l < qp->layers; l++, room += qp->n)
        memcpy(back ? qp->beta[l] : room, back ? room : qp->beta[l], qp->n * sizeof *room);
}

/* Puts back what there was before a run, and adds the work of that. */
static void go_back(const struct hg_margin *m, double *room, const struct hg_solution *before)
{
    hinge_report work = m->s->report;
    keep(&m->reduced->qp, room, true);
    *m->s = *before;
    hg_add_work(&m->s->report, &work);
}

/* Begins to look at a finer solution as it goes. It gains where |w|^2 falls, or the violation: what |w|^2 lacks of its
 * least is what keeps r from a digit, and rounding alone moves it where neither falls. */
static struct hg_turns begin_finer(const struct hg_margin *m)
{
    const hinge_report *report = &m->s->report;
    return (struct hg_turns){ .objective = INFINITY,
                              .work = m->work,
                              .look = hg_turns_first_look(m->work, report->objective, report->violation) };
}

/* Looks for r: a violation may be below eps, and r hardly more or less than 0. Then the model and its sign hang on
 * chance, so the run goes on to eps a hundred times smaller, and again, until r has a digit, or eps is `least`. Where
 * it is not found by so many steps in all, or while nothing is gained, the model is what it was. room: [entries] */
static hinge_status find_r(const struct hg_margin *m, double least, uint64_t most, double *room, bool *has_margin,
                           hinge_error *err)
{
    struct hg_solution *s = m->s;
    const hinge_params *p = &m->problem->params;
    most = p->max_iter > 0 ? HG_MIN(p->max_iter, most) : most;
    HG_TRY(look(m, 10, has_margin, err));
    for (double eps = p->eps; !*has_margin && eps > least && !m->interior;) {
        struct hg_solution before = *s;
        eps = HG_MAX(eps / 100, least);
        struct hg_turns finer = begin_finer(m);
        if (before.report.iterations >= most || hg_halted(m->halt))
            break;
        keep(&m->reduced->qp, room, false);
        HG_TRY(m->solve(m->arg, eps, most - before.report.iterations, &finer));
        hinge_outcome outcome = s->report.outcome;
        if (outcome != HINGE_CONVERGED) {
            go_back(m, room, &before);
            s->report.outcome = hg_ended_early(outcome) ? outcome : HINGE_CONVERGED;
            break;
        }
        hg_add_work(&s->report, &before.report);
        HG_TRY(look(m, 10, has_margin, err));
    }
    return HINGE_OK;
}

/* ---- the closest nu ---------------------------------------------------------------------------------------------- */

/* Holds the layers to so many times the sums that nu asks for, and makes a start of the coefficients at hand. */
static bool start_at(const struct hg_margin *m, const double *asked, double times)
{
    struct hg_qp *qp = &m->reduced->qp;
    double grown = asked[0] * times / m->reduced->sums[0];
    for (int l = 0; l < 2; l++) {
        m->reduced->sums[l] = asked[l] * times;
        for (size_t i = 0; i < qp->n; i++)
            qp->beta[l][i] = hg_qp_snap(grown * qp->beta[l][i], qp->lo[l][i], qp->hi[l][i], 1e-10);
    }
    return hg_qp_project(qp, m->reduced->sums);
}

/* Returns how many times the sums asked for the boxes can hold. */
static double most_times(const struct hg_margin *m)
{
    const struct hg_qp *qp = &m->reduced->qp;
    double first = 0, second = 0;
    for (size_t i = 0; i < qp->n; i++) {
        first += qp->hi[0][i];
        second -= qp->lo[1][i];
    }
    return HG_MIN(first, second) / m->reduced->sums[0];
}

/* Finds the closest nu that has a margin, which is above: the larger nu, the smaller the reduced hulls. The interval is
 * halved until its ends differ by a hundredth; what is found there counts, of a quarter of the steps that the nu asked
 * for took, and 100 a point, by an eps that is 1e-7 of the largest nu's r at most: features may be so small that all
 * coefficients are within the caller's, and r falls with the square of what nu is above the closest. A run that has not
 * converged may prove a margin too. The model is that of the end that has a margin (s->nu), or, where none has, what it
 * was. room: [2 * entries] */
static hinge_status find_nu(const struct hg_margin *m, double *room, hinge_error *err)
{
    enum { LOOKS = 12 };
    const hinge_params *p = &m->problem->params;
    struct hg_reduced *r = m->reduced;
    struct hg_solution *s = m->s, best = *s;
    double asked[2] = { r->sums[0], r->sums[1] }, low = 1, high = HG_LARGEST_NU * most_times(m), next = high,
           least = LEAST_EPS;
    double *spare = room + r->qp.n * (size_t)r->qp.layers;
    uint64_t most = best.report.iterations / 4 + 100 * (uint64_t)r->qp.n;
    hinge_outcome outcome = HINGE_NO_MARGIN;
    hinge_status status = HINGE_OK;
    keep(&r->qp, room, false);
    for (int look_again = 0; look_again < LOOKS && high > 1.01 * low && !hg_ended_early(outcome); look_again++) {
        uint64_t steps = best.report.iterations, left = p->max_iter > steps ? p->max_iter - steps : 0;
        uint64_t now = p->max_iter > 0 ? HG_MIN(left, most) : most;
        bool has_margin = false;
        if ((p->max_iter > 0 && left == 0) || !start_at(m, asked, next))
            break;
        status = m->solve(m->arg, p->eps, now, NULL);
        if (status == HINGE_OK && s->report.outcome == HINGE_CONVERGED)
            status = find_r(m, least, now, spare, &has_margin, err);
        else if (status == HINGE_OK && !hg_halted(m->halt))
            status = look_closely(m, 10, &has_margin, err);
        if (status != HINGE_OK)
            break;
        if (hg_halted(m->halt))
            outcome = hg_halt_outcome(m->halt);
        if (!has_margin && best.nu == 0)
            look_again = LOOKS; /* the largest nu has none */
        if (has_margin) {
            if (best.nu == 0) /* the largest nu's r tells of what size all are */
                least = (s->bias[1] - s->bias[0]) / 2 / 1e7;
            hg_add_work(&s->report, &best.report);
            best = *s;
            best.nu = next * m->nu;
            keep(&r->qp, room, false);
            high = next;
        } else {
            hg_add_work(&best.report, &s->report);
            low = next;
        }
        next = sqrt(low * high);
    }
    keep(&r->qp, room, true);
    memcpy(r->sums, asked, sizeof asked);
    *s = best;
    s->report.outcome = outcome;
    return status;
}

/* ---- a hard tube ------------------------------------------------------------------------------------------------- */

/* Says whether a coefficient has come to the bound that stands for none: the dual has no end, for all that this tells,
 * and the tube holds no function of the kernel's. */
static bool has_no_tube(const struct hg_qp *qp)
{
    for (size_t i = 0; i < qp->n; i++)
        if (qp->lo[0][i] < qp->hi[0][i] && (qp->beta[0][i] <= qp->lo[0][i] || qp->beta[0][i] >= qp->hi[0][i]))
            return true;
    return false;
}

/* ---- the entry --------------------------------------------------------------------------------------------------- */

hinge_status hg_settle_margin(const struct hg_margin *m, hinge_error *err)
{
    struct hg_solution *s = m->s;
    const struct hg_qp *qp = &m->reduced->qp;
    bool has_margin = false;
    double *room;
    if (hg_params_hard_tube(&m->problem->params) && s->report.outcome == HINGE_CONVERGED && has_no_tube(qp))
        s->report.outcome = HINGE_NO_MARGIN;
    if (m->problem->params.task != HINGE_NU_SVC || s->report.outcome != HINGE_CONVERGED)
        return HINGE_OK;
    uint64_t first = s->report.iterations, most = m->problem->params.max_iter;
    HG_TRY(HG_MAKE(err, "the search for a margin", HG_TABLE(room, qp->n, 2 * (size_t)qp->layers)));
    hinge_status status = find_r(m, LEAST_EPS, 6 * first + 100 * (uint64_t)qp->n, room, &has_margin, err);
    if (status == HINGE_OK && !has_margin && s->report.outcome == HINGE_CONVERGED && !hg_halted(m->halt))
        status = look(m, 1, &has_margin, err);
    s->undivided = !has_margin;
    if (status == HINGE_OK && !has_margin && s->report.outcome == HINGE_CONVERGED) {
        bool cut = most > 0 && s->report.iterations >= most; /* it is not known whether there is one */
        s->report.outcome = cut ? HINGE_MAX_ITER : HINGE_NO_MARGIN;
        status = cut ? HINGE_OK : find_nu(m, room, err);
    }
    hg_free(room);
    return status;
}

/*
 * An active-set method on blocks. A is the set of points with an entry inside its box, or that violates, or nearly so;
 * K_AA is held in f64. With F the free entries of A (inside their boxes, and violators) a step d solves
 *
 *     (K_FF + ridge) d + E nu = -(g + off +- kink)_F,   E'd = 0          E: a column of ones a layer
 *
 * Entries that it takes out of their boxes are put on the bound, all at once, and the rest is solved for again until
 * none leaves. Mostly the objective is lower there; where it is not, the first step is taken as far as it is feasible,
 * and where that is nowhere, SMO goes on for a while. The objective only falls.
 *
 * K_FF = LL' is kept while F changes little: rows of entries set free are appended to L; an entry put on its bound is
 * held there by a constraint d_i = 0 beside the sums, with V = L^-1 [E, e_i, ...] and the factor of V'V. Beyond a share
 * of F that is more work than to factor anew. The ridge is rounding's share of K_FF: where it is singular, a direction
 * without curvature becomes a very long step, and ends at the boundary; all else is left with a residual of ridge |d|,
 * which the next step, by the same factor, takes out.
 */
#include "solver/smo/face.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum {
    MAX_PASSES = 30, /* over all points */
    MAX_FACES = 50   /* of a block */
};

/* Lets the ridge grow by this factor where a face does not lower the objective. */
static const double RIDGE_STEP = 1000;

/* ---- a block ----------------------------------------------------------------------------------------------------- */

/* SMO, for about a step an entry. */
static bool go_on_by_smo(struct hg_newton *t, double target, double *decrease)
{
    uint64_t made = t->res->systems + t->res->steps, most = t->opt->max_steps;
    struct hg_inner_result done =
        hg_inner_solve(&t->in, target, 0, true, most == 0 ? t->q : HG_MIN(t->q, most - HG_MIN(most, made)));
    t->res->steps += done.steps;
    hg_newton_count(t, 0, 2 * (double)done.steps * (double)t->q);
    *decrease = done.decrease;
    return done.decrease > 0;
}

/* Sets the next face's ridge by whether the last one has lowered the objective; false: there is none to be tried. */
static bool adapt_ridge(struct hg_newton *t, bool lowered)
{
    double ridge = t->ridge;
    t->ridge = lowered ? HG_MAX(ridge / RIDGE_STEP, t->least) : ridge * RIDGE_STEP;
    if (t->ridge != ridge)
        t->l.rows = 0; /* to be factored anew */
    return ridge > 0 && t->ridge <= HG_MOST_RIDGE * t->largest;
}

/* Until the block's violation is at most target, or steps no longer gain. */
static void solve_block(struct hg_newton *t, double target)
{
    double violation = hg_look_at_block(t);
    for (int k = 0; k < MAX_FACES && violation > target && !hg_newton_is_over(t); k++) {
        double decrease = 0;
        bool lowered = hg_solve_face(t, target / 4, &decrease);
        if (!adapt_ridge(t, lowered) && !hg_newton_is_over(t)) {
            t->ridge = t->least;
            if (!go_on_by_smo(t, target, &decrease))
                return;
        }
        violation = hg_look_at_block(t);
        if (t->opt->progress != NULL)
            t->opt->progress(t->opt->progress_arg, violation);
    }
}

static void block_free(struct hg_newton *t)
{
    hg_free(t->low);
    t->low = NULL;
    hg_inner_free(&t->in);
}

static size_t padded(size_t n)
{
    return (n + 7) / 8 * 8 + 8;
}

/* Bytes of a block of q points; what is not quadratic is rounded up. */
static size_t block_bytes(const struct hg_newton *t, size_t q)
{
    double n = (double)padded(q) + 16, held = n / 8 + 18;
    double bytes = sizeof(double) * (n * (2 * n + held + 40 * t->qp->layers) + held * held);
    return bytes < 1e18 ? (size_t)bytes : SIZE_MAX;
}

/* Makes K_AA of the t->q points chosen, in f64, and what goes with it. The least ridge is what rounding leaves of the
 * largest diagonal entry: below it K_FF could not be told from a singular matrix. */
static hinge_status load_block(struct hg_newton *t)
{
    size_t q = t->q, entries = (size_t)t->qp->layers * q;
    t->cap = q;
    t->max_held = t->cap / 8 + 16;
    t->l = (struct hg_triangle){ .ld = padded(t->cap) };
    t->s = (struct hg_triangle){ .ld = t->max_held + 2 };
    hinge_status status =
        hg_inner_init(&t->in, q, t->qp->layers, false, t->qp->kink, HINGE_F64, hg_loops(t->opt->cpu_level), NULL);
    if (status != HINGE_OK)
        return status;
    t->in.q = q;
    if (!HG_ROOM(HG_ARRAY(t->low, entries), HG_ARRAY(t->high, entries), HG_ARRAY(t->off, entries),
                 HG_ARRAY(t->is_free, entries), HG_ARRAY(t->move, entries), HG_ARRAY(t->g_trial, q),
                 HG_ARRAY(t->sum, q), HG_ARRAY(t->k_sum, q), HG_TABLE(t->l.l, t->cap, t->l.ld),
                 HG_TABLE(t->s.l, t->s.ld, t->s.ld), HG_ARRAY(t->entry, t->cap), HG_ARRAY(t->row_of, entries),
                 HG_TABLE(t->v, t->s.ld, t->l.ld), HG_ARRAY(t->held, t->s.ld), HG_ARRAY(t->d, t->cap),
                 HG_ARRAY(t->first, t->cap), HG_ARRAY(t->w, t->s.ld)))
        return HINGE_ENOMEM;
    memset(t->row_of, 0xff, entries * sizeof *t->row_of);
    t->largest = 0;
    hg_gather(t->g, sizeof *t->g, t->point, q, t->in.g);
    for (size_t k = 0; k < q; k++) {
        t->in.row[k] = (void *)hg_block_row(t, k);
        hg_inner_put(&t->in, k, t->qp, t->point[k]);
    }
    struct hg_how how = { .halt = &t->opt->halt };
    status = hg_rows_fill(t->rows, t->point, q, t->point, q, t->in.row, &how);
    for (size_t k = 0; k < q && status == HINGE_OK; k++) {
        hg_inner_take_diagonal(&t->in, k);
        t->largest = HG_MAX(t->largest, t->in.diagonal[k]);
    }
    double n = (double)q;
    double most = HG_OPERATION * 10 / 3 * n * n * n + 4000 * n * n; /* 10 factorisations, 1,000 systems */
    t->most_work = t->opt->most_work > 0 ? t->opt->most_work : HG_MAX(isinf(t->most_work) ? 0 : t->most_work, most);
    t->res->work += (1 + t->rows->cost) * n * n;
    t->ridge = t->least = DBL_EPSILON * (double)(q + 16) * t->largest;
    t->res->bytes = HG_MAX(t->res->bytes, block_bytes(t, q));
    return status;
}

/* ---- all points -------------------------------------------------------------------------------------------------- */

/* Adds the rows of the list, times coef, to g: g += K[list, :]' coef. */
static hinge_status add_rows(struct hg_newton *t, size_t count, double *g)
{
    struct hg_how how = { .add = &hg_loops(t->opt->cpu_level)->add, .halt = &t->opt->halt };
    t->res->work += (1 + t->rows->cost) * (double)count * (double)t->qp->n;
    return hg_rows_apply(t->rows, t->list, count, t->coef, NULL, t->qp->n, g, &how);
}

/* The points with an entry inside, or that may move with a slope of less than `near` against it. */
static size_t choose_block(struct hg_newton *t, double near)
{
    const struct hg_qp *qp = t->qp;
    size_t count = 0;
    for (size_t i = 0; i < qp->n; i++) {
        bool in = false;
        for (int l = 0; l < qp->layers; l++) {
            double b = qp->beta[l][i], f = t->g[i] + t->bias[l];
            in = in || hg_is_inside(qp, b, l, i) || f + hg_up(b, qp->hi[l][i], qp->off[l][i], qp->kink) < near ||
                 f + hg_down(b, qp->lo[l][i], qp->off[l][i], qp->kink) > -near;
        }
        if (in)
            t->point[count++] = (uint32_t)i;
    }
    return count;
}

/* Gives what rounding has made of the sums to the entries with most room. */
static void mend_sums(struct hg_newton *t, const double *sums)
{
    struct hg_qp *qp = t->qp;
    for (int l = 0; l < qp->layers; l++) {
        double missing = sums[l], most = 0, *to = NULL;
        for (size_t i = 0; i < qp->n; i++) {
            double b = qp->beta[l][i], room = HG_MIN(b - qp->lo[l][i], qp->hi[l][i] - b);
            missing -= b;
            room = qp->kink > 0 ? HG_MIN(room, fabs(b)) : room;
            if (room > most) {
                most = room;
                to = &qp->beta[l][i];
            }
        }
        if (to != NULL && fabs(missing) < most)
            *to += missing;
    }
}

/* The block's beta into the problem's, the sums mended, and what it moves g by into g_next. */
static hinge_status carry_over(struct hg_newton *t, const double *sums)
{
    struct hg_qp *qp = t->qp;
    for (int l = 0; l < qp->layers; l++) {
        memcpy(t->beta[l], qp->beta[l], qp->n * sizeof(double));
        for (size_t k = 0; k < t->q; k++)
            qp->beta[l][t->point[k]] = t->in.beta[l][k];
    }
    mend_sums(t, sums);
    size_t count = 0;
    for (size_t i = 0; i < qp->n; i++) {
        double delta = 0;
        for (int l = 0; l < qp->layers; l++)
            delta += qp->beta[l][i] - t->beta[l][i];
        if (delta != 0) {
            t->list[count] = (uint32_t)i;
            t->coef[count++] = delta;
        }
    }
    memcpy(t->g_next, t->g, qp->n * sizeof *t->g);
    return add_rows(t, count, t->g_next);
}

static void give_back(struct hg_newton *t)
{
    for (int l = 0; l < t->qp->layers; l++)
        memcpy(t->qp->beta[l], t->beta[l], t->qp->n * sizeof(double));
}

static hinge_status gradient(struct hg_newton *t)
{
    size_t count = hg_qp_support(t->qp, NULL, t->list, t->coef);
    memset(t->g, 0, t->qp->n * sizeof *t->g);
    return add_rows(t, count, t->g);
}

/* One block; *go_on: a further one is worth while. */
static hinge_status pass(struct hg_newton *t, const double *sums, bool *go_on)
{
    struct hg_newton_result *res = t->res;
    double violation = res->violation, objective = hg_qp_objective(t->qp, t->g);
    *go_on = false;
    for (int l = 0; l < t->qp->layers; l++)
        t->bias[l] = hg_qp_bias(t->qp, NULL, t->qp->n, t->g, l);
    t->q = choose_block(t, violation);
    if (block_bytes(t, t->q) > t->opt->bytes)
        t->q = choose_block(t, -t->opt->eps / 4);
    if (block_bytes(t, t->q) > t->opt->bytes) {
        res->bytes = block_bytes(t, t->q);
        res->end = HG_NEWTON_NO_ROOM;
        return HINGE_OK;
    }
    hinge_status status = load_block(t);
    /* otherwise K_FF is nowhere positive definite */
    if (status == HINGE_OK && !hg_newton_halted(t) && t->largest > 0) {
        solve_block(t, HG_MAX(t->opt->eps / 2, 0.01 * violation));
        status = carry_over(t, sums);
        bool whole = status == HINGE_OK && !hg_newton_halted(t);
        double then = whole ? hg_qp_violation(t->qp, t->g_next) : INFINITY;
        if (whole && (then < violation || hg_qp_objective(t->qp, t->g_next) < objective)) {
            double *g = t->g;
            t->g = t->g_next;
            t->g_next = g;
            res->violation = then;
            res->gained = true;
            *go_on = then < violation || objective - hg_qp_objective(t->qp, t->g) > 1e-12 * fabs(objective);
        } else {
            give_back(t);
        }
    }
    block_free(t);
    return status;
}

/* Makes passes over all points, each on a block chosen by the gradient of the last, until the violation is at most eps
 * or a pass no longer gains. A first look at how many entries are inside tells whether there is room at all. */
static hinge_status run(struct hg_newton *t)
{
    double sums[2] = { 0, 0 };
    size_t inside = 0;
    for (int l = 0; l < t->qp->layers; l++)
        for (size_t i = 0; i < t->qp->n; i++) {
            sums[l] += t->qp->beta[l][i];
            inside += hg_is_inside(t->qp, t->qp->beta[l][i], l, i);
        }
    t->res->end = HG_NEWTON_NO_ROOM;
    t->res->bytes = block_bytes(t, inside / (size_t)t->qp->layers);
    if (t->res->bytes > t->opt->bytes)
        return HINGE_OK;
    t->res->bytes = 0;
    t->res->end = HG_NEWTON_SLOW;
    hinge_status status = gradient(t);
    t->res->violation = hg_qp_violation(t->qp, t->g);
    bool go_on = true;
    for (int k = 0;
         k < MAX_PASSES && status == HINGE_OK && !hg_newton_is_over(t) && t->res->violation > t->opt->eps && go_on; k++)
        status = pass(t, sums, &go_on);
    if (t->res->violation <= t->opt->eps)
        t->res->end = HG_NEWTON_DONE;
    else if (hg_newton_halted(t))
        t->res->end = HG_NEWTON_ENDED;
    return status;
}

hinge_status hg_newton_finish(struct hg_qp *qp, struct hg_rows *rows, double *gradient,
                              const struct hg_newton_options *options, struct hg_newton_result *result)
{
    size_t n = qp->n;
    struct hg_newton t = { .qp = qp, .rows = rows, .opt = options, .res = result };
    memset(result, 0, sizeof *result);
    result->violation = INFINITY;
    t.most_work = INFINITY; /* until there is a block */
    bool ok = HG_ROOM(HG_ARRAY(t.coef, n), HG_ARRAY(t.list, n), HG_ARRAY(t.point, n), HG_ARRAY(t.g, n),
                      HG_ARRAY(t.g_next, n), HG_ARRAY(t.beta[0], n), HG_ARRAY(t.beta[1], qp->layers == 2 ? n : 0));
    hinge_status status = ok ? run(&t) : HINGE_ENOMEM;
    if (status == HINGE_ENOMEM) { /* SMO needs no more than it has */
        status = HINGE_OK;
        result->end = HG_NEWTON_NO_ROOM;
        result->bytes = HG_MAX(block_bytes(&t, t.q), n * sizeof(double));
    }
    if (ok && status == HINGE_OK && result->gained)
        memcpy(gradient, t.g, n * sizeof *gradient);
    hg_free(t.coef);
    return status;
}

/* ---- when -------------------------------------------------------------------------------------------------------- */

/* Factorisations, solutions, and passes over all points that a finish takes, roughly. */
static const double FACTORED = 3, SYSTEMS = 10, PASSES = 3;

/* A finish that takes so many times SMO's work, so far or still to come, is given up. */
static const double GRANTED = 2;

/* Returns the work of a finish, in reads of a value: the factorisations and solutions on the block of entries inside,
 * its values, and rows of all points for the gradient and the passes. */
static double work_of(const struct hg_qp *qp, const struct hg_rows *rows)
{
    double n = (double)qp->n, inside = 0, n_sv = (double)hg_qp_support(qp, NULL, NULL, NULL);
    for (size_t i = 0; i < qp->n; i++) {
        bool in = false;
        for (int l = 0; l < qp->layers; l++)
            in = in || hg_is_inside(qp, qp->beta[l][i], l, i);
        inside += in;
    }
    return HG_OPERATION * FACTORED * inside * inside * inside / 3 + 4 * SYSTEMS * inside * inside +
           (1 + rows->cost) * (inside * inside + n * (n_sv + PASSES * inside));
}

double hg_newton_granted(const struct hg_newton_rule *rule, const struct hg_qp *qp, const struct hg_rows *rows)
{
    return GRANTED * HG_MAX(rule->work, work_of(qp, rows));
}

bool hg_newton_is_due(struct hg_newton_rule *rule, const struct hg_qp *qp, const struct hg_rows *rows,
                      double violation, double range, double eps)
{
    double below = rule->below > 0 ? rule->below : HG_NEWTON_BELOW * range;
    if (!(violation < rule->least))
        violation = rule->least;
    else
        rule->least = violation;
    if (rule->mark == 0) {
        rule->mark = violation;
        rule->mark_work = rule->work;
    }
    double since = rule->work - rule->mark_work;
    if (violation <= rule->mark / 4) {
        rule->rate = since / log(rule->mark / violation);
        rule->mark = violation;
        rule->mark_work = rule->work;
        since = 0;
    }
    if (rule->tries >= HG_NEWTON_TRIES || !(violation <= below) || !(violation > eps))
        return false;
    double left = HG_MAX(rule->rate, since / log(4)) * log(violation / eps);
    double margin = (eps < HG_NEWTON_TIGHT ? 1 : 2) * (violation > HG_NEWTON_NEAR * range ? 10 : 1);
    double work = work_of(qp, rows);
    rule->most_work = GRANTED * HG_MAX(HG_MIN(left, rule->work), work);
    return left > margin * work;
}

void hg_newton_tell(struct hg_newton_rule *rule, const struct hg_newton_result *result)
{
    if (result->end != HG_NEWTON_NO_ROOM) /* without a gain it is not tried again */
        rule->tries += result->gained ? 1 : HG_NEWTON_TRIES;
    rule->below = rule->least / 10;
    rule->mark = 0;
    rule->rate = 0;
    rule->least = INFINITY;
}

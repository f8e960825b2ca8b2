/*
 * Passes of the Newton finish. Read newton.h and face.h before.
 *
 * A is the set of points with an entry inside its box, or that violates, or nearly so. A pass makes K_AA in f64, has
 * face.c solve the block, and brings g of all points to the new beta by the rows of what moved; that g says which A is
 * next. When to begin at all is the last section: the work of SMO that is left against the work of a finish, both in
 * reads of a value.
 *
 * Beta and g of the problem change only where a pass has lowered the violation or the objective. So the finish may end
 * at any time, and be tried early.
 */
#include "solver/smo/newton.h"
#include "solver/smo/face.h"

#include <math.h>
#include <string.h>

enum { MAX_PASSES = 30 }; /* over all points */

struct hg_newton {
    struct hg_qp *qp;
    struct hg_rows *rows;
    const struct hg_newton_options *opt;
    struct hg_newton_result *res;
    double *g, *g_next;   /* [n] K beta; room for the next one */
    double *coef;         /* [n] */
    uint32_t *list;       /* [n] */
    double bias[2];
    uint32_t *point;      /* [n] the points of A, */
    size_t q;             /* so many */
    struct hg_inner in;   /* K_AA; beta and g on A */
    struct hg_face face;  /* counts all work */
};

/* ---- a block ----------------------------------------------------------------------------------------------------- */

/* Frees what a pass has made; the face keeps its counts, ridge and limits for the next one. */
static void block_free(struct hg_newton *t)
{
    hg_face_free(&t->face);
    hg_inner_free(&t->in);
}

/* Returns the bytes of a block of q points, with its face; SIZE_MAX where they cannot be told. */
static size_t block_bytes(const struct hg_newton *t, size_t q)
{
    double n = (double)q + 32, bytes = sizeof(double) * n * (n + 30 * t->qp->layers);
    size_t face = hg_face_bytes(q, t->qp->layers);
    return bytes < 1e18 && face < SIZE_MAX ? (size_t)bytes + face : SIZE_MAX;
}

/* Makes K_AA of the t->q points chosen, in f64, and what goes with it. Where the caller does not say how much work a
 * finish may take, its largest block does: ten factorisations and a thousand systems. */
static hinge_status load_block(struct hg_newton *t)
{
    size_t q = t->q;
    HG_TRY(hg_inner_init(&t->in, q, t->qp, HINGE_F64, hg_loops(t->opt->cpu_level), NULL));
    t->in.qp.n = q;
    HG_TRY(hg_face_init(&t->face, q));
    hg_gather(t->g, sizeof *t->g, t->point, q, t->in.g);
    for (size_t k = 0; k < q; k++) {
        t->in.row[k] = (double *)t->in.k + k * t->in.ld;
        hg_inner_put(&t->in, k, t->qp, t->point[k]);
    }
    struct hg_how how = { .halt = &t->opt->halt };
    HG_TRY(hg_rows_fill(t->rows, t->point, q, t->point, q, t->in.row, &how));
    for (size_t k = 0; k < q; k++)
        hg_inner_take_diagonal(&t->in, k);
    double n = (double)q, most = t->face.most_work;
    double usual = HG_OPERATION * 10 / 3 * n * n * n + 4000 * n * n; /* 10 factorisations, 1,000 systems */
    t->face.most_work = t->opt->most_work > 0 ? t->opt->most_work : HG_MAX(isinf(most) ? 0 : most, usual);
    t->face.work += (1 + t->rows->cost) * n * n;
    t->res->bytes = HG_MAX(t->res->bytes, block_bytes(t, q));
    return HINGE_OK;
}

/* ---- all points -------------------------------------------------------------------------------------------------- */

/* Adds the rows of the list, times coef, to g: g += K[list, :]' coef. */
static hinge_status add_rows(struct hg_newton *t, size_t count, double *g)
{
    struct hg_how how = { .add = &hg_loops(t->opt->cpu_level)->add, .halt = &t->opt->halt };
    t->face.work += (1 + t->rows->cost) * (double)count * (double)t->qp->n;
    return hg_rows_apply(t->rows, t->list, count, t->coef, NULL, t->qp->n, g, &how);
}

/* Lists the points with an entry inside, or that may move with a slope of less than `near` against it: those that
 * violate, and for near > 0 those at a bound which the moves to come may set free. near < 0 takes violators by more
 * than -near alone, beside those inside. */
static size_t choose_block(struct hg_newton *t, double near)
{
    const struct hg_qp *qp = t->qp;
    size_t count = 0;
    for (size_t i = 0; i < qp->n; i++) {
        bool in = false;
        for (int l = 0; l < qp->layers; l++) {
            double b = qp->beta[l][i], f = t->g[i] + t->bias[l];
            in = in || hg_qp_is_inside(qp, l, i) || f + hg_up(b, qp->hi[l][i], qp->off[l][i], qp->kink) < near ||
                 f + hg_down(b, qp->lo[l][i], qp->off[l][i], qp->kink) > -near;
        }
        if (in)
            t->point[count++] = (uint32_t)i;
    }
    return count;
}

/* Exchanges the block's beta and the problem's: a second time takes the first back, to the bit. */
static void exchange(struct hg_newton *t)
{
    for (int l = 0; l < t->qp->layers; l++)
        for (size_t k = 0; k < t->q; k++) {
            double *in = &t->in.qp.beta[l][k], *of_all = &t->qp->beta[l][t->point[k]], beta = *of_all;
            *of_all = *in;
            *in = beta;
        }
}

/* Brings the block's beta into the problem's, and what it moves g by into g_next; g stays, in case there is no gain. */
static hinge_status carry_over(struct hg_newton *t)
{
    size_t count = 0;
    for (size_t k = 0; k < t->q; k++) {
        double delta = 0;
        for (int l = 0; l < t->qp->layers; l++)
            delta += t->in.qp.beta[l][k] - t->qp->beta[l][t->point[k]];
        if (delta != 0) {
            t->list[count] = t->point[k];
            t->coef[count++] = delta;
        }
    }
    exchange(t);
    memcpy(t->g_next, t->g, t->qp->n * sizeof *t->g);
    return add_rows(t, count, t->g_next);
}

/* Makes g = K beta of all points in f64: SMO's own was summed by rows that may be f32. */
static hinge_status gradient(struct hg_newton *t)
{
    size_t count = hg_qp_support(t->qp, NULL, t->list, t->coef);
    memset(t->g, 0, t->qp->n * sizeof *t->g);
    return add_rows(t, count, t->g);
}

/* Makes a pass: one block, solved to half of eps, or to a hundredth of the violation, as the next block is another one
 * anyway. Points are near where their slope is less than the violation; where there is no room for so many, only those
 * that violate by a quarter of eps come beside those inside. *go_on: a further pass is worth while, as the violation
 * fell, or the objective by more than rounding. */
static hinge_status pass(struct hg_newton *t, bool *go_on)
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
    if (status == HINGE_OK && !hg_face_halted(&t->face)) {
        double decrease = 0;
        hg_face_solve(&t->face, HG_MAX(t->opt->eps / 2, 0.01 * violation), &decrease);
        status = carry_over(t);
        bool whole = status == HINGE_OK && !hg_face_halted(&t->face);
        double then = whole ? hg_qp_violation(t->qp, t->g_next) : INFINITY;
        if (whole && (then < violation || hg_qp_objective(t->qp, t->g_next) < objective)) {
            double *g = t->g;
            t->g = t->g_next;
            t->g_next = g;
            res->violation = then;
            res->gained = true;
            *go_on = then < violation || objective - hg_qp_objective(t->qp, t->g) > 1e-12 * fabs(objective);
        } else {
            exchange(t); /* back */
        }
    }
    block_free(t);
    return status;
}

/* Makes passes over all points, each on a block chosen by the gradient of the last, until the violation is at most eps
 * or a pass no longer gains. A first look at how many entries are inside tells whether there is room at all. */
static hinge_status run(struct hg_newton *t)
{
    size_t inside = 0;
    for (int l = 0; l < t->qp->layers; l++)
        for (size_t i = 0; i < t->qp->n; i++)
            inside += hg_qp_is_inside(t->qp, l, i);
    t->res->end = HG_NEWTON_NO_ROOM;
    t->res->bytes = block_bytes(t, inside / (size_t)t->qp->layers);
    if (t->res->bytes > t->opt->bytes)
        return HINGE_OK;
    t->res->bytes = 0;
    t->res->end = HG_NEWTON_SLOW;
    hinge_status status = gradient(t);
    t->res->violation = hg_qp_violation(t->qp, t->g);
    bool go_on = true;
    for (int k = 0; k < MAX_PASSES && status == HINGE_OK && go_on && t->res->violation > t->opt->eps; k++)
        if (!hg_face_is_over(&t->face))
            status = pass(t, &go_on);
    if (t->res->violation <= t->opt->eps)
        t->res->end = HG_NEWTON_DONE;
    else if (hg_face_halted(&t->face))
        t->res->end = HG_NEWTON_ENDED;
    return status;
}

/* Lays out g twice: the one that holds, and the one that a pass tries. Without memory nothing is lost, as SMO goes on
 * with what it has: that is told as no room. */
hinge_status hg_newton_finish(struct hg_qp *qp, struct hg_rows *rows, double *gradient,
                              const struct hg_newton_options *options, struct hg_newton_result *result)
{
    size_t n = qp->n;
    struct hg_newton t = { .qp = qp, .rows = rows, .opt = options, .res = result };
    t.face = (struct hg_face){ .in = &t.in, .threads = options->threads, .halt = &options->halt,
                               .max_steps = options->max_steps, .most_work = INFINITY, /* until there is a block */
                               .progress = options->progress, .progress_arg = options->progress_arg,
                               .told = options->told };
    memset(result, 0, sizeof *result);
    result->violation = INFINITY;
    bool ok = HG_ROOM(HG_ARRAY(t.coef, n), HG_ARRAY(t.list, n), HG_ARRAY(t.point, n), HG_ARRAY(t.g, n),
                      HG_ARRAY(t.g_next, n));
    hinge_status status = ok ? run(&t) : HINGE_ENOMEM;
    result->systems = t.face.systems;
    result->steps = t.face.steps;
    result->work = t.face.work;
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
    for (size_t i = 0; i < qp->n; i++)
        inside += hg_qp_is_free(qp, i);
    return HG_OPERATION * FACTORED * inside * inside * inside / 3 + 4 * SYSTEMS * inside * inside +
           (1 + rows->cost) * (inside * inside + n * (n_sv + PASSES * inside));
}

/* Grants as much as SMO has taken, or twice what a finish is estimated at, whichever is more: SMO gains nothing any
 * more. */
double hg_newton_granted(const struct hg_newton_rule *rule, const struct hg_qp *qp, const struct hg_rows *rows)
{
    return HG_MAX(rule->work, GRANTED * work_of(qp, rows));
}

/* Takes SMO's rate whenever the violation has fallen fourfold since the last mark: the work since, for each factor e.
 * What is left is ln(violation / eps) times that; where SMO has already worked longer since the mark than a factor of 4
 * should take, by that. The least violation counts, as SMO's goes up and down. most_work is then twice the larger of
 * what the finish is estimated at and what SMO has left, or has done if that is less. */
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

/* Notes how a finish ended. One without a gain is the last, but for one that found no room, which is not counted. SMO
 * has to bring the violation down to a tenth before the next, and its rate is taken anew. */
void hg_newton_tell(struct hg_newton_rule *rule, const struct hg_newton_result *result)
{
    if (result->end != HG_NEWTON_NO_ROOM) /* without a gain it is not tried again */
        rule->tries += result->gained ? 1 : HG_NEWTON_TRIES;
    rule->below = rule->least / 10;
    rule->mark = 0;
    rule->rate = 0;
    rule->least = INFINITY;
}

/*
 * The full certificate: everything recomputed in f64 from the data and the model's coefficients. Read problem.h before.
 *
 * With h_i(t) = (g_i + off_i + b) t + kink |t| and t in [lo_i, hi_i], the duality gap of coefficients beta and
 * bias b is the sum over entries of h_i(beta_i) - min h_i >= 0: for C-SVC, with f = g + b, that is sum alpha (y
 * f - 1) + C max(0, 1 - y f), so primal = dual + gap without the cancellation of subtracting the two.
 */
#include "lib/model/model.h"
#include "lib/base/team.h"
#include "lib/data/params.h"
#include "lib/data/problem.h"
#include "lib/model/scaling.h"

#include <hinge/theory.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Returns the gap of the hard margin: (w, b) over the least y f is feasible where that is > 0, and the primal objective
 * there is |w|^2 / (2 least^2); the dual one is the QP's, negated. Infinite where it is not feasible. */
static double hard_gap(const struct hg_qp *qp, const double *g, double b)
{
    double square = 0, least = INFINITY;
    for (size_t i = 0; i < qp->n; i++) {
        square += qp->beta[0][i] * g[i];
        least = fmin(least, (qp->hi[0][i] > 0 ? 1 : -1) * (g[i] + b));
    }
    return least > 0 ? square / (2 * least * least) + hg_qp_objective(qp, g) : INFINITY;
}

/* Holds one problem's QP with the coefficients of a model in it, and their gradient; solved_free frees it at any
 * stage. */
struct solved {
    struct hg_qp qp;
    double sums[2];
    uint32_t *subset; /* [qp.n] points */
    double *g;        /* [qp.n] K beta in f64 */
    double objective; /* of the QP, by the coefficients that the model has */
    double factor;    /* by which the model's coefficients are larger: nu-SVC's 1/r */
    double b;         /* the model's bias, less that factor */
};

/* Returns C times the weights of points outside of a tube of half width `half`, for hg_tube. */
static double weight_outside(void *arg, double half)
{
    const struct solved *s = arg;
    double outside = 0;
    for (size_t i = 0; i < s->qp.n; i++)
        outside += fabs(s->g[i] + s->qp.off[0][i] + s->b) > half ? s->qp.hi[0][i] : 0;
    return outside;
}

/* Finds the bias of each layer, b being the model's. Two layers have b - r and b + r: r is what nu-SVC's coefficients
 * were divided by, or, where they were not (no margin was found), half of what the layers' own biases differ by;
 * nu-SVR's tube is -r, found as the one that makes the primal objective least. */
static void layer_bias(const struct hg_problem *pr, struct solved *s, double *bias)
{
    const struct hg_qp *qp = &s->qp;
    bias[0] = bias[1] = s->b;
    if (qp->layers == 1)
        return;
    bool divided = fabs(s->factor - 1) > 1e-9;
    double r = pr->params.task == HINGE_NU_SVR ? -hg_tube(weight_outside, s, s->sums[0] - s->sums[1])
               : divided                       ? 1 / s->factor
                         : (hg_qp_bias(qp, NULL, qp->n, s->g, 1) - hg_qp_bias(qp, NULL, qp->n, s->g, 0)) / 2;
    bias[0] -= r;
    bias[1] += r;
}

/* Adds what a problem's solution is worth: residuals of sums and boxes, slackness, violation, and both objectives,
 * whose difference is summed entry by entry, as a difference of two large numbers would not tell a small gap. */
static void judge(const struct hg_problem *pr, struct solved *s, hinge_certificate *c)
{
    const struct hg_qp *qp = &s->qp;
    const double *g = s->g, square = s->factor * s->factor;
    double gap = 0, residual = 0, box = 0, slackness = 0, bias[2];
    bool hard = hg_params_hard(&pr->params);
    layer_bias(pr, s, bias);
    for (int l = 0; l < qp->layers; l++) {
        double sum = 0, room = 0;
        for (size_t i = 0; i < qp->n; i++) {
            double beta = qp->beta[l][i], lo = qp->lo[l][i], hi = qp->hi[l][i];
            sum += beta;
            room += hard ? fabs(beta) : hi - lo;
            if (hi > lo)
                box = fmax(box, fmax(beta - hi, lo - beta) / (hard ? 1 : hi - lo));
            gap += hg_entry_gap(beta, lo, hi, qp->kink, g[i] + qp->off[l][i] + bias[l], &slackness);
        }
        residual = qp->no_sum ? 0 : fmax(residual, fabs(sum - s->sums[l]) / fmax(room, 1e-300));
    }
    if (hard)
        gap = hard_gap(qp, g, s->b);
    double dual = -s->objective * square;
    c->dual += dual;
    c->gap += gap * square;
    c->primal += dual + gap * square;
    c->kkt = hg_larger(c->kkt, hg_qp_violation(qp, g));
    c->slackness = hg_larger(c->slackness, slackness);
    c->sum_residual = hg_larger(c->sum_residual, residual);
    c->box_residual = fmax(c->box_residual, fmax(box, 0));
}

/* Takes beta of the model into the QP, and returns what nu-SVC's are scaled by: 1/r, found again from their sum, which
 * steps may have moved by rounding, or from one at its bound, which they cannot. What the division rounded, or LIBSVM's
 * files to 16 digits, is not inside its box, and is put to its bound. */
static double take_beta(const struct hg_problem *pr, const double *beta, const uint32_t *subset, struct hg_qp *qp,
                        const double *sums)
{
    double sum = 0, largest = 0, factor = 1;
    hg_problem_take(pr, beta, subset, qp, NULL);
    for (size_t k = 0; k < qp->n; k++) {
        sum += qp->beta[0][k];
        for (int l = 0; l < qp->layers; l++) {
            double b = qp->beta[l][k];
            largest = b != 0 ? fmax(largest, b / (b > 0 ? qp->hi[l][k] : qp->lo[l][k])) : largest;
        }
    }
    if (pr->params.task == HINGE_NU_SVC && sums[0] > 0 && sum > 0)
        factor = fabs(sum - sums[0]) > 1e-9 * sums[0] ? sum / sums[0] : 1; /* 1: they were not divided */
    if (pr->params.task == HINGE_NU_SVC && fabs(largest - factor) <= 1e-10 * factor)
        factor = largest;
    for (int l = 0; l < qp->layers; l++)
        for (size_t k = 0; k < qp->n; k++)
            qp->beta[l][k] = hg_qp_snap(qp->beta[l][k] / factor, qp->lo[l][k], qp->hi[l][k], 1e-15);
    return factor;
}

/* Gives what of both sides a model of nu-SVR has lost, beside which its coefficients may be less than rounding, to the
 * points for which that is nearest to optimal: F is to be at most the least F that may move up where the first side is
 * above 0, at least the largest that may move down where the other is, so those nearest to the middle of both. g: K
 * beta */
static hinge_status share_sides(struct hg_qp *qp, const double *sums, const double *g, hinge_error *err)
{
    if (!hg_problem_share(qp, sums, NULL))
        return HINGE_OK;
    double least = INFINITY, largest = -INFINITY;
    struct hg_numbered *near;
    HG_TRY(HG_MAKE(err, "the order of rows", HG_ARRAY(near, qp->n)));
    for (size_t k = 0; k < qp->n; k++) {
        double f = g[k] + qp->off[0][k], beta = hg_qp_beta(qp, k);
        least = beta < qp->hi[0][k] ? fmin(least, f) : least;
        largest = beta > qp->lo[1][k] ? fmax(largest, f) : largest;
    }
    for (size_t k = 0; k < qp->n; k++)
        near[k] = (struct hg_numbered){ fabs(g[k] + qp->off[0][k] - (least + largest) / 2), (uint32_t)k };
    qsort(near, qp->n, sizeof *near, hg_by_value_and_number);
    hg_problem_share(qp, sums, near);
    hg_free(near);
    return HINGE_OK;
}

static void solved_free(struct solved *s)
{
    hg_qp_free(&s->qp);
    hg_free(s->subset);
}

/* Holds a model, what it was trained on, scaled as it was then, and its coefficients. */
struct opened {
    const hinge_model *m;
    struct hg_scaled scaled;
    struct hg_problem problem;
    double *beta; /* [n_problems * rows] */
};

/* Makes problem p's QP by the model's coefficients. What has been made is to be freed on failure too. */
static hinge_status solved_init(struct solved *s, const struct opened *o, size_t p, hinge_error *err)
{
    const struct hg_problem *pr = &o->problem;
    memset(s, 0, sizeof *s);
    HG_TRY(HG_MAKE(err, "the gradient of a problem", HG_ARRAY(s->subset, pr->data.n), HG_ARRAY(s->g, pr->data.n)));
    size_t n = hg_problem_points(pr, p, s->subset);
    HG_TRY(hg_problem_qp(pr, NULL, p, s->subset, n, &s->qp, s->sums, err));
    s->factor = take_beta(pr, o->beta + p * pr->x.rows, s->subset, &s->qp, s->sums);
    s->b = -o->m->rho[p] / s->factor;
    HG_TRY(hg_problem_gradient(pr, s->subset, &s->qp, pr->data.threads, NULL, s->g, err));
    s->objective = hg_qp_objective(&s->qp, s->g);
    return pr->params.task == HINGE_NU_SVR ? share_sides(&s->qp, s->sums, s->g, err) : HINGE_OK;
}

/* Adds problem p's worth to the certificate. */
static hinge_status certify_problem(const struct opened *o, size_t p, hinge_certificate *c, hinge_error *err)
{
    struct solved s;
    hinge_status status = solved_init(&s, o, p, err);
    if (status == HINGE_OK)
        judge(&o->problem, &s, c);
    solved_free(&s);
    return status;
}

/* Takes the model's coefficients by training row, beta [n_problems * rows]. The rows of one from a file have been found
 * without weights, by which equal rows differ; they are looked up again, by their boxes. */
static hinge_status find_beta(const hinge_model *m, const struct hg_problem *pr, double *beta, hinge_error *err)
{
    struct hinge_model located = *m;
    size_t *index = NULL;
    bool again =
        pr->params.weights != NULL && m->objectives == NULL && m->sv_index != NULL && m->n_trained == pr->x.rows;
    hinge_status status = again ? hg_find_rows(m, &pr->x, pr->y, pr, &index, NULL, err) : HINGE_OK;
    if (index != NULL)
        located.sv_index = index;
    HG_THEN(status, hinge_model_beta(&located, pr->x.rows, beta, err));
    hg_free(index);
    return status;
}

/* Refuses a model that is not one of the problem: of other problems, features, task, kernel type or tau. */
static hinge_status check_model(const hinge_model *m, const struct hg_problem *pr, hinge_error *err)
{
    size_t n_targets = pr->targets != NULL ? pr->targets->n : 0;
    if (m->n_targets != n_targets)
        return hg_fail(err, HINGE_EINVAL, "model: one of %zu targets, where %zu are given (0: y)", m->n_targets,
                       n_targets);
    hinge_task task = hg_task_of_model(pr);
    if (pr->n_problems != m->n_problems || (m->sv != NULL && pr->data.d != m->d) || task != m->task)
        return hg_fail(err, HINGE_EINVAL,
                       "model: not one of these data and parameters (%zu problems of %zu features, "
                       "the data give %zu of %zu)",
                       m->n_problems, m->d, pr->n_problems, pr->data.d);
    if (pr->one_vs_rest != (m->multiclass == HINGE_ONE_VS_REST))
        return hg_fail(err, HINGE_EINVAL, "multiclass: the model is one-vs-%s", pr->one_vs_rest ? "one" : "rest");
    if (pr->data.kernel.type != m->kernel.type)
        return hg_fail(err, HINGE_EINVAL, "kernel: %s, and the model's is %s",
                       hinge_kernel_info(pr->data.kernel.type)->keyword, hinge_kernel_info(m->kernel.type)->keyword);
    if (pr->task->uses_tau && pr->params.tau != m->tau)
        return hg_fail(err, HINGE_EINVAL, "tau: %g, and the model was trained for %g", pr->params.tau, m->tau);
    return HINGE_OK;
}

static void close_problem(struct opened *o)
{
    hg_free(o->beta);
    hg_problem_free(&o->problem);
    hg_scaled_free(&o->scaled);
}

/* Makes the problem of the data, in the model's order of classes, and takes the model's coefficients. On failure
 * nothing is left to be freed. */
static hinge_status open_problem(struct opened *o, const hinge_model *m, const hinge_matrix *x, const double *y,
                                 const hinge_targets *targets, const hinge_params *params, hinge_error *err)
{
    *o = (struct opened){ .m = m };
    HG_NEED(err, params, "params");
    if (params->scaling != NULL && m->scale_factor == NULL)
        return hg_fail(err, HINGE_EINVAL,
                       "scaling: the model has none; scale the rows (hinge_scaling_apply), and set "
                       "it to NULL");
    HG_TRY(hg_scaled_init(&o->scaled, x, params, err));
    const hinge_matrix *rows = &o->scaled.x;
    const hinge_params *p = &o->scaled.params;
    const struct hg_given given = { .targets = targets, .labels = m->labels, .n_labels = m->n_classes };
    hinge_status status = hg_problem_init(&o->problem, rows, y, p, &given, err);
    HG_THEN(status, check_model(m, &o->problem, err));
    HG_THEN(status, HG_MAKE(err, "the coefficients of rows", HG_TABLE(o->beta, o->problem.n_problems, x->rows)));
    HG_THEN(status, find_beta(m, &o->problem, o->beta, err));
    if (status != HINGE_OK)
        close_problem(o);
    return status;
}

/* Judges each problem in turn, by all threads inside; *certificate is written when all are done. Residuals, slackness
 * and violation are the largest of all problems, objectives and gap their sums. */
static hinge_status certify(const hinge_model *m, const hinge_matrix *x, const double *y, const hinge_targets *targets,
                            const hinge_params *params, hinge_certificate *certificate, hinge_error *err)
{
    double begin = hg_now();
    hinge_certificate c;
    struct opened o;
    memset(&c, 0, sizeof c);
    hg_ok(err);
    HG_NEED(err, m, "model");
    HG_NEED(err, certificate, "certificate");
    HG_TRY(open_problem(&o, m, x, y, targets, params, err));
    hinge_status status = HINGE_OK;
    for (size_t p = 0; p < o.problem.n_problems && status == HINGE_OK; p++)
        status = certify_problem(&o, p, &c, err);
    close_problem(&o);
    if (status == HINGE_OK) {
        c.seconds = hg_now() - begin;
        *certificate = c;
    }
    return status;
}

hinge_status hinge_certify(const hinge_model *m, const hinge_matrix *x, const double *y, const hinge_params *params,
                           hinge_certificate *certificate, hinge_error *err)
{
    hinge_status status = HINGE_OK;
    HG_TEAM(hg_params_team(params, x, NULL, 6))
    status = certify(m, x, y, NULL, params, certificate, err);
    return status;
}

hinge_status hinge_certify_many(const hinge_model *m, const hinge_matrix *x, const hinge_targets *targets,
                                const hinge_params *params, hinge_certificate *certificate, hinge_error *err)
{
    hinge_status status = HINGE_OK;
    HG_TRY(hg_targets_need(targets, params, err));
    HG_TEAM(hg_params_team(params, x, NULL, 6))
    status = certify(m, x, NULL, targets, params, certificate, err);
    return status;
}

/* ---- kinds of support vectors, classes of slack ------------------------------------------------------------------ */

/* Tells of an example's variable, that of its own class: all others are fixed at 0. alpha, C and f are in the model's
 * scale, that is times 1/r for nu-SVC. */
static hinge_point point_of(const struct solved *s, size_t i, double bias, double tolerance)
{
    const struct hg_qp *qp = &s->qp;
    int last = qp->layers - 1; /* nu-SVC: layer 0 has the box of +1, layer 1 that of -1 */
    hinge_point p = { 0 };
    p.y = qp->hi[0][i] > 0 ? 1 : -1;
    p.alpha = fabs(hg_qp_beta(qp, i)) * s->factor;
    p.C = (p.y > 0 ? qp->hi[0][i] : -qp->lo[last][i]) * s->factor;
    p.f = s->g[i] * s->factor + bias;
    p.slack = hinge_slack(p.y, p.f);
    p.kind = hinge_sv_kind_of(p.alpha, p.C);
    p.slack_class = hinge_slack_class_of(p.slack, tolerance);
    return p;
}

/* Narrows the range of b that an example's optimality allows: alpha < C asks for y f >= 1, alpha > 0 for y f <= 1, f =
 * g + b. At y f = 1, b is y - g. */
static void bound_bias(const hinge_point *p, double g, hinge_kinds *k)
{
    double at = p->y - g; /* the b with y f = 1 */
    bool grows = p->kind != HINGE_NON_MARGIN_SV, falls = p->kind != HINGE_NO_SV;
    if (p->y > 0 ? grows : falls)
        k->bias_low = fmax(k->bias_low, at);
    if (p->y > 0 ? falls : grows)
        k->bias_high = fmin(k->bias_high, at);
}

/* Counts a point in: kinds, slack classes, sums of alpha, |w|^2 = sum alpha y g, and the largest slackness, relative to
 * C. g, which is f - b, may be so much less than b that f does not tell it. */
static void count_point(const hinge_point *p, double g, hinge_kinds *k)
{
    k->n++;
    k->n_margin_sv += p->kind == HINGE_MARGIN_SV;
    k->n_non_margin_sv += p->kind == HINGE_NON_MARGIN_SV;
    k->n_slack[p->slack_class]++;
    k->sum_alpha += p->alpha;
    k->norm2 += p->alpha * p->y * g;
    k->alpha_slackness = hg_larger(k->alpha_slackness, p->alpha / p->C * fabs(p->y * p->f - 1 + p->slack));
    k->slack_slackness = hg_larger(k->slack_slackness, (p->C - p->alpha) / p->C * p->slack);
    bound_bias(p, g, k);
}

/* Tells of each point of a problem and counts kinds; points [rows] by row of the caller's, 0 for rows that have no
 * part. */
static hinge_status look_at_problem(const struct opened *o, size_t p, double tolerance, hinge_kinds *kinds,
                                    hinge_point *points, hinge_error *err)
{
    struct solved s;
    hinge_status status = solved_init(&s, o, p, err);
    hinge_kinds k = { .bias = -o->m->rho[p], .bias_low = -INFINITY, .bias_high = INFINITY };
    if (points != NULL && status == HINGE_OK)
        memset(points, 0, o->problem.x.rows * sizeof *points);
    for (size_t i = 0; status == HINGE_OK && i < s.qp.n; i++) {
        hinge_point point = point_of(&s, i, k.bias, tolerance);
        count_point(&point, s.g[i] * s.factor, &k);
        if (points != NULL)
            points[o->problem.order[s.subset[i]]] = point;
    }
    double low = HG_MIN(k.bias_low, k.bias_high), high = HG_MAX(k.bias_low, k.bias_high);
    k.bias_low = low; /* where, by the violation, no b meets all conditions: those that miss them least */
    k.bias_high = high;
    solved_free(&s);
    if (status == HINGE_OK)
        *kinds = k;
    return status;
}

/* Refuses what neither hinge_kinds_of nor hinge_kinds_each takes. */
static hinge_status check_kinds(const hinge_model *m, const void *out, double tolerance, hinge_error *err)
{
    hg_ok(err);
    HG_NEED(err, m, "model");
    HG_NEED(err, out, "kinds");
    if (!hinge_task_info(m->task)->classifies)
        return hg_fail(err, HINGE_EINVAL, "model: slack classes are those of classification");
    if (!(tolerance >= 0 && tolerance < 0.5))
        return hg_fail(err, HINGE_EINVAL, "tolerance: %g is not in [0, 0.5)", tolerance);
    return HINGE_OK;
}

hinge_status hinge_kinds_of(const hinge_model *m, const hinge_matrix *x, const double *y, const hinge_params *params,
                            size_t problem, double tolerance, hinge_kinds *kinds, hinge_point *points, hinge_error *err)
{
    struct opened o;
    HG_TRY(check_kinds(m, kinds, tolerance, err));
    if (problem >= m->n_problems)
        return hg_fail(err, HINGE_EINVAL, "problem: there is no problem %zu, only %zu", problem, m->n_problems);
    HG_TRY(open_problem(&o, m, x, y, NULL, params, err));
    hinge_status status = look_at_problem(&o, problem, tolerance, kinds, points, err);
    close_problem(&o);
    return status;
}

/* Hands the kinds of each problem to the caller, one room for points serving all. The caller may end it. */
hinge_status hinge_kinds_each(const hinge_model *m, const hinge_matrix *x, const double *y, const hinge_params *params,
                              double tolerance, hinge_kinds_fn each, void *arg, hinge_error *err)
{
    struct opened o;
    hinge_kinds kinds;
    HG_NEED(err, each, "each");
    HG_TRY(check_kinds(m, &kinds, tolerance, err));
    HG_TRY(open_problem(&o, m, x, y, NULL, params, err));
    hinge_point *points;
    hinge_status status = HG_MAKE(err, "the kinds of rows", HG_ARRAY(points, x->rows));
    for (size_t p = 0; p < o.problem.n_problems && status == HINGE_OK; p++) {
        status = look_at_problem(&o, p, tolerance, &kinds, points, err);
        if (status == HINGE_OK && each(arg, p, &kinds, points) != 0)
            status = hg_fail(err, HINGE_ECALLBACK, "each: gave up at problem %zu of %zu", p + 1, o.problem.n_problems);
    }
    hg_free(points);
    close_problem(&o);
    return status;
}

/* Model selection of a trial: its decision values against separate trainings on the same folds, judged by plain loops;
 * scores, the best point, threads, dropping, points known before. See trials.h. */
#include "test/trials.h"

#include <float.h>
#include <hinge/select.h>

enum { MOST_VALUES = 3 };

/* What is asked for. */
struct grid {
    hinge_params params;
    hinge_select_options options;
    double value[4][MOST_VALUES]; /* C, nu, gamma, p */
    int *fold, *group;
    unsigned points_wanted; /* then stop; 0: all */
};

static double near(uint64_t *s, double value, double most)
{
    double v = chance(s, 0.08) ? 0 : chance(s, 0.04) ? -value : value * power_between(s, -1.5, 1.5);
    return v > most && chance(s, 0.8) ? most : v;
}

static hinge_values draw_values(uint64_t *s, double value, double most, double *room)
{
    hinge_values values = { room, 1 + pick(s, MOST_VALUES) };
    for (size_t k = 0; k < values.count; k++)
        room[k] = near(s, value, most);
    return values;
}

static int stop_after_some(void *arg, const hinge_select_progress *progress)
{
    const struct grid *g = arg;
    return g->points_wanted > 0 && progress->done >= g->points_wanted;
}

/* In place: values are those of *g, wherever it is copied to. */
static void draw_grid(const struct trial *t, uint64_t *s, struct grid *g)
{
    hinge_select_options *o = &g->options;
    double C = isinf(t->params.C) ? 10 : fmin(t->params.C, 1e10), gamma = t->params.kernel.gamma;
    *g = (struct grid){ .params = t->params };
    g->params.beta0 = NULL;
    g->params.solver = HINGE_SOLVER_AUTO;
    g->params.max_iter = 0;
    g->params.C = C;
    g->params.progress = NULL;
    o->C = draw_values(s, C, 1e12, g->value[0]);
    o->nu = draw_values(s, t->params.nu, 1, g->value[1]);
    o->gamma = draw_values(s, gamma > 0 ? gamma : 1, 1e200, g->value[2]);
    if (t->params.p > 0 && chance(s, 0.5))
        o->p = draw_values(s, t->params.p, 1e200, g->value[3]);
    o->folds = 2 + pick(s, t->n < 6 ? t->n - 1 : 4);
    o->repeats = chance(s, 0.2) ? 2 : 0;
    if (chance(s, 0.3)) { /* some never held out, some folds empty, some of one class */
        size_t folds = 1 + pick(s, t->n < 5 ? t->n : 5);
        bool by_label = chance(s, 0.3);
        o->fold = g->fold = get(t->n, sizeof *g->fold);
        for (size_t i = 0; i < t->n; i++)
            g->fold[i] = (int)(by_label ? (t->y[i] > 0) : pick(s, folds + 1)) - !by_label;
        g->fold[pick(s, t->n)] = (int)folds - 1;
    } else if (chance(s, 0.2)) {
        o->group = g->group = get(t->n, sizeof *g->group);
        for (size_t i = 0; i < t->n; i++)
            g->group[i] = (int)pick(s, t->n);
    }
    o->by_fold = chance(s, 0.2);
    o->eps = power_between(s, chance(s, 0.5) ? -9 : -3, -0.5);
    o->no_refit = chance(s, 0.7);
    o->decisions = 1;
    o->point = stop_after_some;
    uint64_t own = t->number ^ 0xf32, late = draw(&own); /* drawn last: what stands above stays as it was */
    if (chance(&late, 0.4))
        g->params.precision = chance(&late, 0.7) ? HINGE_PRECISION_F32 : HINGE_PRECISION_F64;
    if (chance(&late, 0.3))
        o->eps = 0;
}

static hinge_selection *run(const struct trial *t, struct grid *g, const char *what)
{
    hinge_selection *selection = NULL;
    g->options.point_arg = g;
    phase(what);
    hinge_status status = hinge_select(&selection, &t->matrix, t->y, &g->params, &g->options, &err);
    phase("checks of a selection");
    if (status == HINGE_OK)
        return selection;
    tell("%s: %s\n", what, err.text);
    bool refit = strstr(err.text, "weight 0") != NULL || strstr(err.text, "sum to more") != NULL;
    bool folds = strstr(err.text, "cannot be dealt") != NULL || strstr(err.text, "leaves none") != NULL;
    bool maker = g->params.maker == HINGE_MAKER_PANELS && strncmp(err.text, "maker: ", 7) == 0;
    if (status != HINGE_EINVAL || !(refit || folds || maker))
        finding(what, "%s: %s", hinge_status_text(status), err.text);
    return NULL;
}

/* ---- A fold against a training of its own ------------------------------------------------------------------------ */

/* The trial of the rows that fold f trains on. */
static struct trial without_fold(const struct trial *t, const hinge_selection *chosen, const struct grid *g,
                                 const hinge_grid_point *point, const int *fold, size_t f)
{
    struct trial part = *t;
    part.n = 0;
    part.x = get(t->n * t->d, sizeof *part.x);
    part.y = get(t->n, sizeof *part.y);
    part.index = t->params.kernel.type == HINGE_PRECOMPUTED ? get(t->n, sizeof *part.index) : NULL;
    part.weights = get(t->n, sizeof *part.weights);
    part.given = part.test = part.beta0 = NULL;
    for (size_t i = 0; i < t->n; i++) {
        if (fold[i] == (int)f || (t->weights != NULL && t->weights[i] == 0))
            continue;
        memcpy(part.x + part.n * t->d, t->x + i * t->d, t->d * sizeof(double));
        if (part.index != NULL)
            part.index[part.n] = t->index != NULL ? t->index[i] : i;
        part.weights[part.n] = t->weights != NULL ? t->weights[i] : 1;
        part.y[part.n++] = t->y[i];
    }
    part.params = g->params;
    part.params.C = point->C;
    part.params.nu = point->nu;
    part.params.p = point->p;
    part.params.kernel.gamma = point->gamma;
    part.params.weights = part.weights;
    part.params.precomputed_index = part.index;
    part.params.precision = HINGE_PRECISION_F64;
    part.params.eps = fmin(1e-6, chosen->eps);
    part.params.cache_bytes = part.params.working_set = 0;
    part.matrix = hinge_matrix_f64(part.x, part.n, t->d);
    return part;
}

/* nu as the fold's classes allow it. */
static double most_nu(const struct trial *part)
{
    double labels[MAX_CLASSES], weight[MAX_CLASSES] = { 0 }, most = 1;
    size_t k = truth_classes(part, labels);
    for (size_t c = 0; c < k; c++)
        for (size_t i = 0; i < part->n; i++)
            weight[c] += part->y[i] == labels[c] ? part->weights[i] : 0;
    for (size_t c = 0; c < k; c++)
        for (size_t b = 0; b < k; b++)
            if (b != c)
                most = fmin(most, 2 * fmin(weight[c], weight[b]) / (weight[c] + weight[b]));
    return most;
}

/* Which decision value of the selection's is the model's of problem p, and with what sign; SIZE_MAX: none. */
static size_t problem_of(const struct trial *t, const hinge_model *model, size_t p, double *sign)
{
    double labels[MAX_CLASSES];
    size_t at[2] = { 0, 0 }, k, number = 0, own = 0;
    const double *of_model = hinge_model_labels(model);
    *sign = 1;
    if (of_model == NULL)
        return 0;
    k = truth_classes(t, labels);
    size_t classes = hinge_model_n_classes(model);
    bool rest = k > 2 && t->params.multiclass == HINGE_ONE_VS_REST;
    if (rest && classes < 3)
        return SIZE_MAX;
    for (size_t a = 0; a < classes; a++)
        for (size_t b = a + 1; b < classes && !rest; b++, own++)
            for (size_t c = 0; c < k && own == p; c++) {
                at[0] = labels[c] == of_model[a] ? c : at[0];
                at[1] = labels[c] == of_model[b] ? c : at[1];
            }
    for (size_t c = 0; rest && c < k; c++)
        if (labels[c] == of_model[p])
            return c;
    *sign = at[0] < at[1] ? 1 : -1;
    for (size_t a = 0; a < k; a++)
        for (size_t b = a + 1; b < k; b++, number++)
            if (a == (at[0] < at[1] ? at[0] : at[1]) && b == (at[0] < at[1] ? at[1] : at[0]))
                return number;
    return SIZE_MAX;
}

/* Both f are as near to the optimum's as the square root of what their objectives may lack of it: violations times the
 * way that coefficients may go. */
static void compare_problem(const struct trial *t, const struct trial *part, const hinge_model *model,
                            const hinge_selection *chosen, const hinge_grid_point *point, size_t repeat, size_t f,
                            size_t p, const double *beta, double violation)
{
    double sign, rho = hinge_model_rho(model)[p], worst = 0;
    const int *fold = chosen->fold + repeat * t->n;
    size_t problem = problem_of(t, model, p, &sign);
    double labels[MAX_CLASSES];
    bool classes = hinge_task_info(t->params.task)->classifies;
    size_t k = classes ? truth_classes(t, labels) : 2;
    size_t n_problems = k > 2 ? (t->params.multiclass == HINGE_ONE_VS_REST ? k : k * (k - 1) / 2) : k < 2 ? 0 : 1;
    if (problem == SIZE_MAX)
        return;
    struct sums own = truth_sums(part, beta, hinge_model_n_problems(model), part->x, part->n);
    struct sums held = truth_sums(part, beta, hinge_model_n_problems(model), t->x, t->n);
    struct verdict v = truth_verdict(part, model, p, beta + p * part->n, &own, rho, false);
    double most = violation + 2 * v.slack + (double)fmaxl(v.kkt_high, 0), way = v.sum_caps * (classes ? 1 : 2);
    double gaps = sqrt(4 * chosen->eps * way) + sqrt(2 * most * way);
    for (size_t i = 0; i < t->n; i++) {
        if (fold[i] != (int)f)
            continue;
        double kernel, one = 1;
        struct trial alone = *part; /* K(x, x): of row i as an example */
        alone.x = t->x + i * t->d;
        alone.n = 1;
        alone.index = NULL;
        size_t column = t->params.precomputed_index != NULL ? t->params.precomputed_index[i] : i;
        alone.params.precomputed_index = &column;
        struct sums self = truth_sums(&alone, &one, 1, alone.x, 1);
        kernel = (double)self.g[0];
        double away = (gaps * sqrt(fmax(kernel, 0)) + gaps * sqrt(own.largest_kernel) + 4 * chosen->eps + most) / v.r;
        size_t at = p * held.rows + i;
        double told = sign * point->decisions[(repeat * t->n + i) * n_problems + problem];
        double low = (double)held.g[at] - fmax(v.rho_high, rho), high = (double)held.g[at] - fmin(v.rho_low, rho);
        if (hinge_task_info(t->params.task)->two_sums)
            low = high = (double)held.g[at] - rho;
        away *= part->params.task == HINGE_NU_SVC ? 4 * (1 + fabs(low)) : 1;
        if (part->params.task == HINGE_NU_SVC && away * v.r > v.r / 4)
            continue;
        away += 2 * held.slack[at] + 1e-9 * (fabs(low) + fabs(high));
        if (isnan(away) || held.largest_kernel > 1e100 || !isfinite(low) || !isfinite(high))
            continue;
        worst = fmax(worst, fmax(low - told, told - high) / away);
        if (!(told >= low - away && told <= high + away)) {
            finding("selection",
                    "row %zu of fold %zu, C=%g nu=%g gamma=%g p=%g: %.9g, a training of its own %.9g to %.9g, allowed "
                    "%g (problem %zu)",
                    i, f, point->C, point->nu, point->gamma, point->p, told, low, high, away, p);
            break;
        }
    }
    tell("fold %zu, problem %zu: off by %.3g of what is allowed\n", f, p, worst);
}

/* Takes what column q [n] of length 1 has of v off it. */
static void take_off(const long double *q, long double *v, size_t n)
{
    long double dot = 0;
    for (size_t i = 0; i < n; i++)
        dot += q[i] * v[i];
    for (size_t i = 0; i < n; i++)
        v[i] -= dot * q[i];
}

static long double length_of(const long double *v, size_t n)
{
    long double square = 0;
    for (size_t i = 0; i < n; i++)
        square += v[i] * v[i];
    return sqrtl(square);
}

/* Values of a linear kernel are affine in the features: what no affine function explains of a fold's held-out values is
 * at most what each of them may be off by, half of eps, and what rounding makes of sums by coefficients such as beta
 * [part->n]. Features are made orthonormal one after the other, twice. */
static void check_affine(const struct trial *t, const struct trial *part, const double *beta,
                         const hinge_selection *chosen, const hinge_grid_point *point, size_t f)
{
    size_t repeat = f / (chosen->n_folds / chosen->repeats), n = 0;
    const int *fold = chosen->fold + repeat * t->n;
    size_t *row = get(t->n, sizeof *row);
    bool one_problem = !hinge_task_info(t->params.task)->classifies || t->n_labels == 2;
    for (size_t i = 0; i < t->n; i++)
        if (fold[i] == (int)f && isfinite(point->decisions[repeat * t->n + i]))
            row[n++] = i;
    if (t->params.kernel.type != HINGE_LINEAR || !one_problem || t->params.task == HINGE_NU_SVC || n < t->d + 3)
        return;
    struct sums sums = truth_sums(part, beta, 1, t->x, t->n);
    double rounding = 0;
    for (size_t i = 0; i < n; i++)
        rounding = fmax(rounding, sums.slack[row[i]]);
    long double *q = get((t->d + 2) * n, sizeof *q), *left = q + (t->d + 1) * n;
    for (size_t c = 0; c <= t->d + 1; c++) {
        long double *v = q + c * n, before;
        for (size_t i = 0; i < n; i++)
            v[i] = c == 0 ? 1 : c <= t->d ? t->x[row[i] * t->d + c - 1] : point->decisions[repeat * t->n + row[i]];
        before = length_of(v, n);
        for (size_t k = 0; k < 2 * c; k++)
            take_off(q + k % c * n, v, n);
        long double after = length_of(v, n);
        for (size_t i = 0; i < n && c <= t->d; i++)
            v[i] = after > 1e-15L * before ? v[i] / after : 0;
        if (c == t->d + 1) {
            double allowed = sqrt((double)n) * (chosen->eps / 2 + 2 * rounding) + 1e-9 * (double)before;
            tell("fold %zu: %.3Lg of %.3Lg is not affine, allowed %.3g\n", f, after, before, allowed);
            if (!(length_of(left, n) <= allowed))
                finding("selection, affine", "fold %zu, C=%g p=%g: %.6Lg of %.6Lg is not affine, allowed %g", f,
                        point->C, point->p, after, before, allowed);
        }
    }
}

static void compare_fold(const struct trial *t, const struct grid *g, const hinge_selection *chosen,
                         const hinge_grid_point *point, size_t f)
{
    size_t repeat = f / (chosen->n_folds / chosen->repeats);
    struct trial part = without_fold(t, chosen, g, point, chosen->fold + repeat * t->n, f);
    hinge_model *model = NULL;
    hinge_report report;
    if (part.params.task == HINGE_NU_SVC)
        part.params.nu = fmin(part.params.nu, most_nu(&part));
    phase("hinge_train of a fold");
    hinge_status status =
        part.n == 0 ? HINGE_EINVAL : hinge_train(&model, &part.matrix, part.y, &part.params, &report, &err);
    phase("checks of a selection");
    if (status == HINGE_OK && point->outcome == HINGE_CONVERGED) {
        size_t problems = hinge_model_n_problems(model);
        double *beta = get(problems * part.n, sizeof *beta);
        bool known = problems > 0 && hinge_model_beta(model, part.n, beta, &err) == HINGE_OK;
        if (known)
            check_affine(t, &part, beta, chosen, point, f);
        for (size_t p = 0; p < problems && known && report.outcome == HINGE_CONVERGED; p++)
            compare_problem(t, &part, model, chosen, point, repeat, f, p, beta, report.violation);
    }
    hinge_model_free(model);
}

/* ---- Scores ------------------------------------------------------------------------------------------------------ */

static void check_score(const struct trial *t, const hinge_selection *chosen, const hinge_grid_point *point)
{
    const hinge_task_row *task = hinge_task_info(t->params.task);
    double sum = 0, held = 0;
    for (size_t r = 0; r < chosen->repeats; r++)
        for (size_t i = 0; i < t->n; i++) {
            double prediction = point->predictions[r * t->n + i], miss = t->y[i] - prediction;
            if (chosen->fold[r * t->n + i] < 0 || (t->weights != NULL && t->weights[i] == 0) ||
                (task->classifies && truth_cap(t, i) == 0))
                continue;
            held++;
            sum += task->regresses   ? miss * miss
                   : task->one_class ? (prediction > 0) == (t->y[i] > 0)
                                     : prediction == t->y[i];
        }
    double told = point->score[task->regresses ? HINGE_SCORE_MSE : HINGE_SCORE_ACCURACY], truth = sum / held;
    if (held > 0 && !(fabs(told - truth) <= 1e-9 * (1 + fabs(truth))) && isfinite(truth))
        finding("score", "%.12g, plain loops %.12g", told, truth);
}

static void check_best(const hinge_selection *chosen, const struct grid *g)
{
    int rises = hinge_score_rises(chosen->score);
    for (size_t i = 0; i < chosen->n_points; i++) {
        const hinge_grid_point *a = &chosen->points[i], *b = chosen->best;
        if (a->state != HINGE_POINT_DONE && a->state != HINGE_POINT_KNOWN)
            continue;
        double of_a = (g->options.by_fold ? a->mean : a->score)[chosen->score];
        double of_b = b == NULL ? NAN : (g->options.by_fold ? b->mean : b->score)[chosen->score];
        if (!isnan(of_a) && (isnan(of_b) || (rises ? of_a > of_b : of_a < of_b)))
            finding("best point", "%.12g, there is %.12g", of_b, of_a);
    }
}

static bool same_bits(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* The same scores and decision values, where both have them; otherwise text says what differs. */
static bool are_alike(const struct trial *t, const hinge_selection *a, const hinge_selection *b, char *text,
                      size_t room)
{
    if ((a->best == NULL) != (b->best == NULL) || (a->best != NULL && a->best - a->points != b->best - b->points)) {
        snprintf(text, room, "the best point is another one");
        return false;
    }
    for (size_t i = 0; i < a->n_points && i < b->n_points; i++) {
        const hinge_grid_point *p = &a->points[i], *q = &b->points[i];
        if (p->state != HINGE_POINT_DONE || (q->state != HINGE_POINT_DONE && q->state != HINGE_POINT_KNOWN))
            continue;
        for (int k = 0; k < HINGE_N_SCORES; k++)
            if (!same_bits(p->score[k], q->score[k])) {
                snprintf(text, room, "%s of point %zu is %.17g, not %.17g", hinge_score_name((hinge_score)k), i,
                         q->score[k], p->score[k]);
                return false;
            }
        for (size_t r = 0; q->predictions != NULL && r < a->repeats * t->n; r++)
            if (!same_bits(p->predictions[r], q->predictions[r])) {
                snprintf(text, room, "prediction %zu of point %zu is %.17g, not %.17g", r, i, q->predictions[r],
                         p->predictions[r]);
                return false;
            }
    }
    return true;
}

static void check_alike(const struct trial *t, const hinge_selection *a, const hinge_selection *b, const char *what)
{
    char text[200];
    if (a != NULL && b != NULL && !are_alike(t, a, b, text, sizeof text))
        finding(what, "%s", text);
}

/* Dropping has other folds side by side, and so other rows made at once, with which BLAS's last bits change: it has
 * other loops for the rows that are left of a block. A fold then ends elsewhere within its eps, and by how much no
 * violation says. Panels sum each value alone, in the order of features, and by them nothing may differ. So where
 * results differ both are made again by panels; they are the judge where they can make these values (not small
 * distances of large norms). */
static void check_dropping(const struct trial *t, const struct grid *g, const hinge_selection *chosen)
{
    struct grid drops = *g, keeps = *g;
    hinge_kernel_type type = g->params.kernel.type;
    char text[200];
    drops.options.drop = HINGE_DROP_EXACT;
    hinge_selection *again = run(t, &drops, "selection, dropping"), *all = NULL;
    if (again != NULL)
        check_best(again, &drops);
    bool judged =
        again != NULL && g->params.precision == HINGE_PRECISION_F64; /* f32 may be too coarse elsewhere first */
    if (judged && !are_alike(t, chosen, again, text, sizeof text)) {
        hinge_selection_free(again);
        if (type != HINGE_USER && type != HINGE_PRECOMPUTED && type != HINGE_LAPLACIAN)
            drops.params.maker = keeps.params.maker = HINGE_MAKER_PANELS;
        again = run(t, &drops, "selection by panels, dropping");
        all = run(t, &keeps, "selection by panels");
        check_alike(t, all, again, "selection, dropping");
        tell("without panels: %s\n", text);
    }
    hinge_selection_free(all);
    hinge_selection_free(again);
}

static void check_again(const struct trial *t, const struct grid *g, const hinge_selection *chosen, uint64_t *s)
{
    struct grid other = *g;
    other.params.threads = g->params.threads == 1 ? 2 : 1;
    other.options.no_refit = 1;
    hinge_selection *again = run(t, &other, "selection, another number of threads");
    check_alike(t, chosen, again, "selection, threads");
    hinge_selection_free(again);
    if (chance(s, 0.5)) {
        check_dropping(t, &other, chosen);
    } else if (chosen->n_points > 1) { /* in two goes */
        other.points_wanted = 1 + (unsigned)pick(s, chosen->n_points - 1);
        hinge_selection *half = run(t, &other, "selection, stopped");
        other.points_wanted = 0;
        if (half != NULL) {
            other.options.known = half->points;
            other.options.n_known = half->n_points;
            again = run(t, &other, "selection, resumed");
            for (size_t i = 0; again != NULL && i < again->n_points; i++)
                if (again->points[i].state == HINGE_POINT_WAITING)
                    finding("selection, resumed", "point %zu is left waiting", i);
            hinge_selection_free(again);
        }
        hinge_selection_free(half);
    }
}

void check_selection(const struct trial *t)
{
    uint64_t seed = t->number ^ 0x5e1ec7, state = draw(&seed);
    if (t->n < 2)
        return;
    struct grid g;
    draw_grid(t, &state, &g);
    hinge_selection *chosen = run(t, &g, "hinge_select");
    for (size_t i = 0; chosen != NULL && i < chosen->n_points; i++) {
        const hinge_grid_point *point = &chosen->points[i];
        tell("C=%g nu=%g gamma=%g p=%g: state %d, %s%s, accuracy %g, MSE %g\n", point->C, point->nu, point->gamma,
             point->p, (int)point->state, hinge_outcome_text(point->outcome), point->text,
             point->score[HINGE_SCORE_ACCURACY], point->score[HINGE_SCORE_MSE]);
        if (point->state == HINGE_POINT_WAITING)
            finding("selection", "point %zu is left waiting: %s", i, hinge_outcome_text(chosen->outcome));
        if (point->state != HINGE_POINT_DONE)
            continue;
        if (point->outcome == HINGE_STALLED)
            remark("selection: stalled at C=%g nu=%g gamma=%g", point->C, point->nu, point->gamma);
        check_score(t, chosen, point);
        size_t f = pick(&state, chosen->n_folds);
        bool compares = t->n <= 200 || chance(&state, 0.2) || t->params.kernel.type == HINGE_LINEAR;
        if (t->psd && t->symmetric && compares)
            compare_fold(t, &g, chosen, point, f);
    }
    if (chosen != NULL) {
        check_best(chosen, &g);
        check_again(t, &g, chosen, &state);
    }
    hinge_selection_free(chosen);
}

/* Trials of what is around trainings, with --tools: scaling, stochastic gradients; the drop-in library is in
 * trials_dropin.c, geometry in trials_geometry.c. Examples are those of a trial of the usual kind. See trials.h. */
#include "test/trials.h"

#include <float.h>
#include <hinge/scaling.h>
#include <hinge/theory.h>

enum { MOST_ROWS = 300 };

static const double ulp = DBL_EPSILON / 2;

static double largest_of(const double *v, size_t n)
{
    double largest = 0;
    for (size_t i = 0; i < n; i++)
        largest = fmax(largest, fabs(v[i]));
    return largest;
}

/* ---- Scaling ----------------------------------------------------------------------------------------------------- */

/* The value of feature c, in long double, and what rounding to 53 bits may take of it. */
static long double scaled(const hinge_scaling *s, size_t c, double x, double *slack)
{
    long double width = (long double)s->high[c] - s->low[c], span = (long double)s->upper - s->lower;
    long double share = width > 0 ? ((long double)x - s->low[c]) / width : 0;
    *slack = 8 * ulp * (double)(fabsl(share) * span + fabsl(s->lower));
    return width > 0 ? share * span + s->lower : 0;
}

/* The ranges of rows of weight > 0; false: there is none, or a value is not finite. */
static bool plain_ranges(const struct trial *t, double *low, double *high)
{
    bool any = false;
    for (size_t c = 0; c < t->d; c++) {
        low[c] = INFINITY;
        high[c] = -INFINITY;
    }
    for (size_t i = 0; i < t->n; i++) {
        if (t->weights != NULL && t->weights[i] == 0)
            continue;
        any = true;
        for (size_t c = 0; c < t->d; c++) {
            low[c] = fmin(low[c], t->x[i * t->d + c]);
            high[c] = fmax(high[c], t->x[i * t->d + c]);
        }
    }
    return any;
}

static void check_scaled_rows(const struct trial *t, const hinge_scaling *s, const hinge_matrix *x, const double *rows,
                              const char *of)
{
    size_t ld = t->d + 3;
    double *out = get(x->rows * ld + 1, sizeof *out), *back = get(x->rows * ld + 1, sizeof *back), slack;
    if (hinge_scaling_apply(s, x, out, ld, &err) != HINGE_OK) {
        finding("scaling", "%s: %s", of, err.text);
        return;
    }
    hinge_matrix of_out = { out, HINGE_F64, x->rows, t->d, ld, HINGE_ROW_MAJOR };
    if (hinge_scaling_invert(s, &of_out, back, ld, &err) != HINGE_OK)
        finding("scaling, back", "%s: %s", of, err.text);
    for (size_t i = 0; i < x->rows; i++)
        for (size_t c = 0; c < t->d; c++) {
            double v = rows[i * t->d + c], width = s->high[c] - s->low[c];
            long double truth = scaled(s, c, v, &slack);
            double per_unit = width / (s->upper - s->lower);
            double allowed = width > 0 ? 2 * slack * per_unit + 8 * ulp * (fabs(s->low[c]) + fabs(v) + width) : 0;
            double whole = width > 0 ? v : s->low[c];
            if (!(fabsl(out[i * ld + c] - truth) <= slack)) {
                finding("scaling", "%s row %zu, feature %zu: %.17g, plain loops %.17Lg, allowed %g", of, i, c,
                        out[i * ld + c], truth, slack);
                return;
            }
            if (!(fabs(back[i * ld + c] - whole) <= allowed)) {
                finding("scaling, back", "%s row %zu, feature %zu: %.17g, was %.17g, allowed %g", of, i, c,
                        back[i * ld + c], whole, allowed);
                return;
            }
        }
}

/* A model of scaled rows that takes raw ones says of them what it says of scaled ones, and what plain loops do. */
static void check_scaling_model(const struct trial *t, const hinge_scaling *s)
{
    struct trial part = *t;
    hinge_model *model = NULL;
    hinge_report report;
    part.x = get(t->n * t->d, sizeof *part.x);
    if (hinge_scaling_apply(s, &t->matrix, part.x, t->d, &err) != HINGE_OK)
        return;
    part.matrix = hinge_matrix_f64(part.x, t->n, t->d);
    part.is_f32 = false;
    phase("hinge_train, scaled rows");
    hinge_status status = hinge_train(&model, &part.matrix, t->y, &part.params, &report, &err);
    size_t problems = status == HINGE_OK ? hinge_model_n_problems(model) : 0;
    tell("of scaled rows: %s\n", status == HINGE_OK ? report.path : err.text);
    if (problems > 0 && report.outcome != HINGE_NONFINITE && report.outcome != HINGE_NO_MARGIN) {
        double *beta = get(problems * t->n, sizeof *beta), *f = get(problems * t->n, sizeof *f), scale = 1;
        double *raw = get(problems * t->n, sizeof *raw);
        hinge_predict_options options = { .precision = HINGE_PRECISION_F64, .threads = 1 };
        bool ok = hinge_model_beta(model, t->n, beta, &err) == HINGE_OK &&
                  hinge_predict(model, &part.matrix, &options, NULL, f, &err) == HINGE_OK &&
                  hinge_scaling_attach(s, model, &err) == HINGE_OK &&
                  hinge_predict(model, &t->matrix, &options, NULL, raw, &err) == HINGE_OK;
        if (!ok)
            finding("scaling, model", "%s", err.text);
        struct sums sums = truth_sums(&part, beta, problems, part.x, t->n);
        for (size_t p = 0; p < problems; p++)
            scale = fmax(scale, fabs(hinge_model_rho(model)[p]));
        for (size_t k = 0; ok && k < problems * t->n; k++) {
            size_t i = k / problems, p = k % problems, at = p * t->n + i;
            long double truth = sums.g[at] - hinge_model_rho(model)[p];
            double allowed = 3 * sums.slack[at] + DBL_EPSILON * scale;
            if (!(fabsl(raw[k] - truth) <= allowed) && sums.absolute[at] < 1e290) {
                finding("scaling, model",
                        "row %zu: %.15g of raw rows, %.15g of scaled ones, plain loops %.15Lg, "
                        "allowed %g (problem %zu)",
                        i, raw[k], f[k], truth, allowed, p);
                break;
            }
        }
    }
    hinge_model_free(model);
}

static void check_scaling(const struct trial *t, uint64_t *s)
{
    hinge_scaling scaling = { 0 };
    double lower = chance(s, 0.4) ? -1 : chance(s, 0.5) ? 0 : draw_normal(s) * power_between(s, -3, 6);
    double upper = chance(s, 0.1) ? lower - 1 : chance(s, 0.6) ? fmax(lower, 0) + 1 : lower + power_between(s, -6, 6);
    double *low = get(t->d, sizeof *low), *high = get(t->d, sizeof *high);
    bool any = plain_ranges(t, low, high);
    tell("scaling to %.17g, %.17g\n", lower, upper);
    phase("hinge_scaling_fit");
    hinge_status status = hinge_scaling_fit(&scaling, &t->matrix, t->weights, lower, upper, &err);
    if ((status == HINGE_OK) != (any && lower < upper) || (status != HINGE_OK && status != HINGE_EINVAL))
        finding("scaling", "from %.17g to %.17g: %s", lower, upper, status == HINGE_OK ? "taken" : err.text);
    if (status != HINGE_OK)
        return;
    double *factor = get(t->d, sizeof *factor), *offset = get(t->d, sizeof *offset);
    hinge_status told = hinge_scaling_factors(&scaling, factor, offset, &err);
    for (size_t c = 0; c < t->d; c++) {
        double width = high[c] - low[c], f = width > 0 ? (upper - lower) / width : 0;
        if (scaling.low[c] != low[c] || scaling.high[c] != high[c])
            finding("scaling", "feature %zu from %.17g to %.17g, plain loops %.17g to %.17g", c, scaling.low[c],
                    scaling.high[c], low[c], high[c]);
        double o = width > 0 ? lower - low[c] * f : 0, off = 4 * ulp * (fabs(lower) + fabs(low[c] * f));
        if (told == HINGE_OK && !(fabs(factor[c] - f) <= 4 * ulp * f && fabs(offset[c] - o) <= off))
            finding("scaling, factors", "feature %zu: %.17g, %.17g, plain loops %.17g, %.17g", c, factor[c], offset[c],
                    f, o);
    }
    if (told == HINGE_OK) {
        hinge_matrix test = hinge_matrix_f64(t->test, t->m, t->d);
        check_scaled_rows(t, &scaling, &t->matrix, t->x, "training");
        if (t->m > 0)
            check_scaled_rows(t, &scaling, &test, t->test, "new");
        check_scaling_model(t, &scaling);
    }
    hinge_scaling_free(&scaling);
}

/* ---- Stochastic gradients ---------------------------------------------------------------------------------------- */

/* Labels of a rule that a hyperplane keeps mostly. */
static double *draw_signs(const struct trial *t, uint64_t *s)
{
    double *y = get(t->n, sizeof *y), *w = get(t->d, sizeof *w), noise = chance(s, 0.3) ? 0 : draw_unit(s) / 2;
    long double *f = get(t->n, sizeof *f), mean = 0, absolute = 0;
    for (size_t c = 0; c < t->d; c++)
        w[c] = draw_normal(s);
    for (size_t i = 0; i < t->n; i++)
        mean += f[i] = truth_dot(w, t->x + i * t->d, t->d, &absolute);
    mean = chance(s, 0.5) ? 0 : mean / t->n;
    for (size_t i = 0; i < t->n; i++)
        y[i] = (f[i] > mean) != (draw_unit(s) < noise) ? 1 : -1;
    return y;
}

/* Both sides of a method's values at w, b: mean loss, errors, and what rounding of each f may come to. */
struct risk {
    long double loss, norm2;
    size_t errors, doubtful;
    double slack;
};

static struct risk risk_of(const struct trial *t, const double *y, const double *w, double b, hinge_loss loss)
{
    struct risk r = { 0 };
    for (size_t c = 0; c < t->d; c++)
        r.norm2 += (long double)w[c] * w[c];
    for (size_t i = 0; i < t->n; i++) {
        long double absolute = fabs(b), f = truth_dot(w, t->x + i * t->d, t->d, &absolute) + b, m = y[i] * f;
        double slack = 2 * ulp * ((double)t->d + 8) * (double)absolute;
        long double value = loss == HINGE_LOSS_HINGE        ? fmaxl(0, 1 - m)
                            : loss == HINGE_LOSS_PERCEPTRON ? fmaxl(0, -m)
                            : loss == HINGE_LOSS_LOGISTIC   ? (fmaxl(-m, 0) + log1pl(expl(-fabsl(m)))) / logl(2)
                                                            : expl(-m);
        r.loss += value / t->n;
        r.errors += m <= 0;
        r.doubtful += fabsl(m) <= slack;
        r.slack = fmax(r.slack, slack * (loss == HINGE_LOSS_EXPONENTIAL ? (double)value + 1 : 2));
    }
    return r;
}

/* The mean loss is convex in b: neither way from b is it less than rounding explains. */
static void check_best_bias(const struct trial *t, const double *y, const double *w, double b, hinge_loss loss)
{
    struct risk at = risk_of(t, y, w, b, loss);
    double scale = 1 + fabs(b);
    for (int k = -40; k <= 6; k += 2)
        for (int sign = -1; sign <= 1; sign += 2) {
            double other = b + sign * ldexp(scale, k);
            struct risk there = risk_of(t, y, w, other, loss);
            double allowed = 1e-9 * (double)(at.loss + there.loss) + 4 * (at.slack + there.slack);
            if (there.loss < at.loss - allowed) {
                finding("sgd, bias", "mean loss %.12Lg at b = %.12g, %.12Lg at %.12g, allowed %g", at.loss, b,
                        there.loss, other, allowed);
                return;
            }
        }
}

static hinge_sgd_options draw_sgd(const struct trial *t, uint64_t *s)
{
    hinge_sgd_options o = { .lambda = power_between(s, -5, 2), .epochs = 1 + pick(s, 20), .seed = draw(s) };
    size_t batches[] = { 0, 1, 3, 1 + pick(s, t->n), t->n };
    o.batch = batches[pick(s, 5)];
    o.threads = 1 + (int)pick(s, 2);
    o.bias = chance(s, 0.5);
    o.last = chance(s, 0.4);
    if (chance(s, 0.3)) {
        o.eta = power_between(s, -3, 1) / (1 + largest_of(t->x, t->n * t->d));
        o.power = chance(s, 0.3) ? 0 : chance(s, 0.5) ? 0.5 : 1;
    }
    static const hinge_loss losses[] = { HINGE_LOSS_HINGE, HINGE_LOSS_LOGISTIC, HINGE_LOSS_EXPONENTIAL,
                                         HINGE_LOSS_PERCEPTRON };
    o.loss = chance(s, 0.5) ? HINGE_LOSS_HINGE : losses[pick(s, 4)];
    if (chance(s, 0.25)) {
        o.ball = power_between(s, -4, 3);
        o.lambda = chance(s, 0.5) ? 0 : o.lambda;
    }
    if (chance(s, 0.3) && t->n * t->d < 3000 && o.lambda > 0 && o.ball == 0 && o.eta == 0)
        o.epochs = 0;
    return o;
}

/* No w is below the dual's bound. The usual number of epochs comes near it, if no limit cuts it short: T steps are off
 * by 2 G^2 / (2 lambda (T + 1)) on average (Lacoste-Julien, Schmidt, Bach 2012), where no slope is longer than G = R +
 * 2 lambda |w|, |w|^2 <= 1 / (2 lambda), and T >= 30 (1 + R^2) / (2 lambda). What was drawn is no average, but far
 * nearer as a rule. Relative to the optimum, which may be near 0, there is no bound. */
static void check_optimum(const struct trial *t, const double *y, const hinge_sgd_options *o, long double reached)
{
    hinge_params params = hinge_params_default(HINGE_C_SVC);
    hinge_model *model = NULL;
    hinge_report report;
    params.kernel = hinge_kernel_linear();
    params.C = hinge_tradeoff_convert(HINGE_TRADEOFF_LAMBDA, HINGE_TRADEOFF_SUM, o->lambda, t->n);
    params.no_bias = !o->bias;
    params.eps = 1e-6;
    params.threads = 1;
    phase("hinge_train beside SGD");
    hinge_status status = hinge_train(&model, &t->matrix, y, &params, &report, &err);
    bool solved = status == HINGE_OK && report.outcome == HINGE_CONVERGED && hinge_model_n_problems(model) > 0;
    hinge_model_free(model);
    if (!solved)
        return;
    long double optimum = -2 * o->lambda * report.objective, radius = 0, unused = 0;
    for (size_t i = 0; i < t->n; i++)
        radius = fmaxl(radius, sqrtl(truth_dot(t->x + i * t->d, t->x + i * t->d, t->d, &unused)));
    size_t epochs = hinge_sgd_epochs(o->lambda, (double)radius, t->n, o->batch > 0 ? o->batch : 1);
    tell("sgd: objective %.9Lg, optimum %.9Lg, %zu epochs\n", reached, optimum, epochs);
    if (reached < optimum * (1 - 1e-5L) - 1e-9L)
        finding("sgd", "objective %.12Lg, below the dual's %.12Lg", reached, optimum);
    long double slope = radius + sqrtl(2 * (long double)o->lambda), off = slope * slope / (15 * (1 + radius * radius));
    if (o->epochs == 0 && epochs < 1000 && !o->last && !(reached <= optimum + off))
        finding("sgd", "objective %.9Lg after %zu epochs, the optimum is %.9Lg", reached, epochs, optimum);
}

static void check_sgd(const struct trial *t, uint64_t *s)
{
    hinge_sgd_options o = draw_sgd(t, s);
    double *y = draw_signs(t, s), *w = get(t->d, sizeof *w), *again = get(t->d, sizeof *again), b = 0, b_again = 0;
    hinge_online_round *history = get(o.epochs + 1, sizeof *history);
    phase("hinge_sgd");
    tell("sgd: lambda %g, ball %g, %zu epochs, batch %zu, eta %g / t^%g, %s%s, loss %s\n", o.lambda, o.ball, o.epochs,
         o.batch, o.eta, o.power, o.bias ? "bias" : "no bias", o.last ? ", last" : "", hinge_loss_name(o.loss));
    hinge_status status = hinge_sgd(&t->matrix, y, &o, w, o.bias ? &b : NULL, o.epochs > 0 ? history : NULL, &err);
    if (status != HINGE_OK) {
        bool overflows = largest_of(t->x, t->n * t->d) > 1e140;
        if (!overflows)
            finding("sgd", "%s", err.text);
        return;
    }
    hinge_sgd_options other = o;
    other.threads = 3 - o.threads;
    if (hinge_sgd(&t->matrix, y, &other, again, o.bias ? &b_again : NULL, NULL, &err) != HINGE_OK ||
        memcmp(w, again, t->d * sizeof *w) != 0 || b != b_again)
        finding("sgd, threads", "another w, or b %.17g and %.17g", b, b_again);
    struct risk r = risk_of(t, y, w, b, o.loss);
    long double reached = o.lambda * r.norm2 + r.loss;
    if (!isfinite((double)reached) || !isfinite(r.slack)) {
        if (o.loss != HINGE_LOSS_EXPONENTIAL) /* which double does not hold where steps were wild */
            finding("sgd, finite", "objective %Lg, |w|^2 %Lg, b %g", reached, r.norm2, b);
        return;
    }
    double ball = o.ball > 0 ? o.ball : INFINITY;
    if (o.lambda > 0 && (o.loss == HINGE_LOSS_HINGE || o.loss == HINGE_LOSS_LOGISTIC))
        ball = fmin(ball, (o.loss == HINGE_LOSS_HINGE ? 0.5 : 1) / o.lambda);
    if (r.norm2 > ball * (1 + 1e-9))
        finding("sgd, ball", "|w|^2 is %.12Lg, at most %.12g (%s)", r.norm2, ball, hinge_loss_name(o.loss));
    double off = 1e-9 * (double)reached + 4 * r.slack, told = o.epochs > 0 ? history[o.epochs - 1].objective : NAN;
    if (o.epochs > 0 && (o.bias ? !(reached <= told + off) : !(fabsl(reached - told) <= off)))
        finding("sgd, history", "objective %.12g, plain loops %.12Lg, allowed %g", told, reached, off);
    if (o.epochs > 0 && !o.bias &&
        !(history[o.epochs - 1].errors + r.doubtful >= r.errors &&
          history[o.epochs - 1].errors <= r.errors + r.doubtful))
        finding("sgd, history", "%zu errors, plain loops %zu", history[o.epochs - 1].errors, r.errors);
    if (o.bias)
        check_best_bias(t, y, w, b, o.loss);
    if (o.loss == HINGE_LOSS_HINGE && o.ball == 0 && o.lambda > 0)
        check_optimum(t, y, &o, reached);
}

static void check_perceptron(const struct trial *t, uint64_t *s)
{
    hinge_perceptron_options o = { .step = chance(s, 0.5) ? 0 : power_between(s, -3, 3), .rounds = 1 + pick(s, 50) };
    double *y = draw_signs(t, s), *w = get(t->d, sizeof *w), b = 0;
    hinge_online_round *history = get(o.rounds, sizeof *history);
    size_t rounds = 0, batches[] = { 0, 1, 1 + pick(s, t->n) };
    o.batch = batches[pick(s, 3)];
    o.bias = chance(s, 0.5);
    o.seed = draw(s);
    o.threads = 1;
    phase("hinge_perceptron");
    if (hinge_perceptron(&t->matrix, y, &o, w, o.bias ? &b : NULL, history, &rounds, &err) != HINGE_OK) {
        if (largest_of(t->x, t->n * t->d) < 1e140)
            finding("perceptron", "%s", err.text);
        return;
    }
    struct risk r = risk_of(t, y, w, b, HINGE_LOSS_PERCEPTRON);
    if (rounds < 1 || rounds > o.rounds) {
        finding("perceptron", "%zu rounds of %zu", rounds, o.rounds);
        return;
    }
    const hinge_online_round *last = &history[rounds - 1];
    double off = 1e-9 * (double)r.loss + 4 * r.slack;
    if (!(fabsl(last->objective - r.loss) <= off) || last->errors > r.errors + r.doubtful ||
        last->errors + r.doubtful < r.errors)
        finding("perceptron", "objective %.12g, %zu errors; plain loops %.12Lg, %zu; allowed %g", last->objective,
                last->errors, r.loss, r.errors, off);
    if (rounds < o.rounds && last->errors > 0)
        finding("perceptron", "ends after %zu rounds of %zu with %zu errors", rounds, o.rounds, last->errors);
}

/* ---- All of it --------------------------------------------------------------------------------------------------- */

/* Examples of the first plan behind the number that are few, with a kernel that is hinge's own. */
static struct trial small_trial(uint64_t number)
{
    for (uint64_t k = 0;; k++) {
        struct trial t = trial_plan(number + (k << 40));
        if (t.is_qp || t.n > MOST_ROWS || t.params.kernel.type == HINGE_PRECOMPUTED ||
            t.params.kernel.type == HINGE_USER || t.params.time_limit > 0 || t.params.rank > 0)
            continue;
        trial_fill(&t);
        t.params.progress = NULL;
        return t;
    }
}

void check_tools(uint64_t number)
{
    uint64_t state = number ^ 0x70015;
    struct trial t = small_trial(number);
    char words[600];
    trial_describe(&t, words, sizeof words);
    tell("examples of %s\n", words);
    switch (draw(&state) % 4) {
    case 0:
        check_scaling(&t, &state);
        break;
    case 1:
        chance(&state, 0.7) ? check_sgd(&t, &state) : check_perceptron(&t, &state);
        break;
    case 2:
        check_geometry(&t, &state);
        break;
    default:
        check_dropin(&t, &state);
    }
}

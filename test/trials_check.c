/* What hinge says of a trial against what plain loops find. See trials.h. */
#include "test/trials.h"

#include <float.h>
#include <hinge/io.h>
#include <hinge/theory.h>

static bool finite_all(const double *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(values[i]))
            return false;
    return true;
}

static bool is_hard(const struct trial *t)
{
    return t->params.task == HINGE_C_SVC && isinf(t->params.C);
}

/* Values of kernel or data that arithmetic in double, or in float where that is asked for, may not hold. */
static bool may_overflow(const struct trial *t, double largest_kernel)
{
    double largest = 0;
    for (size_t i = 0; i < t->n * t->d; i++)
        largest = fmax(largest, fabs(t->x[i]));
    bool f32 = t->params.precision == HINGE_PRECISION_F32;
    const hinge_kernel *k = &t->params.kernel;
    if (t->params.C > 1e50 && !is_hard(t))
        return true;
    if (t->params.task == HINGE_NU_SVC && largest_kernel < 1e-295) /* coefficients are divided by r, which is less */
        return true;
    double product =
        k->type == HINGE_POLYNOMIAL ? fabs(k->gamma) * largest * largest * (double)t->d + fabs(k->coef0) : 0;
    product = product > 1 ? pow(product, k->degree) : 0;
    double most = f32 ? 1e30 : t->params.solver == HINGE_SOLVER_INTERIOR_POINT ? 1e70 : 1e290; /* which squares them */
    return fmax(product, fmax(largest_kernel, largest * largest * (double)t->d)) > most;
}

/* ---- Outcome, report --------------------------------------------------------------------------------------------- */

static void check_outcome(const struct trial *t, const hinge_report *r, double largest_kernel)
{
    const hinge_params *p = &t->params;
    bool limited = p->max_iter > 0, timed = p->time_limit > 0, stopped = t->stop_after > 0;
    bool nan_kernel = p->kernel.type == HINGE_USER && t->user.kind == USER_NAN;
    bool allowed = r->outcome == HINGE_CONVERGED || r->outcome == HINGE_STALLED ||
                   (r->outcome == HINGE_MAX_ITER && limited) || (r->outcome == HINGE_TIME_LIMIT && timed) ||
                   (r->outcome == HINGE_STOPPED && stopped) ||
                   (r->outcome == HINGE_NONFINITE && (nan_kernel || may_overflow(t, largest_kernel))) ||
                   (r->outcome == HINGE_NO_MARGIN && (p->task == HINGE_NU_SVC || is_hard(t)));
    if (!allowed)
        finding("outcome", "%s, with no cause for it; largest kernel value %g", hinge_outcome_text(r->outcome),
                largest_kernel);
    if (r->outcome == HINGE_STALLED)
        remark("stalled");
}

/* Limits are obeyed: by counted steps, and by processor time, which a busy machine does not stretch. */
static void check_limits(const struct trial *t, const hinge_report *r, double begun)
{
    const hinge_params *p = &t->params;
    double ended = processor_time(), threads = p->threads;
    if (p->max_iter > 0 && r->iterations > p->max_iter * (r->n_problems > 0 ? r->n_problems : 1))
        finding("max_iter", "%llu steps, %llu allowed in each of %zu problems", (unsigned long long)r->iterations,
                (unsigned long long)p->max_iter, r->n_problems);
    if (p->time_limit > 0 && ended - begun > threads * (p->time_limit + 0.5))
        finding("time limit", "%.2f s of processor time, limit %g s, %d threads", ended - begun, p->time_limit,
                p->threads);
    if (t->stopped > 0 && ended - t->stopped > threads * 0.5)
        finding("stop", "%.2f s of processor time after it was asked for, %d threads", ended - t->stopped, p->threads);
}

static void check_report(const struct trial *t, const hinge_model *model, const hinge_report *r)
{
    size_t n = 0, problems = hinge_model_n_problems(model);
    for (size_t i = 0; i < t->n; i++)
        n += t->weights == NULL || t->weights[i] > 0;
    if (r->n != n || r->d != t->d)
        finding("report", "%zu x %zu trained on, %zu x %zu given", r->n, r->d, n, t->d);
    if (r->n_sv != hinge_model_n_sv(model))
        finding("report", "n_sv %zu, the model has %zu", r->n_sv, hinge_model_n_sv(model));
    if (r->n_problems != problems || r->n_classes != hinge_model_n_classes(model))
        finding("report", "%zu problems, %zu classes; the model has %zu, %zu", r->n_problems, r->n_classes, problems,
                hinge_model_n_classes(model));
    bool ended = r->outcome == HINGE_TIME_LIMIT || r->outcome == HINGE_STOPPED; /* others' values may be NaN */
    if (r->outcome != HINGE_NONFINITE && !(ended && problems > 1) &&
        (isnan(r->objective) || isnan(r->violation) || isnan(r->trace_error)))
        finding("report", "objective %g, violation %g, trace_error %g", r->objective, r->violation, r->trace_error);
    if (r->outcome == HINGE_CONVERGED && problems > 0 && r->rank == 0 && !(r->violation <= t->params.eps * 1.0000001))
        finding("report", "converged at violation %g, eps %g", r->violation, t->params.eps);
    if (!(r->seconds >= 0) || r->cache_used > r->cache_bytes + 4096 * 16)
        finding("report", "seconds %g, cache %zu used of %zu", r->seconds, r->cache_used, r->cache_bytes);
    const double *objectives = hinge_model_objectives(model);
    double sum = 0, size = 0;
    for (size_t p = 0; p < problems && objectives != NULL; p++) {
        sum += objectives[p];
        size += fabs(objectives[p]);
    }
    if (objectives != NULL && fabs(sum - r->objective) > 1e-12 * size)
        finding("report", "objective %.17g, its problems' sum %.17g", r->objective, sum);
}

/* Coefficients as the model lays them out are those by training row. */
static void check_layout(const struct trial *t, const hinge_model *model, const double *beta)
{
    size_t k = hinge_model_n_classes(model), problems = hinge_model_n_problems(model), n_sv = hinge_model_n_sv(model);
    const double *coef = hinge_model_coef(model), *labels = hinge_model_labels(model);
    const size_t *rows = hinge_model_sv_index(model);
    bool by_class = labels != NULL && (k == 2 || t->params.multiclass == HINGE_ONE_VS_ONE);
    double *seen = get(problems * t->n, sizeof *seen);
    for (size_t v = 0; v < n_sv; v++) {
        size_t own = 0, p = 0;
        while (by_class && own < k && labels[own] != t->y[rows[v]])
            own++;
        if (!by_class)
            for (p = 0; p < problems; p++)
                seen[p * t->n + rows[v]] = coef[p * n_sv + v];
        for (size_t a = 0, q = 0; by_class && a < k; a++)
            for (size_t b = a + 1; b < k; b++, q++)
                if (own == a || own == b)
                    seen[q * t->n + rows[v]] = coef[(own == a ? b - 1 : a) * n_sv + v];
    }
    for (size_t i = 0; i < problems * t->n; i++)
        if (seen[i] != beta[i] && !(isnan(seen[i]) && isnan(beta[i]))) {
            finding("layout", "coefficient %.17g, by training row %.17g (row %zu)", seen[i], beta[i], i % t->n);
            break;
        }
}

/* ---- One problem ------------------------------------------------------------------------------------------------- */

/* The sums are held by steps, each of which may round two coefficients. */
static void check_feasible(const struct trial *t, const struct verdict *v, const hinge_report *r, size_t p)
{
    double tolerance = t->params.task == HINGE_NU_SVC ? 1e-11 : 1e-14;
    if (!(v->box <= tolerance))
        finding("box", "alpha is outside by %g of its box, allowed %g (problem %zu)", v->box, tolerance, p);
    double caps = is_hard(t) ? 1 : fmin(v->sum_caps, 1e300), steps = (double)r->iterations / fmax((double)v->n, 1);
    double allowed = 1e-10 * v->sum_scale + (1e-13 * (double)v->n + DBL_EPSILON * steps) * caps + 1e-300;
    if (!(v->sum <= allowed))
        finding("sum", "off by %g, allowed %g: sum of |beta| %g (problem %zu)", v->sum, allowed, v->sum_scale, p);
}

/* Coefficients that are what adding and taking away leaves over, where kernel values are of one size. */
static void check_leftovers(const struct trial *t, const hinge_report *r, const double *beta, size_t p)
{
    double largest = 0;
    hinge_kernel_type type = t->params.kernel.type;
    bool inside = r->outcome != HINGE_CONVERGED && strncmp(r->path, "interior", 8) == 0; /* of all boxes, as yet */
    if ((type != HINGE_RBF && type != HINGE_SIGMOID) || inside)
        return;
    for (size_t i = 0; i < t->n; i++)
        largest = fmax(largest, fabs(beta[i]));
    for (size_t i = 0; i < t->n; i++)
        if (t->params.beta0 != NULL && t->params.C < 1e3)
            largest = fmax(largest, truth_cap(t, i));
    for (size_t i = 0; i < t->n; i++)
        if (beta[i] != 0 && fabs(beta[i]) < DBL_EPSILON / 4 * largest && truth_cap(t, i) >= largest) {
            finding("leftover", "a coefficient of %g, where the largest is %g (row %zu, problem %zu)", beta[i], largest,
                    i, p);
            return;
        }
}

/* The relative gap is promised of the kernel ZZ', which trace_error tells apart from K. */
static bool gap_is_closed(const struct trial *t, const hinge_report *r, const struct verdict *v, double trace,
                          double *relative, double *allowed)
{
    long double larger = fmaxl(fabsl(v->primal), fabsl(v->objective));
    double factor = r->trace_error * trace, rounding = (double)v->slack * (v->sum_scale + v->sum_caps);
    *relative = larger > 0 ? (double)(v->gap / larger) : 0;
    *allowed = 1.05 * fmin(t->params.eps, 1e-6) +
               (2 * rounding + 2 * factor * v->sum_scale * (v->sum_caps + v->sum_scale)) / (double)larger;
    return fabs(*relative) <= *allowed || larger == 0;
}

static void check_converged(const struct trial *t, const hinge_report *r, const struct verdict *v, size_t p,
                            double trace)
{
    bool is_ipm = r->rank > 0 || strncmp(r->path, "interior", 8) == 0;
    if (!t->symmetric || v->n == 0 || is_hard(t))
        return;
    double allowed = 1.05 * t->params.eps;
    tell("problem %zu: kkt %Lg, with rounding taken off %Lg, allowed %g; gap %Lg, primal %Lg\n", p, v->kkt, v->kkt_low,
         allowed, v->gap, v->primal);
    if (v->kkt_low <= allowed)
        return;
    double relative, gap_allowed;
    if (is_ipm && t->psd && gap_is_closed(t, r, v, trace, &relative, &gap_allowed))
        return;
    if (is_ipm)
        finding("converged (interior)",
                "relative gap %g, allowed %g; kkt %Lg, eps %g; told: gap %g, trace_error %g "
                "(problem %zu)",
                (double)(v->gap / fmaxl(fabsl(v->primal), fabsl(v->objective))), 1.05 * fmin(t->params.eps, 1e-6),
                v->kkt, t->params.eps, r->gap, r->trace_error, p);
    else
        finding("converged",
                "kkt %Lg is %.3Lg eps (%.3g), %Lg for rounding; told: violation %g, error %g (problem %zu)", v->kkt,
                v->kkt / t->params.eps, t->params.eps, v->kkt - v->kkt_low, r->violation, r->error, p);
}

static void check_objective(const struct trial *t, const hinge_model *model, const hinge_report *r,
                            const struct verdict *v, size_t p)
{
    if (!t->symmetric || r->outcome == HINGE_NONFINITE)
        return;
    double rounding = (double)v->absolute * 1e-12 + v->slack * v->sum_scale + v->drift + 1e-300;
    bool zero_is_feasible = !hinge_task_info(t->params.task)->uses_nu;
    bool as_asked = t->params.rank > 0 && r->trace_error > 0; /* another kernel's optimum */
    double head_start = 0;                                    /* what coefficients given beforehand may leave */
    if (t->params.beta0 != NULL)
        head_start = r->outcome == HINGE_CONVERGED ? t->params.eps * v->sum_scale
                     : r->outcome == HINGE_STALLED ? 0
                                                   : INFINITY;
    if (zero_is_feasible && !as_asked && v->objective > rounding + head_start)
        finding("worse than nothing", "objective %Lg (told %g), the zero model's 0; %s (problem %zu)", v->objective,
                r->objective, hinge_outcome_text(r->outcome), p);
    const double *told = hinge_model_objectives(model);
    if (told == NULL || is_hard(t) || v->r * v->r > 1e290 || (t->params.task == HINGE_NU_SVR && isnan(v->middle)))
        return;
    bool approximate = r->precision == HINGE_PRECISION_F32 || r->trace_error > 0;
    bool converged = r->outcome == HINGE_CONVERGED;
    if (r->trace_error > 0 || (approximate && isnan(r->error) && !converged))
        return; /* of another kernel; not measured */
    double error = isnan(r->error) ? 0 : r->error;
    if (approximate)
        error = converged ? fmax(t->params.eps, error) : 2 * error;
    double allowed = 10 * rounding + 1e-9 * (double)v->absolute + error * v->sum_scale +
                     (t->params.precision == HINGE_PRECISION_F32 ? 1e-6 * (double)v->absolute : 0);
    double objective = (double)v->objective / (v->r * v->r);
    if (!(fabs(told[p] - objective) <= allowed / (v->r * v->r)))
        finding("objective", "told %.12g, plain loops %.12g, allowed %g; %s (problem %zu)", told[p], objective,
                allowed / (v->r * v->r), hinge_outcome_text(r->outcome), p);
}

/* rho is where the conditions of optimality want it; the nu tasks' is a mean of two. */
static void check_rho(const struct trial *t, const hinge_report *r, const struct verdict *v, size_t p, double rho)
{
    bool is_nu = hinge_task_info(t->params.task)->two_sums;
    if (is_nu || t->params.no_bias || is_hard(t) || r->outcome != HINGE_CONVERGED || r->rank > 0 || !t->symmetric ||
        !isfinite(v->rho_low) || !isfinite(v->rho_high))
        return;
    double mean = 4e-16 * sqrt((double)v->n) * fabs(rho); /* what rounding makes of a mean of so many */
    double allowed = 2 * t->params.eps + 2 * v->slack + mean;
    if (!(rho >= v->rho_low - allowed && rho <= v->rho_high + allowed))
        finding("rho", "%.12g, where %.12g to %.12g is allowed, and %g for eps (problem %zu)", rho, v->rho_low,
                v->rho_high, allowed, p);
}

/* The nu tasks: rho is the mean of the two thresholds, and what nu-SVC divides by half their difference. */
static void check_thresholds(const struct trial *t, const hinge_report *r, const struct verdict *v, size_t p,
                             double rho)
{
    bool is_svc = t->params.task == HINGE_NU_SVC;
    if ((!is_svc && t->params.task != HINGE_NU_SVR) || r->outcome != HINGE_CONVERGED || !t->symmetric ||
        !isfinite(v->middle) || !isfinite(v->margin))
        return;
    double allowed = 3 * t->params.eps + 2 * v->slack;
    if (!(fabs(rho * v->r - v->middle) <= allowed))
        finding("rho", "%.12g, half way between the thresholds is %.12g, allowed %g (problem %zu)", rho * v->r,
                v->middle, allowed, p);
    if (is_svc && !(fabs(v->r - v->margin) <= allowed))
        finding("r", "%.12g, half of what is between the thresholds is %.12g, allowed %g (problem %zu)", v->r,
                v->margin, allowed, p);
}

/* Hard margin: every example is beyond the margin, and the gap is closed. */
static void check_hard(const struct trial *t, const hinge_model *model, const hinge_report *r, const struct verdict *v,
                       const struct sums *sums, size_t p, double rho)
{
    if (!is_hard(t) || r->outcome != HINGE_CONVERGED || !t->psd || (t->params.rank > 0 && r->trace_error > 0))
        return;
    long double least = INFINITY, norm2 = 2 * (v->objective + v->sum_scale);
    double slack = 0;
    for (size_t i = 0; i < t->n; i++) {
        double sign = truth_sign(t, model, p, i);
        if (sign == 0 || truth_cap(t, i) == 0)
            continue;
        least = fminl(least, sign * (sums->g[p * sums->rows + i] - rho));
        slack = fmax(slack, sums->slack[p * sums->rows + i]);
    }
    long double primal = least > 0 ? norm2 / 2 / (least * least) : INFINITY, dual = -v->objective;
    double relative = (double)((primal - dual) / fmaxl(fabsl(primal), fabsl(dual)));
    double allowed = 1.05 * fmin(t->params.eps, 1e-6) + 8 * slack + 8 * r->trace_error;
    tell("hard margin: least y f %Lg, |w|^2 %Lg, sum alpha %g, gap %g\n", least, norm2, v->sum_scale, relative);
    if (v->sum_scale > 0 && !(fabs(relative) <= allowed))
        finding("hard margin", "relative gap %g, allowed %g; least y f %Lg; told gap %g, trace_error %g (problem %zu)",
                relative, allowed, least, r->gap, r->trace_error, p);
}

/* hinge_certify's numbers are those of the plain loops. Of nu-SVC either unit will do: before or after the division. */
static void check_certificate(const struct trial *t, const hinge_model *model, const hinge_report *r,
                              const struct verdict *verdicts)
{
    hinge_certificate c;
    phase("hinge_certify");
    size_t problems = hinge_model_n_problems(model);
    hinge_status status = hinge_certify(model, &t->matrix, t->y, &t->params, &c, &err);
    phase("checks");
    if (status != HINGE_OK) {
        if (problems > 0 && r->outcome != HINGE_NONFINITE)
            finding("certify", "%s", err.text);
        return;
    }
    for (size_t p = 0; p < problems; p++)
        if (verdicts[p].r * verdicts[p].r > 1e290) /* squares are more than double holds */
            return;
    if (!t->symmetric || problems == 0 || r->outcome == HINGE_NONFINITE || is_hard(t))
        return;
    long double dual = 0, absolute = 0, low = 0, high = 0, gap = 0;
    double slack = 0, unit = 1;
    bool divided = true; /* otherwise any r makes a gap, and hinge takes that which the gradients say */
    for (size_t p = 0; p < problems; p++) {
        const struct verdict *v = verdicts + p;
        divided = divided && (t->params.task != HINGE_NU_SVC || fabs(v->r - 1) > 1e-9);
        double square = v->r * v->r;
        dual -= v->objective / square;
        absolute += v->absolute / square;
        gap += v->gap / square;
        slack += v->slack * (v->sum_scale + v->sum_caps) / square;
        low = fmaxl(low, v->kkt_low / (v->r > 1 ? v->r : 1));
        high = fmaxl(high, v->kkt_high / (v->r < 1 ? v->r : 1));
        unit = fmax(unit, v->slack / v->r);
    }
    bool is_nu = t->params.task == HINGE_NU_SVR;
    double allowed = 1e-10 * (double)absolute + slack;
    if (!(fabs(c.dual - (double)dual) <= allowed))
        finding("certificate", "dual %.12g, plain loops %.12Lg, allowed %g", c.dual, dual, allowed);
    if (!is_nu && divided && !(fabs(c.gap - (double)gap) <= 1e-9 * (fabs((double)gap) + (double)absolute) + allowed))
        finding("certificate", "gap %.12g, plain loops %.12Lg, allowed %g", c.gap, gap, allowed);
    if (t->params.task != HINGE_NU_SVR && !(c.kkt >= low * (1 - 1e-9L) && c.kkt <= high * (1 + 1e-9L)))
        finding("certificate", "kkt %.12g, plain loops %.12Lg to %.12Lg", c.kkt, low, high);
    if (t->psd && !(c.gap >= -allowed))
        finding("certificate", "gap %g is negative", c.gap);
    if (isnan(c.primal) || isnan(c.slackness) || isnan(c.sum_residual) || isnan(c.box_residual))
        finding("certificate", "primal %g, slackness %g, sum %g, box %g", c.primal, c.slackness, c.sum_residual,
                c.box_residual);
}

static double trace_of(const struct trial *t)
{
    double trace = 0, *ones = get(t->n, sizeof *ones);
    for (size_t i = 0; i < t->n; i++) {
        memset(ones, 0, t->n * sizeof *ones);
        ones[i] = 1;
        struct sums one = truth_sums(t, ones, 1, t->x + i * t->d, 1);
        trace += (double)one.g[0];
    }
    return trace;
}

/* ---- All of it --------------------------------------------------------------------------------------------------- */

static void check_model(struct trial *t, const hinge_model *model, const hinge_report *r)
{
    size_t problems = hinge_model_n_problems(model);
    double *beta = get(problems * t->n, sizeof *beta);
    const double *rho = hinge_model_rho(model);
    if (problems > 0 && hinge_model_beta(model, t->n, beta, &err) != HINGE_OK)
        finding("beta", "%s", err.text);
    if (!finite_all(beta, problems * t->n) || (problems > 0 && !finite_all(rho, problems)))
        finding("finite", "a coefficient or rho is not; rho %g, %s", problems > 0 ? rho[0] : 0,
                hinge_outcome_text(r->outcome));
    else {
        struct sums sums = truth_sums(t, beta, problems, t->x, t->n);
        struct verdict *verdicts = get(problems, sizeof *verdicts);
        double trace = r->trace_error > 0 ? trace_of(t) : 0;
        check_outcome(t, r, sums.largest_kernel);
        check_report(t, model, r);
        check_layout(t, model, beta);
        bool skip = may_overflow(t, sums.largest_kernel) || r->outcome == HINGE_NONFINITE;
        for (size_t p = 0; p < problems && !skip; p++) {
            verdicts[p] = truth_verdict(t, model, p, beta + p * t->n, &sums, rho[p], r->outcome == HINGE_NO_MARGIN);
            if (r->outcome != HINGE_NO_MARGIN)
                check_feasible(t, verdicts + p, r, p);
            check_leftovers(t, r, beta + p * t->n, p);
            if (r->outcome == HINGE_CONVERGED)
                check_converged(t, r, verdicts + p, p, trace);
            if (r->outcome != HINGE_NO_MARGIN)
                check_objective(t, model, r, verdicts + p, p);
            check_rho(t, r, verdicts + p, p, rho[p]);
            check_thresholds(t, r, verdicts + p, p, rho[p]);
            check_hulls(t, model, r, &sums, p);
            check_hard(t, model, r, verdicts + p, &sums, p, rho[p]);
        }
        if (!skip)
            check_no_margin(t, model, r, verdicts);
        if (t->certify && !skip && hinge_model_n_problems(model) > 0 && r->outcome != HINGE_NO_MARGIN)
            check_facts(t, model, r, &sums, beta);
        if (t->certify && !skip && r->outcome != HINGE_NO_MARGIN)
            check_certificate(t, model, r, verdicts);
        if (!skip) {
            check_predictions(t, model, &sums, beta);
            check_oracle(t, model, r, verdicts, beta);
        }
    }
}

void check_training(struct trial *t)
{
    hinge_model *model = NULL;
    hinge_report report;
    const char *why;
    bool valid = truth_valid(t, &why), fails = t->params.kernel.type == HINGE_USER && t->user.kind == USER_FAILS;
    double begun = processor_time();
    t->looks = 0;
    t->stopped = 0;
    phase("hinge_train");
    hinge_status status = hinge_train(&model, &t->matrix, t->y, &t->params, &report, &err);
    phase("checks");
    if (status != HINGE_OK) {
        tell("refused: %s\n", err.text);
        if (!(status == HINGE_EINVAL && !valid) && !(status == HINGE_ECALLBACK && fails))
            finding("refused", "%s: %s", hinge_status_text(status), err.text);
        return;
    }
    tell("%s: %s, objective %.10g, violation %g, error %g, gap %g, %zu SVs, %llu steps, %llu rounds, %g s\n",
         report.path, hinge_outcome_text(report.outcome), report.objective, report.violation, report.error, report.gap,
         report.n_sv, (unsigned long long)report.iterations, (unsigned long long)report.rounds, report.seconds);
    check_limits(t, &report, begun);
    if (fails) { /* of one example, no block of values was asked for; predictions ask for one, and fail */
        hinge_model_free(model);
        return;
    }
    if (valid || hinge_model_n_problems(model) > 0)
        check_model(t, model, &report);
    check_extras(t, model, &report);
    hinge_model_free(model);
}

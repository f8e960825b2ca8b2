/* What else hinge says of a model: kinds of support vectors, weights, files found again, that there is no margin. See
 * trials.h. */
#include "test/trials.h"

#include <float.h>
#include <hinge/io.h>
#include <hinge/theory.h>

static void check_kinds(const struct trial *t, const hinge_model *model, const double *beta)
{
    if (!hinge_task_info(t->params.task)->classifies)
        return;
    phase("hinge_kinds_of");
    for (size_t p = 0; p < hinge_model_n_problems(model); p++) {
        hinge_kinds kinds;
        hinge_status status = hinge_kinds_of(model, &t->matrix, t->y, &t->params, p, 1e-6, &kinds, NULL, &err);
        size_t n = 0, n_sv = 0;
        if (status != HINGE_OK) {
            finding("kinds", "%s", err.text);
            return;
        }
        for (size_t i = 0; i < t->n; i++) {
            bool counts = truth_sign(t, model, p, i) != 0 && (t->weights == NULL || t->weights[i] > 0);
            n += counts;
            n_sv += counts && beta[p * t->n + i] != 0;
        }
        if (kinds.n != n || kinds.n_margin_sv + kinds.n_non_margin_sv != n_sv)
            finding("kinds", "%zu examples, %zu + %zu SVs; plain loops %zu, %zu (problem %zu)", kinds.n,
                    kinds.n_margin_sv, kinds.n_non_margin_sv, n, n_sv, p);
        if (kinds.bias != -hinge_model_rho(model)[p] || !(kinds.bias_low <= kinds.bias_high))
            finding("kinds", "bias %.17g, rho %.17g, allowed from %.17g to %.17g (problem %zu)", kinds.bias,
                    hinge_model_rho(model)[p], kinds.bias_low, kinds.bias_high, p);
    }
}

/* Linear: <w, x> is the sum over support vectors. */
static void check_weights(const struct trial *t, const hinge_model *model, const struct sums *sums)
{
    double *w = get(t->d, sizeof *w);
    for (size_t p = 0; p < hinge_model_n_problems(model) && t->params.kernel.type == HINGE_LINEAR; p++) {
        if (hinge_model_weights(model, p, w, &err) != HINGE_OK) {
            finding("weights", "%s", err.text);
            break;
        }
        for (size_t i = 0; i < t->n && i < 20; i++) {
            long double f = 0;
            for (size_t c = 0; c < t->d; c++)
                f += (long double)w[c] * t->x[i * t->d + c];
            size_t at = p * sums->rows + i;
            if (!(fabsl(f - sums->g[at]) <= 2 * sums->slack[at] + DBL_EPSILON * fabsl(f))) {
                finding("weights", "<w, x> %.12Lg, plain loops %.12Lg, allowed %g (problem %zu)", f, sums->g[at],
                        2 * sums->slack[at], p);
                break;
            }
        }
    }
}

/* A model read from a file finds its support vectors among the examples again, equal ones in boxes that hold their
 * coefficients, and is worth no less than rounding of F allows. */
static void check_locate(const struct trial *t, const hinge_model *model, const hinge_report *r,
                         const struct sums *sums, const double *beta)
{
    char *bytes = NULL;
    size_t size = 0, missing = 0;
    hinge_model *again = NULL;
    hinge_certificate a, b;
    if (t->params.kernel.type == HINGE_PRECOMPUTED || hinge_model_n_sv(model) == 0)
        return;
    phase("hinge_model_locate");
    if (hinge_model_format(model, &bytes, &size, &err) == HINGE_OK &&
        hinge_model_parse(&again, "model", bytes, size, &t->params.kernel, &err) == HINGE_OK &&
        hinge_model_locate(again, &t->matrix, t->y, &missing, &err) != HINGE_OK)
        finding("locate", "%zu missing: %s", missing, err.text);
    else if (t->psd && r->outcome == HINGE_CONVERGED && !isinf(t->params.C) &&
             hinge_certify(model, &t->matrix, t->y, &t->params, &a, &err) == HINGE_OK &&
             hinge_certify(again, &t->matrix, t->y, &t->params, &b, &err) == HINGE_OK) {
        double allowed = 1e-6 * (fabs(a.primal) + fabs(a.dual)), kkt = 2 * fmax(a.kkt, t->params.eps);
        for (size_t i = 0; i < hinge_model_n_problems(model) * t->n; i++) {
            kkt = fmax(kkt, 2 * sums->slack[i]);
            allowed += 2 * fabs(beta[i]) * sums->slack[i];
        }
        if (!(b.box_residual <= fmax(1e-9, 2 * a.box_residual) && b.kkt <= kkt && b.dual >= a.dual - allowed))
            finding("located", "box %g, kkt %g, dual %.12g; before %g, %g, %.12g", b.box_residual, b.kkt, b.dual,
                    a.box_residual, a.kkt, a.dual);
    }
    hinge_model_free(again);
    hinge_free(bytes);
}

void check_facts(const struct trial *t, const hinge_model *model, const hinge_report *r, const struct sums *sums,
                 const double *beta)
{
    check_kinds(t, model, beta);
    check_weights(t, model, sums);
    check_locate(t, model, r, sums, beta);
    phase("checks");
}

static int by_value(const void *a, const void *b)
{
    const long double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* What one class adds to the least of sum alpha y g over its reduced hull, alpha in [0, cap] of sum `sum`: as much as
 * there is room for of the least y g first. */
static long double least_of_class(const struct trial *t, const hinge_model *model, const struct sums *sums, size_t p,
                                  double sign, long double sum)
{
    long double least = 0, (*entry)[2] = get(t->n, sizeof *entry);
    size_t count = 0;
    for (size_t i = 0; i < t->n; i++)
        if (truth_sign(t, model, p, i) == sign && truth_cap(t, i) > 0) {
            entry[count][0] = sign * sums->g[p * sums->rows + i];
            entry[count++][1] = truth_cap(t, i);
        }
    qsort(entry, count, sizeof *entry, by_value);
    for (size_t k = 0; k < count && sum > 0; k++) {
        least += entry[k][0] * fminl(entry[k][1], sum);
        sum -= entry[k][1];
    }
    return least;
}

/* nu-SVC, converged: w keeps the reduced hulls of both classes apart, but for rounding. */
void check_hulls(const struct trial *t, const hinge_model *model, const hinge_report *r, const struct sums *sums,
                 size_t p)
{
    long double weight = 0, slack = 0;
    if (t->params.task != HINGE_NU_SVC || r->outcome != HINGE_CONVERGED || !t->psd || !t->symmetric || r->rank > 0)
        return;
    for (size_t i = 0; i < t->n; i++)
        if (truth_sign(t, model, p, i) != 0) {
            weight += truth_cap(t, i);
            slack = fmaxl(slack, sums->slack[p * sums->rows + i]);
        }
    long double sum = t->params.nu * weight / 2,
                apart = least_of_class(t, model, sums, p, 1, sum) + least_of_class(t, model, sums, p, -1, sum);
    tell("problem %zu: reduced hulls apart by %Lg\n", p, apart);
    if (apart + 4 * sum * slack <= 0 && weight > 0)
        finding("margin",
                "told to have converged, and w does not keep the reduced hulls apart: %Lg, allowed -%Lg "
                "(problem %zu)",
                apart, 4 * sum * slack, p);
}

/* Hard margin, told that there is none above so much: a solution of LIBSVM's for a large C shows one, or not. */
static void check_not_separable(const struct trial *t, const hinge_model *model, const hinge_report *r)
{
    double claim = 0, rho = 0, *beta = get(t->n, sizeof *beta);
    struct trial soft = *t;
    const char *words = strstr(r->path, "no margin above ");
    soft.params.C = 1e6;
    soft.params.eps = 1e-4;
    if (words == NULL || sscanf(words, "no margin above %lf", &claim) != 1)
        finding("no margin", "the path does not say above what: %s", r->path);
    else if (hinge_model_n_problems(model) == 1 && t->params.kernel.type <= HINGE_PRECOMPUTED &&
             oracle_solve(&soft, 1, beta)) {
        struct sums sums = truth_sums(t, beta, 1, t->x, t->n);
        struct verdict v = truth_verdict(&soft, model, 0, beta, &sums, rho, false);
        long double least = INFINITY, largest = -INFINITY, norm = sqrtl(2 * (v.objective + v.sum_scale));
        for (size_t i = 0; i < t->n; i++) {
            double sign = truth_sign(t, model, 0, i);
            long double g = sums.g[i];
            if (truth_cap(t, i) == 0)
                continue;
            if (sign > 0)
                least = fminl(least, g - sums.slack[i]);
            else
                largest = fmaxl(largest, g + sums.slack[i]);
        }
        long double margin = norm > 0 ? (least - largest) / 2 / norm : 0;
        tell("LIBSVM's margin %Lg\n", margin);
        if (margin > claim * (1 + 1e-6))
            finding("no margin", "none above %g is told, LIBSVM has %Lg", claim, margin);
    }
}

void check_no_margin(const struct trial *t, const hinge_model *model, const hinge_report *r,
                     const struct verdict *verdicts)
{
    double worst = INFINITY, eps = t->params.eps, error = isnan(r->error) ? 0 : r->error;
    /* A model of another nu; a matrix whose rows and columns have different F. */
    if (r->outcome != HINGE_NO_MARGIN || strstr(r->path, "margin from nu=") != NULL || !t->symmetric)
        return;
    if (t->params.task == HINGE_C_SVC) { /* of another kernel, if a rank was asked for */
        if (t->psd && !t->params.no_bias && t->params.rank == 0)
            check_not_separable(t, model, r);
        return;
    }
    for (size_t p = 0; p < hinge_model_n_problems(model); p++) { /* one of them has none */
        double off = verdicts[p].n == 0 ? INFINITY
                                        : verdicts[p].least_margin - 2 * eps - 2 * error - 4 * verdicts[p].slack -
                                              fmax(0, (double)verdicts[p].kkt);
        worst = fmin(worst, off);
    }
    if (worst > 0 && isfinite(worst))
        finding("no margin", "r is told to be 0; plain loops find at least %g more than eps and rounding explain",
                worst);
}

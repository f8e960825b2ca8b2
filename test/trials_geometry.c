/* Geometry of a trial: hyperplanes, radii, eigenvalues of kernel matrices, margins, by plain loops in long double. See
 * trials.h. */
#include "test/trials.h"

#include <float.h>
#include <hinge/theory.h>

enum { MOST_EIGEN = 24 };

static const double ulp = DBL_EPSILON / 2;

long double truth_dot(const double *a, const double *b, size_t d, long double *absolute)
{
    long double sum = 0;
    for (size_t c = 0; c < d; c++) {
        sum += (long double)a[c] * b[c];
        *absolute += fabsl((long double)a[c] * b[c]);
    }
    return sum;
}

/* Scales a hyperplane: the nearest row is at 1, and it stays where it is. */
static void check_normalise(const struct trial *t, double *w, double b)
{
    double *other = get(t->d, sizeof *other), b_other = b, slack = 0;
    long double least = INFINITY, nearest = INFINITY;
    memcpy(other, w, t->d * sizeof *w);
    for (size_t i = 0; i < t->n; i++) {
        long double absolute = fabs(b), f = truth_dot(w, t->x + i * t->d, t->d, &absolute) + b;
        slack = fmax(slack, 2 * ulp * ((double)t->d + 8) * (double)absolute);
        least = fminl(least, fabsl(f));
    }
    hinge_status status = hinge_normalise(&t->matrix, other, &b_other, 1, &err);
    if (status != HINGE_OK) {
        if (least > slack && slack < 1e290 && least > 1e-290L)
            finding("normalise", "%s; the nearest row has %Lg", err.text, least);
        return;
    }
    if (!(slack < 1e-3 * least))
        return;
    for (size_t i = 0; i < t->n; i++) {
        long double absolute = 0;
        nearest = fminl(nearest, fabsl(truth_dot(other, t->x + i * t->d, t->d, &absolute) + b_other));
    }
    double allowed = 4 * slack / (double)least + 8 * ulp;
    if (!(fabsl(nearest - 1) <= allowed))
        finding("normalise", "the nearest row has %.15Lg, allowed %g", nearest, allowed);
    for (size_t c = 0; c < t->d; c++)
        if (!(fabsl(other[c] * least - w[c]) <= allowed * fabs(w[c])))
            finding("normalise", "w[%zu] is %.15g, plain loops %.15Lg", c, other[c], w[c] / least);
}

static void check_linear(const struct trial *t, uint64_t *s)
{
    size_t k = 1 + pick(s, 4);
    double *w = get(k * t->d, sizeof *w), *b = get(k, sizeof *b), *f = get(t->n * k, sizeof *f), scale = 1;
    bool zero = chance(s, 0.2);
    for (size_t c = 0; c < k * t->d; c++)
        w[c] = chance(s, 0.1) ? 0 : draw_normal(s) * (chance(s, 0.05) ? power_between(s, -20, 20) : 1);
    for (size_t c = 0; c < k; c++)
        b[c] = draw_normal(s) * power_between(s, -3, 3);
    phase("hinge_linear_decisions");
    if (hinge_linear_decisions(&t->matrix, w, zero ? NULL : b, k, 1 + (int)pick(s, 2), f, &err) != HINGE_OK)
        finding("linear decisions", "%s", err.text);
    for (size_t at = 0; at < t->n * k; at++) {
        size_t c = at % k;
        long double absolute = zero ? 0 : fabs(b[c]);
        long double truth = truth_dot(w + c * t->d, t->x + at / k * t->d, t->d, &absolute) + (zero ? 0 : b[c]);
        double allowed = ulp * ((double)t->d + 4) * (double)absolute;
        if (absolute < 1e290L && !(fabsl(f[at] - truth) <= allowed)) {
            finding("linear decisions", "row %zu: %.15g, plain loops %.15Lg, allowed %g", at / k, f[at], truth,
                    allowed);
            break;
        }
    }
    hinge_model *model = NULL;
    double *values = get(t->n, sizeof *values);
    if (hinge_linear_model(&model, w, t->d, b[0], 3, -7, &err) != HINGE_OK ||
        hinge_predict(model, &t->matrix, NULL, NULL, values, &err) != HINGE_OK)
        finding("linear model", "%s", err.text);
    for (size_t i = 0; model != NULL && i < t->n; i++) {
        long double absolute = fabs(b[0]), truth = truth_dot(w, t->x + i * t->d, t->d, &absolute) + b[0];
        scale = fmax(1, fabs(b[0]));
        if (absolute < 1e290L &&
            !(fabsl(values[i] - truth) <= 1e-4 * scale + ulp * ((double)t->d + 8) * (double)absolute)) {
            finding("linear model", "row %zu: %.15g, plain loops %.15Lg", i, values[i], truth);
            break;
        }
    }
    hinge_model_free(model);
    check_normalise(t, w, b[0]);
}

/* ||Phi(x) - mean||^2 = K(x, x) - 2 mean K(x, .) + mean K(., .), where rounding of each counts. */
static void check_radius(const struct trial *t)
{
    double *ones = get(t->n, sizeof *ones), one = 1, radius[2] = { 0 }, slack = 0;
    long double square[2] = { -INFINITY, -INFINITY }, mean = 0;
    for (size_t i = 0; i < t->n; i++)
        ones[i] = 1;
    struct sums sums = truth_sums(t, ones, 1, t->x, t->n);
    for (size_t i = 0; i < t->n; i++) {
        mean += sums.g[i] / t->n / t->n;
        slack = fmax(slack, 4 * sums.slack[i] / (double)t->n);
    }
    for (size_t i = 0; i < t->n; i++) {
        struct trial alone = *t;
        alone.x = t->x + i * t->d;
        alone.n = 1;
        struct sums self = truth_sums(&alone, &one, 1, alone.x, 1);
        square[0] = fmaxl(square[0], self.g[0]);
        square[1] = fmaxl(square[1], self.g[0] - 2 * sums.g[i] / t->n + mean);
        slack = fmax(slack, 4 * self.slack[0]);
    }
    phase("hinge_radius");
    for (int centred = 0; centred < 2; centred++) {
        hinge_status status = hinge_radius(&t->matrix, &t->params.kernel, centred, 1, &radius[centred], &err);
        double allowed = slack + 16 * ulp * sums.largest_kernel;
        if (sums.largest_kernel > 1e290 || (status != HINGE_OK && square[centred] < 0))
            continue;
        if (status != HINGE_OK)
            finding("radius", "%s%s", centred ? "centred: " : "", err.text);
        else if (!(fabsl((long double)radius[centred] * radius[centred] - fmaxl(square[centred], 0)) <= allowed))
            finding("radius", "%ssquare %.15g, plain loops %.15Lg, allowed %g", centred ? "centred: " : "",
                    radius[centred] * radius[centred], square[centred], allowed);
    }
}

/* Turns a symmetric matrix [n * n] about pairs of axes until it is diagonal (Jacobi). */
static void turn(long double *k, size_t n)
{
    for (int sweep = 0; sweep < 60; sweep++)
        for (size_t p = 0; p < n; p++)
            for (size_t q = p + 1; q < n; q++) {
                long double off = k[p * n + q];
                if (off == 0)
                    continue;
                long double theta = (k[q * n + q] - k[p * n + p]) / (2 * off);
                long double tangent = (theta < 0 ? -1 : 1) / (fabsl(theta) + sqrtl(theta * theta + 1));
                long double c = 1 / sqrtl(tangent * tangent + 1), s = tangent * c;
                for (size_t j = 0; j < n; j++) {
                    long double a = k[j * n + p], b = k[j * n + q];
                    k[j * n + p] = c * a - s * b;
                    k[j * n + q] = s * a + c * b;
                }
                for (size_t j = 0; j < n; j++) {
                    long double a = k[p * n + j], b = k[q * n + j];
                    k[p * n + j] = c * a - s * b;
                    k[q * n + j] = s * a + c * b;
                }
                k[p * n + q] = k[q * n + p] = 0;
            }
}

static void check_mercer(const struct trial *whole)
{
    struct trial t = *whole;
    t.n = t.n < MOST_EIGEN ? t.n : MOST_EIGEN;
    t.matrix.rows = t.n;
    size_t n = t.n;
    long double *k = get(n * n, sizeof *k), smallest = INFINITY, largest = -INFINITY;
    double *unit = get(n, sizeof *unit), slack = 0, most = 0;
    for (size_t j = 0; j < n; j++) {
        unit[j] = 1;
        struct sums sums = truth_sums(&t, unit, 1, t.x, n);
        unit[j] = 0;
        for (size_t i = 0; i < n; i++) {
            k[i * n + j] += sums.g[i] / 2;
            k[j * n + i] += sums.g[i] / 2;
            slack = fmax(slack, sums.slack[i]);
        }
        most = fmax(most, sums.largest_kernel);
    }
    hinge_mercer m;
    phase("hinge_mercer_check");
    hinge_status status = hinge_mercer_check(&t.matrix, &t.params.kernel, 0, 1, &m, &err);
    if (most > 1e290)
        return;
    if (status != HINGE_OK) {
        finding("mercer", "%s", err.text);
        return;
    }
    turn(k, n);
    for (size_t i = 0; i < n; i++) {
        smallest = fminl(smallest, k[i * n + i]);
        largest = fmaxl(largest, k[i * n + i]);
    }
    double allowed = (double)n * (2 * slack + 40 * ulp * most);
    tell("mercer: %.9g to %.9g, plain loops %.9Lg to %.9Lg, allowed %g\n", m.smallest, m.largest, smallest, largest,
         allowed);
    if (!(fabsl(m.smallest - smallest) <= allowed && fabsl(m.largest - largest) <= allowed))
        finding("mercer", "eigenvalues %.12g to %.12g, plain loops %.12Lg to %.12Lg, allowed %g", m.smallest, m.largest,
                smallest, largest, allowed);
    if (!(m.asymmetry <= 2 * slack + 4 * ulp * most))
        finding("mercer", "asymmetry %g, allowed %g", m.asymmetry, 2 * slack + 4 * ulp * most);
}

/* ||w||^2 and what the conditions of optimality leave of the bias, of a model. */
static void check_margin(const struct trial *t)
{
    hinge_model *model = NULL;
    hinge_report report;
    phase("hinge_train");
    if (hinge_train(&model, &t->matrix, t->y, &t->params, &report, &err) != HINGE_OK)
        return;
    size_t problems = hinge_model_n_problems(model);
    double *beta = get(problems * t->n, sizeof *beta);
    if (problems == 0 || report.outcome == HINGE_NONFINITE || isinf(t->params.C) ||
        hinge_model_beta(model, t->n, beta, &err) != HINGE_OK) {
        hinge_model_free(model);
        return;
    }
    struct sums sums = truth_sums(t, beta, problems, t->x, t->n);
    phase("hinge_model_norm2");
    for (size_t p = 0; p < problems; p++) {
        long double square = 0, absolute = 0;
        double slack = 0, norm2;
        for (size_t i = 0; i < t->n; i++) {
            square += beta[p * t->n + i] * sums.g[p * t->n + i];
            absolute += fabs(beta[p * t->n + i]) * sums.absolute[p * t->n + i];
            slack += fabs(beta[p * t->n + i]) * sums.slack[p * t->n + i];
        }
        double allowed = 2 * slack + 2 * ulp * ((double)t->n + 8) * (double)absolute;
        hinge_status status = hinge_model_norm2(model, p, &norm2, &err);
        if (absolute > 1e290L)
            continue;
        if (status != HINGE_OK)
            finding("norm2", "%s", err.text);
        else if (!(fabsl(norm2 - square) <= allowed))
            finding("norm2", "%.15g, plain loops %.15Lg, allowed %g (problem %zu)", norm2, square, allowed, p);
        if (status == HINGE_OK && norm2 > 0 &&
            (!(fabs(hinge_margin(norm2) * sqrt(norm2) - 1) <= 1e-12) ||
             !(fabs(hinge_distance(-3, norm2) * sqrt(norm2) - 3) <= 1e-12)))
            finding("margin", "%g, distance of 3 %g, where |w|^2 is %g", hinge_margin(norm2), hinge_distance(-3, norm2),
                    norm2);
    }
    hinge_model_free(model);
}

void check_geometry(const struct trial *t, uint64_t *state)
{
    check_linear(t, state);
    check_radius(t);
    check_mercer(t);
    check_margin(t);
}

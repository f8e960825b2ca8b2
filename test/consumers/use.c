/*
 * A program that links hinge: two points, -1 at x = -1 and +1 at x = 1, Gaussian kernel, C too large to matter. By
 * hand: alpha = 1 / (1 - k) for both, k = exp(-4 gamma), and f(x) = alpha (exp(-gamma (x-1)^2) - exp(-gamma (x+1)^2)).
 */
#include <hinge/hinge.h>

#include <math.h>
#include <stdio.h>

static int near(const char *what, double value, double expected)
{
    printf("%s = %.9g, by hand %.9g\n", what, value, expected);
    return fabs(value - expected) <= 1e-5 * fabs(expected);
}

int main(void)
{
    const double gamma = 0.3, points[] = { -1, 1 }, labels[] = { -1, 1 }, at = 0.5;
    hinge_matrix x = hinge_matrix_f64(points, 2, 1), z = hinge_matrix_f64(&at, 1, 1);
    hinge_params params = hinge_params_default(HINGE_C_SVC);
    params.kernel = hinge_kernel_rbf(gamma);
    params.C = 1000;
    params.eps = 1e-6;

    hinge_model *model = NULL;
    hinge_report report;
    hinge_error err;
    double label = 0, f = 0;
    if (hinge_train(&model, &x, labels, &params, &report, &err) != HINGE_OK ||
        hinge_predict(model, &z, NULL, &label, &f, &err) != HINGE_OK) {
        fprintf(stderr, "%s\n", err.text);
        hinge_model_free(model);
        return 1;
    }
    double alpha = 1 / (1 - exp(-4 * gamma));
    double by_hand = alpha * (exp(-gamma * 0.25) - exp(-gamma * 2.25));
    if (hinge_model_labels(model)[0] != 1)
        f = -f;
    int good = near("f(0.5)", f, by_hand) & near("objective", report.objective, -alpha) & (label == 1);
    hinge_model_free(model);
    printf("hinge %s, %s\n", hinge_version(), report.blas);
    return good ? 0 : 1;
}

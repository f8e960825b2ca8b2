/*
 * A kernel is an inner product of features. Here both are computed for (1 + <x, z>)^2 in three variables: ten features,
 * in which a linear machine finds what the kernel machine finds. And not every function of two examples is a kernel:
 * Mercer's condition tells.
 */
#include <hinge/theory.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 60, D = 3, FEATURES = 10 };

static void check(hinge_status status, const hinge_error *err)
{
    if (status == HINGE_OK)
        return;
    fprintf(stderr, "%s\n", err->text);
    exit(1);
}

static void decide(const hinge_matrix *x, const double *y, hinge_kernel kernel, double *f)
{
    hinge_params params = hinge_params_default(HINGE_C_SVC);
    hinge_model *model = NULL;
    hinge_error err;
    params.kernel = kernel;
    params.C = 10;
    params.eps = 1e-8;
    check(hinge_train(&model, x, y, &params, NULL, &err), &err);
    check(hinge_predict(model, x, NULL, NULL, f, &err), &err);
    hinge_model_free(model);
}

int main(void)
{
    static double points[N * D], y[N], z[N * FEATURES], by_kernel[N], by_features[N];
    uint32_t state = 11;
    for (size_t i = 0; i < N * D; i++) {
        state = state * 1664525u + 1013904223u;
        points[i] = state / 2147483648.0 - 1;
    }
    for (size_t i = 0; i < N; i++) { /* inside or outside of a ball */
        double square = 0;
        for (size_t c = 0; c < D; c++)
            square += points[D * i + c] * points[D * i + c];
        y[i] = square < 1 ? 1 : -1;
    }

    hinge_matrix x = hinge_matrix_f64(points, N, D), features = hinge_matrix_f64(z, N, FEATURES);
    hinge_kernel kernel = hinge_kernel_polynomial(2, 1, 1);
    hinge_error err;
    check(hinge_polynomial_features(&x, &kernel, 0, z, &err), &err);

    double worst = 0;
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++) {
            double inner = 0, dot = 1;
            for (size_t c = 0; c < FEATURES; c++)
                inner += z[i * FEATURES + c] * z[j * FEATURES + c];
            for (size_t c = 0; c < D; c++)
                dot += points[i * D + c] * points[j * D + c];
            worst = fmax(worst, fabs(inner - dot * dot));
        }
    printf("<phi(x), phi(z)> and (1 + <x, z>)^2 differ by %s\n", worst < 1e-12 ? "less than 1e-12" : "too much");

    decide(&x, y, kernel, by_kernel);
    decide(&features, y, hinge_kernel_linear(), by_features);
    worst = 0;
    for (size_t i = 0; i < N; i++)
        worst = fmax(worst, fabs(by_kernel[i] - by_features[i]));
    printf("kernel machine and linear machine in features: decision values differ by %s\n",
           worst < 1e-6 ? "less than 1e-6" : "too much");

    hinge_kernel asked[] = { kernel, hinge_kernel_rbf(1), hinge_kernel_sigmoid(1, -1) };
    for (size_t k = 0; k < sizeof asked / sizeof *asked; k++) {
        hinge_mercer mercer;
        check(hinge_mercer_check(&x, &asked[k], 0, 0, &mercer, &err), &err);
        printf("%-10s %s\n", hinge_kernel_info(asked[k].type)->keyword,
               mercer.semidefinite ? "positive semi-definite on these points" : "not a kernel");
    }
    return 0;
}

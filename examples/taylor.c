/*
 * The Gaussian kernel of one variable is an inner product of infinitely many features:
 *
 *     exp(-(x - z)^2) = sum over k of Phi_k(x) Phi_k(z),   Phi_k(x) = exp(-x^2) sqrt(2^k / k!) x^k
 *
 * by the Taylor series of exp(2 x z). How fast do the first K of them get there, and what does a linear SVM on them
 * make of data that no line parts: +1 in the middle, -1 on both sides?
 */
#include <hinge/theory.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 41, MOST = 12 };

/* phi[K]: the first K features of x; each is the one before times sqrt(2 / k) x. */
static void taylor(double x, size_t K, double *phi)
{
    phi[0] = exp(-x * x);
    for (size_t k = 1; k < K; k++)
        phi[k] = phi[k - 1] * sqrt(2.0 / (double)k) * x;
}

static hinge_model *train(const hinge_matrix *x, const double *y, hinge_kernel kernel, double *f)
{
    hinge_params params = hinge_params_default(HINGE_C_SVC);
    hinge_model *model = NULL;
    hinge_error err;
    params.kernel = kernel;
    params.C = 10;
    params.eps = 1e-8;
    if (hinge_train(&model, x, y, &params, NULL, &err) != HINGE_OK ||
        hinge_predict(model, x, NULL, NULL, f, &err) != HINGE_OK) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    return model;
}

int main(void)
{
    double x[N], y[N], z[N * MOST], f[N], g[N];
    for (int i = 0; i < N; i++) {
        x[i] = (i - N / 2) * 0.075; /* -1.5 .. 1.5 */
        y[i] = fabs(x[i]) < 0.5 ? 1 : -1;
    }
    hinge_matrix points = hinge_matrix_f64(x, N, 1);
    hinge_model *gauss = train(&points, y, hinge_kernel_rbf(1), f);
    for (size_t K = 3; K <= MOST; K += 3) {
        double kernel = 0, decision = 0;
        for (size_t i = 0; i < N; i++)
            taylor(x[i], K, z + i * K);
        for (size_t i = 0; i < N; i++)
            for (size_t j = 0; j < N; j++) {
                double sum = 0;
                for (size_t k = 0; k < K; k++)
                    sum += z[i * K + k] * z[j * K + k];
                kernel = fmax(kernel, fabs(sum - exp(-(x[i] - x[j]) * (x[i] - x[j]))));
            }
        hinge_matrix features = hinge_matrix_f64(z, N, K);
        hinge_model_free(train(&features, y, hinge_kernel_linear(), g));
        for (size_t i = 0; i < N; i++)
            decision = fmax(decision, fabs(f[i] - g[i]));
        printf("%2zu features: kernel off by at most %.1e, decision values by %.0e\n", K, kernel, decision);
    }
    hinge_model_free(gauss);
    return 0;
}

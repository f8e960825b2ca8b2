/*
 * A network of radial basis functions beside a support vector machine. Both are sums over centres, f(x) = sum a_k
 * exp(-gamma ||x - c_k||^2) + b. The network's centres are found without labels, by k-means, and its a by a linear
 * machine on the features exp(-gamma ||x - c_k||^2). The support vector machine chooses its centres, the support
 * vectors, and their a at once.
 */
#include <hinge/theory.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 400, N_NEW = 1000, MOST = 32 };
static const double gamma_ = 2;

/* A number in [0, 1), of a generator that is the same on any machine. */
static double draw(unsigned long long *state)
{
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return (double)(*state >> 33) / 2147483648.0;
}

/* Two spirals with noise, one of each class. */
static void spirals(double (*x)[2], double *y, size_t n, unsigned long long seed)
{
    for (size_t i = 0; i < n; i++) {
        double turn = 0.5 + 5.5 * draw(&seed), noise = 0.3;
        y[i] = i % 2 ? 1 : -1;
        x[i][0] = y[i] * turn / 3 * cos(turn) + noise * (draw(&seed) - 0.5);
        x[i][1] = y[i] * turn / 3 * sin(turn) + noise * (draw(&seed) - 0.5);
    }
}

static double distance2(const double a[2], const double b[2])
{
    return (a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]);
}

/* Lloyd's k-means from the first k points: each point to the nearest centre, each centre to the mean of its points. */
static void k_means(double (*x)[2], size_t n, double (*centre)[2], size_t k)
{
    for (size_t c = 0; c < k; c++)
        centre[c][0] = x[c][0], centre[c][1] = x[c][1];
    for (int round = 0; round < 100; round++) {
        double sum[MOST][3] = { { 0 } };
        for (size_t i = 0; i < n; i++) {
            size_t near = 0;
            for (size_t c = 1; c < k; c++)
                near = distance2(x[i], centre[c]) < distance2(x[i], centre[near]) ? c : near;
            sum[near][0] += x[i][0], sum[near][1] += x[i][1], sum[near][2]++;
        }
        for (size_t c = 0; c < k; c++)
            if (sum[c][2] > 0)
                centre[c][0] = sum[c][0] / sum[c][2], centre[c][1] = sum[c][1] / sum[c][2];
    }
}

/* z[n * k]: how near each point is to each centre. */
static void near(double (*x)[2], size_t n, double (*centre)[2], size_t k, double *z)
{
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < k; c++)
            z[i * k + c] = exp(-gamma_ * distance2(x[i], centre[c]));
}

/* Trains on rows, and counts how many new ones it gets wrong. */
static size_t errors(double *rows, const double *y, double *new_rows, const double *new_y, size_t d,
                     hinge_kernel kernel, size_t *centres)
{
    hinge_matrix x = hinge_matrix_f64(rows, N, d), x_new = hinge_matrix_f64(new_rows, N_NEW, d);
    hinge_params params = hinge_params_default(HINGE_C_SVC);
    hinge_model *model = NULL;
    hinge_error err;
    double told[N_NEW];
    size_t wrong = 0;
    params.kernel = kernel;
    params.C = 100;
    params.eps = 1e-6;
    if (hinge_train(&model, &x, y, &params, NULL, &err) != HINGE_OK ||
        hinge_predict(model, &x_new, NULL, told, NULL, &err) != HINGE_OK) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    for (size_t i = 0; i < N_NEW; i++)
        wrong += told[i] != new_y[i];
    *centres = hinge_model_n_sv(model);
    hinge_model_free(model);
    return wrong;
}

int main(void)
{
    static double x[N][2], y[N], x_new[N_NEW][2], y_new[N_NEW], centre[MOST][2], z[N * MOST], z_new[N_NEW * MOST];
    size_t n_sv;
    spirals(x, y, N, 1);
    spirals(x_new, y_new, N_NEW, 2);
    for (size_t k = 4; k <= MOST; k *= 2) {
        k_means(x, N, centre, k);
        near(x, N, centre, k, z);
        near(x_new, N_NEW, centre, k, z_new);
        size_t wrong = errors(z, y, z_new, y_new, k, hinge_kernel_linear(), &n_sv);
        printf("network of %2zu centres by k-means: %3zu of %d wrong\n", k, wrong, N_NEW);
    }
    size_t wrong = errors(&x[0][0], y, &x_new[0][0], y_new, 2, hinge_kernel_rbf(gamma_), &n_sv);
    printf("support vector machine, %2zu support vectors: %zu of %d wrong\n", n_sv, wrong, N_NEW);
    return 0;
}

/*
 * Train, certify and predict on arrays in memory: two half moons, one of each class.
 *
 *     cc arrays.c $(pkg-config --cflags --libs hinge) -lm && ./a.out
 */
#include <hinge/hinge.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 400, D = 2 };

/* A number in [-1, 1), the same sequence on every machine. */
static double noise(void)
{
    static uint32_t state = 1;
    state = state * 1664525u + 1013904223u;
    return state / 2147483648.0 - 1;
}

/* Example i is a point on the upper moon (label 1) or on the lower one (label -1). */
static void make_moons(double *x, double *y, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double angle = 3.14159265358979 * (noise() + 1) / 2;
        int upper = i % 2 == 0;
        x[D * i] = (upper ? cos(angle) : 1 - cos(angle)) + 0.3 * noise();
        x[D * i + 1] = (upper ? sin(angle) : 0.5 - sin(angle)) + 0.3 * noise();
        y[i] = upper ? 1 : -1;
    }
}

static void check(hinge_status status, const hinge_error *err)
{
    if (status == HINGE_OK)
        return;
    fprintf(stderr, "%s\n", err->text);
    exit(1);
}

int main(void)
{
    static double x[N * D], y[N], x_new[N * D], y_new[N], predicted[N];
    make_moons(x, y, N);
    make_moons(x_new, y_new, N);
    hinge_matrix examples = hinge_matrix_f64(x, N, D), new_examples = hinge_matrix_f64(x_new, N, D);

    hinge_params params = hinge_params_default(HINGE_C_SVC);
    params.kernel = hinge_kernel_rbf(2);
    params.C = 10;
    hinge_model *model = NULL;
    hinge_report report;
    hinge_error err;
    check(hinge_train(&model, &examples, y, &params, &report, &err), &err);
    printf("%s on %zu examples\n", hinge_outcome_text(report.outcome), report.n);

    /* How good is it? Everything is computed anew, in double, from the data and the model. */
    hinge_certificate proof;
    check(hinge_certify(model, &examples, y, &params, &proof, &err), &err);
    printf("objective %.1f, not more than 0.1 %% above the best: %s\n", proof.primal,
           proof.gap <= 0.001 * proof.primal ? "yes" : "no");

    check(hinge_predict(model, &new_examples, NULL, predicted, NULL, &err), &err);
    size_t right = 0;
    for (size_t i = 0; i < N; i++)
        right += predicted[i] == y_new[i];
    printf("right on %.0f %% of %d new examples\n", 100.0 * (double)right / N, N);
    hinge_model_free(model);
    return 0;
}

/*
 * The widest street between two classes, three ways: the primal quadratic program in (b, w), the dual one in alpha, and
 * hinge_train with C = infinity. Then one example goes over to the other class, and there is no street any more.
 */
#include <hinge/qp.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 10, D = 2 };

static void check(hinge_status status, const hinge_error *err)
{
    if (status == HINGE_OK)
        return;
    fprintf(stderr, "%s\n", err->text);
    exit(1);
}

/* min 1/2 |w|^2, y (b + <w, x>) >= 1: u = (b, w) */
static hinge_qp_outcome primal(const double *x, const double *y, double *u)
{
    double q[] = { 0, 0, 0,  0, 1, 0,  0, 0, 1 }, a[N * 3], c[N];
    for (size_t i = 0; i < N; i++) {
        a[3 * i] = y[i];
        a[3 * i + 1] = y[i] * x[D * i];
        a[3 * i + 2] = y[i] * x[D * i + 1];
        c[i] = 1;
    }
    hinge_qp qp = { .n = 3, .q = q, .n_inequalities = N, .a = a, .c = c };
    hinge_qp_result result = { .u = u };
    hinge_error err;
    check(hinge_qp_solve(&qp, &result, &err), &err);
    return result.outcome;
}

/* min 1/2 alpha'Q alpha - 1'alpha, y'alpha = 0, alpha >= 0; w = sum alpha y x, and b is minus the multiplier of y'alpha
 * = 0: the dual of the dual is the primal. */
static void dual(const double *x, const double *y, double *u)
{
    static double q[N * N], identity[N * N], minus[N], zeros[N], alpha[N], b[1];
    for (size_t i = 0; i < N; i++) {
        for (size_t j = 0; j < N; j++)
            q[i * N + j] = y[i] * y[j] * (x[D * i] * x[D * j] + x[D * i + 1] * x[D * j + 1]);
        identity[i * N + i] = 1;
        minus[i] = -1;
    }
    hinge_qp qp = { .n = N, .q = q, .p = minus, .n_inequalities = N, .a = identity, .c = zeros, .n_equalities = 1,
                    .e = y, .f = zeros };
    hinge_qp_result result = { .u = alpha, .y = b };
    hinge_error err;
    check(hinge_qp_solve(&qp, &result, &err), &err);
    u[0] = -b[0];
    u[1] = u[2] = 0;
    for (size_t i = 0; i < N; i++)
        for (size_t c = 0; c < D; c++)
            u[1 + c] += alpha[i] * y[i] * x[D * i + c];
}

static hinge_outcome train(const double *x, const double *y, double *u)
{
    hinge_matrix examples = hinge_matrix_f64(x, N, D);
    hinge_params params = hinge_params_default(HINGE_C_SVC);
    hinge_model *model = NULL;
    hinge_report report;
    hinge_error err;
    params.kernel = hinge_kernel_linear();
    params.C = INFINITY;
    check(hinge_train(&model, &examples, y, &params, &report, &err), &err);
    if (report.outcome == HINGE_CONVERGED) {
        check(hinge_model_weights(model, 0, u + 1, &err), &err);
        u[0] = -hinge_model_rho(model)[0];
    }
    hinge_model_free(model);
    return report.outcome;
}

static void print(const char *how, const double *u, const double *to)
{
    double off = fmax(fabs(u[0] - to[0]), fmax(fabs(u[1] - to[1]), fabs(u[2] - to[2])));
    printf("%-12s f(x) = %.3f x1 + %.3f x2 %+.3f, margin %.4f, %s\n", how, u[1], u[2], u[0], 1 / hypot(u[1], u[2]),
           off < 1e-8 ? "the same" : "another one");
}

int main(void)
{
    double x[] = { 1, 1,  2, 3,  3, 2,  4, 4,  3, 5,  5, 1,  6, 3,  7, 2,  5, -1,  8, 4 };
    double y[] = { 1, 1, 1, 1, 1, -1, -1, -1, -1, -1 }, by_primal[3], by_dual[3], by_hinge[3];
    primal(x, y, by_primal);
    dual(x, y, by_dual);
    train(x, y, by_hinge);
    print("primal QP", by_primal, by_primal);
    print("dual QP", by_dual, by_primal);
    print("hinge_train", by_hinge, by_primal);

    y[1] = -1; /* (2, 3) lies half way from (1, 1) to (3, 5) */
    printf("with one label wrong: the primal QP is %s; ", hinge_qp_outcome_text(primal(x, y, by_primal)));
    printf("hinge_train: %s\n", hinge_outcome_text(train(x, y, by_hinge)));
    return 0;
}

/*
 * Soft margin: how many examples lie where, as C grows. Each is outside the margin (xi = 0), inside but right, or
 * wrong; support vectors are on the margin or not. The slacks and alpha of every example come from hinge_kinds_of.
 *
 *     slacks data/breast_cancer.train.xz
 */
#include <hinge/io.h>
#include <hinge/theory.h>
#include <stdio.h>
#include <stdlib.h>

static void check(hinge_status status, const hinge_error *err)
{
    if (status == HINGE_OK)
        return;
    fprintf(stderr, "%s\n", err->text);
    exit(1);
}

int main(int argc, char **argv)
{
    hinge_data data;
    hinge_error err;
    if (argc != 2) {
        fprintf(stderr, "usage: slacks breast_cancer.train.xz\n");
        return 2;
    }
    check(hinge_data_read(argv[1], NULL, &data, &err), &err);
    hinge_params params = hinge_params_default(HINGE_C_SVC);
    params.kernel = hinge_kernel_rbf(1e-5);
    params.eps = 1e-6;
    params.precision = HINGE_PRECISION_F64;
    printf("         outside  inside   wrong | on the margin  alpha = C | margin\n");
    for (params.C = 0.01; params.C < 1e5; params.C *= 100) {
        hinge_model *model = NULL;
        hinge_kinds kinds;
        check(hinge_train(&model, &data.x, data.y, &params, NULL, &err), &err);
        check(hinge_kinds_of(model, &data.x, data.y, &params, 0, 1e-4, &kinds, NULL, &err), &err);
        printf("C = %-5g %6zu  %6zu  %6zu | %13zu  %9zu | %.1g\n", params.C, kinds.n_slack[HINGE_SLACK_NONE],
               kinds.n_slack[HINGE_SLACK_INSIDE], kinds.n_slack[HINGE_SLACK_WRONG], kinds.n_margin_sv,
               kinds.n_non_margin_sv, hinge_margin(kinds.norm2));
        /* complementary slackness: alpha (y f - 1 + xi) = 0, (C - alpha) xi = 0 */
        if (kinds.alpha_slackness > 1e-5 || kinds.slack_slackness > 1e-5)
            printf("the conditions of optimality are violated\n");
        hinge_model_free(model);
    }
    hinge_data_free(&data);
    return 0;
}

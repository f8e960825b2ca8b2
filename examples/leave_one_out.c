/*
 * Leaving one example out, training on the others, and predicting it: the mean error over all examples, exactly, beside
 * the bound (number of support vectors) / n, which costs nothing. Only support vectors have to be left out.
 *
 *     leave_one_out data/breast_cancer.train.xz
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
        fprintf(stderr, "usage: leave_one_out breast_cancer.train.xz\n");
        return 2;
    }
    check(hinge_data_read(argv[1], NULL, &data, &err), &err);
    hinge_params params = hinge_params_default(HINGE_C_SVC);
    params.C = 100;
    params.eps = 1e-6;
    params.precision = HINGE_PRECISION_F64;
    for (double gamma = 1e-6; gamma < 2e-4; gamma *= 10) {
        hinge_leave_one_out_report loo;
        params.kernel = hinge_kernel_rbf(gamma);
        check(hinge_leave_one_out(&data.x, data.y, &params, NULL, &loo, &err), &err);
        printf("gamma = %-7.0e error %.2f <= %.2f; %s left out and retrained\n", gamma, loo.error, loo.bound,
               loo.retrained == loo.n_sv ? "only support vectors were" : "every example was");
    }
    hinge_data_free(&data);
    return 0;
}

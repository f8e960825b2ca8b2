/*
 * Stochastic subgradients against the exact solution: the soft-margin SVM on the breast cancer data that ship. After
 * how many epochs is the objective how near?
 *
 *     sgd data/breast_cancer.train.xz
 */
#include <hinge/io.h>
#include <hinge/theory.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { EPOCHS = 1000 };

static void check(hinge_status status, const hinge_error *err)
{
    if (status == HINGE_OK)
        return;
    fprintf(stderr, "%s\n", err->text);
    exit(1);
}

/* Features with mean 0 and standard deviation 1: SGD takes steps of one size for all of them. */
static void standardise(const hinge_matrix *m)
{
    double *x = (double *)m->data;
    for (size_t c = 0; c < m->cols; c++) {
        double mean = 0, square = 0;
        for (size_t i = 0; i < m->rows; i++)
            mean += x[i * m->stride + c] / (double)m->rows;
        for (size_t i = 0; i < m->rows; i++)
            square += pow(x[i * m->stride + c] - mean, 2) / (double)m->rows;
        for (size_t i = 0; i < m->rows; i++)
            x[i * m->stride + c] = (x[i * m->stride + c] - mean) / sqrt(square);
    }
}

int main(int argc, char **argv)
{
    hinge_data data;
    hinge_error err;
    if (argc != 2) {
        fprintf(stderr, "usage: sgd breast_cancer.train.xz\n");
        return 2;
    }
    check(hinge_data_read(argv[1], NULL, &data, &err), &err);
    standardise(&data.x);
    size_t n = data.x.rows, d = data.x.cols;
    double *w = calloc(d, sizeof *w), b, C = 1;
    if (w == NULL)
        return 1;

    /* exactly: C sum xi + 1/2 |w|^2, which is lambda |w|^2 + mean xi times C n */
    double lambda = hinge_tradeoff_convert(HINGE_TRADEOFF_SUM, HINGE_TRADEOFF_LAMBDA, C, n);
    hinge_params params = hinge_params_default(HINGE_C_SVC);
    hinge_model *model = NULL;
    hinge_report report;
    params.kernel = hinge_kernel_linear();
    params.C = C;
    params.eps = 1e-6;
    check(hinge_train(&model, &data.x, data.y, &params, &report, &err), &err);
    double best = -report.objective / (C * (double)n);
    printf("exact solution: objective %.5f\n", best);

    static hinge_online_round history[EPOCHS];
    hinge_sgd_options options = { .lambda = lambda, .epochs = EPOCHS, .bias = 1, .seed = 1 };
    check(hinge_sgd(&data.x, data.y, &options, w, &b, history, &err), &err);
    double wanted[] = { 1, 0.1, 0.01 };
    for (size_t k = 0, epoch = 0; k < 3; k++) {
        while (epoch < EPOCHS && history[epoch].objective > (1 + wanted[k]) * best)
            epoch++;
        printf("SGD is within %g %% after %s epochs\n", 100 * wanted[k],
               epoch < 10       ? "less than 10"
               : epoch < 100    ? "10 to 100"
               : epoch < EPOCHS ? "100 to 1000"
                                : "more than 1000");
    }
    hinge_model_free(model);
    hinge_data_free(&data);
    free(w);
    return 0;
}

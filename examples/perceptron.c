/*
 * Two linear classifiers that learn round by round, on the breast cancer data that ship: the batch perceptron, and the
 * soft-margin SVM by stochastic subgradients (SGD).
 *
 *     perceptron data/breast_cancer.train.xz
 */
#include <hinge/io.h>
#include <hinge/theory.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 200, EPOCHS = 40 };

static void check(hinge_status status, const hinge_error *err)
{
    if (status == HINGE_OK)
        return;
    fprintf(stderr, "%s\n", err->text);
    exit(1);
}

/* Each feature to [-1, 1]: these methods like features of one size. The matrix is our own, in doubles. */
static void scale(const hinge_matrix *m)
{
    double *x = (double *)m->data;
    for (size_t c = 0; c < m->cols; c++) {
        double low = x[c], high = x[c];
        for (size_t i = 0; i < m->rows; i++) {
            double value = x[i * m->stride + c];
            low = value < low ? value : low;
            high = value > high ? value : high;
        }
        for (size_t i = 0; i < m->rows; i++)
            x[i * m->stride + c] = high > low ? 2 * (x[i * m->stride + c] - low) / (high - low) - 1 : 0;
    }
}

int main(int argc, char **argv)
{
    hinge_data data;
    hinge_error err;
    if (argc != 2) {
        fprintf(stderr, "usage: perceptron breast_cancer.train.xz\n");
        return 2;
    }
    check(hinge_data_read(argv[1], NULL, &data, &err), &err);
    size_t n = data.x.rows, d = data.x.cols, rounds;
    scale(&data.x);
    double *w = calloc(d, sizeof *w), b;
    if (w == NULL)
        return 1;

    hinge_online_round history[ROUNDS];
    hinge_perceptron_options perceptron = { .rounds = ROUNDS, .step = 1.0 / (double)n, .bias = 1 };
    check(hinge_perceptron(&data.x, data.y, &perceptron, w, &b, history, &rounds, &err), &err);
    printf("perceptron, round 1: %zu of %zu wrong; round %zu: %zu\n", history[0].errors, n, rounds,
           history[rounds - 1].errors);

    /* lambda in the convention of SGD for C = 1 in that of hinge_train */
    double lambda = hinge_tradeoff_convert(HINGE_TRADEOFF_SUM, HINGE_TRADEOFF_LAMBDA, 1, n);
    hinge_sgd_options sgd = { .lambda = lambda, .epochs = EPOCHS, .bias = 1 };
    check(hinge_sgd(&data.x, data.y, &sgd, w, &b, history, &err), &err);
    printf("SGD, epoch 1: objective %.2f; epoch %d: %.2f, %zu wrong\n", history[0].objective, EPOCHS,
           history[EPOCHS - 1].objective, history[EPOCHS - 1].errors);
    free(w);
    hinge_data_free(&data);
    return 0;
}

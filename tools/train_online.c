/*
 * A linear classifier round by round: labels to +1 and -1, the library's perceptron or SGD, a model of w.
 */
#include <stdlib.h>

#include "train_online.h"

/* y[n] of +1 and -1; the first label is the positive one, except that -1 first, +1 second are swapped. */
static double *signs(const hinge_data *data, const char *path, double labels[2])
{
    size_t n = data->x.rows, other = 0;
    double *y = allocate(n, sizeof *y);
    while (other < n && data->y[other] == data->y[0])
        other++;
    if (n == 0 || other == n)
        die(EXIT_DATA, "%s: examples of two classes are needed", path);
    int swap = data->y[0] == -1 && data->y[other] == 1;
    labels[0] = data->y[swap ? other : 0];
    labels[1] = data->y[swap ? 0 : other];
    for (size_t i = 0; i < n; i++) {
        if (data->y[i] != labels[0] && data->y[i] != labels[1])
            die(EXIT_DATA, "%s: more than two classes; the perceptron and sgd are for two", path);
        y[i] = data->y[i] == labels[0] ? 1 : -1;
    }
    return y;
}

static void run(struct online *o, const hinge_matrix *x, const double *y, const hinge_params *p, double *w, double *b)
{
    double *bias = p->no_bias ? NULL : b;
    if (o->solver == SOLVER_PERCEPTRON) {
        hinge_perceptron_options options = {
            .rounds = o->epochs, .batch = o->batch, .bias = !p->no_bias, .seed = p->seed, .threads = p->threads,
            .progress = p->progress, .progress_arg = p->progress_arg
        };
        check(hinge_perceptron(x, y, &options, w, bias, NULL, NULL, &failure));
        return;
    }
    o->lambda = o->ball > 0 ? 0 : hinge_tradeoff_convert(HINGE_TRADEOFF_SUM, HINGE_TRADEOFF_LAMBDA, p->C, x->rows);
    if (o->epochs == 0) {
        const hinge_kernel linear = hinge_kernel_linear();
        double radius;
        check(hinge_radius(x, &linear, 0, p->threads, &radius, &failure));
        o->epochs = hinge_sgd_epochs(o->lambda, radius, x->rows, o->batch);
    }
    hinge_sgd_options options = {
        .lambda = o->lambda, .epochs = o->epochs, .batch = o->batch, .bias = !p->no_bias, .seed = p->seed,
        .threads = p->threads, .progress = p->progress, .progress_arg = p->progress_arg,
        .loss = (hinge_loss)o->loss, .ball = o->ball
    };
    check(hinge_sgd(x, y, &options, w, bias, NULL, &failure));
}

static void measure(struct online *o, const hinge_matrix *x, const double *y, const hinge_params *p, const double *w,
                    double b)
{
    double *f = allocate(x->rows, sizeof *f), factor = o->ball > 0 ? 1 / (double)x->rows : p->C;
    check(hinge_linear_decisions(x, w, &b, 1, p->threads, f, &failure));
    o->objective = 0;
    for (size_t k = 0; o->ball == 0 && k < x->cols; k++)
        o->objective += 0.5 * w[k] * w[k];
    for (size_t i = 0; i < x->rows; i++) {
        o->errors += y[i] * f[i] <= 0;
        o->objective += factor * hinge_loss_value((hinge_loss)o->loss, y[i] * f[i]);
    }
    free(f);
}

hinge_model *online_train(struct online *o, const hinge_data *data, const char *path, const hinge_params *params)
{
    double start = now(), b = 0, labels[2], *y = signs(data, path, labels), *w = allocate(data->x.cols, sizeof *w);
    hinge_model *model = NULL;
    run(o, &data->x, y, params, w, &b);
    o->seconds = now() - start;
    measure(o, &data->x, y, params, w, b);
    check(hinge_linear_model(&model, w, data->x.cols, b, labels[0], labels[1], &failure));
    free(w);
    free(y);
    return model;
}

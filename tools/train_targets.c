/*
 * Several targets an example, which hinge train reads from a file of their own, and trains on at once.
 */
#include "common.h"
#include "cmd_train.h"

#include <math.h>
#include <stdlib.h>

void targets_check(const struct train_settings *s)
{
    const struct {
        int given;
        const char *name;
    } others[] = {
        { s->folds > 0, "-v" },
        { s->params.probability, "-b" },
        { s->test != NULL, "--test" },
        { s->profile, "--profile" },
        { s->record, "--record" },
        { s->positive != NULL, "--positive" },
        { s->online.solver != 0, "--solver perceptron and sgd" },
        { isinf(s->params.C), "-c inf" },
        { s->params.task == HINGE_NU_SVC, "-s nu_svc" },
        { s->params.task == HINGE_ONE_CLASS, "-s one_class" },
    };
    for (size_t k = 0; s->targets && k < COUNT_OF(others); k++)
        if (others[k].given)
            die(EXIT_USAGE, "train: --targets goes without %s", others[k].name);
}

void targets_read(const char *path, struct train_run *run)
{
    hinge_data data;
    load_table(path, run->data.x.rows, &data);
    size_t rows = data.x.rows, n = data.x.cols;
    double *y = allocate(n * rows, sizeof *y);
    for (size_t i = 0; i < rows; i++)
        for (size_t t = 0; t < n; t++)
            y[t * rows + i] = entry_of(&data, i, t);
    hinge_data_free(&data);
    run->target_values = y;
    run->targets = (hinge_targets){ .n = n, .y = y };
}

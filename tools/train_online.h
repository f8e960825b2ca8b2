/* hinge train --solver perceptron and sgd: the methods of doc/online.md. */
#ifndef HINGE_TOOLS_ONLINE_H
#define HINGE_TOOLS_ONLINE_H

#include "common.h"

enum { SOLVER_PERCEPTRON = 100, SOLVER_SGD }; /* beside those of hinge_solver */

struct online {
    int solver;           /* 0: neither */
    size_t epochs, batch; /* asked for; 0: the library decides. After the training, the epochs (rounds) that ran */
    size_t errors;        /* examples with y f <= 0 */
    double lambda;        /* sgd: 1 / (2 C n) */
    double objective;     /* 1/2 |w|^2 + C sum max(0, 1 - y f) */
    double seconds;
};

/* Trains on data in f64 and of two classes, the caller's model; dies if they are not. params->progress is told of the
 * epochs, and may end it. */
hinge_model *online_train(struct online *o, const hinge_data *data, const char *path, const hinge_params *params);

#endif

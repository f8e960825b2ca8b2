/* hinge train --solver perceptron and sgd: the methods of doc/online.md. */
#ifndef HINGE_TOOLS_ONLINE_H
#define HINGE_TOOLS_ONLINE_H

#include <hinge/theory.h>

#include "common.h"

enum { SOLVER_PERCEPTRON = 100, SOLVER_SGD }; /* beside those of hinge_solver */

struct online {
    int solver;           /* 0: neither */
    size_t epochs, batch; /* asked for; 0: the library decides. After the training, the epochs (rounds) that ran */
    size_t errors;        /* examples with y f <= 0 */
    int loss;             /* sgd: a hinge_loss */
    double ball;          /* sgd: of min E_in subject to |w|^2 <= ball; 0: none */
    double lambda;        /* sgd: 1 / (2 C n); with a ball 0 */
    double objective;     /* 1/2 |w|^2 + C sum of losses; with a ball their mean */
    double seconds;
};

/* Trains on data in f64 and of two classes, the caller's model; dies if they are not. params->progress is told of the
 * epochs, and may end it. */
hinge_model *online_train(struct online *o, const hinge_data *data, const char *path, const hinge_params *params);

#endif

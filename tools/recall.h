/*
 * How a model was trained, as far as it tells: by keys that `hinge train --record` wrote, and by its coefficients,
 * which pile up at C.
 */
#ifndef HINGE_TOOLS_RECALL_H
#define HINGE_TOOLS_RECALL_H

#include "common.h"

struct recall {
    int C_of_coefficients; /* C was not given, but seen in them */
    char misfit[300];      /* what contradicts the parameters, "": nothing */
};

/* Fills in what the options left open (C, nu: 0; p: NaN; weights of classes: none). Returns what
 * is still missing, or NULL. */
const char *recall_params(const hinge_model *model, hinge_params *params, struct recall *recall);
/* Looks for signs that the model was trained otherwise. */
void recall_check(const hinge_model *model, const hinge_params *params, const hinge_certificate *certificate,
                  struct recall *recall);

#endif

/*
 * What both ways of explaining a model do with rows. Read include/hinge/explain.h before.
 */
#ifndef HG_EXPLAIN_H
#define HG_EXPLAIN_H

#include "lib/model/model.h"

/* Checks rows for a model that has features. */
hinge_status hg_explain_check(const hinge_model *model, const hinge_matrix *x, const char *name, int threads,
                              hinge_error *err);
/* Scales rows x [n * d] as the model does, where it does. */
void hg_explain_scale(const hinge_model *model, size_t n, double *x);

#endif

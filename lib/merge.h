#ifndef HG_MERGE_H
#define HG_MERGE_H

#include "lib/model.h"

/* By model->equal, a model without equal support vectors in a class, for prediction alone: *merged, to be freed, or
 * NULL where there are few. */
hinge_status hg_model_merge(const hinge_model *model, int threads, hinge_model **merged, hinge_error *err);

#endif

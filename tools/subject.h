/*
 * A model beside data: what `hinge report` and `hinge plot` judge.
 */
#ifndef HINGE_TOOLS_SUBJECT_H
#define HINGE_TOOLS_SUBJECT_H

#include <hinge/theory.h>

#include "common.h"

struct subject {
    hinge_model *model;
    hinge_data data;      /* as predicted, in doubles */
    hinge_matrix trained; /* the same as the model was trained on them: scaled where it scales */
    double *scaled;       /* what trained.data points into then, otherwise NULL */
    double *labels;       /* [n] predicted */
    double *decisions;    /* [n * n_problems] */
    int located;          /* all support vectors are rows of the data: hinge_model_sv_index tells which */
    char why[256];        /* why it is not located */
};

/* Loads both, predicts in f64, and looks for the support vectors. Dies where the data have no labels. */
void subject_load(struct subject *s, const char *model_path, const char *data_path, const struct data_flags *flags,
                  int threads);
void subject_free(struct subject *s);

/* Returns the words of the data's labels, which begin with the model's; NULL: labels are numbers. */
const hinge_words *subject_words(const struct subject *s);
/* Lists the classes of the model in its order, then labels that only the data have, until there are most; returns how
 * many. */
size_t subject_labels(const struct subject *s, double *labels, size_t most);
/* Returns +1 or -1, or 0 where a row with this label is not in the problem. */
double problem_sign(const hinge_model *model, size_t problem, double label);

#endif

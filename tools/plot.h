/*
 * What hinge plot was asked for, and the picture of a model.
 */
#ifndef HINGE_TOOLS_PLOT_H
#define HINGE_TOOLS_PLOT_H

#include "common.h"

struct plot_settings {
    hinge_params params;
    struct data_flags data;
    const char *output, *keep;
    size_t features[2]; /* from 1; 0: not given */
    int path;
    double costs[3]; /* log2 of the first and the last C, and the step */
    size_t folds;
    int no_restart;
    double tolerance;
    const char *model_path, *data_path;
};

void draw_model(const struct plot_settings *settings);

#endif

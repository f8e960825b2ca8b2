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
    const char *features; /* as the user wrote them; NULL: not given */
    int path, scale;
    double costs[3]; /* log2 of the first and the last C, and the step */
    size_t folds;
    int no_restart;
    double tolerance;
    const char *model_path, *data_path;
};

struct subject;

void draw_model(const struct plot_settings *settings);
/* Draws a regression. */
void draw_values(const struct subject *s, const struct plot_settings *settings);

#endif

/*
 * The plane, or the line, of a picture: one or two features of the data, by number or name, with the others at their
 * mean.
 */
#ifndef HINGE_TOOLS_VIEW_H
#define HINGE_TOOLS_VIEW_H

#include "gnuplot.h"
#include "cmd_plot.h"
#include "subject.h"

struct view {
    const struct subject *s;
    const struct plot_settings *settings;
    size_t axes;       /* 1 or 2 */
    size_t feature[2]; /* from 0 */
    double low[2], high[2];
};

/* Finds features and ranges; dies of features that are not there. axes: 0 lets one feature be named, or takes 2 where
 * the data have so many. */
void view_open(struct view *v, size_t axes);
/* Returns place `at` of count along an axis. */
double view_place(const struct view *v, size_t axis, size_t at, size_t count);
/* Returns the value of an example on an axis. */
double view_entry(const struct view *v, size_t i, size_t axis);
/* Predicts points[n * axes]: labels[n], and decisions[n * problems] unless it is NULL. */
void view_predict(const struct view *v, const double *points, size_t n, double *labels, double *decisions);
/* Writes title, names of axes, their ranges, and the form of their numbers. */
void view_script(const struct view *v, const struct gnuplot *g);
/* Writes x y of the support vectors, whose rows are known; y is the label where there is one axis. */
void view_vectors(const struct view *v, const struct gnuplot *g);

#endif

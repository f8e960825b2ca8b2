/*
 * Ranges of features, as svm-scale measures, saves, restores and uses them.
 */
#ifndef HINGE_TOOLS_RANGES_H
#define HINGE_TOOLS_RANGES_H

#include "common.h"

struct interval {
    double low, high;
};

/* The intervals that features and labels are scaled to. */
struct targets {
    struct interval x, y;
    int scale_y;
};

/* The intervals that features and labels have before scaling. */
struct ranges {
    struct interval y;
    int y_known;
    size_t count;
    struct interval *x; /* [count] */
    const size_t *features; /* [count] from 1, those of the data; NULL: x[k] is feature k + 1 */
};

/* Takes the ranges of data whose matrix holds doubles. */
void ranges_measure(struct ranges *ranges, const hinge_data *data);
/* Reads ranges, and where to scale to, from a range file; dies of what is wrong with it. */
void ranges_read(struct ranges *ranges, struct targets *to, const char *path);
void ranges_write(const struct ranges *ranges, const struct targets *to, const char *path);
void ranges_free(struct ranges *ranges);

/* Returns row i of data whose matrix holds doubles. */
const double *row_of(const hinge_data *data, size_t i);

/* Tells whether a feature is left out, and becomes 0: it has no range, or never changes. */
int ranges_leave_out(const struct ranges *ranges, size_t feature);
/* Returns the number of feature k in files, from 1. */
size_t feature_number(const struct ranges *ranges, size_t feature);
/* Warns of features that change here, but are left out by the ranges of a file. */
void warn_of_lost_features(const struct ranges *here, const struct ranges *file, const char *path);
/* Sets low and high of so many features, [0, 0] of those left out; the caller frees both by free(). */
hinge_scaling ranges_scaling(const struct ranges *ranges, struct interval to, size_t cols);

#endif

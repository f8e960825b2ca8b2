/*
 * Ranges of features, as svm-scale measures, saves, restores and uses them.
 */
#ifndef HINGE_TOOLS_RANGES_H
#define HINGE_TOOLS_RANGES_H

#include "common.h"

struct interval {
    double low, high;
};

/* Where features and labels are to lie after scaling. */
struct targets {
    struct interval x, y;
    int scale_y;
};

/* Where they lie before. */
struct ranges {
    struct interval y;
    int y_known;
    size_t count;
    struct interval *x; /* [count] */
    const size_t *features; /* [count] from 1, those of the data; NULL: x[k] is feature k + 1 */
};

/* The ranges of data whose matrix holds doubles. */
void ranges_measure(struct ranges *ranges, const hinge_data *data);
/* Those of a range file, which also says where to; dies of what is wrong with it. */
void ranges_read(struct ranges *ranges, struct targets *to, const char *path);
void ranges_write(const struct ranges *ranges, const struct targets *to, const char *path);
void ranges_free(struct ranges *ranges);

/* Row i of data whose matrix holds doubles. */
const double *row_of(const hinge_data *data, size_t i);

/* A feature without a range, or that never changes, is left out: it becomes 0. */
int ranges_leave_out(const struct ranges *ranges, size_t feature);
/* Its number in files, from 1. */
size_t feature_number(const struct ranges *ranges, size_t feature);
/* Warns of features that change here, but are left out by the ranges of a file. */
void warn_of_lost_features(const struct ranges *here, const struct ranges *file, const char *path);
/* The ranges of so many features, those left out as [0, 0]; low and high are the caller's, to be freed by free(). */
hinge_scaling ranges_scaling(const struct ranges *ranges, struct interval to, size_t cols);

#endif

/*
 * Ranges of features, as svm-scale measures, saves, restores and uses them.
 */
#ifndef HINGE_TOOLS_RANGES_H
#define HINGE_TOOLS_RANGES_H

#include "common.h"

struct interval {
    double low, high;
};

/* Ranges of features and labels, and where they are scaled to. */
struct ranges {
    hinge_scaling x;         /* low, high: of the features; lower, upper: where to */
    struct interval y, y_to; /* of the labels, likewise */
    int scale_y;             /* labels are scaled too */
    const size_t *features;  /* [x.n_features] from 1, those of the data; NULL: x.low[k] is of feature k + 1 */
};

/* Takes the ranges of data whose matrix holds doubles. */
void ranges_measure(struct ranges *ranges, const hinge_data *data);
/* Reads ranges, and where to scale to, from a range file, which may have nothing of labels; dies of what is wrong. */
void ranges_read(struct ranges *ranges, const char *path);
void ranges_write(const struct ranges *ranges, const char *path);
/* Makes room for so many features, at least as many as there are; [0, 0] is the range of new ones. */
void ranges_grow(struct ranges *ranges, size_t count);
void ranges_free(struct ranges *ranges); /* x.low and x.high, which free() frees too */

/* Tells whether a feature is left out, and becomes 0: it has no range, or never changes. */
int ranges_leave_out(const struct ranges *ranges, size_t feature);
/* Returns the number of feature k in files, from 1. */
size_t feature_number(const struct ranges *ranges, size_t feature);
/* Warns of features that change here, but are left out by the ranges of a file. */
void warn_of_lost_features(const struct ranges *here, const struct ranges *file, const char *path);

#endif

/*
 * Points whose features take two values each, all of them the same step apart (0 and 1, -1 and 1, categories as one
 * feature for each). The squared distance of two such points is step^2 times the number of features in which they
 * differ (Hamming 1950), so RBF rows are made of counts: bytes, by adding up a byte for each feature in which a point
 * has its rarer value. The kernel's value of each count is in a table.
 *
 * Without counts such trainings take some five times the processor time (doc/tried.md). Below AVX-512 there are none,
 * as lists are faster there: a test has a training without counts by params.cpu_level = 3, and a source by
 * hg_points.hamming NULL.
 */
#ifndef HG_HAMMING_H
#define HG_HAMMING_H

#include "lib/base/base.h"

enum {
    HG_COUNTS_LEVEL = 4, /* of instructions from which on this is faster than lists: tables of 16 are registers there */
    HG_COUNT_COLS = 128, /* columns of a panel of bytes, */
    HG_COUNT_ROWS = 64,  /* and rows of a tile of counts, at most */
    HG_COUNTED = 4,      /* entries of a list at a time */
    HG_COUNTS = 256      /* values that a distance may have, 0 among them */
};

struct hg_points;

struct hg_hamming {
    size_t features; /* that vary; 0: points are not like that */
    double step2;    /* squared distance of a feature's two values */
    double listed;   /* entries of a point's list, on average; */
    size_t longest;  /* room for one, a multiple of HG_COUNTED */
    size_t points;
    uint8_t *length; /* [points] of its list, without what fills it up to a multiple of HG_COUNTED */
    uint32_t *at;    /* [points * longest] the lists: where points' rarer features have their lines in a panel */
};

/* *hamming stays empty (features 0) where points are not like that, or may differ in HG_COUNTS features or more. */
hinge_status hg_hamming_init(struct hg_hamming *hamming, const struct hg_points *points, int threads, hinge_error *err);
void hg_hamming_free(struct hg_hamming *hamming);

/* Knows the values of features, of all points where others hold a part of them: ranks of MPI find them together
 * (mpi/mpi_counts.c), before each makes its lists. */
struct hg_hamming_kind {
    size_t d, features;    /* features: that vary; 0: points are not like that */
    double *common, *rare; /* [d] rare: NaN where all points have one value */
    uint32_t *line;        /* [d] where a feature's line is in a panel */
    double step2, listed;
    size_t longest; /* of all lists, as they are */
};
/* Sets features, step2 and line by common, rare and longest; false, and features 0: steps differ, or points may differ
 * in HG_COUNTS features or more. */
bool hg_hamming_kind_set(struct hg_hamming_kind *kind);
/* Makes the lists of the first `own` points; those of the rest are empty until they are put. On failure nothing is left
 * to be freed. */
hinge_status hg_hamming_make(struct hg_hamming *hamming, const struct hg_hamming_kind *kind,
                             const struct hg_points *points, size_t own, int threads, hinge_error *err);
/* Makes point i's list. x [d]: work space. */
void hg_hamming_put(struct hg_hamming *hamming, const struct hg_hamming_kind *kind, const struct hg_points *points,
                    size_t i, double *x);
size_t hg_hamming_bytes(const struct hg_hamming *hamming);

/* Values by two tables that registers hold: that of count c is high[c >> 4] * low[c & 15], in f64 and in f32. */
struct hg_codes {
    double high[16], low[16];
    float high32[16], low32[16];
};

/* Lists of some points, one after the other, in the order in which they are read. */
struct hg_gathered {
    size_t capacity; /* longest */
    uint32_t *at;    /* [points * capacity] */
    uint8_t *length; /* [points] */
};

/* The loops on counts, which the table of maps has with AVX-512 alone (counts.c). */

/* Fills counts (maps->counts): counts[r * HG_COUNT_COLS + c] = features in which entry row0 + r and column c of the
 * panel differ, r < rows; counts are 64-byte aligned. */
typedef void hg_hamming_rows(const struct hg_gathered *gathered, size_t row0, size_t rows, const uint8_t *panel,
                             uint8_t *counts);
/* Adds values to a sum (maps->add_codes): g[c] += sum over r of coef[r] times the value of code[r * HG_COUNT_COLS + c],
 * c < n; all of the HG_COUNT_COLS of a row may be read. In f64, or `narrow` by values in f32 and sums of them over 16
 * rows each, which are made twice as fast. */
typedef void hg_add_codes(size_t n_rows, const double *coef, bool narrow, const struct hg_codes *codes,
                          const uint8_t *code, size_t n, double *g);
/* Writes values out (maps->decode): out[c] = the value of code[c] in f32, c < n. */
typedef void hg_decode(const struct hg_codes *codes, const uint8_t *code, size_t n, float *out);
hg_hamming_rows hg_count_rows;
hg_add_codes hg_sum_codes;
hg_decode hg_decode_codes;

#endif

/*
 * Kernel maps: from dot products to kernel values, one row of a tile at a time. The one source map.c is compiled
 * once for plain C and once for each x86-64 level (v2, v3, v4); hg_maps() picks a table at run time.
 */
#ifndef HG_MAP_H
#define HG_MAP_H

#include "kernels/hamming.h"

#include <stddef.h>

struct hg_map_args {
    double gamma, coef0;
    int degree;
};

/* Maps dot products to values: out[j] = k(dot[j]; norm, norms[j]) for j < n. dot[j] = <x, z_j>; norm = ||x||^2,
 * norms[j] = ||z_j||^2 (RBF only, otherwise unused, norms may be NULL). out == dot is allowed, other overlap is not. No
 * alignment is assumed. linear: dot polynomial: (gamma dot + coef0)^degree, by repeated squaring, degree >= 0 (0 gives
 * 1) rbf: exp(-gamma max(0, norm + norms[j] - 2 dot[j])) sigmoid: tanh(gamma dot + coef0) NaN in gives NaN out. */
typedef void hg_map_f32(const struct hg_map_args *args, size_t n, const float *dot, float *out, float norm,
                        const float *norms);
typedef void hg_map_f64(const struct hg_map_args *args, size_t n, const double *dot, double *out, double norm,
                        const double *norms);

/* All maps, X(name of its blocks in map_rows.h, name of its kind): the enumeration and map.c's tables. */
#define HG_MAPS(X)            \
    X(linear, LINEAR)         \
    X(polynomial, POLYNOMIAL) \
    X(rbf, RBF)               \
    X(sigmoid, SIGMOID)

#define HG_KIND(name, NAME) HG_MAP_##NAME,
enum hg_map_kind { HG_MAPS(HG_KIND) HG_MAP_KINDS };
#undef HG_KIND

/* Do the same in two steps, for maps of short stretches: what depends on the kernel alone is prepared once, the row's
 * norm is set, and whole blocks of entries are mapped. */
enum { HG_MAP_BLOCK = 32 };

struct hg_exp32 {
    float hi, lo;       /* exp(c d) = 2^(hi d + lo d) */
    float floor, limit; /* where exp(c d) rounds to 1; where it is 0 or infinite */
};

struct hg_exp64 {
    double hi, lo, floor, limit;
};

struct hg_row32 {
    struct hg_exp32 exp;
    float gamma, coef0, norm;
    int degree;
};

struct hg_row64 {
    struct hg_exp64 exp;
    double gamma, coef0, norm;
    int degree;
};

/* Maps blocks, `count` of them; norms [count * HG_MAP_BLOCK], RBF only */
typedef void hg_blocks32(const struct hg_row32 *row, size_t count, const float *dot, float *out, const float *norms);
typedef void hg_blocks64(const struct hg_row64 *row, size_t count, const double *dot, double *out, const double *norms);

struct hg_panel_job;
struct hg_sums;

struct hg_maps {
    const char *level; /* "plain", "v2", "v3", "v4" */
    int number;        /* 1 .. 4 */
    hg_map_f32 *f32[HG_MAP_KINDS];
    hg_map_f64 *f64[HG_MAP_KINDS];
    struct hg_row32 (*prepare32)(enum hg_map_kind kind, const struct hg_map_args *args);
    struct hg_row64 (*prepare64)(enum hg_map_kind kind, const struct hg_map_args *args);
    hg_blocks32 *blocks32[HG_MAP_KINDS];
    hg_blocks64 *blocks64[HG_MAP_KINDS];
    /* Make tiles and sums by panel.h: norms [n] of the panel's n columns, or NULL; all n values of a row */
    void (*panel32)(const struct hg_panel_job *job, const float *panel, const float *norms, size_t col, size_t n);
    void (*panel64)(const struct hg_panel_job *job, const double *panel, const double *norms, size_t col, size_t n);
    void (*sum32)(const struct hg_sums *sums, size_t row, size_t n, float *values);
    void (*sum64)(const struct hg_sums *sums, size_t row, size_t n, double *values);
    hg_hamming_rows *counts; /* NULL below HG_COUNTS_LEVEL, and so the others: */
    hg_add_codes *add_codes;
    hg_decode *decode;
};

/* Picks the table of a level as hg_cpu_level returns it, 1..4; a level that this build has not gives the next lower
 * one. */
const struct hg_maps *hg_maps(int level);

#endif

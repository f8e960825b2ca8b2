/*
 * Kernel maps: from dot products to kernel values, one row of a tile at a time. The one source map.c is compiled
 * once for plain C and once for each x86-64 level (v2, v3, v4); hg_maps() picks a table at run time.
 *
 * Buys: RBF's map takes 0.95 ns a value in plain C, 0.29 by AVX2 and 0.22 by AVX-512 in f32, and 2.74, 0.85 and 0.46 in
 * f64 (doc/performance.md, "Micro-benchmarks"; check_kernels --bench measures it). A test takes a lower level by
 * params.cpu_level, or the maps of its choice by hg_maps(level).
 */
#ifndef HG_MAP_H
#define HG_MAP_H

#include "kernels/hamming.h"

#include <stddef.h>

/* All maps, X(name of its blocks in map_rows.h, name of its kernel, and what the exponential in it multiplies its
 * argument by). */
#define HG_MAPS(X) \
    X(linear, LINEAR, 0) \
    X(polynomial, POLYNOMIAL, 0) \
    X(rbf, RBF, -kernel->gamma) \
    X(sigmoid, SIGMOID, -2) \
    X(matern32, MATERN32, -1) \
    X(matern52, MATERN52, -1) \
    X(laplacian, LAPLACIAN, -kernel->gamma) \
    X(chi2, CHI2, -kernel->gamma) \
    X(tanimoto, TANIMOTO, 0)

/* What a kernel of differences sums over features: |x - z|; (x - z)^2 / (|x| + |z|); or |x - z|, as a share of the sum
 * of |x| + |z|. 0 / 0 is 0. */
enum hg_difference { HG_DIFFERENCE, HG_DIFFERENCE_RATIO, HG_DIFFERENCE_SHARE, HG_DIFFERENCES };

enum { HG_MAP_BLOCK = 32 }; /* entries that are mapped together */

struct hg_panel_job;
struct hg_sums;
struct hg_differences;
struct hg_few;

/* Functions of which there is one for each type that values are made in, HINGE_F32 and HINGE_F64, by which tables of
 * them are indexed; what is void is of the type. */
enum { HG_TYPES = HINGE_F64 + 1 };
typedef void hg_map(const hinge_kernel *kernel, size_t n, const void *dot, void *out, double norm, const void *norms);
typedef void hg_map_panel(const struct hg_panel_job *job, const void *panel, const void *norms, size_t col, size_t n);
typedef void hg_sum_values(const struct hg_sums *sums, size_t row, size_t n, void *values);

struct hg_maps {
    const char *level; /* "plain", "v2", "v3", "v4" */
    int number;        /* 1 .. 4 */
    /* Map dot products to values: out[j] = k(dot[j]; norm, norms[j]) for j < n. dot[j] = <x, z_j>; norm = ||x||^2,
     * norms[j] = ||z_j||^2 (kernels of the distance only, otherwise unused, norms may be NULL). out == dot is
     * allowed, other overlap is not. No alignment is assumed. linear: dot; polynomial: (gamma dot + coef0)^degree,
     * by repeated squaring, degree >= 0 (0 gives 1); rbf: exp(-gamma d2), d2 = max(0, norm + norms[j] - 2 dot[j]);
     * Matern: (1 + r) exp(-r) and (1 + r + r^2 / 3) exp(-r), r = sqrt(gamma d2); laplacian, chi2: exp(-gamma dot);
     * tanimoto: (1 - dot) / (1 + dot); dot is the sum of differences there, within [0, 1] for tanimoto. sigmoid:
     * tanh(gamma dot + coef0). NaN in gives NaN out. */
    hg_map *map[HG_TYPES];
    /* Make tiles and sums by panel.h. panel: the n columns of one, from column `col` of the tile on; norms [n] are
     * theirs, or NULL. sum: the n values of a row, where they are there already. */
    hg_map_panel *panel[HG_TYPES];
    hg_sum_values *sum[HG_TYPES];
    const struct hg_differences *differences; /* maker.h */
    const struct hg_few *few;                 /* maker.h */
    hg_hamming_rows *counts;                  /* NULL below HG_COUNTS_LEVEL, and so the others: */
    hg_add_codes *add_codes;
    hg_decode *decode;
};

/* Picks the table of a level as hg_cpu_level returns it, 1..4; a level that this build has not gives the next lower
 * one. */
const struct hg_maps *hg_maps(int level);

#endif

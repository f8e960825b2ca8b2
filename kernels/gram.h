/*
 * Gram blocks by GEMM: tiles of dot products, mapped to kernel values while they are hot.
 */
#ifndef HG_GRAM_H
#define HG_GRAM_H

#include "kernels/cells.h"
#include "kernels/equal.h"
#include "kernels/hamming.h"
#include "kernels/kernel.h"
#include "kernels/panel.h"
#include "lib/rows/rows.h"

enum { HG_TILE_COLS = 512, HG_TILE_ROWS = 256 }; /* a tile stays in L2 */

/* A set of n vectors of d features: vector i is row order[i] (NULL: i) of a caller's matrix, times factor, plus offset,
 * less shift. */
struct hg_points {
    hinge_matrix x;
    const uint32_t *order; /* [n] or NULL */
    const double *shift;   /* [d] or NULL */
    const double *factor;  /* [d] or NULL */
    size_t n;
    double nonzeros;       /* of a vector, on average; 0: not counted, taken as dense */
    const struct hg_cells *cells; /* of the vectors, or NULL */
    const struct hg_hamming *hamming; /* of the vectors, or NULL */
    const double *offset;  /* [d] or NULL */
    const uint32_t *equal; /* [n] hg_equal_find's of the vectors, or NULL */
    const hinge_matrix *more; /* its rows come after those of x, or NULL */
};

/* Feature c of vector i. */
double hg_points_value(const struct hg_points *points, size_t i, size_t c);

/* out[k] = feature first + k of vector i before the shift, for k < count. */
void hg_points_given(const struct hg_points *points, size_t i, size_t first, size_t count, double *out);
/* out[i * ld + c] = vector ids[i] (ids NULL: first + i) in the type asked for. */
void hg_points_pack(const struct hg_points *points, const uint32_t *ids, size_t first, size_t count,
                    hinge_dtype type, void *out, size_t ld);
/* Where vectors ids[0..count) lie one after the other in the type asked for, with no shift: their address and
 * stride; otherwise NULL. */
const void *hg_points_direct(const struct hg_points *points, const uint32_t *ids, size_t first, size_t count,
                             hinge_dtype type, size_t *stride);
/* Squared norm of vector i as rounded to type. */
double hg_points_norm(const struct hg_points *points, size_t i, hinge_dtype type);
/* norms[i] = squared norm of vector i as rounded to type, in that type. */
void hg_points_norms(const struct hg_points *points, hinge_dtype type, void *norms, int threads);

/* Non-zeros of a vector on average, as rounded to f32. */
double hg_points_nonzeros(const struct hg_points *points, int threads);

/* RBF by norms loses digits far from the origin, and is translation invariant. The column means [d] (the caller's, to
 * be freed) where taking them off cuts the mean squared norm enough to matter: fourfold where many values are 0 (lists
 * want them 0, and 0/1 data are exact as they are), otherwise by a third. NULL where not; with *wanted: no memory. */
double *hg_points_centre(const struct hg_points *points, int threads, bool *wanted);

/* What makes tiles: a kernel with its maps at one precision; by lists and panels (panel.h) or by GEMM. */
struct hg_tiler {
    hinge_kernel kernel;
    const struct hg_maps *maps;
    hinge_dtype type;
    size_t d;
    bool lists;
    double close; /* RBF in f64: squared distances below this, and what their rounding may be, are taken anew from the
                   * vectors' differences; 0: none is. Not by lists. A source of rows sets it itself. */
};

/* The tiler's `close` for vectors whose squared norms are at most `norm`: so that values are right to 1e-11. */
double hg_tiler_close(const hinge_kernel *kernel, hinge_dtype type, size_t d, double norm);

/* Where a side's vectors are from: vector i of it is point ids[i] (NULL: first + i). Looked at where the tiler wants
 * differences. */
struct hg_origin {
    const struct hg_points *points;
    const uint32_t *ids;
    size_t first;
};

/* The two sides of a tile. norm may be NULL where the kernel needs none. */
struct hg_left {
    size_t ld;
    const void *x;         /* [rows * ld] */
    const void *norm;      /* [rows] */
    struct hg_lists lists; /* instead of x */
    struct hg_origin origin;
};

struct hg_right {
    size_t count, ld;
    const void *x;    /* [count * ld]; tiler.lists: whole panels, one after the other */
    const void *norm; /* [count] */
    struct hg_origin origin;
};

/* Values of the panels that `count` vectors of d features take; the last is whole. */
static inline size_t hg_panels_size(size_t count, size_t d, hinge_dtype type)
{
    size_t width = hg_panel_cols(type);
    return (count + width - 1) / width * width * d;
}

/* Panels of vectors ids[0..count) (NULL: first ..); rows: work space for one panel's vectors, [hg_panel_cols * ld]. */
void hg_points_panels(const struct hg_points *points, const uint32_t *ids, size_t first, size_t count,
                      hinge_dtype type, void *panels, void *rows, size_t ld);

/* Kernel values of rows [row0, row0 + m) of the left side and all columns of the right one: dots [m * ld], 64-byte
 * aligned, is the work space; row r of the values goes to out[r], or stays in dots where out or out[r] is NULL. To be
 * called inside a parallel region whose tasks have set one BLAS thread (hg_blas_alone). */
hinge_status hg_tile_values(const struct hg_tiler *tiler, const struct hg_left *left, size_t row0, size_t m,
                            const struct hg_right *right, void *dots, size_t ld, void *const *out);
/* Its two halves: the dot products, and the map. Lists do both, and a kernel of the user's all, in the first. */
hinge_status hg_tile_products(const struct hg_tiler *tiler, const struct hg_left *left, size_t row0, size_t m,
                              const struct hg_right *right, void *dots, size_t ld, void *const *out);
void hg_tile_map(const struct hg_tiler *tiler, const struct hg_left *left, size_t row0, size_t m,
                 const struct hg_right *right, void *dots, size_t ld, void *const *out);

/* A source of rows over points. */
struct hg_gram {
    struct hg_rows super;
    struct hg_tiler tiler;
    struct hg_points points; /* of these */
    const uint32_t *subset;  /* [super.n] points of this source; NULL: all */
    const uint32_t *column;  /* precomputed: column of the matrix for each point; NULL: the point itself */
    const void *norms;       /* [points.n] in the tiler's type; NULL where not needed */
    const struct hg_hamming *hamming; /* of the points, where values are taken from tables; NULL: they are not */
    struct hg_codes codes;   /* of the values by distance */
    double value[HG_COUNTS];
    uint32_t *order;         /* [super.n] the source's points by cell; NULL: no cells */
    struct hg_equal equal;   /* RBF by norms; otherwise empty */
    size_t tile_cols, max_rows;
    void *work;              /* per thread and for the rows asked: allocated once */
    size_t work_bytes;
    struct hg_arena *lent;   /* the caller's, for what is kept; or NULL */
    char *kept;              /* lists: columns as panels, by tile, for fetches of the same columns; or NULL */
    size_t kept_bytes;       /* of a tile */
};

/* Borrowed: what points refer to; subset; column; norms. On failure nothing is left to be freed. */
hinge_status hg_gram_init(struct hg_gram *gram, const struct hg_tiler *tiler, const struct hg_points *points,
                          const uint32_t *subset, size_t n, const uint32_t *column, const void *norms, int threads,
                          hinge_error *err);
void hg_gram_free(struct hg_gram *gram);

#endif

/*
 * Tile makers: the ways in which a tile of kernel values is made, one const row and one file each. A maker brings the
 * vectors of the tile's rows (its left side) and of its columns (its right side) into the form that it works on, and
 * makes values of the two. The loop over tiles (gram.c) and prediction ask the row alone, never which maker it is. Read
 * points.h and map.h before. doc/add-a-kernel.md is about kernels, which are rows of another table (kernel.h): most are
 * made of dot products, and any maker of these will do for them.
 */
#ifndef HG_MAKER_H
#define HG_MAKER_H

#include "kernels/kernel.h"
#include "kernels/panel.h"
#include "kernels/points.h"
#include "lib/rows/source.h"

enum { HG_TILE_COLS = 512, HG_TILE_ROWS = 256 }; /* a tile stays in L2 */

/* The values of a kernel of the distance by the number of features that differ (hamming.h). */
struct hg_table {
    struct hg_codes codes;
    double value[HG_COUNTS]; /* in f64; values in f32 are those of codes, as sums have them */
};

/* A kernel with its maps at one precision, and the maker of its tiles. */
struct hg_tiler {
    hinge_kernel kernel;
    const struct hg_maps *maps;
    hinge_dtype type;
    size_t d;
    bool dense;        /* rows go by panels with their zeros (hg_lists_are_dense); hg_tiler_choose's */
    hinge_maker asked; /* the one that the caller asks for */
    /* A source of rows sets the rest itself. */
    const struct hg_maker *maker; /* hg_tiler_choose's */
    double close; /* of_distance, by GEMM in f64: squared distances below this, and what their rounding may be, are
                   * taken anew from the vectors' differences; 0: none is */
    const uint32_t *column;       /* precomputed: column of the matrix for each point; NULL: the point itself */
    const struct hg_table *table; /* by counts */
};

/* The tiler's `close` for vectors whose squared norms are at most `norm`: so that values are right to 1e-11. */
double hg_tiler_close(const hinge_kernel *kernel, hinge_dtype type, size_t d, double norm);

/* Tells where a side's vectors are from: vector i of it is point ids[i] (NULL: first + i). */
struct hg_origin {
    const struct hg_points *points;
    const uint32_t *ids;
    size_t first;
};

/* Returns the point that vector i of a side is. */
static inline uint32_t hg_origin_point(const struct hg_origin *o, size_t i)
{
    return o->ids != NULL ? o->ids[i] : (uint32_t)(o->first + i);
}

/* The two sides of a tile. norm may be NULL where the kernel needs none. */
struct hg_left {
    size_t ld;
    const void *x;               /* [rows * ld] */
    const void *norm;            /* [rows] */
    struct hg_lists lists;       /* or */
    struct hg_gathered gathered; /* instead of x */
    struct hg_origin origin;
};

struct hg_right {
    size_t count, ld;
    const void *x;    /* [count * ld], or panels, one after the other */
    const void *norm; /* [count] */
    struct hg_origin origin;
};

/* Tells what values are to be made: of rows [row0, row0 + m) of a left side, and all columns of a right one. */
struct hg_part_of_tile {
    const struct hg_left *left;
    const struct hg_right *right;
    size_t row0, m, ld;
    void *dots;                 /* [m * ld] work space, 64-byte aligned */
    void *room;                 /* hg_maker's */
    void *const *out;           /* [m] where row r of the values goes; NULL, or out NULL: to row r of dots */
    const struct hg_sums *sums; /* of_distance: values are not kept, but summed; or NULL */
};

/* Tells what a maker's value costs (cost.c). */
struct hg_cost {
    double reads;    /* of a value, in reads of one from memory */
    double products; /* multiply-adds of a value that count as work done */
};

/* Describes a maker as the loop over tiles knows it. Of sides and values it is asked within a team, where BLAS has
 * one thread a call (lib/base/team.h). */
struct hg_maker {
    const char *name;             /* in reports */
    hinge_maker asked;            /* the word by which a caller asks for it */
    enum hg_kernel_source source; /* of the kernels that it is for; dot products where a row does not say */
    bool keeps;                   /* its right sides take so long to make that they are kept for the next time */
    bool exact;        /* of the distance: equal points have the value 1 by itself, and no norms are needed */
    bool plain;        /* its sides are vectors as they are: where points lie like that they are not copied */
    size_t most_rows;  /* of a part of a tile */
    size_t whole_cols; /* of every tile; 0: as many as cache and points have room for, */
    size_t panel;      /* in panels of so many bytes a feature; 0: 16 columns */
    /* Whether it can make values of these points, and whether it is the one to make them; NULL: of all. */
    bool (*can)(const struct hg_tiler *tiler, const struct hg_points *points);
    bool (*fits)(const struct hg_tiler *tiler, const struct hg_points *points);
    const char *needs; /* what it can serve, in words for whoever has asked for it */
    struct hg_cost (*cost)(const struct hg_tiler *tiler, const struct hg_points *points);
    /* Makes a table of values, of which there are few: exact, and 1 for equal points. NULL: they are of none. */
    void (*tabulate)(const struct hg_tiler *tiler, const struct hg_points *points, struct hg_table *table);
    /* Bytes of the room that a thread works in, 64-byte aligned. */
    size_t (*room)(const struct hg_tiler *tiler);
    /* Bytes of `count` vectors as a left side; lays them out at base (NULL: only measures). NULL if the
     * maker reads vectors in place and needs no packed sides. */
    size_t (*lay_left)(const struct hg_tiler *tiler, const struct hg_points *points, size_t count, char *base,
                       struct hg_left *left);
    size_t (*right_bytes)(const struct hg_tiler *tiler, const struct hg_points *points, size_t count);
    /* Vector r of a left side, or all of a right one (x: where to), from its origin. */
    void (*set_left)(const struct hg_tiler *tiler, const struct hg_left *left, size_t r, void *room);
    void (*set_right)(const struct hg_tiler *tiler, struct hg_right *right, void *x, void *room);
    /* Values in two steps: the products, and the map (NULL: the first makes values). */
    hinge_status (*products)(const struct hg_tiler *tiler, const struct hg_part_of_tile *part);
    void (*map)(const struct hg_tiler *tiler, const struct hg_part_of_tile *part);
    /* Adds what products() made to g, as hg_tile's add does, without making values; there with tabulate alone. */
    void (*add)(const struct hg_tiler *tiler, const struct hg_part_of_tile *part, const double *coef, bool narrow,
                double *g);
};

extern const struct hg_maker hg_gemm, hg_by_panels, hg_by_lists, hg_by_counts, hg_by_integers, hg_by_bits,
    hg_by_differences, hg_by_parts, hg_lookup, hg_user;

/* Sets the maker of tiles of these points, and dense: the one asked for, if it can make them, or the first that fits.
 * close is set. */
void hg_tiler_choose(struct hg_tiler *tiler, const struct hg_points *points);

/* A bound of how wrong the tiler's values of points can be, whose largest squared norm is `norm` (hg_kernel_error):
 * whole numbers are so by how far the points are from these. steady, or NULL: the part of it that does not change its
 * sign at random from value to value. */
double hg_tiler_error(const struct hg_tiler *tiler, const struct hg_points *points, double norm, double *steady);

/* Returns the maker of a name; NULL: there is none. */
const struct hg_maker *hg_maker_named(const char *name);
/* Refuses a maker that is asked for and cannot make values of these points. */
hinge_status hg_maker_check(const struct hg_tiler *tiler, const struct hg_points *points, hinge_error *err);
/* Refuses one that is asked for a kernel whose values are not made of dot products; the kernel is checked. */
hinge_status hg_maker_check_kernel(hinge_maker asked, const hinge_kernel *kernel, hinge_error *err);

/* Does both steps. */
static inline hinge_status hg_tile_values(const struct hg_tiler *t, const struct hg_part_of_tile *part)
{
    hinge_status status = t->maker->products(t, part);
    if (status == HINGE_OK && t->maker->map != NULL)
        t->maker->map(t, part);
    return status;
}

/* Returns where row r of a part's values goes. */
static inline void *hg_row_of_part(const struct hg_tiler *t, const struct hg_part_of_tile *p, size_t r)
{
    return p->out != NULL && p->out[r] != NULL ? p->out[r] : (char *)p->dots + r * p->ld * hg_size_of(t->type);
}

/* Values from one vector to the next where vectors are packed. */
static inline size_t hg_stride(const struct hg_tiler *t)
{
    return (t->d + 15) / 16 * 16;
}

/* ---- what makers share ------------------------------------------------------------------------------------------- */

/* gemm.c: sides of vectors as they are, and maps of dot products. */
size_t hg_plain_left(const struct hg_tiler *t, const struct hg_points *points, size_t count, char *base,
                     struct hg_left *left);
size_t hg_plain_right_bytes(const struct hg_tiler *t, const struct hg_points *points, size_t count);
void hg_plain_set_left(const struct hg_tiler *t, const struct hg_left *left, size_t r, void *room);
void hg_plain_set_right(const struct hg_tiler *t, struct hg_right *right, void *x, void *room);
void hg_map_dots(const struct hg_tiler *t, const struct hg_part_of_tile *p);

/* lists.c: panels. */

/* Returns how many values the panels of `count` vectors of d features take; the last is whole. */
static inline size_t hg_panels_size(size_t count, size_t d, hinge_dtype type)
{
    size_t width = hg_panel_cols(type);
    return (count + width - 1) / width * width * d;
}

/* Makes panels of vectors ids[0..count) (NULL: first ..); rows: work space for one panel's vectors, [hg_panel_cols *
 * ld]. */
void hg_points_panels(const struct hg_points *points, const uint32_t *ids, size_t first, size_t count, hinge_dtype type,
                      void *panels, void *rows, size_t ld);

/* Sides by panels: the room for one panel's vectors, and the panels of a tile's columns. */
size_t hg_panels_room(const struct hg_tiler *t);
size_t hg_panels_right_bytes(const struct hg_tiler *t, const struct hg_points *points, size_t count);
void hg_panels_set_right(const struct hg_tiler *t, struct hg_right *right, void *x, void *room);

/* differences.c: out [rows][hg_panel_cols], what the kernel sums (enum hg_difference) of vectors x, ld values apart,
 * and the columns of a panel; out is ld_out values a row. */
typedef void hg_sum_differences(enum hg_difference what, const void *x, size_t ld, size_t rows, const void *panel,
                                size_t d, void *out, size_t ld_out);
struct hg_differences {
    hg_sum_differences *sums[HG_TYPES];
};

/* few.c: out [rows][cols] = <x_r, z_c>, vectors of d features, ldx and ldz values apart; out is ld values a row. */
typedef void hg_dots_of_few(const void *x, size_t ldx, size_t rows, const void *z, size_t ldz, size_t cols, size_t d,
                            void *out, size_t ld);
struct hg_few {
    hg_dots_of_few *dots[HG_TYPES];
};

/* integer_tiles.c: whether values of a kernel may be made of such numbers: there are some, which points are not too far
 * off, and of sums over differences bits. */
bool hg_integers_serve(const hinge_kernel *kernel, const struct hg_integers *integers);

/* combined.c: K(x_i, x_i) of a combined kernel. */
double hg_combined_diagonal(const struct hg_tiler *t, const struct hg_points *points, size_t i);

/* ---- cost.c: what counted work decides --------------------------------------------------------------------------- */

/* True where lists are faster than GEMM: vectors of d features with so many non-zeros on average. */
bool hg_lists_win(double nonzeros, size_t d, hinge_dtype type, int level);
/* True where lists are faster with all values than with the non-zeros alone. */
bool hg_lists_are_dense(double nonzeros, size_t d);
/* True where products of whole numbers are faster than either, or a kernel of differences may count bits. */
bool hg_integers_win(const hinge_kernel *kernel, const struct hg_integers *integers, double nonzeros, hinge_dtype type,
                     int level);
struct hg_cost hg_cost_gemm(const struct hg_tiler *t, const struct hg_points *points);
struct hg_cost hg_cost_lists(const struct hg_tiler *t, const struct hg_points *points);
struct hg_cost hg_cost_differences(const struct hg_tiler *t, const struct hg_points *points);
struct hg_cost hg_cost_counts(const struct hg_tiler *t, const struct hg_points *points);
struct hg_cost hg_cost_integers(const struct hg_tiler *t, const struct hg_points *points);
struct hg_cost hg_cost_given(const struct hg_tiler *t, const struct hg_points *points); /* looked up, or the user's */

#endif

/*
 * The seam between kernels and solvers: a source of kernel rows over n points, and the verbs by which a solver asks for
 * rows I restricted to columns J. It never learns what a kernel is, nor how the source makes its values; what a source
 * is asked, and by whom it may be implemented, is in source.h. The verbs are: diagonal, fill (rows to have), apply
 * (rows to be added to a gradient), block and dot (values and sums in f64, to measure by). K is symmetric for what a
 * solver makes of it; the user's function or matrix need not be, and then K(left, right) is what is made, in this
 * order.
 */
#ifndef HG_ROWS_H
#define HG_ROWS_H

#include "lib/rows/peers.h"

/* A finished tile: values of rows [row0, row0 + n_rows) of those asked for, at positions [col0, col0 + n_cols) of
 * the column list. row[r] points at the value of position col0; the rows' type is the source's. */
struct hg_tile {
    size_t row0, n_rows, col0, n_cols;
    const void *const *row;
    /* Adds the tile's rows, times coef [n_rows], to g [n_cols], `narrow`: in f32, if that is faster; not NULL where row
     * is. Values of a table of few need never be written out for it. */
    void (*add)(const struct hg_tile *tile, const double *coef, bool narrow, double *g);
    const void *source; /* add's */
};

/* Called by the thread that made the tile, while it is hot. The tiles of one column range come one after the other, in
 * ascending row0, and no range is narrower than 32 columns but the last; different ranges come at the same time. Where
 * negligible values are left out, the first tile of a range has row0 = 0 all the same, with no rows if need be. */
typedef void hg_tile_fn(void *arg, const struct hg_tile *tile);

/* First member of every source. One fetch at a time. Threads are the source's own affair; the values and the order of
 * calls to tile() within a column range do not depend on their number. A source sets all of this but stages, and peers
 * with their grain (hg_gram_share); fetches add to gflop and values. */
struct hg_rows {
    const struct hg_rows_ops *ops; /* source.h */
    size_t n;
    hinge_dtype type;
    int threads;
    bool lies;              /* rows lie where they can be read: nobody keeps them */
    bool adds;              /* its tiles add themselves where that is allowed, in f32 too */
    const uint32_t *order;  /* [n] all points, so that those whose values matter to each other are close; or NULL */
    struct hg_peers *peers; /* who makes sums of rows with this process (peers.h); NULL: nobody */
    size_t grain;           /* columns that peers are dealt together */
    bool is_coarse;         /* no tile is narrower */
    double error_near; /* not 0: sizes of hg_rows_diagonal, this at most, are what values of near points are off by */
    bool errors_fall;  /* those of other points are off by that share of it which their value is */
    double cost;       /* of computing a value, in reads of one of its type from memory: a rough figure */
    double gflop;      /* done in GEMM so far */
    uint64_t values;   /* kernel values computed so far */
    hinge_stages *stages; /* NULL, or what fetches add their threads' seconds to, time in tile() as update; and gflop */
};

/* Says whether values cost so little, in reads, that they are made again rather than kept. Values of counts do, and so
 * do rows of which most values are left out as far. If such rows were kept, with working sets as large as rows that are
 * kept have, training would take two to five times the processor time (doc/tried.md). A test sets a source's cost. */
static inline bool hg_is_cheap(double cost)
{
    return cost <= 0.6;
}

/* Returns the columns of a tile that may have `most` where few columns, n, are fetched, eight tiles or more: by two
 * threads K_WW takes little more than half the time then, and less by more of them; 16 tiles would take two threads a
 * tenth more (doc/tried.md). */
static inline size_t hg_few_columns(size_t most, size_t n)
{
    enum { TILES = 8, LEAST = 64 };
    return HG_MIN(most, HG_MAX(n / TILES / LEAST, (size_t)1) * LEAST);
}

/* Returns the columns that peers are dealt together of few, n. */
static inline size_t hg_rows_few(const struct hg_rows *rows, size_t n)
{
    return rows->is_coarse ? rows->grain : hg_few_columns(rows->grain, n);
}

/* Returns how many of the tiles of n columns one of so many peers has, but for the last ones, who may have fewer. */
static inline size_t hg_rows_part(size_t n, size_t width, size_t peers)
{
    return ((n + width - 1) / width + peers - 1) / peers;
}

/* Vector code that adds rows to a sum: g[c] += sum over r of coef[r] * row[r][c], c < n. */
struct hg_adders {
    void (*f32)(size_t n_rows, const double *coef, const float *const *row, size_t n, double *g);
    void (*f64)(size_t n_rows, const double *coef, const double *const *row, size_t n, double *g);
};

static inline void hg_add_rows(const struct hg_adders *add, hinge_dtype type, size_t n_rows, const double *coef,
                               const void *const *row, size_t n, double *g)
{
    if (type == HINGE_F32)
        add->f32(n_rows, coef, (const float *const *)row, n, g);
    else
        add->f64(n_rows, coef, (const double *const *)row, n, g);
}

/* Adds the stretch [first, first + n) of rows that are kept whole, times coef, to g [n]. */
void hg_add_stretch(const struct hg_adders *add, hinge_dtype type, size_t n_rows, const double *coef, void *const *row,
                    size_t first, size_t n, double *g);

/* Says in words what a verb's failure is: that of a kernel function, or no memory. Returns the status. */
hinge_status hg_rows_told(hinge_status status, hinge_error *err);

/* The verbs, over points left [n_left] and right [n_right] (NULL: points 0 .. n_right - 1). */

struct hg_how {                 /* NULL is all 0 */
    const struct hg_halt *halt; /* NULL, or polled and asked between tiles; what comes out is then incomplete */
    uint64_t list;     /* not 0: the number of the list `right`, which comes again under it, and no other does */
    bool rough;        /* what is negligible may be left out, and a sum may be made as is fastest */
    hg_tile_fn *added; /* NULL, or called with each tile when the verb is done with it, and arg */
    void *arg;
    const struct hg_adders *add; /* sums: NULL: plain loops, of f64 alone */
    void *const *out;            /* sums: [n_left] where rows are kept (by peers own columns); NULL: they are not */
    double narrow;               /* rough sums of f32: may be made in it where no |coef| is larger */
};

/* Makes diagonal [n] = K(x_i, x_i). size [n], or NULL: the larger, the more rounding alters the values of a point. */
hinge_status hg_rows_diagonal(const struct hg_rows *rows, double *diagonal, double *size);

/* Makes out[r][c] = K(left[r], right[c]), in the source's type; out[r], or out, NULL: not kept. */
hinge_status hg_rows_fill(struct hg_rows *rows, const uint32_t *left, size_t n_left, const uint32_t *right,
                          size_t n_right, void *const *out, const struct hg_how *how);
/* Makes this process's part of the same, hg_rows_part tiles of hg_rows_few's columns: how->added takes them. */
hinge_status hg_rows_fill_part(struct hg_rows *rows, const uint32_t *left, size_t n_left, const uint32_t *right,
                               size_t n_right, const struct hg_how *how);

/* Adds rows to g: g[c] += sum over r of coef[r] K(left[r], right[c]), in the order of r; coef NULL: 1 each, without
 * adders. */
hinge_status hg_rows_apply(struct hg_rows *rows, const uint32_t *left, size_t n_left, const double *coef,
                           const uint32_t *right, size_t n_right, double *g, const struct hg_how *how);

/* Ends a sum g [n] of rows, of which each peer has made its columns: all get all. Without peers there is nothing to do.
 * status: of the making. hg_rows_apply has done so; who adds rows that are kept does it. */
hinge_status hg_rows_bring(struct hg_rows *rows, hinge_status status, const struct hg_halt *halt, double *g, size_t n);
/* Does the same for sums [n] dealt in tiles of `grain`, and counts as rows->values what all peers, who there must be,
 * have made since it was `before`. */
hinge_status hg_rows_bring_made(struct hg_rows *rows, hinge_status status, uint64_t before, const struct hg_halt *halt,
                                double *sums, size_t n, size_t grain);

/* The verbs that follow are for sources of f64 alone. */

/* Makes out[r * n_right + c] = K(left[r], right[c]). */
hinge_status hg_rows_block(struct hg_rows *rows, const uint32_t *left, size_t n_left, const uint32_t *right,
                           size_t n_right, double *out);
/* Makes sum[r] = sum over c of coef[c] K(left[r], right[c]); square[r], or NULL: that of the squares of its terms, by
 * which a caller knows what rounding may have made of the sum. halt: hg_how's. hg_rows_dot_bytes: what it takes
 * meanwhile. */
hinge_status hg_rows_dot(struct hg_rows *rows, const uint32_t *left, size_t n_left, const double *coef,
                         const uint32_t *right, size_t n_right, double *sum, double *square,
                         const struct hg_halt *halt);
size_t hg_rows_dot_bytes(size_t n_left, size_t n_right);

#endif

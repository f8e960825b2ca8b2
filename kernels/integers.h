/*
 * Points of whole numbers: every value is origin + k step, one origin and one step for all features, k in 0..255
 * (pixels, 16 levels, genotypes, 8-bit embeddings). Products of the k are made in 32-bit integers, which lose nothing:
 * |x - z|^2 is step^2 times a whole number, exactly, and 0 for equal points alone. Of two values k is a bit, and that
 * number is counted by XOR and population count. Where points lie as bytes, they are read there; otherwise k is copied,
 * a byte a feature. Read points.h and maker.h before; the loops are in integer_loops.c.
 */
#ifndef HG_INTEGERS_H
#define HG_INTEGERS_H

#include "lib/base/base.h"

struct hg_points;
struct hg_integer_loop;

enum {
    HG_INTEGER_COLS = 64, /* of a panel of words, */
    HG_INTEGER_HEAD = 3,  /* before which it has three lines: what a distance adds, sums of k^2, sums of k */
    HG_INTEGER_ROWS = 60  /* of a part of a tile: whole blocks of the loops' rows */
};

/* Which numbers there are. */
struct hg_grid {
    double origin, step;
    int most;   /* the largest k; 0: points are not like that */
    bool bits;  /* k is 0 or 1, and products are made of bits */
    bool rough; /* values are off their places by more than what f64 rounds, and so are kernel values: tiles in f64 are
                 * made otherwise */
    double off; /* what values may be off their places by */
};

/* Returns how many steps the origin is from 0: a whole number where values are multiples of the step, so that sums of
 * products of (first + k) are whole numbers too, and exact however far the origin is from the values. */
double hg_grid_first(const struct hg_grid *grid);

struct hg_integers {
    struct hg_grid grid; /* grid.most 0: empty */
    size_t n, d, stride;
    const uint8_t *code;    /* [n * stride] k of point i, or its byte, is code[row * stride ..], row = order[i] */
    const uint32_t *order;  /* or NULL: row i */
    uint8_t flip;           /* k is a byte's bits but for these */
    uint8_t one;            /* a bit is 1 where the byte is this */
    uint8_t *own;           /* the code, where it is a copy */
    uint32_t *square, *sum; /* [rows] sums of k^2 and k of each row; one block */
    double off, lost;       /* the most that a value is off its place by, and off a place at 0; bytes as they lie: 0 */
    float *moved;           /* [n] how far each point is from its whole numbers, as a norm; NULL: next to nothing */
    double most_moved;      /* the largest of them, in f64 */
    const struct hg_integer_loop *loop; /* that makes products, for the level asked for */
};

/* Looks whether the points are like that, before their shift; *integers stays empty where they are not. The points'
 * matrix must stay where it is. rough: rough grids will do; level: of instructions, as hg_cpu_level returns it. */
hinge_status hg_integers_init(struct hg_integers *integers, const struct hg_points *points, bool rough, int level,
                              int threads, hinge_error *err);
/* Does the same for points that are to have the numbers of a grid, as examples have those of support vectors. */
hinge_status hg_integers_match(struct hg_integers *integers, const struct hg_grid *grid, const struct hg_points *points,
                               int level, int threads, hinge_error *err);
void hg_integers_free(struct hg_integers *integers);

/* ---- loops ------------------------------------------------------------------------------------------------------- */

/* Makes out[r * ld + c] for rows r of a left side (lead words apart) and the 64 columns of a panel's words: the sum
 * over `words` words of the products of their parts, or of the bits that differ. */
typedef void hg_integer_products(const uint32_t *left, size_t lead, size_t rows, const uint32_t *panel, size_t words,
                                 int32_t *out, size_t ld);

/* What turns a row's products with columns into squared distances in units of the step, which are whole numbers, or
 * into dot products unit (base + first sum(k) + (sum(k^2) of both - distance) / 2). */
struct hg_integer_row {
    bool bits, dots;
    uint32_t square;          /* sum of the row's k^2 */
    double unit, base, first; /* the step's square; d first^2 + first sum(k) of the row; hg_grid_first */
};

/* Makes n values of `type`, at most HG_INTEGER_COLS, of products with a panel's first columns; head: the panel's. */
typedef void hg_integer_measure(const struct hg_integer_row *row, size_t n, const int32_t *product,
                                const uint32_t *head, hinge_dtype type, void *out);

/* A way to make products, a row of a table. group: features in a word of 32 bits: 2 of 16 bits, 4 bytes, or 32 bits.
 * Parts of a left side are k - 128 (but for bits), of a right side k. */
struct hg_integer_loop {
    const char *name; /* NULL: this build has none, or there are no more */
    int level, group;
    enum hg_cpu_set needs; /* beside the level */
    hg_integer_products *products;
    hg_integer_measure *measure;
    double ns; /* a word of a value: what decides (cost.c) */
};

/* Returns the best loop for a level of instructions, as hg_cpu_level returns it, and this processor. */
const struct hg_integer_loop *hg_integer_loop(int level, bool bits);
/* Returns loop k of all that there are; NULL: there are no more. */
const struct hg_integer_loop *hg_integer_loop_number(size_t k);
/* Says whether the processor runs a loop. */
bool hg_integer_loop_runs(const struct hg_integer_loop *loop);

#endif

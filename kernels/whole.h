/*
 * The Gram matrix of few points, whole: a source of kernel rows that are all made beforehand by another source, each
 * value once, as K is symmetric, and lie where they can be read. Read lib/rows/source.h before.
 *
 * Buys: of few points with many features nearly all become support vectors, and values cost more than what is done
 * with them. Half of the products are spared, and those of K_WW; in f64 also those of the proof, and a training
 * takes two thirds of the time (doc/tried.md). Many points, and values that are cheap, go without (hg_whole_pays);
 * params.maker = HINGE_MAKER_PANELS has rows without it.
 */
#ifndef HG_WHOLE_H
#define HG_WHOLE_H

#include "kernels/map.h"
#include "lib/rows/source.h"

/* Holds a source; its members are its own. */
struct hg_whole {
    struct hg_rows super;
    const struct hg_rows *of; /* made the rows, and has the diagonal */
    size_t ld;                /* values from one row to the next */
    char *k;                  /* [super.n * ld] */
    char *room;               /* of each thread, for a tile */
    bool is_view;             /* k is another one's */
};

/* Say whether the matrix of n points is worth being made whole within so many bytes, as f64: values that cost so many
 * reads are dear enough, and the points few; and whether it is as quick in f64, whose values need no proof. */
bool hg_whole_pays(double cost, size_t n, size_t bytes);
bool hg_whole_pays_in_f64(size_t n);

/* Makes all rows of a source whose kernel is symmetric, and a source of them. of: borrowed. halt: NULL, or what ends it
 * early, the rows being incomplete then. On failure nothing is left to be freed. */
hinge_status hg_whole_init(struct hg_whole *whole, struct hg_rows *of, const struct hg_halt *halt, hinge_error *err);
/* Makes the same in f64 of the dot products of all points, of which each kernel of a grid is a map: norms [n] or NULL,
 * as in struct hg_gram. of: for the diagonal. */
struct hg_map_of {
    hinge_kernel kernel;
    const struct hg_maps *maps;
    const double *norms;
};
hinge_status hg_whole_map(struct hg_whole *whole, const struct hg_whole *dots, const struct hg_map_of *map,
                          const struct hg_rows *of, hinge_error *err);
/* Makes a source that reads another one's rows, by so many threads. */
hinge_status hg_whole_view(struct hg_whole *view, const struct hg_whole *whole, int threads, hinge_error *err);
void hg_whole_free(struct hg_whole *whole);
size_t hg_whole_bytes(const struct hg_whole *whole);

/* Copies rows [row, row + count) of a symmetric matrix k [n * ld], whose values from their diagonals on are there, to
 * the columns of the same numbers, from their diagonals on. */
void hg_mirror_rows(void *k, hinge_dtype type, size_t ld, size_t n, size_t row, size_t count, int threads);

#endif

/*
 * Tiles of |x - z|_1 and the like (maker.h): sums over differences of features, for kernels that are functions of them
 * (the Laplacian, chi2, Tanimoto's).
 * One side is vectors as they are, the other panels of columns that lie feature by feature (panel.h); the map of the
 * kernel then takes the sum for a dot product. Nothing cancels: a vector's distance to itself is 0, and a small one has
 * all its digits, so that no norms are needed and no pair is looked at again.
 *
 * Compiled once a level with HG_LEVEL, as map.c is; the plain compilation holds the maker as well.
 */
#include "kernels/kernel.h"
#include "lib/base/level.h"
#include "kernels/maker.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { ROWS = 4, SPAN = 2 }; /* their sums stay in registers */

#define REAL float
#define BITS 32
#define MASK int32_t
#define BARE INT32_MAX
#define FABS fabsf
#include "kernels/differences_rows.h"

#define REAL double
#define BITS 64
#define MASK int64_t
#define BARE INT64_MAX
#define FABS fabs
#include "kernels/differences_rows.h"

const struct hg_differences GLUE(hg_differences_,
                                 HG_LEVEL) = { .sums = { [HINGE_F32] = sums32, [HINGE_F64] = sums64 } };

#if NUMBER == 1

/* Makes distances panel after panel. The last panel may have fewer columns than fit: its values go by way of `last`. */
static hinge_status products(const struct hg_tiler *t, const struct hg_part_of_tile *p)
{
    hg_sum_differences *sums = t->maps->differences->sums[t->type];
    enum hg_difference what = hg_kernel_row(t->kernel.type)->difference;
    size_t size = hg_size_of(t->type), width = hg_panel_cols(t->type), count = p->right->count;
    const char *x = (const char *)p->left->x + p->row0 * p->left->ld * size;
    _Alignas(64) char last[HG_TILE_ROWS * HG_PANEL_BYTES];
    for (size_t c = 0; c < count; c += width) {
        const void *panel = (const char *)p->right->x + c * t->d * size;
        char *out = (char *)p->dots + c * size;
        bool fits = count - c >= width;
        void *to = fits ? out : last;
        size_t ld = fits ? p->ld : width;
        sums(what, x, p->left->ld, p->m, panel, t->d, to, ld);
        for (size_t r = 0; !fits && r < p->m; r++)
            memcpy(out + r * p->ld * size, last + r * HG_PANEL_BYTES, (count - c) * size);
    }
    return HINGE_OK;
}

const struct hg_maker hg_by_differences = { .name = "differences",
                                            .source = HG_FROM_DIFFERENCES,
                                            .most_rows = HG_TILE_ROWS,
                                            .panel = HG_PANEL_BYTES,
                                            .cost = hg_cost_differences,
                                            .room = hg_panels_room,
                                            .lay_left = hg_plain_left,
                                            .right_bytes = hg_panels_right_bytes,
                                            .set_left = hg_plain_set_left,
                                            .set_right = hg_panels_set_right,
                                            .products = products,
                                            .map = hg_map_dots };

#endif

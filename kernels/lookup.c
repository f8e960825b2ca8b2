/*
 * Tiles of a precomputed kernel (maker.h): values are looked up in the caller's matrix. A point's row of it is the
 * caller's row (hg_points.order), and its column is what params.precomputed_index names (hg_tiler.column). There are no
 * sides to be set, and no map.
 */
#include "kernels/maker.h"

/* Makes values in the source's type, whatever the matrix has and wherever its columns are. */
static hinge_status products(const struct hg_tiler *t, const struct hg_part_of_tile *p)
{
    const struct hg_points *points = p->left->origin.points;
    for (size_t r = 0; r < p->m; r++) {
        void *out = hg_row_of_part(t, p, r);
        size_t row = hg_origin_point(&p->left->origin, p->row0 + r);
        row = points->order != NULL ? points->order[row] : row;
        for (size_t c = 0; c < p->right->count; c++) {
            size_t point = hg_origin_point(&p->right->origin, c);
            hg_put(out, t->type, c, hg_matrix_value(&points->x, row, t->column != NULL ? t->column[point] : point));
        }
    }
    return HINGE_OK;
}

const struct hg_maker hg_lookup = {
    .name = "matrix", .most_rows = HG_TILE_ROWS, .source = HG_FROM_MATRIX, .cost = hg_cost_given, .products = products
};

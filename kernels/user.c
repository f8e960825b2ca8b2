/*
 * Tiles by the user's kernel (maker.h): his function makes them, in f64, of the vectors of both sides. It is called by
 * several threads at once, each with room of its own; hg_map_dots then brings the values to where they go, its map
 * being the linear one (map_rows.h). A non-zero answer ends the fetch with HINGE_ECALLBACK.
 */
#include "kernels/maker.h"

static hinge_status products(const struct hg_tiler *t, const struct hg_part_of_tile *p)
{
    const double *a = (const double *)p->left->x + p->row0 * p->left->ld;
    hinge_matrix va = { a, HINGE_F64, p->m, t->d, p->left->ld };
    hinge_matrix vb = { p->right->x, HINGE_F64, p->right->count, t->d, p->right->ld };
    return t->kernel.user(t->kernel.cookie, &va, &vb, p->dots, p->ld) == 0 ? HINGE_OK : HINGE_ECALLBACK;
}

const struct hg_maker hg_user = { .name = "callback",
                                  .plain = true,
                                  .most_rows = HG_TILE_ROWS,
                                  .source = HG_FROM_USER,
                                  .cost = hg_cost_given,
                                  .lay_left = hg_plain_left,
                                  .right_bytes = hg_plain_right_bytes,
                                  .set_left = hg_plain_set_left,
                                  .set_right = hg_plain_set_right,
                                  .products = products,
                                  .map = hg_map_dots };

/*
 * Tiles by GEMM (maker.h): dot products of vectors as they are, and a map. In f64 small distances are
 * taken from the vectors' differences, as norms and dot products do not tell them. GEMM is the maker for all points
 * that no other is faster for (hg_tiler_choose): dense vectors of many features, above all. Few rows go without its
 * packing (few.c). Its sides are those of the user's kernel too.
 */
#include "kernels/maker.h"

#include <cblas.h>
#include <float.h>
#include <math.h>

/* ---- sides ------------------------------------------------------------------------------------------------------- */

/* Lays out vectors as GEMM reads them, a whole number of cache lines apart. */
size_t hg_plain_left(const struct hg_tiler *t, const struct hg_points *points, size_t count, char *base,
                     struct hg_left *left)
{
    size_t at = 0;
    (void)points;
    left->ld = hg_stride(t);
    left->x = hg_take(base, &at, count * left->ld * hg_size_of(t->type));
    return at;
}

size_t hg_plain_right_bytes(const struct hg_tiler *t, const struct hg_points *points, size_t count)
{
    (void)points;
    return count * hg_stride(t) * hg_size_of(t->type);
}

void hg_plain_set_left(const struct hg_tiler *t, const struct hg_left *left, size_t r, void *room)
{
    uint32_t point = hg_origin_point(&left->origin, r);
    (void)room;
    hg_points_pack(left->origin.points, &point, 0, 1, t->type, (char *)left->x + r * left->ld * hg_size_of(t->type),
                   left->ld);
}

/* Takes vectors where they lie side by side in the caller's memory, and copies them otherwise. */
void hg_plain_set_right(const struct hg_tiler *t, struct hg_right *right, void *x, void *room)
{
    const struct hg_origin *o = &right->origin;
    (void)room;
    right->x = hg_points_direct(o->points, o->ids, o->first, right->count, t->type, &right->ld);
    if (right->x != NULL)
        return;
    right->ld = hg_stride(t);
    right->x = x;
    hg_points_pack(o->points, o->ids, o->first, right->count, t->type, x, right->ld);
}

/* ---- squared distances that norms and dot products do not tell --------------------------------------------------- */

enum { AT_ONCE = 256 }; /* features */

/* Returns what rounding takes from a squared distance in f64, as a share of ||x||^2 + ||z||^2: twice the dot product's
 * error is at most hg_dot_error of that, as 2 ||x|| ||z|| <= ||x||^2 + ||z||^2, and norms and sums round thrice. */
static double distance_error(size_t d)
{
    return hg_dot_error(HINGE_F64, d) + 3 * 0x1p-53;
}

/* Finds the squared distance D from which on norms and dot products will do: an error of D changes K by at most `lost`
 * times the slope at gamma D, and that is `wanted` where the slope is wanted / lost. D is no less than 1 / gamma. Where
 * the bound is met for all pairs, no distance is taken anew. */
double hg_tiler_close(const hinge_kernel *kernel, hinge_dtype type, size_t d, double norm)
{
    static const double wanted = 1e-11;
    bool wants = hg_kernel_row(kernel->type)->of_distance && type == HINGE_F64;
    if (!wants || hg_kernel_error(kernel, type, d, norm) <= wanted)
        return 0;
    double lost = 2 * kernel->gamma * distance_error(d) * fmin(norm, DBL_MAX / 4); /* of t, twice over */
    return fmax(hg_kernel_flat(kernel, wanted / fmin(lost, DBL_MAX)), 1) / kernel->gamma;
}

/* Returns ||x_i - z_j||^2 by differences, which cancel nothing: for points so close that norms and a dot product would
 * leave no digits. */
static double squared_difference(const struct hg_origin *a, size_t i, const struct hg_origin *b, size_t j, size_t d)
{
    double x[AT_ONCE], z[AT_ONCE], sum = 0;
    for (size_t c = 0, count; c < d; c += count) {
        count = HG_MIN((size_t)AT_ONCE, d - c);
        hg_points_given(a->points, hg_origin_point(a, i), c, count, x);
        hg_points_given(b->points, hg_origin_point(b, j), c, count, z);
#pragma omp simd reduction(+ : sum)
        for (size_t k = 0; k < count; k++)
            sum += (x[k] - z[k]) * (x[k] - z[k]);
    }
    return sum;
}

/* Turns the dot products of row i into -1/2 squared distances, which the map takes with norms of 0: by differences
 * where those are small, or not to be told (NaN where features are so large that norms are infinite). One vectorised
 * pass counts the distances that are told, and most rows need no second one. */
static void take_distances(const struct hg_tiler *t, const struct hg_left *left, size_t i, const struct hg_right *right,
                           double *dot)
{
    const double norm = ((const double *)left->norm)[i], *norms = right->norm;
    const double close = t->close, lost = distance_error(t->d);
    const size_t n = right->count;
    double told = 0; /* as many; of a double's width, for vectors */
#pragma omp simd reduction(+ : told)
    for (size_t c = 0; c < n; c++) {
        double both = norm + norms[c], distance = both - 2 * dot[c];
        dot[c] = -distance / 2;
        told += distance >= close + lost * both ? 1.0 : 0.0;
    }
    for (size_t c = 0; c < n && told < (double)n; c++)
        if (!(-2 * dot[c] >= close + lost * (norm + norms[c])))
            dot[c] = -squared_difference(&left->origin, i, &right->origin, c, t->d) / 2;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* Maps a part's dot products row by row, to where the row goes; prediction's rows are then summed (hg_sums). */
void hg_map_dots(const struct hg_tiler *t, const struct hg_part_of_tile *p)
{
    static const double zero[HG_TILE_COLS];
    size_t n = p->right->count;
    for (size_t r = 0; r < p->m; r++) {
        void *dot = (char *)p->dots + r * p->ld * hg_size_of(t->type), *to = hg_row_of_part(t, p, r);
        double norm = p->left->norm != NULL ? hg_get(p->left->norm, t->type, p->row0 + r) : 0;
        if (t->kernel.type == HINGE_LINEAR && to == dot)
            continue;
        if (t->close > 0 && p->left->norm != NULL) {
            take_distances(t, p->left, p->row0 + r, p->right, dot);
            t->maps->map[HINGE_F64](&t->kernel, n, dot, to, 0, zero);
        } else {
            t->maps->map[t->type](&t->kernel, n, dot, to, norm, p->right->norm);
        }
        if (p->sums != NULL)
            t->maps->sum[t->type](p->sums, p->row0 + r, n, to);
    }
}

enum { FEW = 16, LEAST = 64 }; /* rows, and features, of which GEMM's packing takes longer than the products (few.c) */

/* Makes dots = X_I X_J' for the part's rows I and the tile's columns J. */
static hinge_status products(const struct hg_tiler *t, const struct hg_part_of_tile *p)
{
    const void *a = (const char *)p->left->x + p->row0 * p->left->ld * hg_size_of(t->type), *b = p->right->x;
    int m = (int)p->m, n = (int)p->right->count, d = (int)t->d, ld = (int)p->ld;
    int lda = (int)HG_MAX(p->left->ld, (size_t)1), ldb = (int)HG_MAX(p->right->ld, (size_t)1); /* d may be 0 */
    if (p->m <= FEW && t->d >= LEAST)
        t->maps->few->dots[t->type](a, p->left->ld, p->m, b, p->right->ld, p->right->count, t->d, p->dots, p->ld);
    else if (t->type == HINGE_F32)
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, n, d, 1, a, lda, b, ldb, 0, p->dots, ld);
    else
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, n, d, 1, a, lda, b, ldb, 0, p->dots, ld);
    return HINGE_OK;
}

const struct hg_maker hg_gemm = { .name = "gemm",
                                  .asked = HINGE_MAKER_GEMM,
                                  .plain = true,
                                  .most_rows = HG_TILE_ROWS,
                                  .cost = hg_cost_gemm,
                                  .lay_left = hg_plain_left,
                                  .right_bytes = hg_plain_right_bytes,
                                  .set_left = hg_plain_set_left,
                                  .set_right = hg_plain_set_right,
                                  .products = products,
                                  .map = hg_map_dots };

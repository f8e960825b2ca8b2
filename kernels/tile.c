/*
 * Points and tiles: gathering vectors into the working type, and one tile of kernel values by GEMM and map.
 */
#include "kernels/gram.h"

#include <cblas.h>
#include <string.h>

static double value_of(const struct hg_points *points, size_t row, size_t c)
{
    double v = hg_matrix_value(&points->x, row, c);
    if (points->factor != NULL)
        v *= points->factor[c];
    return points->shift != NULL ? v - points->shift[c] : v;
}

/* One vector in the type asked for; the common cases have loops of their own. */
static void copy_vector(const struct hg_points *points, size_t row, hinge_dtype type, void *out)
{
    size_t d = points->x.cols, at = row * points->x.stride;
    const float *from32 = (const float *)points->x.data + at;
    const double *from64 = (const double *)points->x.data + at;
    bool plain = points->shift == NULL && points->factor == NULL;
    if (plain && points->x.type == type)
        memcpy(out, type == HINGE_F32 ? (const void *)from32 : (const void *)from64,
               d * hg_size_of(type));
    else if (plain && type == HINGE_F32)
        for (size_t c = 0; c < d; c++)
            ((float *)out)[c] = (float)from64[c];
    else if (plain)
        for (size_t c = 0; c < d; c++)
            ((double *)out)[c] = from32[c];
    else if (type == HINGE_F32)
        for (size_t c = 0; c < d; c++)
            ((float *)out)[c] = (float)value_of(points, row, c);
    else
        for (size_t c = 0; c < d; c++)
            ((double *)out)[c] = value_of(points, row, c);
}

static size_t matrix_row(const struct hg_points *points, size_t i)
{
    return points->order != NULL ? points->order[i] : i;
}

void hg_points_pack(const struct hg_points *points, const uint32_t *ids, size_t first, size_t count,
                    hinge_dtype type, void *out, size_t ld)
{
    for (size_t i = 0; i < count; i++)
        copy_vector(points, matrix_row(points, ids != NULL ? ids[i] : first + i), type,
                    (char *)out + i * ld * hg_size_of(type));
}

const void *hg_points_direct(const struct hg_points *points, const uint32_t *ids, size_t first, size_t count,
                             hinge_dtype type, size_t *stride)
{
    if (points->x.type != type || points->shift != NULL || points->factor != NULL || count == 0)
        return NULL;
    size_t row = matrix_row(points, ids != NULL ? ids[0] : first);
    if (ids != NULL || points->order != NULL)
        for (size_t i = 1; i < count; i++)
            if (matrix_row(points, ids != NULL ? ids[i] : first + i) != row + i)
                return NULL;
    *stride = points->x.stride;
    return (const char *)points->x.data + row * points->x.stride * hg_size_of(type);
}

double hg_points_norm(const struct hg_points *points, size_t i, hinge_dtype type)
{
    size_t d = points->x.cols, row = matrix_row(points, i);
    double sum = 0;
    for (size_t c = 0; c < d; c++) {
        double v = value_of(points, row, c);
        if (type == HINGE_F32)
            v = (float)v;
        sum += v * v;
    }
    return sum;
}

void hg_points_norms(const struct hg_points *points, hinge_dtype type, void *norms, int threads)
{
    float *norms32 = norms;
    double *norms64 = norms;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (size_t i = 0; i < points->n; i++) {
        double norm = hg_points_norm(points, i, type);
        if (type == HINGE_F32)
            norms32[i] = (float)norm;
        else
            norms64[i] = norm;
    }
}

static void dot_products(const struct hg_tiler *t, size_t m, const void *a, size_t lda, size_t n, const void *b,
                         size_t ldb, void *dots, size_t ld)
{
    int im = (int)m, in = (int)n, id = (int)t->d, ia = (int)lda, ib = (int)ldb, ic = (int)ld;
    if (t->type == HINGE_F32)
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, im, in, id, 1, a, ia, b, ib, 0, dots, ic);
    else
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, im, in, id, 1, a, ia, b, ib, 0, dots, ic);
}

hinge_status hg_tile_values(const struct hg_tiler *t, size_t m, const void *a, size_t lda, const void *norm_a,
                            size_t n, const void *b, size_t ldb, const void *norm_b, void *dots, size_t ld,
                            void *const *out)
{
    const struct hg_kernel_row *row = hg_kernel_row(t->kernel.type);
    struct hg_map_args args = { t->kernel.gamma, t->kernel.coef0, t->kernel.degree };
    if (row->source == HG_FROM_USER) { /* always f64 */
        hinge_matrix va = { a, HINGE_F64, m, t->d, lda }, vb = { b, HINGE_F64, n, t->d, ldb };
        if (t->kernel.user(t->kernel.cookie, &va, &vb, dots, ld) != 0)
            return HINGE_ECALLBACK;
    } else {
        dot_products(t, m, a, lda, n, b, ldb, dots, ld);
    }
    for (size_t r = 0; r < m; r++) {
        if (t->type == HINGE_F32) {
            float *dot = (float *)dots + r * ld, *to = out != NULL && out[r] != NULL ? out[r] : dot;
            if (row->map != HG_MAP_LINEAR || to != dot)
                t->maps->f32[row->map](&args, n, dot, to, norm_a != NULL ? ((const float *)norm_a)[r] : 0,
                                       norm_b);
        } else {
            double *dot = (double *)dots + r * ld, *to = out != NULL && out[r] != NULL ? out[r] : dot;
            if (row->map != HG_MAP_LINEAR || to != dot)
                t->maps->f64[row->map](&args, n, dot, to, norm_a != NULL ? ((const double *)norm_a)[r] : 0,
                                       norm_b);
        }
    }
    return HINGE_OK;
}

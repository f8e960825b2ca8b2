/*
 * Points and tiles: gathering vectors into the working type, and one tile of kernel values by GEMM and map.
 */
#include "kernels/gram.h"

#include <cblas.h>
#include <float.h>
#include <math.h>
#include <string.h>

/* Where vector i stands: the matrix, and its row there. */
static const hinge_matrix *find(const struct hg_points *points, size_t i, size_t *row)
{
    *row = points->order != NULL ? points->order[i] : i;
    if (points->more == NULL || *row < points->x.rows)
        return &points->x;
    *row -= points->x.rows;
    return points->more;
}

static double value_of(const struct hg_points *points, const hinge_matrix *x, size_t row, size_t c)
{
    double v = hg_matrix_value(x, row, c);
    if (points->factor != NULL)
        v *= points->factor[c];
    if (points->offset != NULL)
        v += points->offset[c];
    return points->shift != NULL ? v - points->shift[c] : v;
}

/* One vector in the type asked for; the common cases have loops of their own. */
static void copy_vector(const struct hg_points *points, size_t i, hinge_dtype type, void *out)
{
    size_t row;
    const hinge_matrix *x = find(points, i, &row);
    size_t d = x->cols, at = hg_matrix_by_rows(x) ? row * x->stride : 0;
    const float *from32 = (const float *)x->data + at;
    const double *from64 = (const double *)x->data + at;
    bool plain = points->shift == NULL && points->factor == NULL && points->offset == NULL && hg_matrix_by_rows(x);
    if (plain && x->type == type)
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
            ((float *)out)[c] = (float)value_of(points, x, row, c);
    else
        for (size_t c = 0; c < d; c++)
            ((double *)out)[c] = value_of(points, x, row, c);
}

double hg_points_value(const struct hg_points *points, size_t i, size_t c)
{
    size_t row;
    const hinge_matrix *x = find(points, i, &row);
    return value_of(points, x, row, c);
}

void hg_points_given(const struct hg_points *points, size_t i, size_t first, size_t count, double *out)
{
    struct hg_points given = *points;
    size_t row;
    const hinge_matrix *x = find(points, i, &row);
    size_t at = row * x->stride + first;
    given.shift = NULL;
    if (points->factor != NULL || points->offset != NULL || !hg_matrix_by_rows(x))
        for (size_t k = 0; k < count; k++)
            out[k] = value_of(&given, x, row, first + k);
    else if (x->type == HINGE_F64)
        memcpy(out, (const double *)x->data + at, count * sizeof *out);
    else
        for (size_t k = 0; k < count; k++)
            out[k] = ((const float *)x->data)[at + k];
}

void hg_points_pack(const struct hg_points *points, const uint32_t *ids, size_t first, size_t count,
                    hinge_dtype type, void *out, size_t ld)
{
    for (size_t i = 0; i < count; i++)
        copy_vector(points, ids != NULL ? ids[i] : first + i, type, (char *)out + i * ld * hg_size_of(type));
}

const void *hg_points_direct(const struct hg_points *points, const uint32_t *ids, size_t first, size_t count,
                             hinge_dtype type, size_t *stride)
{
    size_t row, other;
    if (points->shift != NULL || points->factor != NULL || points->offset != NULL || count == 0)
        return NULL;
    const hinge_matrix *x = find(points, ids != NULL ? ids[0] : first, &row);
    if (x->type != type || !hg_matrix_by_rows(x))
        return NULL;
    if (ids != NULL || points->order != NULL || points->more != NULL)
        for (size_t i = 1; i < count; i++)
            if (find(points, ids != NULL ? ids[i] : first + i, &other) != x || other != row + i)
                return NULL;
    *stride = x->stride;
    return (const char *)x->data + row * x->stride * hg_size_of(type);
}

double hg_points_norm(const struct hg_points *points, size_t i, hinge_dtype type)
{
    size_t row;
    const hinge_matrix *x = find(points, i, &row);
    double sum = 0;
    for (size_t c = 0; c < x->cols; c++) {
        double v = value_of(points, x, row, c);
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

double hg_points_nonzeros(const struct hg_points *points, int threads)
{
    size_t all = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : all)
    for (size_t i = 0; i < points->n; i++) {
        size_t row;
        const hinge_matrix *x = find(points, i, &row);
        for (size_t c = 0; c < x->cols; c++)
            all += (float)value_of(points, x, row, c) != 0;
    }
    return points->n > 0 ? (double)all / (double)points->n : 0;
}

enum { SUM_ROWS = 512 }; /* summed together: the sums do not depend on the threads */

double *hg_points_centre(const struct hg_points *points, int threads, bool *wanted)
{
    size_t d = points->x.cols, count = (points->n + SUM_ROWS - 1) / SUM_ROWS, sums = d + 1;
    double *mean = hg_zalloc(sums, sizeof *mean), *part = hg_zalloc(count * (sums + d), sizeof *part);
    *wanted = true;
    if (mean == NULL || part == NULL) {
        hg_free(mean);
        hg_free(part);
        return NULL;
    }
#pragma omp parallel for num_threads(threads) schedule(static)
    for (size_t s = 0; s < count; s++) {
        double *sum = part + s * (sums + d), *row = sum + sums;
        for (size_t i = s * SUM_ROWS; i < HG_MIN(points->n, (s + 1) * SUM_ROWS); i++) {
            hg_points_pack(points, NULL, i, 1, HINGE_F64, row, d);
            for (size_t c = 0; c < d; c++) {
                sum[c] += row[c];
                sum[d] += row[c] * row[c];
            }
        }
    }
    for (size_t s = 0; s < count; s++)
        for (size_t c = 0; c < sums; c++)
            mean[c] += part[s * (sums + d) + c] / (double)points->n;
    hg_free(part);
    double plain = mean[d], less = plain;
    for (size_t c = 0; c < d; c++)
        less -= mean[c] * mean[c];
    bool sparse = points->nonzeros < 0.75 * (double)d;
    *wanted = (sparse ? 4 : 1.5) * less <= plain;
    if (*wanted)
        return mean;
    hg_free(mean);
    return NULL;
}

void hg_points_panels(const struct hg_points *points, const uint32_t *ids, size_t first, size_t count,
                      hinge_dtype type, void *panels, void *rows, size_t ld)
{
    size_t width = hg_panel_cols(type), d = points->x.cols;
    for (size_t c = 0; c < count; c += width) {
        size_t n = HG_MIN(width, count - c);
        hg_points_pack(points, ids != NULL ? ids + c : NULL, first + c, n, type, rows, ld);
        hg_panel_set((char *)panels + c * d * hg_size_of(type), rows, ld, n, d, type);
    }
}

static void dot_products(const struct hg_tiler *t, size_t m, const void *a, size_t lda, size_t n, const void *b,
                         size_t ldb, void *dots, size_t ld)
{
    int im = (int)m, in = (int)n, id = (int)t->d, ic = (int)ld;
    int ia = (int)HG_MAX(lda, (size_t)1), ib = (int)HG_MAX(ldb, (size_t)1); /* without features too */
    if (t->type == HINGE_F32)
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, im, in, id, 1, a, ia, b, ib, 0, dots, ic);
    else
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, im, in, id, 1, a, ia, b, ib, 0, dots, ic);
}

enum { ROWS_AT_ONCE = 64 }; /* of a panel job: its sums stay in L1 with a stretch of the panel */

/* Values by lists and panels: panel after panel, and a panel's rows while it is in L1. */
static void list_values(const struct hg_tiler *t, const struct hg_left *left, size_t row0, size_t m,
                        const struct hg_right *right, void *dots, size_t ld, void *const *out)
{
    size_t size = hg_size_of(t->type), width = hg_panel_cols(t->type);
    _Alignas(64) char sums[ROWS_AT_ONCE * HG_PANEL_BYTES];
    void *to[HG_TILE_ROWS];
    for (size_t r = 0; r < m; r++)
        to[r] = out != NULL && out[r] != NULL ? out[r] : (char *)dots + r * ld * size;
    struct hg_panel_job job = {
        t->maps, hg_kernel_row(t->kernel.type)->map, { t->kernel.gamma, t->kernel.coef0, t->kernel.degree },
        &left->lists, 0, 0, NULL, sums, NULL,
    };
    size_t at_once = left->lists.stretches > 1 ? ROWS_AT_ONCE : m;
    for (size_t c = 0; c < right->count; c += width) {
        const char *panel = (const char *)right->x + c * t->d * size;
        const char *norms = right->norm != NULL ? (const char *)right->norm + c * size : NULL;
        for (size_t r = 0; r < m; r += at_once) {
            job.row0 = row0 + r;
            job.rows = HG_MIN(at_once, m - r);
            job.norm = left->norm != NULL ? (const char *)left->norm + (row0 + r) * size : NULL;
            job.out = to + r;
            if (t->type == HINGE_F32)
                t->maps->panel32(&job, (const float *)(const void *)panel, (const float *)(const void *)norms, c,
                                 HG_MIN(width, right->count - c));
            else
                t->maps->panel64(&job, (const double *)(const void *)panel, (const double *)(const void *)norms, c,
                                 HG_MIN(width, right->count - c));
        }
    }
}

hinge_status hg_tile_products(const struct hg_tiler *t, const struct hg_left *left, size_t row0, size_t m,
                              const struct hg_right *right, void *dots, size_t ld, void *const *out)
{
    size_t n = right->count;
    const void *a = (const char *)left->x + row0 * left->ld * hg_size_of(t->type);
    if (t->lists) {
        list_values(t, left, row0, m, right, dots, ld, out);
    } else if (hg_kernel_row(t->kernel.type)->source == HG_FROM_USER) { /* always f64 */
        hinge_matrix va = { a, HINGE_F64, m, t->d, left->ld }, vb = { right->x, HINGE_F64, n, t->d, right->ld };
        if (t->kernel.user(t->kernel.cookie, &va, &vb, dots, ld) != 0)
            return HINGE_ECALLBACK;
    } else {
        dot_products(t, m, a, left->ld, n, right->x, right->ld, dots, ld);
    }
    return HINGE_OK;
}

/* ---- squared distances that norms and dot products do not tell --------------------------------------------------- */

enum { AT_ONCE = 256 }; /* features */

/* Of what rounding takes from a squared distance in f64, the share of the two squared norms. */
static double distance_error(size_t d)
{
    return hg_dot_error(HINGE_F64, d) + 3 * 0x1p-53;
}

double hg_tiler_close(const hinge_kernel *kernel, hinge_dtype type, size_t d, double norm)
{
    static const double wanted = 1e-11;
    if (kernel->type != HINGE_RBF || type != HINGE_F64 || hg_kernel_error(kernel, type, d, norm) <= wanted)
        return 0;
    double lost = 2 * kernel->gamma * distance_error(d) * fmin(norm, DBL_MAX / 4); /* K's error where K is 1 */
    return fmax(log(fmin(lost, DBL_MAX) / wanted), 1) / kernel->gamma;
}

/* Where vector i of a side stands in its matrix, counted from its points. */
static size_t point_of(const struct hg_origin *o, size_t i)
{
    return o->ids != NULL ? o->ids[i] : o->first + i;
}

static double squared_difference(const struct hg_origin *a, size_t i, const struct hg_origin *b, size_t j, size_t d)
{
    double x[AT_ONCE], z[AT_ONCE], sum = 0;
    for (size_t c = 0, count; c < d; c += count) {
        count = HG_MIN((size_t)AT_ONCE, d - c);
        hg_points_given(a->points, point_of(a, i), c, count, x);
        hg_points_given(b->points, point_of(b, j), c, count, z);
#pragma omp simd reduction(+ : sum)
        for (size_t k = 0; k < count; k++)
            sum += (x[k] - z[k]) * (x[k] - z[k]);
    }
    return sum;
}

/* The dot products of row i to -1/2 squared distances: by differences where those are small, or not to be told. */
static void take_distances(const struct hg_tiler *t, const struct hg_left *left, size_t i, const struct hg_right *right,
                           double *dot)
{
    double norm = ((const double *)left->norm)[i], lost = distance_error(t->d);
    const double *norms = right->norm;
    for (size_t c = 0; c < right->count; c++) {
        double both = norm + norms[c], distance = both - 2 * dot[c];
        if (!(distance >= t->close + lost * both)) /* NaN where features are so large that norms are infinite */
            distance = squared_difference(&left->origin, i, &right->origin, c, t->d);
        dot[c] = -distance / 2;
    }
}

void hg_tile_map(const struct hg_tiler *t, const struct hg_left *left, size_t row0, size_t m,
                 const struct hg_right *right, void *dots, size_t ld, void *const *out)
{
    const struct hg_kernel_row *row = hg_kernel_row(t->kernel.type);
    struct hg_map_args args = { t->kernel.gamma, t->kernel.coef0, t->kernel.degree };
    static const double zero[HG_TILE_COLS];
    size_t n = right->count;
    for (size_t r = 0; r < m && t->close > 0; r++) {
        double *dot = (double *)dots + r * ld;
        take_distances(t, left, row0 + r, right, dot);
        t->maps->f64[HG_MAP_RBF](&args, n, dot, out != NULL && out[r] != NULL ? out[r] : dot, 0, zero);
    }
    for (size_t r = 0; r < m && !t->lists && !(t->close > 0); r++) {
        if (t->type == HINGE_F32) {
            float *dot = (float *)dots + r * ld, *to = out != NULL && out[r] != NULL ? out[r] : dot;
            if (row->map != HG_MAP_LINEAR || to != dot)
                t->maps->f32[row->map](&args, n, dot, to,
                                       left->norm != NULL ? ((const float *)left->norm)[row0 + r] : 0, right->norm);
        } else {
            double *dot = (double *)dots + r * ld, *to = out != NULL && out[r] != NULL ? out[r] : dot;
            if (row->map != HG_MAP_LINEAR || to != dot)
                t->maps->f64[row->map](&args, n, dot, to,
                                       left->norm != NULL ? ((const double *)left->norm)[row0 + r] : 0, right->norm);
        }
    }
}

hinge_status hg_tile_values(const struct hg_tiler *t, const struct hg_left *left, size_t row0, size_t m,
                            const struct hg_right *right, void *dots, size_t ld, void *const *out)
{
    hinge_status status = hg_tile_products(t, left, row0, m, right, dots, ld, out);
    if (status == HINGE_OK)
        hg_tile_map(t, left, row0, m, right, dots, ld, out);
    return status;
}

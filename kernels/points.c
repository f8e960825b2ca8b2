/*
 * Points: values, norms and means of vectors, and gathering them into the working type (points.h). A value is made in
 * f64, as x = (given - origin) factor + offset - shift, and is rounded once, to the type that tiles are made in. Norms
 * are of vectors so rounded: then ||x||^2 + ||z||^2 - 2 <x, z> is 0 but for the rounding of sums where x = z. Sums that
 * threads share are taken over parts of a fixed size, so that no bit depends on how many threads there are.
 */
#include "kernels/points.h"
#include "kernels/panel.h"
#include "lib/base/team.h"

#include <math.h>
#include <string.h>

/* Tells where vector i stands: the matrix, and its row there. */
static const hinge_matrix *find(const struct hg_points *points, size_t i, size_t *row)
{
    *row = points->order != NULL ? points->order[i] : i;
    if (points->more == NULL || *row < points->x.rows)
        return &points->x;
    *row -= points->x.rows;
    return points->more;
}

/* Makes a feature of a vector as the top of this file says; members that are NULL take no part. */
static double value_of(const struct hg_points *points, const hinge_matrix *x, size_t row, size_t c)
{
    double v = hg_matrix_value(x, row, c);
    if (points->origin != NULL)
        v -= points->origin[c];
    if (points->factor != NULL)
        v *= points->factor[c];
    if (points->offset != NULL)
        v += points->offset[c];
    return points->shift != NULL ? v - points->shift[c] : v;
}

/* Widen d values of a matrix's type. */
static void widen64(const void *from, hinge_dtype type, size_t d, double *to)
{
    switch (type) {
    case HINGE_F32:
        for (size_t c = 0; c < d; c++)
            to[c] = ((const float *)from)[c];
        break;
    case HINGE_U8:
        for (size_t c = 0; c < d; c++)
            to[c] = ((const uint8_t *)from)[c];
        break;
    case HINGE_I8:
        for (size_t c = 0; c < d; c++)
            to[c] = ((const int8_t *)from)[c];
        break;
    case HINGE_F16:
        for (size_t c = 0; c < d; c++)
            to[c] = hg_from_f16(((const uint16_t *)from)[c]);
        break;
    default:
        memcpy(to, from, d * sizeof *to);
    }
}

static void widen32(const void *from, hinge_dtype type, size_t d, float *to)
{
    if (type == HINGE_U8)
        for (size_t c = 0; c < d; c++)
            to[c] = ((const uint8_t *)from)[c];
    else if (type == HINGE_I8)
        for (size_t c = 0; c < d; c++)
            to[c] = ((const int8_t *)from)[c];
    else if (type == HINGE_F64)
        for (size_t c = 0; c < d; c++)
            to[c] = (float)((const double *)from)[c];
    else
        for (size_t c = 0; c < d; c++)
            to[c] = (float)hg_element(from, type, c);
}

/* Says whether values of a type are widened before anything is done with them. */
static bool is_small(hinge_dtype type)
{
    return type != HINGE_F32 && type != HINGE_F64;
}

/* Makes features of values that are widened, a piece at a time, as value_of does. */
static void move_small(const struct hg_points *points, const void *from, hinge_dtype small, size_t d, hinge_dtype type,
                       void *out)
{
    enum { PIECE = 256 };
    double v[PIECE];
    for (size_t c = 0, count; c < d; c += count) {
        count = HG_MIN(d - c, (size_t)PIECE);
        widen64((const char *)from + c * hg_size_of(small), small, count, v);
        for (size_t k = 0; k < count && points->origin != NULL; k++)
            v[k] -= points->origin[c + k];
        for (size_t k = 0; k < count && points->factor != NULL; k++)
            v[k] *= points->factor[c + k];
        for (size_t k = 0; k < count && points->offset != NULL; k++)
            v[k] += points->offset[c + k];
        for (size_t k = 0; k < count && points->shift != NULL; k++)
            v[k] -= points->shift[c + k];
        if (type == HINGE_F64)
            memcpy((double *)out + c, v, count * sizeof *v);
        else
            for (size_t k = 0; k < count; k++)
                ((float *)out)[c + k] = (float)v[k];
    }
}

/* Copies one vector in the type asked for; the common cases have loops of their own. (No factor means no origin.) */
static void copy_vector(const struct hg_points *points, size_t i, hinge_dtype type, void *out)
{
    size_t row;
    const hinge_matrix *x = find(points, i, &row);
    size_t d = x->cols, at = hg_matrix_by_rows(x) ? row * x->stride : 0;
    const void *from = (const char *)x->data + at * hg_size_of(x->type);
    bool plain = points->shift == NULL && points->factor == NULL && points->offset == NULL && hg_matrix_by_rows(x);
    if (plain && x->type == type)
        memcpy(out, from, d * hg_size_of(type));
    else if (plain && type == HINGE_F32)
        widen32(from, x->type, d, out);
    else if (plain)
        widen64(from, x->type, d, out);
    else if (is_small(type)) /* which only a matrix of it is copied to */
        for (size_t c = 0; c < d; c++)
            memcpy((char *)out + c * hg_size_of(type), (const char *)x->data + (c * x->stride + row) * hg_size_of(type),
                   hg_size_of(type));
    else if (is_small(x->type) && hg_matrix_by_rows(x))
        move_small(points, from, x->type, d, type, out);
    else
        for (size_t c = 0; c < d; c++)
            hg_put(out, type, c, value_of(points, x, row, c));
}

double hg_points_value(const struct hg_points *points, size_t i, size_t c)
{
    size_t row;
    const hinge_matrix *x = find(points, i, &row);
    return value_of(points, x, row, c);
}

/* Passes over the shift for those who compare two vectors or take their difference: it is the same for both, and what
 * it takes off would cost digits. */
void hg_points_given(const struct hg_points *points, size_t i, size_t first, size_t count, double *out)
{
    size_t row;
    const hinge_matrix *x = find(points, i, &row);
    size_t at = row * x->stride + first;
    if (points->factor == NULL && points->offset == NULL && hg_matrix_by_rows(x)) {
        widen64((const char *)x->data + at * hg_size_of(x->type), x->type, count, out);
        return;
    }
    struct hg_points given = *points;
    given.shift = NULL;
    for (size_t k = 0; k < count; k++)
        out[k] = value_of(&given, x, row, first + k);
}

/* Leaves what is between d and ld as it is: GEMM is told d, and lists read no more. */
void hg_points_pack(const struct hg_points *points, const uint32_t *ids, size_t first, size_t count, hinge_dtype type,
                    void *out, size_t ld)
{
    for (size_t i = 0; i < count; i++)
        copy_vector(points, ids != NULL ? ids[i] : first + i, type, (char *)out + i * ld * hg_size_of(type));
}

/* Looks whether ids are neighbours in one matrix; vectors that are can be read by GEMM where they lie. */
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

enum { AT_ONCE = 128, LANES = 8 }; /* features; sums that go side by side */

/* Takes features [first, first + count) of vector i as rounded to type, into x [count]. */
static void take(const struct hg_points *points, size_t i, size_t first, size_t count, hinge_dtype type, double *x)
{
    hg_points_given(points, i, first, count, x);
    if (points->shift != NULL)
        for (size_t k = 0; k < count; k++)
            x[k] -= points->shift[first + k];
    if (type == HINGE_F32)
        for (size_t k = 0; k < count; k++)
            x[k] = (float)x[k];
}

/* Sums squares in eight lanes, which compilers put into a register without being allowed to reorder sums; the lanes are
 * added up in their order. */
static double sum_of_squares(const double *x, size_t count)
{
    double part[LANES] = { 0 }, sum = 0;
    size_t c = 0;
    for (; c + LANES <= count; c += LANES)
        for (size_t k = 0; k < LANES; k++)
            part[k] += x[c + k] * x[c + k];
    for (; c < count; c++)
        part[c % LANES] += x[c] * x[c];
    for (size_t k = 0; k < LANES; k++)
        sum += part[k];
    return sum;
}

/* Walks over the vector in pieces that fit the stack. */
double hg_points_norm(const struct hg_points *points, size_t i, hinge_dtype type)
{
    double sum = 0, x[AT_ONCE];
    for (size_t c = 0; c < points->x.cols; c += AT_ONCE) {
        size_t count = HG_MIN(points->x.cols - c, (size_t)AT_ONCE);
        take(points, i, c, count, type, x);
        sum += sum_of_squares(x, count);
    }
    return sum;
}

/* Adds a stretch's values to lengths: feature k of it, from 0, is in the sums of features k to count - 1, and what came
 * before is added to the last one. A value that is 0 adds no error, so `running` may be too large. */
static void add_stretch(struct hg_lengths *lengths, const double *x, size_t count, bool first)
{
    double running[LANES] = { 0 }, nonzeros[LANES] = { 0 }, absolute[LANES] = { 0 };
    for (size_t c = 0; c < count; c += LANES)
        for (size_t k = 0; k < LANES; k++) {
            double v = c + k < count ? x[c + k] : 0;
            running[k] += (double)(count - c - k) * (v * v);
            nonzeros[k] += v != 0 ? 1.0 : 0.0;
            absolute[k] += fabs(v);
        }
    for (size_t k = 0; k < LANES; k++) {
        lengths->running += running[k];
        lengths->nonzeros += nonzeros[k];
        lengths->absolute += absolute[k];
    }
    lengths->norm += sum_of_squares(x, count);
    lengths->running += first ? 0 : lengths->norm;
    lengths->sums += (double)(count + (first ? 0 : 1));
}

/* Walks over the vector stretch by stretch, as panels do. */
struct hg_lengths hg_points_lengths(const struct hg_points *points, size_t i)
{
    struct hg_lengths lengths = { 0 };
    double x[HG_STRETCH + LANES] = { 0 };
    for (size_t c = 0; c < points->x.cols; c += HG_STRETCH) {
        size_t count = HG_MIN(points->x.cols - c, (size_t)HG_STRETCH);
        take(points, i, c, count, HINGE_F32, x);
        add_stretch(&lengths, x, count, c == 0);
    }
    return lengths;
}

/* Counts values whose size is above `least`, in lanes as sum_of_squares does. */
static double count_above(double least, const double *x, size_t count)
{
    double part[LANES] = { 0 }, sum = 0;
    size_t c = 0;
    for (; c + LANES <= count; c += LANES)
        for (size_t k = 0; k < LANES; k++)
            part[k] += fabs(x[c + k]) > least ? 1.0 : 0.0;
    for (; c < count; c++)
        sum += fabs(x[c]) > least ? 1.0 : 0.0;
    for (size_t k = 0; k < LANES; k++)
        sum += part[k];
    return sum;
}

enum { SUM_ROWS = 512 }; /* in a piece, and summed together: the sums do not depend on the threads */

static const double f32_makes_0 = 0x1p-150; /* the largest size that f32 rounds to 0 */

struct pass { /* over all points */
    const struct hg_points *points;
    struct hg_survey *survey;
    uint64_t nonzeros;    /* atomic */
    double most, largest; /* atomic */
    double *part;
};

/* Surveys one vector, a piece at a time that fits the stack; returns its non-zeros as f32 has them. */
static double survey_vector(struct pass *p, size_t i)
{
    const struct hg_survey *s = p->survey;
    size_t d = p->points->x.cols;
    double x[AT_ONCE], norm = 0, norm32 = 0, nonzeros = 0, nonzeros32 = 0;
    for (size_t c = 0; c < d; c += AT_ONCE) {
        size_t count = HG_MIN(d - c, (size_t)AT_ONCE);
        take(p->points, i, c, count, HINGE_F64, x);
        norm += sum_of_squares(x, count);
        nonzeros += count_above(0, x, count);
        nonzeros32 += count_above(f32_makes_0, x, count);
        for (size_t k = 0; k < count && s->norms32 != NULL; k++)
            x[k] = (float)x[k];
        norm32 += s->norms32 != NULL ? sum_of_squares(x, count) : 0;
    }
    if (s->norms != NULL)
        s->norms[i] = norm;
    if (s->norms32 != NULL)
        s->norms32[i] = (float)norm32;
    hg_raise(&p->most, nonzeros);
    hg_raise(&p->largest, norm);
    return nonzeros32;
}

static void survey_some(void *arg, int thread, size_t first, size_t end)
{
    struct pass *p = arg;
    double nonzeros = 0;
    (void)thread;
    for (size_t i = first; i < end; i++)
        nonzeros += survey_vector(p, i);
    __atomic_fetch_add(&p->nonzeros, (uint64_t)nonzeros, __ATOMIC_RELAXED);
}

/* Counts values that f32 makes 0 as zeros, since lists of the copy in f32 do not hold them. Norms are made in f64 and
 * rounded once. */
void hg_points_survey(const struct hg_points *points, struct hg_survey *survey, int threads)
{
    struct pass pass = { .points = points, .survey = survey };
    hg_share(threads, points->n, SUM_ROWS, survey_some, &pass);
    survey->largest = pass.largest;
    survey->most_nonzeros = (size_t)pass.most;
    survey->nonzeros = points->n > 0 ? (double)pass.nonzeros / (double)points->n : 0;
}

void hg_points_norms(const struct hg_points *points, hinge_dtype type, void *norms, int threads)
{
    struct hg_survey survey = { 0 };
    if (type == HINGE_F32)
        survey.norms32 = norms;
    else
        survey.norms = norms;
    hg_points_survey(points, &survey, threads);
}

/* Sums SUM_ROWS points into a part: [d] sums, the sum of squared norms, and [d] of a row at work. */
static void sum_points(void *arg, int thread, size_t first, size_t end)
{
    struct pass *p = arg;
    size_t d = p->points->x.cols;
    double *sum = p->part + first / SUM_ROWS * (2 * d + 1), *row = sum + d + 1, nonzeros = 0;
    (void)thread;
    for (size_t i = first; i < end; i++) {
        hg_points_pack(p->points, NULL, i, 1, HINGE_F64, row, d);
        for (size_t c = 0; c < d; c++)
            sum[c] += row[c];
        sum[d] += sum_of_squares(row, d);
        nonzeros += count_above(f32_makes_0, row, d);
    }
    __atomic_fetch_add(&p->nonzeros, (uint64_t)nonzeros, __ATOMIC_RELAXED);
}

/* Sums parts of the points side by side, and then the parts in their order. With m the mean, mean ||x - m||^2 = mean
 * ||x||^2 - ||m||^2, so one pass tells what centring would leave (`less`) of what there is (`plain`). */
double *hg_points_centre(struct hg_points *points, int threads, bool *wanted)
{
    size_t d = points->x.cols, count = (points->n + SUM_ROWS - 1) / SUM_ROWS, sums = d + 1;
    double *mean = hg_zalloc(sums, sizeof *mean), *part = hg_zalloc(count * (sums + d), sizeof *part);
    *wanted = true;
    if (mean == NULL || part == NULL) {
        hg_free(mean);
        hg_free(part);
        return NULL;
    }
    struct pass pass = { .points = points, .part = part };
    hg_share(threads, points->n, SUM_ROWS, sum_points, &pass);
    points->nonzeros = points->n > 0 ? (double)pass.nonzeros / (double)points->n : 0;
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

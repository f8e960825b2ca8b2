/*
 * Kernel blocks: K(A, B) as training makes its rows (kernels/gram.h), strip of rows after strip, straight into the
 * caller's memory. The rows of A and B are the points of one source. Of K(A, A) the upper triangle is computed and
 * mirrored, which halves the values made. Read problem.h and kernels/gram.h before.
 */
#include "kernels/whole.h"
#include "lib/data/copy.h"
#include "lib/base/team.h"
#include "lib/base/teller.h"
#include "lib/data/params.h"

#include <math.h>
#include <string.h>

enum { STRIP = 512 }; /* rows at a time */

/* Holds one call; block_free frees what prepare has made of it. */
static const hinge_predict_options none = { 0 };

struct block {
    const hinge_matrix *a, *b;
    bool same; /* b is a */
    const hinge_predict_options *options;
    struct hg_dataset data; /* a's rows, and b's after them unless they are the same */
    struct hg_tiler tiler;
    void *norms;         /* [n] in the tiler's type */
    uint32_t *ids;       /* [n] */
    struct hg_copy copy; /* lists of features of two values */
    struct hg_gram gram;
    hinge_dtype type; /* of out */
    char *out;
    size_t ld;
    struct hg_teller teller;
    size_t row, col; /* where the strip begins, */
    size_t count;    /* and its rows */
};

/* Returns the address of an entry of out. */
static char *entry(const struct block *k, size_t row, size_t col)
{
    return k->out + (row * k->ld + col) * hg_size_of(k->type);
}

/* ---- what rows are made of --------------------------------------------------------------------------------------- */

/* Chooses the type that values are made in, f32 where asked for or, by "auto", where out is of f32 and the kernel's
 * values are not beyond it; and makes the norms of the points in it. */
static void choose_type(struct block *k)
{
    const struct hg_dataset *data = &k->data;
    hinge_precision asked = k->options->precision;
    bool f32 = asked == HINGE_PRECISION_F32 || (asked == HINGE_PRECISION_AUTO && k->type == HINGE_F32);
    f32 = f32 && !hg_kernel_beyond_f32(&data->kernel, data->norm);
    k->tiler.type = f32 ? HINGE_F32 : HINGE_F64;
    hg_points_norms(&data->points, k->tiler.type, k->norms, data->threads);
}

/* Makes the source whose points are a's rows and b's: norms, features of two values, and the type in which values are
 * made. */
static hinge_status prepare(struct block *k, hinge_error *err)
{
    const struct hg_kernel_row *row = hg_kernel_row(k->data.kernel.type);
    struct hg_dataset *data = &k->data;
    HG_TRY(hg_dataset_look(data, err));
    HG_TRY(HG_MAKE(err, "what kernel values are made of", HG_ARRAY(k->ids, data->n),
                   HG_VALUES(k->norms, data->n, sizeof(double))));
    for (size_t i = 0; i < data->n; i++)
        k->ids[i] = (uint32_t)i;
    k->tiler = hg_dataset_tiler(data, HINGE_F64);
    if (row->source == HG_FROM_DOTS || row->source == HG_FROM_PARTS)
        choose_type(k);
    HG_TRY(hg_copy_init(&k->copy, data, true, false, err));
    HG_TRY(hg_copy_check(&k->copy, data, k->tiler.type, err));
    return hg_gram_init(&k->gram, &k->tiler, &data->points, NULL, data->n, NULL, row->of_distance ? k->norms : NULL,
                        data->threads, err);
}

static void block_free(struct block *k)
{
    hg_gram_free(&k->gram);
    hg_copy_free(&k->copy);
    hg_free(k->ids);
    hg_dataset_free(&k->data);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* Converts a tile of another type than the caller's into its place; called by the thread that made the tile. */
static void convert_tile(void *arg, const struct hg_tile *tile)
{
    const struct block *k = arg;
    for (size_t r = 0; r < tile->n_rows; r++) {
        void *to = entry(k, k->row + tile->row0 + r, k->col + tile->col0);
        if (k->type == HINGE_F32)
            for (size_t c = 0; c < tile->n_cols; c++)
                ((float *)to)[c] = (float)((const double *)tile->row[r])[c];
        else
            for (size_t c = 0; c < tile->n_cols; c++)
                ((double *)to)[c] = ((const float *)tile->row[r])[c];
    }
}

/* Makes rows [row, row + count) of the block, straight into the caller's memory where types are the same. */
static hinge_status fill_strip(struct block *k, size_t count)
{
    void *row[STRIP];
    k->count = count;
    size_t first = k->same ? k->col : k->a->rows;
    bool straight = k->tiler.type == k->type;
    for (size_t r = 0; r < count; r++)
        row[r] = entry(k, k->row + r, k->col);
    struct hg_how converted = { .added = straight ? NULL : convert_tile, .arg = k };
    hinge_status status = hg_rows_fill(&k->gram.super, k->ids + k->row, count, k->ids + first, k->b->rows - k->col,
                                       straight ? row : NULL, &converted);
    if (status == HINGE_OK && k->same)
        hg_mirror_rows(k->out, k->type, k->ld, k->a->rows, k->row, count, k->data.threads);
    return status;
}

/* Tells the callback, ten times a second at most. false: the caller wants an end. */
static bool tell(struct block *k, size_t done)
{
    hinge_progress p = { .n_problems = 1, .n = k->a->rows, .n_active = k->a->rows - done };
    return !hg_is_due(&k->teller) || !hg_tell(&k->teller, &p);
}

/* Makes all strips, and asks the callback between them. Of K(A, A) a strip begins at its diagonal. */
static hinge_status fill(struct block *k, hinge_error *err)
{
    hinge_status status = HINGE_OK;
    for (size_t row = 0, count; row < k->a->rows && status == HINGE_OK; row += count) {
        count = HG_MIN((size_t)STRIP, k->a->rows - row);
        k->row = row;
        k->col = k->same ? row : 0;
        status = fill_strip(k, count);
        if (status == HINGE_OK && !tell(k, row + count))
            return hg_fail(err, HINGE_ECALLBACK, "progress: the callback ended the kernel block after %zu of %zu rows",
                           row + count, k->a->rows);
    }
    return hg_rows_told(status, err);
}

/* ---- the entry --------------------------------------------------------------------------------------------------- */

/* Says whether b is a: the same memory seen in the same way, whose values then are symmetric. */
static bool same_view(const hinge_matrix *a, const hinge_matrix *b)
{
    return a->data == b->data && a->type == b->type && a->rows == b->rows && a->cols == b->cols &&
           a->stride == b->stride && a->order == b->order;
}

/* Refuses kernels whose values are given, matrices that do not fit each other, and an `out` that is too narrow or
 * missing. */
static hinge_status check(const struct block *k, const hinge_kernel *kernel, hinge_error *err)
{
    size_t values;
    HG_NEED(err, kernel, "kernel");
    if (kernel->type == HINGE_PRECOMPUTED)
        return hg_fail(err, HINGE_EINVAL, "kernel: a precomputed kernel's values are given, not computed");
    HG_TRY(hg_matrix_check(k->a, "a", err));
    HG_TRY(hg_matrix_check(k->b, "b", err));
    HG_TRY(hg_options_check(k->options, err));
    if (k->a->cols != k->b->cols)
        return hg_fail(err, HINGE_EINVAL, "b.cols: %zu, but a has %zu features", k->b->cols, k->a->cols);
    if (k->type != HINGE_F32 && k->type != HINGE_F64)
        return hg_fail(err, HINGE_EINVAL, "type: %d is neither HINGE_F32 nor HINGE_F64", (int)k->type);
    if (k->ld < k->b->rows)
        return hg_fail(err, HINGE_EINVAL, "ld: %zu is less than b.rows = %zu", k->ld, k->b->rows);
    if (!hg_mul(k->a->rows, k->ld, &values) || !hg_mul(values, sizeof(double), &values))
        return hg_fail(err, HINGE_ESIZE, "out: %zu x %zu is too large", k->a->rows, k->ld);
    if (k->out == NULL && k->a->rows * k->b->rows > 0)
        return hg_fail(err, HINGE_EINVAL, "out: NULL for %zu x %zu values", k->a->rows, k->b->rows);
    return HINGE_OK;
}

/* Returns how many threads are worth a block of so many kernel values; what is not valid is refused by the call. */
static int team_for(const hinge_kernel *kernel, const hinge_matrix *a, const hinge_matrix *b,
                    const hinge_predict_options *options)
{
    const hinge_predict_options *o = options != NULL ? options : &none;
    if (kernel == NULL || hg_matrix_check(a, "a", NULL) != HINGE_OK || hg_matrix_check(b, "b", NULL) != HINGE_OK ||
        hg_options_check(o, NULL) != HINGE_OK)
        return 1;
    return hg_kernel_team(kernel, o->threads, (double)a->rows * (double)b->rows, a->cols);
}

/* Makes the data of both matrices' rows, `more` being b's behind a's unless they are the same view, and their values.
 * Matrices without rows have no values, and nothing is prepared for them. */
static hinge_status make_block(const hinge_kernel *kernel, const hinge_matrix *a, const hinge_matrix *b,
                               const hinge_predict_options *options, hinge_dtype type, void *out, size_t ld,
                               hinge_error *err)
{
    struct block k = { .a = a, .b = b, .options = options != NULL ? options : &none, .type = type, .out = out,
                       .ld = ld };
    k.teller = (struct hg_teller){ .progress = k.options->progress, .arg = k.options->progress_arg, .begin = hg_now(),
                                   .told = -INFINITY };
    hinge_status status = check(&k, kernel, err);
    if (status != HINGE_OK || a == NULL || b == NULL) /* which are refused */
        return status;
    k.same = same_view(a, b);
    struct hg_dataset *data = &k.data;
    *data = (struct hg_dataset){ .maker = k.options->maker, .cpu_level = k.options->cpu_level, .d = a->cols };
    data->n = a->rows + (k.same ? 0 : b->rows);
    data->points = (struct hg_points){ .x = *a, .n = data->n, .more = k.same ? NULL : b };
    HG_TRY(hg_kernel_check(kernel, a->cols, &data->kernel, err));
    data->threads = hg_kernel_team(kernel, k.options->threads, (double)a->rows * (double)b->rows, a->cols);
    status = hg_matrix_check_finite(a, "a", data->threads, err);
    if (status == HINGE_OK && !k.same)
        status = hg_matrix_check_finite(b, "b", data->threads, err);
    if (status == HINGE_OK && a->rows > 0 && b->rows > 0)
        status = prepare(&k, err);
    if (status == HINGE_OK && a->rows > 0 && b->rows > 0)
        status = fill(&k, err);
    block_free(&k);
    return status == HINGE_OK ? hg_ok(err) : status;
}

hinge_status hinge_kernel_block(const hinge_kernel *kernel, const hinge_matrix *a, const hinge_matrix *b,
                                const hinge_predict_options *options, hinge_dtype type, void *out, size_t ld,
                                hinge_error *err)
{
    hinge_status status = HINGE_OK;
    HG_TEAM(team_for(kernel, a, b, options))
        status = make_block(kernel, a, b, options, type, out, ld, err);
    return status;
}

/*
 * Decision values of a block of examples: kernel values tile by tile, times coefficients; or by w alone, or from a
 * precomputed row. Read predict.h and predict.c before, and kernels/maker.h for tiles.
 *
 * Order of the parts: folding of a tile into decision values; making it; the loop over tiles; the two short ways. Sums
 * run over SVs in the order of tiles, whatever the number of threads.
 */
#include "lib/predict/predict.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

/* Sums K coef over the SVs that a pair has: an infinite K of another pair's SV times 0 would be NaN in BLAS's sum. */
static double dot_of_present(size_t n, const double *values, const double *coef)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += coef[i] != 0 ? coef[i] * values[i] : 0;
    return sum;
}

/* Is a run of SVs [first, first + n) of one class, whose values begin at column `at` of a tile: their coefficients have
 * the same problems row by row. */
struct run {
    size_t class, first, n, at;
};

/* Adds to decision values of pairs: f[r, pair] += K[r, SVs] coef[SVs, other classes]' for a run of SVs of one class;
 * and to sizes, where they are wanted, the same of absolute values, or, of_sizes, to them alone by |coef|. Where all
 * coef of a row have one sign within a class, |sum| is the sum of absolute values, and no second product is needed
 * (m->mixed). */
static void fold_tile(const struct hg_prediction *j, const struct hg_workplace *w, size_t rows, const struct run *run,
                      bool of_sizes)
{
    const hinge_model *m = j->m;
    size_t columns = hg_decision_columns(m), stride = m->n_problems, first = run->first, n = run->n, at = run->at;
    const void *coef = of_sizes ? j->sizes : j->coef;
    double *sum = of_sizes ? NULL : w->decisions;
    double *size = of_sizes || (j->again != NULL && j->sizes == NULL) ? w->sizes : NULL;
    int ir = (int)rows, ic = (int)columns, in = (int)n, ld = (int)w->cols;
    const float *dots32 = (const float *)w->dots + at, *coef32 = (const float *)coef + first;
    const double *dots64 = (const double *)w->dots + at, *coef64 = (const double *)coef + first;
    if (j->tiler.type == HINGE_F32 && columns == 1)
        cblas_sgemv(CblasRowMajor, CblasNoTrans, ir, in, 1, dots32, ld, coef32, 1, 0, w->part, 1);
    else if (j->tiler.type == HINGE_F32)
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, ir, ic, in, 1, dots32, ld, coef32, (int)m->n_sv, 0,
                    w->part, ic);
    else if (columns == 1)
        cblas_dgemv(CblasRowMajor, CblasNoTrans, ir, in, 1, dots64, ld, coef64, 1, 0, w->part, 1);
    else
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, ir, ic, in, 1, dots64, ld, coef64, (int)m->n_sv, 0,
                    w->part, ic);
    for (size_t k = 0; k < columns; k++)
        w->problem[k] = hg_coef_problem(m, run->class, k);
    for (size_t r = 0; r < rows; r++)
        for (size_t k = 0; k < columns; k++) {
            size_t to = r * stride + w->problem[k];
            double part = hg_get(w->part, j->tiler.type, r * columns + k);
            if (j->tiler.type == HINGE_F64 && !isfinite(part))
                part = dot_of_present(n, dots64 + r * w->cols, coef64 + k * m->n_sv);
            if (sum != NULL)
                sum[to] += part;
            if (size != NULL)
                size[to] += fabs(part);
        }
}

/* Makes the values of examples with SVs that are equal to them 1: in the tile where it is made, or, where values are
 * summed and not kept, as bits in w->ones before they are. An SV's column is its place in the order of nearby. */
static void set_equal(const struct hg_prediction *j, const struct hg_workplace *w, size_t rows, size_t first, size_t n)
{
    if (j->summed)
        memset(w->ones, 0, rows * HG_ONES * sizeof *w->ones);
    for (size_t r = 0; r < rows; r++)
        for (uint32_t p = w->equal[r]; p != 0; p = j->m->equal.next[p - 1]) {
            size_t col = (j->place != NULL ? j->place[p - 1] : p - 1) - first, at = r * w->cols + col;
            if (col >= n) /* also where it comes before the first */
                continue;
            if (j->summed)
                w->ones[r * HG_ONES + col / 64] |= (uint64_t)1 << col % 64;
            else
                hg_put(w->dots, j->tiler.type, at, 1);
        }
}

/* Makes the kernel values of the block's examples and support vectors [first, first + n), or their sums with
 * coefficients where these can be made as values are (j->summed). The right side is a stretch of the panels that are
 * kept, or is set from the vectors in their order. Equal pairs are marked before sums are made, and set after values
 * are. */
static hinge_status kernel_tile(const struct hg_prediction *j, const struct hg_tiler *tiler, const struct hg_left *left,
                                const struct hg_workplace *w, size_t rows, size_t first, size_t n)
{
    size_t size = hg_size_of(j->tiler.type);
    struct hg_right right = { n, 0, NULL, NULL, { &j->sv, NULL, first } };
    if (j->sv_norms != NULL)
        right.norm = (const char *)j->sv_norms + first * size;
    if (tiler->maker->keeps)
        right.x = (const char *)j->panels + tiler->maker->right_bytes(tiler, &j->sv, first);
    else
        tiler->maker->set_right(tiler, &right, w->sv, w->room);
    struct hg_sums sums = w->sums;
    sums.coef = (const char *)j->coef + first * size;
    sums.ones = w->any_equal ? w->ones : NULL;
    if (w->any_equal && j->summed)
        set_equal(j, w, rows, first, n);
    hinge_status status = HINGE_OK;
    for (size_t r = 0; r < rows && status == HINGE_OK; r += tiler->maker->most_rows) {
        char *dots = (char *)w->dots + r * w->cols * size;
        struct hg_part_of_tile part = { left, &right, r, HG_MIN(rows - r, tiler->maker->most_rows), w->cols, dots,
                                        w->room, NULL, j->summed ? &sums : NULL };
        status = hg_tile_values(tiler, &part);
    }
    if (w->any_equal && !j->summed)
        set_equal(j, w, rows, first, n);
    return status;
}

/* Makes norms of the examples, and finds which SVs are equal to them: by the table of norms first, then by features.
 * Returns the largest norm, on which the digits of squared distances hang. */
static double look_at_examples(const struct hg_prediction *j, struct hg_workplace *w, size_t row, size_t rows)
{
    double largest = 0;
    w->any_equal = false;
    for (size_t r = 0; r < rows && (j->sv_norms != NULL || j->again != NULL); r++) {
        double norm = 0;
        if (j->again != NULL) {
            w->lengths[r] = hg_points_lengths(&j->x, row + r);
            norm = w->lengths[r].norm;
        } else {
            norm = hg_points_norm(&j->x, row + r, j->tiler.type);
        }
        hg_put(w->norm, j->tiler.type, r, norm);
        largest = HG_MAX(largest, norm);
        if (j->m->seen == NULL || j->tiler.maker->exact)
            continue;
        bool seen = j->m->seen[hg_model_seen(j->m, hg_example_norm(j, w, r))] != 0;
        w->equal[r] = seen ? hg_equal_table_find(&j->m->equal, &j->all_sv, &j->x, row + r) : 0;
        w->any_equal = w->any_equal || w->equal[r] != 0;
    }
    return largest;
}

/* Finds the next SVs from `first` on, as many as a tile has columns: all in turn, or those that matter to the block
 * (nearby.h), whose ranges begin at strips. */
static bool next_tile(const struct hg_prediction *j, const struct hg_workplace *w, size_t row, size_t *first,
                      size_t *end)
{
    if (j->nearby.sv != NULL)
        return hg_nearby_next(&j->nearby, row / w->rows, w->cols, first, end);
    *end = HG_MIN(j->m->n_sv, *first + w->cols);
    return *first < j->m->n_sv;
}

/* Adds a tile's part to the decision values where there are several rows of coef, class by class, as rows of coef stand
 * for other problems in each class; a second time by |coef| where errors are to be bounded and signs are mixed. */
static void fold_classes(const struct hg_prediction *j, const struct hg_workplace *w, size_t rows, size_t first,
                         size_t end)
{
    const hinge_model *m = j->m;
    size_t class_end = hg_model_group_sv(m, 0);
    for (size_t sv = first, c = 0; sv < end;) {
        while (sv >= class_end)
            class_end += hg_model_group_sv(m, ++c);
        const struct run run = { c, sv, HG_MIN(end, class_end) - sv, sv - first };
        fold_tile(j, w, rows, &run, false);
        if (j->sizes != NULL)
            fold_tile(j, w, rows, &run, true);
        sv += run.n;
    }
}

/* Adds up each sum's lanes. */
static void add_up(const struct hg_workplace *w, size_t rows)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t k = 0; k < w->sums.m; k++) {
            const double *lane = w->sums.sum + (r * w->sums.m + k) * HG_SUM_LANES;
            double sum = 0;
            for (size_t i = 0; i < HG_SUM_LANES; i++)
                sum += lane[i];
            (k == 0 ? w->decisions : w->sizes)[r] = sum;
        }
}

/* Sums over support vectors, tile by tile of them, while a tile's values are in the caches. By panels, squared
 * distances in f64 are taken from norms and dot products; where those would lose their digits (close > 0, by the
 * largest norms of the block and the model), tiles are made by GEMM, which looks at close pairs anew. Ends early where
 * a user's kernel fails. */
static hinge_status decide_by_tiles(const struct hg_prediction *j, struct hg_workplace *w, size_t row, size_t rows)
{
    const hinge_model *m = j->m;
    struct hg_tiler tiler = j->tiler;
    double largest = look_at_examples(j, w, row, rows);
    if (!tiler.maker->exact)
        tiler.close = hg_tiler_close(&tiler.kernel, tiler.type, tiler.d, HG_MAX(largest, m->largest_norm));
    if (tiler.close > 0)
        tiler.maker = &hg_gemm;
    struct hg_left left = tiler.maker == j->tiler.maker ? w->left : w->close;
    left.norm = j->sv_norms != NULL ? w->norm : NULL;
    left.origin = (struct hg_origin){ &j->x, NULL, row };
    for (size_t r = 0; r < rows; r++)
        tiler.maker->set_left(&tiler, &left, r, w->room);
    if (j->summed)
        memset(w->sums.sum, 0, rows * w->sums.m * HG_SUM_LANES * sizeof *w->sums.sum);
    for (size_t first = 0, end; next_tile(j, w, row, &first, &end); first = end) {
        HG_TRY(kernel_tile(j, &tiler, &left, w, rows, first, end - first));
        if (!j->summed)
            fold_classes(j, w, rows, first, end);
    }
    if (j->summed)
        add_up(w, rows);
    return HINGE_OK;
}

/* Takes w of each problem instead of support vectors, f = X w in f64 whatever the model's type: n_problems dot products
 * an example. */
static void decide_linear(const struct hg_prediction *j, const struct hg_workplace *w, size_t row, size_t rows)
{
    const hinge_model *m = j->m;
    hg_points_pack(&j->x, NULL, row, rows, HINGE_F64, w->x, w->ldx);
    if (m->d > 0 && m->n_problems > 0)
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)rows, (int)m->n_problems, (int)m->d, 1, w->x,
                    (int)w->ldx, m->weights, (int)m->d, 0, w->decisions, (int)m->n_problems);
}

/* Takes K(x, sv) from column sv_serial of the example's row; zero coefficients look at nothing. */
static void decide_precomputed(const struct hg_prediction *j, const struct hg_workplace *w, size_t row, size_t rows)
{
    const hinge_model *m = j->m;
    for (struct hg_coef c = { 0 }; hg_next_coef(m, &c);)
        for (size_t r = 0; c.value != 0 && r < rows; r++)
            w->decisions[r * m->n_problems + c.problem] +=
                c.value * hg_matrix_value(&j->x.x, row + r, m->sv_serial[c.sv]);
}

/* Chooses the way by what the model has: no SVs, tiles, w, or columns of a precomputed matrix. rho is the caller's. */
hinge_status hg_decide(const struct hg_prediction *j, struct hg_workplace *w, size_t row, size_t rows)
{
    const hinge_model *m = j->m;
    if (m->n_sv == 0)
        return HINGE_OK; /* f = -rho, whatever the features */
    if (m->sv_serial == NULL && m->weights == NULL)
        return decide_by_tiles(j, w, row, rows);
    if (m->sv_serial != NULL)
        decide_precomputed(j, w, row, rows);
    else
        decide_linear(j, w, row, rows);
    return HINGE_OK;
}

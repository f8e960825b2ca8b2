/*
 * Fields: the points of all rows, as all folds have them or as the one fold has them whose scaling is its own, and the
 * kernel rows over these points that folds share, in f32, or in f64 where rounding shows. Read select.h and
 * solver/smo/many.h before. A field is made once (hg_fields_init); its kernel changes with the points of the grid
 * (hg_fields_take), and the type of its rows where their rounding shows (hg_field_looks). Rows that folds share are
 * made once, so that a grid makes hardly more rows than its trainings have different support vectors (doc/tried.md).
 * Folds that are scaled each by itself (params.scaling without ranges) share nothing: each has a field of its own.
 */
#include "lib/data/params.h"
#include "lib/base/team.h"
#include "lib/select/select.h"

#include <math.h>
#include <string.h>

/* Says whether rows may be in f32: asked for, or left to hinge and good enough for the folds' eps. */
static bool may_be_f32(const struct hg_selecting *s)
{
    return s->params.kernel.type != HINGE_USER &&
           (s->params.precision == HINGE_PRECISION_F32 ||
            (s->params.precision == HINGE_PRECISION_AUTO && s->out->eps >= HG_F32_EPS * HG_MIN(1, s->unit)));
}

/* ---- points ------------------------------------------------------------------------------------------------------ */

/* The caller's rows as field f sees them: where each fold is scaled by itself, the ranges are those of its training
 * part. */
static hinge_status take_rows(struct hg_selecting *s, struct hg_field *field, size_t f, hinge_error *err)
{
    hinge_params params = *s->given;
    double *weights;
    HG_TRY(HG_MAKE(err, "the weights of rows", HG_ARRAY(weights, s->rows)));
    for (size_t i = 0; i < s->rows; i++)
        weights[i] = s->used[i] && !(s->scales && s->out->fold[hg_repeat_of(s, f) + i] == (int)f);
    params.weights = weights;
    hinge_status status = hg_scaled_init(&field->scaled, &s->x, &params, err);
    hg_free(weights);
    return status;
}

/* Points of a class that one fold holds out (of the first repeat) come to lie side by side, so that what another fold's
 * problem is worth there is a sum over stretches of rows. */
static hinge_status sort_by_fold(const struct hg_selecting *s, struct hg_problem *pr, hinge_error *err)
{
    size_t folds = s->folds + 1, classes = pr->classifies ? pr->n_classes : 1;
    size_t *next;
    uint32_t *from, *equal, *first;
    double *room;
    HG_TRY(HG_MAKE(err, "the order of rows", HG_ARRAY(next, folds), HG_ARRAY(from, pr->data.n),
                   HG_ARRAY(equal, pr->data.n), HG_ARRAY(first, pr->data.n), HG_ARRAY(room, pr->data.n)));
    for (size_t c = 0; c < classes; c++) {
        memset(next, 0, folds * sizeof *next);
        for (size_t i = pr->start[c]; i < pr->start[c + 1]; i++)
            next[s->out->fold[pr->order[i]] + 1]++;
        for (size_t f = 0, at = pr->start[c], count; f < folds; f++, at += count) {
            count = next[f];
            next[f] = at;
        }
        for (size_t i = pr->start[c]; i < pr->start[c + 1]; i++)
            from[next[s->out->fold[pr->order[i]] + 1]++] = (uint32_t)i;
    }
    void *const moved[] = { pr->order, pr->data.column, pr->weight, pr->data.norms };
    const size_t size[] = { sizeof *pr->order, sizeof *pr->data.column, sizeof *pr->weight, sizeof *pr->data.norms };
    for (int k = 0; k < 4; k++)
        if (moved[k] != NULL) {
            hg_gather(moved[k], size[k], from, pr->data.n, room);
            memcpy(moved[k], room, pr->data.n * size[k]);
        }
    if (pr->data.equal != NULL) {
        hg_gather(pr->data.equal, sizeof *equal, from, pr->data.n, equal);
        for (size_t i = pr->data.n; i-- > 0;)
            first[equal[i]] = (uint32_t)i;
        hg_gather(first, sizeof *first, equal, pr->data.n, pr->data.equal);
    }
    hg_free(next);
    return HINGE_OK;
}

/* A linear kernel whose coefficients sum to 0 is the same about any point, and is rounded least about the mean: what is
 * found is told by gradients and biases of the same rows alone. */
static hinge_status centre_linear(struct hg_problem *pr, hinge_error *err)
{
    bool wanted = false, sums_to_0 = !pr->task->one_class && !pr->params.no_bias;
    bool stays = pr->params.maker == HINGE_MAKER_INTEGERS; /* which are of points as they are */
    if (pr->data.kernel.type != HINGE_LINEAR || !sums_to_0 || stays || pr->data.d == 0)
        return HINGE_OK;
    pr->data.points.shift = pr->data.shift = hg_points_centre(&pr->data.points, pr->data.threads, &wanted);
    hg_dataset_measure(&pr->data);
    return pr->data.shift != NULL || !wanted
               ? HINGE_OK
               : hg_fail(err, HINGE_ENOMEM, "no memory for the means of %zu columns", pr->data.d);
}

/* Makes a field: rows (scaled), the problem of all rows, its points in the order of folds, the copy in f32 or counts,
 * and the solver of many problems with its room for rows. */
static hinge_status field_init(struct hg_selecting *s, struct hg_field *field, size_t f, size_t bytes, hinge_error *err)
{
    int threads = hg_threads(s->params.threads);
    hinge_params params = s->params;
    params.weights = NULL; /* all rows are points: those of weight 0 have empty boxes */
    HG_TRY(take_rows(s, field, f, err));
    HG_TRY(hg_problem_init(&field->problem, &field->scaled.x, s->y, &params, NULL, err));
    HG_TRY(centre_linear(&field->problem, err));
    HG_TRY(sort_by_fold(s, &field->problem, err));
    hinge_status status = hg_copy_init(&field->copy, &field->problem.data, true, may_be_f32(s), err);
    field->goes_whole = status == HINGE_OK && params.precision != HINGE_PRECISION_F32 &&
                        hg_copy_goes_whole(&field->problem.data, field->problem.data.n, bytes);
    if (may_be_f32(s) && !field->goes_whole)
        HG_THEN(status, hg_copy_round(&field->copy, &field->problem.data, err));
    HG_THEN(status,
            hg_copy_check(&field->copy, &field->problem.data, HINGE_F32, err)); /* distances are a kernel's affair */
    HG_THEN(status,
            hg_many_init(&field->many, field->problem.data.n, threads, hg_cpu_level(params.cpu_level), bytes, err));
    HG_THEN(status, HG_MAKE(err, "the views of a Gram matrix", HG_ZEROS(field->own_whole, threads)));
    field->many.newton = params.newton;
    return status;
}

/* Gives each field its part of the bytes for rows, half of the memory unless the caller says. */
hinge_status hg_fields_init(struct hg_selecting *s, hinge_error *err)
{
    const hinge_scaling *scaling = s->given->scaling;
    size_t bytes = s->params.cache_bytes > 0 ? s->params.cache_bytes : hg_total_memory() / 2;
    hinge_status status = HINGE_OK;
    s->scales = scaling != NULL && scaling->low == NULL;
    s->n_fields = s->scales ? s->out->n_folds : 1;
    HG_TRY(HG_MAKE(err, "the points of folds", HG_ZEROS(s->field, s->n_fields)));
    for (size_t f = 0; f < s->n_fields && status == HINGE_OK; f++)
        status = field_init(s, &s->field[f], f, bytes / s->n_fields, err);
    return status;
}

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

/* Ends with a field's kernel, and counts what its rows took. */
static void close_kernel(struct hg_selecting *s, struct hg_field *field)
{
    hinge_selection *out = s->out;
    if (!field->open)
        return;
    out->n_kernels++;
    out->rows_computed += field->many.pool.rows_made;
    out->rows_distinct += field->many.pool.rows_distinct;
    out->rows_support += hg_many_supports(&field->many);
    out->kernel_values += hg_shared_values(&field->rows) + hg_shared_values(&field->exact);
    for (int t = 0; t < field->many.threads; t++)
        hg_whole_free(&field->own_whole[t]);
    hg_whole_free(&field->whole);
    hg_shared_free(&field->rows);
    hg_shared_free(&field->exact);
    field->open = field->checks = false;
}

/* Returns what errors of the kernel's values add up to, times the length of the coefficients: where they are as large
 * as can be and of random sign, some tenth of one (doc/accuracy.md); in f64, where sums go on for long, one. Those of
 * steady sign add up to as many as there are points, but for their root. A matrix has its values rounded. */
static double value_error(const struct hg_field *field, hinge_dtype type)
{
    const struct hg_problem *pr = &field->problem;
    double ulp = type == HINGE_F32 ? 0x1p-24 : 0x1p-53, share = type == HINGE_F32 ? 0.1 : 1, steady;
    if (pr->data.kernel.type == HINGE_PRECOMPUTED)
        return share * ulp * pr->data.norm;
    double error = hg_tiler_error(&field->rows.rows.tiler, &pr->data.points, pr->data.norm, &steady);
    return share * (error - steady) + sqrt((double)pr->data.n) * steady;
}

/* Makes the dot products of all points, from which the matrices of all kernels are made. */
static hinge_status make_dots(const struct hg_selecting *s, struct hg_field *field, hinge_error *err)
{
    const struct hg_problem *pr = &field->problem;
    struct hg_tiler tiler = hg_dataset_tiler(&pr->data, HINGE_F64);
    struct hg_gram gram;
    tiler.kernel = hinge_kernel_linear();
    HG_TRY(hg_gram_init(&gram, &tiler, &pr->data.points, NULL, pr->data.n, NULL, NULL, pr->data.threads, err));
    hinge_status status = hg_whole_init(&field->dots, &gram.super, &s->halt, err);
    hg_gram_free(&gram);
    return status;
}

/* Says whether all squared distances of two points are told by their norms and dot products: none is so small that it
 * is to be taken anew (struct hg_tiler). */
static bool dots_tell(const struct hg_field *field)
{
    const double close = field->rows.rows.tiler.close, *norms = field->rows.rows.norms;
    const struct hg_whole *dots = &field->dots;
    bool tell = field->problem.data.equal == NULL;
    for (size_t i = 0; close > 0 && i < field->problem.data.n && tell; i++) {
        const double *dot = (const double *)(const void *)dots->k + i * dots->ld;
        for (size_t j = 0; j < i && tell; j++)
            tell = norms[i] + norms[j] - 2 * dot[j] >= close + 1e-12 * (norms[i] + norms[j]);
    }
    return tell;
}

/* Makes the matrix of the kernel in hand whole, and opens a view of it for each thread. Where distances are to be taken
 * anew, or points are equal, dot products do not tell all. */
static hinge_status open_whole(struct hg_selecting *s, struct hg_field *field, hinge_error *err)
{
    const struct hg_problem *pr = &field->problem;
    const struct hg_tiler *tiler = &field->rows.rows.tiler;
    const struct hg_map_of map = { tiler->kernel, tiler->maps, field->rows.rows.norms };
    hinge_status status = pr->data.equal == NULL && field->dots.k == NULL ? make_dots(s, field, err) : HINGE_OK;
    bool maps = status == HINGE_OK && dots_tell(field);
    if (status == HINGE_OK && maps)
        status = hg_whole_map(&field->whole, &field->dots, &map, &field->rows.rows.super, err);
    if (status == HINGE_OK && maps)
        s->out->kernel_values += (uint64_t)pr->data.n * pr->data.n;
    else
        HG_THEN(status, hg_whole_init(&field->whole, &field->rows.rows.super, &s->halt, err));
    for (int t = 0; t < field->many.threads && status == HINGE_OK; t++) {
        status = hg_whole_view(&field->own_whole[t], &field->whole, 1, err);
        field->rows.each[t] = &field->own_whole[t].super;
    }
    return status;
}

/* Returns the rows that all threads make, or read, together. */
static struct hg_rows *rows_of(struct hg_field *field)
{
    return field->goes_whole ? &field->whole.super : &field->rows.rows.super;
}

/* Opens the rows of the kernel in hand; where these are in f32, those in f64 too, which judge sums over them. */
static hinge_status open_kernel(struct hg_selecting *s, struct hg_field *field, hinge_error *err)
{
    const struct hg_problem *pr = &field->problem;
    bool f32 =
        may_be_f32(s) && !field->goes_whole && !field->wide && !hg_kernel_beyond_f32(&pr->data.kernel, pr->data.norm);
    int threads = field->many.threads; /* the problem's may be fewer */
    field->open = true;
    field->checks = f32;
    hinge_status status = hg_shared_init(&field->rows, f32 ? &field->copy : NULL, &pr->data, threads, err);
    if (f32)
        HG_THEN(status, hg_shared_init(&field->exact, NULL, &pr->data, threads, err));
    if (field->goes_whole)
        HG_THEN(status, open_whole(s, field, err));
    HG_THEN(status, hg_many_take(&field->many, rows_of(field), field->rows.each, err));
    field->many.exact = f32 ? field->exact.each : field->rows.each;
    field->many.value_error = value_error(field, f32 ? HINGE_F32 : HINGE_F64);
    field->many.corrects = s->params.precision == HINGE_PRECISION_F32;
    return status;
}

hinge_status hg_field_exact(struct hg_field *field, const struct hg_part *part, const uint32_t *point, size_t count,
                            double *g, hinge_error *err)
{
    size_t n = part->qp.n;
    uint32_t *left;
    double *coef;
    struct hg_rows *exact = field->checks ? &field->exact.rows.super : rows_of(field);
    HG_TRY(HG_MAKE(err, "the error of coefficients", HG_ARRAY(left, n), HG_ARRAY(coef, n)));
    size_t moved = hg_qp_support(&part->qp, NULL, left, coef);
    hg_gather(part->point, sizeof *left, left, moved, left);
    memset(g, 0, count * sizeof *g);
    hinge_status status = hg_rows_told(hg_rows_apply(exact, left, moved, coef, point, count, g, NULL), err);
    hg_free(left);
    return status;
}

bool hg_field_doubts(const struct hg_selecting *s, const struct hg_part *part, double length, double most)
{
    const struct hg_field *field = hg_part_field(s, part);
    return field->rows.rows.super.type == HINGE_F32 && !(length * field->many.value_error <= most);
}

/* Measures the largest error of g at 32 points of a part, evenly chosen, by the same sums over rows in f64. */
static hinge_status measure_error(struct hg_field *field, const struct hg_part *part, double *error, hinge_error *err)
{
    enum { SAMPLE = 32 };
    size_t n = part->qp.n, count = HG_MIN(n, (size_t)SAMPLE);
    uint32_t sample[SAMPLE] = { 0 };
    double g[SAMPLE];
    for (size_t k = 0; k < count; k++)
        sample[k] = part->point[k * n / count];
    HG_TRY(hg_field_exact(field, part, sample, count, g, err));
    *error = 0;
    for (size_t k = 0; k < count; k++)
        *error = HG_MAX(*error, fabs(part->g[k * n / count] - g[k]));
    return HINGE_OK;
}

/* Makes g of a part anew, and what is told by it; a problem that had stalled by the old one may have converged. */
static hinge_status mend(const struct hg_selecting *s, struct hg_part *part, hinge_error *err)
{
    hinge_report *report = &part->many.report;
    HG_TRY(hg_field_exact(hg_part_field(s, part), part, part->point, part->n, part->g, err));
    part->many.reach = hg_qp_length(&part->qp);
    part->many.unseen = 0;
    report->violation = hg_qp_violation(&part->qp, part->g);
    if (report->outcome == HINGE_STALLED && report->violation <= part->eps)
        report->outcome = HINGE_CONVERGED;
    for (int l = 0; l < part->qp.layers; l++)
        part->many.bias[l] = hg_qp_bias(&part->qp, NULL, part->n, part->g, l);
    return HINGE_OK;
}

/* Measures errors where they may be as large as eps, unless the solution was judged by rows in f64 already. Errors at
 * points that are not measured are taken for twice as large, and held-out rows may be off by half of eps: so four times
 * the measured error is compared with eps. */
hinge_status hg_field_looks(const struct hg_selecting *s, struct hg_part *part, bool *widens, hinge_error *err)
{
    struct hg_field *field = hg_part_field(s, part);
    const struct hg_many_problem *many = &part->many;
    double error = 0, length = hg_qp_length(&part->qp) + many->reach;
    bool is_judged = many->report.outcome == HINGE_CONVERGED && !isnan(many->report.error);
    *widens = false;
    if (many->moved != NULL || is_judged || (!many->coarse && !hg_field_doubts(s, part, length, part->eps / 2)))
        return HINGE_OK; /* of what has moved, g knows nothing yet */
    HG_TRY(measure_error(field, part, &error, err));
    if (!many->coarse && !(4 * error > part->eps))
        return HINGE_OK;
    if (field->many.corrects)
        return mend(s, part, err);
    *widens = field->wide = true; /* also where the next fold's coefficients are smaller */
    return HINGE_OK;
}

/* Closes the rows of the kernel in hand and opens those of the point's. A field stays wide for the same kernel
 * alone. */
hinge_status hg_fields_take(struct hg_selecting *s, const hinge_grid_point *point, bool again, hinge_error *err)
{
    hinge_status status = HINGE_OK;
    for (size_t f = 0; f < s->n_fields && status == HINGE_OK; f++) {
        s->field[f].wide = s->field[f].wide && again;
        close_kernel(s, &s->field[f]);
        s->field[f].problem.data.kernel = hg_point_kernel(s, point);
        status = open_kernel(s, &s->field[f], err);
    }
    return status;
}

/* Tells the selection how many bytes of rows were stored at once; takes fields of which none, or only some, were
 * made. */
void hg_fields_free(struct hg_selecting *s)
{
    for (size_t f = 0; f < s->n_fields && s->field != NULL; f++) {
        struct hg_field *field = &s->field[f];
        close_kernel(s, field);
        s->out->stored_bytes += field->many.pool.cache.most_bytes;
        hg_many_free(&field->many);
        hg_whole_free(&field->dots);
        hg_free(field->own_whole);
        hg_copy_free(&field->copy);
        hg_problem_free(&field->problem);
        hg_scaled_free(&field->scaled);
    }
    hg_free(s->field);
}

/*
 * Which rows of the data are a model's support vectors: by a hash of their values, then by the values themselves. Rows
 * that are equal but for their targets have one f, and the larger a target above it, the larger its coefficient at the
 * optimum: so the largest coefficients > 0 are those of the largest targets, and the least < 0 those of the least.
 */
#include "lib/model.h"
#include "lib/params.h"

#include <hinge/theory.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    uint64_t hash;
    double target; /* regression; otherwise 0 */
    uint32_t row;
};

static int by_hash(const void *a, const void *b)
{
    const struct entry *p = a, *q = b;
    if (p->hash != q->hash)
        return p->hash < q->hash ? -1 : 1;
    if (p->target != q->target)
        return p->target < q->target ? -1 : 1;
    return p->row < q->row ? -1 : p->row > q->row;
}

static void mix(uint64_t *hash, double value)
{
    uint64_t bits;
    value = value == 0 ? 0 : value; /* -0 equals 0 */
    memcpy(&bits, &value, sizeof bits);
    *hash ^= bits;
    *hash = hg_random(hash);
}

static void hash_rows(const hinge_matrix *x, const double *targets, struct entry *entry)
{
    for (size_t i = 0; i < x->rows; i++) {
        bool known = targets != NULL && isfinite(targets[i]);
        entry[i] = (struct entry){ 0, known ? targets[i] : 0, (uint32_t)i };
        for (size_t c = 0; c < x->cols; c++)
            mix(&entry[i].hash, hg_matrix_value(x, i, c));
    }
    qsort(entry, x->rows, sizeof *entry, by_hash);
}

static bool same(const hinge_matrix *x, size_t row, const double *sv)
{
    for (size_t c = 0; c < x->cols; c++)
        if (hg_matrix_value(x, row, c) != sv[c])
            return false;
    return true;
}

/* The first row (or last, in the order of targets), not taken yet, with the values and (label != NULL) the label;
 * SIZE_MAX: none. */
static size_t find(const hinge_matrix *x, const double *y, const struct entry *entry, const bool *taken,
                   const double *sv, const double *label, bool last)
{
    uint64_t hash = 0;
    size_t low = 0, high = x->rows, found = SIZE_MAX;
    for (size_t c = 0; c < x->cols; c++)
        mix(&hash, sv[c]);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (entry[middle].hash < hash)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < x->rows && entry[low].hash == hash; low++) {
        size_t row = entry[low].row;
        if (!taken[row] && (label == NULL || y[row] == *label) && same(x, row, sv)) {
            found = row;
            if (!last)
                break;
        }
    }
    return found;
}

struct turn {
    double size; /* |coefficient|; 0 where all are alike */
    size_t sv;
};

static int by_size(const void *a, const void *b)
{
    const struct turn *p = a, *q = b;
    if (p->size != q->size)
        return p->size > q->size ? -1 : 1;
    return p->sv < q->sv ? -1 : p->sv > q->sv;
}

/* The order in which support vectors choose: as they stand; of regression the largest coefficients first. */
static void take_turns(const hinge_model *m, struct turn *turn)
{
    for (size_t sv = 0; sv < m->n_sv; sv++)
        turn[sv] = (struct turn){ hinge_task_info(m->task)->regresses ? fabs(m->coef[sv]) : 0, sv };
    qsort(turn, m->n_sv, sizeof *turn, by_size);
}

/* Precomputed kernels: the row of a serial number. */
static size_t serial_row(size_t serial, size_t rows, const bool *taken)
{
    return serial < rows && !taken[serial] ? serial : SIZE_MAX;
}

/* index[n_sv]; returns how many are missing, *first the first of them. */
static size_t find_all(const hinge_model *m, const hinge_matrix *x, const double *y, const struct entry *entry,
                       const struct turn *turn, bool *taken, size_t *index, size_t *first)
{
    size_t missing = 0, c = 0, end = 0;
    bool targets = hinge_task_info(m->task)->regresses;
    for (size_t i = 0; i < m->n_sv; i++) {
        size_t sv = turn[i].sv;
        while (m->labels != NULL && i == end + m->class_sv[c]) /* classification: they are as they stand */
            end += m->class_sv[c++];
        index[sv] = m->sv == NULL ? serial_row(m->sv_serial[sv], x->rows, taken)
                                  : find(x, y, entry, taken, m->sv + sv * m->d,
                                         m->labels != NULL ? &m->labels[c] : NULL, targets && m->coef[sv] > 0);
        if (index[sv] != SIZE_MAX) {
            taken[index[sv]] = true;
        } else {
            *first = missing > 0 ? HG_MIN(*first, sv) : sv;
            missing++;
        }
    }
    return missing;
}

hinge_status hg_find_rows(const hinge_model *m, const hinge_matrix *x, const double *y, const double *weights,
                          size_t **found, size_t *missing, hinge_error *err)
{
    struct entry *entry;
    struct turn *turn;
    bool *taken;
    size_t *index = hg_alloc(m->n_sv, sizeof *index), first = 0;
    if (index == NULL || !HG_ROOM(HG_ARRAY(entry, x->rows), HG_ARRAY(turn, m->n_sv), HG_ZEROS(taken, x->rows))) {
        hg_free(index);
        return hg_fail(err, HINGE_ENOMEM, "no memory for %zu rows", x->rows);
    }
    for (size_t i = 0; weights != NULL && i < x->rows; i++)
        taken[i] = weights[i] == 0;
    if (m->sv != NULL)
        hash_rows(x, hinge_task_info(m->task)->regresses ? y : NULL, entry);
    take_turns(m, turn);
    size_t lost = find_all(m, x, y, entry, turn, taken, index, &first);
    hg_free(entry);
    if (missing != NULL)
        *missing = lost;
    if (lost == 0) {
        *found = index;
        return HINGE_OK;
    }
    hg_free(index);
    return hg_fail(err, HINGE_EINVAL,
                   "model: %zu of its %zu support vectors, number %zu the first, are not among the %zu rows: "
                   "these are not the data it was trained on, or not all digits were saved",
                   lost, m->n_sv, first, x->rows);
}

hinge_status hinge_model_locate(hinge_model *m, const hinge_matrix *x, const double *y, size_t *missing,
                                hinge_error *err)
{
    size_t *index;
    if (m == NULL)
        return hg_fail(err, HINGE_EINVAL, "model: NULL");
    HG_TRY(hg_matrix_check(x, "x", err));
    if (m->sv != NULL && m->n_sv > 0 && x->cols != m->d)
        return hg_fail(err, HINGE_EINVAL, "x.cols: %zu, but the model has %zu features", x->cols, m->d);
    if (m->labels != NULL && y == NULL)
        return hg_fail(err, HINGE_EINVAL, "y: NULL, but the model's support vectors have labels");
    HG_TRY(hg_find_rows(m, x, y, NULL, &index, missing, err));
    hg_free(m->sv_index);
    m->sv_index = index;
    m->n_trained = x->rows;
    return hg_ok(err);
}

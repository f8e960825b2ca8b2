/*
 * Which rows of the data are a model's support vectors: by a hash of their values, then by the values themselves.
 */
#include "lib/model.h"
#include "lib/params.h"

#include <hinge/theory.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    uint64_t hash;
    uint32_t row;
};

static int by_hash(const void *a, const void *b)
{
    const struct entry *p = a, *q = b;
    if (p->hash != q->hash)
        return p->hash < q->hash ? -1 : 1;
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

static void hash_rows(const hinge_matrix *x, struct entry *entry)
{
    for (size_t i = 0; i < x->rows; i++) {
        entry[i] = (struct entry){ 0, (uint32_t)i };
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

/* The first row, not taken yet, with the values and (label != NULL) the label; SIZE_MAX: none. */
static size_t find(const hinge_matrix *x, const double *y, const struct entry *entry, const bool *taken,
                   const double *sv, const double *label)
{
    uint64_t hash = 0;
    size_t low = 0, high = x->rows;
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
        if (!taken[row] && (label == NULL || y[row] == *label) && same(x, row, sv))
            return row;
    }
    return SIZE_MAX;
}

/* index[n_sv]; returns how many are missing, *first the first of them. */
static size_t find_all(const hinge_model *m, const hinge_matrix *x, const double *y, const struct entry *entry,
                       bool *taken, size_t *index, size_t *first)
{
    size_t missing = 0, sv = 0;
    for (size_t c = 0; c < hg_model_groups(m); c++)
        for (size_t end = sv + hg_model_group_sv(m, c); sv < end; sv++) {
            index[sv] = m->sv == NULL
                            ? (m->sv_serial[sv] < x->rows ? m->sv_serial[sv] : SIZE_MAX)
                            : find(x, y, entry, taken, m->sv + sv * m->d, m->labels != NULL ? &m->labels[c] : NULL);
            if (index[sv] != SIZE_MAX)
                taken[index[sv]] = true;
            else if (missing++ == 0)
                *first = sv;
        }
    return missing;
}

hinge_status hinge_model_locate(hinge_model *m, const hinge_matrix *x, const double *y, size_t *missing,
                                hinge_error *err)
{
    if (m == NULL)
        return hg_fail(err, HINGE_EINVAL, "model: NULL");
    hinge_status status = hg_matrix_check(x, "x", err);
    if (status == HINGE_OK && m->sv != NULL && m->n_sv > 0 && x->cols != m->d)
        status = hg_fail(err, HINGE_EINVAL, "x.cols: %zu, but the model has %zu features", x->cols, m->d);
    if (status == HINGE_OK && m->labels != NULL && y == NULL)
        status = hg_fail(err, HINGE_EINVAL, "y: NULL, but the model's support vectors have labels");
    if (status != HINGE_OK)
        return status;
    struct entry *entry = hg_alloc(x->rows, sizeof *entry);
    bool *taken = hg_zalloc(x->rows, sizeof *taken);
    size_t *index = hg_alloc(m->n_sv, sizeof *index), lost = 0, first = 0;
    if (entry == NULL || taken == NULL || index == NULL) {
        status = hg_fail(err, HINGE_ENOMEM, "no memory for %zu rows", x->rows);
    } else {
        if (m->sv != NULL)
            hash_rows(x, entry);
        lost = find_all(m, x, y, entry, taken, index, &first);
        if (missing != NULL)
            *missing = lost;
        if (lost > 0)
            status = hg_fail(err, HINGE_EINVAL,
                             "model: %zu of its %zu support vectors, number %zu the first, are not among the %zu rows: "
                             "these are not the data it was trained on, or not all digits were saved",
                             lost, m->n_sv, first, x->rows);
    }
    hg_free(entry);
    hg_free(taken);
    if (status != HINGE_OK) {
        hg_free(index);
        return status;
    }
    hg_free(m->sv_index);
    m->sv_index = index;
    m->n_trained = x->rows;
    return hg_ok(err);
}

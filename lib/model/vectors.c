/*
 * How a model holds its support vectors: in f64, or as bytes where all their values are such. Read model.h before.
 *
 * A large model of bytes takes a fifth of the memory (doc/tried.md); a small one is left as it is.
 */
#include "lib/base/team.h"
#include "lib/model/model.h"

#include <math.h>

const double *hg_model_vectors(const hinge_model *m, size_t first, size_t count, double *room)
{
    if (m->sv_type == HINGE_F64)
        return (const double *)m->sv + first * m->d;
    struct hg_points points = hg_model_points(m, HINGE_F64);
    for (size_t i = 0; i < count; i++)
        hg_points_given(&points, first + i, 0, m->d, room + i * m->d);
    return room;
}

/* Up to 65,536 values, 512 KB in f64, a model stays in a processor's cache. */
static bool is_small(size_t n_sv, size_t d)
{
    return n_sv * d <= 65536;
}

bool hg_model_is_small(const hinge_model *m)
{
    return is_small(m->n_sv, m->d);
}

hinge_dtype hg_model_sv_type(size_t n_sv, size_t d, hinge_dtype given)
{
    return !is_small(n_sv, d) && (given == HINGE_U8 || given == HINGE_I8) ? given : HINGE_F64;
}

/* -0 is no byte, since it is to stay what it is. */
void hg_narrow(struct hg_narrowed *narrowed, const double *from, size_t count, uint8_t *to)
{
    int strange = __atomic_load_n(&narrowed->strange, __ATOMIC_RELAXED), below = 0, above = 0;
    for (size_t i = 0; i < count && !strange; i++) {
        double x = from[i];
        int k = x >= -128 && x <= 255 ? (int)x : 0;
        strange = k != x || (k == 0 && signbit(x)); /* 0, but not x, also where x is beyond a byte */
        below |= k < 0;
        above |= k > 127;
        if (to != NULL)
            to[i] = (uint8_t)k;
    }
    __atomic_fetch_or(&narrowed->strange, strange, __ATOMIC_RELAXED);
    __atomic_fetch_or(&narrowed->below, below, __ATOMIC_RELAXED);
    __atomic_fetch_or(&narrowed->above, above, __ATOMIC_RELAXED);
}

hinge_dtype hg_narrowed_type(const struct hg_narrowed *narrowed)
{
    if (narrowed->strange != 0 || (narrowed->below != 0 && narrowed->above != 0))
        return HINGE_F64;
    return narrowed->below != 0 ? HINGE_I8 : HINGE_U8;
}

struct narrowing { /* of rows */
    struct hg_narrowed narrowed;
    const double *from;
    uint8_t *to;
    size_t d;
};

static void narrow_some(void *arg, int thread, size_t first, size_t end)
{
    struct narrowing *n = arg;
    (void)thread;
    hg_narrow(&n->narrowed, n->from + first * n->d, (end - first) * n->d, n->to + first * n->d);
}

static bool has_negative(const int8_t *x, size_t n)
{
    bool any = false;
    for (size_t i = 0; i < n; i++)
        any |= x[i] < 0;
    return any;
}

/* Makes bytes of the SVs of a large model where they all are such, an eighth of the memory, whatever the data's type
 * was: the model is then the same once it is saved and read. Bytes with a sign that none needs go without. false: no
 * memory. */
bool hg_model_narrow(hinge_model *m, int threads)
{
    struct narrowing n = { .from = m->sv, .d = m->d };
    if (m->sv == NULL || is_small(m->n_sv, m->d))
        return true;
    if (m->sv_type == HINGE_I8 && !has_negative(m->sv, m->n_sv * m->d))
        m->sv_type = HINGE_U8;
    if (m->sv_type != HINGE_F64)
        return true;
    hg_narrow(&n.narrowed, n.from, HG_MIN(m->n_sv, (size_t)16) * m->d, NULL); /* most models have others there */
    if (hg_narrowed_type(&n.narrowed) == HINGE_F64)
        return true;
    if ((n.to = hg_alloc(m->n_sv, m->d)) == NULL)
        return false;
    hg_share(threads, m->n_sv, 256, narrow_some, &n);
    m->sv_type = hg_narrowed_type(&n.narrowed);
    bool all = m->sv_type != HINGE_F64;
    hg_free(all ? m->sv : n.to);
    m->sv = all ? n.to : m->sv;
    return true;
}

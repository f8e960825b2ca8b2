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

struct narrowing { /* of values in f64 to bytes; those may be NULL */
    const double *from;
    uint8_t *to;
    size_t d;
    int strange, below, above; /* atomic: some value is no byte; is less than 0; is more than 127 */
};

/* Makes bytes of a row's values. -0 is none, since it is to stay what it is. */
static void narrow_some(void *arg, int thread, size_t first, size_t end)
{
    struct narrowing *n = arg;
    int strange = __atomic_load_n(&n->strange, __ATOMIC_RELAXED), below = 0, above = 0;
    (void)thread;
    for (size_t i = first * n->d; i < end * n->d && !strange; i++) {
        double x = n->from[i];
        int k = x >= -128 && x <= 255 ? (int)x : 0;
        strange = k != x || (k == 0 && signbit(x)); /* 0, but not x, also where x is beyond a byte */
        below |= k < 0;
        above |= k > 127;
        if (n->to != NULL)
            n->to[i] = (uint8_t)k;
    }
    __atomic_fetch_or(&n->strange, strange, __ATOMIC_RELAXED);
    __atomic_fetch_or(&n->below, below, __ATOMIC_RELAXED);
    __atomic_fetch_or(&n->above, above, __ATOMIC_RELAXED);
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
    narrow_some(&n, 0, 0, HG_MIN(m->n_sv, (size_t)16)); /* which tell of most models that they have others */
    if (n.strange != 0 || (n.below != 0 && n.above != 0))
        return true;
    if ((n.to = hg_alloc(m->n_sv, m->d)) == NULL)
        return false;
    hg_share(threads, m->n_sv, 256, narrow_some, &n);
    bool all = n.strange == 0 && (n.below == 0 || n.above == 0);
    hg_free(all ? m->sv : n.to);
    m->sv = all ? n.to : m->sv;
    m->sv_type = !all ? HINGE_F64 : n.below != 0 ? HINGE_I8 : HINGE_U8;
    return true;
}

/*
 * Several two-class problems solved by peers (lib/rows/peers.h): each solves some of them by itself, and all get all
 * solutions, and those of their folds. What comes out of a problem does not depend on who solves it. Read training.h
 * first.
 */
#include "lib/base/team.h"
#include "lib/train/training.h"

#include <stdlib.h>
#include <string.h>

struct own {
    struct hg_training *t;
    struct hg_dealt *all; /* [n_problems] */
};

static int by_points(const void *a, const void *b)
{
    const struct hg_dealt *p = a, *q = b;
    if (p->points != q->points)
        return p->points > q->points ? -1 : 1;
    return (p->number > q->number) - (p->number < q->number);
}

void hg_largest_first(struct hg_dealt *all, size_t n)
{
    qsort(all, n, sizeof *all, by_points);
}

/* Returns the k-th problem of this process. */
static size_t own_problem(const struct own *o, size_t k)
{
    return hg_drawn(o->t->peers->rank, o->t->peers->count, k);
}

static size_t count_own(const struct own *o)
{
    size_t k = 0;
    while (own_problem(o, k) < o->t->problem.n_problems)
        k++;
    return k;
}

static hinge_status solve_own(void *arg, int thread, size_t k, int threads, hinge_error *err)
{
    const struct own *o = arg;
    return hg_solve_problem(o->t, thread, o->all[own_problem(o, k)].number, threads, err);
}

/* ---- solutions on their way -------------------------------------------------------------------------------------- */

struct parcel {           /* coefficients [n_sv], then points, filled up to 8 bytes, follow */
    struct hg_solution s; /* whose pointers mean nothing elsewhere */
    uint64_t number;
    char maker[32];
};

static size_t parcel_bytes(size_t n_sv)
{
    return (sizeof(struct parcel) + 7) / 8 * 8 + n_sv * sizeof(double) + (n_sv * sizeof(uint32_t) + 7) / 8 * 8;
}

static char *pack(char *to, const struct hg_solution *s, size_t number)
{
    struct parcel parcel = { .s = *s, .number = number };
    size_t coefs = s->n_sv * sizeof *s->beta, at = (sizeof parcel + 7) / 8 * 8;
    parcel.s.point = NULL;
    parcel.s.beta = NULL;
    parcel.s.maker = NULL;
    if (s->maker != NULL)
        memcpy(parcel.maker, s->maker->name, HG_MIN(strlen(s->maker->name), sizeof parcel.maker - 1));
    memset(to, 0, parcel_bytes(s->n_sv));
    memcpy(to, &parcel, sizeof parcel);
    if (s->n_sv > 0) {
        memcpy(to + at, s->beta, coefs);
        memcpy(to + at + coefs, s->point, s->n_sv * sizeof *s->point);
    }
    return to + parcel_bytes(s->n_sv);
}

/* Takes a solution to its place among others. */
static hinge_status unpack(struct hg_solution *solutions, const char **from, hinge_error *err)
{
    struct parcel parcel;
    size_t at = (sizeof parcel + 7) / 8 * 8;
    memcpy(&parcel, *from, sizeof parcel);
    struct hg_solution *s = &solutions[parcel.number];
    size_t n_sv = parcel.s.n_sv, coefs = n_sv * sizeof *s->beta;
    hg_free(s->point);
    *s = parcel.s;
    s->maker = hg_maker_named(parcel.maker);
    HG_TRY(HG_MAKE(err, "the coefficients of rows", HG_ARRAY(s->point, n_sv), HG_ARRAY(s->beta, n_sv)));
    memcpy(s->beta, *from + at, coefs);
    memcpy(s->point, *from + at + coefs, n_sv * sizeof *s->point);
    *from += parcel_bytes(n_sv);
    return HINGE_OK;
}

/* The folds of a problem (refold.c); its decision values follow, or their solutions where they are kept and there. */
struct folded {
    uint64_t is_solved, stopped;
    hinge_report work;
};

static bool sends_solutions(const struct hg_refold *refold, size_t p)
{
    return refold->solutions != NULL && refold->is_solved[p];
}

static size_t decision_bytes(const struct hg_refold *refold, size_t p)
{
    return refold->solutions != NULL ? 0 : (refold->start[p + 1] - refold->start[p]) * sizeof *refold->decision;
}

static size_t folded_bytes(const struct hg_training *t, size_t p)
{
    const struct hg_refold *refold = t->refold;
    if (refold == NULL)
        return 0;
    size_t bytes = sizeof(struct folded) + decision_bytes(refold, p);
    for (size_t f = 0; f < refold->folds && sends_solutions(refold, p); f++)
        bytes += parcel_bytes(refold->solutions[f * t->problem.n_problems + p].n_sv);
    return bytes;
}

static char *pack_folds(char *to, const struct hg_training *t, size_t p)
{
    const struct hg_refold *refold = t->refold;
    if (refold == NULL)
        return to;
    const struct folded folded = { refold->is_solved[p], (uint64_t)refold->stopped, refold->work[p] };
    memcpy(to, &folded, sizeof folded);
    to += sizeof folded;
    memcpy(to, refold->decision + refold->start[p], decision_bytes(refold, p));
    to += decision_bytes(refold, p);
    for (size_t f = 0; f < refold->folds && sends_solutions(refold, p); f++) {
        size_t number = f * t->problem.n_problems + p;
        to = pack(to, &refold->solutions[number], number);
    }
    return to;
}

static hinge_status unpack_folds(struct hg_training *t, size_t p, const char **from, hinge_error *err)
{
    struct hg_refold *refold = t->refold;
    struct folded folded;
    if (refold == NULL)
        return HINGE_OK;
    memcpy(&folded, *from, sizeof folded);
    *from += sizeof folded;
    refold->is_solved[p] = folded.is_solved != 0;
    refold->stopped |= (int)folded.stopped;
    refold->work[p] = folded.work;
    memcpy(refold->decision + refold->start[p], *from, decision_bytes(refold, p));
    *from += decision_bytes(refold, p);
    for (size_t f = 0; f < refold->folds && sends_solutions(refold, p); f++)
        HG_TRY(unpack(refold->solutions, from, err));
    return HINGE_OK;
}

/* Takes a problem's solution, and what its folds came to. */
static hinge_status unpack_problem(struct hg_training *t, const char **from, hinge_error *err)
{
    struct parcel parcel;
    memcpy(&parcel, *from, sizeof parcel);
    HG_TRY(unpack(t->solutions, from, err));
    return unpack_folds(t, parcel.number, from, err);
}

/* Brings all solutions to all; own ones come back as they were. */
static hinge_status exchange(const struct own *o, size_t n_own, hinge_error *err)
{
    struct hg_training *t = o->t;
    size_t bytes = 0, total = 0;
    void *all = NULL;
    for (size_t k = 0; k < n_own; k++) {
        size_t p = o->all[own_problem(o, k)].number;
        bytes += parcel_bytes(t->solutions[p].n_sv) + folded_bytes(t, p);
    }
    char *mine = hg_alloc(bytes, 1), *to = mine;
    for (size_t k = 0; k < n_own && mine != NULL; k++) {
        size_t p = o->all[own_problem(o, k)].number;
        to = pack_folds(pack(to, &t->solutions[p], p), t, p);
    }
    hinge_status status = t->peers->collect(t->peers, mine, bytes, &all, &total);
    for (const char *from = all, *end = from + total; status == HINGE_OK && from < end;)
        status = unpack_problem(t, &from, err);
    hg_free(mine);
    hg_free(all);
    return status;
}

hinge_status hg_solve_dealt(struct hg_training *t, hinge_error *err)
{
    struct own o = { .t = t };
    size_t n = t->problem.n_problems, n_own = 0;
    uint64_t none = 0;
    hinge_status status = HG_MAKE(err, "the deal of problems", HG_ARRAY(o.all, n));
    if (status == HINGE_OK) {
        for (size_t p = 0; p < n; p++)
            o.all[p] = (struct hg_dealt){ hg_problem_size(&t->problem, p), p };
        hg_largest_first(o.all, n);
        n_own = count_own(&o);
        status = hg_each(n_own, hg_side_by_side(t), t->threads, solve_own, &o, err);
    }
    if (status != HINGE_OK && err != NULL)
        t->peers->err = *err;
    status = t->peers->bring(t->peers, status, NULL, &none, NULL, 0, 1);
    for (size_t k = 0; k < n_own && status == HINGE_OK; k++)
        t->peers->spared -= t->solutions[o.all[own_problem(&o, k)].number].report.kernel_values;
    HG_THEN(status, exchange(&o, n_own, err));
    for (size_t p = 0; p < n && status == HINGE_OK; p++)
        t->peers->spared += t->solutions[p].report.kernel_values;
    hg_free(o.all);
    return status;
}

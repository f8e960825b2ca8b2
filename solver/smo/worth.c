/*
 * Tells what problems on one Gram matrix are worth at points that are not theirs: g = sum over a problem's support
 * vectors of beta K(support vector, point), by which a fold's held-out rows are scored. Read many.h before.
 *
 * Problems that ask for the same points (pairs of classes, of one fold) go on side by side: rows of a block of points
 * are added to what each of them has at a piece of the points asked for, while they are in the cache. The loops from
 * outside in: chunks of support vectors whose rows the pool has room for (find_worth), pieces of the points asked for,
 * one thread each (add_chunk), blocks of ROWS support vectors, problems (add_terms). A grid of many classes takes a
 * third less time so than pair after pair, with the same bits (doc/tried.md).
 */
#include "solver/smo/loops.h"
#include "lib/base/team.h"
#include "solver/smo/many.h"

#include <string.h>

enum { ROWS = 256, PIECE = 512 }; /* of a block; points asked for at a time */

struct worth {
    struct hg_many *many;
    const struct hg_adders *add;
    struct hg_many_problem *const *problem;
    size_t count, n_asked; /* problems; points asked for */
    size_t *begin;         /* [count + 1] each problem's terms, ascending by point: */
    uint32_t *point;
    double *coef;
    size_t *next;           /* [count] the first one that is not added yet */
    size_t *at;             /* [threads * count] a thread's copies of next */
    uint32_t last;          /* point of the chunk that is added */
    struct hg_range *piece; /* [n_pieces] of the points asked for, */
    size_t *place;          /* [n_pieces] and the place of its first point among all of them */
    size_t n_pieces;
    uint8_t *supports; /* [many->n] some problem has a term */
    uint32_t *support; /* [n_support] points that have one, ascending */
    size_t n_support;
    double *g; /* [count * n_asked] problem by problem */
};

/* Lists each problem's terms by point, ascending, the points that have any, and the pieces of the points asked for; g
 * is 0. The order of a sum's terms is that of points, whichever rows are made at once: the bits do not depend on the
 * room. All problems look at the same points elsewhere, and the first one's list of them serves. */
static hinge_status worth_init(struct worth *w)
{
    const struct hg_many *many = w->many;
    const struct hg_many_problem *first = w->problem[0];
    size_t all = 0, pieces = 0;
    for (size_t k = 0; k < w->count; k++)
        all += w->problem[k]->qp->n;
    for (size_t k = 0; k < first->n_elsewhere; k++) {
        w->n_asked += first->elsewhere[k].count;
        pieces += first->elsewhere[k].count / PIECE + 1;
    }
    if (!HG_ROOM(HG_ARRAY(w->begin, w->count + 1), HG_ARRAY(w->point, all), HG_ARRAY(w->coef, all),
                 HG_ARRAY(w->next, w->count), HG_TABLE(w->at, (size_t)many->threads, w->count),
                 HG_ARRAY(w->piece, pieces), HG_ARRAY(w->place, pieces), HG_ZEROS(w->supports, many->n),
                 HG_ARRAY(w->support, many->n), HG_TABLE(w->g, w->count, w->n_asked)))
        return HINGE_ENOMEM;
    memset(w->g, 0, w->count * w->n_asked * sizeof *w->g);
    for (size_t k = 0, place = 0; k < first->n_elsewhere; k++)
        for (size_t at = 0, all_of_it = first->elsewhere[k].count, count; at < all_of_it; at += count, place += count) {
            count = HG_MIN(all_of_it - at, (size_t)PIECE);
            w->place[w->n_pieces] = place;
            w->piece[w->n_pieces++] = (struct hg_range){ first->elsewhere[k].first + (uint32_t)at, (uint32_t)count };
        }
    for (size_t k = 0, at = 0; k < w->count; k++) {
        const struct hg_many_problem *p = w->problem[k];
        w->begin[k] = w->next[k] = at;
        for (size_t i = 0; i < p->qp->n; i++)
            if (hg_qp_beta(p->qp, i) != 0) {
                w->supports[p->point[i]] = 1;
                w->point[at] = p->point[i];
                w->coef[at++] = hg_qp_beta(p->qp, i);
            }
        w->begin[k + 1] = at;
    }
    for (size_t i = 0; i < many->n; i++)
        if (w->supports[i])
            w->support[w->n_support++] = (uint32_t)i;
    return HINGE_OK;
}

/* Adds terms at points up to `last` to what problems have at a piece. A block of ROWS rows times a PIECE of columns is
 * 512 KB in f32, which stays in a core's cache while problem after problem takes from it what it has terms of. next
 * [count]: the term of each problem that comes next, moved ahead here. */
static void add_terms(const struct worth *w, size_t piece, uint32_t last, size_t *next)
{
    const struct hg_many *many = w->many;
    hinge_dtype type = many->pool.rows->type;
    void *row[ROWS];
    for (uint32_t end = 0; end <= last;) {
        end = last - end < ROWS ? last + 1 : end + ROWS;
        for (size_t k = 0; k < w->count; k++) {
            size_t n = 0;
            for (; next[k] + n < w->begin[k + 1] && w->point[next[k] + n] < end; n++)
                row[n] = hg_pool_row(&many->pool, w->point[next[k] + n]);
            hg_add_stretch(w->add, type, n, w->coef + next[k], row, w->piece[piece].first, w->piece[piece].count,
                           w->g + k * w->n_asked + w->place[piece]);
            next[k] += n;
        }
    }
}

/* Begins each piece at the same terms, from the thread's own copy of w->next. */
static void add_piece(void *arg, int thread, size_t piece, size_t end)
{
    const struct worth *w = arg;
    size_t *next = w->at + (size_t)thread * w->count;
    (void)end;
    memcpy(next, w->next, w->count * sizeof *next);
    add_terms(w, piece, w->last, next);
}

/* Adds the terms of support[0 .. count), whose rows are there; w->next moves ahead once all pieces are done. */
static void add_chunk(struct worth *w, const uint32_t *support, size_t count)
{
    w->last = support[count - 1];
    hg_share(w->many->threads, w->n_pieces, 1, add_piece, w);
    for (size_t k = 0; k < w->count; k++)
        while (w->next[k] < w->begin[k + 1] && w->point[w->next[k]] <= w->last)
            w->next[k]++;
}

/* Makes rows of supports, as many at once as the pool has slots, and adds them where they are wanted. A support vector
 * of many pairs is made once for all of them. */
static hinge_status find_worth(struct worth *w)
{
    struct hg_many *many = w->many;
    hinge_status status = worth_init(w);
    for (size_t first = 0, count; first < w->n_support && status == HINGE_OK; first += count) {
        count = HG_MIN(w->n_support - first, many->pool.cache.n_slots);
        hg_pool_begin(&many->pool);
        hg_pool_ask(&many->pool, w->support + first, count);
        status = hg_pool_make(&many->pool, NULL);
        if (status == HINGE_OK)
            add_chunk(w, w->support + first, count);
    }
    return status;
}

struct telling {
    const struct worth *w;
    void (*tell)(void *arg, size_t k, const double *g);
    void *arg;
    size_t first; /* number of the run's first problem */
};

static void tell_one(void *arg, int thread, size_t k, size_t end)
{
    const struct telling *t = arg;
    (void)thread;
    (void)end;
    t->tell(t->arg, t->first + k, t->w->g + k * t->w->n_asked);
}

/* Takes runs of problems that look at the same points, one after the other; what a run holds is one block, of which
 * begin is the owner. tell is called with a problem's values while these are there. */
hinge_status hg_many_apply(struct hg_many *many, struct hg_many_problem *const *problem, size_t count,
                           void (*tell)(void *arg, size_t k, const double *g), void *arg, hinge_error *err)
{
    hinge_status status = HINGE_OK;
    for (size_t first = 0, end; first < count && status == HINGE_OK; first = end) {
        for (end = first; end < count && problem[end]->elsewhere == problem[first]->elsewhere &&
                          problem[end]->n_elsewhere == problem[first]->n_elsewhere;
             end++)
            ;
        struct worth w = {
            .many = many, .add = &hg_loops(many->cpu_level)->add, .problem = problem + first, .count = end - first
        };
        status = find_worth(&w);
        struct telling telling = { &w, tell, arg, first };
        hg_share(many->threads, status == HINGE_OK ? w.count : 0, 1, tell_one, &telling);
        hg_free(w.begin);
    }
    return status == HINGE_OK ? status : hg_fail(err, status, "the kernel function failed, or there is no memory");
}

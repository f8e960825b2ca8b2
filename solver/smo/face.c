/*
 * Faces of a block, one after the other. Read face.h before, which has the method.
 *
 * K_FF = LL' is kept while F changes little: rows of entries set free are appended to L; an entry put on its bound is
 * held there by a constraint d_i = 0 beside the sums, with V = L^-1 [E, e_i, ...] and the factor of V'V. Beyond a share
 * of F that is more work than to factor anew. The least ridge is rounding's share of K_FF: where that is singular, a
 * direction without curvature becomes a very long step, and ends at the boundary; all else is left with a residual of
 * ridge |d|, which the next step, by the same factor, takes out. Where a smooth kernel's K_FF is nearly singular and
 * boxes are large, such steps take nearly all entries out of their boxes: a larger ridge, which is then kept from face
 * to face and from block to block, keeps them in.
 */
#include "solver/smo/face_matrix.h"
#include "lib/base/team.h"

#include <cblas.h>
#include <float.h>
#include <math.h>
#include <string.h>

enum {
    MAX_FIXES = 30, /* solutions of a face */
    MAX_FACES = 50  /* of a block */
};

/* The ridge is multiplied by RIDGE_UP where a face does not lower the objective, and divided by RIDGE_DOWN where it
 * does. With 1,000 for both most faces are of no use, and a run takes twice as long (doc/tried.md). */
static const double RIDGE_UP = 30, RIDGE_DOWN = 3;

/* ---- room -------------------------------------------------------------------------------------------------------- */

static size_t padded(size_t n)
{
    return (n + 7) / 8 * 8 + 8;
}

/* Returns the bytes of L, V and the factor of V'V, which is all that is quadratic in q, and room for the rest. */
size_t hg_face_bytes(size_t q, int layers)
{
    double n = (double)padded(q), held = n / 4 + 18;
    double bytes = sizeof(double) * (n * (n + held + 10 * layers) + held * held);
    return bytes < 1e18 ? (size_t)bytes : SIZE_MAX;
}

/* Lays out all arrays in one block, of which low is the owner. A quarter of the points may be held by constraints
 * before it is less work to factor anew. */
hinge_status hg_face_init(struct hg_face *t, size_t cap)
{
    size_t entries = (size_t)t->in->qp.layers * cap;
    t->cap = cap;
    t->max_held = cap / 4 + 16;
    t->l = (struct hg_triangle){ .ld = padded(cap) };
    t->s = (struct hg_triangle){ .ld = t->max_held + 2 };
    bool ok = HG_ROOM(HG_ARRAY(t->low, entries), HG_ARRAY(t->high, entries), HG_ARRAY(t->off, entries),
                      HG_ARRAY(t->is_free, entries), HG_ARRAY(t->move, entries), HG_ARRAY(t->g_trial, cap),
                      HG_ARRAY(t->sum, cap), HG_ARRAY(t->k_sum, cap), HG_TABLE(t->l.l, cap, t->l.ld),
                      HG_TABLE(t->s.l, t->s.ld, t->s.ld), HG_ARRAY(t->entry, cap), HG_ARRAY(t->row_of, entries),
                      HG_TABLE(t->v, t->s.ld, t->l.ld), HG_ARRAY(t->held, t->s.ld), HG_ARRAY(t->d, cap),
                      HG_ARRAY(t->first, cap), HG_ARRAY(t->w, t->s.ld));
    return ok ? HINGE_OK : HINGE_ENOMEM;
}

void hg_face_free(struct hg_face *t)
{
    hg_free(t->low);
    t->low = NULL;
}

/* ---- entries of the block ---------------------------------------------------------------------------------------- */

static void add_row(const struct hg_face *t, double factor, size_t slot, double *g)
{
    t->in->loops->add.f64(1, &factor, (const double *const[]){ hg_face_row(t, slot) }, t->in->qp.n, g);
}

/* Returns the violation of the block, and sets each layer's bias. */
static double look_at_block(struct hg_face *t)
{
    for (int l = 0; l < t->in->qp.layers; l++)
        t->bias[l] = hg_qp_bias(&t->in->qp, NULL, t->in->qp.n, t->in->g, l);
    return hg_qp_violation(&t->in->qp, t->in->g);
}

/* Sets entries free: those inside, and those that violate, upward by a slope F + bias below -tolerance, downward by one
 * above it; returns how many. Each gets the offset of its side of the kink, and that side of the box as its bounds, so
 * that a face is a plain quadratic problem. */
static size_t set_free(struct hg_face *t, double tolerance)
{
    const struct hg_qp *qp = &t->in->qp;
    size_t count = 0;
    for (int l = 0; l < qp->layers; l++)
        for (size_t k = 0; k < qp->n; k++) {
            size_t e = (size_t)l * qp->n + k;
            double b = qp->beta[l][k], lo = qp->lo[l][k], hi = qp->hi[l][k], g = t->in->g[k] + t->bias[l];
            double up = hg_up(b, hi, qp->off[l][k], qp->kink), down = hg_down(b, lo, qp->off[l][k], qp->kink);
            bool rises = up == down || g + up < -tolerance;
            t->is_free[e] = rises || g + down > tolerance;
            t->off[e] = rises ? up : down;
            bool positive = b > 0 || (b == 0 && rises); /* the side of the kink */
            t->low[e] = qp->kink > 0 && positive ? 0 : lo;
            t->high[e] = qp->kink > 0 && !positive ? 0 : hi;
            t->move[e] = 0;
            count += t->is_free[e];
        }
    return count;
}

/* ---- a face ------------------------------------------------------------------------------------------------------ */

/* Moves entries that d takes out of their boxes onto the bound, and fixes them there; returns how many. g_trial
 * follows. Where they are more than may be held, V is not made for them: solve_face prepares the face anew. */
static size_t fix_leavers(struct hg_face *t)
{
    size_t n = t->s.rows;
    for (size_t r = 0; r < t->l.rows; r++) {
        size_t e = t->entry[r], slot = e % t->in->qp.n;
        double b = t->in->qp.beta[e / t->in->qp.n][slot], end = b + t->d[r];
        if (!t->is_free[e] || (end >= t->low[e] && end <= t->high[e]))
            continue;
        if (n < t->max_held + 2)
            t->held[n] = (int64_t)e;
        n++;
        t->is_free[e] = 0;
        t->move[e] = (end > t->high[e] ? t->high[e] : t->low[e]) - b;
        if (t->move[e] != 0)
            add_row(t, t->move[e], slot, t->g_trial);
    }
    return n - t->s.rows;
}

static void multiply_some(void *arg, int thread, size_t k, size_t end)
{
    struct hg_face *t = arg;
    (void)thread;
    cblas_dgemv(CblasRowMajor, CblasNoTrans, (int)(end - k), (int)t->in->qp.n, 1, hg_face_row(t, k), (int)t->in->ld,
                t->sum, 1, 0, t->k_sum + k, 1);
}

/* Makes k_sum = K_AA sum. */
static void multiply_moves(struct hg_face *t)
{
    size_t q = t->in->qp.n;
    for (size_t k = 0; k < q; k++)
        t->sum[k] = t->in->qp.layers == 1 ? t->move[k] : t->move[k] + t->move[q + k];
    hg_share(t->threads, q, HG_FACE_PIECE, multiply_some, t);
    hg_face_count(t, 2 * (double)q * (double)q, (double)q * (double)q);
}

/* Takes the moves if they lower the objective, sum of move (g + off + bias + K move / 2): the bias changes nothing of
 * it, as moves sum to 0, but leaves small numbers to add up. Entries whose move is their whole room get the bound
 * itself. */
static bool take(struct hg_face *t, double *decrease)
{
    double change = 0;
    size_t q = t->in->qp.n;
    multiply_moves(t);
    for (size_t l = 0, e = 0; l < (size_t)t->in->qp.layers; l++)
        for (size_t k = 0; k < q; k++, e++)
            if (t->move[e] != 0)
                change += t->move[e] * (t->in->g[k] + t->off[e] + t->bias[l] + 0.5 * t->k_sum[k]);
    if (!(change < 0))
        return false;
    for (size_t e = 0; e < (size_t)t->in->qp.layers * q; e++) {
        double *b = &t->in->qp.beta[e / q][e % q];
        if (t->move[e] == t->high[e] - *b)
            *b = t->high[e];
        else if (t->move[e] == t->low[e] - *b)
            *b = t->low[e];
        else if (t->move[e] != 0)
            *b = HG_MIN(HG_MAX(*b + t->move[e], t->low[e]), t->high[e]);
    }
    for (size_t k = 0; k < q; k++)
        t->in->g[k] += t->k_sum[k];
    *decrease = -change;
    return true;
}

/* Takes the first step as far as it is feasible: all entries go the same part of it, up to the first bound in the
 * way. */
static bool take_part(struct hg_face *t, double *decrease)
{
    double part = 1;
    for (size_t r = 0; r < t->l.rows; r++) {
        size_t e = t->entry[r];
        double b = t->in->qp.beta[e / t->in->qp.n][e % t->in->qp.n], d = t->first[r];
        if (d != 0)
            part = HG_MIN(part, ((d > 0 ? t->high[e] : t->low[e]) - b) / d);
    }
    memset(t->move, 0, hg_face_entries(t) * sizeof *t->move);
    for (size_t r = 0; r < t->l.rows; r++) {
        size_t e = t->entry[r];
        double b = t->in->qp.beta[e / t->in->qp.n][e % t->in->qp.n], d = t->first[r];
        double room = (d > 0 ? t->high[e] : t->low[e]) - b;
        t->move[e] = d == 0 ? 0 : fabs(part * d) >= fabs(room) ? room : part * d;
    }
    return part > 0 && take(t, decrease);
}

/* Takes what rounding left of the sums of moves off the free entries; false: more than that is left. */
static bool balance(struct hg_face *t)
{
    for (int l = 0; l < t->in->qp.layers; l++) {
        double sum = 0, size = 0;
        size_t count = 0;
        for (size_t e = (size_t)l * t->in->qp.n; e < (size_t)(l + 1) * t->in->qp.n; e++) {
            sum += t->move[e];
            size += fabs(t->move[e]);
            count += t->is_free[e];
        }
        if (fabs(sum) > 1e-8 * size)
            return false;
        for (size_t e = (size_t)l * t->in->qp.n; e < (size_t)(l + 1) * t->in->qp.n; e++)
            if (t->is_free[e])
                t->move[e] -= sum / (double)count;
    }
    return true;
}

/* Makes a face: solves, fixes the entries that leave, solves again, until none leaves, and takes the moves; where these
 * are no gain, the first step as far as it is feasible. false: the objective does not fall by either. */
static bool solve_face(struct hg_face *t, double tolerance, double *decrease)
{
    if (set_free(t, tolerance) == 0 || !hg_face_prepare(t))
        return false;
    memcpy(t->g_trial, t->in->g, t->in->qp.n * sizeof *t->g_trial);
    bool whole = false, has_first = false; /* t->first is a step of these rows of L */
    for (int k = 0; k < MAX_FIXES && !hg_face_is_over(t); k++) {
        hg_face_step(t);
        if (k == 0) {
            memcpy(t->first, t->d, t->l.rows * sizeof *t->d);
            has_first = true;
        }
        size_t made = t->s.rows, leave = fix_leavers(t);
        whole = leave == 0;
        if (whole)
            break;
        if (made + leave <= t->max_held + 2) {
            if (!hg_face_hold(t, made, made + leave))
                break;
        } else {
            has_first = false;
            if (!hg_face_prepare(t))
                break;
        }
    }
    if (hg_face_halted(t))
        return false;
    if (whole) {
        for (size_t r = 0; r < t->l.rows; r++)
            if (t->is_free[t->entry[r]])
                t->move[t->entry[r]] = t->d[r];
        if (balance(t) && take(t, decrease))
            return true;
    }
    return has_first && take_part(t, decrease);
}

/* ---- a block ----------------------------------------------------------------------------------------------------- */

/* Makes two-variable steps, about one an entry: the last resort, where no ridge gives a step that gains. */
static bool go_on_by_smo(struct hg_face *t, double target, double *decrease)
{
    uint64_t made = t->systems + t->steps, q = t->in->qp.n;
    uint64_t most = t->max_steps == 0 ? q : HG_MIN(q, t->max_steps - HG_MIN(t->max_steps, made));
    struct hg_inner_result done = hg_inner_solve(t->in, target, 0, true, most);
    t->steps += done.steps;
    hg_face_count(t, 0, 2 * (double)done.steps * (double)q);
    *decrease = done.decrease;
    return done.decrease > 0;
}

/* Returns what the ridge has left undone of the last face: its largest residual. */
static double left_undone(const struct hg_face *t)
{
    double most = 0;
    for (size_t r = 0; r < t->l.rows; r++)
        most = HG_MAX(most, fabs(t->move[t->entry[r]]));
    return t->ridge * most;
}

/* Sets the next face's ridge by whether the last one has lowered the objective; false: no ridge is left to be tried.
 * Where the ridge leaves less than half of the violation, the ridge and the factored matrix serve for the next face
 * too, which spares regression at a large C up to a fifth of its time (doc/tried.md). */
static bool adapt_ridge(struct hg_face *t, bool lowered, double violation)
{
    double ridge = t->ridge;
    if (lowered && left_undone(t) < violation / 2)
        return true;
    t->ridge = lowered ? HG_MAX(ridge / RIDGE_DOWN, t->least) : ridge * RIDGE_UP;
    if (t->ridge != ridge)
        t->l.rows = 0; /* to be factored anew */
    return ridge > 0 && t->ridge <= HG_MOST_RIDGE * t->largest;
}

static double sum_of(const double *b, size_t n)
{
    double sum = 0;
    for (size_t k = 0; k < n; k++)
        sum += b[k];
    return sum;
}

/* Gives what rounding has made of a layer's sum to the entry with most room. */
static void mend_sum(struct hg_face *t, int l, double sum)
{
    struct hg_qp *qp = &t->in->qp;
    double missing = sum - sum_of(qp->beta[l], qp->n), most = 0;
    size_t to = 0;
    for (size_t k = 0; k < qp->n; k++) {
        double b = qp->beta[l][k], room = HG_MIN(qp->hi[l][k] - b, b - qp->lo[l][k]);
        room = qp->kink > 0 ? HG_MIN(room, fabs(b)) : room;
        if (room > most) {
            most = room;
            to = k;
        }
    }
    if (!(fabs(missing) < most) || missing == 0)
        return;
    qp->beta[l][to] += missing;
    add_row(t, missing, to, t->in->g);
}

/* Forgets what was factored. The least ridge is what rounding leaves of the largest diagonal entry: below it K_FF could
 * not be told from a singular matrix. */
static void begin(struct hg_face *t)
{
    const struct hg_inner *in = t->in;
    memset(t->row_of, 0xff, hg_face_entries(t) * sizeof *t->row_of);
    t->l.rows = t->s.rows = 0;
    t->largest = 0;
    for (size_t k = 0; k < in->qp.n; k++)
        t->largest = HG_MAX(t->largest, in->diagonal[k]);
    t->least = DBL_EPSILON * (double)(in->qp.n + 16) * t->largest;
    t->ridge = HG_MAX(t->ridge, t->least);
}

/* Solves face by face, each begun anew by beta and g. A face that gains nothing raises the ridge (adapt_ridge); past
 * the largest one two-variable steps follow, and the ridge begins at its least again. In the end mend_sum gives back
 * what rounding has made of each layer's sum. */
double hg_face_solve(struct hg_face *t, double target, double *decrease)
{
    const struct hg_qp *qp = &t->in->qp;
    double sum[2] = { 0 };
    for (int l = 0; l < qp->layers; l++)
        sum[l] = sum_of(qp->beta[l], qp->n);
    begin(t);
    double violation = look_at_block(t);
    for (int k = 0; k < MAX_FACES && violation > target && t->largest > 0 && !hg_face_is_over(t); k++) {
        double fall = 0;
        bool gains = adapt_ridge(t, solve_face(t, target / 4, &fall), violation) || hg_face_is_over(t);
        if (!gains) {
            t->ridge = t->least;
            gains = go_on_by_smo(t, target, &fall);
        }
        *decrease += fall;
        if (!gains)
            break;
        violation = look_at_block(t);
        if (t->progress != NULL)
            t->progress(t->progress_arg, violation);
    }
    for (int l = 0; l < qp->layers; l++)
        mend_sum(t, l, sum[l]);
    return violation;
}

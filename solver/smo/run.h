/*
 * What a run of block SMO (block.h) holds, shared by its parts, and what they do for each other:
 *
 *   block.c        rounds, and the run as a whole
 *   judge.c        what a violation means: on with it, Newton's finish, or the end (rules.h)
 *   run_judge.c    what judge.c asks of a run, and has it do
 *   shrink.c       which points are active
 *   working_set.c  W: which points, and K_WW
 *   store.c        rows: which are kept, and how; sums of them
 *   gradient.c     g: its start, its updates, its extremes
 *   proof.c        how wrong g is, and its corrections
 *   run_newton.c   when the Newton finish is due, and what a run takes from it
 */
#ifndef HG_RUN_H
#define HG_RUN_H

#include "solver/smo/block.h"
#include "solver/smo/face.h"
#include "solver/smo/inner.h"
#include "solver/smo/newton.h"
#include "solver/smo/rules.h"
#include "solver/smo/store.h"

#include <math.h>

enum {
    HG_MEASURED = 512, /* most points whose error is measured, */
    HG_EARLY = 64,     /* and those on the way, or where a fold ends; */
    HG_DOUBTFUL = 16   /* of them, those that rounding alters most */
};

/* The cut of folds, a share of the largest violation: points that violate by less stay out of W. A round leaves a tenth
 * of the violation, so such points would only be carried along. Folds have a quarter fewer columns of K_WW with a cut.
 * Other trainings have none, as some would take many times the steps (doc/tried.md). */
#define HG_CUT 0.3

/* An active point among which the worst are chosen (hg_worst_first); at: its position. */
struct hg_candidate {
    double value; /* smaller is worse: a larger violation */
    uint64_t tie; /* a hash of the point: equal violators are taken from all over the data */
    uint32_t at;
};

/* Points are active whose gradient each round brings up to date; the others rest (shrink.c). What is by position is in
 * the order of the list, so that a loop over active points reads memory in order. */
struct hg_active {
    size_t m;                /* active points */
    uint32_t *point;         /* [n] the active points, then room */
    uint32_t *position;      /* [n] of each point among the active ones */
    double *g;               /* [n] by position: K beta */
    double *up[2], *down[2]; /* [n] by position, see hg_up */
    struct hg_extremes extremes[2];
    bool torn;    /* an update was ended half-way: g is not K beta */
    double waste; /* work done on points at rest: a first row is none, their gradient will need it too */
};

/* The working set W, the block of the kernel on it, and what the last round moved. */
struct hg_w {
    size_t q, n;                 /* points wanted, points there */
    uint64_t round;              /* in which it was chosen last: the age of its fresh points */
    uint32_t *point;             /* [q] by slot of K_WW */
    uint64_t *age;               /* [q] round in which each came */
    uint8_t *holds;              /* [n] by point of the problem: it is in W */
    struct hg_inner inner;       /* K_WW, and beta, g and the bounds by slot */
    uint32_t *fresh;             /* [q] slots that are new this round */
    size_t n_fresh, fresh_moved; /* so many of them, and of those that moved */
    uint32_t *asked;             /* [q] points of the fresh slots, */
    void **row;                  /* [q] and where their rows go */
    double *before[2];           /* [q] beta before the inner solve, */
    double *g_before;            /* [q] and g */
    struct hg_move *moved;       /* [q] points whose beta changed */
    size_t n_moved;
    double decrease;     /* of the objective in this round, by K_WW */
    struct hg_face face; /* solves W by systems where steps of two entries are too many; made when first needed */
    size_t face_bytes;
    bool halves;  /* W was all points, and there were too many steps for it: the next W has half of them */
    int unsolved; /* rounds in which W was not solved, since rows were looked at last */
};

/* Tells how wrong g is. Rows in f32 make it so: their errors add up in the gradients of points that are not in W. At
 * the end of a run g is made exact where it decides. */
struct hg_doubts {
    double *diagonal;            /* [n] K(x_i, x_i), by point */
    uint32_t point[HG_DOUBTFUL]; /* those whose values rounding alters most: always measured; there where n is more */
    uint8_t *is_exact;           /* [n] by point: g there is that of f64 (hg_prove) */
    double *size;                /* [n] what one value of a point may be off by (hg_prove); NULL: nobody has asked */
    double *mended;              /* [n] beta by point when all of g was last made in f64; NULL: all 0 */
    size_t proven;               /* points made exact since then because they were in doubt (hg_prove) */
    uint64_t chosen;             /* times that points were chosen for a measurement */
    double unseen;     /* error that points may have which were not made exact since g was last computed anew */
    double looked_at;  /* the violation when rows were looked at last */
    size_t most_bytes; /* that measuring took */
};

/* A beta to go back to, and what is known of it: copies, which hg_keep writes and the end of the run reads. */
struct hg_start {
    double *beta[2]; /* [n] */
    double objective, violation, bias[2];
};

/* Room for what is made and used up inside one function. */
struct hg_spare {
    uint32_t *point;                 /* [n] points with beta != 0, */
    double *coef;                    /* [n] and these */
    struct hg_candidate *candidates; /* [n] */
    uint32_t *found;                 /* [n] */
};

/* The problem that the run was made for, once it is solved: others go on from it (hg_smo_again). Its arrays are there
 * while options.then is called, which call_then of block.c makes and frees. */
struct hg_first {
    const struct hg_qp *qp;
    double *g;             /* [n] K beta there, by point; NULL: it is not solved yet */
    double bias[2], error; /* of its F, as it was proven */
    uint64_t rounds;       /* of it and of the others so far: the ages of rows and of W go on */
};

/* What is known of g of all points: K beta of a beta that the run has come by. Points at rest go on from it. */
struct hg_known {
    double *g, *beta; /* [n] by point, one block; NULL: no point has rested, or there is no room */
};

/* A run of block SMO. What the caller gave (rows to report) is borrowed and must stay; the arrays of active, w, doubts,
 * spare and kept are one block, of which active.point is the owner; store, w.inner, w.face and known own theirs. */
struct hg_run {
    struct hg_rows *rows, *exact; /* the same where rows are in f64 */
    struct hg_qp *qp;
    const struct hg_smo_options *opt;
    struct hg_smo_result *res;
    hinge_report *report; /* the result's */
    const struct hg_loops *loops;
    size_t n;            /* points */
    struct hg_halt halt; /* the options', its stop perhaps own_stop */
    int own_stop;
    struct hg_store store;
    struct hg_active active;
    struct hg_w w;
    struct hg_doubts doubts;
    struct hg_course course;
    struct hg_start kept; /* the best beta known by an objective that was recomputed */
    double look_at;       /* work after which the caller looks at the run; 0: never */
    struct hg_newton_rule newton;
    size_t newton_bytes; /* of its largest block */
    struct hg_spare spare;
    struct hg_first first;
    struct hg_known known;
};

/* Says whether the run is to end early: by its time, or by a word of the caller. The clock is not looked at. */
static inline bool hg_is_stopped(const struct hg_run *r)
{
    return hg_halted(&r->halt);
}

/* Notes after sums that were to make g = K beta whether they did: a failure or a halt leaves g torn. Returns the
 * status. */
static inline hinge_status hg_note_torn(struct hg_run *r, hinge_status status)
{
    r->active.torn = status != HINGE_OK || hg_is_stopped(r);
    return status;
}

/* Makes all points active; g and the offsets of those that were not are to be filled in. The store forgets its rows,
 * which are too narrow then. */
static inline void hg_activate_all(struct hg_run *r)
{
    hg_store_change(&r->store, r->n);
    r->active.m = r->n;
}

/* Returns how many rounds are from one look around to the next: fewer where there are many. */
static inline uint64_t hg_every(const struct hg_run *r)
{
    return r->report->rounds < 128 ? 4 : 16;
}

/* True in every 4th round, and in every 16th after 128: checks that need a pass over all points are made only then. */
static inline bool hg_looks_around(const struct hg_run *r)
{
    return r->report->rounds % hg_every(r) == 0;
}

/* Adds what has passed to a phase; returns the time. */
static inline double hg_lap(double *phase, double since)
{
    double now = hg_now();
    *phase += now - since;
    return now;
}

/* Returns a number that looks random and depends on x alone: ties are broken by it, alike in all runs. */
static inline uint64_t hg_hash(uint64_t x)
{
    return hg_random(&x);
}

/* ---- block.c ----------------------------------------------------------------------------------------------------- */

/* Returns q, the number of points of W, for n points: 256 at a few thousand, 512 at 10k, 1024 at 20k, 2048 from 25k on;
 * all of a small problem. Where rows cost next to nothing, K_WW is what a round costs: q is 1024 at most there. Such
 * trainings would take two to five times the processor time with rows kept and larger W (doc/tried.md). asked: how many
 * are wanted; 0: nobody said. cost: of a value, as a source has it. */
size_t hg_choose_q(double cost, size_t n, size_t asked, int layers);

/* Makes a run of which rows, exact, qp, opt, res and report are set: all points are active, g and the offsets are to be
 * filled in. hg_run_free in any case. */
hinge_status hg_run_init(struct hg_run *r, hinge_error *err);
void hg_run_free(struct hg_run *r);

/* Takes the bounds of a new problem on the same points into W, which stays as it was; rounds go on in number. */
void hg_renew_block(struct hg_run *r);

/* Sets r->active.up and r->active.down at a position, by beta there. */
void hg_set_offsets(struct hg_run *r, size_t at);

/* Tells what is asked of a solve on W alone. */
struct hg_aim {
    double target;              /* the violation to be reached, */
    double shrink;              /* or this share of the one that W has, if that is more */
    bool whole;                 /* W is all points */
    uint64_t most_steps;        /* UINT64_MAX: no limit */
    size_t face_bytes;          /* room that systems may take; 0: none are solved */
    const struct hg_halt *halt; /* of systems, as struct hg_face has it */
};

/* Solves on W, inner.beta and inner.g, by steps of two entries; where these do not get done in time, by systems of all
 * free entries (face.h), or by more steps where there are none. Steps count systems too, as many as w->face.systems
 * tells. */
struct hg_inner_result hg_solve_w(struct hg_w *w, const struct hg_aim *aim);

/* Solves on W; leaves the points that moved in r->w.moved. Where W is all points, g is up to date too. */
void hg_solve_block(struct hg_run *r);

/* Returns what the moves of W have changed in the objective, by g before and after them: not by K_WW, whose rounding
 * may be another one. */
double hg_change_of_objective(const struct hg_run *r);

/* Brings roundings of beta to 0 and to bounds where that moves no F by more than a share of eps. */
void hg_tidy(struct hg_run *r);

/* Says whether more steps are made than any problem is known to take; or more rounds, each of which looks at all points
 * however small the working set that was asked for; or more rows, which a cache of a few makes again and again.
 * columns: kernel values computed for them. */
bool hg_is_work_enough(uint64_t steps, uint64_t rounds, size_t n, double columns);

/* Tells options.progress, which may stop the run. */
void hg_report_progress(struct hg_run *r);

/* ---- run_judge.c ------------------------------------------------------------------------------------------------- */

/* What the rules ask of a run of its own; and those of its verbs that serve a problem among many too. */
extern const struct hg_verbs hg_run_verbs;
hinge_outcome hg_run_halt(const void *run);
double hg_run_work(const void *run);
uint64_t hg_run_patience(const void *run);
bool hg_run_rests(const void *run);
hinge_status hg_run_wake(void *run);
hinge_status hg_run_correct(void *run);

/* Counts a round that made so many steps. */
void hg_count_work(struct hg_run *r, uint64_t steps);
/* Keeps beta where its objective, just recomputed in f64, is certainly the lowest so far. */
void hg_keep(struct hg_run *r);

/* Returns the objective, by beta and g of all points. */
double hg_recompute_objective(struct hg_run *r);

/* ---- run_newton.c ------------------------------------------------------------------------------------------------ */

/* Says whether systems may be solved at all, in W or as the finish: there is room for them, steps are left, and sums
 * are held, which the systems hold too. */
bool hg_may_use_newton(const struct hg_run *r);
/* Says whether Newton's steps are less work than what is left. */
bool hg_run_wants_newton(struct hg_run *r);

/* Makes Newton's steps, for so much work at most (0: no limit but its own); where they gain, g is that of all points in
 * f64, and all are active. */
hinge_status hg_run_newton(struct hg_run *r, double most_work);

/* ---- shrink.c ---------------------------------------------------------------------------------------------------- */

/* Shrinks once the work wasted on points at rest exceeds what their gradient will cost in the end: then the whole costs
 * at most twice what it would with foresight. */
void hg_consider_shrinking(struct hg_run *r);

/* Notes g, of all points, as known, where there is room. */
void hg_note_known(struct hg_run *r);

/* Lets points rest at the start of a problem near another one's solution: those that are far from violating there. */
void hg_rest_far(struct hg_run *r);

/* Computes the gradient of the points at rest, and the violation of all; those that violate become active again. */
hinge_status hg_wake(struct hg_run *r);
/* Computes the gradient of the points at rest, and the violation of all; all points become active. */
hinge_status hg_wake_all(struct hg_run *r);

/* ---- working_set.c ----------------------------------------------------------------------------------------------- */

/* Brings the k worst of n candidates to the front. */
void hg_worst_first(struct hg_candidate *c, size_t n, size_t k);

/* Says whether W is all points of a problem of classes, most of which come to a bound and stay: half of W will do then.
 * That halves the time of small problems at a large C and a tight eps; regression would take up to three times as long
 * (doc/tried.md). A working set that was asked for turns it off. */
static inline bool hg_may_halve_w(const struct hg_run *r)
{
    enum { LEAST = 128 };
    return r->w.n == r->n && r->n > LEAST && r->qp->layers == 1 && r->qp->kink == 0 && r->opt->working_set == 0;
}

/* Chooses W anew: half of it (all of it at first) makes room for the worst violators, up and down, of each layer; near
 * a solution only as many as three times those that were new in the last round and moved, an eighth at least. */
void hg_select_block(struct hg_run *r);

/* Fresh points go into slots that are empty, then into those of the points that have been in W longest, by put(), which
 * fills in their beta, lo and hi. Where most of W is free, points at a bound go first: free ones would be back in the
 * next round. That spares trainings a quarter to a half of their rounds (doc/tried.md). */
void hg_place_fresh(struct hg_w *w, uint64_t round, size_t count, void (*put)(void *arg, size_t slot, size_t f),
                    void *arg);

/* Makes the rows of K_WW of fresh slots, then their columns, by symmetry. */
hinge_status hg_load_block(struct hg_run *r);

/* Fills K_WW by points of a source, those of the first n_left fresh slots (left) and those of all (right). */
hinge_status hg_fill_fresh(struct hg_w *w, struct hg_rows *rows, const uint32_t *left, size_t n_left,
                           const uint32_t *right, const struct hg_halt *halt);

/* ---- gradient.c -------------------------------------------------------------------------------------------------- */

/* Makes g = K beta where it is 0, or takes it as it is given; rows that are made are kept. */
hinge_status hg_first_gradient(struct hg_run *r);

/* Adds the rows of what moved to g: g += K[moved, :]' delta. */
hinge_status hg_update_gradient(struct hg_run *r);

/* Makes g at positions [first, m) = K beta, from scratch, by the source given; backwards: summed in the other order. */
hinge_status hg_compute_gradient(struct hg_run *r, struct hg_rows *source, size_t first, bool backwards);

/* Makes the extremes of F and report->violation, by g of the active points. */
void hg_scan(struct hg_run *r);

/* ---- proof.c ----------------------------------------------------------------------------------------------------- */

/* Looks at the error of few points of the start's gradient, and has all of it in f64 where the violation may be nothing
 * else: a start of large coefficients that is a solution, or near one, would be led away from it. */
hinge_status hg_look_at_start(struct hg_run *r);

/* Makes report->error = max |g - g in f64| over few points. */
hinge_status hg_measure_error(struct hg_run *r);

/* Finds out whether the violation of all points is at most eps in f64: g is made exact where it decides, so that
 * report->violation is that of exact values, and its error elsewhere (report->error) cannot matter. All points are
 * active. */
hinge_status hg_prove(struct hg_run *r, bool *proven);

/* Returns what g may be off by, because of one value, at points that are not exact and have another one near them. */
double hg_near_doubt(const struct hg_run *r);

/* Looks at the error of few points. Where it is no longer small beside the violation, steps lead nowhere: g is
 * corrected, or rows are too coarse (res->coarse). They are so, too, where the violation does not fall and the error is
 * more than will do in the end: where coefficients are large, what rounding makes of a smooth kernel has directions
 * along which the objective of these rows falls without end. */
hinge_status hg_look_at_rows(struct hg_run *r);

/* Makes the gradient of the active points anew, by the source in f64: the error of all rows so far is gone, and what
 * follows adds only the error of small changes. */
hinge_status hg_correct_gradient(struct hg_run *r);

#endif

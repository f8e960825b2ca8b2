/*
 * One two-class problem on all ranks: block SMO by rounds. Each rank holds beta and g = K beta of its own points, and
 * all hold the same working set W. Read mpi_own.h before, and solver/smo/block.c, whose rounds these are.
 *
 *   round.c        a round: violations, selection, W, the inner solve, the update of g
 *   share.c        what ranks tell each other of W
 *   exact.c        sources of kernel rows, and g in f64
 *   mpi_problem.c  what is around the rounds: the start, the verdict, the solution
 *   pairs.c        which problems are not for all ranks, but for one each
 */
#ifndef HM_RUN_H
#define HM_RUN_H

#include "kernels/gram.h"
#include "mpi/mpi_own.h"
#include "solver/smo/cache.h"
#include "solver/smo/run.h"

#include <stdio.h>

enum { HM_STOP = 8, HM_TIME, HM_SAVE, HM_FAILED }; /* places in hm_sum.most behind the extremes */
enum hm_stage { HM_SELECT, HM_EXCHANGE, HM_BLOCK, HM_SOLVE, HM_ROWS, HM_CHECKS, HM_STAGES };

struct hm_part {         /* points of the problem of one group, at positions [at, at + n) */
    size_t begin, n, at; /* begin: among the own points */
    struct hg_gram gram;
    struct hg_hamming hamming; /* of its points and others, where rows in f32 are made of counts */
    void *norms;               /* [n + room of others] */
};

struct hm_tile {          /* of own points: n of them from position at on */
    size_t at, n, number; /* number: among all tiles */
    size_t part;
};

struct hm_extremes {          /* of one layer, over all points */
    double low, high;         /* of F up, of F down */
    uint64_t low_at, high_at; /* their points */
};

struct hm_fresh {               /* a point that goes into W, as it travels; its vector follows */
    double value;               /* F up, or -F down: smaller is worse */
    uint64_t tie, number, kind; /* kind: 2 layer + (1: down) */
    double g, beta[2], lo[2], hi[2], off[2];
};

struct hm_winner { /* one that came */
    struct hm_fresh fresh;
    const char *vector; /* in its message */
    uint32_t sender;    /* the rank that has it */
};

/* This rank's points of the problem, by position: part after part. */
struct hm_points {
    size_t n;
    uint32_t *of; /* [n] own point of each position */
    double *g, *up[2], *down[2];
    double *mended;       /* [n] beta when g was last made in f64, 0 before */
    uint8_t *in_w;        /* [n] */
    struct hm_part *part; /* [n_parts] */
    size_t n_parts;
    struct hm_tile *tile; /* [n_tiles] */
    size_t n_tiles;
};

/* Sums over all points, in the making. */
struct hm_total {
    struct hm_sum sum; /* of a look (hm_look) */
    double *part;      /* [HM_REALS * n_tiles] of sums of tiles; */
    double *room;      /* [own->n_tiles] of all tiles */
};

/* What ranks know of W beside hm_run's w, by slot. */
struct hm_slots {
    uint64_t *number;    /* [q] of the point among all */
    uint32_t *owner;     /* [q] the rank that has the point */
    uint32_t *at;        /* [q] own position; UINT32_MAX: another rank's */
    size_t room;         /* of others' vectors: W, or a tile's */
    hinge_matrix others; /* [room] vectors in `type` */
    double *x;           /* [d] work space for one */
    uint32_t *ids;       /* [2 room] of points in a gram */
    double *coef;        /* [room] */
};

/* Points that are to go into W, on their way. */
struct hm_winners {
    size_t n;                 /* own ones, */
    uint32_t *at, *kind;      /* [4 q] their positions, and why */
    char *message, *messages; /* what this rank tells, and all do */
    size_t room;              /* bytes of each */
    struct hm_winner *all;    /* [4 q] */
};

/* How far the run has come. */
struct hm_course {
    struct hm_extremes now[2], before[2];              /* of F, by layer; in the round before */
    uint64_t exact_at;                                 /* the round after which g was made anew in f64 */
    uint64_t steps_before, rounds_before, rows_before; /* what rows in f32 had taken when those in f64 began */
    double cost, work;                                 /* of a value of a row; of rounds so far, in reads of one */
};

/* What the last round took. */
struct hm_last {
    uint64_t steps;          /* of the inner solve */
    size_t moved, made;      /* points, and rows computed for them */
    size_t bytes;            /* gathered by all ranks together */
    double spent[HM_STAGES]; /* seconds */
    double at;               /* on hg_now's clock */
};

struct hm_run {
    const struct hm_net *net;
    const struct hm_own *own;
    const hinge_params *params;
    const struct hg_loops *loops;
    size_t problem, n_all; /* number of the problem, its points on all ranks */
    hinge_dtype type;      /* of kernel rows */
    bool mixed;            /* processors differ: rank 0 solves */
    int threads;
    size_t memory;       /* for rows of all ranks together */
    struct hg_qp qp;     /* by position */
    double sums[2];      /* that the layers are held to */
    double bias[2];      /* of the solution */
    hinge_report report; /* of the problem; its error is that of g as it was last measured */
    struct hm_points points;
    struct hm_total total;
    struct hg_w w; /* the same on all ranks; of its arrays row is [2 room], and points stand in slots */
    struct hm_slots slots;
    struct hm_winners winners;
    struct hg_cache cache; /* of rows, by the points' numbers among all: own columns */
    struct hm_course course;
    struct hg_course judged; /* by the rules of all runs */
    hinge_error *err;        /* of hm_solve */
    struct hm_last last;
};

/* round.c */
hinge_status hm_look(struct hm_run *run, hinge_status status); /* violations of all; their failures, stops */
hinge_status hm_round(struct hm_run *run);
void hm_set_offsets(struct hm_run *run, size_t at);
/* Says whether the problem has points of a group. */
bool hm_has_group(const struct hm_run *run, size_t group);
/* Says whether it is a point of the problem's first class. */
static inline bool hm_is_first(const struct hm_run *run, size_t at)
{
    return at < run->points.part[0].n;
}
/* How much an entry violates in one direction (kind), by the other end as it was in the last round; F: the worse the
 * smaller. */
double hm_violation_of(const struct hm_run *run, size_t at, size_t kind, double *f);
/* Returns what settles which of equal violators goes first. */
uint64_t hm_tie_of(const struct hm_run *run, uint64_t number);
/* Counts what passed since the last call as spent on this. */
static inline void hm_lap(struct hm_run *run, enum hm_stage stage)
{
    double now = hg_now();
    run->last.spent[stage] += now - run->last.at;
    run->last.at = now;
}

/* Gathers (share.c) the winners of all ranks into winners.all, with their vectors and senders, and g of W into inner.g.
 * expected: about how many winners there are. */
hinge_status hm_share_winners(struct hm_run *run, double expected, size_t *count);

/* exact.c */
/* Makes zeroed vectors of so many other points; `data` is to be freed. */
hinge_status hm_make_vectors(const struct hm_run *run, size_t rows, hinge_dtype type, hinge_matrix *others,
                             hinge_error *err);
/* Sources of rows over each part's points and `others`, whose vectors come from all ranks. */
hinge_status hm_make_grams(const struct hm_run *run, struct hm_part *parts, hinge_dtype type,
                           const hinge_matrix *others, hinge_error *err);
/* Counts their kernel values as the run's. */
void hm_free_grams(struct hm_run *run, struct hm_part *part);
/* Other point k's norm, once its vector is there. */
void hm_set_norm(struct hm_part *part, hinge_dtype type, size_t k);
/* Makes g = K beta: points with coefficients travel tile by tile, in the order of all. */
hinge_status hm_compute_gradient(struct hm_run *run, hinge_error *err);
/* Makes run->report.error the largest |g - g in f64| over some hundred points, drawn from all and from those between
 * the extremes of F, whose vectors travel; or what one value may be off by at a point whose F it may take outside. */
hinge_status hm_measure_error(struct hm_run *run, hinge_error *err);
/* Reads of a value's worth that computing one takes, as rows of a type are made. */
double hm_cost(const struct hm_run *run, hinge_dtype type);
/* Refuses a maker that is asked for and cannot make the run's rows, on all ranks alike. */
hinge_status hm_check_maker(const struct hm_run *run, hinge_error *err);

/* Solves (problem.c) one problem from its start to its end; beta, bias and g stay in the run for whoever asks. */
/* Columns of a line, then the seconds of each stage. */
#define HM_ROUNDS \
    "problem n d value_bytes q ranks threads round fresh moved computed steps gathered " \
    "select exchange block solve rows checks\n"
struct hm_watch {
    double begin;         /* of the training, on hg_now's clock */
    struct hm_save *save; /* checkpoints (save.h), `every` so many seconds; or NULL */
    double every, saved;
    bool restored; /* a problem went on from a checkpoint */
    FILE *rounds;  /* where rank 0 writes a line a round; or NULL */
};
hinge_status hm_solve(struct hm_run *run, const struct hm_net *net, const struct hm_own *own, size_t problem,
                      struct hm_watch *watch, hinge_error *err);
/* Returns how many kernel values this rank made for it. */
uint64_t hm_run_free(struct hm_run *run);

/* What came out of a problem, but for its coefficients. */
struct hm_solved {
    double rho, nu; /* nu: the closest that has a margin, which it took instead of the one asked for; or 0 */
    hinge_report report;
    hinge_certificate certificate;
    size_t q;
    uint64_t values; /* kernel values that this rank made */
    char maker[32];  /* of kernel rows, as reports name it */
    bool by_one;     /* one rank alone solved it, */
    bool restored;   /* from a checkpoint */
};

/* Has (pairs.c) problems of two of several classes solved by one rank each, where what that takes fits there: all ranks
 * together come to the same bits. By a rank that has all points of a problem, `solve` is called for it and sets its
 * place of `solved` and the coefficients coef [alone->n]; by the ranks that have the points, `put` for each of them.
 * What other ranks solved has no kernel values of this rank's, and none of its time. All fail alike. */
struct hm_pairs {
    hinge_status (*solve)(void *arg, const struct hm_net *net, const struct hm_own *alone, size_t problem, double *coef,
                          hinge_error *err);
    void (*put)(void *arg, size_t problem, size_t point, bool first, double coef); /* first: of its first class */
    void *arg;
    struct hm_solved *solved; /* [n_problems] */
};
hinge_status hm_solve_pairs(const struct hm_net *net, struct hm_own *own, const struct hm_pairs *pairs,
                            hinge_error *err);

/* Tell (certify.c) what the solution of a run is worth, whose g becomes that of f64; and of two problems together. */
hinge_status hm_certify(struct hm_run *run, hinge_certificate *certificate, hinge_error *err);
void hm_add_certificate(hinge_certificate *sum, const hinge_certificate *part);
/* Says whether a solution of nu-SVC proves a margin (lib/train/margin.c), and r has so many digits. */
hinge_status hm_look_at_margin(struct hm_run *run, double digits, bool *has_margin, hinge_error *err);
/* Puts (margin.c) the solution of the closest nu that has a margin in the place of one that has none, whose outcome is
 * NO_MARGIN then; *nu 0: no nu has one, and the solution is what it was. */
hinge_status hm_closest_nu(struct hm_run *run, struct hm_own *own, struct hm_watch *watch, double *nu,
                           hinge_error *err);

/* The sums over all points of m quantities, that `part` forms of own positions [at, at + n). */
typedef void hm_part_fn(const struct hm_run *run, size_t at, size_t n, double *part);
void hm_sum_tiles(const struct hm_run *run, hm_part_fn *part, size_t m, double *sums);

#endif

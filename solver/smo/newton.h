/*
 * The Newton finish: from a beta most of whose entries are at their bounds, or inside, where the optimum has them, to a
 * violation as small as f64 gives. SMO moves a pair of entries at a time; one linear system moves all that are inside.
 * Read face.h before, whose systems these are, and "The Newton finish" in doc/solver.md.
 *
 * At tight tolerances the finish takes less time than SMO, and comes to a smaller violation (doc/tried.md). A budget of
 * 0 bytes (hg_smo_options.newton_bytes, --newton 0) leaves it out.
 */
#ifndef HG_NEWTON_H
#define HG_NEWTON_H

#include "lib/rows/rows.h"
#include "solver/qp.h"

struct hg_newton_options {
    double eps;
    size_t bytes;       /* that a block and its factor may take */
    uint64_t max_steps; /* linear systems and two-variable steps; 0: no limit */
    double most_work;   /* as hg_newton_result.work; 0: what a finish that succeeds is known to take */
    int threads, cpu_level;
    struct hg_halt halt;                           /* its stop is not NULL */
    void (*progress)(void *arg, double violation); /* after every step, or NULL; violation: of the block */
    void *progress_arg;
    uint64_t *told; /* counts linear systems as they are solved; or NULL */
};

enum hg_newton_end {
    HG_NEWTON_DONE,    /* the violation is at most eps */
    HG_NEWTON_SLOW,    /* steps no longer gain */
    HG_NEWTON_NO_ROOM, /* the free entries' block takes more than options.bytes, or there is no such memory */
    HG_NEWTON_ENDED    /* by *stop */
};

struct hg_newton_result {
    enum hg_newton_end end;
    bool gained;      /* qp->beta has changed, and gradient is K beta */
    double violation; /* of all points, where something was gained */
    uint64_t systems; /* linear systems solved */
    double work;      /* all of it, in reads of an f32 value from memory (0.3 ns) */
    uint64_t steps;   /* two-variable steps in between */
    size_t bytes;     /* of the largest block; NO_ROOM: those it would take */
};

/* Goes on from qp->beta, which must be feasible and stays so; it changes only for the better, however the run ends.
 * rows: f64. gradient: [n], the caller's, filled where result->gained. The bits do not depend on the number of threads.
 */
hinge_status hg_newton_finish(struct hg_qp *qp, struct hg_rows *rows, double *gradient,
                              const struct hg_newton_options *options, struct hg_newton_result *result);

/* When to turn to the finish from SMO: the violation is below the share BELOW of the range of F, and SMO has more work
 * left than the finish takes: twice as much where eps is TIGHT or larger, and ten times as much again where the
 * violation is above the share NEAR. What SMO has left is estimated by the work that it has lately taken to bring the
 * violation down by a factor e. Work is counted, never timed. A finish that takes up to twenty times what SMO has left
 * would make trainings a third longer (doc/tried.md). */
#define HG_NEWTON_BELOW 0.1
#define HG_NEWTON_NEAR 0.01
#define HG_NEWTON_TIGHT 1e-5
#define HG_NEWTON_TRIES 3

/* What is known of SMO's progress, by which the finish is begun: all 0 at first, least infinite. The caller adds to
 * work; hg_newton_is_due and hg_newton_tell write the rest. */
struct hg_newton_rule {
    double work;            /* SMO's so far, in reads of an f32 value */
    double least;           /* violation */
    double mark, mark_work; /* the violation where `rate` was last taken, and the work then */
    double rate;            /* work that brought the violation down by a factor e */
    double below;           /* 0, or the violation from which it may be tried again */
    double most_work;       /* that the finish may take, where it is due */
    int tries;
};

/* Says, after a round of SMO, whether to turn to the finish now. rows: the finish's. range: of F. */
bool hg_newton_is_due(struct hg_newton_rule *rule, const struct hg_qp *qp, const struct hg_rows *rows, double violation,
                      double range, double eps);
/* Returns the work that a finish may take where SMO gains nothing any more. */
double hg_newton_granted(const struct hg_newton_rule *rule, const struct hg_qp *qp, const struct hg_rows *rows);
/* Tells the rule how a finish has ended, by which it knows when to try again. */
void hg_newton_tell(struct hg_newton_rule *rule, const struct hg_newton_result *result);

#endif

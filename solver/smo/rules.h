/*
 * How runs of SMO are judged: a run of its own (run_judge.c), a problem among many (lane.c) and a run over ranks
 * (mpi/mpi_problem.c). judge.c has the rules, which all of them have in common; what a rule asks of a run, and has it
 * do, are verbs that each kind of run brings. A verb that is NULL is one that this kind lacks: its rule never applies.
 *
 * The numbers of the rules stand here alone; test/layering.py refuses a second definition.
 */
#ifndef HG_RULES_H
#define HG_RULES_H

#include "lib/base/base.h"

enum {
    HG_LOOK = 32,          /* rounds from one look at the error of rows that are not exact to the next */
    HG_STALL_ROUNDS = 200, /* rounds without progress after which a run has stalled; it has after fewer, */
    HG_STALL_WHOLE = 20,   /* where each of them is a run over all points, */
    HG_STALL_LOOKS = 40,   /* or where they took the work of so many looks back */
    HG_CHECKS = 8,         /* checks that find the violation larger than it seemed; then the gradient is made anew */
    HG_MAX_CORRECTIONS = 2 /* of the gradient in f64 before the rows themselves are taken in f64 */
};

/* A violation counts as less than another one below this share of it: rounds that lead to and fro differ by less. */
#define HG_BETTER 0.999
/* The violation in f64 may be so many times eps where rounding is what keeps it above eps. */
#define HG_SLACK 1.05
/* Where g is off by an error, a violation, which is a difference of two entries, is off by twice the error; and a tenth
 * of that is allowed for on top. */
#define HG_ERROR_SHARE 2.2
/* A goal below this share of eps costs more than a new gradient. */
#define HG_LEAST_TARGET 0.25
/* Objectives differ for certain where they do by so many times their noise, which itself is an estimate. */
#define HG_CERTAIN 32.0
/* The noise of an objective, a share of it, where it was not measured. */
#define HG_USUAL_NOISE (1e-9 / HG_CERTAIN)

/* Returns how many rounds may pass without progress, which have taken so much work. whole: W is all active points, so
 * that a round is a whole run. look: the work of a look back; where each round takes as long, as those do that solve
 * systems again and again, few rounds are many. */
static inline uint64_t hg_patience(bool whole, size_t n, size_t q, double work, double look)
{
    return whole || work > HG_STALL_LOOKS * look ? (uint64_t)HG_STALL_WHOLE : HG_STALL_ROUNDS + n / q;
}

enum hg_phase {
    HG_FAR,  /* what the rows' error will do in the end has not been looked at */
    HG_NEAR, /* it has been, or a violation was small enough once */
    HG_ENDED /* report->outcome says how */
};

/* What follows a rule that has acted. */
enum hg_next {
    HG_GO_ON, /* another round, unless the run has ended */
    HG_ANEW,  /* all rules again, as the violation is another one */
    HG_NEXT   /* the rules below it */
};

/* What a kind of run can be asked, and told to do. run: the course's. */
struct hg_verbs {
    hinge_outcome (*halt)(const void *run);         /* CONVERGED: it goes on; otherwise what has halted it */
    bool (*has_worked_enough)(const void *run);     /* more steps, rounds or rows than any run is known to take */
    double (*work)(const void *run);                /* so far, in reads of a value */
    uint64_t (*patience)(const void *run);          /* rounds without progress after which a look back is worth it */
    bool (*leaves)(void *run);                      /* another solver is to go on */
    bool (*may_err)(const void *run);               /* rows are not exact, and their errors add up in g */
    hinge_status (*look_at_rows)(void *run);        /* sets course.coarse where rows are too coarse to go on */
    hinge_status (*look_ahead)(void *run);          /* the run comes near its goal for the first time */
    bool (*rests)(const void *run);                 /* g of some points is not known */
    hinge_status (*wake)(void *run);                /* makes it known */
    bool (*is_known)(const void *run);              /* a small violation is small in f64: nothing needs to be proven */
    hinge_status (*prove)(void *run, bool *proven); /* sets report->error; course.is_off: g is to be made anew */
    hinge_status (*correct)(void *run);             /* makes g anew in f64, and counts report->corrections */
    bool (*is_shown)(const void *run);              /* the caller is to look at the run now; */
    hinge_status (*show)(void *run, bool *goes_on); /* *goes_on: as the caller says */
    hinge_status (*recompute)(void *run);           /* makes g, course.objective and course.noise anew */
    hinge_status (*resort)(void *run, bool *tried); /* the last resort where nothing is gained; *tried: there was one */
};

/* How far a run has come, by what it is judged. The run keeps report and objective up to date. */
struct hg_course {
    const struct hg_verbs *verbs;
    void *run;
    hinge_report *report; /* of the run */
    double eps;
    uint64_t max_iter;    /* 0: none */
    int most_corrections; /* of report->corrections */
    enum hg_phase phase;
    enum hg_next next;
    double target;         /* violation to be reached: eps, or less where the error of F takes a share of 2 eps */
    double objective;      /* running: by what each round's moves changed, or recomputed */
    double noise;          /* of the objective when it was last recomputed */
    double best;           /* least violation so far, for the stall test, */
    uint64_t best_round;   /* the round it was seen in, */
    double best_work;      /* and the work by then; */
    double last_objective; /* the objective then, or when it was last recomputed: what rounds add up drifts with g */
    int checks;            /* that found g wrong where it decides */
    bool is_off;           /* g of points that decide nothing here is off by more than the caller can use */
    bool resorted;         /* to the last resort, as nothing else gained */
    bool coarse;           /* the rows, or so it seems, keep the run from its goal */
};

/* Begins anew at eps, with the verbs, run and report that are set; rounds count from the report's. */
void hg_course_begin(struct hg_course *course, double eps, uint64_t max_iter);

/* Acts by what the last round's violation means; phase is HG_ENDED where that is the end. *checks (nullable) gains the
 * seconds of checks. */
hinge_status hg_judge(struct hg_course *course, double *checks);

/* Says whether as many steps were made as max_iter gave. */
static inline bool hg_is_out_of_steps(const struct hg_course *course)
{
    return course->max_iter > 0 && course->report->iterations >= course->max_iter;
}

/* Says whether the run ends whatever it has gained, and sets the outcome: it is halted, or its violation is no
 * number. */
bool hg_is_broken_off(struct hg_course *course);

#endif

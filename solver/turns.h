/*
 * Turns of two solvers at one problem: SMO, and the interior point. One goes on for the other where that has stalled,
 * or has taken more than the other would; the better point stays. A training and the folds of a grid have this in
 * common; how a solver runs, and on which factor of the kernel, is theirs. Read qp.h before.
 */
#ifndef HG_TURNS_H
#define HG_TURNS_H

#include "solver/qp.h"

enum hg_solver { HG_SMO, HG_INSIDE };

/* Holds where a problem stands between turns, and how its solvers run. The caller sets all of it before the first
 * turn. */
struct hg_turns {
    struct hg_qp *qp;     /* beta: the best point known */
    double *kept;         /* [n * layers] room for the one before a turn */
    hinge_outcome outcome; /* of beta, */
    double objective;     /* and these */
    uint64_t most_steps;  /* of SMO's turn; 0: no limit */
    /* Runs a solver, SMO from qp->beta, and sets outcome and objective to what came out. HINGE_ENOMEM: it had no room,
     * and err says nothing of it. */
    hinge_status (*run)(struct hg_turns *t, enum hg_solver who);
    /* Called before a turn to keep what else the caller knows of beta; then to take what has come out, or what was
     * kept. Work counts in both. */
    void (*keep)(struct hg_turns *t);
    void (*settle)(struct hg_turns *t, enum hg_solver who, bool taken);
    void *arg;
};

/* Lets a solver take its turn. What comes out is taken where it has converged, or else where its objective is less, or
 * a number where that was none; otherwise all is as it was. The outcome is what the turn says where it has converged or
 * was ended by the caller, or where what was there was no number; otherwise it stays. */
hinge_status hg_turns_take(struct hg_turns *t, enum hg_solver who);

/* Lets the interior point go on for SMO. Where that does not end at eps, SMO goes on from the better of both, if that
 * is not where it stalled. may_inside: there is room for its factor. */
hinge_status hg_turns_go_on(struct hg_turns *t, bool may_inside);

#endif

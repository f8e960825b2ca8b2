/*
 * The numbers by which runs of SMO are judged: a run of its own, a problem among many (lane.c) and a run over ranks.
 * None of them stands anywhere else; test/layering.py refuses a second definition.
 */
#ifndef HG_RULES_H
#define HG_RULES_H

enum {
    HG_LOOK = 32,           /* rounds, after which the error of rows that are not exact is looked at */
    HG_STALL_ROUNDS = 200,  /* without progress; */
    HG_STALL_WHOLE = 20,    /* where each is a run over all points */
    HG_CHECKS = 8,          /* that find the violation larger than it seemed, before the gradient is made anew */
    HG_MAX_CORRECTIONS = 2  /* of the gradient in f64 before the rows themselves are taken in f64 */
};

/* A violation is less than another one, and not by rounds that lead to and fro, below this share of it. */
#define HG_BETTER 0.999
/* An objective falls by this share of itself at least, where its noise was not measured. */
#define HG_LEAST_FALL 1e-9
/* The violation in f64 may be so many eps where rounding is what keeps it from 1. */
#define HG_SLACK 1.05
/* Where g is off by an error, a violation is known but for twice the error, and a tenth of that. */
#define HG_ERROR_SHARE 2.2
/* A goal below this share of eps costs more than a new gradient. */
#define HG_LEAST_TARGET 0.25
/* Takes a difference of objectives of so many times their noise for more than noise: the noise itself is an
 * estimate. */
#define HG_CERTAIN 32.0

#endif

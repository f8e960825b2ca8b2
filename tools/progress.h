/*
 * How far a long run is, on standard error, and what ends it early: Ctrl-C, or a limit of time.
 */
#ifndef HINGE_TOOLS_PROGRESS_H
#define HINGE_TOOLS_PROGRESS_H

#include "common.h"

/* Catches Ctrl-C once only: a second Ctrl-C meets the default action. A shell's background job, which starts with the
 * signal ignored, can be interrupted too. */
void catch_interrupt(int on);
int was_interrupted(void);

struct display {
    int width;       /* columns of the terminal, 0: plain lines */
    double interval; /* seconds between two lines, 0: no progress at all */
    int shown;       /* there is a line to be wiped */
    size_t folds;    /* folds of a cross-validation, or 0 */
    double eps;      /* violation at which SMO stops */
    double time;     /* time of the last line, seconds */
    uint64_t rows;   /* kernel rows at the last line */
    size_t problem;  /* problem of the last line */
    double limit;    /* seconds after which the callback ends the run, as the library does not; 0: none */
    hinge_outcome outcome; /* STOPPED, TIME_LIMIT: the callback ended it */
};

/* Shows a line now and then; a hinge_params.progress, whose argument is a struct display. */
int display_progress(void *arg, const hinge_progress *p);
void display_wipe(const struct display *d);

#endif

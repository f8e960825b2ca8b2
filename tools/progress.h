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

/* Tells whether standard error is a terminal whose line of progress is missing, or a tenth of a second old. */
int line_is_due(double seconds);
/* Shows a line of progress, at that time, in place of the last one, where standard error is a terminal; wipes it. */
void show_line(double seconds, const char *format, ...) PRINTF_LIKE(2, 3);
void wipe_line(void);

struct display {
    int terminal;          /* its line is shown anew, otherwise there are plain lines */
    double interval;       /* seconds between two lines, 0: no progress at all */
    size_t folds;          /* folds of a cross-validation, or 0 */
    double eps;            /* violation at which SMO stops */
    double time;           /* time of the last line, seconds */
    size_t rounds;         /* that are done */
    double limit;          /* seconds after which the callback ends the run, as the library does not; 0: none */
    hinge_outcome outcome; /* STOPPED, TIME_LIMIT: the callback ended it */
};

/* Shows a line now and then; a hinge_params.progress, whose argument is a struct display. */
int display_progress(void *arg, const hinge_progress *p);

#endif

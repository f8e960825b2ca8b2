/* How far a long run is: see progress.h. */
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>

#include "progress.h"

static volatile sig_atomic_t interrupted;

int was_interrupted(void)
{
    return interrupted;
}

static void on_interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

void catch_interrupt(int on)
{
    if (on)
        interrupted = 0;
    on_interruption(on ? on_interrupt : NULL);
}

static double line_time = -1; /* of the line that is shown; negative: there is none */

int line_is_due(double seconds)
{
    return terminal_width() && (line_time < 0 || seconds - line_time >= 0.1);
}

void show_line(double seconds, const char *format, ...)
{
    char line[256];
    va_list values;
    va_start(values, format);
    vsnprintf(line, sizeof line, format, values);
    va_end(values);
    if (terminal_width())
        fprintf(stderr, "\r%.*s\033[K", terminal_width() - 1, line);
    line_time = seconds;
}

void wipe_line(void)
{
    if (line_time >= 0 && terminal_width())
        fputs("\r\033[K", stderr);
    line_time = -1;
}

/* Shows figures of which one moves in each phase, in 80 columns. */
static void show_progress(struct display *d, const hinge_progress *p)
{
    int interior = p->rounds > 0 && p->rounds == p->iterations && p->rows_computed == 0;
    const char *phase = p->newton ? "Newton: " : "";
    char part[64] = "", line[256];
    if (p->n_problems > 1)
        snprintf(part, sizeof part, "%s %zu/%zu  ", p->n_problems == d->folds ? "fold" : "problem", p->problem + 1,
                 p->n_problems);
    if (isnan(p->violation)) /* perceptron, sgd */
        snprintf(line, sizeof line, "%zu epochs  %.1f s", p->rounds, p->seconds);
    else
        snprintf(line, sizeof line, "%.1f s  %s%s%s %.1e, stops at %.1e  %" PRIu64 " %s  %zu SVs", p->seconds, part,
                 phase, interior ? "relative gap" : "violation", p->violation, interior ? fmin(d->eps, 1e-6) : d->eps,
                 p->newton ? p->newton_steps : p->iterations, interior || p->newton ? "systems" : "steps", p->n_sv);
    if (d->terminal)
        show_line(p->seconds, "%s", line);
    else
        fprintf(stderr, "%s\n", line);
    d->time = p->seconds;
}

int display_progress(void *arg, const hinge_progress *p)
{
    struct display *d = arg;
    d->rounds = p->rounds;
    if (d->interval > 0 && p->seconds - d->time >= d->interval)
        show_progress(d, p);
    if (interrupted || (d->limit > 0 && p->seconds >= d->limit))
        d->outcome = interrupted ? HINGE_STOPPED : HINGE_TIME_LIMIT;
    return d->outcome != HINGE_CONVERGED;
}

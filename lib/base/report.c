/*
 * Reports of runs that belong together: two-class problems of a training, trainings of a cross-validation. Work adds
 * up; memory is the most that any of them held; what came out is the worse of the two (base.h). A new count in
 * hinge_report is one line here, in hg_add_work or hg_add_report.
 */
#include "lib/base/base.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Adds structures that hold nothing but doubles, member by member. */
static void add_doubles(double *sum, const double *part, size_t bytes)
{
    for (size_t k = 0; k < bytes / sizeof *sum; k++)
        sum[k] += part[k];
}

void hg_add_stages(hinge_stages *sum, const hinge_stages *part) /* which are doubles alone */
{
    add_doubles((double *)sum, (const double *)part, sizeof *sum);
}

/* Divides seconds alone: bytes and operations are no one thread's. */
void hg_share_stages(hinge_stages *s, int threads)
{
    double *const seconds[] = { &s->gather, &s->products, &s->map, &s->update, &s->read };
    for (size_t k = 0; k < sizeof seconds / sizeof *seconds; k++)
        *seconds[k] /= threads;
}

/* Adds counts and seconds; bytes, which runs hold one after the other, are those of the run that held most. */
void hg_add_work(hinge_report *sum, const hinge_report *part)
{
    sum->iterations += part->iterations;
    sum->rounds += part->rounds;
    sum->newton_steps += part->newton_steps;
    sum->rows_asked += part->rows_asked;
    sum->rows_computed += part->rows_computed;
    sum->rows_evicted += part->rows_evicted;
    sum->bytes_read += part->bytes_read;
    sum->kernel_values += part->kernel_values;
    sum->corrections += part->corrections;
    add_doubles((double *)&sum->phase, (const double *)&part->phase, sizeof sum->phase);
    hg_add_stages(&sum->stages, &part->stages);
    sum->gflop += part->gflop;
    sum->newton_no_room = HG_MAX(sum->newton_no_room, part->newton_no_room);
    sum->cache_used = HG_MAX(sum->cache_used, part->cache_used);
    sum->memory_bytes = HG_MAX(sum->memory_bytes, part->memory_bytes);
}

/* Adds objectives as those of one problem whose parts are apart; HINGE_PRECISION_F64 is the larger of precisions. */
void hg_add_report(hinge_report *sum, const hinge_report *part)
{
    hg_add_work(sum, part);
    sum->outcome = hg_worse_outcome(sum->outcome, part->outcome);
    sum->n_classes = HG_MAX(sum->n_classes, part->n_classes);
    sum->n_problems += part->n_problems;
    sum->n_sv += part->n_sv;
    sum->n_bsv += part->n_bsv;
    sum->objective += part->objective;
    sum->violation = hg_larger(sum->violation, part->violation);
    sum->error = hg_larger(sum->error, part->error);
    sum->gap = fmax(sum->gap, part->gap); /* NaN: a run by SMO, which measures none */
    sum->rank = HG_MAX(sum->rank, part->rank);
    sum->trace_error = hg_larger(sum->trace_error, part->trace_error);
    sum->cache_bytes = HG_MAX(sum->cache_bytes, part->cache_bytes);
    sum->precision = HG_MAX(sum->precision, part->precision);
}

/* Cuts what does not fit, as vsnprintf does, and stays terminated. */
void hg_tell_path(hinge_report *r, const char *format, ...)
{
    size_t used = strlen(r->path);
    va_list args;
    va_start(args, format);
    vsnprintf(r->path + used, sizeof r->path - used, format, args);
    va_end(args);
}

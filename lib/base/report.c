/*
 * Reports of runs that belong together: two-class problems of a training, trainings of a cross-validation.
 */
#include "lib/base/base.h"

#include <math.h>

void hg_add_stages(hinge_stages *sum, const hinge_stages *part)
{
    sum->gather += part->gather;
    sum->products += part->products;
    sum->map += part->map;
    sum->update += part->update;
    sum->pack += part->pack;
    sum->read += part->read;
    sum->gbytes += part->gbytes;
    sum->gflop += part->gflop;
}

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
    sum->phase.rows += part->phase.rows;
    sum->phase.select += part->phase.select;
    sum->phase.block += part->phase.block;
    sum->phase.subproblem += part->phase.subproblem;
    sum->phase.newton += part->phase.newton;
    sum->phase.certificate += part->phase.certificate;
    hg_add_stages(&sum->stages, &part->stages);
    sum->gflop += part->gflop;
}

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
    sum->newton_no_room = HG_MAX(sum->newton_no_room, part->newton_no_room);
    sum->cache_bytes = HG_MAX(sum->cache_bytes, part->cache_bytes);
    sum->cache_used = HG_MAX(sum->cache_used, part->cache_used);
    sum->memory_bytes = HG_MAX(sum->memory_bytes, part->memory_bytes);
    sum->precision = HG_MAX(sum->precision, part->precision);
}

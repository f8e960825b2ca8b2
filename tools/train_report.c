/*
 * What hinge train tells of a training: as JSON, as text, and where the time went.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/resource.h>

#include "progress.h"
#include "train.h"

static uint64_t peak_bytes(void)
{
    struct rusage used;

    return getrusage(RUSAGE_SELF, &used) ? 0 : (uint64_t)used.ru_maxrss * 1024;
}

static void json_report(struct json *j, const hinge_report *r)
{
    json_text(j, "outcome", hinge_outcome_text(r->outcome));
    json_real(j, "seconds", r->seconds);
    json_count(j, "iterations", r->iterations);
    json_count(j, "rounds", r->rounds);
    json_real(j, "objective", r->objective);
    json_real(j, "violation", r->violation);
    json_real(j, "error", r->error);
    json_real(j, "gap_relative", r->gap);
    json_count(j, "rank", r->rank);
    json_real(j, "trace_error", r->trace_error);
    json_count(j, "n", r->n);
    json_count(j, "n_distinct", r->distinct);
    json_count(j, "d", r->d);
    json_count(j, "n_classes", r->n_classes);
    json_count(j, "n_problems", r->n_problems);
    json_count(j, "n_sv", r->n_sv);
    json_count(j, "n_bsv", r->n_bsv);
    json_count(j, "newton_steps", r->newton_steps);
    json_count(j, "newton_no_room", r->newton_no_room);
    json_count(j, "rows_asked", r->rows_asked);
    json_count(j, "rows_computed", r->rows_computed);
    json_count(j, "rows_evicted", r->rows_evicted);
    json_count(j, "bytes_read", r->bytes_read);
    json_count(j, "kernel_values", r->kernel_values);
    json_count(j, "cache_bytes", r->cache_bytes);
    json_count(j, "cache_used", r->cache_used);
    json_count(j, "memory_bytes", r->memory_bytes);
    json_count(j, "peak_bytes", peak_bytes());
    json_count(j, "threads", (uint64_t)r->threads);
    json_text(j, "precision", choice_name(choice_precision, (int)r->precision));
    json_count(j, "corrections", (uint64_t)r->corrections);
    json_real(j, "seconds_rows", r->phase.rows);
    json_real(j, "seconds_select", r->phase.select);
    json_real(j, "seconds_block", r->phase.block);
    json_real(j, "seconds_subproblem", r->phase.subproblem);
    json_real(j, "seconds_newton", r->phase.newton);
    json_real(j, "seconds_check", r->phase.certificate);
    json_real(j, "gflop", r->gflop);
    json_text(j, "path", r->path);
    json_text(j, "blas", r->blas);
    json_bool(j, "blas_slow", r->blas_slow);
}

/* Tells whether problems were solved side by side: phases are then sums over threads, beyond the clock's seconds. */
static int ran_side_by_side(const hinge_report *r)
{
    return strstr(r->path, "side by side") != NULL;
}

/* Returns the seconds outside the phases: checking, ordering and copying data, the model. NaN: not known. */
static double seconds_other(const hinge_report *r)
{
    if (ran_side_by_side(r))
        return NAN;
    return r->seconds - r->phase.rows - r->phase.select - r->phase.block - r->phase.subproblem - r->phase.newton -
           r->phase.certificate;
}

/* Returns the seconds in which kernel values are computed, among other things. */
static double seconds_kernel(const hinge_report *r)
{
    return r->phase.rows + r->phase.block + r->phase.newton + r->phase.certificate;
}

/* Returns the rows asked for that were found in the cache, as whole rows. */
static uint64_t rows_found(const hinge_report *r)
{
    return r->cache_used > 0 && r->rows_asked > r->rows_computed ? r->rows_asked - r->rows_computed : 0;
}

struct stage { /* of the phase "rows" */
    const char *name;
    double seconds;
    char what[96];
};

enum { STAGES = 7 };

static void stages_of(const hinge_report *r, struct stage *stages)
{
    const hinge_stages *s = &r->stages;
    double spent = s->gather + s->products + s->map + s->update + s->pack + s->read;
    const struct stage all[STAGES] = {
        { "gather", s->gather, "bringing examples into the layout of blocks" },
        { "products", s->products, "" },
        { "map", s->map, "turning dot products into kernel values" },
        { "update", s->update, "updating the gradient by rows just computed" },
        { "pack", s->pack, "packing rows into the cache's 16 bits" },
        { "read", s->read, "" },
        { "rest", r->phase.rows - spent, "waiting for each other, and the lists of what is cached" },
    };

    memcpy(stages, all, sizeof all);
    if (strstr(r->path, ", counts") != NULL)
        snprintf(stages[1].what, sizeof stages[1].what, "features in which examples differ, counted");
    else
        snprintf(stages[1].what, sizeof stages[1].what, "dot products%s, %.4g GFLOP/s",
                 strstr(r->path, ", lists") ? " and map, by lists" : "",
                 s->products > 0 ? s->gflop / s->products : 0.0);
    snprintf(stages[5].what, sizeof stages[5].what, "cached rows into the gradient, %.4g MB at %.4g GB/s",
             1e3 * s->gbytes, s->read > 0 ? s->gbytes / s->read : 0.0);
}

static void json_profile(struct json *j, const struct train_run *run)
{
    const hinge_report *r = &run->report;
    struct stage stages[STAGES];

    json_open(j, "profile", '{');
    stages_of(r, stages);
    json_open(j, "stages", '{');
    for (int k = 0; k < STAGES; k++)
        json_real(j, stages[k].name, stages[k].seconds);
    json_close(j, '}');
    json_real(j, "gflop_rows", r->stages.gflop);
    json_real(j, "gbytes_rows_read", r->stages.gbytes);
    json_real(j, "seconds_system", run->seconds_system);
    json_count(j, "page_faults", run->page_faults);
    json_real(j, "seconds_other", seconds_other(r));
    json_real(j, "seconds_floor", run->seconds_floor);
    json_count(j, "rows_floor", run->rows_floor);
    json_count(j, "rows_found", rows_found(r));
    json_real(j, "values_per_second", (double)r->kernel_values / seconds_kernel(r));
    json_real(j, "gflop_per_second", r->gflop / seconds_kernel(r));
    json_close(j, '}');
}

static const char *online_name(const struct online *o)
{
    return o->solver == SOLVER_SGD ? "sgd" : "perceptron";
}

static void json_online(struct json *j, const struct train_run *run, const struct online *o)
{
    json_text(j, "solver", online_name(o));
    json_real(j, "seconds", o->seconds);
    json_count(j, "epochs", o->epochs);
    json_count(j, "errors", o->errors);
    json_real(j, "objective", o->objective);
    json_count(j, "n", run->data.x.rows);
    json_count(j, "d", run->data.x.cols);
}

static void print_online(const struct train_run *run, const struct online *o)
{
    printf("%-16s %s, %zu epochs\n", "solver", online_name(o), o->epochs);
    printf("%-16s %zu of %zu examples\n", "errors", o->errors, run->data.x.rows);
    printf("%-16s %.10g, 1/2 |w|^2 + C sum of slacks\n", "objective", o->objective);
    printf("%-16s %.3f s (loading %.3f s, saving %.3f s)\n", "time", o->seconds, run->seconds_load,
           run->seconds_save);
}

static void json_task(struct json *j, const struct train_settings *s, const struct train_run *run)
{
    const hinge_params *p = &s->params;
    hinge_kernel kernel = p->kernel;
    const hinge_task_row *task = hinge_task_info(p->task);

    json_text(j, "task", task->keyword);
    if (kernel.gamma == HINGE_GAMMA_AUTO)
        kernel.gamma = 1.0 / (double)run->data.x.cols;
    json_kernel(j, &kernel);
    if (task->uses_C)
        json_real(j, "C", p->C);
    if (task->uses_nu)
        json_real(j, "nu", p->nu);
    if (task->uses_p)
        json_real(j, "p", p->p);
    if (task->uses_tau)
        json_real(j, "tau", p->tau);
    json_real(j, "eps", p->eps);
}

static void print_json(const struct train_settings *s, const struct train_run *run)
{
    struct json j = { 0 };

    json_open(&j, NULL, '{');
    json_task(&j, s, run);
    if (s->online.solver)
        json_online(&j, run, &s->online);
    else
        json_report(&j, &run->report);
    json_real(&j, "seconds_load", run->seconds_load);
    if (s->folds) {
        json_count(&j, "folds", s->folds);
        json_score(&j, &run->score);
        json_close(&j, '}');
        return;
    }
    if (s->profile)
        json_profile(&j, run);
    json_real(&j, "seconds_save", run->seconds_save);
    json_reals(&j, "rho", hinge_model_rho(run->model), hinge_model_n_problems(run->model));
    json_text(&j, "model", s->model_path);
    if (s->certify)
        json_certificate(&j, &run->certificate);
    if (s->test) {
        json_count(&j, "n_test", run->test.x.rows);
        json_real(&j, "seconds_predict", run->seconds_predict);
        json_score(&j, &run->score);
    }
    json_close(&j, '}');
}

static void print_vectors(const hinge_report *r, size_t folds)
{
    if (folds)
        printf("%-16s %zu in %zu folds of %zu examples (%zu bounded)\n", "support vectors", r->n_sv, folds, r->n,
               r->n_bsv);
    else
        printf("%-16s %zu of %zu examples (%zu bounded%s)\n", "support vectors", r->n_sv, r->n, r->n_bsv,
               r->n_problems > 1 ? ", summed over pairs of classes" : "");
    if (r->distinct > 0 && r->distinct < r->n)
        printf("%-16s %zu of %zu differ, equal ones are solved as one\n", "examples", r->distinct, r->n);
}

static void print_report(const hinge_report *r, size_t folds)
{
    printf("%-16s %s\n", "outcome", hinge_outcome_text(r->outcome));
    printf("%-16s %.10g\n", "objective", r->objective);
    printf("%-16s %.3g\n", "violation", r->violation);
    if (isfinite(r->gap))
        printf("%-16s %.3g\n", "relative gap", r->gap);
    else if (isfinite(r->error))
        printf("%-16s %.3g\n", "measured error", r->error);
    if (r->trace_error > 0)
        printf("%-16s rank %zu, %.3g of the kernel's trace left out\n", "factor", r->rank, r->trace_error);
    print_vectors(r, folds);
    if (r->rank == 0) {
        printf("%-16s %" PRIu64 " computed", "kernel rows", r->rows_computed);
        if (r->rows_computed && r->n_sv)
            printf(", %.2f per support vector", (double)r->rows_computed / (double)r->n_sv);
        printf("\n");
    }
    printf("%-16s %" PRIu64 " in %zu rounds", "iterations", r->iterations, (size_t)r->rounds);
    if (r->newton_steps)
        printf(", then %" PRIu64 " of Newton", r->newton_steps);
    printf("\n");
}

static void print_phases(const hinge_report *r)
{
    printf("%-16s rows %.3f s, selection %.3f s, block %.3f s, subproblem %.3f s, Newton %.3f s, checks %.3f s\n",
           "phases", r->phase.rows, r->phase.select, r->phase.block, r->phase.subproblem, r->phase.newton,
           r->phase.certificate);
    printf("%-16s %.4g MB, rows take %.4g MB of %.4g MB; whole process %.4g MB\n", "memory",
           (double)r->memory_bytes / 1048576, (double)r->cache_used / 1048576, (double)r->cache_bytes / 1048576,
           (double)peak_bytes() / 1048576);
    printf("%-16s %" PRIu64 ", %.4g GFLOP; %" PRIu64 " rows asked for, %" PRIu64 " given up\n", "kernel values",
           r->kernel_values, r->gflop, r->rows_asked, r->rows_evicted);
    printf("%-16s %s, recomputed %d times\n", "precision", choice_name(choice_precision, (int)r->precision),
           r->corrections);
}

static void print_phase(const hinge_report *r, const char *name, double seconds, const char *what)
{
    printf("  %-14s %9.4f s  %5.1f %%  %s\n", name, seconds, 100 * seconds / r->seconds, what);
}

static void print_profile(const struct train_run *run)
{
    const hinge_report *r = &run->report;
    struct stage stages[STAGES];
    char text[128];

    printf("%-16s seconds, share of the training's%s\n", "profile",
           ran_side_by_side(r) ? "; problems side by side: the threads' seconds, summed" : "");
    snprintf(text, sizeof text, "kernel rows and the gradient, %.4g MB of rows read; threads' seconds / threads:",
             1e-6 * (double)r->bytes_read);
    print_phase(r, "rows", r->phase.rows, text);
    stages_of(r, stages);
    for (int k = 0; k < STAGES; k++)
        printf("    %-12s %9.4f s  %5.1f %%  %s\n", stages[k].name, stages[k].seconds,
               100 * stages[k].seconds / r->seconds, stages[k].what);
    print_phase(r, "selection", r->phase.select, "working sets, and the violation of all");
    print_phase(r, "block", r->phase.block, "K_WW of the working sets");
    snprintf(text, sizeof text, "%" PRIu64 " steps, %.0f ns each", r->iterations,
             r->iterations ? 1e9 * r->phase.subproblem / (double)r->iterations : 0.0);
    print_phase(r, "subproblem", r->phase.subproblem, text);
    snprintf(text, sizeof text, "%" PRIu64 " systems", r->newton_steps);
    print_phase(r, "Newton", r->phase.newton, text);
    snprintf(text, sizeof text, "error measured, %d corrections, waking", r->corrections);
    print_phase(r, "checks", r->phase.certificate, text);
    if (!ran_side_by_side(r))
        print_phase(r, "other", seconds_other(r), "checking and copying the data, the model");
    printf("  %-14s %9.4f s of the threads' in all this were the system's, %" PRIu64 " page faults\n", "system",
           run->seconds_system, run->page_faults);
    printf("  %-14s %.4g million, %.4g million/s, %.4g GFLOP/s (of dot products) in rows, block, Newton, checks\n",
           "kernel values", 1e-6 * (double)r->kernel_values, 1e-6 * (double)r->kernel_values / seconds_kernel(r),
           r->gflop / seconds_kernel(r));
    printf("  %-14s %" PRIu64 " rows asked for, %" PRIu64 " found, %" PRIu64 " computed, %" PRIu64 " given up\n",
           "cache", r->rows_asked, rows_found(r), r->rows_computed, r->rows_evicted);
    if (isfinite(run->seconds_floor))
        printf("  %-14s %.4f s for one pass, support vectors x examples, extrapolated from predicting %zu; "
               "the training took %.1f of them\n",
               "floor", run->seconds_floor, run->rows_floor, r->seconds / run->seconds_floor);
}

/* Prints the lines of svm-train -v. */
static void print_cross_validation(const struct score *score)
{
    if (score->tau > 0) {
        printf("Cross Validation Mean pinball loss = %g\n", score->pinball);
        printf("Cross Validation Coverage = %g%%\n", score->coverage);
    } else if (score->regression) {
        printf("Cross Validation Mean squared error = %g\n", score->mse);
        printf("Cross Validation Squared correlation coefficient = %g\n", score->r2);
    } else {
        printf("Cross Validation Accuracy = %g%%\n", score->accuracy);
    }
}

static void print_run(const struct train_settings *s, const struct train_run *run)
{
    print_report(&run->report, s->folds);
    printf("%-16s %.3f s (loading %.3f s, saving %.3f s)\n", "time", run->report.seconds, run->seconds_load,
           run->seconds_save);
    printf("%-16s %s\n", "path", run->report.path);
    printf("%-16s %d\n", "threads", run->report.threads);
    printf("%-16s %s\n", "blas", run->report.blas);
    if (s->verbose)
        print_phases(&run->report);
    if (s->profile)
        print_profile(run);
}

static void print_table(const struct train_settings *s, const struct train_run *run)
{
    if (s->online.solver)
        print_online(run, &s->online);
    else
        print_run(s, run);
    if (run->model && hinge_model_n_problems(run->model) <= 3) /* of more, hinge info tells */
        print_reals("rho", 17, hinge_model_rho(run->model), hinge_model_n_problems(run->model));
    if (s->certify)
        print_certificate(&run->certificate);
    if (s->folds)
        printf("%-16s %zu, drawn by seed %" PRIu64 "; the numbers above are their sums\n", "folds", s->folds,
               s->params.seed);
    else
        printf("%-16s %s\n", "model", s->model_path);
    if (s->test) {
        printf("%-16s %zu examples in %.3f s\n", "test", run->test.x.rows, run->seconds_predict);
        print_score(stdout, &run->score);
    }
}

void train_report(const struct train_settings *s, const struct train_run *run)
{
    if (s->json)
        print_json(s, run);
    else if (!s->quiet)
        print_table(s, run);
    if (s->folds && !s->json)
        print_cross_validation(&run->score);
    finish_stdout();
}

int train_was_stopped(const struct train_run *run)
{
    return was_interrupted() && run->report.outcome != HINGE_CONVERGED;
}

void train_warn(const struct train_settings *s, const struct train_run *run)
{
    const hinge_report *r = &run->report;
    static const char *const hints[] = {
        [HINGE_MAX_ITER] = "raise --max-iter for a better model",
        [HINGE_TIME_LIMIT] = "raise --time-limit for a better model",
        [HINGE_STALLED] = "scale the data, lower C, or try --precision f64",
    };
    const char *hint = (size_t)r->outcome < COUNT_OF(hints) ? hints[r->outcome] : NULL;

    if (r->outcome == HINGE_NO_MARGIN)
        hint = s->params.task == HINGE_NU_SVC ? "lower --nu; coefficients are left unscaled"
                                              : "the classes cannot be separated; give a finite -c";
    if (r->outcome == HINGE_STALLED && r->rank > 0)
        hint = r->trace_error > 0 ? "the factor or its kernel does not allow eps: raise --rank, or take --solver smo"
                                  : "scale the data, or lower C";

    if (s->online.solver == SOLVER_PERCEPTRON && s->online.errors > 0 && r->outcome == HINGE_CONVERGED)
        warn("the classes are not separated in %zu rounds: %zu errors are left", s->online.epochs, s->online.errors);
    if (train_was_stopped(run) && s->folds)
        die(EXIT_STOPPED, "interrupted, so the cross-validation is not complete");
    if (r->outcome == HINGE_TIME_LIMIT && s->folds)
        die(EXIT_DATA, "the time limit was reached, so the cross-validation is not complete");
    if (train_was_stopped(run))
        fprintf(stderr, "hinge: interrupted; the best model so far is in %s\n", s->model_path);
    else if (r->outcome != HINGE_CONVERGED && s->online.solver)
        warn("not converged: %s after %zu whole epochs", hinge_outcome_text(r->outcome), s->online.epochs);
    else if (r->outcome != HINGE_CONVERGED)
        warn("not converged: %s (violation %.3g)%s%s", hinge_outcome_text(r->outcome), r->violation,
             hint ? "; " : "", hint ? hint : "");
    if (s->params.probability && run->model && !hinge_model_has_probability(run->model))
        warn("%s has no probabilities: the run ended before them; `hinge calibrate` can add them", s->model_path);
    if (r->blas_slow && !s->quiet)
        warn("%s runs kernels without AVX-512: OPENBLAS_CORETYPE=SkylakeX makes it faster", r->blas);
}

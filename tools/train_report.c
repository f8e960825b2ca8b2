/*
 * What hinge train tells of a training: as JSON, as text, and where the time went.
 */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "progress.h"
#include "cmd_train.h"

static void json_report(struct json *j, const hinge_report *r)
{
    json_put(j, "outcome %s, seconds %g, iterations %" PRIu64 ", rounds %" PRIu64 ", objective %g, violation %g",
             hinge_outcome_text(r->outcome), r->seconds, r->iterations, r->rounds, r->objective, r->violation);
    json_put(j, "error %g, gap_relative %g, rank %zu, trace_error %g", r->error, r->gap, r->rank, r->trace_error);
    json_put(j, "n %zu, distinct %zu, d %zu, n_classes %zu, n_problems %zu, n_sv %zu, n_bsv %zu", r->n, r->distinct,
             r->d, r->n_classes, r->n_problems, r->n_sv, r->n_bsv);
    json_put(j, "newton_steps %" PRIu64 ", newton_no_room %zu", r->newton_steps, r->newton_no_room);
    json_put(j, "rows_asked %" PRIu64 ", rows_computed %" PRIu64 ", rows_evicted %" PRIu64, r->rows_asked,
             r->rows_computed, r->rows_evicted);
    json_put(j, "bytes_read %" PRIu64 ", kernel_values %" PRIu64 ", cache_bytes %zu, cache_used %zu", r->bytes_read,
             r->kernel_values, r->cache_bytes, r->cache_used);
    json_put(j, "memory_bytes %zu, peak_bytes %" PRIu64 ", threads %d, precision %s, corrections %d", r->memory_bytes,
             peak_bytes(), r->threads, choice_name(choice_precision, (int)r->precision), r->corrections);
    json_put(j,
             "seconds_rows %g, seconds_select %g, seconds_block %g, seconds_subproblem %g, seconds_newton %g, "
             "seconds_check %g",
             r->phase.rows, r->phase.select, r->phase.block, r->phase.subproblem, r->phase.newton,
             r->phase.certificate);
    json_put(j, "gflop %g, path %s, blas %s, blas_slow %i", r->gflop, r->path, r->blas, r->blas_slow);
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

/* A phase of the training or, indented further, a stage of the phase "rows". */
struct part {
    int indent;
    const char *name;
    double seconds; /* NaN: not known */
    char what[128];
};

enum { PARTS = 13, PHASE = 2, STAGE = 4 };

PRINTF_LIKE(5, 6)
static void add_part(struct part **last, int indent, const char *name, double seconds, const char *format, ...)
{
    struct part *part = (*last)++;
    va_list values;
    *part = (struct part){ indent, name, seconds, "" };
    va_start(values, format);
    vsnprintf(part->what, sizeof part->what, format, values);
    va_end(values);
}

static void parts_of(const hinge_report *r, struct part parts[PARTS])
{
    const hinge_stages *s = &r->stages;
    double spent = s->gather + s->products + s->map + s->update + s->read;
    struct part *last = parts;
    add_part(&last, PHASE, "rows", r->phase.rows,
             "kernel rows and the gradient, %.4g MB of rows read; threads' seconds / threads:",
             1e-6 * (double)r->bytes_read);
    add_part(&last, STAGE, "gather", s->gather, "bringing examples into the layout of blocks");
    if (strstr(r->path, ", counts"))
        add_part(&last, STAGE, "products", s->products, "features in which examples differ, counted");
    else
        add_part(&last, STAGE, "products", s->products, "dot products%s, %.4g GFLOP/s",
                 strstr(r->path, ", lists")    ? " and map, by lists"
                 : strstr(r->path, ", panels") ? " and map, by panels"
                                               : "",
                 s->products > 0 ? s->gflop / s->products : 0.0);
    add_part(&last, STAGE, "map", s->map, "turning dot products into kernel values");
    add_part(&last, STAGE, "update", s->update, "updating the gradient by rows just computed");
    add_part(&last, STAGE, "read", s->read, "cached rows into the gradient, %.4g MB at %.4g GB/s", 1e3 * s->gbytes,
             s->read > 0 ? s->gbytes / s->read : 0.0);
    add_part(&last, STAGE, "rest", r->phase.rows - spent, "waiting for each other, and the lists of what is cached");
    add_part(&last, PHASE, "selection", r->phase.select, "working sets, and the violation of all");
    add_part(&last, PHASE, "block", r->phase.block, "K_WW of the working sets");
    add_part(&last, PHASE, "subproblem", r->phase.subproblem, "%" PRIu64 " steps, %.0f ns each", r->iterations,
             r->iterations ? 1e9 * r->phase.subproblem / (double)r->iterations : 0.0);
    add_part(&last, PHASE, "Newton", r->phase.newton, "%" PRIu64 " systems", r->newton_steps);
    add_part(&last, PHASE, "checks", r->phase.certificate, "error measured, %d corrections, waking", r->corrections);
    add_part(&last, PHASE, "other", seconds_other(r), "checking and copying the data, the model");
}

static void json_profile(struct json *j, const struct train_settings *s, const struct train_run *run)
{
    const hinge_report *r = &run->report;
    struct part parts[PARTS];
    json_open(j, "profile", '{');
    parts_of(r, parts);
    json_open(j, "stages", '{');
    for (int k = 0; k < PARTS; k++)
        if (parts[k].indent == STAGE)
            json_real(j, parts[k].name, parts[k].seconds);
    json_close(j, '}');
    json_put(j, "gflop_rows %g, gbytes_rows_read %g, seconds_system %g, page_faults %" PRIu64, r->stages.gflop,
             r->stages.gbytes, run->seconds_system, run->page_faults);
    json_put(j, "seconds_other %g, seconds_floor %g, rows_floor %zu, rows_found %" PRIu64, seconds_other(r),
             run->seconds_floor, run->rows_floor, rows_found(r));
    json_put(j, "values_per_second %g, gflop_per_second %g", (double)r->kernel_values / seconds_kernel(r),
             r->gflop / seconds_kernel(r));
    if (s->data.ranks)
        s->data.ranks->tell_traffic(s, r, j);
    json_close(j, '}');
}

static const char *online_name(const struct online *o)
{
    return o->solver == SOLVER_SGD ? "sgd" : "perceptron";
}

static void print_online(const struct train_run *run, const struct online *o)
{
    printf("%-16s %s, %zu epochs\n", "solver", online_name(o), o->epochs);
    printf("%-16s %zu of %zu examples\n", "errors", o->errors, run->data.x.rows);
    printf("%-16s %.10g, %s", "objective", o->objective, o->ball > 0 ? "mean of " : "1/2 |w|^2 + C sum of ");
    if (o->loss == HINGE_LOSS_HINGE)
        puts("slacks");
    else
        printf("%s losses\n", hinge_loss_name((hinge_loss)o->loss));
}

static void json_task(struct json *j, const struct train_settings *s, const struct train_run *run)
{
    const hinge_params *p = &s->params;
    hinge_kernel kernel = p->kernel;
    const hinge_task_row *task = hinge_task_info(p->task);
    json_put(j, "task %s", task->keyword);
    if (kernel.gamma == HINGE_GAMMA_AUTO)
        kernel.gamma = 1.0 / (double)run->data.x.cols;
    json_kernel(j, &kernel);
    if (task->uses_C)
        json_put(j, "C %g", p->C);
    if (task->uses_nu)
        json_put(j, "nu %g", p->nu);
    if (task->uses_p)
        json_put(j, "p %g", p->p);
    if (task->uses_tau)
        json_put(j, "tau %g", p->tau);
    json_put(j, "eps %g", p->eps);
}

/* Writes the classes of a two-class problem, "1, 2" or "1, rest". */
static void name_classes(const hinge_model *model, size_t p, char *name, size_t size)
{
    char rooms[2][LABEL_ROOM];
    const hinge_words *words = hinge_model_words(model);
    const double *labels = hinge_model_labels(model);
    size_t a, b;
    problem_classes(model, p, &a, &b);
    snprintf(name, size, "%.40s, %.40s", label_text(words, labels[a], 17, rooms[0]),
             b == SIZE_MAX ? "rest" : label_text(words, labels[b], 17, rooms[1]));
}

/* Lists the two-class problems of a training that was ended which have not begun, and returns how many they are; all
 * in room, unless they are too many for it. */
static size_t list_unbegun(const struct train_run *run, struct json *j, char *room, size_t size)
{
    const hinge_model *model = run->model;
    size_t count = 0, n = model && run->report.outcome != HINGE_CONVERGED ? hinge_model_n_problems(model) : 0;
    *room = '\0';
    for (size_t p = 0; p < n && n > 1; p++) {
        char name[100];
        size_t used = strlen(room);
        if (problem_begun(model, p))
            continue;
        if (hinge_model_n_targets(model) > 0)
            snprintf(name, sizeof name, "target %zu", p + 1);
        else
            name_classes(model, p, name, sizeof name);
        if (j)
            json_text(j, NULL, name);
        if (used + strlen(name) + 8 < size)
            snprintf(room + used, size - used, "%s%s", used ? "; " : "", name);
        else if (used && strcmp(room + used - 3, "...") != 0)
            snprintf(room + used, size - used, "; ...");
        count++;
    }
    return count;
}

static void print_json(const struct train_settings *s, const struct train_run *run)
{
    const struct online *o = &s->online;
    struct json j = { 0 };
    json_open(&j, NULL, '{');
    json_task(&j, s, run);
    if (o->solver)
        json_put(&j, "solver %s, seconds %g, epochs %zu, errors %zu, objective %g, n %zu, d %zu", online_name(o),
                 o->seconds, o->epochs, o->errors, o->objective, run->data.x.rows, run->data.x.cols);
    else
        json_report(&j, &run->report);
    json_put(&j, "seconds_load %g", run->seconds_load);
    if (s->folds) {
        json_put(&j, "folds %zu", s->folds);
    } else {
        if (s->profile)
            json_profile(&j, s, run);
        char room[80];
        json_open(&j, "not_begun", '[');
        list_unbegun(run, &j, room, sizeof room);
        json_close(&j, ']');
        json_put(&j, "seconds_save %g", run->seconds_save);
        json_reals(&j, "rho", hinge_model_rho(run->model), hinge_model_n_problems(run->model));
        json_put(&j, "model %s", s->model_path);
    }
    if (s->certify)
        json_certificate(&j, &run->certificate);
    if (s->test)
        json_put(&j, "n_test %zu, seconds_predict %g", run->test.x.rows, run->seconds_predict);
    if (s->test || s->folds)
        json_score(&j, &run->score);
    json_close(&j, '}');
}

/* Tells whether a report sums over folds; otherwise it is that of all rows, from whose solution folds may go on. */
static int sums_folds(const hinge_report *r, size_t folds)
{
    return folds && r->distinct == 0;
}

static void print_vectors(const hinge_report *r, const struct train_settings *s)
{
    if (sums_folds(r, s->folds))
        printf("%-16s %zu in %zu folds of %zu examples (%zu bounded)\n", "support vectors", r->n_sv, s->folds, r->n,
               r->n_bsv);
    else
        printf("%-16s %zu of %zu examples (%zu bounded%s)\n", "support vectors", r->n_sv, r->n, r->n_bsv,
               r->n_problems == 1 ? ""
               : s->targets       ? ", summed over targets"
                                  : ", summed over pairs of classes");
    if (r->distinct > 0 && r->distinct < r->n)
        printf("%-16s %zu of %zu differ, equal ones are solved as one\n", "examples", r->distinct, r->n);
}

static void print_report(const hinge_report *r, const struct train_settings *s)
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
    print_vectors(r, s);
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

static void print_profile(const struct train_settings *s, const struct train_run *run)
{
    const hinge_report *r = &run->report;
    struct part parts[PARTS];
    printf("%-16s seconds, share of the training's%s\n", "profile",
           ran_side_by_side(r) ? "; problems side by side: the threads' seconds, summed" : "");
    parts_of(r, parts);
    for (int k = 0; k < PARTS; k++)
        if (!isnan(parts[k].seconds))
            printf("%*s%-*s %9.4f s  %5.1f %%  %s\n", parts[k].indent, "", 16 - parts[k].indent, parts[k].name,
                   parts[k].seconds, 100 * parts[k].seconds / r->seconds, parts[k].what);
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
    if (s->data.ranks)
        s->data.ranks->tell_traffic(s, r, NULL);
}

static void print_table(const struct train_settings *s, const struct train_run *run)
{
    const hinge_report *r = &run->report;
    if (s->online.solver)
        print_online(run, &s->online);
    else
        print_report(r, s);
    char unbegun[80];
    size_t n_unbegun = list_unbegun(run, NULL, unbegun, sizeof unbegun);
    if (n_unbegun)
        printf("%-16s %zu of %zu problems: %s\n", "not begun", n_unbegun, hinge_model_n_problems(run->model), unbegun);
    printf("%-16s %.3f s (loading %.3f s, saving %.3f s)\n", "time", s->online.solver ? s->online.seconds : r->seconds,
           run->seconds_load, run->seconds_save);
    if (!s->online.solver)
        printf("%-16s %s\n%-16s %d\n%-16s %s\n", "path", r->path, "threads", r->threads, "blas", r->blas);
    if (s->verbose && !s->online.solver)
        print_phases(r);
    if (s->profile)
        print_profile(s, run);
    if (run->model && hinge_model_n_problems(run->model) <= 3) /* of more, hinge info tells */
        print_reals("rho", 17, hinge_model_rho(run->model), hinge_model_n_problems(run->model));
    if (s->certify)
        print_certificate(&run->certificate);
    if (s->folds)
        printf("%-16s %zu, drawn by seed %" PRIu64 "; %s\n", "folds", s->folds, s->params.seed,
               sums_folds(r, s->folds) ? "the numbers above are their sums"
                                       : "the solution above is that of all rows, from which they went on");
    else
        printf("%-16s %s\n", "model", s->model_path);
    if (s->test) {
        printf("%-16s %zu examples in %.3f s\n", "test", run->test.x.rows, run->seconds_predict);
        print_score(stdout, &run->score, 0);
    }
}

void train_report(const struct train_settings *s, const struct train_run *run)
{
    if (s->json)
        print_json(s, run);
    else if (!s->quiet)
        print_table(s, run);
    if (s->folds && !s->json)
        print_score(stdout, &run->score, 1);
    finish_stdout();
}

int train_was_stopped(const struct train_settings *s, const struct train_run *run)
{
    int stopped = s->data.ranks ? run->report.outcome == HINGE_STOPPED : was_interrupted();
    return stopped && run->report.outcome != HINGE_CONVERGED;
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
        hint = s->params.task == HINGE_EPSILON_SVR          ? "nothing keeps to the tube: raise -p, or give a finite -c"
               : s->params.task != HINGE_NU_SVC             ? "the classes cannot be separated; give a finite -c"
               : strstr(r->path, "margin from nu=") != NULL ? "the model is that of the nu told in the path"
                                                            : "no --nu was found with one; coefficients are unscaled";
    if (r->outcome == HINGE_STALLED && r->rank > 0)
        hint = r->trace_error > 0 ? "the factor or its kernel does not allow eps: raise --rank, or take --solver smo"
                                  : "scale the data, or lower C";
    if (s->data.ranks) /* where most of these are no help */
        hint = NULL;
    if (s->online.solver == SOLVER_PERCEPTRON && s->online.errors > 0 && r->outcome == HINGE_CONVERGED)
        warn("the classes are not separated in %zu rounds: %zu errors are left", s->online.epochs, s->online.errors);
    if (train_was_stopped(s, run) && s->folds)
        die(EXIT_STOPPED, "interrupted, so the cross-validation is not complete");
    int early = r->outcome == HINGE_TIME_LIMIT || r->outcome == HINGE_STOPPED;
    if (r->outcome == HINGE_TIME_LIMIT && s->folds)
        die(EXIT_DATA, "the time limit was reached, so the cross-validation is not complete");
    if (train_was_stopped(s, run))
        fprintf(stderr, "hinge: interrupted; the best model so far is in %s\n", s->model_path);
    else if (r->outcome != HINGE_CONVERGED && s->online.solver)
        warn("not converged: %s after %zu whole epochs", hinge_outcome_text(r->outcome), s->online.epochs);
    else if (r->outcome != HINGE_CONVERGED)
        warn("not converged: %s (violation %.3g)%s%s", hinge_outcome_text(r->outcome), r->violation, hint ? "; " : "",
             hint ? hint : "");
    char unbegun[100];
    size_t n_unbegun = list_unbegun(run, NULL, unbegun, sizeof unbegun);
    if (n_unbegun)
        warn("%zu of %zu problems of two classes had not begun, so that the model does not tell these apart: %s",
             n_unbegun, hinge_model_n_problems(run->model), unbegun);
    if (s->params.probability && run->model && !s->data.ranks && !hinge_model_has_probability(run->model))
        warn("%s has no probabilities: %s; `hinge calibrate` can add them%s", s->model_path,
             early ? "the run ended before them" : "they take 5 examples on either side of the boundary",
             early ? "" : " from other examples");
    if (r->blas_slow && !s->quiet && !s->data.ranks)
        warn("%s runs kernels without AVX-512: OPENBLAS_CORETYPE=SkylakeX makes it faster", r->blas);
}

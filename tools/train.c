/*
 * hinge train: svm-train's options and those of hinge; progress, interruption, report, certificate, test.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "online.h"
#include "ranges.h"

/* ---- Options ---- */

struct train_settings {
    hinge_params params;
    struct class_weights classes;
    struct data_flags data;
    const char *weights, *test, *test_labels;
    size_t folds; /* folds of a cross-validation; 0: train a model */
    struct online online;
    int scale;
    double scale_lower, scale_upper; /* NaN: not given */
    const char *positive; /* a class, NULL: not given */
    double positive_label;
    const char *scale_restore;
    int quiet, verbose, json, certify, profile, record, no_restart;
    const char *data_path, *model_path;
};

static const struct choice choice_multiclass[] = {
    { "ovo", HINGE_ONE_VS_ONE },
    { "ovr", HINGE_ONE_VS_REST },
    { "one_vs_one", HINGE_ONE_VS_ONE },
    { "one_vs_rest", HINGE_ONE_VS_REST },
    { NULL, 0 },
};
static const struct choice choice_solver[] = {
    { "auto", HINGE_SOLVER_AUTO },
    { "smo", HINGE_SOLVER_SMO },
    { "ipm", HINGE_SOLVER_INTERIOR_POINT },
    { "interior-point", HINGE_SOLVER_INTERIOR_POINT },
    { "perceptron", SOLVER_PERCEPTRON },
    { "sgd", SOLVER_SGD },
    { NULL, 0 },
};
static const struct range range_level = { 0, 4, 0 };
static const struct range range_folds = { 2, INFINITY, 0 };

#define FIELD(name) offsetof(struct train_settings, name)
static const struct tool_option problem_options[] = {
    { 's', "type", "TASK", parse_task, FIELD(params.task), NULL,
      "choose the task by number or name: 0 c_svc,\n1 nu_svc, 2 one_class, 3 epsilon_svr, 4 nu_svr,\n5 quantile (0)" },
    { 0, "svm-type", "TASK", parse_task, FIELD(params.task), NULL, NULL },
    { 't', "kernel", "KERNEL", parse_choice, FIELD(params.kernel.type), choice_kernel,
      "0 linear     <x,z>\n1 polynomial (gamma <x,z> + coef0)^degree\n2 rbf        exp(-gamma |x-z|^2)\n"
      "3 sigmoid    tanh(gamma <x,z> + coef0)\n4 precomputed, the file holds kernel values (2)" },
    { 'd', "degree", "D", parse_int, FIELD(params.kernel.degree), &range_not_negative,
      "set the degree of the polynomial kernel (3)" },
    { 'g', "gamma", "G", parse_gamma, FIELD(params.kernel.gamma), &range_not_negative,
      "set gamma; auto or 0 means 1 / number of features\n(auto)" },
    { 'r', "coef0", "R", parse_real, FIELD(params.kernel.coef0), &range_any, "set coef0 (0)" },
    { 'c', "cost", "C", parse_cost, FIELD(params.C), &range_positive,
      "set C of c_svc, epsilon_svr, nu_svr, quantile (1);\ninf is the hard margin of c_svc" },
    { 'n', "nu", "NU", parse_real, FIELD(params.nu), &range_01, "set nu of nu_svc, one_class, nu_svr (0.5)" },
    { 'p', "epsilon-tube", "P", parse_real, FIELD(params.p), &range_not_negative,
      "set the half width of epsilon_svr's tube (0.1)" },
    { 0, "tau", "TAU", parse_real, FIELD(params.tau), &range_01,
      "set the level of quantile, below 1: the share of\ntargets at or below the prediction (0.5)" },
    { 'e', "tolerance", "EPS", parse_real, FIELD(params.eps), &range_positive,
      "stop at a violation of EPS (0.001)" },
    { 0, "eps", "EPS", parse_real, FIELD(params.eps), &range_positive, NULL },
    { 'w', "weight", "I=W", parse_weight, FIELD(classes), &range_not_negative,
      "multiply C of class I, a number or a word, by W;\nalso -wI W" },
    { 0, "weights", "FILE", parse_text, FIELD(weights), NULL,
      "multiply C of each example: one number a line,\nor .npy" },
    { 0, "no-bias", NULL, parse_flag, FIELD(params.no_bias), NULL,
      "train f = <w,phi(x)> without threshold; not for\ntasks with nu" },
    { 0, "positive", "LABEL", parse_text, FIELD(positive), NULL,
      "make this class the model's first, whose decision\nvalues are > 0 (chosen by the file)" },
    { 0, "multiclass", "HOW", parse_choice, FIELD(params.multiclass), choice_multiclass,
      "train three classes or more by ovo, one-vs-one, or\novr, one-vs-rest (ovo)" },
    { 'b', "probability", "0|1", parse_choice, FIELD(params.probability), choice_off_on,
      "calibrate the model for predict -b 1, by 5-fold\ncross-validation: 1 yes, 0 no (0)" },
    { 'v', "folds", "N", parse_size, FIELD(folds), &range_folds,
      "cross-validate in N folds and write no model" },
};
static const struct tool_option scale_options[] = {
    { 0, "scale", NULL, parse_flag, FIELD(scale), NULL,
      "scale each feature to [-1, 1] by its range in the\ntraining file (with -v: in what each fold trains\n"
      "on). The model keeps the scaling and takes raw data" },
    { 0, "scale-lower", "L", parse_real, FIELD(scale_lower), &range_any, "scale as --scale, to L instead of -1" },
    { 0, "scale-upper", "U", parse_real, FIELD(scale_upper), &range_any, "scale as --scale, to U instead of 1" },
    { 0, "scale-restore", "FILE", parse_text, FIELD(scale_restore), NULL,
      "scale as --scale, by the ranges that svm-scale -s\nor hinge scale -s saved in FILE" },
};
static const struct tool_option run_options[] = {
    { 0, "solver", "S", parse_choice, FIELD(params.solver), choice_solver,
      "solve by auto, smo or ipm, the interior point\n(auto); for two classes and -t linear also by\n"
      "perceptron or sgd" },
    { 0, "epochs", "N", parse_size, FIELD(online.epochs), &range_positive,
      "run at most N rounds of perceptron (1000), N passes\nof sgd over the examples (by their size and C)" },
    { 0, "batch", "N", parse_size, FIELD(online.batch), &range_positive,
      "take N examples a step in perceptron (all), sgd (1)" },
    { 0, "rank", "R", parse_size, FIELD(params.rank), &range_positive,
      "give the interior point a factor of the kernel\nmatrix with R columns (all of linear, 1000 of other\n"
      "kernels)" },
    { 'm', "cache", "SIZE", parse_bytes, FIELD(params.cache_bytes), NULL,
      "use SIZE MB of memory for kernel rows, or with K, M,\nG, T (by the data and the machine)" },
    { 'h', "shrinking", "0|1", parse_choice, FIELD(params.shrinking), choice_off_on,
      "set aside examples likely to stay at a bound: 1 yes,\n0 no (1)" },
    { 0, "newton", "0|1", parse_choice, FIELD(params.newton), choice_off_on,
      "end by Newton's steps where that is less work: 1\nyes, 0 no (1)" },
    { 0, "threads", "N", parse_int, FIELD(params.threads), &range_positive,
      "use N threads (OMP_NUM_THREADS, or all processors)" },
    { 0, "precision", "P", parse_choice, FIELD(params.precision), choice_precision,
      "compute kernel rows in auto, f32 or f64 (auto)" },
    { 0, "time-limit", "S", parse_real, FIELD(params.time_limit), &range_positive,
      "stop after S seconds and save the model so far" },
    { 0, "max-iter", "N", parse_count, FIELD(params.max_iter), &range_positive,
      "stop each two-class problem after N steps and save\nthe model so far" },
    { 0, "working-set", "Q", parse_size, FIELD(params.working_set), &range_positive,
      "take Q examples into a working set (by how many\nthere are)" },
    { 0, "seed", "N", parse_count, FIELD(params.seed), &range_not_negative, "start random choices from N (0)" },
    { 0, "cpu-level", "L", parse_int, FIELD(params.cpu_level), &range_level,
      "run vector code of level L: 1 plain, 2 to 4\nx86-64-v2 to v4 (the best that runs here)" },
    { 0, "no-restart", NULL, parse_flag, FIELD(no_restart), NULL,
      "do not start again with a faster OpenBLAS core, as\nHINGE_NO_RESTART=1 has it too" },
};
static const struct tool_option output_options[] = {
    { 'q', "quiet", NULL, parse_flag, FIELD(quiet), NULL, "print warnings and errors only" },
    { 0, "verbose", NULL, parse_flag, FIELD(verbose), NULL, "tell more on standard error" },
    { 0, "json", NULL, parse_flag, FIELD(json), NULL, "print the report as a JSON object" },
    { 0, "certify", NULL, parse_flag, FIELD(certify), NULL,
      "recompute primal, dual, gap and residuals in f64" },
    { 0, "profile", NULL, parse_flag, FIELD(profile), NULL,
      "tell where the time went, and what one pass over the\nkernel takes" },
    { 0, "record", NULL, parse_flag, FIELD(record), NULL,
      "store in the model how it was trained, for hinge\nreport; svm-predict refuses such a model" },
    { 0, "test", "FILE", parse_text, FIELD(test), NULL, "predict FILE and report how well" },
    { 0, "test-labels", "FILE.npy", parse_text, FIELD(test_labels), NULL,
      "read the labels of --test from FILE.npy, if that is\n.npy" },
};

static const char usage[] =
    "usage: hinge train [options] training_file [model_file]\n\n"
    "Trains a support vector machine and writes model_file, by default the name of the training\n"
    "file with .model added, in the current folder. Ctrl-C saves the best model so far; a second one\n"
    "ends at once.";

/* Takes each of the options of scaling for --scale. */
static void read_scaling(struct train_settings *s)
{
    int ends = !isnan(s->scale_lower) || !isnan(s->scale_upper);

    if (ends && s->scale_restore)
        die(EXIT_USAGE, "train: leave out --scale-lower and -upper: the file of --scale-restore has them");
    if (ends || s->scale_restore)
        s->scale = 1;
    if (isnan(s->scale_lower))
        s->scale_lower = -1;
    if (isnan(s->scale_upper))
        s->scale_upper = 1;
    if (!(s->scale_lower < s->scale_upper))
        die(EXIT_USAGE, "train: --scale-lower %g must be below --scale-upper %g", s->scale_lower, s->scale_upper);
    if (s->scale && s->params.kernel.type == HINGE_PRECOMPUTED)
        die(EXIT_USAGE, "train: --scale: the values of a precomputed kernel cannot be scaled");
}

/* Refuses what the perceptron and sgd cannot do; they ignore what c_svc with -t linear ignores. */
static void read_online(struct train_settings *s)
{
    const hinge_params *p = &s->params, none = hinge_params_default(HINGE_C_SVC);
    const struct {
        int given;
        const char *name;
    } others[] = {
        { s->folds > 0, "-v" },
        { s->weights != NULL, "--weights" },
        { s->classes.count > 0, "--weight" },
        { s->certify, "--certify" },
        { s->profile, "--profile" },
        { s->record, "--record" },
        { s->positive != NULL, "--positive" },
        { p->probability, "-b" },
        { p->max_iter > 0, "--max-iter" },
        { isinf(p->C), "-c inf" },
        { p->eps != none.eps, "--tolerance" },
        { p->cache_bytes != none.cache_bytes, "--cache" },
        { p->shrinking != none.shrinking, "--shrinking" },
        { p->newton != none.newton, "--newton" },
        { p->rank != none.rank, "--rank" },
        { p->precision != none.precision, "--precision" },
        { p->working_set != none.working_set, "--working-set" },
        { p->cpu_level != none.cpu_level, "--cpu-level" },
        { p->multiclass != none.multiclass, "--multiclass" },
    };
    int online = (int)p->solver >= SOLVER_PERCEPTRON;

    if (!online && (s->online.epochs || s->online.batch))
        die(EXIT_USAGE, "train: --%s is for --solver perceptron and sgd", s->online.epochs ? "epochs" : "batch");
    if (!online)
        return;
    if (p->task != HINGE_C_SVC || p->kernel.type != HINGE_LINEAR)
        die(EXIT_USAGE, "train: --solver perceptron and sgd are for c_svc with -t linear");
    for (size_t k = 0; k < COUNT_OF(others); k++)
        if (others[k].given)
            die(EXIT_USAGE, "train: --solver perceptron and sgd know no %s", others[k].name);
    s->online.solver = (int)p->solver;
    s->params.solver = HINGE_SOLVER_AUTO;
}

static void read_options(int argc, char **argv, struct train_settings *s)
{
    const struct option_group groups[] = {
        { "Problem (default in parentheses):", problem_options, COUNT_OF(problem_options), s },
        { "Scaling:", scale_options, COUNT_OF(scale_options), s },
        { "Run:", run_options, COUNT_OF(run_options), s },
        { "Data:", data_options, n_data_options, &s->data },
        { "Output:", output_options, COUNT_OF(output_options), s },
    };
    int first, left;

    s->params = hinge_params_default(HINGE_C_SVC);
    s->scale_lower = s->scale_upper = NAN;
    first = parse_options(argc, argv, usage, groups, COUNT_OF(groups));
    left = argc - first;
    if (left < 1 || left > 2)
        die(EXIT_USAGE, "%s; see `hinge train --help`",
            left < 1 ? "train: a training file is needed" : "train: too many file names");
    s->data_path = argv[first];
    s->model_path = left > 1 ? argv[first + 1] : NULL;
    s->params.n_class_weights = s->classes.count;
    s->params.class_labels = s->classes.labels;
    s->params.class_weights = s->classes.weights;
    if (s->folds && (s->test || s->certify))
        die(EXIT_USAGE, "train: leave out %s or -v, which trains no model", s->test ? "--test" : "--certify");
    read_online(s);
    read_scaling(s);
}

/* ---- Progress and interruption ---- */

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

/* Catches Ctrl-C once only: a second Ctrl-C meets the default action. A shell's background job, which starts with the
 * signal ignored, can be interrupted too. */
static void catch_interrupt(int on)
{
    struct sigaction action = { 0 };

    action.sa_handler = on ? on_interrupt : SIG_DFL;
    action.sa_flags = on ? (int)SA_RESETHAND : 0;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
}

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

static void show_progress(struct display *d, const hinge_progress *p)
{
    uint64_t before = p->problem == d->problem && p->rows_computed >= d->rows ? d->rows : 0;
    double speed = (double)(p->rows_computed - before) / fmax(p->seconds - d->time, 1e-3);
    int interior = p->rounds > 0 && p->rounds == p->iterations && p->rows_computed == 0;
    char part[64] = "", line[256];

    if (p->n_problems > 1)
        snprintf(part, sizeof part, "%s %zu/%zu  ", p->n_problems == d->folds ? "fold" : "problem", p->problem + 1,
                 p->n_problems);
    if (isnan(p->violation)) /* perceptron, sgd */
        snprintf(line, sizeof line, "%zu epochs  %.1f s", p->rounds, p->seconds);
    else
        snprintf(line, sizeof line, "%s%s %.1e, stops at %.1e  support vectors %zu  rows/s %.0f  %.1f s", part,
                 interior ? "relative gap" : "violation", p->violation, interior ? fmin(d->eps, 1e-6) : d->eps,
                 p->n_sv, speed, p->seconds);
    if (d->width)
        fprintf(stderr, "\r%.*s\033[K", d->width - 1, line);
    else
        fprintf(stderr, "%s\n", line);
    d->shown = 1;
    d->time = p->seconds;
    d->rows = p->rows_computed;
    d->problem = p->problem;
}

static int on_progress(void *arg, const hinge_progress *p)
{
    struct display *d = arg;

    if (d->interval > 0 && p->seconds - d->time >= d->interval)
        show_progress(d, p);
    if (interrupted || (d->limit > 0 && p->seconds >= d->limit))
        d->outcome = interrupted ? HINGE_STOPPED : HINGE_TIME_LIMIT;
    return d->outcome != HINGE_CONVERGED;
}

static struct display display_of(const struct train_settings *s)
{
    struct display d = { .folds = s->folds, .eps = s->params.eps };

    if (s->quiet)
        return d;
    d.width = terminal_width();
    d.interval = d.width ? 0.1 : s->verbose ? 10 : 0;
    return d;
}

static void wipe(const struct display *d)
{
    if (d->shown && d->width)
        fputs("\r\033[K", stderr);
}

/* ---- Data ---- */

/* Makes the index of each row's column of the kernel matrix, from the 0: entries of the file. */
static size_t *precomputed_index(const hinge_data *data, const char *path)
{
    size_t *index;

    if (!data->serial)
        return NULL;
    for (size_t i = 0; i < data->x.rows; i++)
        if (data->serial[i] < 1 || data->serial[i] > data->x.cols)
            die(EXIT_DATA, "%s:%zu: 0:%zu names no column of the kernel matrix, which has 1 to %zu", path,
                i + 1, data->serial[i], data->x.cols);
    index = allocate(data->x.rows, sizeof *index);
    for (size_t i = 0; i < data->x.rows; i++)
        index[i] = data->serial[i] - 1;
    return index;
}

/* Finds the labels that options name. */
static void find_labels(struct train_settings *s, const hinge_data *data)
{
    struct class_weights *classes = &s->classes;

    find_class_labels(classes, &data->words);
    if (s->positive) {
        s->positive_label = label_named("--positive", s->positive, &data->words);
        s->params.positive_class = &s->positive_label;
    }
    for (size_t k = 0; k < classes->count; k++) {
        size_t i = 0;

        while (i < data->x.rows && data->y[i] != classes->labels[k])
            i++;
        if (i == data->x.rows)
            warn("--weight: no example has label %s", classes->names[k]);
    }
}

/* ---- Scaling ---- */

/* Scales in place, by ranges of the data or of a file; the model shall do the same to what it predicts. */
static void scale_training(const struct train_settings *s, const struct ranges *file, struct targets to,
                           hinge_data *data, hinge_scaling *scaling)
{
    struct ranges here = { 0 };
    hinge_error err = { 0 };

    ranges_measure(&here, data);
    if (s->scale_restore)
        warn_of_lost_features(&here, file, s->scale_restore);
    *scaling = ranges_scaling(s->scale_restore ? file : &here, to.x, data->x.cols);
    check(hinge_scaling_apply(scaling, &data->x, (double *)data->x.data, data->x.stride, &err), &err);
    ranges_free(&here);
}

/* Reads the training file, scaled if wanted. */
static void load_training(struct train_settings *s, hinge_data *data, hinge_scaling *scaling)
{
    int precomputed = s->params.kernel.type == HINGE_PRECOMPUTED;
    struct targets to = { .x = { s->scale_lower, s->scale_upper } };
    struct data_flags flags = s->data;
    struct ranges file = { 0 };

    if (s->scale_restore)
        ranges_read(&file, &to, s->scale_restore);
    if (to.scale_y)
        warn("%s: its range of labels is left alone: train scales features only", s->scale_restore);
    if (s->scale || s->online.solver)
        flags.type = HINGE_F64;
    /* a model's scaling is told of all features */
    flags.drop_empty = !precomputed && (!s->scale || (s->folds && !s->scale_restore));
    load_data(s->data_path, &flags, file.count, precomputed, s->params.threads, data);
    if (s->scale && s->folds && !s->scale_restore) { /* each fold fits the ranges of what it trains on */
        *scaling = (hinge_scaling){ .lower = to.x.low, .upper = to.x.high };
        s->params.scaling = scaling;
    } else if (s->scale) {
        scale_training(s, &file, to, data, scaling);
    }
    ranges_free(&file);
    count_dropped(&s->params.kernel, data, &flags);
}

/* ---- The run ---- */

struct train_run {
    hinge_data data, weights, test;
    size_t *index;
    hinge_scaling scaling; /* low NULL: there is none, or each fold has its own */
    hinge_model *model;
    hinge_report report;
    hinge_certificate certificate;
    struct score score;
    double seconds_load, seconds_save, seconds_predict;
    double seconds_system; /* system time of all threads in training, in which new pages count */
    uint64_t page_faults;
    double seconds_floor; /* seconds of a pass over support vectors x examples; NaN: not measured */
    size_t rows_floor;    /* number of examples that it was measured on */
};

static void load(struct train_settings *s, struct train_run *run)
{
    double start = now();

    load_training(s, &run->data, &run->scaling);
    drop_words(&run->data, s->params.task);
    if (s->params.task != HINGE_ONE_CLASS || s->folds)
        need_labels(s->data_path, &run->data, "train on", "--labels");
    warn_of_labels(s->data_path, &s->data, s->params.task, &run->data);
    s->params.precomputed_index = run->index = precomputed_index(&run->data, s->data_path);
    if (s->weights) {
        load_weights(s->weights, run->data.x.rows, &run->weights);
        s->params.weights = run->weights.x.data;
    }
    find_labels(s, &run->data);
    run->seconds_load = now() - start;
    if (s->verbose)
        fprintf(stderr, "%zu examples of %zu features%s, read in %.3f s\n", run->data.x.rows, run->data.x.cols,
                run->data.columns ? " that are not 0 in all of them" : "", run->seconds_load);
}

/* Limits the folds to the examples, leaving one out, as svm-train does. */
static size_t n_folds(const struct train_settings *s, size_t n)
{
    if (s->folds <= n)
        return s->folds;
    warn("-v: %zu folds of %zu examples are too many: each is left out once", s->folds, n);
    return n;
}

static hinge_status cross_validate(const struct train_settings *s, struct train_run *run, hinge_error *err)
{
    size_t n = run->data.x.rows;
    double *predictions = allocate(n, sizeof *predictions);
    hinge_status status = hinge_cross_validate(&run->data.x, run->data.y, &s->params, n_folds(s, n), predictions,
                                               &run->report, err);

    if (status == HINGE_OK)
        run->score = score_predictions(s->params.task, s->params.tau, n, predictions, run->data.y);
    free(predictions);
    return status;
}

/* One pass over the kernel, support vectors times examples, in blocks and mapped, by predicting as many examples as
 * take some 20 ms, all of them at most: the better of two times, extrapolated to all. The values are summed, not
 * stored. */
static void measure_floor(const struct train_settings *s, struct train_run *run)
{
    enum { AT_FIRST = 2048, RUNS = 2 };
    const hinge_report *r = &run->report;
    hinge_predict_options options = { .threads = r->threads, .precision = r->precision,
                                      .cpu_level = s->params.cpu_level };
    hinge_matrix some = run->data.x;
    size_t all = some.rows;
    double least = INFINITY, *labels = allocate(all, sizeof *labels);

    run->seconds_floor = NAN;
    if (r->rank > 0 || r->n_sv == 0 || s->params.kernel.type == HINGE_LINEAR) { /* no kernel rows were needed */
        free(labels);
        return;
    }
    for (size_t rows = AT_FIRST; isinf(least); rows *= 4) {
        some.rows = rows < all ? rows : all;
        for (int k = 0; k < RUNS; k++) {
            double start = now();
            hinge_error err = { 0 };
            check(hinge_predict(run->model, &some, &options, labels, NULL, &err), &err);
            least = fmin(least, now() - start);
        }
        if (least < 0.02 && some.rows < all)
            least = INFINITY; /* too short: more of them */
    }
    run->rows_floor = some.rows;
    run->seconds_floor = least * (double)all / (double)some.rows;
    free(labels);
}

static double seconds_of(const struct timeval *t)
{
    return (double)t->tv_sec + 1e-6 * (double)t->tv_usec;
}

static void train(struct train_settings *s, struct train_run *run)
{
    struct rusage before, after;
    struct display display = display_of(s);
    hinge_error err = { 0 };
    hinge_status status = HINGE_OK;

    s->params.progress = on_progress;
    s->params.progress_arg = &display;
    s->params.profile = s->profile;
    catch_interrupt(1);
    getrusage(RUSAGE_SELF, &before);
    if (s->online.solver) {
        display.limit = s->params.time_limit;
        run->model = online_train(&s->online, &run->data, s->data_path, &s->params);
        run->report.outcome = display.outcome;
    } else if (s->folds) {
        status = cross_validate(s, run, &err);
    } else {
        status = hinge_train(&run->model, &run->data.x, run->data.y, &s->params, &run->report, &err);
    }
    getrusage(RUSAGE_SELF, &after);
    catch_interrupt(0);
    wipe(&display);
    check(status, &err);
    run->seconds_system = seconds_of(&after.ru_stime) - seconds_of(&before.ru_stime);
    run->page_faults = (uint64_t)(after.ru_minflt - before.ru_minflt);
    run->seconds_floor = NAN;
    if (s->profile && run->model) /* it takes what it was trained on, until it is told of the scaling */
        measure_floor(s, run);
    if (run->scaling.low && run->model)
        check(hinge_scaling_attach(&run->scaling, run->model, &err), &err);
    if (run->data.columns && run->model)
        check(hinge_model_set_columns(run->model, run->data.columns, run->data.x.cols, &err), &err);
    if (run->model && hinge_model_labels(run->model))
        check(hinge_model_set_words(run->model, &run->data.words, &err), &err);
    if (s->record && run->model)
        check(hinge_model_set_training(run->model, &s->params, &err), &err);
    if (run->report.outcome == HINGE_NONFINITE)
        die(EXIT_DATA, "the kernel produced NaN or infinity, so there is no model: scale the data, or lower "
                       "gamma or the degree");
}

static void save(const struct train_settings *s, struct train_run *run)
{
    double start = now();

    save_model(run->model, s->model_path);
    run->seconds_save = now() - start;
}

/* Reads the test file before a long training, so that what is wrong with it is said at once. */
static void read_test(const struct train_settings *s, struct train_run *run)
{
    struct data_flags flags = s->data;

    if (!s->test)
        return;
    flags.labels = s->test_labels;
    flags.columns = run->data.columns;
    flags.n_columns = run->data.x.cols;
    flags.words = run->data.labelled && run->data.words.count ? &run->data.words : NULL;
    load_test(s->test, &flags, run->data.x.cols, s->params.kernel.type == HINGE_PRECOMPUTED, s->params.threads,
              &run->test);
    need_labels(s->test, &run->test, "compare with", "--test-labels");
}

static void test(const struct train_settings *s, struct train_run *run)
{
    hinge_predict_options options = { .threads = s->params.threads, .cpu_level = s->params.cpu_level };
    double *labels, start;
    hinge_error err = { 0 };

    fit_test(run->model, &run->test);
    warn_of_unknown_labels(s->test, &run->test, run->model);
    labels = allocate(run->test.x.rows, sizeof *labels);
    start = now();
    check(hinge_predict(run->model, &run->test.x, &options, labels, NULL, &err), &err);
    run->seconds_predict = now() - start;
    run->score = score_predictions(s->params.task, s->params.tau, run->test.x.rows, labels, run->test.y);
    free(labels);
}

static void certify(const struct train_settings *s, struct train_run *run)
{
    hinge_error err = { 0 };

    check(hinge_certify(run->model, &run->data.x, run->data.y, &s->params, &run->certificate, &err), &err);
}

/* ---- Reports ---- */

static uint64_t peak_bytes(void)
{
    struct rusage used;

    return getrusage(RUSAGE_SELF, &used) ? 0 : (uint64_t)used.ru_maxrss * 1024;
}

static const char *precision_name(int precision)
{
    for (const struct choice *c = choice_precision; c->name; c++)
        if (c->value == precision)
            return c->name;
    return "?";
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
    json_text(j, "precision", precision_name((int)r->precision));
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
    const hinge_kernel *kernel = &p->kernel;
    const hinge_task_row *task = hinge_task_info(p->task);

    json_text(j, "task", task->keyword);
    json_text(j, "kernel", hinge_kernel_keyword(kernel->type));
    if (kernel->type == HINGE_POLYNOMIAL)
        json_count(j, "degree", (uint64_t)kernel->degree);
    if (has_gamma(kernel->type))
        json_real(j, "gamma", kernel->gamma == HINGE_GAMMA_AUTO ? 1.0 / (double)run->data.x.cols : kernel->gamma);
    if (kernel->type == HINGE_POLYNOMIAL || kernel->type == HINGE_SIGMOID)
        json_real(j, "coef0", kernel->coef0);
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
    printf("%-16s %s, recomputed %d times\n", "precision", precision_name((int)r->precision), r->corrections);
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

/* Tells whether Ctrl-C came, and not after the last step. */
static int was_stopped(const hinge_report *r)
{
    return interrupted && r->outcome != HINGE_CONVERGED;
}

static void print_warnings(const struct train_settings *s, const struct train_run *run)
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
    if (was_stopped(r) && s->folds)
        die(EXIT_STOPPED, "interrupted, so the cross-validation is not complete");
    if (r->outcome == HINGE_TIME_LIMIT && s->folds)
        die(EXIT_DATA, "the time limit was reached, so the cross-validation is not complete");
    if (was_stopped(r))
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

static char *default_model_path(const char *data_path)
{
    const char *name = base_name(data_path);
    size_t size = strlen(name) + sizeof ".model";
    char *path = allocate(size, 1);

    snprintf(path, size, "%s.model", name);
    return path;
}

static void release(struct train_settings *s, struct train_run *run)
{
    hinge_model_free(run->model);
    hinge_data_free(&run->data);
    hinge_data_free(&run->weights);
    hinge_data_free(&run->test);
    free(run->index);
    free(run->scaling.low);
    free(run->scaling.high);
    free_class_weights(&s->classes);
}

int command_train(int argc, char **argv)
{
    struct train_settings s = { 0 };
    struct train_run run = { 0 };
    char *own_path = NULL;

    read_options(argc, argv, &s);
    if (!s.model_path)
        s.model_path = own_path = default_model_path(s.data_path);
    restart_if_slow(!s.no_restart, s.verbose);
    if (!s.folds)
        check_writable(s.model_path);
    load(&s, &run);
    read_test(&s, &run);
    train(&s, &run);
    if (!s.folds)
        save(&s, &run);
    print_warnings(&s, &run);
    if (s.certify)
        certify(&s, &run);
    if (s.test)
        test(&s, &run);
    if (s.json)
        print_json(&s, &run);
    else if (!s.quiet)
        print_table(&s, &run);
    if (s.folds && !s.json)
        print_cross_validation(&run.score);
    finish_stdout();
    release(&s, &run);
    free(own_path);
    return was_stopped(&run.report) ? EXIT_STOPPED : 0;
}

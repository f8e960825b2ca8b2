/*
 * hinge train: svm-train's options and those of hinge, the run, certificate and test.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "progress.h"
#include "cmd_train.h"

/* ---- Options ---- */

static const struct choice choice_multiclass[] = { { "ovo", HINGE_ONE_VS_ONE },
                                                   { "ovr", HINGE_ONE_VS_REST },
                                                   { "one_vs_one", HINGE_ONE_VS_ONE },
                                                   { "one_vs_rest", HINGE_ONE_VS_REST },
                                                   { NULL, 0 } };
static const struct choice choice_solver[] = { { "auto", HINGE_SOLVER_AUTO },
                                               { "smo", HINGE_SOLVER_SMO },
                                               { "ipm", HINGE_SOLVER_INTERIOR_POINT },
                                               { "interior-point", HINGE_SOLVER_INTERIOR_POINT },
                                               { "perceptron", SOLVER_PERCEPTRON },
                                               { "sgd", SOLVER_SGD },
                                               { NULL, 0 } };
static const struct choice choice_loss[] = { { "hinge", HINGE_LOSS_HINGE },
                                             { "logistic", HINGE_LOSS_LOGISTIC },
                                             { "exponential", HINGE_LOSS_EXPONENTIAL },
                                             { "perceptron", HINGE_LOSS_PERCEPTRON },
                                             { NULL, 0 } };

/* Takes the next word too, if it is two numbers with a comma between them. */
static void parse_scale(const struct option_use *use, void *field)
{
    struct train_settings *s = field;
    double number[2];
    int ends = numbers_with_commas(use->text ? use->text : option_peek(use, 0), number, COUNT_OF(number));
    s->scale = 1;
    if (use->text && !ends)
        die(EXIT_USAGE, "%s: '%s' is not LOWER,UPPER", use->shown, use->text);
    if (!ends)
        return;
    if (!use->text)
        option_next(use);
    s->scale_lower = number[0];
    s->scale_upper = number[1];
}

#define FIELD(name) offsetof(struct train_settings, name)
static const struct tool_option problem_options[] = {
    { 's', "type", "TASK", parse_task, FIELD(params.task), NULL,
      "choose the task by number or name: 0 c_svc,\n1 nu_svc, 2 one_class, 3 epsilon_svr, 4 nu_svr,\n5 quantile (0)" },
    { 0, "svm-type", "TASK", parse_task, FIELD(params.task), NULL, NULL },
    { 't', "kernel", "KERNEL", parse_kernel, FIELD(params.kernel), NULL,
      "0 linear     <x,z>\n1 polynomial (gamma <x,z> + coef0)^degree\n2 rbf        exp(-gamma |x-z|^2)\n"
      "3 sigmoid    tanh(gamma <x,z> + coef0)\n4 precomputed, the file holds kernel values\n"
      "6 matern32   (1 + r) exp(-r), r = sqrt(gamma) |x-z|\n7 matern52   (1 + r + r^2/3) exp(-r)\n"
      "8 laplacian  exp(-gamma sum |x_c-z_c|)\n"
      "9 chi2       exp(-gamma sum (x_c-z_c)^2/(x_c+z_c))\n"
      "10 tanimoto  sum min(x_c,z_c) / sum max(x_c,z_c) (2)\nor a sum of products of those by name, on groups of\n"
      "columns: 'rbf(1-10,gamma=0.1)+2*linear(11-20)'" },
    OPTION_DEGREE(params.kernel.degree),
    OPTION_GAMMA(params.kernel.gamma),
    OPTION_COEF0(params.kernel.coef0),
    { 'c', "cost", "C", parse_cost, FIELD(params.C), &range_positive,
      "set C of c_svc, epsilon_svr, nu_svr, quantile (1);\ninf is the hard margin of c_svc, the hard tube of\n"
      "epsilon_svr" },
    { 'n', "nu", "NU", parse_real, FIELD(params.nu), &range_01, "set nu of nu_svc, one_class, nu_svr (0.5)" },
    OPTION_TUBE(params.p),
    { 0, "tau", "TAU", parse_real, FIELD(params.tau), &range_inside_01,
      "set the level of quantile, below 1: the share of\ntargets at or below the prediction (0.5)" },
    OPTION_EPS(params.eps),
    { 0, "eps", "EPS", parse_real, FIELD(params.eps), &range_positive, NULL },
    { 'w', "weight", "I=W", parse_weight, FIELD(classes), &range_not_negative,
      "multiply C of class I, a number or a word, by W;\nalso -wI W" },
    OPTION_FILE("weights", weights, "multiply C of each example: one number a line,\nor .npy"),
    OPTION_FLAG("no-bias", params.no_bias, "train f = <w,phi(x)> without threshold; not for\ntasks with nu"),
    { 0, "positive", "LABEL", parse_text, FIELD(positive), NULL,
      "make this class the model's first, whose decision\nvalues are > 0 (chosen by the file)" },
    { 0, "multiclass", "HOW", parse_choice, FIELD(params.multiclass), choice_multiclass,
      "train three classes or more by ovo, one-vs-one, or\novr, one-vs-rest (ovo)" },
    { 'b', "probability", "0|1", parse_choice, FIELD(params.probability), choice_off_on,
      "calibrate the model for predict -b 1, by 5-fold\ncross-validation: 1 yes, 0 no (0)" },
    { 'v', "folds", "N", parse_size, FIELD(folds), &range_folds,
      "cross-validate in N folds and write no model; c_svc\nand epsilon_svr of 5000 examples or more stop at a\n"
      "violation of 0.1 if not told by -e" },
};
static const struct tool_option scale_options[] = {
    { 0, "scale", "[L,U]", parse_scale, 0, NULL,
      "scale each feature to [L, U], without them [-1, 1],\nby its range in the training file (with -v and in a\n"
      "grid: in what each fold trains on). The model keeps\nthe scaling and takes raw data" },
    { 0, "scale-lower", "L", parse_real, FIELD(scale_lower), &range_any, "scale as --scale, to L instead of -1" },
    { 0, "scale-upper", "U", parse_real, FIELD(scale_upper), &range_any, "scale as --scale, to U instead of 1" },
    OPTION_FILE("scale-restore", scale_restore,
                "scale as --scale, by the ranges that svm-scale -s\nor hinge scale -s saved in FILE"),
};
static const struct tool_option run_options[] = {
    { 0, "solver", "S", parse_choice, FIELD(params.solver), choice_solver,
      "solve by auto, smo or ipm, the interior point\n(auto); for two classes and -t linear also by\n"
      "perceptron or sgd" },
    { 0, "epochs", "N", parse_size, FIELD(online.epochs), &range_positive,
      "run at most N rounds of perceptron (1000), N passes\nof sgd over the examples (by their size and C)" },
    { 0, "batch", "N", parse_size, FIELD(online.batch), &range_positive,
      "take N examples a step in perceptron (all), sgd (1)" },
    { 0, "loss", "LOSS", parse_choice, FIELD(online.loss), choice_loss,
      "sum the loss hinge, logistic, exponential or\nperceptron in sgd (hinge)" },
    { 0, "ball", "R", parse_real, FIELD(online.ball), &range_positive,
      "minimise the mean loss subject to |w|^2 <= R in sgd,\ninstead of -c" },
    { 0, "rank", "R", parse_size, FIELD(params.rank), &range_positive,
      "give the interior point a factor of the kernel\nmatrix with R columns (all of linear, 1000 of other\n"
      "kernels)" },
    { 'm', "cache", "SIZE", parse_bytes, FIELD(params.cache_bytes), NULL,
      "use SIZE MB of memory for kernel rows, or with K, M,\nG, T (by the data and the machine)" },
    { 'h', "shrinking", "0|1", parse_choice, FIELD(params.shrinking), choice_off_on,
      "set aside examples likely to stay at a bound: 1 yes,\n0 no (1)" },
    { 0, "newton", "0|1", parse_choice, FIELD(params.newton), choice_off_on,
      "end by Newton's steps where that is less work: 1\nyes, 0 no (1)" },
    OPTION_THREADS(params.threads),
    OPTION_PRECISION(params.precision, "rows"),
    OPTION_MAKER(params.maker, "gemm,\npanels, lists, counts or integers (auto)"),
    { 0, "time-limit", "S", parse_real, FIELD(params.time_limit), &range_positive,
      "stop after S seconds and save the model so far" },
    { 0, "max-iter", "N", parse_count, FIELD(params.max_iter), &range_positive,
      "stop each two-class problem after N steps and save\nthe model so far" },
    { 0, "working-set", "Q", parse_size, FIELD(params.working_set), &range_positive,
      "take Q examples into a working set (by how many\nthere are)" },
    { 0, "seed", "N", parse_count, FIELD(params.seed), &range_not_negative, "start random choices from N (0)" },
    OPTION_LEVEL(params.cpu_level),
    OPTION_NO_RESTART(no_restart),
};
static const struct tool_option target_options[] = {
    OPTION_FILE("targets", targets,
                "train on each column of FILE, in place of the\nlabels: a value an example, or with -s c_svc 1 or -1;\n"
                "CSV without labels, or .npy"),
};
static const struct tool_option output_options[] = {
    OPTION_QUIET(quiet),
    OPTION_VERBOSE(verbose),
    OPTION_JSON(json),
    OPTION_FLAG("certify", certify, "recompute primal, dual, gap and residuals in f64"),
    OPTION_FLAG("profile", profile, "tell where the time went, and what one pass over the\nkernel takes"),
    OPTION_RECORD(record),
    OPTION_FILE("test", test, "predict FILE and report how well"),
    { 0, "test-labels", "FILE.npy", parse_text, FIELD(test_labels), NULL,
      "read the labels of --test from FILE.npy, if that is\n.npy" },
};

static const char usage[] =
    "usage: hinge train [options] training_file [model_file]\n\n"
    "Trains a support vector machine and writes model_file, by default the name of the training\n"
    "file with .model added, in the current folder. Ctrl-C saves the best model so far; a second one\n"
    "ends at once.";

struct command_line train_line(struct train_settings *s, const char *text, size_t first)
{
    const struct option_group groups[TRAIN_GROUPS] = {
        OPTION_GROUP("Problem (default in parentheses):", problem_options, s),
        OPTION_GROUP("Scaling:", scale_options, s),
        OPTION_GROUP("Run:", run_options, s),
        DATA_GROUP(&s->data),
    };
    struct command_line line = { text, { { 0 } }, 1, "a training file is needed", { &s->data_path, &s->model_path },
                                 NULL };
    memcpy(line.groups + first, groups, sizeof groups);
    s->params = hinge_params_default(HINGE_C_SVC);
    s->params.eps = 0; /* until train_settle_options */
    s->scale_lower = s->scale_upper = NAN;
    return line;
}

void train_settle_options(struct train_settings *s)
{
    int ends = !isnan(s->scale_lower) || !isnan(s->scale_upper);
    s->eps_open = s->params.eps == 0;
    if (s->eps_open)
        s->params.eps = hinge_params_default(s->params.task).eps;
    if (ends && s->scale_restore)
        die(EXIT_USAGE, "leave out --scale-lower and -upper: the file of --scale-restore has them");
    if (ends || s->scale_restore)
        s->scale = 1;
    if (isnan(s->scale_lower))
        s->scale_lower = -1;
    if (isnan(s->scale_upper))
        s->scale_upper = 1;
    if (!(s->scale_lower < s->scale_upper))
        die(EXIT_USAGE, "--scale-lower %g must be below --scale-upper %g", s->scale_lower, s->scale_upper);
    combined_has_no_more(&s->params.kernel);
    if (s->scale && s->params.kernel.type == HINGE_PRECOMPUTED)
        die(EXIT_USAGE, "--scale: the values of a precomputed kernel cannot be scaled");
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
        { p->eps > 0, "--tolerance" },
        { p->cache_bytes != none.cache_bytes, "--cache" },
        { p->shrinking != none.shrinking, "--shrinking" },
        { p->newton != none.newton, "--newton" },
        { p->rank != none.rank, "--rank" },
        { p->precision != none.precision, "--precision" },
        { p->maker != none.maker, "--maker" },
        { p->working_set != none.working_set, "--working-set" },
        { p->cpu_level != none.cpu_level, "--cpu-level" },
        { p->multiclass != none.multiclass, "--multiclass" },
    };
    int online = (int)p->solver >= SOLVER_PERCEPTRON;
    if (!online && (s->online.epochs || s->online.batch))
        die(EXIT_USAGE, "train: --%s is for --solver perceptron and sgd", s->online.epochs ? "epochs" : "batch");
    if ((int)p->solver != SOLVER_SGD && (s->online.loss || s->online.ball > 0))
        die(EXIT_USAGE, "train: --%s is for --solver sgd", s->online.loss ? "loss" : "ball");
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
    struct command_line line = train_line(s, usage, 0);
    line.groups[TRAIN_GROUPS] = (struct option_group)OPTION_GROUP("Several targets:", target_options, s);
    line.groups[TRAIN_GROUPS + 1] = (struct option_group)OPTION_GROUP("Output:", output_options, s);
    parse_command(argc, argv, &line);
    if (s->folds && (s->test || s->certify))
        die(EXIT_USAGE, "train: leave out %s or -v, which trains no model", s->test ? "--test" : "--certify");
    read_online(s);
    targets_check(s);
    train_settle_options(s);
}

/* ---- Data ---- */

/* Makes the index of each row's column of the kernel matrix, from the 0: entries of the file. */
static size_t *precomputed_index(const hinge_data *data, const char *path)
{
    size_t *index;
    if (!data->serial)
        return NULL;
    index = allocate(data->x.rows, sizeof *index);
    for (size_t i = 0; i < data->x.rows; i++) {
        index[i] = data->serial[i] - 1;
        if (index[i] >= data->x.cols)
            die(EXIT_DATA, "%s:%zu: 0:%zu names no column of the kernel matrix, which has 1 to %zu", path, i + 1,
                data->serial[i], data->x.cols);
    }
    return index;
}

/* Finds the labels that options name, and warns of weights that are no example's. */
static void find_labels(struct train_settings *s, const hinge_data *data)
{
    const struct class_weights *classes = &s->classes;
    set_class_weights(&s->params, &s->classes, &data->words);
    for (size_t k = 0; k < classes->count; k++) {
        int none = place_of(data->y, data->x.rows, classes->labels[k]) == data->x.rows;
        if (s->data.ranks ? s->data.ranks->all(none) : none)
            warn("--weight: no example has label %s", classes->names[k]);
    }
    if (!s->positive)
        return;
    s->positive_label = label_named("--positive", s->positive, &data->words);
    int none = place_of(data->y, data->x.rows, s->positive_label) == data->x.rows;
    if (s->data.ranks ? s->data.ranks->all(none) : none)
        die(EXIT_USAGE, "--positive: no example has label %s", s->positive);
    s->params.positive_class = &s->positive_label;
}

/* ---- Scaling ---- */

/* Measures the ranges of the data, over ranks those of all. */
static void measure_ranges(const struct train_settings *s, struct ranges *ranges, const hinge_data *data)
{
    ranges_measure(ranges, data);
    if (s->data.ranks)
        s->data.ranks->span(&ranges->x, data->x.rows);
}

/* Warns of features for which the file of --scale-restore has no range, and gives each of the data one. */
static void restore_ranges(const struct train_settings *s, struct ranges *file, const hinge_data *data)
{
    struct ranges here = { 0 };
    measure_ranges(s, &here, data);
    warn_of_lost_features(&here, file, s->scale_restore);
    ranges_free(&here);
    ranges_grow(file, data->x.cols);
}

/* Reads the training file, scaled if wanted: in place, unless ranges are fitted to what each fold trains on, or rows of
 * ranks need no values of eight bytes for it, which the library does. Folds of a calibration have the ranges of all. */
static void load_training(struct train_settings *s, hinge_data *data, hinge_scaling *scaling)
{
    int ranks = s->data.ranks != NULL, by_library = ranks && !s->params.probability;
    int in_place = s->scale && !by_library && (!s->folds || s->scale_restore);
    struct data_flags flags = s->data;
    struct ranges ranges = { .x = { .lower = s->scale_lower, .upper = s->scale_upper } };
    if (s->scale_restore)
        ranges_read(&ranges, s->scale_restore);
    if (ranges.scale_y && !ranks)
        warn("%s: its range of labels is left alone: train scales features only", s->scale_restore);
    flags.read.precomputed = s->params.kernel.type == HINGE_PRECOMPUTED;
    if ((s->scale && !by_library) || s->online.solver)
        flags.read.type = HINGE_F64;
    /* a model's scaling is told of all features */
    int numbered = flags.read.precomputed || s->params.kernel.type == HINGE_COMBINED; /* by its columns */
    flags.read.drop_empty = !ranks && !numbered && (!s->scale || (!in_place && !s->grid));
    load_data(s->data_path, &flags, ranges.x.n_features, s->params.threads, data);
    check_features(s->data_path, &s->data, data);
    if (s->scale_restore)
        restore_ranges(s, &ranges, data);
    else if (in_place)
        measure_ranges(s, &ranges, data);
    if (in_place)
        check(hinge_scaling_apply(&ranges.x, &data->x, (double *)data->x.data, data->x.stride, &failure));
    *scaling = ranges.x;
    if (s->scale && !in_place)
        s->params.scaling = scaling;
    count_dropped(&s->params.kernel, data, &flags);
}

/* ---- The run ---- */

/* The tolerance of -v where -e gives none: 0.001, or, where a row more or less right is not seen, that of a grid's
 * folds (doc/model-selection.md), which takes half the time. A small C makes decision values small. */
static double eps_of_folds(const hinge_params *p, size_t n)
{
    double eps = hinge_params_default(p->task).eps, most = 0.1;
    if (n < 5000 || (p->task != HINGE_C_SVC && p->task != HINGE_EPSILON_SVR))
        return eps;
    most *= p->C < 1 ? p->C : 1;
    if (p->task == HINGE_EPSILON_SVR && p->p < most)
        most = p->p;
    return most > eps ? most : eps;
}

/* Limits the folds to the examples, leaving one out, as svm-train does. */
static void limit_folds(struct train_settings *s, size_t n)
{
    if (s->folds <= n)
        return;
    if (n == 1)
        die(EXIT_DATA, "%s: cross-validation needs 2 examples or more, and here is one", s->data_path);
    warn("-v: %zu folds of %zu examples are too many: each is left out once", s->folds, n);
    s->folds = n;
}

void train_load(struct train_settings *s, struct train_run *run)
{
    const struct ranks *ranks = s->data.ranks;
    double start = now();
    size_t rows;
    load_training(s, &run->data, &run->scaling);
    rows = run->data.x.rows;
    limit_folds(s, ranks ? ranks->rows(rows) : rows);
    if (s->folds && s->eps_open)
        s->params.eps = eps_of_folds(&s->params, ranks ? ranks->rows(rows) : rows);
    drop_words(&run->data, s->params.task);
    if (s->targets)
        targets_read(s->targets, run);
    else if (s->params.task != HINGE_ONE_CLASS || s->folds)
        need_labels(s->data_path, &run->data, "train on", "--labels");
    if (!ranks && !s->targets) /* whose labels are those of all together */
        warn_of_labels(s->data_path, &s->data, s->params.task, &run->data);
    s->params.precomputed_index = run->index = precomputed_index(&run->data, s->data_path);
    if (s->weights)
        s->params.weights = run->weights = (ranks ? ranks->weights : load_weights)(s->weights, rows);
    find_labels(s, &run->data);
    run->seconds_load = now() - start;
    if (s->verbose && !ranks)
        fprintf(stderr, "%zu examples of %zu features%s, read in %.3f s\n", run->data.x.rows, run->data.x.cols,
                run->data.columns ? " that are not 0 in all of them" : "", run->seconds_load);
}

static hinge_status train(struct train_settings *s, struct train_run *run)
{
    if (s->data.ranks)
        return s->data.ranks->train(s, run);
    if (s->targets)
        return hinge_train_many(&run->model, &run->data.x, &run->targets, &s->params, &run->report, &failure);
    return hinge_train(&run->model, &run->data.x, run->data.y, &s->params, &run->report, &failure);
}

static hinge_status cross_validate(struct train_settings *s, struct train_run *run)
{
    size_t rows = run->data.x.rows, n;
    double *predictions = allocate(rows, sizeof *predictions), *truth = allocate(rows, sizeof *truth);
    hinge_status status;
    if (rows)
        memcpy(truth, run->data.y, rows * sizeof *truth);
    if (s->data.ranks)
        status = s->data.ranks->cross_validate(s, run, predictions);
    else
        status =
            hinge_cross_validate(&run->data.x, run->data.y, &s->params, s->folds, predictions, &run->report, &failure);
    if (status == HINGE_OK) {
        predictions = gather_rows(&s->data, predictions, rows, 1, &n);
        truth = gather_rows(&s->data, truth, rows, 1, &n);
        if (predictions)
            run->score = score_predictions(s->params.task, s->params.tau, n, predictions, truth);
    }
    free(predictions);
    free(truth);
    return status;
}

/* One pass over the kernel, support vectors times examples, in blocks and mapped, by predicting as many examples as
 * take some 20 ms, all of them at most: the better of two times, extrapolated to all. The values are summed, not
 * stored. */
static void measure_floor(const struct train_settings *s, struct train_run *run)
{
    enum { AT_FIRST = 2048, RUNS = 2 };
    const hinge_report *r = &run->report;
    hinge_predict_options options = { .threads = r->threads,
                                      .precision = r->precision,
                                      .cpu_level = s->params.cpu_level };
    hinge_matrix some = run->data.x;
    size_t all = some.rows;
    double least = 0, *labels;
    if (r->rank > 0 || r->n_sv == 0 || s->params.kernel.type == HINGE_LINEAR) /* no kernel rows were needed */
        return;
    labels = allocate(all, sizeof *labels);
    some.rows = 0;
    for (size_t rows = AT_FIRST; least < 0.02 && some.rows < all; rows *= 4) { /* too short: more of them */
        some.rows = rows < all ? rows : all;
        least = INFINITY;
        for (int k = 0; k < RUNS; k++) {
            double start = now();
            check(hinge_predict(run->model, &some, &options, labels, NULL, &failure));
            least = fmin(least, now() - start);
        }
    }
    run->rows_floor = some.rows;
    run->seconds_floor = least * (double)all / (double)some.rows;
    free(labels);
}

void train_run(struct train_settings *s, struct train_run *run)
{
    struct system_work before, after;
    struct display display = { .folds = s->folds,
                               .eps = s->params.eps,
                               .terminal = terminal_width() && !s->data.ranks };
    hinge_status status = HINGE_OK;
    if (!s->quiet)
        display.interval = display.terminal ? 0.1 : s->verbose ? 10 : 0;
    s->params.progress = display_progress;
    s->params.progress_arg = &display;
    s->params.profile = s->profile;
    catch_interrupt(1);
    before = system_work();
    if (s->online.solver) {
        display.limit = s->params.time_limit;
        run->model = online_train(&s->online, &run->data, s->data_path, &s->params);
        run->report.outcome = display.outcome;
        s->online.epochs = display.rounds;
    } else if (s->folds) {
        status = cross_validate(s, run);
    } else {
        status = train(s, run);
    }
    after = system_work();
    catch_interrupt(0);
    wipe_line();
    check(status);
    run->seconds_system = after.seconds - before.seconds;
    run->page_faults = after.page_faults - before.page_faults;
    run->seconds_floor = NAN;
    if (s->profile && run->model && !s->data.ranks) /* it takes what it was trained on, until told of the scaling */
        measure_floor(s, run);
    train_complete(s, run);
}

void train_complete(struct train_settings *s, struct train_run *run)
{
    if (run->scaling.low && run->model && !s->params.scaling)
        check(hinge_scaling_attach(&run->scaling, run->model, &failure));
    if (run->data.columns && run->model)
        check(hinge_model_set_columns(run->model, run->data.columns, run->data.x.cols, &failure));
    if (run->model && hinge_model_labels(run->model))
        check(hinge_model_set_words(run->model, &run->data.words, &failure));
    if (run->data.names.count && run->model)
        check(hinge_model_set_names(run->model, &run->data.names, run->data.target, &failure));
    if (s->record && run->model)
        check(hinge_model_set_training(run->model, &s->params, &failure));
    if (run->report.outcome == HINGE_NONFINITE && s->data.ranks)
        warn("the kernel produced NaN or infinity: scale the data, or lower gamma or the degree");
    else if (run->report.outcome == HINGE_NONFINITE)
        die(EXIT_DATA, "the kernel produced NaN or infinity, so there is no model: scale the data, or lower "
                       "gamma or the degree");
}

/* Reads the test file before a long training, so that what is wrong with it is said at once. */
static void read_test(const struct train_settings *s, struct train_run *run)
{
    struct data_flags flags = s->data;
    if (!s->test)
        return;
    flags.read.labels_path = s->test_labels;
    flags.read.columns = run->data.columns;
    flags.read.n_columns = run->data.x.cols;
    flags.read.words = run->data.labelled && run->data.words.count ? &run->data.words : NULL;
    flags.read.names = run->data.names.count ? &run->data.names : NULL;
    flags.read.target = run->data.target;
    flags.read.precomputed = s->params.kernel.type == HINGE_PRECOMPUTED;
    load_test(s->test, &flags, run->data.x.cols, s->params.threads, &run->test);
    need_labels(s->test, &run->test, "compare with", "--test-labels");
}

static void test(const struct train_settings *s, struct train_run *run)
{
    hinge_predict_options options = { .threads = s->params.threads, .cpu_level = s->params.cpu_level };
    double *labels, start;
    fit_test(run->model, &run->test);
    warn_of_unknown_labels(s->test, &run->test, run->model);
    labels = allocate(run->test.x.rows, sizeof *labels);
    start = now();
    check(hinge_predict(run->model, &run->test.x, &options, labels, NULL, &failure));
    run->seconds_predict = now() - start;
    run->score = score_predictions(s->params.task, s->params.tau, run->test.x.rows, labels, run->test.y);
    free(labels);
}

void train_release(struct train_settings *s, struct train_run *run)
{
    hinge_model_free(run->model);
    hinge_data_free(&run->data);
    hinge_data_free(&run->test);
    free(run->weights);
    free(run->target_values);
    free(run->index);
    free(run->scaling.low);
    free(run->scaling.high);
    free_class_weights(&s->classes);
    free(s->own_path);
}

int run_train(struct train_settings *s)
{
    const struct ranks *ranks = s->data.ranks;
    struct train_run run = { 0 };
    double start;
    if (!s->model_path)
        s->model_path = s->own_path = join(base_name(named_file(s->data_path)), ".model", "");
    if (!s->folds)
        (ranks ? ranks->check_output : check_writable)(s->model_path, s->data_path);
    train_load(s, &run);
    read_test(s, &run);
    train_run(s, &run);
    start = now();
    if (!s->folds && (!ranks || ranks->first()))
        save_model(run.model, s->model_path);
    run.seconds_save = now() - start;
    train_warn(s, &run);
    if (s->certify && s->targets)
        check(hinge_certify_many(run.model, &run.data.x, &run.targets, &s->params, &run.certificate, &failure));
    else if (s->certify && !ranks) /* who have it from the training */
        check(hinge_certify(run.model, &run.data.x, run.data.y, &s->params, &run.certificate, &failure));
    if (s->test)
        test(s, &run);
    if (!ranks || ranks->first())
        train_report(s, &run);
    train_release(s, &run);
    if (train_was_stopped(s, &run))
        return EXIT_STOPPED;
    return run.report.outcome == HINGE_NONFINITE ? EXIT_DATA : 0;
}

int command_train(int argc, char **argv)
{
    struct train_settings s = { 0 };
    read_options(argc, argv, &s);
    restart_if_slow(!s.no_restart, s.verbose);
    return run_train(&s);
}

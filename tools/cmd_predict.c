/*
 * hinge predict: labels or values of the examples of a file, and how well they fit those in the file.
 */
#include <stdlib.h>
#include <string.h>

#include "common.h"

struct predict_settings {
    hinge_predict_options options;
    struct data_flags data;
    const char *decisions;
    int probability, quiet, verbose, json, no_restart;
    const char *test_path, *model_path, *output_path;
};

#define FIELD(name) offsetof(struct predict_settings, name)
static const struct tool_option predict_options[] = {
    { 'b', "probability", "0|1", parse_choice, FIELD(probability), choice_off_on,
      "write the probability of each class, and the most\nprobable class as label: 1 yes, 0 no (0)" },
    OPTION_FILE("decisions", decisions,
                "write the decision values, one line for each\nexample: of classes 1 and 2, 1 and 3, ..., 2 and 3,\n"
                "...; for one-vs-rest of each class"),
    OPTION_THREADS(options.threads),
    OPTION_PRECISION(options.precision, "values"),
    OPTION_MAKER(options.maker, "gemm,\npanels, lists or integers (auto)"),
    OPTION_LEVEL(options.cpu_level),
    OPTION_NO_RESTART(no_restart),
    OPTION_QUIET(quiet),
    OPTION_VERBOSE(verbose),
    OPTION_JSON(json),
};

static const char usage[] = "usage: hinge predict [options] test_file model_file [output_file]\n\n"
                            "Predicts each example of test_file and writes one label or value a line to\n"
                            "output_file (-: standard output; none: nothing is written). With -b 1, a classifier\n"
                            "writes a header and lines `label p1 p2 ...`, and a regression prints the width\n"
                            "sigma of its Laplace distributed error.";

static void read_options(int argc, char **argv, const char *text, struct predict_settings *s)
{
    const struct command_line line = { text,
                                       { OPTION_GROUP("Options (default in parentheses):", predict_options, s),
                                         DATA_GROUP(&s->data) },
                                       2,
                                       "a test file and a model file are needed",
                                       { &s->test_path, &s->model_path, &s->output_path },
                                       NULL };
    parse_command(argc, argv, &line);
    if (is_stdout(s->output_path) + is_stdout(s->decisions) + s->json > 1)
        die(EXIT_USAGE, "predict: only one of output_file, --decisions and --json can go to standard output");
}

struct predict_run {
    hinge_model *model;
    hinge_data data;
    size_t n;                                           /* rows of all processes; data has this one's */
    double *labels, *truth, *decisions, *probabilities; /* of data, then of all */
    hinge_predict_report report;
    double sigma; /* Laplace width of a regression, 0: not wanted */
    struct score score;
    int scored;
    double seconds_model, seconds_load, seconds;
};

static void check_probability(const struct predict_settings *s, const hinge_model *model)
{
    if (s->probability && !hinge_model_has_probability(model))
        die(EXIT_DATA, "%s: the model has no probabilities: train it with -b 1, or give it some by `hinge calibrate`",
            s->model_path);
    if (!s->probability && hinge_model_has_probability(model) && s->verbose)
        fprintf(stderr, "the model has probabilities, which -b 1 writes\n");
}

static void load(const struct predict_settings *s, struct predict_run *run)
{
    double start = now();
    run->model = load_model(s->model_path);
    run->seconds_model = now() - start;
    check_probability(s, run->model);
    start = now();
    load_for_model(s->test_path, &s->data, run->model, s->options.threads, &run->data);
    run->seconds_load = now() - start;
    run->scored = run->data.labelled && hinge_model_n_targets(run->model) == 0;
    if (!run->scored && !s->output_path && !s->decisions && !s->probability && !s->json)
        die(EXIT_USAGE, "predict: nothing to do: no output_file is named, and %s has no labels to compare with",
            s->test_path);
}

static void predict(const struct predict_settings *s, struct predict_run *run)
{
    size_t n = run->data.x.rows;
    hinge_predict_options options = s->options;
    const struct ranks *ranks = s->data.ranks;
    int classes = s->probability && !hinge_task_info(hinge_model_task(run->model))->regresses;
    int many = hinge_model_n_targets(run->model) > 0;
    double start;
    run->labels = allocate(n, sizeof *run->labels);
    if (s->decisions || many)
        run->decisions = allocate(n, hinge_model_n_problems(run->model) * sizeof *run->decisions);
    if (classes)
        run->probabilities = allocate(n, hinge_model_n_classes(run->model) * sizeof *run->probabilities);
    else if (s->probability)
        run->sigma = laplace_width(run->model);
    options.report = &run->report;
    start = now();
    if (!classes || run->decisions)
        check((ranks ? ranks->predict : hinge_predict)(run->model, &run->data.x, &options, many ? NULL : run->labels,
                                                       run->decisions, &failure));
    if (classes)
        check((ranks ? ranks->probability : hinge_predict_probability)(run->model, &run->data.x, &options, run->labels,
                                                                       run->probabilities, &failure));
    run->seconds = now() - start;
}

/* Takes all processes' reports together. */
static void gather_report(const struct predict_settings *s, hinge_predict_report *report)
{
    size_t ranks, rows_f64 = 0;
    double *part = allocate(2, sizeof *part), bound = 0;
    part[0] = (double)report->rows_f64;
    part[1] = report->bound;
    part = gather_rows(&s->data, part, 1, 2, &ranks);
    for (size_t i = 0; part && i < ranks; i++) {
        rows_f64 += (size_t)part[2 * i];
        bound = part[2 * i + 1] > bound ? part[2 * i + 1] : bound;
    }
    report->rows_f64 = rows_f64;
    report->bound = bound;
    free(part);
}

/* Takes what all have predicted in place of this process's part. */
static void gather(const struct predict_settings *s, struct predict_run *run)
{
    size_t n = run->data.x.rows;
    run->truth = allocate(n, sizeof *run->truth);
    if (n)
        memcpy(run->truth, run->data.y, n * sizeof *run->truth);
    gather_report(s, &run->report);
    run->labels = gather_rows(&s->data, run->labels, n, 1, &run->n);
    run->truth = gather_rows(&s->data, run->truth, n, 1, &run->n);
    if (run->decisions)
        run->decisions = gather_rows(&s->data, run->decisions, n, hinge_model_n_problems(run->model), &run->n);
    if (run->probabilities)
        run->probabilities = gather_rows(&s->data, run->probabilities, n, hinge_model_n_classes(run->model), &run->n);
}

/* Compares the labels of the file with those predicted. */
static void score(const struct predict_settings *s, struct predict_run *run)
{
    hinge_data whole = run->data;
    whole.x.rows = run->n;
    whole.y = run->truth;
    warn_of_unknown_labels(s->test_path, &whole, run->model);
    if (!run->scored)
        return;
    run->score =
        score_predictions(hinge_model_task(run->model), hinge_model_tau(run->model), run->n, run->labels, run->truth);
}

/* Writes one label or value a line. */
static void write_labels(const char *path, const struct predict_run *run)
{
    struct output out;
    char room[LABEL_ROOM];
    output_open(&out, path);
    for (size_t i = 0; i < run->n; i++)
        fprintf(out.file, "%s\n", label_text(hinge_model_words(run->model), run->labels[i], 17, room));
    output_close(&out);
}

static void write_table(const char *path, const double *values, size_t rows, size_t cols)
{
    struct output out;
    output_open(&out, path);
    for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < cols; k++)
            fprintf(out.file, "%.17g%c", values[i * cols + k], k + 1 < cols ? ' ' : '\n');
    output_close(&out);
}

/* Writes a label among others in a line: in quotes where it holds a blank. */
static void put_label(FILE *file, const struct predict_run *run, double label)
{
    char room[LABEL_ROOM];
    const char *text = label_text(hinge_model_words(run->model), label, 17, room);
    fprintf(file, strchr(text, ' ') ? "\"%s\"" : "%s", text);
}

/* Writes svm-predict's layout: a header, then the label and the probability of each class. */
static void write_probabilities(const char *path, const struct predict_run *run)
{
    const double *classes = hinge_model_labels(run->model), *p = run->probabilities;
    size_t n_classes = hinge_model_n_classes(run->model);
    struct output out;
    output_open(&out, path);
    fputs(classes ? "labels" : "label normal outlier", out.file);
    for (size_t k = 0; classes && k < n_classes; k++) {
        fputc(' ', out.file);
        put_label(out.file, run, classes[k]);
    }
    fputc('\n', out.file);
    for (size_t i = 0; i < run->n; i++) {
        put_label(out.file, run, run->labels[i]);
        for (size_t k = 0; k < n_classes; k++)
            fprintf(out.file, " %g", *p++);
        fputc('\n', out.file);
    }
    output_close(&out);
}

static void print_json(const struct predict_run *run, const struct predict_settings *s)
{
    hinge_machine machine = hinge_machine_info();
    struct json j = { 0 };
    json_open(&j, NULL, '{');
    json_put(&j, "seconds %g, seconds_load %g, seconds_model %g", run->seconds, run->seconds_load, run->seconds_model);
    json_put(&j, "n %zu, d %zu, n_sv %zu", run->n, run->data.x.cols, hinge_model_n_sv(run->model));
    json_put(&j, "rows_f64 %zu, bound %g, promise %g", run->report.rows_f64, run->report.bound, run->report.promise);
    json_put(&j, "threads %d, blas %s", s->options.threads ? s->options.threads : machine.threads, machine.blas);
    if (run->sigma > 0)
        json_put(&j, "sigma %g", run->sigma);
    if (run->scored)
        json_score(&j, &run->score);
    json_close(&j, '}');
}

/* Prints what svm-predict prints, on standard error if the labels go to standard output. */
static void print_text(const struct predict_run *run, const struct predict_settings *s)
{
    FILE *file = is_stdout(s->output_path) || is_stdout(s->decisions) ? stderr : stdout;
    if (run->sigma > 0)
        fprintf(file,
                "Prob. model for test data: target value = predicted value + z,\n"
                "z: Laplace distribution e^(-|z|/sigma)/(2sigma),sigma=%g\n",
                run->sigma);
    if (run->scored)
        print_score(file, &run->score, 0);
    if (s->verbose)
        fprintf(file, "%zu examples, %zu support vectors: %.3f s (loading %.3f s, model %.3f s)\n", run->n,
                hinge_model_n_sv(run->model), run->seconds, run->seconds_load, run->seconds_model);
    if (s->verbose && run->report.rows_f64 == run->n)
        fprintf(file, "all of them in double precision\n");
    else if (s->verbose)
        fprintf(file, "%zu of them in double precision; no decision value of the others is off by more than %.2g\n",
                run->report.rows_f64, run->report.bound);
}

/* Writes and prints what was asked for. */
static void tell(const struct predict_settings *s, const struct predict_run *run)
{
    if (s->output_path && run->probabilities)
        write_probabilities(s->output_path, run);
    else if (s->output_path && hinge_model_n_targets(run->model) > 0)
        write_table(s->output_path, run->decisions, run->n, hinge_model_n_targets(run->model));
    else if (s->output_path)
        write_labels(s->output_path, run);
    if (s->decisions)
        write_table(s->decisions, run->decisions, run->n, hinge_model_n_problems(run->model));
    if (s->json)
        print_json(run, s);
    else if (!s->quiet)
        print_text(run, s);
    finish_stdout();
}

int run_predict(int argc, char **argv, const char *text, const struct ranks *ranks)
{
    void (*check_output)(const char *, const char *) = ranks ? ranks->check_output : check_writable;
    struct predict_settings s = { .data = { .ranks = ranks } };
    struct predict_run run = { 0 };
    read_options(argc, argv, text, &s);
    restart_if_slow(!s.no_restart, s.verbose);
    check_output(s.output_path, s.test_path);
    check_output(s.output_path, s.model_path);
    check_output(s.decisions, s.test_path);
    check_output(s.decisions, s.model_path);
    check_output(s.decisions, s.output_path);
    load(&s, &run);
    predict(&s, &run);
    gather(&s, &run);
    if (run.labels) {
        score(&s, &run);
        tell(&s, &run);
    }
    hinge_model_free(run.model);
    hinge_data_free(&run.data);
    free(run.labels);
    free(run.truth);
    free(run.decisions);
    free(run.probabilities);
    return 0;
}

int command_predict(int argc, char **argv)
{
    return run_predict(argc, argv, usage, NULL);
}

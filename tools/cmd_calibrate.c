/*
 * hinge calibrate: gives a model probabilities, fitted to its decisions on data that it was not trained on.
 */
#include <math.h>
#include <string.h>

#include "common.h"

struct calibrate_settings {
    hinge_predict_options options;
    struct data_flags data;
    const char *model_path, *data_path, *output_path;
    int quiet, json, no_restart;
};

#define FIELD(name) offsetof(struct calibrate_settings, name)
static const struct tool_option calibrate_options[] = {
    { 'o', "output", "FILE", parse_text, FIELD(output_path), NULL, "write the model to FILE (over model_file)" },
    OPTION_THREADS(options.threads),
    OPTION_PRECISION(options.precision, "values"),
    OPTION_LEVEL(options.cpu_level),
    OPTION_NO_RESTART(no_restart),
    OPTION_QUIET(quiet),
    OPTION_JSON(json),
};

static const char usage[] =
    "usage: hinge calibrate [options] model_file data_file\n\n"
    "Calibrates a model for `hinge predict -b 1` on examples that it was not trained on, with their\n"
    "labels (one-class needs none), and replaces its file or writes another one. Use `hinge train -b 1`\n"
    "instead where there are no such examples: of those that it was trained on, a model is too sure.";

static void read_options(int argc, char **argv, struct calibrate_settings *s)
{
    const struct command_line line = {
        usage, { OPTION_GROUP("Options (default in parentheses):", calibrate_options, s), DATA_GROUP(&s->data) },
        2, "a model file and a data file are needed", { &s->model_path, &s->data_path }, NULL
    };
    parse_command(argc, argv, &line);
    if (!s->output_path)
        s->output_path = strcmp(s->model_path, input_name("-")) == 0 ? "-" : s->model_path;
    if (is_stdout(s->output_path) && s->json)
        die(EXIT_USAGE, "calibrate: only one of the model and --json can go to standard output");
}

/* Dies of a label that is no class of the model. */
static void check_labels(const char *path, const hinge_data *data, const hinge_model *model)
{
    const double *classes = hinge_model_labels(model);
    size_t n = hinge_model_n_classes(model);
    char room[LABEL_ROOM];
    for (size_t i = 0; classes && i < data->x.rows; i++)
        if (place_of(classes, n, data->y[i]) == n)
            die(EXIT_DATA, "%s: the label of example %zu is %s, which is no class of the model", path, i + 1,
                label_text(&data->words, data->y[i], 17, room));
}

static void load(const struct calibrate_settings *s, hinge_model **model, hinge_data *data)
{
    *model = load_model(s->model_path);
    load_for_model(s->data_path, &s->data, *model, s->options.threads, data);
    if (hinge_model_task(*model) != HINGE_ONE_CLASS)
        need_labels(s->data_path, data, "calibrate by", "--labels");
    check_labels(s->data_path, data, *model);
}

static void report(const struct calibrate_settings *s, const hinge_model *model, size_t n, double seconds)
{
    FILE *file = is_stdout(s->output_path) ? stderr : stdout;
    double sigma = laplace_width(model);
    struct json j = { 0 };
    if (s->json) {
        json_open(&j, NULL, '{');
        json_put(&j, "model %s, n %zu, seconds %g", s->output_path, n, seconds);
        if (!isnan(sigma))
            json_put(&j, "sigma %g", sigma);
        json_close(&j, '}');
    } else if (!s->quiet) {
        fprintf(file, "%-16s %zu examples in %.3f s\n", "calibrated on", n, seconds);
        if (!isnan(sigma))
            fprintf(file, "%-16s %.10g\n", "sigma", sigma);
        fprintf(file, "%-16s %s\n", "model", s->output_path);
    }
}

int command_calibrate(int argc, char **argv)
{
    struct calibrate_settings s = { 0 };
    hinge_model *model = NULL;
    hinge_data data;
    double start;
    read_options(argc, argv, &s);
    restart_if_slow(!s.no_restart, 0);
    check_writable(s.output_path, s.data_path);
    load(&s, &model, &data);
    start = now();
    if (hinge_calibrate(model, &data.x, data.y, &s.options, &failure) != HINGE_OK)
        die(EXIT_DATA, "%s by %s: %s", s.model_path, s.data_path, failure.text);
    save_model(model, s.output_path);
    report(&s, model, data.x.rows, now() - start);
    finish_stdout();
    hinge_model_free(model);
    hinge_data_free(&data);
    return 0;
}

/*
 * hinge explain: shares of features in decision values (Shapley values), or derivatives by them, for each example.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <hinge/explain.h>

#include "cmd_explain.h"
#include "gnuplot.h"

/* ---- Options ---- */

static void parse_rows(const struct option_use *use, void *field)
{
    size_t *rows = field, digits = strspn(use->text, "0123456789");
    const char *last = use->text[digits] == '-' ? use->text + digits + 1 : use->text;
    rows[0] = (size_t)strtoull(use->text, NULL, 10);
    rows[1] = (size_t)strtoull(last, NULL, 10);
    if (last[strspn(last, "0123456789")] || rows[0] == 0 || rows[1] < rows[0])
        die(EXIT_USAGE, "%s: '%s' is neither a row A, counted from 1, nor rows A-B", use->shown, use->text);
}

static const struct range range_count = { 1, 1e9, 0 };

#define FIELD(name) offsetof(struct explain_settings, name)
static const struct tool_option explain_options[] = {
    OPTION_FILE("background", background_path,
                "take features that are not known from the rows of\nFILE, dozens that stand for all: the mean over\n"
                "them is the base"),
    OPTION_FLAG("gradients", gradients, "tell the derivatives of decision values by features\ninstead"),
    { 0, "rows", "A-B", parse_rows, FIELD(rows), NULL, "explain rows A to B of data_file, or A alone (all)" },
    { 0, "top", "K", parse_size, FIELD(top), &range_count,
      "show the K features with the largest shares (10;\n--json: all; output_file always has all)" },
    { 0, "problem", "N", parse_size, FIELD(problem), &range_count,
      "of several decision values explain the Nth, in the\norder of hinge predict --decisions (all)" },
    OPTION_FILE("bars", bars, "draw the shares in one row to FILE, .svg or .png"),
    OPTION_FILE("beeswarm", beeswarm, "draw the shares in all rows to FILE, .svg or .png,\na point each"),
    { 0, "keep", "FOLDER", parse_text, FIELD(keep), NULL, "keep the gnuplot script, which holds the data, in\nFOLDER" },
    OPTION_THREADS(options.threads),
    OPTION_LEVEL(options.cpu_level),
    OPTION_NO_RESTART(no_restart),
    OPTION_JSON(json),
};

static const char usage[] =
    "usage: hinge explain [options] data_file model_file [output_file]\n\n"
    "Shares the decision value of each example out among its features: base and shares sum to it. They\n"
    "are exact Shapley values, of linear, polynomial, rbf and laplacian kernels. Prints the largest, or\n"
    "writes all as a table (CSV) to output_file (-: standard output), or draws them, by gnuplot.";

static void read_options(int argc, char **argv, struct explain_settings *s)
{
    const struct command_line line = { usage,
                                       { OPTION_GROUP("Options (default in parentheses):", explain_options, s),
                                         DATA_GROUP(&s->data) },
                                       2,
                                       "a data file and a model file are needed",
                                       { &s->data_path, &s->model_path, &s->output_path },
                                       NULL };
    parse_command(argc, argv, &line);
    if (s->background_path)
        s->background_path = input_name(s->background_path);
    if (is_stdout(s->output_path) && s->json)
        die(EXIT_USAGE, "explain: only one of output_file and --json can go to standard output");
    if (s->gradients && (s->background_path || s->bars || s->beeswarm))
        die(EXIT_USAGE, "explain: --gradients goes with none of --background, --bars and --beeswarm");
    if (s->bars && s->beeswarm)
        die(EXIT_USAGE, "explain: one of --bars and --beeswarm");
    if (s->keep && !s->bars && !s->beeswarm)
        die(EXIT_USAGE, "explain: --keep goes with --bars or --beeswarm");
}

/* ---- Names ---- */

const char *problem_text(const hinge_model *model, size_t problem, char room[PROBLEM_ROOM])
{
    const double *labels = hinge_model_labels(model);
    const hinge_words *words = hinge_model_words(model);
    const char *target = hinge_model_target(model);
    char one[LABEL_ROOM], other[LABEL_ROOM];
    size_t a, b;
    if (!labels)
        return hinge_model_task(model) == HINGE_ONE_CLASS ? "inside" : target ? target : "value";
    problem_classes(model, problem, &a, &b);
    snprintf(room, PROBLEM_ROOM, "%s against %s", label_text(words, labels[a], 17, one),
             b == SIZE_MAX ? "the rest" : label_text(words, labels[b], 17, other));
    return room;
}

/* Names features by the model or, where it has no names, by their numbers in the file. */
static char **name_features(const hinge_model *model)
{
    const hinge_words *words = hinge_model_names(model);
    size_t d = hinge_model_n_features(model), n_columns = d;
    const size_t *columns = hinge_model_columns(model, &n_columns);
    char **names = allocate(d, sizeof *names), number[40];
    for (size_t k = 0; k < d; k++) {
        snprintf(number, sizeof number, "feature %zu", columns && k < n_columns ? columns[k] : k + 1);
        names[k] = join(words && k < words->count   ? words->word[k]
                        : columns && k >= n_columns ? "features without support vectors"
                                                    : number,
                        "", "");
    }
    return names;
}

/* ---- Reading ---- */

/* Adds features that are 0 to the data, where the background has more. */
static void widen_data(struct explanation *e)
{
    size_t rows = e->data.x.rows, cols = e->data.x.cols;
    if (cols >= e->d)
        return;
    e->wide = allocate(rows, e->d * sizeof *e->wide);
    for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < cols; k++)
            e->wide[i * e->d + k] = entry_of(&e->data, i, k);
    e->data.x = hinge_matrix_f64(e->wide, rows, e->d);
}

static void choose_rows(struct explanation *e)
{
    const struct explain_settings *s = e->settings;
    size_t n = e->data.x.rows, last = s->rows[1] ? s->rows[1] : n;
    if (n == 0)
        die(EXIT_DATA, "%s: the file holds no examples", s->data_path);
    if (last > n)
        die(EXIT_USAGE, "--rows: %s has no row %zu, but %zu of them", s->data_path, last, n);
    e->first = s->rows[0] ? s->rows[0] - 1 : 0;
    e->rows = last - e->first;
    if (s->bars && e->rows > 1)
        die(EXIT_USAGE, "--bars: one row is drawn, and there are %zu: --rows A chooses one", e->rows);
    if (s->problem > e->problems)
        die(EXIT_USAGE, "--problem: %s has no decision value %zu, but %zu of them", s->model_path, s->problem,
            e->problems);
    if ((s->bars || s->beeswarm) && !s->problem && e->problems > 1)
        die(EXIT_USAGE, "%s: one decision value is drawn, and %s has %zu: --problem N chooses one",
            s->bars ? "--bars" : "--beeswarm", s->model_path, e->problems);
}

static void load(struct explanation *e, hinge_data *background)
{
    const struct explain_settings *s = e->settings;
    struct data_flags flags = s->data;
    flags.read.type = HINGE_F64;
    e->model = load_model(s->model_path);
    e->problems = hinge_model_n_problems(e->model);
    load_for_model(s->data_path, &flags, e->model, s->options.threads, &e->data);
    choose_rows(e);
    if (s->background_path) {
        load_for_model(s->background_path, &flags, e->model, s->options.threads, background);
        if (background->x.rows == 0)
            die(EXIT_DATA, "--background: %s holds no examples", s->background_path);
    }
    e->d = hinge_model_n_features(e->model);
    widen_data(e);
    e->names = name_features(e->model);
    e->base = allocate(e->problems, sizeof *e->base);
    if (s->bars || s->beeswarm) {
        e->shares = allocate(e->rows, e->d * sizeof *e->shares);
        e->f = allocate(e->rows, sizeof *e->f);
    }
}

/* ---- Telling ---- */

static int compare_sizes(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    return x->size != y->size ? (x->size < y->size) - (x->size > y->size) : (x->feature > y->feature) ? 1 : -1;
}

struct ranked *rank_features(const double *shares, size_t d)
{
    struct ranked *list = allocate(d, sizeof *list);
    for (size_t k = 0; k < d; k++)
        list[k] = (struct ranked){ fabs(shares[k]), k };
    qsort(list, d, sizeof *list, compare_sizes);
    return list;
}

/* What is told of one decision value of a row. */
struct told {
    size_t row, problem;
    double f;
    const double *shares;
};

static double sum_of_others(const struct explanation *e, const struct told *t, const struct ranked *list, size_t top)
{
    double sum = 0;
    for (size_t k = top; k < e->d; k++)
        sum += t->shares[list[k].feature];
    return sum;
}

static void print_shares(const struct explanation *e, const struct told *t)
{
    size_t top = e->settings->top ? e->settings->top : 10;
    struct ranked *list = rank_features(t->shares, e->d);
    char room[PROBLEM_ROOM];
    printf("row %zu, %s: %.6g\n", t->row + 1, problem_text(e->model, t->problem, room), t->f);
    if (!e->settings->gradients)
        printf("  %-32s %+.6g\n", "base", e->base[t->problem]);
    for (size_t k = 0; k < e->d && k < top; k++) {
        size_t c = list[k].feature;
        int length = printf("  %s = %.6g", e->names[c], entry_of(&e->data, t->row, c));
        printf("%*s %+.6g\n", length < 34 ? 34 - length : 0, "", t->shares[c]);
    }
    if (e->d > top && !e->settings->gradients)
        printf("  %-32s %+.6g\n", "all others", sum_of_others(e, t, list, top));
    free(list);
}

static void json_shares(struct json *j, const struct explanation *e, const struct told *t)
{
    const char *key = e->settings->gradients ? "gradient" : "shares";
    size_t top = e->settings->top;
    json_open(j, NULL, '{');
    json_put(j, "row %zu, problem %zu, f %g", t->row + 1, t->problem + 1, t->f);
    if (!e->settings->gradients)
        json_put(j, "base %g", e->base[t->problem]);
    if (top && top < e->d) {
        struct ranked *list = rank_features(t->shares, e->d);
        json_open(j, key, '{');
        for (size_t k = 0; k < top; k++)
            json_real(j, e->names[list[k].feature], t->shares[list[k].feature]);
        json_close(j, '}');
        if (!e->settings->gradients)
            json_put(j, "others %g", sum_of_others(e, t, list, top));
        free(list);
    } else
        json_reals(j, key, t->shares, e->d);
    json_close(j, '}');
}

/* Writes a field of a CSV line, behind a comma. */
static void write_field(FILE *file, const char *text)
{
    int quoted = text[strcspn(text, ",\"")] != '\0';
    fputs(quoted ? ",\"" : ",", file);
    for (; *text; text++)
        fprintf(file, *text == '"' ? "\"%c" : "%c", *text);
    fputs(quoted ? "\"" : "", file);
}

static void write_head(FILE *file, const struct explanation *e)
{
    fprintf(file, "row%s,f%s", e->problems > 1 ? ",problem" : "", e->settings->gradients ? "" : ",base");
    for (size_t k = 0; k < e->d; k++)
        write_field(file, e->names[k]);
    fputc('\n', file);
}

static void write_shares(FILE *file, const struct explanation *e, const struct told *t)
{
    char room[PROBLEM_ROOM];
    fprintf(file, "%zu", t->row + 1);
    if (e->problems > 1)
        write_field(file, problem_text(e->model, t->problem, room));
    fprintf(file, ",%.17g", t->f);
    if (!e->settings->gradients)
        fprintf(file, ",%.17g", e->base[t->problem]);
    for (size_t k = 0; k < e->d; k++)
        fprintf(file, ",%.17g", t->shares[k]);
    fputc('\n', file);
}

static void tell(struct explanation *e, const struct told *t, FILE *table, struct json *j)
{
    const struct explain_settings *s = e->settings;
    if (s->problem && t->problem != s->problem - 1)
        return;
    if (table)
        write_shares(table, e, t);
    if (s->json)
        json_shares(j, e, t);
    if (e->shares) {
        memcpy(e->shares + (t->row - e->first) * e->d, t->shares, e->d * sizeof *e->shares);
        e->f[t->row - e->first] = t->f;
    }
    if (!table && !s->json && !e->shares)
        print_shares(e, t);
}

/* ---- The command ---- */

/* Explains some rows at a time, since shares of many features and classes are many. */
static void explain(struct explanation *e, const hinge_matrix *background, FILE *table, struct json *j)
{
    enum { ROWS = 256 };
    const struct explain_settings *s = e->settings;
    hinge_predict_options options = s->options;
    size_t most = e->rows < ROWS ? e->rows : ROWS, width = e->problems * e->d;
    double *values = allocate(most, width * sizeof *values), *f = allocate(most, e->problems * sizeof *f);
    options.precision = HINGE_PRECISION_F64;
    for (size_t first = e->first; first < e->first + e->rows; first += most) {
        size_t left = e->first + e->rows - first, rows = left < most ? left : most;
        hinge_matrix x = e->data.x;
        hinge_status status;
        x.rows = rows;
        x.data = (const double *)x.data + first * x.stride;
        check(hinge_predict(e->model, &x, &options, NULL, f, &failure));
        status = s->gradients ? hinge_gradients(e->model, &x, &options, values, &failure)
                              : hinge_explain(e->model, &x, background, &options, values, e->base, &failure);
        if (status != HINGE_OK)
            die(EXIT_DATA, "%s: %s", s->model_path, failure.text);
        for (size_t r = 0, k = 0; r < rows; r++)
            for (size_t p = 0; p < e->problems; p++, k++)
                tell(e, &(struct told){ first + r, p, f[k], values + k * e->d }, table, j);
    }
    free(values);
    free(f);
}

static void open_json(struct json *j, const struct explanation *e)
{
    char room[PROBLEM_ROOM];
    json_open(j, NULL, '{');
    json_put(j, "model %s, n %zu, d %zu, n_sv %zu", e->settings->model_path, e->rows, e->d, hinge_model_n_sv(e->model));
    json_open(j, "features", '[');
    for (size_t k = 0; k < e->d; k++)
        json_text(j, NULL, e->names[k]);
    json_close(j, ']');
    json_open(j, "problems", '[');
    for (size_t p = 0; p < e->problems; p++)
        json_text(j, NULL, problem_text(e->model, p, room));
    json_close(j, ']');
    json_open(j, "rows", '[');
}

static void run(struct explanation *e, const hinge_matrix *background)
{
    const struct explain_settings *s = e->settings;
    struct json j = { 0 };
    struct output out = { 0 };
    if (s->output_path) {
        output_open(&out, s->output_path);
        write_head(out.file, e);
    }
    if (s->json)
        open_json(&j, e);
    explain(e, background, out.file, &j);
    if (s->output_path)
        output_close(&out);
    if (s->bars)
        draw_bars(e);
    if (s->beeswarm)
        draw_beeswarm(e);
    if (s->json) {
        json_close(&j, ']');
        json_close(&j, '}');
    }
    finish_stdout();
}

int command_explain(int argc, char **argv)
{
    struct explain_settings s = { 0 };
    struct explanation e = { .settings = &s };
    hinge_data background = { 0 };
    read_options(argc, argv, &s);
    restart_if_slow(!s.no_restart, 0);
    check_writable(s.output_path, s.data_path);
    check_writable(s.output_path, s.model_path);
    check_writable(s.output_path, s.background_path);
    if (s.bars || s.beeswarm)
        gnuplot_check(s.bars ? s.bars : s.beeswarm);
    load(&e, &background);
    run(&e, s.background_path ? &background.x : NULL);
    for (size_t k = 0; k < e.d; k++)
        free(e.names[k]);
    free(e.names);
    free(e.base);
    free(e.wide);
    free(e.shares);
    free(e.f);
    hinge_model_free(e.model);
    hinge_data_free(&e.data);
    hinge_data_free(&background);
    return 0;
}

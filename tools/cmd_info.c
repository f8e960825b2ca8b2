/*
 * hinge info: the machine as a program that uses hinge meets it, a model, or a data file.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"

struct info_settings {
    struct data_flags data;
    int json;
};

#define FIELD(name) offsetof(struct info_settings, name)
static const struct tool_option info_options[] = {
    OPTION_FLAG("json", json, "print the answer as a JSON object"),
};

/* ---- The machine ---- */

static const char *level_name(int level)
{
    static const char *const names[] = { "?", "plain C", "x86-64-v2", "x86-64-v3", "x86-64-v4" };
    return level >= 0 && (size_t)level < COUNT_OF(names) ? names[level] : "?";
}

/* Returns the sentence that says how to cure a slow BLAS; NULL: there is nothing to cure. */
static const char *blas_advice(const hinge_machine *machine)
{
    if (machine->blas_slow)
        return "OpenBLAS runs kernels without AVX-512 here: set OPENBLAS_CORETYPE=SkylakeX in the environment "
               "of programs that use hinge (the hinge command does so by itself)";
    if (!machine->blas_is_openmp)
        return "this BLAS is not OpenBLAS's OpenMP build, which hinge is fastest with: link that one, or set "
               "LD_LIBRARY_PATH to its folder";
    return NULL;
}

static void print_machine(const hinge_machine *m)
{
    printf("%-10s %s\n", "hinge", hinge_version());
    printf("%-10s %s%s\n", "processor", level_name(m->cpu_level), m->avx512 ? ", AVX-512" : "");
    printf("%-10s %s\n", "blas", m->blas);
    printf("%-10s %s\n", "openmp", m->blas_is_openmp ? "yes, OpenBLAS's OpenMP build" : "not in this BLAS");
    printf("%-10s %d\n", "threads", m->threads);
    printf("%-10s %.1f GB\n", "memory", (double)m->total_memory / 1073741824);
    if (blas_advice(m))
        printf("%-10s %s\n", "advice", blas_advice(m));
}

static void json_machine(struct json *j, const hinge_machine *m)
{
    json_put(j, "version %s, cpu_level %d, avx512 %i, blas %s", hinge_version(), m->cpu_level, m->avx512, m->blas);
    json_put(j, "blas_is_openmp %i, blas_slow %i, threads %d, total_memory %zu", m->blas_is_openmp, m->blas_slow,
             m->threads, m->total_memory);
    if (blas_advice(m))
        json_put(j, "advice %s", blas_advice(m));
}

/* ---- Models ---- */

/* Prints the least and the largest factor, and how many features are left out. */
static void print_scaling(const hinge_model *model)
{
    const double *factor = hinge_model_scale_factor(model);
    size_t n = hinge_model_n_features(model), left_out = 0;
    double low = INFINITY, high = -INFINITY;
    if (!factor)
        return;
    for (size_t k = 0; k < n; k++)
        if (factor[k] == 0) {
            left_out++;
        } else {
            low = fmin(low, factor[k]);
            high = fmax(high, factor[k]);
        }
    printf("%-10s x * factor + offset", "scaling");
    if (left_out < n)
        printf(", factors %.10g to %.10g", low, high);
    if (left_out)
        printf(", %zu of %zu features left out", left_out, n);
    putchar('\n');
}

static void print_calibration(const hinge_model *model)
{
    if (!isnan(laplace_width(model)))
        printf("%-10s Laplace distribution, sigma %.10g\n", "calibrated", laplace_width(model));
    else if (hinge_model_has_probability(model))
        printf("%-10s yes, for predict -b 1\n", "calibrated");
}

static void print_classes(const hinge_model *model)
{
    const double *labels = hinge_model_labels(model);
    const size_t *counts = hinge_model_class_sv(model);
    char room[LABEL_ROOM];
    if (!labels)
        return;
    for (size_t k = 0; k < hinge_model_n_classes(model); k++) {
        printf("%-10s %s", k ? "" : "classes", label_text(hinge_model_words(model), labels[k], 17, room));
        if (counts)
            printf(": %zu support vectors", counts[k]);
        putchar('\n');
    }
}

/* Makes w of f(x) = <w,x> + b of each problem, over all features; NULL: the kernel is not linear. The caller frees
 * it. */
static double *weights_of(const hinge_model *model)
{
    size_t d = hinge_model_n_features(model), n = hinge_model_n_problems(model);
    double *w;
    if (hinge_model_kernel(model).type != HINGE_LINEAR)
        return NULL;
    w = allocate(n, d * sizeof *w);
    for (size_t k = 0; k < n; k++)
        check(hinge_model_weights(model, k, w + k * d, &failure));
    return w;
}

static void print_weights(const hinge_model *model)
{
    enum { FEW = 6 };
    size_t d = hinge_model_n_features(model), n = hinge_model_n_problems(model);
    double *w = weights_of(model);
    if (w)
        printf("%-10s f(x) = <w,x> + b%s\n", "linear", hinge_model_scale_factor(model) ? ", x scaled" : "");
    for (size_t k = 0; w && k < n && k < FEW; k++) {
        print_reals("w", 11, w + k * d, d);
        printf("%-10s %.10g\n", "b", -hinge_model_rho(model)[k]);
    }
    if (w && n > FEW)
        printf("%-10s (%zu w and b in all; --json has them)\n", "...", n);
    free(w);
}

static void json_weights(struct json *j, const hinge_model *model)
{
    size_t d = hinge_model_n_features(model), n = hinge_model_n_problems(model);
    double *w = weights_of(model);
    if (!w)
        return;
    json_open(j, "w", '[');
    for (size_t k = 0; k < n; k++)
        json_reals(j, NULL, w + k * d, d);
    json_close(j, ']');
    json_open(j, "b", '[');
    for (size_t k = 0; k < n; k++)
        json_real(j, NULL, -hinge_model_rho(model)[k]);
    json_close(j, ']');
    free(w);
}

static void print_model(const hinge_model *model)
{
    hinge_kernel kernel = hinge_model_kernel(model);
    const hinge_kernel_row *row = hinge_kernel_info(kernel.type);
    size_t n_columns;
    const size_t *columns = hinge_model_columns(model, &n_columns);
    printf("%-10s %s", "task", hinge_task_info(hinge_model_task(model))->keyword);
    if (hinge_model_tau(model) > 0)
        printf(", tau %.10g", hinge_model_tau(model));
    printf("\n%-10s %s", "kernel", kernel_words(&kernel));
    if (row->uses_degree)
        printf(", degree %d", kernel.degree);
    if (row->uses_gamma)
        printf(", gamma %.10g", kernel.gamma);
    if (row->uses_coef0)
        printf(", coef0 %.10g", kernel.coef0);
    printf("\n%-10s %zu", "features", hinge_model_n_features(model));
    if (columns && n_columns)
        printf(", from %zu to %zu; the others are 0", columns[0], columns[n_columns - 1]);
    putchar('\n');
    print_names("names", 11, hinge_model_names(model));
    if (hinge_model_target(model))
        printf("%-10s %s\n", "predicts", hinge_model_target(model));
    if (hinge_model_n_targets(model) > 0)
        printf("%-10s %zu\n", "targets", hinge_model_n_targets(model));
    printf("%-10s %zu\n", "vectors", hinge_model_n_sv(model));
    print_classes(model);
    if (hinge_model_n_classes(model) > 2)
        printf("%-10s %s\n", "multiclass",
               hinge_model_multiclass(model) == HINGE_ONE_VS_REST ? "one-vs-rest" : "one-vs-one");
    print_scaling(model);
    print_calibration(model);
    print_reals("rho", 11, hinge_model_rho(model), hinge_model_n_problems(model));
    print_weights(model);
}

static void json_model(struct json *j, const hinge_model *model)
{
    hinge_kernel kernel = hinge_model_kernel(model);
    size_t n_features = hinge_model_n_features(model), n_classes = hinge_model_n_classes(model), n_columns;
    const size_t *columns = hinge_model_columns(model, &n_columns);
    json_put(j, "kind %s, task %s", "model", hinge_task_info(hinge_model_task(model))->keyword);
    if (hinge_model_tau(model) > 0)
        json_put(j, "tau %g", hinge_model_tau(model));
    json_kernel(j, &kernel);
    json_put(j, "n_features %zu", n_features);
    if (columns)
        json_counts(j, "columns", columns, n_columns);
    json_names(j, "names", hinge_model_names(model));
    if (hinge_model_target(model))
        json_put(j, "target %s", hinge_model_target(model));
    json_put(j, "n_classes %zu, n_targets %zu, n_sv %zu", n_classes, hinge_model_n_targets(model),
             hinge_model_n_sv(model));
    if (hinge_model_labels(model))
        json_labels(j, "labels", hinge_model_words(model), hinge_model_labels(model), n_classes);
    if (hinge_model_class_sv(model))
        json_counts(j, "class_sv", hinge_model_class_sv(model), n_classes);
    json_reals(j, "rho", hinge_model_rho(model), hinge_model_n_problems(model));
    json_put(j, "multiclass %s", hinge_model_multiclass(model) == HINGE_ONE_VS_REST ? "ovr" : "ovo");
    if (hinge_model_scale_factor(model)) {
        json_reals(j, "scale_factor", hinge_model_scale_factor(model), n_features);
        json_reals(j, "scale_offset", hinge_model_scale_offset(model), n_features);
    }
    if (hinge_model_scale_origin(model)) {
        json_reals(j, "scale_origin", hinge_model_scale_origin(model), n_features);
        json_reals(j, "scale_base", hinge_model_scale_base(model), n_features);
    }
    json_put(j, "probability %i", hinge_model_has_probability(model));
    if (!isnan(laplace_width(model)))
        json_put(j, "sigma %g", laplace_width(model));
    json_weights(j, model);
}

/* ---- Data ---- */

enum { MAX_CLASSES = 64 }; /* with more different labels they are called targets */

struct summary {
    double low, high, y_low, y_high;
    size_t n_labels; /* different ones, 0: more than MAX_CLASSES */
    double *labels;
    size_t *counts;
};

static struct summary summarise(const hinge_data *data)
{
    struct summary s = { .low = data->columns ? 0 : INFINITY, .high = data->columns ? 0 : -INFINITY };
    const hinge_matrix *x = &data->x;
    size_t n = list_labels(data, &s.labels, &s.counts);
    s.n_labels = n <= MAX_CLASSES ? n : 0;
    s.y_low = n ? s.labels[0] : NAN;
    s.y_high = n ? s.labels[n - 1] : NAN;
    for (size_t i = 0; i < x->rows; i++)
        for (size_t k = 0; k < x->cols; k++) {
            double v = entry_of(data, i, k);
            if (v < s.low) /* fmin, fmax: gcc 12 for aarch64 crashes on them here */
                s.low = v;
            if (v > s.high)
                s.high = v;
        }
    return s;
}

static size_t n_features(const hinge_data *data)
{
    return data->columns ? data->file_cols : data->x.cols;
}

static double density(const hinge_data *data)
{
    double entries = (double)data->x.rows * (double)n_features(data);
    return entries > 0 ? (double)data->nonzeros / entries : 0;
}

static void print_data(const hinge_data *data, const struct summary *s)
{
    char room[LABEL_ROOM];
    printf("%-10s %s\n", "format", choice_name(choice_format, (int)data->format));
    if (data->format == HINGE_FORMAT_CSV)
        printf("%-10s %s\n", "header", data->header ? "line 1" : "none");
    printf("%-10s %zu\n%-10s %zu", "rows", data->x.rows, "features", n_features(data));
    printf(data->columns ? ", %zu of them not 0 in all rows\n" : "\n", data->x.cols);
    print_names("names", 11, &data->names);
    if (data->dropped)
        printf("%-10s %zu rows with missing values\n", "left out", data->dropped);
    printf("%-10s %.4g %% (%zu entries are not 0)\n", "density", 100 * density(data), data->nonzeros);
    if (n_features(data) > 0)
        printf("%-10s %.10g to %.10g\n", "values", s->low, s->high);
    if (!data->labelled) {
        printf("%-10s none\n", "labels");
        return;
    }
    if (data->label_column)
        printf("%-10s column %zu%s%s\n", "label", data->label_column, data->target ? ", " : "",
               data->target ? data->target : "");
    if (!s->n_labels && data->words.count)
        printf("%-10s %zu different words\n", "labels", data->words.count);
    else if (!s->n_labels)
        printf("%-10s %.10g to %.10g\n", "targets", s->y_low, s->y_high);
    for (size_t k = 0; k < s->n_labels; k++)
        printf("%-10s %s: %zu rows\n", k ? "" : "labels", label_text(&data->words, s->labels[k], 17, room),
               s->counts[k]);
}

static void json_data(struct json *j, const hinge_data *data, const struct summary *s)
{
    json_put(j, "kind %s, format %s", "data", choice_name(choice_format, (int)data->format));
    if (data->format == HINGE_FORMAT_CSV)
        json_put(j, "header %i", data->header);
    if (data->label_column)
        json_put(j, "label_column %zu", data->label_column);
    json_put(j, "rows %zu, features %zu", data->x.rows, n_features(data));
    json_names(j, "names", &data->names);
    if (data->target)
        json_put(j, "target %s", data->target);
    json_put(j, "rows_left_out %zu", data->dropped);
    if (data->columns)
        json_put(j, "features_not_empty %zu", data->x.cols);
    json_put(j, "nonzeros %zu, density %g, min %g, max %g", data->nonzeros, density(data), s->low, s->high);
    if (data->labelled && !data->words.count)
        json_put(j, "target_min %g, target_max %g", s->y_low, s->y_high);
    if (data->labelled && s->n_labels) {
        json_labels(j, "labels", data->words.count ? &data->words : NULL, s->labels, s->n_labels);
        json_counts(j, "counts", s->counts, s->n_labels);
    }
}

static void tell_data(const hinge_data *data, struct json *j)
{
    struct summary s = summarise(data);
    if (j)
        json_data(j, data, &s);
    else
        print_data(data, &s);
    free(s.labels);
    free(s.counts);
}

/* The file is read once: it may be a pipe. */
static void tell_file(const char *path, const struct data_flags *flags, struct json *j)
{
    hinge_data_options options = reading(flags);
    hinge_data data = { 0 };
    hinge_model *model = NULL;
    char *bytes;
    size_t size;
    options.drop_empty = 1;
    check(hinge_file_read(path, &bytes, &size, &failure));
    if (kind_of_bytes(path, bytes, size) == FILE_MODEL)
        check(hinge_model_parse(&model, path, bytes, size, NULL, &failure));
    else
        check(hinge_data_parse(path, bytes, size, &options, &data, &failure));
    hinge_free(bytes);
    if (!model)
        tell_data(&data, j);
    else if (j)
        json_model(j, model);
    else
        print_model(model);
    hinge_model_free(model);
    hinge_data_free(&data);
}

static void tell_files(char **names, int count, const struct info_settings *s)
{
    struct json json = { 0 }, *j = s->json ? &json : NULL;
    if (j) {
        json_open(j, NULL, '{');
        json_open(j, "files", '[');
    }
    for (int k = 0; k < count; k++) {
        const char *path = input_name(names[k]);
        if (j) {
            json_open(j, NULL, '{');
            json_put(j, "file %s", path);
        } else {
            printf("%s%-10s %s\n", k ? "\n" : "", "file", path);
        }
        tell_file(path, &s->data, j);
        if (j)
            json_close(j, '}');
    }
    if (j) {
        json_close(j, ']');
        json_close(j, '}');
    }
}

static void tell_machine(int json)
{
    hinge_machine m = hinge_machine_info();
    struct json j = { 0 };
    if (json) {
        json_open(&j, NULL, '{');
        json_machine(&j, &m);
        json_close(&j, '}');
    } else {
        print_machine(&m);
    }
}

static const char usage[] = "usage: hinge info [options] [file ...]\n\n"
                            "Tells about model files and data files, or without a file about hinge and this machine.";

int command_info(int argc, char **argv)
{
    struct info_settings s = { 0 };
    const struct command_line line = { .usage = usage,
                                       .groups = { OPTION_GROUP("Options (default in parentheses):", info_options, &s),
                                                   DATA_GROUP(&s.data) } };
    int first = parse_options(argc, argv, &line);
    if (first == argc)
        tell_machine(s.json);
    else
        tell_files(argv + first, argc - first, &s);
    finish_stdout();
    return 0;
}

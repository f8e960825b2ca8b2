/*
 * Data files as the commands take them: options, weights, what fits a model, what labels and columns look like.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"

/* ---- Reading ---- */

#define FIELD(name) offsetof(struct data_flags, name)
const struct tool_option data_options[] = {
    { 0, "format", "FORMAT", parse_choice, FIELD(read.format), choice_format,
      "read data as auto, libsvm, npy or csv, each also\ncompressed with xz or gz (auto)" },
    { 0, "labels", "FILE.npy", parse_text, FIELD(read.labels_path), NULL,
      "read the labels of .npy data from FILE.npy" },
    { 0, "label-column", "COLUMN", parse_column, FIELD(read), NULL,
      "take labels of CSV from this column, by its name in\nthe header or its number: from 1, or from -1 for the\n"
      "last (the model's or, in training, the first one that\nthe next two do not name)" },
    { 0, "columns", "LIST", parse_columns, FIELD(read.take), NULL,
      "take these columns of CSV for features, as\nage,5,7-9 (all but the label)" },
    { 0, "ignore", "LIST", parse_columns, FIELD(read.leave_out), NULL, "leave these columns of CSV out" },
    { 0, "categories", "LIST", parse_columns, FIELD(read.categories), NULL,
      "make of each word in these columns a feature that is\n0 or 1; the model keeps the words" },
    OPTION_FLAG("drop-missing", read.drop_missing,
                "leave out rows of CSV in which a value is missing:\nempty, NA, N/A, NaN, null or ?"),
    OPTION_FLAG("no-labels", read.no_labels, "read CSV without a label column"),
    OPTION_FLAG("header", read.header,
                "pass over line 1 of CSV as a header (done anyway\nwhere none of its fields is a number)"),
    OPTION_FLAG("no-header", no_header, "read line 1 of CSV as an example"),
    { 0, "features", "N", parse_size, FIELD(read.min_cols), &range_positive,
      "take at least N features; absent ones are 0" },
};
const size_t n_data_options = COUNT_OF(data_options);

void load_lines(const char *path, struct text_lines *lines)
{
    size_t size;
    check(hinge_file_read(path, &lines->bytes, &size, &failure));
    lines->count = 0;
    for (size_t k = 0; k < size; k++)
        lines->count += lines->bytes[k] == '\n' || k + 1 == size;
    lines->start = allocate(lines->count + 1, sizeof *lines->start);
    for (size_t k = 0, i = 0; k < size; k++)
        if (lines->bytes[k] == '\n' || k + 1 == size)
            lines->start[++i] = k + 1;
}

void free_lines(struct text_lines *lines)
{
    hinge_free(lines->bytes);
    free(lines->start);
}

int is_table(const char *path, const char *bytes, hinge_format format)
{
    const char *name = base_name(path);
    if (format != HINGE_FORMAT_AUTO)
        return format != HINGE_FORMAT_LIBSVM;
    return strstr(name, ".csv") || strstr(name, ".tsv") || strncmp(bytes, "\x93NUMPY", 6) == 0;
}

enum file_kind kind_of_bytes(const char *path, const char *bytes, size_t size)
{
    static const char *const keys[] = { "svm_type", "kernel_type", "hinge" };
    hinge_data_options options = { .drop_empty = 1 };
    hinge_data data;
    for (size_t k = 0; k < COUNT_OF(keys); k++)
        if (strncmp(bytes, keys[k], strlen(keys[k])) == 0)
            return FILE_MODEL;
    if (is_table(path, bytes, HINGE_FORMAT_AUTO))
        return FILE_DATA;
    if (hinge_data_parse(path, bytes, size, &options, &data, NULL) != HINGE_OK)
        return FILE_OTHER;
    hinge_data_free(&data);
    return FILE_DATA;
}

enum file_kind kind_of_file(const char *path)
{
    char *bytes;
    size_t size;
    enum file_kind kind;
    if (hinge_file_read(path, &bytes, &size, NULL) != HINGE_OK)
        return FILE_OTHER;
    kind = kind_of_bytes(path, bytes, size);
    hinge_free(bytes);
    return kind;
}

hinge_model *load_model(const char *path)
{
    hinge_model *model = NULL;
    hinge_status status = hinge_model_load(&model, path, NULL, &failure);
    if (status == HINGE_EFORMAT && kind_of_file(path) == FILE_DATA)
        die(EXIT_DATA, "%s: these are data, where a model is expected: are two names swapped?", path);
    check(status);
    return model;
}

hinge_data_options reading(const struct data_flags *flags)
{
    hinge_data_options options = flags->read;
    if (options.header && flags->no_header)
        die(EXIT_USAGE, "--header and --no-header do not go together");
    options.header -= flags->no_header;
    options.as_command = 1;
    return options;
}

void warn_of_fields(const char *path, const hinge_data *data)
{
    if (data->format == HINGE_FORMAT_CSV && data->file_cols == 0)
        warn("%s: a line has its label and no feature", path);
}

void load_data(const char *path, const struct data_flags *flags, size_t min_cols, int threads, hinge_data *data)
{
    hinge_data_options options = reading(flags);
    options.min_cols = min_cols > options.min_cols ? min_cols : options.min_cols;
    options.threads = threads;
    hinge_status status = (flags->ranks ? flags->ranks->read : hinge_data_read)(path, &options, data, &failure);
    if (status == HINGE_EFORMAT && kind_of_file(path) == FILE_MODEL)
        die(EXIT_DATA, "%s: this is a model, where data are expected: are two names swapped?", path);
    check(status);
    size_t dropped = flags->ranks && options.drop_missing ? flags->ranks->rows(data->dropped) : data->dropped;
    if (dropped)
        warn("%s: %zu rows with missing values are left out", path, dropped);
}

/* Returns the number of features of data, those included that flags let be dropped. */
static size_t features_of(const hinge_data *data, const struct data_flags *flags)
{
    return data->file_cols > flags->read.min_cols ? data->file_cols : flags->read.min_cols;
}

double *gather_rows(const struct data_flags *flags, double *part, size_t rows, size_t width, size_t *n)
{
    *n = rows;
    return flags->ranks ? flags->ranks->gather(part, rows, width, n) : part;
}

void count_dropped(hinge_kernel *kernel, const hinge_data *data, const struct data_flags *flags)
{
    if (data->columns && kernel->gamma == HINGE_GAMMA_AUTO)
        kernel->gamma = 1.0 / (double)features_of(data, flags);
}

/* Reads a table of numbers without labels, CSV or .npy; CSV of so many columns at most, 0: of any. */
static void read_table(const char *path, size_t most, hinge_data *data)
{
    hinge_data_options options = { .format = HINGE_FORMAT_CSV, .type = HINGE_F64, .max_cols = most, .no_labels = 1 };
    if (ends_in(path, ".npy"))
        options.format = HINGE_FORMAT_NPY;
    check(hinge_data_read(path, &options, data, &failure));
}

double *load_weights(const char *path, size_t n)
{
    double *weights = allocate(n, sizeof *weights);
    hinge_data data;
    read_table(path, 1, &data);
    if (data.x.rows != n || data.x.cols != 1)
        die(EXIT_DATA, "%s: %zu by %zu numbers instead of one for each of %zu examples", path, data.x.rows, data.x.cols,
            n);
    for (size_t i = 0; i < n; i++) {
        weights[i] = entry_of(&data, i, 0);
        if (weights[i] < 0)
            die(EXIT_DATA, "%s:%zu: a weight must not be negative", path, i + 1);
    }
    hinge_data_free(&data);
    return weights;
}

void load_table(const char *path, size_t n, hinge_data *data)
{
    read_table(path, 0, data);
    if (data->x.rows != n || data->x.cols == 0)
        die(EXIT_DATA, "%s: %zu by %zu numbers instead of a row for each of %zu examples", path, data->x.rows,
            data->x.cols, n);
}

/* ---- Data for a model ---- */

double entry_of(const hinge_data *data, size_t i, size_t k)
{
    size_t at = i * data->x.stride + k;
    switch (data->x.type) {
    case HINGE_F32:
        return (double)((const float *)data->x.data)[at];
    case HINGE_U8:
        return ((const unsigned char *)data->x.data)[at];
    case HINGE_I8:
        return ((const signed char *)data->x.data)[at];
    default: /* files have no others */
        return ((const double *)data->x.data)[at];
    }
}

/* Tells whether features from cols on are 0 in every example: a model file by LIBSVM does not tell of such. */
static int zero_from(const hinge_data *data, size_t cols, const struct ranks *ranks)
{
    int zero = 1;
    for (size_t i = 0; i < data->x.rows; i++)
        for (size_t k = cols; k < data->x.cols; k++)
            zero &= entry_of(data, i, k) == 0;
    return ranks ? ranks->all(zero) : zero;
}

/* LIBSVM text leaves out what is 0, a table does not: one of other columns is another table. */
static void check_columns(const char *path, const struct data_flags *flags, const hinge_data *data, size_t cols)
{
    size_t count = features_of(data, flags);
    const char *hint = "";
    if (data->format == HINGE_FORMAT_LIBSVM || count == cols || (count > cols && zero_from(data, cols, flags->ranks)))
        return;
    if (data->label_column && !flags->read.label_column && !flags->read.label_name && data->file_cols + 1 == cols)
        hint = "; column 1 was taken for the label: say --no-labels if it is a feature";
    else if (data->format == HINGE_FORMAT_CSV && !data->labelled && data->file_cols == cols + 1)
        hint = "; leave out --no-labels if there is a label among them";
    die(EXIT_DATA, "%s: %zu features an example, and the model has %zu%s", path, data->file_cols, cols, hint);
}

void load_test(const char *path, const struct data_flags *flags, size_t cols, int threads, hinge_data *data)
{
    int precomputed = flags->read.precomputed;
    load_data(path, flags, precomputed ? 0 : cols, threads, data);
    if (data->words.count && !flags->read.words)
        data->labelled = 0;
    if (!precomputed)
        check_columns(path, flags, data, cols);
}

void fit_test(hinge_model *model, hinge_data *data)
{
    size_t cols = hinge_model_n_features(model);
    if (hinge_model_kernel(model).type == HINGE_PRECOMPUTED || data->x.cols <= cols)
        return;
    if (hinge_model_scale_factor(model))
        data->x.cols = cols; /* a view of fewer columns */
    else
        check(hinge_model_widen(model, data->x.cols, &failure));
}

void load_for_model(const char *path, const struct data_flags *flags, hinge_model *model, int threads, hinge_data *data)
{
    struct data_flags some = *flags;
    some.read.columns = hinge_model_columns(model, &some.read.n_columns);
    if (hinge_model_words(model))
        some.read.words = hinge_model_words(model);
    some.read.names = hinge_model_names(model);
    some.read.target = hinge_model_target(model);
    some.read.precomputed = hinge_model_kernel(model).type == HINGE_PRECOMPUTED;
    load_test(path, &some, hinge_model_n_features(model), threads, data);
    fit_test(model, data);
}

void need_labels(const char *path, const hinge_data *data, const char *what, const char *option)
{
    if (data->labelled)
        return;
    if (data->words.count)
        die(EXIT_DATA, "%s: its labels are words, as '%s', where numbers are needed to %s", path,
            data->words.word[0], what);
    if (data->format == HINGE_FORMAT_NPY)
        die(EXIT_DATA, "%s: the file has no labels to %s; give %s FILE.npy", path, what, option);
    die(EXIT_DATA, "%s: there are no labels to %s; name their column by --label-column, and leave out --no-labels",
        path, what);
}

/* ---- Two-class problems of a model ---- */

int is_classifier(const hinge_model *model)
{
    return hinge_model_labels(model) != NULL;
}

void problem_classes(const hinge_model *model, size_t problem, size_t *a, size_t *b)
{
    size_t left = problem, n_classes = hinge_model_n_classes(model);
    *a = problem;
    *b = SIZE_MAX;
    if (hinge_model_multiclass(model) == HINGE_ONE_VS_REST)
        return;
    for (*a = 0; left >= n_classes - 1 - *a; ++*a)
        left -= n_classes - 1 - *a;
    *b = *a + 1 + left;
}

int problem_begun(const hinge_model *model, size_t problem)
{
    const double *coef = hinge_model_coef(model);
    const size_t *class_sv = hinge_model_class_sv(model);
    size_t a, b, n_sv = hinge_model_n_sv(model), first = 0;
    int begun = !class_sv;
    problem_classes(model, problem, &a, &b);
    for (size_t c = 0; class_sv && c < hinge_model_n_classes(model); first += class_sv[c++]) {
        size_t row = b == SIZE_MAX ? problem : c == a ? b - 1 : a; /* of the coefficients of this class's vectors */
        for (size_t k = 0; (b == SIZE_MAX || c == a || c == b) && k < class_sv[c]; k++)
            begun |= coef[row * n_sv + first + k] != 0;
    }
    return begun;
}

/* ---- Labels ---- */

const char *label_text(const hinge_words *words, double label, int digits, char room[LABEL_ROOM])
{
    const char *word = hinge_word(words, label, NULL);
    snprintf(room, LABEL_ROOM, "%.*g", digits, label);
    return word ? word : room;
}

double label_named(const char *option, const char *name, const hinge_words *words)
{
    char *end;
    double value = strtod(name, &end);
    size_t k = 0;
    if (!words || !words->count) {
        if (end == name || *end || !isfinite(value))
            die(EXIT_USAGE, "%s: '%s' is not a number, and the labels are", option, name);
        return value;
    }
    while (k < words->count && strcmp(words->word[k], name) != 0)
        k++;
    return (double)k + 1;
}

void set_class_weights(hinge_params *params, struct class_weights *classes, const hinge_words *words)
{
    for (size_t k = 0; k < classes->count; k++)
        classes->labels[k] = label_named("--weight", classes->names[k], words);
    params->n_class_weights = classes->count;
    params->class_labels = classes->labels;
    params->class_weights = classes->weights;
}

void free_class_weights(struct class_weights *classes)
{
    for (size_t k = 0; k < classes->count; k++)
        free(classes->names[k]);
    free(classes->names);
    free(classes->labels);
    free(classes->weights);
}

void drop_words(hinge_data *data, hinge_task task)
{
    if (!hinge_task_info(task)->classifies && data->words.count)
        data->labelled = 0;
}

size_t list_labels(const hinge_data *data, double **labels, size_t **counts)
{
    size_t n = data->x.rows, found = 0;
    double *list = allocate(n, sizeof *list);
    *labels = list;
    *counts = allocate(n, sizeof **counts);
    memcpy(list, data->y, n * sizeof *list);
    qsort(list, n, sizeof *list, compare_reals);
    for (size_t i = 0; i < n; i++) {
        if (found == 0 || list[i] != list[found - 1])
            list[found++] = list[i];
        (*counts)[found - 1]++;
    }
    return found;
}

static void warn_of_classes(const char *path, const struct data_flags *flags, const hinge_data *data)
{
    enum { FEW = 10, MANY = 300 };
    double *labels;
    size_t *counts, n = data->x.rows, classes = list_labels(data, &labels, &counts);
    int whole = 1, words = data->words.count > 0;
    char room[LABEL_ROOM];
    for (size_t k = 0; k < classes; k++)
        whole &= labels[k] == floor(labels[k]);
    if (words && classes > MANY && data->format == HINGE_FORMAT_CSV && !flags->read.label_column &&
        !flags->read.label_name)
        die(EXIT_DATA, "%s: column %zu, which was taken for the label, has %zu different words, each of which would be "
            "a class: name the label's column by --label-column, be it this one", path, data->label_column, classes);
    if (classes == 1)
        warn("%s: all examples have the label %s, and a model of them predicts nothing else", path,
             label_text(&data->words, labels[0], 17, room));
    else if (classes > FEW && classes > n / 5 && words)
        warn("%s: %zu different words in %zu examples are taken for classes; --label-column names another column", path,
             classes, n);
    else if (!words && classes > FEW && (!whole || classes > n / 5))
        warn("%s: %zu different labels in %zu examples are taken for classes; where they are values, train with -s 3 "
             "(epsilon_svr)",
             path, classes, n);
    free(labels);
    free(counts);
}

/* Tells whether numbers are 0, 1, 2, ... or 1, 2, 3, ...; or, in any order, different whole ones. */
static int numbers_rows(double *value, size_t n, int sorted)
{
    size_t i = 0;
    while (i < n && value[i] == value[0] + (double)i)
        i++;
    if (i > 2 && i == n && (value[0] == 0 || value[0] == 1))
        return 1;
    if (sorted || n < 3)
        return 0;
    qsort(value, n, sizeof *value, compare_reals);
    for (i = 0; i < n && value[i] >= 0 && value[i] == floor(value[i]) && (i == 0 || value[i] > value[i - 1]);)
        i++;
    return i == n;
}

void warn_of_row_numbers(const char *path, const struct data_flags *flags, const hinge_data *data)
{
    static const char unnamed[] = "column ";
    size_t n = data->x.rows;
    double *value = allocate(n, sizeof *value);
    for (size_t k = 0; k < data->x.cols && data->format == HINGE_FORMAT_CSV; k++) {
        const char *name = k < data->names.count ? data->names.word[k] : "";
        int bare = strncmp(name, unnamed, sizeof unnamed - 1) == 0;
        char number[24];
        for (size_t i = 0; i < n; i++)
            value[i] = entry_of(data, i, k);
        if (!numbers_rows(value, n, !bare && strcmp(name, "Unnamed: 0") != 0))
            continue;
        snprintf(number, sizeof number, "%zu", k + 1 + (data->label_column && data->label_column <= k + 1));
        if (!*name && (flags->read.take || flags->read.leave_out))
            warn("%s: feature %zu numbers the rows: --ignore leaves its column out", path, k + 1);
        else
            warn("%s: column %s, which was taken for a feature, numbers the rows, as R and pandas write it: --ignore "
                 "%s leaves it out",
                 path, bare ? name + sizeof unnamed - 1 : *name ? name : number,
                 bare ? name + sizeof unnamed - 1 : *name ? name : number);
    }
    free(value);
}

void check_features(const char *path, const struct data_flags *flags, const hinge_data *data)
{
    int none = data->file_cols == 0 && data->x.cols == 0;
    if (flags->ranks ? flags->ranks->all(none) : none)
        die(EXIT_DATA, "%s: there are labels and no features to train on", path);
    if (!flags->ranks)
        warn_of_row_numbers(path, flags, data);
}

void warn_of_labels(const char *path, const struct data_flags *flags, hinge_task task, const hinge_data *data)
{
    size_t i = 0;
    if (hinge_task_info(task)->classifies)
        warn_of_classes(path, flags, data);
    if (!data->label_column || flags->read.label_column || flags->read.label_name || data->words.count)
        return;
    if (numbers_rows(data->y, data->x.rows, 1))
        warn("%s: column %zu, which was taken for the label, numbers the rows, as R and pandas write it: --ignore %zu "
             "leaves it out",
             path, data->label_column, data->label_column);
    if (task != HINGE_ONE_CLASS)
        return;
    while (i < data->x.rows && fabs(data->y[i]) == 1)
        i++;
    if (i < data->x.rows)
        warn("%s: column %zu was taken for the label, which one_class does not need: say --no-labels if it is a "
             "feature",
             path, data->label_column);
}

size_t place_of(const double *labels, size_t count, double label)
{
    size_t k = 0;
    while (k < count && labels[k] != label)
        k++;
    return k;
}

void warn_of_unknown_labels(const char *path, const hinge_data *data, const hinge_model *model)
{
    const hinge_words *words = hinge_model_words(model);
    size_t unknown = 0, some = 0, n = hinge_model_n_classes(model);
    char room[LABEL_ROOM];
    if (data->words.count && !words)
        warn("%s: its labels are words, as '%s', and the model's are numbers: they are not compared", path,
             data->words.word[0]);
    if (!hinge_model_labels(model) || !data->labelled)
        return;
    if (words && !data->words.count)
        warn("%s: its labels are numbers, and the model's are words: 1 is taken for '%s', and so on", path,
             words->word[0]);
    for (size_t i = 0; i < data->x.rows; i++)
        if (place_of(hinge_model_labels(model), n, data->y[i]) == n) {
            some = i;
            unknown++;
        }
    if (unknown == data->x.rows)
        warn("%s: none of its labels is a class of the model", path);
    else if (unknown)
        warn("%s: the labels of %zu of %zu examples, such as %s, are no classes of the model, and so are not predicted",
             path, unknown, data->x.rows, label_text(&data->words, data->y[some], 17, room));
}

/*
 * hinge scale: svm-scale's options, range files and output.
 *
 * Each feature goes linearly from [min, max] of the data to [lower, upper]; a feature that never changes is
 * left out, and so are zeros. A range file holds, all numbers as %.17g,
 *
 *     y                       with -y only
 *     y_lower y_upper
 *     y_min y_max
 *     x
 *     lower upper
 *     index min max           of each feature that changes, indices from 1
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"

struct interval {
    double low, high;
};

struct scale_settings {
    struct interval x, y; /* to scale to */
    int scale_y;
    struct data_flags data;
    const char *save, *restore, *output;
};

/* Where features and labels lie before scaling. */
struct ranges {
    struct interval y;
    int y_known;
    size_t count;
    struct interval *x; /* [count]; low == high: left out */
};

/* -y LOW HIGH; field: the settings. */
static void parse_y(const struct option_use *use, const void *detail, void *field)
{
    struct scale_settings *s = field;
    struct option_use second = *use;

    s->y.low = real_value(use, detail);
    second.text = option_next(use);
    s->y.high = real_value(&second, detail);
    s->scale_y = 1;
}

#define FIELD(name) offsetof(struct scale_settings, name)
static const struct tool_option scale_options[] = {
    { 'l', "lower", "L", parse_real, FIELD(x.low), &range_any, "lower end of scaled features (-1)" },
    { 'u', "upper", "U", parse_real, FIELD(x.high), &range_any, "upper end (1)" },
    { 'y', "labels", "L U", parse_y, 0, &range_any, "scale the labels too, to L to U" },
    { 's', "save", "FILE", parse_text, FIELD(save), NULL, "save the ranges of the data" },
    { 'r', "restore", "FILE", parse_text, FIELD(restore), NULL, "scale by the ranges of a file" },
    { 0, "output", "FILE", parse_text, FIELD(output), NULL, "write there (standard output)" },
};

static const char usage[] = "usage: hinge scale [options] data_file\n\n"
                            "Scales the features of a LIBSVM file, which may be compressed with xz or gz.";

static void read_options(int argc, char **argv, struct scale_settings *s, const char **data_path)
{
    const struct option_group groups[] = {
        { "Options (default in parentheses):", scale_options, COUNT_OF(scale_options), s },
    };
    int first = parse_options(argc, argv, usage, groups, COUNT_OF(groups));

    if (first + 1 != argc)
        die(EXIT_USAGE, "scale: one data file is needed; see `hinge scale --help`");
    if (s->save && s->restore)
        die(EXIT_USAGE, "scale: -s and -r do not go together");
    if (!(s->x.low < s->x.high))
        die(EXIT_USAGE, "scale: -l %g must be below -u %g", s->x.low, s->x.high);
    if (s->scale_y && !(s->y.low < s->y.high))
        die(EXIT_USAGE, "scale: -y %g must be below %g", s->y.low, s->y.high);
    *data_path = argv[first];
}

/* ---- Range files ---- */

struct range_file {
    const char *path;
    FILE *file;
    char *text; /* of the line in hand */
    size_t size, line;
};

static int next_line(struct range_file *f)
{
    ssize_t length;

    do {
        length = getline(&f->text, &f->size, f->file);
        f->line++;
    } while (length >= 0 && f->text[strspn(f->text, " \t\r\n")] == '\0');
    return length >= 0;
}

static _Noreturn void die_of_line(const struct range_file *f, const char *expected)
{
    die(EXIT_DATA, "%s:%zu: %s expected", f->path, f->line, expected);
}

/* The line in hand, as count finite numbers. */
static void read_numbers(struct range_file *f, double *values, int count, const char *expected)
{
    char *at = f->text, *end;

    for (int k = 0; k < count; k++, at = end) {
        values[k] = strtod(at, &end);
        if (end == at || !isfinite(values[k]))
            die_of_line(f, expected);
    }
    if (at[strspn(at, " \t\r\n")])
        die_of_line(f, expected);
}

static void read_interval(struct range_file *f, struct interval *interval, int ordered)
{
    double v[2];

    if (!next_line(f))
        die_of_line(f, "two numbers");
    read_numbers(f, v, 2, "two numbers");
    if (ordered && !(v[0] < v[1]))
        die_of_line(f, "a lower and an upper end");
    *interval = (struct interval){ v[0], v[1] };
}

static int is_heading(const struct range_file *f, char letter)
{
    return f->text[0] == letter && f->text[1 + strspn(f->text + 1, " \t\r\n")] == '\0';
}

static void read_feature(struct range_file *f, struct ranges *ranges)
{
    static const char expected[] = "a feature index, its least and its largest value";
    double v[3];
    size_t index;

    read_numbers(f, v, 3, expected);
    if (!(v[0] >= 1 && v[0] <= INT32_MAX && v[0] == floor(v[0]) && v[1] <= v[2]))
        die_of_line(f, expected);
    index = (size_t)v[0];
    if (index > ranges->count) {
        size_t count = index > 2 * ranges->count ? index : 2 * ranges->count;
        struct interval *x = realloc(ranges->x, count * sizeof *x);

        if (!x)
            die(EXIT_DATA, "no memory for %zu features", count);
        memset(x + ranges->count, 0, (count - ranges->count) * sizeof *x);
        ranges->x = x;
        ranges->count = count;
    }
    ranges->x[index - 1] = (struct interval){ v[1], v[2] };
}

static size_t last_feature(const struct ranges *ranges)
{
    size_t count = ranges->count;

    while (count && ranges->x[count - 1].low == ranges->x[count - 1].high)
        count--;
    return count;
}

static void read_ranges(const char *path, struct scale_settings *s, struct ranges *ranges)
{
    struct range_file f = { .path = path, .file = fopen(path, "r") };

    if (!f.file)
        die(EXIT_DATA, "%s: cannot read: %s", path, strerror(errno));
    if (!next_line(&f))
        die_of_line(&f, "x or y");
    if (is_heading(&f, 'y')) {
        read_interval(&f, &s->y, 1);
        read_interval(&f, &ranges->y, 0);
        s->scale_y = ranges->y_known = 1;
        if (!next_line(&f))
            die_of_line(&f, "x");
    }
    if (!is_heading(&f, 'x'))
        die_of_line(&f, "x");
    read_interval(&f, &s->x, 1);
    while (next_line(&f))
        read_feature(&f, ranges);
    ranges->count = last_feature(ranges);
    free(f.text);
    fclose(f.file);
}

static void write_ranges(const char *path, const struct scale_settings *s, const struct ranges *ranges)
{
    struct output out;

    output_open(&out, path);
    if (s->scale_y)
        fprintf(out.file, "y\n%.17g %.17g\n%.17g %.17g\n", s->y.low, s->y.high, ranges->y.low, ranges->y.high);
    fprintf(out.file, "x\n%.17g %.17g\n", s->x.low, s->x.high);
    for (size_t k = 0; k < ranges->count; k++)
        if (ranges->x[k].low != ranges->x[k].high)
            fprintf(out.file, "%zu %.17g %.17g\n", k + 1, ranges->x[k].low, ranges->x[k].high);
    output_close(&out);
}

/* ---- Scaling ---- */

static const double *row_of(const hinge_data *data, size_t i)
{
    return (const double *)data->x.data + i * data->x.stride;
}

static void widen(struct interval *interval, double value)
{
    interval->low = fmin(interval->low, value);
    interval->high = fmax(interval->high, value);
}

static void measure(const hinge_data *data, struct ranges *ranges)
{
    size_t rows = data->x.rows, cols = data->x.cols;

    ranges->count = cols;
    ranges->x = allocate(cols, sizeof *ranges->x);
    for (size_t k = 0; k < cols && rows; k++)
        ranges->x[k] = (struct interval){ row_of(data, 0)[k], row_of(data, 0)[k] };
    for (size_t i = 1; i < rows; i++)
        for (size_t k = 0; k < cols; k++)
            widen(&ranges->x[k], row_of(data, i)[k]);
    ranges->y = (struct interval){ INFINITY, -INFINITY };
    for (size_t i = 0; i < rows; i++)
        widen(&ranges->y, data->y[i]);
}

/* Features that vary here, but not in the range file, cannot be scaled: they are left out. */
static void warn_of_lost_features(const struct ranges *here, const struct ranges *file, const char *path)
{
    size_t lost = 0, first = 0;

    for (size_t k = 0; k < here->count; k++) {
        int absent = k >= file->count || file->x[k].low == file->x[k].high;

        if (absent && here->x[k].low != here->x[k].high && lost++ == 0)
            first = k + 1;
    }
    if (lost == 1)
        warn("%s: no range for feature %zu, which is left out", path, first);
    else if (lost)
        warn("%s: no range for %zu features, from %zu on, which are left out", path, lost, first);
}

static double scaled(struct interval from, struct interval to, double value)
{
    if (value == from.low)
        return to.low;
    if (value == from.high)
        return to.high;
    return to.low + (to.high - to.low) * (value - from.low) / (from.high - from.low);
}

/* One line; returns the entries written. */
static size_t write_row(FILE *file, const struct scale_settings *s, const struct ranges *ranges, double label,
                        const double *row)
{
    size_t entries = 0;

    fprintf(file, "%.17g ", s->scale_y ? scaled(ranges->y, s->y, label) : label);
    for (size_t k = 0; k < ranges->count; k++) {
        double value;

        if (ranges->x[k].low == ranges->x[k].high)
            continue;
        value = scaled(ranges->x[k], s->x, row[k]);
        if (value == 0)
            continue;
        fprintf(file, "%zu:%g ", k + 1, value);
        entries++;
    }
    fputc('\n', file);
    return entries;
}

static void write_data(const struct scale_settings *s, const struct ranges *ranges, const hinge_data *data)
{
    const char *path = s->output ? s->output : "-";
    struct output out;
    size_t entries = 0;

    output_open(&out, path);
    for (size_t i = 0; i < data->x.rows; i++)
        entries += write_row(out.file, s, ranges, data->y[i], row_of(data, i));
    output_close(&out);
    if (entries > data->nonzeros)
        warn("%zu entries became %zu: where values are sparse and not negative, -l 0 keeps zeros",
             data->nonzeros, entries);
}

int command_scale(int argc, char **argv)
{
    struct scale_settings s = { .x = { -1, 1 } };
    struct ranges here = { 0 }, file = { 0 };
    const char *path;
    hinge_data data;

    read_options(argc, argv, &s, &path);
    if (s.restore)
        read_ranges(s.restore, &s, &file);
    s.data = (struct data_flags){ .format = HINGE_FORMAT_LIBSVM, .features = file.count };
    load_data(path, &s.data, 0, 0, 0, &data);
    measure(&data, &here);
    if (s.restore) {
        warn_of_lost_features(&here, &file, s.restore);
        if (!file.y_known)
            file.y = here.y;
    }
    if (s.save)
        write_ranges(s.save, &s, &here);
    write_data(&s, s.restore ? &file : &here, &data);
    hinge_data_free(&data);
    free(here.x);
    free(file.x);
    return 0;
}

/*
 * Ranges of features: measured, and kept in svm-scale's files. A range file holds, all numbers as %.17g,
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

#include "ranges.h"

int ranges_leave_out(const struct ranges *ranges, size_t feature)
{
    return feature >= ranges->count || ranges->x[feature].low == ranges->x[feature].high;
}

size_t feature_number(const struct ranges *ranges, size_t feature)
{
    return ranges->features ? ranges->features[feature] : feature + 1;
}

void ranges_free(struct ranges *ranges)
{
    free(ranges->x);
    *ranges = (struct ranges){ .count = 0 };
}

/* ---- Measured ---- */

const double *row_of(const hinge_data *data, size_t i)
{
    return (const double *)data->x.data + i * data->x.stride;
}

static void widen(struct interval *interval, double value)
{
    interval->low = fmin(interval->low, value);
    interval->high = fmax(interval->high, value);
}

void ranges_measure(struct ranges *ranges, const hinge_data *data)
{
    size_t rows = data->x.rows, cols = data->x.cols;
    hinge_scaling fitted = { 0 };

    check(hinge_scaling_fit(&fitted, &data->x, NULL, 0, 1, &failure));
    ranges->count = cols;
    ranges->features = data->columns;
    ranges->x = allocate(cols, sizeof *ranges->x);
    for (size_t k = 0; k < cols; k++)
        ranges->x[k] = (struct interval){ fitted.low[k], fitted.high[k] };
    hinge_scaling_free(&fitted);
    ranges->y = (struct interval){ INFINITY, -INFINITY };
    for (size_t i = 0; i < rows; i++)
        widen(&ranges->y, data->y[i]);
}

void warn_of_lost_features(const struct ranges *here, const struct ranges *file, const char *path)
{
    size_t lost = 0, first = 0;

    for (size_t k = 0; k < here->count; k++)
        if (!ranges_leave_out(here, k) && ranges_leave_out(file, k) && lost++ == 0)
            first = k + 1;
    if (lost == 1)
        warn("%s: no range for feature %zu, which is left out", path, first);
    else if (lost)
        warn("%s: no range for %zu features, from %zu on, which are left out", path, lost, first);
}

hinge_scaling ranges_scaling(const struct ranges *ranges, struct interval to, size_t cols)
{
    hinge_scaling scaling = { .lower = to.low, .upper = to.high, .n_features = cols };

    scaling.low = allocate(cols, sizeof *scaling.low);
    scaling.high = allocate(cols, sizeof *scaling.high);
    for (size_t k = 0; k < cols && k < ranges->count; k++) {
        scaling.low[k] = ranges->x[k].low;
        scaling.high[k] = ranges->x[k].high;
    }
    return scaling;
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

/* Reads the line in hand as count finite numbers. */
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
        int fits = count <= hinge_machine_info().total_memory / sizeof *ranges->x;
        struct interval *x = fits ? realloc(ranges->x, count * sizeof *x) : NULL;

        if (!x)
            die(EXIT_DATA, "%s:%zu: no memory for %zu features", f->path, f->line, index);
        memset(x + ranges->count, 0, (count - ranges->count) * sizeof *x);
        ranges->x = x;
        ranges->count = count;
    }
    ranges->x[index - 1] = (struct interval){ v[1], v[2] };
}

static size_t last_feature(const struct ranges *ranges)
{
    size_t count = ranges->count;

    while (count && ranges_leave_out(ranges, count - 1))
        count--;
    return count;
}

void ranges_read(struct ranges *ranges, struct targets *to, const char *path)
{
    struct range_file f = { .path = path, .file = fopen(path, "r") };

    if (!f.file)
        die(EXIT_DATA, "%s: cannot read: %s", path, strerror(errno));
    if (!next_line(&f))
        die_of_line(&f, "x or y");
    if (is_heading(&f, 'y')) {
        read_interval(&f, &to->y, 1);
        read_interval(&f, &ranges->y, 0);
        to->scale_y = ranges->y_known = 1;
        if (!next_line(&f))
            die_of_line(&f, "x");
    }
    if (!is_heading(&f, 'x'))
        die_of_line(&f, "x");
    read_interval(&f, &to->x, 1);
    while (next_line(&f))
        read_feature(&f, ranges);
    ranges->count = last_feature(ranges);
    free(f.text);
    fclose(f.file);
}

void ranges_write(const struct ranges *ranges, const struct targets *to, const char *path)
{
    struct output out;

    output_open(&out, path);
    if (to->scale_y)
        fprintf(out.file, "y\n%.17g %.17g\n%.17g %.17g\n", to->y.low, to->y.high, ranges->y.low, ranges->y.high);
    fprintf(out.file, "x\n%.17g %.17g\n", to->x.low, to->x.high);
    for (size_t k = 0; k < ranges->count; k++)
        if (!ranges_leave_out(ranges, k))
            fprintf(out.file, "%zu %.17g %.17g\n", feature_number(ranges, k), ranges->x[k].low, ranges->x[k].high);
    output_close(&out);
}

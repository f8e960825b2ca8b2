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
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ranges.h"

int ranges_leave_out(const struct ranges *ranges, size_t feature)
{
    const hinge_scaling *x = &ranges->x;
    return feature >= x->n_features || x->low[feature] == x->high[feature];
}

size_t feature_number(const struct ranges *ranges, size_t feature)
{
    return ranges->features ? ranges->features[feature] : feature + 1;
}

void ranges_grow(struct ranges *ranges, size_t count)
{
    hinge_scaling *x = &ranges->x;
    double **const ends[] = { &x->low, &x->high };
    for (size_t k = 0; k < COUNT_OF(ends); k++) {
        *ends[k] = grown(*ends[k], count ? count : 1, sizeof **ends[k]);
        for (size_t i = x->n_features; i < count; i++)
            (*ends[k])[i] = 0;
    }
    x->n_features = count;
}

void ranges_free(struct ranges *ranges)
{
    free(ranges->x.low);
    free(ranges->x.high);
    ranges->x = (hinge_scaling){ .low = NULL };
}

/* ---- Measured ---- */

void ranges_measure(struct ranges *ranges, const hinge_data *data)
{
    size_t cols = data->x.cols;
    hinge_scaling fitted = { 0 };
    ranges_grow(ranges, cols);
    if (data->x.rows > 0) { /* a rank may have none */
        check(hinge_scaling_fit(&fitted, &data->x, NULL, 0, 1, &failure));
        memcpy(ranges->x.low, fitted.low, cols * sizeof *fitted.low);
        memcpy(ranges->x.high, fitted.high, cols * sizeof *fitted.high);
        hinge_scaling_free(&fitted);
    }
    ranges->features = data->columns;
    ranges->y = (struct interval){ INFINITY, -INFINITY };
    for (size_t i = 0; i < data->x.rows; i++) {
        ranges->y.low = fmin(ranges->y.low, data->y[i]);
        ranges->y.high = fmax(ranges->y.high, data->y[i]);
    }
}

void warn_of_lost_features(const struct ranges *here, const struct ranges *file, const char *path)
{
    size_t lost = 0, first = 0;
    for (size_t k = 0; k < here->x.n_features; k++)
        if (!ranges_leave_out(here, k) && ranges_leave_out(file, k) && lost++ == 0)
            first = k + 1;
    if (lost == 1)
        warn("%s: no range for feature %zu, which is left out", path, first);
    else if (lost)
        warn("%s: no range for %zu features, from %zu on, which are left out", path, lost, first);
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
    size_t length;
    do {
        length = read_line(f->file, &f->text, &f->size);
        f->line++;
    } while (length > 0 && f->text[strspn(f->text, " \t\r\n")] == '\0');
    return length > 0;
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

static struct interval read_interval(struct range_file *f, int ordered)
{
    double v[2];
    if (!next_line(f))
        die_of_line(f, "two numbers");
    read_numbers(f, v, 2, "two numbers");
    if (ordered && !(v[0] < v[1]))
        die_of_line(f, "a lower and an upper end");
    return (struct interval){ v[0], v[1] };
}

static int is_heading(const struct range_file *f, char letter)
{
    return f->text[0] == letter && f->text[1 + strspn(f->text + 1, " \t\r\n")] == '\0';
}

static void read_feature(struct range_file *f, struct ranges *ranges)
{
    static const char expected[] = "a feature index, its least and its largest value";
    hinge_scaling *x = &ranges->x;
    double v[3];
    size_t index;
    read_numbers(f, v, 3, expected);
    if (!(v[0] >= 1 && v[0] <= INT32_MAX && v[0] == floor(v[0]) && v[1] <= v[2]))
        die_of_line(f, expected);
    index = (size_t)v[0];
    if (index > x->n_features) {
        size_t count = index > 2 * x->n_features ? index : 2 * x->n_features;
        if (count > hinge_machine_info().total_memory / sizeof(struct interval))
            die(EXIT_DATA, "%s:%zu: no memory for %zu features", f->path, f->line, index);
        ranges_grow(ranges, count);
    }
    x->low[index - 1] = v[1];
    x->high[index - 1] = v[2];
}

void ranges_read(struct ranges *ranges, const char *path)
{
    struct range_file f = { .path = path, .file = open_file(path, "r") };
    struct interval ends;
    if (!next_line(&f))
        die_of_line(&f, "x or y");
    if (is_heading(&f, 'y')) {
        ranges->y_to = read_interval(&f, 1);
        ranges->y = read_interval(&f, 0);
        ranges->scale_y = 1;
        if (!next_line(&f))
            die_of_line(&f, "x");
    }
    if (!is_heading(&f, 'x'))
        die_of_line(&f, "x");
    ends = read_interval(&f, 1);
    ranges->x.lower = ends.low;
    ranges->x.upper = ends.high;
    while (next_line(&f))
        read_feature(&f, ranges);
    while (ranges->x.n_features && ranges_leave_out(ranges, ranges->x.n_features - 1))
        ranges->x.n_features--;
    free(f.text);
    fclose(f.file);
}

void ranges_write(const struct ranges *ranges, const char *path)
{
    const hinge_scaling *x = &ranges->x;
    const struct interval *y = &ranges->y, *y_to = &ranges->y_to;
    struct output out;
    output_open(&out, path);
    if (ranges->scale_y)
        fprintf(out.file, "y\n%.17g %.17g\n%.17g %.17g\n", y_to->low, y_to->high, y->low, y->high);
    fprintf(out.file, "x\n%.17g %.17g\n", x->lower, x->upper);
    for (size_t k = 0; k < x->n_features; k++)
        if (!ranges_leave_out(ranges, k))
            fprintf(out.file, "%zu %.17g %.17g\n", feature_number(ranges, k), x->low[k], x->high[k]);
    output_close(&out);
}

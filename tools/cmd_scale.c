/*
 * hinge scale: svm-scale's options, range files and output.
 *
 * Each feature goes linearly from [min, max] of the data to [lower, upper]; a feature that never changes is
 * left out, and so are zeros. Range files: see ranges.c.
 */
#include <math.h>
#include <string.h>

#include "ranges.h"

struct scale_settings {
    struct ranges ranges;
    struct data_flags data;
    const char *save, *restore, *output;
};

/* Takes -y LOW HIGH; field: the settings. */
static void parse_y(const struct option_use *use, void *field)
{
    struct scale_settings *s = field;
    struct option_use second = *use;
    s->ranges.y_to.low = real_value(use, use->detail);
    second.text = option_next(use);
    s->ranges.y_to.high = real_value(&second, use->detail);
    s->ranges.scale_y = 1;
}

#define FIELD(name) offsetof(struct scale_settings, name)
static const struct tool_option scale_options[] = {
    { 'l', "lower", "L", parse_real, FIELD(ranges.x.lower), &range_any, "scale features to L at their lower end (-1)" },
    { 'u', "upper", "U", parse_real, FIELD(ranges.x.upper), &range_any, "scale features to U at their upper end (1)" },
    { 'y', "labels", "L U", parse_y, 0, &range_any, "scale the labels too, to L to U" },
    { 's', "save", "FILE", parse_text, FIELD(save), NULL, "save the ranges of the data in FILE" },
    { 'r', "restore", "FILE", parse_text, FIELD(restore), NULL, "scale by the ranges that were saved in FILE" },
    OPTION_FILE("output", output, "write the scaled data to FILE (standard output)"),
};

static const char usage[] = "usage: hinge scale [options] data_file\n\n"
                            "Scales the features of a data file, and writes LIBSVM text.";

static void read_options(int argc, char **argv, struct scale_settings *s, const char **data_path)
{
    const char *needed = "one data file is needed";
    const struct command_line line = {
        usage, { OPTION_GROUP("Options (default in parentheses):", scale_options, s), DATA_GROUP(&s->data) },
        1, needed, { data_path }, needed
    };
    parse_command(argc, argv, &line);
    if (s->save && s->restore)
        die(EXIT_USAGE, "scale: -s and -r do not go together");
    if (!(s->ranges.x.lower < s->ranges.x.upper))
        die(EXIT_USAGE, "scale: -l %g must be below -u %g", s->ranges.x.lower, s->ranges.x.upper);
    if (s->ranges.scale_y && !(s->ranges.y_to.low < s->ranges.y_to.high))
        die(EXIT_USAGE, "scale: -y %g must be below %g", s->ranges.y_to.low, s->ranges.y_to.high);
}

/* ---- Scaling ---- */

/* Scales a value so that the ends of the interval are met exactly. */
static double scaled(double value, double low, double high, double lower, double upper)
{
    double result = lower + (upper - lower) * (value - low) / (high - low);
    if (value == low)
        return lower;
    if (value == high)
        return upper;
    if (!isfinite(result) || !isfinite(high - low))
        die(EXIT_DATA, "a value of %g cannot be scaled from %g .. %g", value, low, high);
    return result;
}

/* Writes one line; returns the number of entries written. */
static size_t write_row(FILE *file, const struct ranges *r, const hinge_data *data, size_t i)
{
    const hinge_scaling *x = &r->x;
    double label = data->y[i];
    size_t entries = 0;
    char room[LABEL_ROOM];
    if (r->scale_y)
        label = scaled(label, r->y.low, r->y.high, r->y_to.low, r->y_to.high);
    fprintf(file, "%s ", label_text(&data->words, label, 17, room));
    for (size_t k = 0; k < x->n_features; k++) {
        double value;
        if (ranges_leave_out(r, k))
            continue;
        value = scaled(entry_of(data, i, k), x->low[k], x->high[k], x->lower, x->upper);
        if (value == 0)
            continue;
        fprintf(file, "%zu:%g ", feature_number(r, k), value);
        entries++;
    }
    fputc('\n', file);
    return entries;
}

static void write_data(const struct scale_settings *s, const hinge_data *data)
{
    struct output out;
    size_t entries = 0;
    output_open(&out, s->output ? s->output : "-");
    for (size_t i = 0; i < data->x.rows; i++)
        entries += write_row(out.file, &s->ranges, data, i);
    output_close(&out);
    if (entries > data->nonzeros)
        warn("%zu entries became %zu, as zeros were scaled too: -l 0 keeps zeros where no value is negative",
             data->nonzeros, entries);
}

/* Labels that are words stay as they are, if LIBSVM text can have them. */
static void check_words(const char *path, const struct scale_settings *s, const hinge_words *words)
{
    if (words->count && s->ranges.scale_y)
        die(EXIT_DATA, "%s: its labels are words, as '%s', which -y cannot scale", path, words->word[0]);
    for (size_t k = 0; k < words->count; k++)
        if (strpbrk(words->word[k], " ,:") || words->word[k][0] == '#')
            die(EXIT_DATA, "%s: the label '%s' holds a character that no label of LIBSVM text may have", path,
                words->word[k]);
}

int command_scale(int argc, char **argv)
{
    struct scale_settings s = { .ranges = { .x = { .lower = -1, .upper = 1 }, .y = { NAN, NAN } } };
    struct ranges here = { 0 };
    const char *path;
    hinge_data data;
    read_options(argc, argv, &s, &path);
    if (s.restore)
        ranges_read(&s.ranges, s.restore);
    s.data.read.type = HINGE_F64;
    s.data.read.drop_empty = !s.restore; /* which may have ranges of features that are empty here */
    load_data(path, &s.data, s.ranges.x.n_features, 0, &data);
    warn_of_row_numbers(path, &s.data, &data);
    check_words(path, &s, &data.words);
    ranges_measure(s.restore ? &here : &s.ranges, &data);
    if (s.restore) {
        warn_of_lost_features(&here, &s.ranges, s.restore);
        if (isnan(s.ranges.y.low))
            s.ranges.y = here.y;
    }
    if (s.save)
        ranges_write(&s.ranges, s.save);
    write_data(&s, &data);
    hinge_data_free(&data);
    ranges_free(&here);
    ranges_free(&s.ranges);
    return 0;
}

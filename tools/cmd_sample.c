/*
 * hinge sample: some lines of a data file, as LIBSVM's subset.py takes them.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"

struct sample_settings {
    struct data_flags data;
    int at_random;
    uint64_t seed;
};

static const struct choice choice_method[] = {
    { "0", 0 }, { "1", 1 }, { "stratified", 0 }, { "random", 1 }, { NULL, 0 },
};

#define FIELD(name) offsetof(struct sample_settings, name)
static const struct tool_option sample_options[] = {
    { 's', "method", "HOW", parse_choice, FIELD(at_random), choice_method,
      "0 stratified, of each class its share and at least one\n1 random, whatever their labels (0)" },
    { 0, "seed", "N", parse_count, FIELD(seed), &range_not_negative, "start random choices from N (0)" },
};

static const char usage[] = "usage: hinge sample [options] data_file count [subset_file] [rest_file]\n\n"
                            "Takes count lines of a data file, LIBSVM text or CSV, in their order. Writes them to\n"
                            "subset_file or standard output, and the others to rest_file. Both begin with the\n"
                            "header of a table that has one.";

/* ---- The choice ---- */

struct label {
    const char *text;
    size_t length, line;
};

static int compare_labels(const void *a, const void *b)
{
    const struct label *x = a, *y = b;
    int order = memcmp(x->text, y->text, x->length < y->length ? x->length : y->length);
    if (order == 0)
        order = (x->length > y->length) - (x->length < y->length);
    return order ? order : (x->line > y->line) - (x->line < y->line);
}

/* Takes the label of a line of LIBSVM text as it stands there, or that of a row of a table as it was read. */
static struct label find_label(const struct text_lines *lines, const hinge_data *table, size_t header, size_t row)
{
    const char *text = lines->bytes + lines->start[row + header];
    if (table->x.rows)
        return (struct label){ (const char *)&table->y[row], sizeof *table->y, row + header };
    text += strspn(text, " \t");
    return (struct label){ text, strcspn(text, " \t,;\r\n"), row + header };
}

/* Reads the labels of a table, where they are wanted, and whether it has a header. */
static void read_table(const struct sample_settings *s, const char *path, const struct text_lines *lines,
                       hinge_data *table)
{
    hinge_data_options options = reading(&s->data);
    if (!is_table(path, lines->bytes, options.format)) {
        table->header = options.header > 0;
        return;
    }
    options.format = HINGE_FORMAT_CSV;
    options.take = "";
    options.no_labels = s->at_random;
    check(hinge_data_parse(path, lines->bytes, lines->start[lines->count], &options, table, &failure));
}

/* Returns a number below n by SplitMix64; the bias is n / 2^64. */
static size_t draw(uint64_t *state, size_t n)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return (size_t)((x ^ (x >> 31)) % n);
}

/* Takes count of n lines. */
static void take(char *taken, const struct label *from, size_t n, size_t count, uint64_t *state)
{
    for (size_t k = 0; k < n && count; k++) /* the k-th with the chance count / (n - k): each choice is as likely */
        if (draw(state, n - k) < count) {
            taken[from[k].line] = 1;
            count--;
        }
}

struct class {
    size_t begin, size, place; /* in the sorted labels; place: its first line */
};

/* Sorts by size, then by the first line. */
static int compare_classes(const void *a, const void *b)
{
    const struct class *x = a, *y = b;
    if (x->size != y->size)
        return x->size > y->size ? 1 : -1;
    return x->place > y->place ? 1 : -1;
}

/* Takes of each class its share, rounded up, small ones first. */
static void take_by_class(const char *path, char *taken, struct label *labels, size_t n, size_t count, uint64_t *state)
{
    struct class *classes = allocate(n, sizeof *classes);
    size_t left = count, n_classes = 0;
    qsort(labels, n, sizeof *labels, compare_labels);
    for (size_t k = 0; k < n; k++) {
        if (k == 0 || labels[k].length != labels[k - 1].length ||
            memcmp(labels[k].text, labels[k - 1].text, labels[k].length) != 0)
            classes[n_classes++] = (struct class){ k, 0, labels[k].line };
        classes[n_classes - 1].size++;
    }
    qsort(classes, n_classes, sizeof *classes, compare_classes);
    for (size_t k = 0; k < n_classes; k++) {
        size_t share = (size_t)ceil((double)classes[k].size * ((double)count / (double)n));
        if (left == 0)
            die(EXIT_DATA, "%s: %zu lines are too few for the shares of its %zu classes: take more; if its labels are "
                           "values, take -s 1", path, count, n_classes);
        share = share < left ? share : left;
        take(taken, labels + classes[k].begin, classes[k].size, share, state);
        left -= share;
    }
    free(classes);
}

static void choose(struct sample_settings *s, const char *path, const struct text_lines *lines, const hinge_data *table,
                   size_t n, size_t count, char *taken)
{
    struct label *labels = allocate(n, sizeof *labels);
    for (size_t k = 0; k < n; k++)
        labels[k] = find_label(lines, table, (size_t)table->header, k);
    if (s->at_random)
        take(taken, labels, n, count, &s->seed);
    else
        take_by_class(path, taken, labels, n, count, &s->seed);
    free(labels);
}

/* ---- Files ---- */

static void write_lines(const char *path, const struct text_lines *lines, const char *taken, int wanted)
{
    struct output out;
    output_open(&out, path);
    for (size_t k = 0; k < lines->count; k++)
        if (taken[k] == wanted || taken[k] == 2)
            fwrite(lines->bytes + lines->start[k], 1, lines->start[k + 1] - lines->start[k], out.file);
    output_close(&out);
}

int command_sample(int argc, char **argv)
{
    static const char *const without[] = { "labels",       "no-labels",    "columns", "ignore",
                                           "categories", "drop-missing", "features", NULL };
    struct sample_settings s = { 0 };
    const char *needed = "a data file and a count are needed, and two more files at most";
    const char *data_path, *number, *output = NULL, *rest = NULL;
    const struct command_line line = { usage,
                                       { OPTION_GROUP("Options (default in parentheses):", sample_options, &s),
                                         { "Data:", data_options, n_data_options, &s.data, without } },
                                       2, needed, { &data_path, &number, &output, &rest }, needed };
    struct text_lines lines;
    hinge_data table = { 0 };
    size_t count, head, n;
    char *taken;
    parse_command(argc, argv, &line);
    check_writable(output, data_path);
    check_writable(rest, data_path);
    check_writable(rest, output);
    parse_size(&(struct option_use){ .shown = "count", .text = number, .detail = &range_positive }, &count);
    load_lines(data_path, &lines);
    read_table(&s, data_path, &lines, &table);
    head = (size_t)table.header;
    n = table.x.rows ? table.x.rows : lines.count > head ? lines.count - head : 0;
    if (count > n)
        die(EXIT_DATA, "%s: it has %zu lines to take, which are fewer than %zu", data_path, n, count);
    taken = allocate(lines.count, 1);
    if (head)
        taken[0] = 2; /* of both */
    choose(&s, data_path, &lines, &table, n, count, taken);
    write_lines(output ? output : "-", &lines, taken, 1);
    if (rest)
        write_lines(rest, &lines, taken, 0);
    hinge_data_free(&table);
    free(taken);
    free_lines(&lines);
    return 0;
}

/*
 * hinge check: the faulty lines of a data file, as LIBSVM's checkdata.py tells them.
 */
#include <stdlib.h>
#include <string.h>

#include "common.h"

#define FIELD(name) offsetof(struct data_flags, name)
static const struct tool_option check_options[] = {
    OPTION_FLAG("precomputed", read.precomputed,
                "expect 0:serial at the beginning of each line, as\nprecomputed kernels have it"),
};

static const char usage[] = "usage: hinge check [options] data_file\n\n"
                            "Tells each line of LIBSVM text or CSV that cannot be read, and why. Exit status 1 if\n"
                            "there is one.";

/* Lines that are put before one, so that it is read as in the file: those that say how. */
struct context {
    const char *path;
    const struct text_lines *lines;
    hinge_data_options options;
    size_t header; /* 1: line 1 is one */
    size_t good;   /* a line whose label tells whether labels are numbers or words; SIZE_MAX: there is none yet */
};

static void append(char *text, size_t *size, const struct text_lines *lines, size_t k)
{
    size_t own = lines->start[k + 1] - lines->start[k];
    memcpy(text + *size, lines->bytes + lines->start[k], own);
    *size += own;
}

/* Tells whether line k can be read, and says why not. */
static int is_good(const struct context *c, size_t k)
{
    const struct text_lines *lines = c->lines;
    size_t room = lines->start[1] + lines->start[k + 1] - lines->start[k], size = 0;
    char *text;
    hinge_data data;
    hinge_status status;
    if (c->good != SIZE_MAX)
        room += lines->start[c->good + 1] - lines->start[c->good];
    text = allocate(room, 1);
    if (c->header)
        append(text, &size, lines, 0);
    if (c->good != SIZE_MAX)
        append(text, &size, lines, c->good);
    append(text, &size, lines, k);
    status = hinge_data_parse("", text, size, &c->options, &data, &failure);
    free(text);
    if (status == HINGE_OK) {
        hinge_data_free(&data);
        return 1;
    }
    if (status != HINGE_EFORMAT)
        die(EXIT_DATA, "%s:%zu: %s", c->path, k + 1, failure.text);
    printf("%s:%zu: %s\n", c->path, k + 1, *failure.text == ':' ? strchr(failure.text, ' ') + 1 : failure.text);
    return 0;
}

/* Tells whether line 1 is a header, by reading it twice without its features. */
static int has_header(const struct context *c)
{
    hinge_data_options layout = c->options;
    size_t size = 0;
    char *text = allocate(2, c->lines->start[1]);
    hinge_data data = { 0 };
    append(text, &size, c->lines, 0);
    append(text, &size, c->lines, 0);
    layout.take = "";
    layout.categories = NULL;
    (void)hinge_data_parse("", text, size, &layout, &data, NULL);
    int header = data.header;
    hinge_data_free(&data);
    free(text);
    return header;
}

/* Tells each faulty line, and returns how many there are. */
static size_t check_lines(struct context *c)
{
    size_t bad = 0;
    c->options.threads = 1;
    if (c->options.format == HINGE_FORMAT_CSV)
        c->header = (size_t)has_header(c);
    c->good = SIZE_MAX;
    for (size_t k = c->header; k < c->lines->count; k++) {
        int fine = is_good(c, k);
        if (fine && c->good == SIZE_MAX)
            c->good = k;
        bad += !fine;
    }
    return bad;
}

int command_check(int argc, char **argv)
{
    struct data_flags flags = { 0 };
    const char *path, *needed = "one data file is needed";
    const struct command_line line = {
        usage, { OPTION_GROUP("Options:", check_options, &flags), DATA_GROUP(&flags) }, 1, needed, { &path }, needed
    };
    hinge_data_options options;
    struct text_lines lines;
    hinge_data data = { 0 };
    hinge_status status;
    size_t bad = 0;
    int table, npy;
    parse_command(argc, argv, &line);
    options = reading(&flags);
    options.min_cols = 0; /* which no line lacks */
    options.drop_empty = 1;
    load_lines(path, &lines);
    status = hinge_data_parse(path, lines.bytes, lines.start[lines.count], &options, &data, &failure);
    if (status != HINGE_OK && status != HINGE_EFORMAT)
        check(status);
    if (status == HINGE_OK)
        warn_of_fields(path, &data);
    table = is_table(path, lines.bytes, options.format);
    npy = options.format == HINGE_FORMAT_NPY || strncmp(lines.bytes, "\x93NUMPY", 6) == 0;
    if (status == HINGE_EFORMAT && !npy) {
        struct context context = { path, &lines, options, 0, 0 };
        context.options.format = table ? HINGE_FORMAT_CSV : HINGE_FORMAT_LIBSVM;
        bad = check_lines(&context);
    }
    if (status == HINGE_EFORMAT && bad == 0) {
        puts(failure.text);
        bad = 1;
    }
    if (!table && lines.count && lines.bytes[lines.start[lines.count] - 1] != '\n')
        warn("%s:%zu: no newline ends the last line, which checkdata.py does not let pass", path, lines.count);
    if (bad)
        printf("Found %zu lines with error.\n", bad);
    else
        puts("No error.");
    finish_stdout();
    hinge_data_free(&data);
    free_lines(&lines);
    return bad ? EXIT_DATA : 0;
}

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
                            "Tells each line of LIBSVM text that cannot be read, and why; of other formats the first\n"
                            "such line. Exit status 1 if there is one.";

/* Tells whether a line can be read behind another one, by which a label is to be a number or a word; says why not. */
static int is_good(const hinge_data_options *options, const char *path, const struct text_lines *lines, size_t behind,
                   size_t k)
{
    size_t before = behind < k ? lines->start[behind + 1] - lines->start[behind] : 0;
    size_t own = lines->start[k + 1] - lines->start[k];
    char *text = allocate(before + own, 1);
    hinge_data data;
    hinge_status status;
    memcpy(text, lines->bytes + lines->start[behind], before);
    memcpy(text + before, lines->bytes + lines->start[k], own);
    status = hinge_data_parse("", text, before + own, options, &data, &failure);
    free(text);
    if (status == HINGE_OK) {
        hinge_data_free(&data);
        return 1;
    }
    if (status != HINGE_EFORMAT)
        die(EXIT_DATA, "%s:%zu: %s", path, k + 1, failure.text);
    printf("%s:%zu: %s\n", path, k + 1, *failure.text == ':' ? strchr(failure.text, ' ') + 1 : failure.text);
    return 0;
}

/* Tells whether a file is no LIBSVM text, of whose lines each stands for itself. */
static int is_table(const char *path, const struct text_lines *lines, hinge_format format)
{
    const char *name = base_name(path);
    if (format != HINGE_FORMAT_AUTO)
        return format != HINGE_FORMAT_LIBSVM;
    return strstr(name, ".csv") || strstr(name, ".tsv") || strncmp(lines->bytes, "\x93NUMPY", 6) == 0;
}

/* Tells each faulty line, and returns how many there are. */
static size_t check_lines(hinge_data_options options, const char *path, const struct text_lines *lines)
{
    size_t bad = 0, good = 0; /* good: the first good line, once not all have been bad */
    options.format = HINGE_FORMAT_LIBSVM;
    options.threads = 1;
    for (size_t k = 0; k < lines->count; k++) {
        int fine = is_good(&options, path, lines, bad == k ? k : good, k);
        if (fine && bad == k)
            good = k;
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
    if (status == HINGE_EFORMAT && !is_table(path, &lines, options.format))
        bad = check_lines(options, path, &lines);
    if (status == HINGE_EFORMAT && bad == 0) {
        puts(failure.text);
        bad = 1;
    }
    if (!is_table(path, &lines, options.format) && lines.count && lines.bytes[lines.start[lines.count] - 1] != '\n')
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

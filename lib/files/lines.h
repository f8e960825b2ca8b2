/*
 * Text of one row a line, read by several threads: the same result and the same first error for any number of
 * them. And the parts of such lines: labels and LIBSVM's "index:value" pairs.
 */
#ifndef HG_LINES_H
#define HG_LINES_H

#include "lib/base/base.h"
#include "lib/base/columns.h"

/* Holds one line without its end (LF or CR LF). */
struct hg_line {
    const char *file;
    size_t number; /* from 1 */
    const char *p, *end;
};

/* Fails by what stands in a line: hg_fail_line(err, &line, "'%s' is not a number", text). */
#define hg_fail_line(err, line, ...) hg_fail_at((err), HINGE_EFORMAT, (line)->file, (line)->number, __VA_ARGS__)

/* Reads one line, and adds its entries that are not 0 to *nonzeros; called by several threads. */
typedef hinge_status (*hg_line_reader)(const void *arg, const struct hg_line *line, size_t row, size_t *nonzeros,
                                       hinge_error *err);

struct hg_lines {
    const char *file, *text;
    size_t size;
    size_t first_number; /* of the first line */
    bool pairs;          /* last_index is wanted */
    int threads;
    size_t n;          /* lines */
    size_t last_index; /* highest index that ends a line, were all lines in order: "... 780:0.5" */
    size_t nonzeros;   /* of all lines, once they are read */
    struct hg_chunk *chunks;
    size_t n_chunks;
};

/* Cuts text into chunks and counts their lines; pairs: also last_index. Ends with hg_lines_free. */
hinge_status hg_lines_open(struct hg_lines *lines, const char *file, const char *text, size_t size, size_t first_number,
                           bool pairs, int threads, hinge_error *err);
/* Hands every line to reader; the failure reported is that of the first line that has one. */
hinge_status hg_lines_read(struct hg_lines *lines, hg_line_reader reader, const void *arg, hinge_error *err);
void hg_lines_free(struct hg_lines *lines);

/* Columns that are kept whatever the lines hold, and the highest there may be. */
struct hg_wanted {
    const size_t *columns;
    size_t n, last;
};
/* Collects the columns that are wanted and, unless it is NULL, those that finder adds to columns as it reads the lines.
 * Where these are too many to leave out others, all stay: columns->bits is NULL then. *list: they in their order. */
hinge_status hg_lines_columns(struct hg_lines *lines, const struct hg_wanted *wanted, hg_line_reader finder,
                              const void *arg, struct hg_columns *columns, size_t **list, hinge_error *err);

/* Returns where the first line of text that begins in [p, limit) does; limit: none does. */
const char *hg_first_line(const char *text, const char *p, const char *limit);
/* Takes the line at p, which is moved behind it. */
struct hg_line hg_next_line(const char *file, size_t number, const char **p, const char *end);

/* Holds a bounded, printable copy of a word, for messages: hg_excerpt(p, end).text. */
struct hg_excerpt {
    char text[48];
};
struct hg_excerpt hg_excerpt(const char *p, const char *end);
/* Does the same for all of [p, end), blanks included. */
struct hg_excerpt hg_excerpt_all(const char *p, const char *end);

static inline bool hg_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static inline const char *hg_skip_blanks(const char *p, const char *end)
{
    while (p < end && hg_is_blank(*p))
        p++;
    return p;
}

static inline const char *hg_word_end(const char *p, const char *end)
{
    while (p < end && !hg_is_blank(*p))
        p++;
    return p;
}

/* [p, end) is this word. */
bool hg_same_word(const char *p, const char *end, const char *word);
bool hg_same_letters(const char *p, const char *end, const char *word); /* in capitals or not */

/* Reads the finite number at line->p, followed by a blank or the line's end; moves line->p behind it. what names it in
 * messages. */
hinge_status hg_line_number(struct hg_line *line, const char *what, double *value, hinge_error *err);

/* Tells where a dense row goes. */
struct hg_row {
    void *data; /* NULL: what is read is checked, not stored */
    hinge_dtype type;
    size_t cols;
    const struct hg_columns *columns; /* the features that are kept, in this order; NULL: feature j in column j - 1 */
    bool rest;                        /* the last column gets the norm of those that are not */
    struct hg_columns *found;         /* gets the features that are not 0, where data is NULL; NULL: not wanted */
};

/* Puts row[j] = value; false: finite, but too large for the type. */
static inline bool hg_row_set(const struct hg_row *row, size_t j, double value)
{
    if (row->type == HINGE_F32 && (value >= 0x1.ffffffp127 || value <= -0x1.ffffffp127))
        return false;
    hg_put(row->data, row->type, j, value);
    return true;
}

/* Says whether the value that hg_row_set stored is not 0: small ones are, in single precision. */
static inline bool hg_row_nonzero(const struct hg_row *row, double value)
{
    return row->type == HINGE_F64 ? value != 0 : (float)value != 0;
}

void hg_row_clear(const struct hg_row *row);

/* Reads what is left of a line: "index:value index:value ..." and perhaps a comment. Indices ascend from 1; those
 * beyond row->cols are left out. serial is NULL, or the line begins with "0:number" and takes that number, 0 if it is
 * not an integer from 1 to 2^31 - 1. */
hinge_status hg_line_pairs(struct hg_line *line, const struct hg_row *row, size_t *serial, size_t *nonzeros,
                           hinge_error *err);

#endif

/*
 * Lines in chunks, and the parts of lines (lines.h). A chunk is the lines that begin within a stretch of the text of
 * fixed length, so chunks do not depend on the number of threads, and one very long line costs no more than many short
 * ones. Text is read twice: to count lines, which tells where each row goes, and to read them. The time that this takes
 * stands in doc/performance.md, "Loading".
 */
#include "lib/files/lines.h"
#include "lib/base/team.h"
#include "lib/files/number.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { STRETCH = 1 << 18 };

/* Holds the lines that begin in one stretch, and, once they are read, their outcome: the first chunk that failed has
 * the first line that did, as each ends at its first failure. */
struct hg_chunk {
    const char *begin; /* of its first line */
    size_t n, first;   /* lines, and the number of lines before them */
    size_t last_index;
    size_t nonzeros;
    hinge_status status;
    hinge_error err;
};

/* ---- chunks -------------------------------------------------------------------------------------------- */

const char *hg_first_line(const char *text, const char *p, const char *limit)
{
    if (p == text)
        return p;
    const char *newline = memchr(p - 1, '\n', (size_t)(limit - p)); /* at limit - 1 it begins the next line */
    return newline == NULL ? limit : newline + 1;
}

/* Returns the index of the last "index:" before end, 0 if none can be made out: the line is then refused later. Only
 * the last one is looked for, as indices ascend. */
static size_t last_index_before(const char *p, const char *end)
{
    const char *colon = end;
    size_t index = 0;
    while (colon > p && colon[-1] != ':')
        colon--;
    if (colon == p)
        return 0;
    const char *digits = --colon;
    while (digits > p && colon - digits < 20 && (unsigned char)(digits[-1] - '0') < 10)
        digits--;
    return hg_parse_size(digits, colon, &index) == colon && index <= INT_MAX ? index : 0;
}

/* Counts the lines of stretch i; its first line begins behind the first line's end in it, unless it is the text's. */
static void count_chunk(void *arg, int thread, size_t i, size_t behind)
{
    struct hg_lines *lines = arg;
    struct hg_chunk *chunk = &lines->chunks[i];
    const char *end = lines->text + lines->size, *start = lines->text + i * STRETCH;
    const char *limit = lines->size - i * STRETCH > STRETCH ? start + STRETCH : end;
    const char *p = hg_first_line(lines->text, start, limit);
    (void)thread;
    (void)behind;
    chunk->begin = p;
    while (p < limit) {
        const struct hg_line line = hg_next_line(lines->file, 0, &p, end);
        if (lines->pairs)
            chunk->last_index = HG_MAX(chunk->last_index, last_index_before(line.p, line.end));
        chunk->n++;
    }
}

/* Counts chunks in parallel, and then sums up how many lines are before each. */
hinge_status hg_lines_open(struct hg_lines *lines, const char *file, const char *text, size_t size, size_t first_number,
                           bool pairs, int threads, hinge_error *err)
{
    *lines = (struct hg_lines){ .file = file, .text = text, .size = size, .first_number = first_number };
    lines->n_chunks = size / STRETCH + (size % STRETCH != 0);
    lines->threads = (int)HG_MIN((size_t)threads, HG_MAX(lines->n_chunks, (size_t)1));
    HG_TRY(HG_MAKE(err, "the lines of a file", HG_ZEROS(lines->chunks, lines->n_chunks)));
    lines->pairs = pairs;
    hg_share(lines->threads, lines->n_chunks, 1, count_chunk, lines);
    for (size_t i = 0; i < lines->n_chunks; i++) {
        lines->chunks[i].first = lines->n;
        lines->n += lines->chunks[i].n;
        lines->last_index = HG_MAX(lines->last_index, lines->chunks[i].last_index);
    }
    return HINGE_OK;
}

void hg_lines_free(struct hg_lines *lines)
{
    hg_free(lines->chunks);
    lines->chunks = NULL;
}

/* Takes a line to its LF, or the text's end; a CR before that is not part of it. */
struct hg_line hg_next_line(const char *file, size_t number, const char **p, const char *end)
{
    const char *start = *p, *stop = memchr(start, '\n', (size_t)(end - start));
    *p = stop == NULL ? end : stop + 1;
    if (stop == NULL)
        stop = end;
    if (stop > start && stop[-1] == '\r')
        stop--;
    return (struct hg_line){ .file = file, .number = number, .p = start, .end = stop };
}

struct reading {
    struct hg_lines *lines;
    hg_line_reader reader;
    const void *arg;
};

/* Hands a chunk's lines to the reader with their row numbers, up to the first failure. */
static void read_chunk(void *arg, int thread, size_t number, size_t behind)
{
    const struct reading *r = arg;
    const struct hg_lines *lines = r->lines;
    struct hg_chunk *chunk = &lines->chunks[number];
    const char *p = chunk->begin, *end = lines->text + lines->size;
    (void)thread;
    (void)behind;
    chunk->status = HINGE_OK;
    chunk->nonzeros = 0;
    for (size_t i = 0; i < chunk->n && chunk->status == HINGE_OK; i++) {
        size_t row = chunk->first + i;
        struct hg_line line = hg_next_line(lines->file, lines->first_number + row, &p, end);
        chunk->status = r->reader(r->arg, &line, row, &chunk->nonzeros, &chunk->err);
    }
}

/* Reads chunks in any order by any thread, then looks for the first failure in the chunks' order. */
hinge_status hg_lines_read(struct hg_lines *lines, hg_line_reader reader, const void *arg, hinge_error *err)
{
    lines->nonzeros = 0;
    struct reading reading = { lines, reader, arg };
    hg_share(lines->threads, lines->n_chunks, 1, read_chunk, &reading);
    for (size_t i = 0; i < lines->n_chunks; i++) {
        const struct hg_chunk *chunk = &lines->chunks[i];
        if (chunk->status != HINGE_OK) {
            if (err != NULL)
                *err = chunk->err;
            return chunk->status;
        }
        lines->nonzeros += chunk->nonzeros;
    }
    return HINGE_OK;
}

/* Adds columns to a set of bits, from all threads, then numbers them. Few left out are not worth a second numbering
 * (hg_columns_worth). */
hinge_status hg_lines_columns(struct hg_lines *lines, const struct hg_wanted *wanted, hg_line_reader finder,
                              const void *arg, struct hg_columns *columns, size_t **list, hinge_error *err)
{
    HG_TRY(hg_columns_open(columns, lines->file, wanted->last, err));
    for (size_t k = 0; k < wanted->n; k++)
        hg_columns_add(columns, wanted->columns[k]);
    if (finder != NULL)
        HG_TRY(hg_lines_read(lines, finder, arg, err));
    hg_columns_rank(columns);
    if (finder != NULL && !hg_columns_worth(columns)) {
        hg_columns_free(columns);
        return HINGE_OK;
    }
    return hg_columns_list(columns, list, err);
}

/* ---- parts of a line ----------------------------------------------------------------------------------- */

/* Shows bytes beyond printable ASCII as \xNN, and cuts what is too long with "...". */
struct hg_excerpt hg_excerpt_all(const char *p, const char *end)
{
    struct hg_excerpt excerpt;
    size_t n = 0;
    for (; p < end && n + 8 < sizeof excerpt.text; p++) {
        if (*p >= ' ' && *p <= '~')
            excerpt.text[n++] = *p;
        else
            n += (size_t)snprintf(excerpt.text + n, 5, "\\x%02x", (unsigned char)*p);
    }
    memcpy(excerpt.text + n, p < end ? "..." : "", 4 - 3 * (p == end));
    return excerpt;
}

struct hg_excerpt hg_excerpt(const char *p, const char *end)
{
    return hg_excerpt_all(p, hg_word_end(p, end));
}

bool hg_same_word(const char *p, const char *end, const char *word)
{
    return (size_t)(end - p) == strlen(word) && memcmp(p, word, (size_t)(end - p)) == 0;
}

/* Knows the letters of ASCII alone, whatever the locale. */
bool hg_same_letters(const char *p, const char *end, const char *word)
{
    for (; p < end && *word != '\0'; p++, word++) {
        unsigned char other = (unsigned char)(*p ^ *word), letter = (unsigned char)((*word | 0x20) - 'a');
        if (other != 0 && (other != 0x20 || letter >= 26))
            return false;
    }
    return p == end && *word == '\0';
}

/* Takes a number up to a blank or the line's end: "1x" is none. */
hinge_status hg_line_number(struct hg_line *line, const char *what, double *value, hinge_error *err)
{
    const char *p = line->p, *next = hg_parse_double(p, line->end, value);
    if (next == NULL || (next < line->end && !hg_is_blank(*next)))
        return hg_fail_line(err, line, "%s '%s' is not a number", what, hg_excerpt(p, line->end).text);
    if (!isfinite(*value))
        return hg_fail_line(err, line, "%s '%s' is not finite", what, hg_excerpt(p, line->end).text);
    line->p = next;
    return HINGE_OK;
}

void hg_row_clear(const struct hg_row *row)
{
    if (row->cols > 0)
        memset(row->data, 0, row->cols * hg_size_of(row->type));
}

/* Says what is wrong with the pair at p, whose index could not be read. */
static hinge_status refuse_index(const struct hg_line *line, const char *p, hinge_error *err)
{
    struct hg_excerpt excerpt = hg_excerpt(p, line->end);
    const char *digits = p, *end = line->end;
    while (digits < end && (unsigned char)(*digits - '0') < 10)
        digits++;
    if (end - p >= 4 && memcmp(p, "qid:", 4) == 0)
        return hg_fail_line(err, line, "'%s': ranking data is not supported", excerpt.text);
    if (*p == '#')
        return hg_fail_line(err, line, "a comment must not hold ':': '%s'", hg_excerpt_all(p, end).text);
    if (digits > p && digits < end && *digits == ':')
        return hg_fail_line(err, line, "index of '%s' exceeds %d", excerpt.text, INT_MAX);
    return hg_fail_line(err, line, "'%s' is not index:value", excerpt.text);
}

/* Reads the index at p, in digits, and its colon; returns the place behind that, or NULL. Indices of up to 7 digits
 * that have 8 bytes of text behind are read without branches (hg_parse_short); others digit by digit. */
static inline const char *parse_index(const char *p, const char *end, size_t *index)
{
    unsigned n = end - p >= 8 ? hg_parse_short(p, index) : 0;
    if (n > 0 && p[n] == ':')
        return p + n + 1;
    p = hg_parse_size(p, end, index);
    return p != NULL && p < end && *p == ':' && *index <= INT_MAX ? p + 1 : NULL;
}

/* Does what hg_parse_double does, quickly for short integers. */
static inline const char *parse_value(const char *p, const char *end, double *value)
{
    size_t integer;
    unsigned n = end - p >= 8 ? hg_parse_short(p, &integer) : 0;
    if (n == 0 || !hg_is_blank(p[n]))
        return hg_parse_double(p, end, value);
    *value = (double)integer;
    return p + n;
}

/* Reads "0:number", the serial number of a row of kernel values. */
static hinge_status read_serial(struct hg_line *line, size_t *serial, hinge_error *err)
{
    size_t index = 1;
    double value;
    line->p = hg_skip_blanks(line->p, line->end);
    const char *start = line->p, *next = parse_index(line->p, line->end, &index);
    if (next == NULL || index != 0)
        return hg_fail_line(err, line, "'%s' where 0:serial must begin a row of kernel values",
                            hg_excerpt(start, line->end).text);
    line->p = next;
    hinge_status status = hg_line_number(line, "serial number", &value, err);
    if (status == HINGE_OK)
        *serial = value >= 1 && value <= INT_MAX && value == floor(value) ? (size_t)value : 0;
    return status;
}

/* Says why the index cannot stand here. */
static hinge_status refuse_order(const struct hg_line *line, size_t index, size_t previous, hinge_error *err)
{
    if (index == 0)
        return hg_fail_line(err, line,
                            "index 0: features count from 1; 0:serial begins rows of precomputed kernels only");
    if (index == previous)
        return hg_fail_line(err, line, "index %zu stands twice", index);
    return hg_fail_line(err, line, "index %zu after %zu: indices must ascend", index, previous);
}

/* Says what is wrong with the value at p. */
static hinge_status refuse_value(const struct hg_line *line, const char *p, size_t index, double value, bool number,
                                 hinge_error *err)
{
    const char *reason = !number           ? "is not a number"
                         : isfinite(value) ? "is too large for single precision"
                                           : "is not finite";
    return hg_fail_line(err, line, "value '%s' of index %zu %s", hg_excerpt(p, line->end).text, index, reason);
}

/* A norm as it is summed up: largest sqrt(sum), where no square overflows or is lost. Not by hypot, whose name of 2022
 * in the GNU C library would keep binaries from older systems. */
struct norm {
    double largest, sum;
};

static void add_to_norm(struct norm *norm, double value)
{
    value = fabs(value);
    if (value == 0)
        return;
    const double ratio = value > norm->largest ? norm->largest / value : value / norm->largest;
    if (value > norm->largest)
        *norm = (struct norm){ value, 1 + norm->sum * ratio * ratio };
    else
        norm->sum += ratio * ratio;
}

/* Reads pair by pair, and stops at the first that is wrong, or at a comment. The inner loop of loading: a pair of short
 * index and value takes two loads. Values 0 are left out, but for -0, as rows are cleared to 0. `rest` sums up what is
 * left out as its norm. */
hinge_status hg_line_pairs(struct hg_line *line, const struct hg_row *row, size_t *serial, size_t *nonzeros,
                           hinge_error *err)
{
    if (serial != NULL)
        HG_TRY(read_serial(line, serial, err));
    const char *p = line->p, *end = line->end;
    size_t previous = 0, index, cols = row->data == NULL ? 0 : row->cols, count = 0;
    struct norm norm = { 0 };
    for (p = hg_skip_blanks(p, end); p < end; p = hg_skip_blanks(p, end)) {
        double value = 0;
        const char *start = p, *number = parse_index(p, end, &index);
        if (number == NULL && *p == '#' && memchr(p, ':', (size_t)(end - p)) == NULL)
            break;
        if (number == NULL)
            return refuse_index(line, start, err);
        if (index <= previous)
            return refuse_order(line, index, previous, err);
        p = parse_value(number, end, &value);
        bool whole = p != NULL && (p == end || hg_is_blank(*p));
        if (!whole || !isfinite(value))
            return refuse_value(line, number, index, value, whole, err);
        previous = index;
        if (value == 0 && !signbit(value))
            continue;
        if (row->columns != NULL && (index = hg_columns_place(row->columns, index)) == 0) {
            add_to_norm(&norm, value);
            continue;
        }
        if (index > cols) {
            if (row->found != NULL && index <= row->found->last) /* the highest that ends a line: others are refused */
                hg_columns_add(row->found, index);
            continue;
        }
        if (!hg_row_set(row, index - 1, value))
            return refuse_value(line, number, index, value, true, err);
        count += hg_row_nonzero(row, value);
    }
    if (row->rest && cols > 0) {
        const double rest = norm.largest * sqrt(norm.sum);
        if (!isfinite(rest) || !hg_row_set(row, cols - 1, rest))
            return hg_fail_line(err, line, "the norm of features left out is too large");
        count += hg_row_nonzero(row, rest);
    }
    line->p = end;
    *nonzeros += count;
    return HINGE_OK;
}

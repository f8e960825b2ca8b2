/*
 * Data files that are tables of text, CSV: fields apart by commas, semicolons, tabs or blanks; perhaps a header. Read
 * io_data.h before. table.c learns the layout; then lines are read in parallel, a row a line, and rows with missing
 * values are left out at the end, if the caller wants that.
 */
#include "lib/files/number.h"
#include "lib/files/table.h"

#include <math.h>
#include <string.h>

/* Holds the layout, and what is read by it. */
struct csv {
    struct hg_table table;
    struct hg_labels labels;
    hinge_data *data;
    char *dropped; /* [rows] 1: the row has a missing value; NULL: it is refused */
};

static hinge_status refuse_field(const struct csv *csv, const struct hg_line *line, size_t field, const char *begin,
                                 const char *stop, const char *why, hinge_error *err)
{
    return hg_fail_line(err, line, "%s: '%s' %s", hg_table_place(&csv->table, field).text,
                        hg_excerpt_all(begin, stop).text, why);
}

/* ---- cells that are no numbers ------------------------------------------------------------------------- */

/* Digits in three groups, as 2020-01-31, 31/1/2020 and 31.1.20 have them. */
static bool is_date(const char *p, const char *stop)
{
    size_t groups = 0, digits = 0;
    for (; p < stop && (*p == '-' || *p == '/' || *p == '.' || (*p >= '0' && *p <= '9')); p++) {
        const bool digit = *p >= '0' && *p <= '9';
        if (digit && digits++ == 0)
            groups++;
        else if (!digit)
            digits = 0;
        if (digits > 4)
            return false;
    }
    return groups == 3 && (p == stop || *p == ' ' || *p == 'T');
}

static bool has_decimal_comma(const char *p, const char *stop)
{
    const char *comma = memchr(p, ',', (size_t)(stop - p));
    double whole;
    size_t digits;
    return comma != NULL && hg_parse_double(p, comma, &whole) == comma &&
           hg_parse_size(comma + 1, stop, &digits) == stop;
}

static bool is_truth(const char *p, const char *stop)
{
    static const char *const words[] = { "true", "false", "t", "f", "yes", "no" };
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if (hg_same_letters(p, stop, words[k]))
            return true;
    return false;
}

static hinge_status refuse_missing(const struct csv *csv, const struct hg_line *line, size_t field, const char *begin,
                                   const char *stop, hinge_error *err)
{
    struct hg_excerpt place = hg_table_place(&csv->table, field);
    const char *drop = hg_table_asked(&csv->table, "--drop-missing", "drop_missing");
    if (begin == stop)
        return hg_fail_line(err, line, "missing value: %s is empty; drop such rows (%s), or fill it", place.text, drop);
    return hg_fail_line(err, line, "missing value: %s is '%s'; drop such rows (%s), or fill it", place.text,
                        hg_excerpt_all(begin, stop).text, drop);
}

/* Says of a word what it may be. The label in another column is thought of where nobody said which it is. */
static hinge_status refuse_word(const struct csv *csv, const struct hg_line *line, size_t field, const char *begin,
                                const char *stop, hinge_error *err)
{
    const struct hg_table *table = &csv->table;
    const hinge_data_options *options = table->source->options;
    struct hg_excerpt place = hg_table_place(table, field), text = hg_excerpt_all(begin, stop);
    const char *words = hg_table_asked(&csv->table, "--categories", "categories"),
               *out = hg_table_asked(&csv->table, "--ignore", "leave_out");
    bool open = table->label != SIZE_MAX && options->label_column == 0 && options->label_name == NULL;
    if (table->delimiter == ',' && strchr(text.text, ';') != NULL)
        return refuse_field(csv, line, field, begin, stop, "has a semicolon: decimal commas are not read", err);
    if (has_decimal_comma(begin, stop))
        return refuse_field(csv, line, field, begin, stop, "has a decimal comma: write points", err);
    if (is_date(begin, stop))
        return hg_fail_line(err, line, "%s: '%s' is a date, not a number: leave the column out (%s), or count days",
                            place.text, text.text, out);
    if (is_truth(begin, stop))
        return hg_fail_line(err, line,
                            "%s: '%s' is a truth value, not a number: write 1 or 0, or have columns made of its words "
                            "(%s)",
                            place.text, text.text, words);
    if (hg_is_pair(begin, stop))
        return hg_fail_line(err, line, "%s: '%s' is as in LIBSVM text: read it as such (%s)", place.text, text.text,
                            hg_table_asked(&csv->table, "--format libsvm", "HINGE_FORMAT_LIBSVM"));
    if (!open)
        return hg_fail_line(err, line, "%s: '%s' is not a number; words can be made columns (%s), or left out (%s)",
                            place.text, text.text, words, out);
    return hg_fail_line(err, line, "%s: '%s' is not a number; the label is %s (%s), and words can be made columns (%s)",
                        place.text, text.text, hg_table_place(table, table->label).text,
                        hg_table_asked(&csv->table, "--label-column", "label_column"), words);
}

/* Hexadecimal numbers are words here. */
static bool is_number(const char *begin, const char *stop, double *value)
{
    return begin < stop && hg_parse_double(begin, stop, value) == stop &&
           memchr(begin, 'x', (size_t)(stop - begin)) == NULL && memchr(begin, 'X', (size_t)(stop - begin)) == NULL;
}

static hinge_status read_number(const struct csv *csv, const struct hg_line *line, size_t field, const char *begin,
                                const char *stop, double *value, hinge_error *err)
{
    if (is_number(begin, stop, value) && isfinite(*value))
        return HINGE_OK;
    if (hg_parse_double(begin, stop, value) != stop)
        return refuse_word(csv, line, field, begin, stop, err);
    return refuse_field(csv, line, field, begin, stop,
                        isfinite(*value) ? "is hexadecimal, which is not read here" : "is not finite", err);
}

/* ---- lines --------------------------------------------------------------------------------------------- */

static hinge_status read_feature(const struct csv *csv, const struct hg_line *line, size_t field, const char *begin,
                                 const char *stop, const struct hg_row *row, size_t *nonzeros, hinge_error *err)
{
    const struct hg_column *column = &csv->table.column[field];
    size_t at = column->at;
    double value = 1;
    if (column->role == HG_CATEGORY) {
        size_t k = hg_table_word(column, begin, stop);
        if (k == column->n)
            return refuse_field(csv, line, field, begin, stop, "is none of the categories that the model knows", err);
        at = column->place[k];
    } else {
        HG_TRY(read_number(csv, line, field, begin, stop, &value, err));
    }
    if (!hg_row_set(row, at, value))
        return refuse_field(csv, line, field, begin, stop, "is too large for single precision", err);
    *nonzeros += hg_row_nonzero(row, value);
    return HINGE_OK;
}

/* Reads a field, whose row is left out where it has no value. */
static hinge_status read_field(const struct csv *csv, const struct hg_line *line, size_t i, size_t field,
                               const char *begin, const char *stop, const struct hg_row *row, size_t *nonzeros,
                               hinge_error *err)
{
    const enum hg_role role = csv->table.column[field].role;
    double value;
    if (role == HG_LEFT_OUT)
        return HINGE_OK;
    if (hg_is_missing(begin, stop)) {
        if (csv->dropped == NULL)
            return refuse_missing(csv, line, field, begin, stop, err);
        csv->dropped[i] = 1;
        return HINGE_OK;
    }
    if (role != HG_LABEL)
        return read_feature(csv, line, field, begin, stop, row, nonzeros, err);
    if (csv->labels.first.number == 0 && hg_parse_double(begin, stop, &value) == stop &&
        !is_number(begin, stop, &value))
        return refuse_field(csv, line, field, begin, stop, "is hexadecimal, which is not read here", err);
    return hg_labels_take(&csv->labels, i, line, begin, stop, err);
}

/* Reads line i into row i: as many fields as line 1 has. */
static hinge_status read_csv_line(const void *arg, const struct hg_line *line, size_t i, size_t *nonzeros,
                                  hinge_error *err)
{
    const struct csv *csv = arg;
    const size_t fields = csv->table.fields;
    struct hg_row row = hg_data_row(csv->data, i);
    size_t field = 0, own = 0;
    if (line->p == line->end && fields > 1)
        return hg_fail_line(err, line, "empty line");
    hg_row_clear(&row);
    for (const char *p = line->p;; p++) {
        const char *begin, *stop;
        p = hg_table_field(p, line->end, csv->table.delimiter, &begin, &stop);
        if (field < fields)
            HG_TRY(read_field(csv, line, i, field, begin, stop, &row, &own, err));
        field++;
        if (p == line->end)
            break;
    }
    if (field != fields)
        return hg_fail_line(err, line, "%zu columns where line 1 has %zu", field, fields);
    *nonzeros += csv->dropped != NULL && csv->dropped[i] ? 0 : own;
    return HINGE_OK;
}

/* ---- the file ------------------------------------------------------------------------------------------ */

/* Takes labels' kind from the first line of data whose label is there; false: none is. */
static bool find_kind(struct csv *csv, const char *text, const char *end, size_t number)
{
    const struct hg_table *table = &csv->table;
    while (text < end) {
        const struct hg_line line = hg_next_line(table->source->name, number++, &text, end);
        const struct hg_fields fields = hg_table_count(&line, table->delimiter, table->label);
        if (fields.label != NULL && !hg_is_missing(fields.label, fields.stop)) {
            hg_labels_begin(&csv->labels, table->label + 1, &line, fields.label, fields.stop);
            return true;
        }
    }
    return false;
}

/* Looks at the layout alone; errors are told when the file is read. */
bool hg_csv_splits(const struct hg_source *source, bool head)
{
    struct csv csv = { 0 };
    struct hg_fields first;
    hinge_error err;
    const char *text = source->data, *end = text + source->size;
    bool splits =
        source->size > 0 && hg_table_open(&csv.table, source, &first, &err) == HINGE_OK && !csv.table.doubtful;
    if (splits && csv.table.header)
        (void)hg_next_line(source->name, 1, &text, end);
    if (splits && head)
        splits = source->options->categories == NULL && (csv.table.label == SIZE_MAX || find_kind(&csv, text, end, 1));
    hg_table_close(&csv.table);
    return splits;
}

/* Closes up rows over those that are dropped. */
static hinge_status drop_rows(struct csv *csv, const struct hg_source *source, hinge_error *err)
{
    hinge_data *data = csv->data;
    size_t kept = 0, n = data->x.rows, size = data->x.cols * hg_size_of(data->x.type);
    char *rows = data->memory;
    for (size_t i = 0; csv->dropped != NULL && i < n && !source->part.check; i++) {
        if (csv->dropped[i])
            continue;
        if (kept < i && size > 0)
            memmove(rows + kept * size, rows + i * size, size);
        data->y[kept] = data->y[i];
        if (csv->labels.word != NULL)
            csv->labels.word[kept] = csv->labels.word[i];
        kept++;
    }
    if (csv->dropped == NULL || source->part.check)
        return HINGE_OK;
    data->dropped = n - kept;
    data->x.rows = kept;
    return kept > 0 || source->part.of > 0
               ? HINGE_OK
               : hg_fail_at(err, HINGE_EFORMAT, source->name, 0, "no row is without a missing value");
}

/* Numbers the words of labels. A word that line 1 alone has may be the name of its column. */
static hinge_status csv_words(struct csv *csv, const struct hg_source *source, const struct hg_fields *first,
                              hinge_status status, hinge_error *err)
{
    const hinge_words *known = source->options->words;
    hinge_data *data = csv->data;
    size_t i = 1;
    status = hg_labels_end(&csv->labels, data, source, status, err);
    if (status != HINGE_OK || !csv->table.doubtful || hinge_word(known, data->y[0], NULL) != NULL)
        return status;
    while (i < data->x.rows && data->y[i] != data->y[0])
        i++;
    return i > 1 && i == data->x.rows ? hg_table_refuse_first(&csv->table, first, err) : HINGE_OK;
}

/* Reads lines of the caller's part. Rows that are checked alone go to one place, therefore by one thread. */
static hinge_status read_lines(struct csv *csv, const struct hg_source *source, struct hg_fields *first,
                               hinge_error *err)
{
    const char *text = source->data, *end = text + source->size;
    struct hg_lines lines = { 0 };
    struct hg_table *table = &csv->table;
    hinge_data *data = csv->data;
    if (table->header)
        (void)hg_next_line(source->name, 1, &text, end);
    if (text == end)
        return hg_fail_at(err, HINGE_EFORMAT, source->name, 0, "no rows");
    HG_TRY(hg_table_number(table, text, data, err));
    if (table->label != SIZE_MAX)
        (void)find_kind(csv, text, end, table->header ? 2 : 1);
    size_t size = (size_t)(end - text);
    text = hg_lines_of_part(&source->part, text, &size);
    if (size == 0)
        return HINGE_OK;
    hinge_status status = hg_lines_open(&lines, source->name, text, size, table->header ? 2 : 1, false,
                                        source->part.check ? 1 : source->threads, err);
    data->header = table->header;
    data->labelled = table->label != SIZE_MAX;
    data->label_column = data->labelled ? table->label + 1 : 0;
    data->file_cols = table->features;
    HG_THEN(status,
            hg_data_reserve(data, source, lines.n, HG_MAX(data->file_cols, source->options->min_cols), HINGE_F64, err));
    if (source->options->drop_missing)
        HG_THEN(status, HG_MAKE(err, "rows to drop", HG_ZEROS(csv->dropped, lines.n)));
    HG_THEN(status, hg_labels_reserve(&csv->labels, data, source, err));
    HG_THEN(status, hg_lines_read(&lines, read_csv_line, csv, err));
    HG_THEN(status, drop_rows(csv, source, err));
    status = csv_words(csv, source, first, status, err);
    if (status == HINGE_OK)
        data->nonzeros = lines.nonzeros;
    hg_lines_free(&lines);
    hg_free(csv->dropped);
    return status;
}

hinge_status hg_read_csv(const struct hg_source *source, hinge_data *data, hinge_error *err)
{
    struct csv csv = { .data = data };
    struct hg_fields first;
    if (source->size == 0)
        return hg_fail_at(err, HINGE_EFORMAT, source->name, 0, "no rows");
    hinge_status status = hg_table_open(&csv.table, source, &first, err);
    HG_THEN(status, read_lines(&csv, source, &first, err));
    hg_table_close(&csv.table);
    return status;
}

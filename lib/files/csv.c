/*
 * Data files that are tables of text, CSV: fields apart by commas, semicolons or tabs; perhaps a header. Read io_data.h
 * before. The first line tells delimiter, number of fields and label (csv_layout); a header is told by its words, and
 * where it cannot be told the caller is asked. Then lines are read in parallel, a row a line.
 */
#include "lib/files/io_data.h"
#include "lib/files/number.h"

#include <math.h>
#include <string.h>

/* Holds what the first line tells, and what is read by it. */
struct csv {
    char delimiter;
    size_t fields; /* a line */
    size_t label;  /* field that holds the label, or SIZE_MAX */
    bool header;   /* line 1 is one */
    bool doubtful; /* line 1 may be one: its label is a word, and the rest numbers */
    struct hg_labels labels;
    hinge_data *data;
};

/* Finds the field at p, without blanks and quotes around it, as [*begin, *stop); returns its end (a delimiter or the
 * line's). A quote that does not close at the field's end is a character like others. */
static const char *csv_field(const char *p, const char *end, char delimiter, const char **begin, const char **stop)
{
    while (p < end && *p == ' ')
        p++;
    if (p < end && *p == '"') {
        const char *close = p + 1; /* two quotes stand for one, inside */
        while (close < end && (*close != '"' || (close + 1 < end && close[1] == '"')))
            close += *close == '"' ? 2 : 1;
        const char *next = close < end ? close + 1 : end;
        while (next < end && *next == ' ')
            next++;
        if (close < end && (next == end || *next == delimiter)) {
            *begin = p + 1;
            *stop = close;
            return next;
        }
    }
    const char *next = memchr(p, delimiter, (size_t)(end - p));
    next = next == NULL ? end : next;
    *begin = p;
    *stop = next;
    while (*stop > p && (*stop)[-1] == ' ')
        --*stop;
    return next;
}

/* Tells what the fields of a line are; empty ones are neither numbers nor words. */
struct csv_fields {
    size_t count, numbers, words; /* numbers of any kind, inf and nan too */
    size_t word;                  /* the first word's place, from 1 */
    struct hg_excerpt text;       /* and what it is */
    const char *label, *stop;     /* the text of the label's field; NULL: there is none */
};

/* Counts a line's fields, and which of them are numbers, for guessing what the file is. */
static struct csv_fields csv_count(const struct hg_line *line, char delimiter, size_t label)
{
    struct csv_fields fields = { 0 };
    for (const char *p = line->p;; p++) {
        const char *begin, *stop;
        double value;
        p = csv_field(p, line->end, delimiter, &begin, &stop);
        if (fields.count++ == label) {
            fields.label = begin;
            fields.stop = stop;
        }
        if (begin < stop && hg_parse_double(begin, stop, &value) == stop) {
            fields.numbers++;
        } else if (begin < stop && fields.words++ == 0) {
            fields.word = fields.count;
            fields.text = hg_excerpt_all(begin, stop);
        }
        if (p == line->end)
            return fields;
    }
}

static const char semicolon[] = "has a semicolon: decimal commas are not read";

/* Says that line 1 may be a header or an example, and which option says so. */
static hinge_status refuse_first_line(const struct csv_fields *fields, size_t label, const struct hg_source *source,
                                      hinge_error *err)
{
    if (strchr(fields->text.text, ';') != NULL) /* separates fields where there is no comma */
        return hg_fail_at(err, HINGE_EFORMAT, source->name, 1, "column %zu: '%s' %s", fields->word, fields->text.text,
                          semicolon);
    return hg_fail_at(err, HINGE_EFORMAT, source->name, 1,
                      "column %zu: '%s' beside numbers: say whether this line is a header (--header, header = 1) or an "
                      "example (--no-header, header = -1)%s",
                      fields->word, fields->text.text,
                      fields->word == label + 1 ? "" : ", or that it is the label (--label-column, label_column)");
}

/* Decides whether line 1 is a header: one has no number in it. A line of which only some fields are numbers may be
 * either: the caller must say, unless the label alone is a word, as in line 2. */
static hinge_status csv_header(struct csv *csv, const struct csv_fields *fields, const struct hg_source *source,
                               const char *second, hinge_error *err)
{
    const int given = source->options->header;
    csv->header = given > 0 || (given == 0 && fields->words > 0 && fields->numbers == 0);
    if (given != 0 || fields->words == 0 || fields->numbers == 0)
        return HINGE_OK;
    const struct hg_line line = hg_next_line(source->name, 2, &second, source->data + source->size);
    const struct csv_fields next = csv_count(&line, csv->delimiter, csv->label);
    double value;
    bool number = next.label != NULL && hg_parse_double(next.label, next.stop, &value) == next.stop;
    csv->doubtful = fields->words == 1 && fields->word == csv->label + 1 && !number;
    return csv->doubtful ? HINGE_OK : refuse_first_line(fields, csv->label, source, err);
}

static hinge_status refuse_field(const struct hg_line *line, size_t field, const char *begin, const char *stop,
                                 const char *why, hinge_error *err)
{
    return hg_fail_line(err, line, "column %zu: '%s' %s", field + 1, hg_excerpt_all(begin, stop).text, why);
}

/* Reads a feature, and says of what is none what it may be: a decimal comma, or the label in another column. */
static hinge_status csv_number(const struct csv *csv, const struct hg_line *line, size_t field, const char *begin,
                               const char *stop, double *value, hinge_error *err)
{
    if (begin == stop)
        return hg_fail_line(err, line, "column %zu is empty", field + 1);
    bool number = hg_parse_double(begin, stop, value) == stop;
    if (number && isfinite(*value))
        return HINGE_OK;
    if (!number && csv->delimiter == ',' && memchr(begin, ';', (size_t)(stop - begin)) != NULL)
        return refuse_field(line, field, begin, stop, semicolon, err);
    if (!number && csv->label != SIZE_MAX)
        return hg_fail_line(err, line,
                            "column %zu: '%s' is not a number; the label is column %zu (--label-column, label_column)",
                            field + 1, hg_excerpt_all(begin, stop).text, csv->label + 1);
    return refuse_field(line, field, begin, stop, number ? "is not finite" : "is not a number", err);
}

/* Reads line i into row i: fields in order, the label's apart, and as many as line 1 has. */
static hinge_status read_csv_line(const void *arg, const struct hg_line *line, size_t i, size_t *nonzeros,
                                  hinge_error *err)
{
    const struct csv *csv = arg;
    struct hg_row row = hg_data_row(csv->data, i);
    size_t field = 0, column = 0;
    if (line->p == line->end && csv->fields > 1)
        return hg_fail_line(err, line, "empty line");
    hg_row_clear(&row);
    for (const char *p = line->p;; p++) {
        const char *begin, *stop;
        double value;
        p = csv_field(p, line->end, csv->delimiter, &begin, &stop);
        if (field < csv->fields) {
            HG_TRY(field == csv->label && begin < stop ? hg_labels_take(&csv->labels, i, line, begin, stop, err)
                                                       : csv_number(csv, line, field, begin, stop, &value, err));
            if (field != csv->label && !hg_row_set(&row, column++, value))
                return refuse_field(line, field, begin, stop, "is too large for single precision", err);
            *nonzeros += field != csv->label && hg_row_nonzero(&row, value);
        }
        field++;
        if (p == line->end)
            break;
    }
    if (field != csv->fields)
        return hg_fail_line(err, line, "%zu columns where line 1 has %zu", field, csv->fields);
    return HINGE_OK;
}

/* Finds the place of the label among the fields, or SIZE_MAX. */
static hinge_status csv_find_label(struct csv *csv, const struct hg_source *source, hinge_error *err)
{
    const hinge_data_options *options = source->options;
    long column = options->label_column == 0 ? 1 : options->label_column;
    size_t distance = column < 0 ? (size_t) - (column + 1) : (size_t)(column - 1); /* from either end */
    csv->label = SIZE_MAX;
    if (options->no_labels)
        return HINGE_OK;
    if (distance >= csv->fields)
        return hg_fail_at(err, HINGE_EINVAL, source->name, 0,
                          "label column (--label-column, label_column) %ld: there are %zu columns, from 1, or from -1 "
                          "for the last",
                          column, csv->fields);
    csv->label = column < 0 ? csv->fields - 1 - distance : distance;
    return HINGE_OK;
}

/* Learns what the first line tells: delimiter, number of fields, where the label is, and whether the line is a
 * header. */
static hinge_status csv_layout(struct csv *csv, const struct hg_source *source, struct csv_fields *first,
                               hinge_error *err)
{
    const char *second = source->data, *end = second + source->size;
    const struct hg_line given = hg_next_line(source->name, 1, &second, end), *line = &given;
    size_t length = (size_t)(line->end - line->p);
    csv->delimiter = ',';
    for (const char *each = "\t;,"; *each != '\0'; each++) /* the last one that is there goes before the others */
        if (memchr(line->p, *each, length) != NULL)
            csv->delimiter = *each;
    csv->fields = csv_count(line, csv->delimiter, SIZE_MAX).count;
    HG_TRY(csv_find_label(csv, source, err));
    *first = csv_count(line, csv->delimiter, csv->label);
    return csv_header(csv, first, source, second, err);
}

/* Looks at the layout alone; errors are told when the file is read. */
bool hg_csv_splits(const struct hg_source *source)
{
    struct csv csv = { 0 };
    struct csv_fields first;
    hinge_error err;
    return source->size > 0 && csv_layout(&csv, source, &first, &err) == HINGE_OK && !csv.doubtful;
}

/* Numbers the words of labels. A word that line 1 alone has may be the name of its column. */
static hinge_status csv_words(struct csv *csv, const struct hg_source *source, const struct csv_fields *first,
                              hinge_status status, hinge_error *err)
{
    const hinge_words *known = source->options->words;
    hinge_data *data = csv->data;
    size_t i = 1;
    status = hg_labels_end(&csv->labels, data, source, status, err);
    if (status != HINGE_OK || !csv->doubtful || hinge_word(known, data->y[0]) != NULL)
        return status;
    while (i < data->x.rows && data->y[i] != data->y[0])
        i++;
    return i > 1 && i == data->x.rows ? refuse_first_line(first, csv->label, source, err) : HINGE_OK;
}

/* Takes labels' kind from the first line of data, and reads lines of the caller's part. Rows that are checked alone go
 * to one place, therefore by one thread. */
hinge_status hg_read_csv(const struct hg_source *source, hinge_data *data, hinge_error *err)
{
    const char *text = source->data, *end = text + source->size;
    struct csv csv = { .data = data };
    struct csv_fields first;
    struct hg_lines lines = { 0 };
    if (text == end)
        return hg_fail_at(err, HINGE_EFORMAT, source->name, 0, "no rows");
    HG_TRY(csv_layout(&csv, source, &first, err));
    struct hg_line line = hg_next_line(source->name, 1, &text, end);
    if (csv.header && text < end) {
        const char *rest = text;
        line = hg_next_line(source->name, 2, &rest, end);
        first = csv_count(&line, csv.delimiter, csv.label);
    } else if (!csv.header) {
        text = source->data;
    }
    if (first.label != NULL)
        hg_labels_begin(&csv.labels, csv.label + 1, &line, first.label, first.stop);
    size_t all = (size_t)(end - text), size = all;
    text = hg_lines_of_part(&source->part, text, &size);
    if (size == 0 && all > 0)
        return HINGE_OK;
    hinge_status status = hg_lines_open(&lines, source->name, text, size, csv.header ? 2 : 1, false,
                                        source->part.check ? 1 : source->threads, err);
    data->header = csv.header;
    data->labelled = csv.label != SIZE_MAX;
    data->label_column = data->labelled ? csv.label + 1 : 0;
    data->file_cols = csv.fields - (size_t)data->labelled;
    HG_THEN(status, hg_data_reserve(data, source, lines.n, HG_MAX(data->file_cols, source->options->min_cols),
                                    HINGE_F64, err));
    HG_THEN(status, hg_labels_reserve(&csv.labels, data, source, err));
    HG_THEN(status, hg_lines_read(&lines, read_csv_line, &csv, err));
    status = csv_words(&csv, source, &first, status, err);
    if (status == HINGE_OK)
        data->nonzeros = lines.nonzeros;
    hg_lines_free(&lines);
    return status;
}

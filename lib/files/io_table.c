/* Data files that are tables: NumPy's .npy and CSV. */
#include "lib/files/io_data.h"
#include "lib/files/bytes.h"
#include "lib/files/number.h"

#include <math.h>
#include <string.h>

/* ---- .npy: the header ---------------------------------------------------------------------------------- */

struct npy {
    char kind;   /* 'f', 'i', 'u', 'b' */
    size_t item; /* bytes an element */
    bool big_endian, fortran_order;
    size_t n_dims, dims[2];
    size_t rows, cols;
    const unsigned char *data;
};

bool hg_is_npy(const void *data, size_t size)
{
    return size >= 6 && memcmp(data, "\x93NUMPY", 6) == 0;
}

static const char *skip_space(const char *p, const char *end)
{
    while (p < end && (hg_is_blank(*p) || *p == '\n'))
        p++;
    return p;
}

/* The character c at p behind blanks; NULL: another one. NULL passes through, so that calls can be chained. */
static const char *expect(const char *p, const char *end, char c)
{
    if (p == NULL)
        return NULL;
    p = skip_space(p, end);
    return p < end && *p == c ? p + 1 : NULL;
}

/* 'text' or "text" without escapes; *text and *length are what stands between. */
static const char *quoted(const char *p, const char *end, const char **text, size_t *length)
{
    if (p == NULL)
        return NULL;
    p = skip_space(p, end);
    if (p == end || (*p != '\'' && *p != '"'))
        return NULL;
    const char *close = memchr(p + 1, *p, (size_t)(end - p - 1));
    if (close == NULL)
        return NULL;
    *text = p + 1;
    *length = (size_t)(close - p - 1);
    return close + 1;
}

static bool one_of(char c, const char *set)
{
    return c != '\0' && strchr(set, c) != NULL;
}

/* "<f8" and the like. */
static const char *parse_descr(const char *p, const char *end, struct npy *npy)
{
    const char *text;
    size_t length;
    p = quoted(p, end, &text, &length);
    if (p == NULL || length != 3 || !one_of(text[0], "<>|="))
        return NULL;
    npy->big_endian = text[0] == '>';
    npy->kind = text[1];
    npy->item = (size_t)(text[2] - '0');
    const char *sizes = text[1] == 'f' ? "48" : text[1] == 'b' ? "1" : "1248";
    return one_of(text[1], "fiub") && one_of(text[2], sizes) ? p : NULL;
}

static const char *parse_bool(const char *p, const char *end, bool *value)
{
    p = skip_space(p, end);
    *value = end - p >= 4 && memcmp(p, "True", 4) == 0;
    if (*value)
        return p + 4;
    return end - p >= 5 && memcmp(p, "False", 5) == 0 ? p + 5 : NULL;
}

/* "(3, 4)" or "(3,)" */
static const char *parse_shape(const char *p, const char *end, struct npy *npy)
{
    p = expect(p, end, '(');
    for (npy->n_dims = 0; p != NULL && npy->n_dims < 2; npy->n_dims++) {
        const char *next = hg_parse_size(skip_space(p, end), end, &npy->dims[npy->n_dims]);
        if (next == NULL)
            break;
        p = next;
        next = expect(p, end, ',');
        if (next == NULL) {
            npy->n_dims++;
            break;
        }
        p = next;
    }
    return npy->n_dims > 0 ? expect(p, end, ')') : NULL;
}

/* Names the shape up to its closing bracket. */
static hinge_status refuse_shape(const char *name, const char *shape, const char *end, hinge_error *err)
{
    const char *close = memchr(shape, ')', (size_t)(end - shape));
    return hg_fail_at(err, HINGE_EFORMAT, name, 0, "shape %s is not of one or two dimensions",
                      hg_excerpt_all(shape, close != NULL ? close + 1 : end).text);
}

/* {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), } with the keys in any order. */
static hinge_status parse_npy_dict(const char *name, const char *p, const char *end, struct npy *npy, hinge_error *err)
{
    unsigned seen = 0;
    const char *start = p, *key;
    size_t length;
    p = expect(p, end, '{');
    while (p != NULL && expect(p, end, '}') == NULL) {
        p = expect(quoted(p, end, &key, &length), end, ':');
        if (p == NULL)
            break;
        const char *value = skip_space(p, end);
        if (hg_same_word(key, key + length, "descr")) {
            p = parse_descr(p, end, npy);
            if (p == NULL)
                return hg_fail_at(err, HINGE_EFORMAT, name, 0, "dtype %s is not one of f4 f8 i1-i8 u1-u8 b1",
                                  hg_excerpt(value, end).text);
            seen |= 1;
        } else if (hg_same_word(key, key + length, "fortran_order")) {
            p = parse_bool(p, end, &npy->fortran_order);
            seen |= 2;
        } else if (hg_same_word(key, key + length, "shape")) {
            p = parse_shape(p, end, npy);
            if (p == NULL)
                return refuse_shape(name, value, end, err);
            seen |= 4;
        } else {
            p = NULL;
        }
        if (p != NULL && expect(p, end, ',') != NULL)
            p = expect(p, end, ',');
        else if (p != NULL && expect(p, end, '}') == NULL)
            p = NULL;
    }
    if (p == NULL || seen != 7)
        return hg_fail_at(err, HINGE_EFORMAT, name, 0, "the .npy header '%s' cannot be read",
                          hg_excerpt_all(start, end).text);
    return HINGE_OK;
}

/* Magic, version, length of the header, header, data. */
static hinge_status parse_npy(const char *name, const char *bytes, size_t size, struct npy *npy, hinge_error *err)
{
    const unsigned char *b = (const unsigned char *)bytes;
    if (!hg_is_npy(bytes, size))
        return hg_fail_at(err, HINGE_EFORMAT, name, 0, "not a .npy file");
    size_t prefix = size >= 8 && b[6] >= 2 ? 12 : 10;
    if (size < prefix)
        return hg_fail_at(err, HINGE_EFORMAT, name, 0, "the .npy header ends too early");
    if (b[6] < 1 || b[6] > 3)
        return hg_fail_at(err, HINGE_EFORMAT, name, 0, ".npy version %d is not known", b[6]);
    size_t length = (size_t)b[8] | (size_t)b[9] << 8;
    if (prefix == 12)
        length |= (size_t)b[10] << 16 | (size_t)b[11] << 24;
    if (length > size - prefix)
        return hg_fail_at(err, HINGE_EFORMAT, name, 0, "the .npy header ends too early");
    const char *header = bytes + prefix;
    hinge_status status = parse_npy_dict(name, header, header + length, npy, err);
    if (status != HINGE_OK)
        return status;
    npy->rows = npy->dims[0];
    npy->cols = npy->n_dims == 2 ? npy->dims[1] : 1;
    npy->data = b + prefix + length;
    size_t expected, held = size - prefix - length;
    if (!hg_mul(npy->rows, npy->cols, &expected) || !hg_mul(expected, npy->item, &expected))
        return hg_fail_at(err, HINGE_ESIZE, name, 0, "an array of %zu x %zu is beyond all sizes", npy->rows, npy->cols);
    if (held != expected)
        return hg_fail_at(err, HINGE_EFORMAT, name, 0, "%zu bytes of data for %zu x %zu elements of %zu", held,
                          npy->rows, npy->cols, npy->item);
    return HINGE_OK;
}

/* ---- .npy: the elements -------------------------------------------------------------------------------- */

/* n = 1, 2, 4 or 8 bytes, the lowest first; compilers make one load of each case. */
static uint64_t load_bits(const unsigned char *p, size_t n)
{
    uint64_t low = p[0];
    if (n == 1)
        return low;
    low |= (uint64_t)p[1] << 8;
    if (n == 2)
        return low;
    low |= (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24;
    if (n == 4)
        return low;
    return low | (uint64_t)p[4] << 32 | (uint64_t)p[5] << 40 | (uint64_t)p[6] << 48 | (uint64_t)p[7] << 56;
}

static uint64_t swap_bits(uint64_t bits, size_t n)
{
    uint64_t swapped = 0;
    for (size_t k = 0; k < n; k++)
        swapped = swapped << 8 | (bits >> 8 * k & 0xff);
    return swapped;
}

static double element(const struct npy *npy, size_t i, size_t j)
{
    size_t place = npy->fortran_order ? j * npy->rows + i : i * npy->cols + j;
    uint64_t bits = load_bits(npy->data + place * npy->item, npy->item);
    if (npy->big_endian)
        bits = swap_bits(bits, npy->item);
    if (npy->kind == 'f' && npy->item == 8) {
        double value;
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    if (npy->kind == 'f') {
        uint32_t half = (uint32_t)bits;
        float value;
        memcpy(&value, &half, sizeof value);
        return (double)value;
    }
    /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): item is 1, 2, 4 or 8 */
    if (npy->kind == 'i' && (bits >> (8 * npy->item - 1) & 1) != 0) { /* negative: minus its complement */
        uint64_t all = npy->item == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * npy->item) - 1;
        return -(double)(all - bits + 1);
    }
    return (double)bits;
}

/* Row i as doubles. Returns the first column that is not finite, or cols. */
static size_t npy_row(const struct npy *npy, size_t i, const struct hg_row *row, size_t *nonzeros, double *bad)
{
    for (size_t j = 0; j < npy->cols; j++) {
        double value = element(npy, i, j);
        if (!isfinite(value) || !hg_row_set(row, j, value)) {
            *bad = value;
            return j;
        }
        *nonzeros += hg_row_nonzero(row, value);
    }
    return npy->cols;
}

/* Row and column count from 0, as NumPy counts them; the error's line is the row's number from 1. */
static hinge_status refuse_element(const char *name, size_t i, size_t j, double value, hinge_error *err)
{
    char text[HG_NUMBER_ROOM + 1];
    text[hg_format_double(text, value)] = '\0';
    hinge_status status = hg_fail_at(err, HINGE_EFORMAT, name, 0, "[%zu, %zu] is %s: %s", i, j, text,
                                     isfinite(value) ? "too large for single precision" : "not finite");
    if (err != NULL)
        err->line = i + 1;
    return status;
}

static hinge_status fill_npy(const struct hg_source *source, const struct npy *npy, hinge_data *data, hinge_error *err)
{
    size_t bad_row = SIZE_MAX, nonzeros = 0;
    /* NOLINTNEXTLINE(clang-analyzer-deadcode.DeadStores): the pragma reads it */
    int threads = (int)HG_MIN((size_t)source->threads, HG_MAX(npy->rows, (size_t)1));
#pragma omp parallel for schedule(static) num_threads(threads) reduction(min : bad_row) reduction(+ : nonzeros)
    for (size_t i = 0; i < npy->rows; i++) {
        struct hg_row row = hg_data_row(data, i);
        double value;
        hg_row_clear(&row);
        if (npy_row(npy, i, &row, &nonzeros, &value) < npy->cols)
            bad_row = HG_MIN(bad_row, i);
    }
    data->nonzeros = nonzeros;
    if (bad_row == SIZE_MAX)
        return HINGE_OK;
    struct hg_row row = hg_data_row(data, bad_row);
    double value = 0;
    size_t column = npy_row(npy, bad_row, &row, &nonzeros, &value);
    return refuse_element(source->name, bad_row, column, value, err);
}

/* n labels from a .npy file of their own. */
static hinge_status read_npy_labels(const char *path, double *y, size_t n, hinge_error *err)
{
    struct hg_bytes bytes = { 0 };
    struct npy npy = { 0 };
    hinge_status status = hg_bytes_read(&bytes, path, err);
    if (status == HINGE_OK)
        status = parse_npy(path, bytes.data, bytes.size, &npy, err);
    if (status == HINGE_OK && (npy.rows * npy.cols != n || (npy.rows != n && npy.cols != n)))
        status = hg_fail_at(err, HINGE_EFORMAT, path, 0, "%zu x %zu labels for %zu rows", npy.rows, npy.cols, n);
    for (size_t i = 0; status == HINGE_OK && i < n; i++) {
        size_t row = npy.rows == n ? i : 0, column = npy.rows == n ? 0 : i;
        y[i] = element(&npy, row, column);
        if (!isfinite(y[i]))
            status = refuse_element(path, row, column, y[i], err);
    }
    hg_bytes_free(&bytes);
    return status;
}

hinge_status hg_read_npy(const struct hg_source *source, hinge_data *data, hinge_error *err)
{
    struct npy npy = { 0 };
    hinge_status status = parse_npy(source->name, source->data, source->size, &npy, err);
    if (status != HINGE_OK)
        return status;
    if (npy.n_dims == 1 && source->options->max_cols != 1)
        return hg_fail_at(err, HINGE_EFORMAT, source->name, 0,
                          "an array of one dimension is no list of examples: reshape it to (%zu, 1), examples of one "
                          "feature, or to (1, %zu), one example",
                          npy.rows, npy.rows);
    hinge_dtype type = source->options->type;
    if (type == 0)
        type = npy.kind == 'f' && npy.item == 4 ? HINGE_F32 : HINGE_F64;
    status = hg_data_reserve(data, source, npy.rows, HG_MAX(npy.cols, source->options->min_cols), type, err);
    if (status == HINGE_OK)
        status = fill_npy(source, &npy, data, err);
    if (status == HINGE_OK && source->options->labels_path != NULL)
        status = read_npy_labels(source->options->labels_path, data->y, npy.rows, err);
    data->file_cols = npy.cols;
    data->labelled = source->options->labels_path != NULL;
    return status;
}

/* ---- CSV ----------------------------------------------------------------------------------------------- */

struct csv {
    char delimiter;
    size_t fields; /* a line */
    size_t label;  /* field that holds the label, or SIZE_MAX */
    bool header;   /* line 1 is one */
    bool doubtful; /* line 1 may be one: its label is a word, and the rest numbers */
    struct hg_labels labels;
    hinge_data *data;
};

/* The field at p, without blanks and quotes around it; returns its end (a delimiter or the line's). */
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

/* What the fields of a line are; empty ones are neither numbers nor words. */
struct csv_fields {
    size_t count, numbers, words; /* numbers of any kind, inf and nan too */
    size_t word;                  /* the first word's place, from 1 */
    struct hg_excerpt text;       /* and what it is */
    const char *label, *stop;     /* the text of the label's field; NULL: there is none */
};

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

static hinge_status refuse_first_line(const struct csv_fields *fields, const struct hg_source *source, hinge_error *err)
{
    return hg_fail_at(err, HINGE_EFORMAT, source->name, 1,
                      "column %zu: '%s' beside numbers: say whether this line is a header (--header, header = 1) or an "
                      "example (--no-header, header = -1), or that it is the label (--label-column, label_column)",
                      fields->word, fields->text.text);
}

/* A header has no number in it. A line of which only some fields are numbers may be either: the caller must say, unless
 * the label alone is a word, as in line 2. */
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
    return csv->doubtful ? HINGE_OK : refuse_first_line(fields, source, err);
}

static hinge_status refuse_field(const struct hg_line *line, size_t field, const char *begin, const char *stop,
                                 const char *why, hinge_error *err)
{
    return hg_fail_line(err, line, "column %zu: '%s' %s", field + 1, hg_excerpt_all(begin, stop).text, why);
}

static hinge_status csv_number(const struct csv *csv, const struct hg_line *line, size_t field, const char *begin,
                               const char *stop, double *value, hinge_error *err)
{
    if (begin == stop)
        return hg_fail_line(err, line, "column %zu is empty", field + 1);
    if (hg_parse_double(begin, stop, value) != stop && csv->label != SIZE_MAX)
        return hg_fail_line(err, line,
                            "column %zu: '%s' is not a number; the label is column %zu (--label-column, label_column)",
                            field + 1, hg_excerpt_all(begin, stop).text, csv->label + 1);
    if (hg_parse_double(begin, stop, value) != stop)
        return refuse_field(line, field, begin, stop, "is not a number", err);
    if (!isfinite(*value))
        return refuse_field(line, field, begin, stop, "is not finite", err);
    return HINGE_OK;
}

static hinge_status read_csv_line(const void *arg, const struct hg_line *line, size_t i, struct hg_tally *tally,
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
            hinge_status status = field == csv->label && begin < stop
                                      ? hg_labels_take(&csv->labels, i, line, begin, stop, err)
                                      : csv_number(csv, line, field, begin, stop, &value, err);
            if (status != HINGE_OK)
                return status;
            if (field != csv->label && !hg_row_set(&row, column++, value))
                return refuse_field(line, field, begin, stop, "is too large for single precision", err);
            tally->nonzeros += field != csv->label && hg_row_nonzero(&row, value);
        }
        field++;
        if (p == line->end)
            break;
    }
    if (field != csv->fields)
        return hg_fail_line(err, line, "%zu columns where line 1 has %zu", field, csv->fields);
    return HINGE_OK;
}

/* The place of the label among the fields, or SIZE_MAX. */
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

/* What the first line tells: delimiter, number of fields, where the label is, and whether the line is a header. */
static hinge_status csv_layout(struct csv *csv, const struct hg_source *source, struct csv_fields *first,
                               hinge_error *err)
{
    const char *second = source->data, *end = second + source->size;
    const struct hg_line given = hg_next_line(source->name, 1, &second, end), *line = &given;
    size_t length = (size_t)(line->end - line->p);
    csv->delimiter = ',';
    if (length > 0 && memchr(line->p, ',', length) == NULL) {
        if (memchr(line->p, ';', length) != NULL)
            csv->delimiter = ';';
        else if (memchr(line->p, '\t', length) != NULL)
            csv->delimiter = '\t';
    }
    csv->fields = csv_count(line, csv->delimiter, SIZE_MAX).count;
    hinge_status status = csv_find_label(csv, source, err);
    if (status != HINGE_OK)
        return status;
    *first = csv_count(line, csv->delimiter, csv->label);
    return csv_header(csv, first, source, second, err);
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
    return i > 1 && i == data->x.rows ? refuse_first_line(first, source, err) : HINGE_OK;
}

hinge_status hg_read_csv(const struct hg_source *source, hinge_data *data, hinge_error *err)
{
    const char *text = source->data, *end = text + source->size;
    struct csv csv = { .data = data };
    struct csv_fields first;
    struct hg_lines lines = { 0 };
    struct hg_tally tally = { 0 };
    if (text == end)
        return hg_fail_at(err, HINGE_EFORMAT, source->name, 0, "no rows");
    hinge_status status = csv_layout(&csv, source, &first, err);
    if (status != HINGE_OK)
        return status;
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
    status = hg_lines_open(&lines, source->name, text, (size_t)(end - text), csv.header ? 2 : 1, false, source->threads,
                           err);
    data->header = csv.header;
    data->labelled = csv.label != SIZE_MAX;
    data->label_column = data->labelled ? csv.label + 1 : 0;
    data->file_cols = csv.fields - (size_t)data->labelled;
    hinge_dtype type = source->options->type == 0 ? HINGE_F64 : source->options->type;
    if (status == HINGE_OK)
        status = hg_data_reserve(data, source, lines.n, HG_MAX(data->file_cols, source->options->min_cols), type, err);
    if (status == HINGE_OK)
        status = hg_labels_reserve(&csv.labels, data, source->name, err);
    if (status == HINGE_OK)
        status = hg_lines_read(&lines, read_csv_line, &csv, &tally, err);
    status = csv_words(&csv, source, &first, status, err);
    if (status == HINGE_OK)
        data->nonzeros = tally.nonzeros;
    hg_lines_free(&lines);
    return status;
}

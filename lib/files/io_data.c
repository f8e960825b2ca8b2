/*
 * Data files: which format it is, LIBSVM's text, and writing. The other formats are in npy.c and csv.c. Read io_data.h
 * and lines.h before.
 *
 * Reading LIBSVM's text: lines are counted, and the highest index is found (lines.c); columns that hold something are
 * found where most would be empty; room is reserved; lines are read into their rows by all threads; words of labels are
 * numbered. The first failure by line is told, whatever the number of threads.
 */
#include "lib/files/io_data.h"
#include "lib/base/team.h"
#include "lib/files/manifest.h"
#include "lib/files/number.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- the matrix ---------------------------------------------------------------------------------------- */

/* Asks for the matrix in one block without touching it: the threads that read rows clear and fill their own. Sizes are
 * checked against the machine's memory first, as a system may promise more than it has. */
hinge_status hg_data_reserve(hinge_data *data, const struct hg_source *source, size_t rows, size_t cols,
                             hinge_dtype type, hinge_error *err)
{
    size_t bytes;
    if (rows == 0)
        return hg_fail_at(err, HINGE_EFORMAT, source->name, 0, "no rows");
    if (source->options->type != 0)
        type = source->options->type;
    if (source->part.check)
        rows = 1;
    if (!hg_mul(rows, cols, &bytes) || !hg_mul(bytes, hg_size_of(type), &bytes))
        return hg_fail_at(err, HINGE_ESIZE, source->name, 0, "a dense matrix of %zu x %zu is beyond all sizes", rows,
                          cols);
    size_t total = hg_total_memory(); /* for labels too: there may be rows without columns */
    if (bytes > total || rows > (total - bytes) / sizeof *data->y || (data->memory = hg_alloc(bytes, 1)) == NULL)
        return hg_fail_at(err, HINGE_ENOMEM, source->name, 0, "a dense matrix of %zu x %zu takes %zu bytes: no memory",
                          rows, cols, bytes);
    data->x = (hinge_matrix){ .data = data->memory, .type = type, .rows = rows, .cols = cols };
    data->x.stride = source->part.check ? 0 : cols;
    return HG_MAKE(err, "the labels of rows", HG_ZEROS(data->y, rows));
}

struct hg_row hg_data_row(const hinge_data *data, size_t i)
{
    char *start = (char *)data->memory + i * data->x.stride * hg_size_of(data->x.type);
    return (struct hg_row){ .data = start, .type = data->x.type, .cols = data->x.cols };
}

void hinge_data_free(hinge_data *data)
{
    if (data == NULL)
        return;
    hg_free(data->memory);
    hg_free(data->y);
    hg_free(data->serial);
    hg_free(data->columns);
    hg_words_free(&data->words);
    hg_words_free(&data->names);
    hg_free(data->target);
    *data = (hinge_data){ 0 };
}

/* ---- labels -------------------------------------------------------------------------------------------- */

/* Takes a label that is no number for a word, and with it all labels; an empty field is neither. */
void hg_labels_begin(struct hg_labels *labels, size_t column, const struct hg_line *line, const char *p,
                     const char *stop)
{
    double value;
    *labels = (struct hg_labels){ .where = "label" };
    if (column > 0)
        snprintf(labels->where, sizeof labels->where, "column %zu:", column);
    if (p < stop && hg_parse_double(p, stop, &value) != stop)
        labels->first = (struct hg_line){ .file = line->file, .number = line->number, .p = p, .end = stop };
}

hinge_status hg_labels_reserve(struct hg_labels *labels, const hinge_data *data, const struct hg_source *source,
                               hinge_error *err)
{
    if (source->part.check)
        return HINGE_OK;
    labels->y = data->y;
    bool words = labels->first.number > 0;
    return words ? HG_MAKE(err, "the words of rows", HG_ZEROS(labels->word, data->x.rows)) : HINGE_OK;
}

/* Says whether digits alone are a whole number that is no double: it would become another one, as would those beside
 * it. */
static bool is_beyond_doubles(const char *p, const char *stop, double value)
{
    char exact[DBL_MAX_10_EXP + 3];
    if (fabs(value) < 0x1p53)
        return false;
    p += *p == '-' || *p == '+';
    while (p < stop && *p == '0')
        p++;
    for (const char *digit = p; digit < stop; digit++)
        if (*digit < '0' || *digit > '9')
            return false;
    snprintf(exact, sizeof exact, "%.0f", fabs(value));
    return !hg_same_word(p, stop, exact);
}

/* Checks a label by the kind of the first one; where labels are checked only, nothing is kept. */
hinge_status hg_labels_take(const struct hg_labels *labels, size_t i, const struct hg_line *line, const char *p,
                            const char *stop, hinge_error *err)
{
    const char *where = labels->where;
    const struct hg_line *first = &labels->first;
    double value;
    bool number = hg_parse_double(p, stop, &value) == stop, words = first->number > 0;
    if (number && !isfinite(value))
        return hg_fail_line(err, line, "%s '%s' is not finite", where, hg_excerpt_all(p, stop).text);
    if (number && words)
        return hg_fail_line(
            err, line, "%s '%s' is a number, and that of line %zu a word, '%s': labels are one or the other", where,
            hg_excerpt_all(p, stop).text, first->number, hg_excerpt_all(first->p, first->end).text);
    if (!number && !words)
        return hg_fail_line(err, line, "%s '%s' is no number, as those before are: labels are all numbers or all words",
                            where, hg_excerpt_all(p, stop).text);
    if (number && is_beyond_doubles(p, stop, value))
        return hg_fail_line(err, line,
                            "%s '%s' is a whole number beyond 2^53 that double precision takes for another one: give "
                            "classes words, and values a decimal point",
                            where, hg_excerpt_all(p, stop).text);
    if (words && !hg_is_word(p, (size_t)(stop - p)))
        return hg_fail_line(err, line, "%s '%s' holds a control character", where, hg_excerpt_all(p, stop).text);
    if (labels->word != NULL)
        labels->word[i] = (struct hg_word){ p, (size_t)(stop - p) };
    else if (labels->y != NULL)
        labels->y[i] = value;
    return HINGE_OK;
}

hinge_status hg_labels_end(struct hg_labels *labels, hinge_data *data, const struct hg_source *source,
                           hinge_status status, hinge_error *err)
{
    const hinge_words none = { 0 }, *known = source->options->words;
    if (status == HINGE_OK && labels->word != NULL)
        status =
            hg_words_collect(known != NULL ? known : &none, labels->word, data->x.rows, &data->words, data->y, err);
    hg_free(labels->word);
    labels->word = NULL;
    return status;
}

/* ---- LIBSVM -------------------------------------------------------------------------------------------- */

/* Says what is wrong with a label that is neither number nor word. */
static hinge_status refuse_label(const struct hg_line *line, hinge_error *err)
{
    struct hg_excerpt word = hg_excerpt(line->p, line->end);
    if (line->p == line->end)
        return hg_fail_line(err, line, "empty line (a row without features is its label alone)");
    if (*line->p == '#')
        return hg_fail_line(err, line, "a comment cannot stand alone on a line");
    if (strchr(word.text, ',') != NULL)
        return hg_fail_line(err, line, "label '%s': several labels or a decimal comma are not supported", word.text);
    return hg_fail_line(err, line, "'%s' where a label must begin the line", word.text);
}

/* Returns the end of the label at p, which may be a word as far as LIBSVM text has them; NULL: it is none. */
static const char *label_end(const char *p, const char *end)
{
    const char *stop = p;
    while (stop < end && !hg_is_blank(*stop) && *stop != ',' && *stop != ':')
        stop++;
    return stop > p && *p != '#' && (stop == end || hg_is_blank(*stop)) ? stop : NULL;
}

/* Fields apart by commas, semicolons, tabs or blanks, and no pair among them. */
static bool looks_like_csv(const struct hg_line *line)
{
    const char *p = hg_skip_blanks(line->p, line->end), *end = line->end;
    while (end > p && hg_is_blank(end[-1]))
        end--;
    size_t length = (size_t)(end - p);
    return length > 0 && *p != '#' && memchr(p, ':', length) == NULL &&
           (memchr(p, ',', length) != NULL || memchr(p, ';', length) != NULL || hg_word_end(p, end) < end);
}

/* Holds how lines become rows. */
struct libsvm {
    hinge_data *data;          /* without memory: lines are checked only */
    struct hg_columns columns; /* those that are kept; bits NULL: all */
    bool rest;                 /* the last column is the norm of the others */
    bool finding;              /* columns are being found */
    struct hg_labels labels;
    bool as_command; /* messages name options of the command */
};

/* Reads one line into row i. */
static hinge_status read_pairs_line(const void *arg, const struct hg_line *given, size_t i, size_t *nonzeros,
                                    hinge_error *err)
{
    const struct libsvm *libsvm = arg;
    const hinge_data *data = libsvm->data;
    struct hg_columns columns = libsvm->columns; /* its bits are shared */
    struct hg_line line = *given;
    struct hg_row row = { .type = HINGE_F64, .found = libsvm->finding ? &columns : NULL };
    size_t serial;
    if (data->memory != NULL) {
        row = hg_data_row(data, i);
        row.columns = columns.bits != NULL ? &libsvm->columns : NULL;
        row.rest = libsvm->rest;
        hg_row_clear(&row);
    }
    line.p = hg_skip_blanks(line.p, line.end);
    const char *stop = label_end(line.p, line.end);
    if (stop == NULL)
        return refuse_label(&line, err);
    HG_TRY(hg_labels_take(&libsvm->labels, i, &line, line.p, stop, err));
    line.p = stop;
    HG_TRY(hg_line_pairs(&line, &row, data->serial != NULL ? &serial : NULL, nonzeros, err));
    if (data->serial != NULL)
        data->serial[i] = serial;
    return HINGE_OK;
}

static hinge_status refuse_csv(const struct hg_line *line, bool as_command, hinge_error *err)
{
    return hg_fail_line(err, line, "'%s' has no pair index:value, but looks like CSV: read it as such (%s)",
                        hg_excerpt_all(line->p, line->end).text, as_command ? "--format csv" : "HINGE_FORMAT_CSV");
}

/* Reads a line, and says of one that fails and looks like CSV that it does. */
static hinge_status read_libsvm_line(const void *arg, const struct hg_line *line, size_t i, size_t *nonzeros,
                                     hinge_error *err)
{
    const struct libsvm *libsvm = arg;
    hinge_status status = read_pairs_line(arg, line, i, nonzeros, err);
    if (status == HINGE_EFORMAT && looks_like_csv(line))
        return refuse_csv(line, libsvm->as_command, err);
    return status;
}

/* Finds the columns that are asked for, whose rest goes into a norm, or those that hold something where a dense matrix
 * of all would be all but empty (drop_empty): text of few high indices then takes the memory of its own columns. */
static hinge_status find_columns(struct hg_lines *lines, const struct hg_source *source, struct libsvm *libsvm,
                                 hinge_error *err)
{
    const hinge_data_options *options = source->options;
    const size_t n = options->columns != NULL ? options->n_columns : 0;
    struct hg_wanted wanted = { options->columns, n, n > 0 ? options->columns[n - 1] : 0 };
    libsvm->rest = options->columns != NULL;
    if (!libsvm->rest &&
        (!options->drop_empty || options->precomputed || !hg_columns_wasted(lines->n, lines->last_index, lines->size)))
        return HINGE_OK;
    if (!libsvm->rest)
        wanted.last = lines->last_index;
    libsvm->finding = !libsvm->rest;
    hinge_status status = hg_lines_columns(lines, &wanted, libsvm->rest ? NULL : read_libsvm_line, libsvm,
                                           &libsvm->columns, &libsvm->data->columns, err);
    libsvm->finding = false;
    return status;
}

/* Reserves what the lines need. Where that cannot be had, an error in the text comes first: the huge index may stand
 * behind it. Rows are then read without memory, to find it. */
static hinge_status reserve_libsvm(struct hg_lines *lines, const struct hg_source *source, struct libsvm *libsvm,
                                   hinge_error *err)
{
    const hinge_data_options *options = source->options;
    hinge_data *data = libsvm->data;
    size_t cols = options->max_cols > 0 ? HG_MIN(lines->last_index, options->max_cols) : lines->last_index;
    if (options->precomputed && lines->n > 0)
        HG_TRY(HG_MAKE(err, "the serial numbers of rows", HG_ZEROS(data->serial, lines->n)));
    cols = libsvm->columns.bits != NULL ? libsvm->columns.count + libsvm->rest : HG_MAX(cols, options->min_cols);
    if (source->part.check)
        return HINGE_OK;
    hinge_error own;
    hinge_status status = hg_data_reserve(data, source, lines->n, cols, HINGE_F64, &own);
    if (status == HINGE_OK)
        return hg_labels_reserve(&libsvm->labels, data, source, err);
    hg_free(data->memory);
    data->memory = NULL;
    hinge_status other = hg_lines_read(lines, read_libsvm_line, libsvm, err);
    if (other == HINGE_OK && err != NULL)
        *err = own;
    return other != HINGE_OK ? other : status;
}

/* Computes floor(count k / n) without the product. */
uint64_t hg_share_of(uint64_t count, uint64_t k, uint64_t n)
{
    return count / n * k + count % n * k / n;
}

/* Cuts at the first lines that begin at the share's bytes, so that each line is of one part. */
const char *hg_lines_of_part(const struct hg_file_part *part, const char *text, size_t *size)
{
    if (part->of == 0)
        return text;
    const char *end = text + *size;
    const char *begin = hg_first_line(text, text + (size_t)hg_share_of(*size, part->begin, part->of), end);
    *size = (size_t)(hg_first_line(text, text + (size_t)hg_share_of(*size, part->end, part->of), end) - begin);
    return begin;
}

/* Reads a part's lines. The first label of the whole file decides what those of a part are. A part without a line
 * leaves data all zero. */
static hinge_status read_libsvm(const struct hg_source *source, hinge_data *data, hinge_error *err)
{
    struct hg_lines lines;
    struct libsvm libsvm = { .data = data, .as_command = source->options->as_command };
    const char *rest = source->data;
    const struct hg_line line = hg_next_line(source->name, 1, &rest, source->data + source->size);
    const char *label = hg_skip_blanks(line.p, line.end), *stop = label_end(label, line.end);
    size_t size = source->size;
    const char *text = hg_lines_of_part(&source->part, source->data, &size);
    if (size == 0 && source->size > 0)
        return HINGE_OK;
    if (stop != NULL)
        hg_labels_begin(&libsvm.labels, 0, &line, label, stop);
    hinge_status status = hg_lines_open(&lines, source->name, text, size, 1, true, source->threads, err);
    if (status == HINGE_OK && libsvm.labels.first.number > 0 && lines.last_index == 0 && source->part.of == 0)
        status = looks_like_csv(&line)
                     ? refuse_csv(&line, libsvm.as_command, err)
                     : hg_fail_at(err, HINGE_EFORMAT, source->name, 1,
                                  "label '%s' is not a number, and no line has a pair index:value, as data would",
                                  hg_excerpt_all(label, stop).text);
    HG_THEN(status, find_columns(&lines, source, &libsvm, err));
    HG_THEN(status, reserve_libsvm(&lines, source, &libsvm, err));
    HG_THEN(status, hg_lines_read(&lines, read_libsvm_line, &libsvm, err));
    status = hg_labels_end(&libsvm.labels, data, source, status, err);
    if (status == HINGE_OK) {
        data->file_cols = lines.last_index;
        data->labelled = 1;
        data->nonzeros = lines.nonzeros;
    }
    hg_columns_free(&libsvm.columns);
    hg_lines_free(&lines);
    return status;
}

/* ---- reading ------------------------------------------------------------------------------------------- */

static bool ends_with(const char *name, size_t length, const char *ending)
{
    size_t n = strlen(ending);
    return length >= n && hg_same_letters(name + length - n, name + length, ending);
}

hinge_format hg_format_of(const struct hg_source *source)
{
    size_t length = strlen(source->name);
    if (source->options->format != HINGE_FORMAT_AUTO)
        return source->options->format;
    if (hg_is_npy(source->data, source->size))
        return HINGE_FORMAT_NPY;
    if (ends_with(source->name, length, ".gz") || ends_with(source->name, length, ".xz"))
        length -= 3;
    bool table = ends_with(source->name, length, ".csv") || ends_with(source->name, length, ".tsv");
    return table ? HINGE_FORMAT_CSV : HINGE_FORMAT_LIBSVM;
}

static hinge_status check_options(const hinge_data_options *options, hinge_error *err)
{
    if (options->format < HINGE_FORMAT_AUTO || options->format > HINGE_FORMAT_CSV)
        return hg_fail(err, HINGE_EINVAL, "format: %d is none", (int)options->format);
    if (options->type != 0 && options->type != HINGE_F32 && options->type != HINGE_F64)
        return hg_fail(err, HINGE_EINVAL, "type: %d is none", (int)options->type);
    if (options->threads < 0 || options->threads > 4096)
        return hg_fail(err, HINGE_EINVAL, "threads: %d is not in 0 .. 4096", options->threads);
    if (options->header < -1 || options->header > 1)
        return hg_fail(err, HINGE_EINVAL, "header: %d is none of -1, 0, 1", options->header);
    HG_TRY(hg_columns_check(options->columns, options->columns != NULL ? options->n_columns : 0, err));
    if (options->max_cols > 0 && options->min_cols > options->max_cols)
        return hg_fail(err, HINGE_EINVAL, "min_cols: %zu exceeds max_cols: %zu", options->min_cols, options->max_cols);
    return HINGE_OK;
}

/* Refuses what is no text of lines that end in LF or CR LF: where they end in CR alone, all of it is one line. */
static hinge_status check_lines(const struct hg_source *source, hinge_error *err)
{
    const char *text = source->data;
    const struct hg_line line = hg_next_line(source->name, 1, &text, source->data + source->size);
    if (memchr(line.p, '\r', (size_t)(line.end - line.p)) == NULL)
        return HINGE_OK;
    if (memchr(line.p, '\0', (size_t)(line.end - line.p)) != NULL)
        return hg_fail_at(err, HINGE_EFORMAT, source->name, 1, "neither text nor .npy: it holds bytes of 0");
    return hg_fail_at(err, HINGE_EFORMAT, source->name, 1,
                      "lines end in CR alone, as on old Macs: convert them, as by tr '\\r' '\\n'");
}

void hg_skip_mark(struct hg_source *source)
{
    if (source->size < 3 || memcmp(source->data, "\xef\xbb\xbf", 3) != 0)
        return;
    source->data += 3;
    source->size -= 3;
}

size_t hg_without_empty_end(const char *data, size_t n)
{
    while (n >= 3 && data[n - 1] == '\n' && (data[n - 2] == '\n' || (data[n - 2] == '\r' && data[n - 3] == '\n')))
        n -= data[n - 2] == '\n' ? 1 : 2;
    return n;
}

/* Passes over what text may have around its lines, and reads. */
static hinge_status read_as(hinge_format format, struct hg_source *source, hinge_data *data, hinge_error *err)
{
    if (format == HINGE_FORMAT_NPY)
        return hg_read_npy(source, data, err);
    hg_skip_mark(source);
    HG_TRY(check_lines(source, err));
    if (format != HINGE_FORMAT_CSV)
        return read_libsvm(source, data, err);
    source->size = hg_without_empty_end(source->data, source->size);
    return hg_read_csv(source, data, err);
}

/* Refuses options that the file's format does not have. */
static hinge_status check_format(const char *name, hinge_format format, const hinge_data_options *o, hinge_error *err)
{
    const char *formats[] = { [HINGE_FORMAT_LIBSVM] = "LIBSVM text, whose lines begin with labels",
                              [HINGE_FORMAT_NPY] = ".npy",
                              [HINGE_FORMAT_CSV] = "CSV" };
    const struct {
        bool given;
        hinge_format format, other; /* that have it */
        const char *option, *field, *of;
    } rows[] = {
        { o->labels_path != NULL, HINGE_FORMAT_NPY, HINGE_FORMAT_NPY, "--labels", "labels_path", ".npy data" },
        { o->label_column != 0, HINGE_FORMAT_CSV, HINGE_FORMAT_CSV, "--label-column", "label_column", "CSV" },
        { o->label_name != NULL, HINGE_FORMAT_CSV, HINGE_FORMAT_CSV, "--label-column", "label_name", "CSV" },
        { o->no_labels, HINGE_FORMAT_CSV, HINGE_FORMAT_NPY, "--no-labels", "no_labels", "CSV" },
        { o->take != NULL, HINGE_FORMAT_CSV, HINGE_FORMAT_CSV, "--columns", "take", "CSV" },
        { o->leave_out != NULL, HINGE_FORMAT_CSV, HINGE_FORMAT_CSV, "--ignore", "leave_out", "CSV" },
        { o->categories != NULL, HINGE_FORMAT_CSV, HINGE_FORMAT_CSV, "--categories", "categories", "CSV" },
        { o->drop_missing, HINGE_FORMAT_CSV, HINGE_FORMAT_CSV, "--drop-missing", "drop_missing", "CSV" },
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if (rows[k].given && format != rows[k].format && format != rows[k].other)
            return hg_fail_at(err, HINGE_EINVAL, name, 0, "%s is for %s only, and this is %s%s",
                              o->as_command ? rows[k].option : rows[k].field, rows[k].of, formats[format],
                              rows[k].format != HINGE_FORMAT_CSV || format != HINGE_FORMAT_LIBSVM ? ""
                              : o->as_command ? "; a table is read by --format csv"
                                              : "; a table is read by HINGE_FORMAT_CSV");
    if (o->precomputed && format != HINGE_FORMAT_LIBSVM)
        return hg_fail_at(err, HINGE_EINVAL, name, 0, "precomputed: only LIBSVM data has serial numbers");
    if (o->columns != NULL && (format != HINGE_FORMAT_LIBSVM || o->precomputed))
        return hg_fail_at(err, HINGE_EINVAL, name, 0,
                          "only LIBSVM text without serial numbers is read by a model's columns");
    return HINGE_OK;
}

/* Reads bytes, which are unpacked already. */
static hinge_status parse(const char *name, const struct hg_bytes *bytes, struct hg_file_part part,
                          const hinge_data_options *options, hinge_data *data, hinge_error *err)
{
    struct hg_source source = { .name = name,
                                .data = bytes->data,
                                .size = bytes->size,
                                .options = options,
                                .threads = hg_threads(options->threads),
                                .part = part };
    hinge_format format = hg_format_of(&source);
    hinge_data made = { .format = format };
    HG_TRY(check_format(name, format, options, err));
    hinge_status status = read_as(format, &source, &made, err);
    if (status != HINGE_OK) {
        hinge_data_free(&made);
        return status;
    }
    *data = made;
    return hg_ok(err);
}

/* Reads a file, or what is in memory. */
static hinge_status read_data(const char *name, bool file, const void *memory, size_t size,
                              const hinge_data_options *options, hinge_data *data, hinge_error *err)
{
    const hinge_data_options none = { 0 };
    struct hg_bytes bytes = { 0 };
    options = options == NULL ? &none : options;
    hinge_status status = check_options(options, err);
    HG_THEN(status, file ? hg_bytes_read(&bytes, name, err) : hg_bytes_unpack(&bytes, name, memory, size, err));
    HG_THEN(status, parse(name, &bytes, (struct hg_file_part){ 0 }, options, data, err));
    hg_bytes_free(&bytes);
    return status;
}

/* Asks for a file that is mapped as it stands, so that a reader of a part touches the part's bytes alone, and for rows
 * that can be read without knowing all others. */
bool hg_data_splits(const char *path, const struct hg_bytes *bytes, const hinge_data_options *options)
{
    struct hg_source source = { .name = path, .data = bytes->data, .size = bytes->size, .options = options };
    hg_skip_mark(&source);
    return bytes->mapped != NULL && bytes->owned == NULL && !options->precomputed &&
           (hg_format_of(&source) != HINGE_FORMAT_CSV || hg_csv_splits(&source, false));
}

hinge_status hg_data_read_part(const char *path, const struct hg_bytes *bytes, struct hg_file_part part,
                               const hinge_data_options *options, hinge_data *data, hinge_error *err)
{
    HG_TRY(check_options(options, err));
    return parse(path, bytes, part, options, data, err);
}

/* Reads the files of a manifest. */
static hinge_status read_manifest(const char *path, const hinge_data_options *options, hinge_data *data,
                                  hinge_error *err)
{
    struct hg_files files;
    struct hg_layout layout;
    HG_TRY(hg_files_open(&files, path, options->labels_path, err));
    hinge_status status = hg_files_read(&files, 0, 1, options, data, &layout, err);
    hg_files_free(&files);
    return status;
}

hinge_status hinge_data_read(const char *path, const hinge_data_options *options, hinge_data *data, hinge_error *err)
{
    const hinge_data_options none = { 0 };
    if (path == NULL || data == NULL)
        return hg_fail(err, HINGE_EINVAL, "path or data: NULL");
    if (hg_is_manifest(path))
        return read_manifest(path, options != NULL ? options : &none, data, err);
    return read_data(path, true, NULL, 0, options, data, err);
}

hinge_status hinge_data_parse(const char *name, const void *memory, size_t size, const hinge_data_options *options,
                              hinge_data *data, hinge_error *err)
{
    if (name == NULL || data == NULL || (memory == NULL && size > 0))
        return hg_fail(err, HINGE_EINVAL, "name, bytes or data: NULL");
    return read_data(name, false, memory, size, options, data, err);
}

void hinge_free(void *memory)
{
    hg_free(memory);
}

/* Hands the file's unpacked bytes over with a 0 behind them, so that a text may be taken for a string. */
hinge_status hinge_file_read(const char *path, char **bytes, size_t *size, hinge_error *err)
{
    struct hg_bytes file = { 0 };
    if (path == NULL || bytes == NULL || size == NULL)
        return hg_fail(err, HINGE_EINVAL, "path, bytes or size: NULL");
    hinge_status status = hg_bytes_read(&file, path, err);
    char *copy = NULL;
    HG_THEN(status, HG_MAKE(err, "the bytes of a file", HG_ZEROS(copy, file.size + 1)));
    if (status == HINGE_OK) {
        if (file.size > 0)
            memcpy(copy, file.data, file.size);
        *bytes = copy;
        *size = file.size;
    }
    hg_bytes_free(&file);
    return status == HINGE_OK ? hg_ok(err) : status;
}

/* ---- writing ------------------------------------------------------------------------------------------- */

struct examples {
    const hinge_matrix *x;
    const double *y;
};

/* Prints a label and the features that are not 0: what LIBSVM reads, and this reads back to the bit. */
static hinge_status print_example(const void *arg, size_t i, struct hg_text *text, hinge_error *err)
{
    const struct examples *examples = arg;
    const hinge_matrix *x = examples->x;
    double label = examples->y != NULL ? examples->y[i] : 0;
    if (!isfinite(label))
        return hg_fail(err, HINGE_EINVAL, "y[%zu] is not finite", i);
    hg_text_number(text, label);
    for (size_t j = 0; j < x->cols; j++) {
        double value = hg_matrix_value(x, i, j);
        if (value == 0 && !signbit(value))
            continue;
        if (!isfinite(value))
            return hg_fail(err, HINGE_EINVAL, "x[%zu, %zu] is not finite", i, j);
        hg_text_add(text, " ", 1);
        hg_text_pair(text, j + 1, value);
    }
    hg_text_add(text, "\n", 1);
    return HINGE_OK;
}

/* Writes to a new file that takes the name at its end (hg_output): a failure leaves the old one. */
hinge_status hinge_data_write(const char *path, const hinge_matrix *x, const double *y, hinge_error *err)
{
    struct hg_output output;
    if (path == NULL || x == NULL || (x->data == NULL && x->rows > 0 && x->cols > 0))
        return hg_fail(err, HINGE_EINVAL, "path or x: NULL");
    if (x->type < HINGE_F32 || x->type > HINGE_F16 || x->stride < (x->order == HINGE_COLUMN_MAJOR ? x->rows : x->cols))
        return hg_fail(err, HINGE_EINVAL, "x: type %d, stride %zu for %zu columns", (int)x->type, x->stride, x->cols);
    struct examples examples = { .x = x, .y = y };
    HG_TRY(hg_output_open(&output, path, err));
    hinge_status status = hg_print_rows(x->rows, x->cols, print_example, &examples, hg_output_write, &output, err);
    status = hg_output_close(&output, status, err);
    return status == HINGE_OK ? hg_ok(err) : status;
}

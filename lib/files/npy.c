/*
 * Data files of NumPy, .npy: one array of numbers behind a header that is a dictionary of Python (NumPy's format
 * description, NEP 1). Read io_data.h before. Elements are read by their bytes, so that neither order nor alignment
 * matters.
 */
#include "lib/files/io_data.h"
#include "lib/base/team.h"
#include "lib/files/number.h"

#include <math.h>
#include <string.h>

/* ---- .npy: the header ---------------------------------------------------------------------------------- */

/* Holds what the header tells; data points into the file's bytes. */
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

/* Expects the character c at p behind blanks; NULL: another one. NULL passes through, so that calls can be chained. */
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

/* Reads "<f8" and the like. */
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
    const char *sizes = text[1] == 'f' ? "248" : text[1] == 'b' ? "1" : "1248";
    return one_of(text[1], "fiub") && one_of(text[2], sizes) ? p : NULL;
}

/* Reads True or False. */
static const char *parse_order(const char *p, const char *end, struct npy *npy)
{
    p = skip_space(p, end);
    npy->fortran_order = end - p >= 4 && memcmp(p, "True", 4) == 0;
    if (npy->fortran_order)
        return p + 4;
    return end - p >= 5 && memcmp(p, "False", 5) == 0 ? p + 5 : NULL;
}

/* Reads a shape, "(3, 4)" or "(3,)". */
static const char *parse_shape(const char *p, const char *end, struct npy *npy)
{
    const char *next = expect(p, end, '(');
    for (npy->n_dims = 0; next != NULL && npy->n_dims < 2; next = expect(p, end, ',')) {
        p = next;
        next = hg_parse_size(skip_space(p, end), end, &npy->dims[npy->n_dims]);
        if (next == NULL)
            break;
        p = next;
        npy->n_dims++;
    }
    return npy->n_dims > 0 ? expect(next != NULL ? next : p, end, ')') : NULL;
}

enum { DESCR, ORDER, SHAPE, N_KEYS };

static const struct key {
    const char *name;
    const char *(*parse)(const char *p, const char *end, struct npy *npy);
} keys[N_KEYS] = {
    [DESCR] = { "descr", parse_descr },
    [ORDER] = { "fortran_order", parse_order },
    [SHAPE] = { "shape", parse_shape },
};

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
        const char *value = skip_space(p, end), *close = memchr(value, ')', (size_t)(end - value));
        const char *stop = memchr(value, ',', (size_t)(end - value));
        size_t k = 0;
        while (k < N_KEYS && !hg_same_word(key, key + length, keys[k].name))
            k++;
        p = k < N_KEYS ? keys[k].parse(p, end, npy) : NULL;
        if (p == NULL && k == DESCR)
            return hg_fail_at(err, HINGE_EFORMAT, name, 0, "dtype %s is not one of f2 f4 f8 i1-i8 u1-u8 b1",
                              hg_excerpt(value, stop != NULL ? stop : end).text);
        if (p == NULL && k == SHAPE)
            return hg_fail_at(err, HINGE_EFORMAT, name, 0, "shape %s is not of one or two dimensions",
                              hg_excerpt_all(value, close != NULL ? close + 1 : end).text);
        seen |= 1U << k;
        const char *comma = expect(p, end, ',');
        p = comma != NULL || expect(p, end, '}') == NULL ? comma : p;
    }
    if (p == NULL || seen != (1U << N_KEYS) - 1)
        return hg_fail_at(err, HINGE_EFORMAT, name, 0, "the .npy header '%s' cannot be read",
                          hg_excerpt_all(start, end).text);
    return HINGE_OK;
}

/* Reads magic, version, length of the header, header, data. */
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
    HG_TRY(parse_npy_dict(name, header, header + length, npy, err));
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

/* Loads n = 1, 2, 4 or 8 bytes, the lowest first; compilers make one load of each case. */
static uint64_t load_bits(const unsigned char *p, size_t n)
{
    if (n == 8)
        return hg_load8((const char *)p);
    uint64_t low = n == 1 ? p[0] : p[0] | (uint64_t)p[1] << 8;
    return n < 4 ? low : low | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24;
}

/* Loads element i, j as an integer, whatever the order of bytes and of dimensions. */
static uint64_t element_bits(const struct npy *npy, size_t i, size_t j)
{
    size_t place = npy->fortran_order ? j * npy->rows + i : i * npy->cols + j;
    uint64_t bits = load_bits(npy->data + place * npy->item, npy->item);
    if (npy->big_endian)
        bits = __builtin_bswap64(bits) >> (64 - 8 * npy->item);
    return bits;
}

/* Converts an element to a double: floats by their bits, integers by value, which rounds those beyond 2^53. */
static double element(const struct npy *npy, size_t i, size_t j)
{
    uint64_t bits = element_bits(npy, i, j);
    if (npy->kind == 'f' && npy->item == 8) {
        double value;
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    if (npy->kind == 'f' && npy->item == 2)
        return hg_from_f16((uint16_t)bits);
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

/* Says whether rows are kept as the bytes that the file has. */
static bool keeps_bytes(const struct hg_row *row)
{
    return row->type == HINGE_U8 || row->type == HINGE_I8;
}

/* Takes row i, of one byte an element, as it is. */
static void npy_bytes(const struct npy *npy, size_t i, const struct hg_row *row, size_t *nonzeros)
{
    uint8_t *to = row->data;
    size_t count = 0;
    if (!npy->fortran_order && npy->cols > 0)
        memcpy(to, npy->data + i * npy->cols, npy->cols);
    for (size_t j = 0; npy->fortran_order && j < npy->cols; j++)
        to[j] = npy->data[j * npy->rows + i];
    for (size_t j = 0; j < npy->cols; j++)
        count += to[j] != 0;
    *nonzeros += count;
}

/* Takes row i as doubles. Returns the first column that is not finite, or cols. */
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

struct filling {
    const struct npy *npy;
    hinge_data *data;
    size_t from;              /* the first row of the file that is read */
    size_t bad_row, nonzeros; /* atomic: the lowest row that fails; of all rows */
};

static void fill_some(void *arg, int thread, size_t first, size_t end)
{
    struct filling *f = arg;
    size_t nonzeros = 0;
    (void)thread;
    for (size_t i = first; i < end; i++) {
        struct hg_row row = hg_data_row(f->data, i);
        double value;
        hg_row_clear(&row);
        if (keeps_bytes(&row))
            npy_bytes(f->npy, f->from + i, &row, &nonzeros);
        else if (npy_row(f->npy, f->from + i, &row, &nonzeros, &value) < f->npy->cols)
            hg_lower(&f->bad_row, f->from + i);
    }
    __atomic_fetch_add(&f->nonzeros, nonzeros, __ATOMIC_RELAXED);
}

/* Fills rows from the first on; those that are checked alone all go to one place. The lowest row that fails is looked
 * at again, so that the message does not depend on threads. */
static hinge_status fill_npy(const struct hg_source *source, const struct npy *npy, size_t first, size_t rows,
                             hinge_data *data, hinge_error *err)
{
    struct filling f = { npy, data, first, SIZE_MAX, 0 };
    hg_share(source->part.check ? 1 : source->threads, rows, 256, fill_some, &f);
    data->nonzeros = f.nonzeros;
    if (f.bad_row == SIZE_MAX)
        return HINGE_OK;
    struct hg_row row = hg_data_row(data, f.bad_row - first);
    double value = 0;
    size_t column = npy_row(npy, f.bad_row, &row, &f.nonzeros, &value);
    return refuse_element(source->name, f.bad_row, column, value, err);
}

/* Says whether a whole number is no double, and would become another one. */
static bool is_beyond_doubles(const struct npy *npy, size_t i, size_t j)
{
    double value = fabs(element(npy, i, j));
    uint64_t bits = element_bits(npy, i, j), size = npy->kind == 'i' && bits >> 63 != 0 ? -bits : bits;
    return npy->kind != 'f' && npy->item == 8 && (value >= 0x1p64 || (uint64_t)value != size);
}

/* Labels [first, first + count) of n from a .npy file of their own; y NULL: they are checked only. */
static hinge_status read_npy_labels(const char *path, double *y, size_t n, size_t first, size_t count, hinge_error *err)
{
    struct hg_bytes bytes = { 0 };
    struct npy npy = { 0 };
    hinge_status status = hg_bytes_read(&bytes, path, err);
    HG_THEN(status, parse_npy(path, bytes.data, bytes.size, &npy, err));
    if (status == HINGE_OK && (npy.rows * npy.cols != n || (npy.rows != n && npy.cols != n)))
        status = hg_fail_at(err, HINGE_EFORMAT, path, 0, "%zu x %zu labels for %zu rows", npy.rows, npy.cols, n);
    for (size_t i = first; status == HINGE_OK && i < first + count; i++) {
        size_t row = npy.rows == n ? i : 0, column = npy.rows == n ? 0 : i;
        double value = element(&npy, row, column);
        if (!isfinite(value))
            status = refuse_element(path, row, column, value, err);
        else if (is_beyond_doubles(&npy, row, column))
            status = hg_fail_at(err, HINGE_EFORMAT, path, 0,
                                "[%zu, %zu] is a whole number beyond 2^53 that double precision takes for %.0f: number "
                                "classes anew, or make values floats",
                                row, column, value);
        else if (y != NULL)
            y[i - first] = value;
    }
    hg_bytes_free(&bytes);
    return status;
}

/* Returns the type that keeps what a file has: bytes as they are, floats of two bytes as those of four. */
static hinge_dtype type_of(const struct npy *npy)
{
    if (npy->kind == 'f')
        return npy->item <= 4 ? HINGE_F32 : HINGE_F64;
    return npy->item > 1 ? HINGE_F64 : npy->kind == 'i' ? HINGE_I8 : HINGE_U8;
}

bool hg_npy_rows(const struct hg_source *source, uint64_t *first, uint64_t *bytes)
{
    struct npy npy = { 0 };
    if (parse_npy(source->name, source->data, source->size, &npy, NULL) != HINGE_OK || npy.fortran_order)
        return false;
    *first = (uint64_t)(npy.data - (const unsigned char *)source->data);
    *bytes = npy.cols * npy.item;
    return true;
}

/* Takes the caller's part of the rows. */
hinge_status hg_read_npy(const struct hg_source *source, hinge_data *data, hinge_error *err)
{
    struct npy npy = { 0 };
    HG_TRY(parse_npy(source->name, source->data, source->size, &npy, err));
    if (npy.n_dims == 1 && source->options->max_cols != 1)
        return hg_fail_at(err, HINGE_EFORMAT, source->name, 0,
                          "an array of one dimension is no list of examples: reshape it to (%zu, 1), examples of one "
                          "feature, or to (1, %zu), one example",
                          npy.rows, npy.rows);
    hinge_dtype type = type_of(&npy);
    const struct hg_file_part *part = &source->part;
    size_t first = part->of > 0 ? (size_t)hg_share_of(npy.rows, part->begin, part->of) : 0;
    size_t rows = (part->of > 0 ? (size_t)hg_share_of(npy.rows, part->end, part->of) : npy.rows) - first;
    if (rows == 0 && npy.rows > 0)
        return HINGE_OK;
    hinge_status status = hg_data_reserve(data, source, rows, HG_MAX(npy.cols, source->options->min_cols), type, err);
    HG_THEN(status, fill_npy(source, &npy, first, rows, data, err));
    if (status == HINGE_OK && source->options->labels_path != NULL)
        status =
            read_npy_labels(source->options->labels_path, part->check ? NULL : data->y, npy.rows, first, rows, err);
    data->file_cols = npy.cols;
    data->labelled = source->options->labels_path != NULL;
    return status;
}

/* A share of a file for each rank: the lines of LIBSVM text that begin in its part of the bytes. */
#include "lib/files/bytes.h"
#include "mpi/train.h"

#include <string.h>
#include <strings.h>

/* Whether ranks can each read a part: LIBSVM text that is not compressed. */
static bool is_split(const char *path, const struct hg_bytes *bytes, const hinge_data_options *options)
{
    size_t length = strlen(path);
    const char *end = length >= 4 ? path + length - 4 : path;
    bool table = strcasecmp(end, ".csv") == 0 || strcasecmp(end, ".tsv") == 0;
    if (bytes->mapped == NULL || bytes->owned != NULL || options->precomputed || options->columns != NULL)
        return false;
    if (options->format != HINGE_FORMAT_AUTO)
        return options->format == HINGE_FORMAT_LIBSVM;
    return !table && !(bytes->size >= 6 && memcmp(bytes->data, "\x93NUMPY", 6) == 0);
}

/* Where the first line begins at `from` or behind it. */
static size_t line_from(const struct hg_bytes *bytes, size_t from)
{
    if (from == 0 || from >= bytes->size)
        return HG_MIN(from, bytes->size);
    const char *newline = memchr(bytes->data + from - 1, '\n', bytes->size - from + 1);
    return newline != NULL ? (size_t)(newline - bytes->data) + 1 : bytes->size;
}

/* size * k / n without overflow */
static size_t share_of(size_t size, size_t k, size_t n)
{
    return size / n * k + size % n * k / n;
}

/* The error of a part, by the lines of the whole file. */
static void number_lines(const char *path, const struct hg_bytes *bytes, size_t begin, hinge_error *err)
{
    size_t before = 0, name = strlen(path);
    if (err == NULL || err->line == 0 || bytes->data == NULL)
        return;
    for (const char *p = bytes->data, *end = p + begin; (p = memchr(p, '\n', (size_t)(end - p))) != NULL; p++)
        before++;
    hinge_error part = *err;
    const char *text = strncmp(part.text, path, name) == 0 ? strchr(part.text + name + 1, ':') : NULL;
    if (text != NULL)
        hg_fail_at(err, part.status, path, part.line + before, "%s", text + 2);
}

static hinge_status read_part(const struct hm_net *net, const char *path, const struct hg_bytes *bytes,
                              const hinge_data_options *options, hinge_data *data, hinge_error *err)
{
    size_t ranks = (size_t)net->ranks, rank = (size_t)net->rank;
    size_t begin = line_from(bytes, share_of(bytes->size, rank, ranks));
    size_t end = line_from(bytes, share_of(bytes->size, rank + 1, ranks));
    hinge_data_options own = *options;
    own.format = HINGE_FORMAT_LIBSVM;
    if (begin == end && (bytes->size > 0 || rank > 0))
        return HINGE_OK;
    hinge_status status = hinge_data_parse(path, bytes->data + begin, end - begin, &own, data, err);
    if (status != HINGE_OK)
        number_lines(path, bytes, begin, err);
    return status;
}

/* Rank 0 may know only after unpacking; the others take its word. */
static hinge_status read_share(const struct hm_net *net, const char *path, const hinge_data_options *options,
                               bool split, const struct hg_bytes *bytes, hinge_data *data, hinge_error *err)
{
    if (split)
        return read_part(net, path, bytes, options, data, err);
    return net->rank == 0 ? hinge_data_read(path, options, data, err) : HINGE_OK;
}

hinge_status hm_data_read(const struct hm_net *net, const char *path, const hinge_data_options *options,
                          hinge_data *data, hinge_error *err)
{
    const hinge_data_options none = { 0 };
    hinge_data_options own = options != NULL ? *options : none;
    struct hg_bytes bytes = { 0 };
    uint64_t split = 0;
    hg_ok(err);
    memset(data, 0, sizeof *data);
    own.drop_empty = 0;
    hinge_status status = net->rank == 0 ? hg_bytes_read(&bytes, path, err) : HINGE_OK;
    split = status == HINGE_OK && is_split(path, &bytes, &own);
    status = hm_agree(net, status, err);
    if (status != HINGE_OK)
        return status;
    net->broadcast(net, &split, sizeof split, 0);
    if (split && net->rank > 0)
        status = hg_bytes_read(&bytes, path, err);
    for (int pass = 0; pass < 2; pass++) { /* again where other ranks have more columns */
        struct hm_sum sum = { 0 };
        if (status == HINGE_OK && (pass == 0 || (data->x.rows > 0 && data->x.cols < own.min_cols))) {
            hinge_data_free(data);
            status = read_share(net, path, &own, split, &bytes, data, err);
        }
        if (status == HINGE_OK && data->words.count > 0)
            status = hg_fail(err, HINGE_EINVAL, "%s: labels are words, which ranks do not agree on: number them", path);
        status = hm_agree(net, status, err);
        if (status != HINGE_OK)
            break;
        sum.most[0].key = data->x.cols;
        net->sum(net, &sum);
        own.min_cols = sum.most[0].key;
    }
    hg_bytes_free(&bytes);
    if (status != HINGE_OK)
        hinge_data_free(data);
    else if (data->x.rows == 0)
        data->x = (hinge_matrix){ .data = data->memory, .type = HINGE_F64, .cols = own.min_cols,
                                  .stride = own.min_cols };
    return status;
}

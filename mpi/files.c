/* A share of a file for each rank, and what all ranks have to know of the whole. */
#include "lib/files/io_data.h"
#include "mpi/mpi_train.h"

#include <string.h>

struct rank_file {
    const struct hm_net *net;
    const char *path;
    hinge_data_options options;
    struct hg_bytes bytes; /* the file; of a packed one what this rank's part is read from */
    bool packed;
    bool split; /* each rank reads its part; otherwise rank 0 reads all, whatever is packed in it */
};

static hinge_status read_share(const struct rank_file *s, hinge_data *data, hinge_error *err)
{
    const struct hg_file_part part = { (size_t)s->net->rank, (size_t)s->net->ranks, false };
    if (s->split)
        return hg_data_read_part(s->path, &s->bytes, part, &s->options, data, err);
    const struct hg_file_part all = { 0 };
    return s->net->rank == 0 ? hg_data_read_part(s->path, &s->bytes, all, &s->options, data, err) : HINGE_OK;
}

/* Each rank's share, with as many columns as the widest has: read again where it has fewer. What is told of the file is
 * the same on all ranks. */
static hinge_status read_shares(struct rank_file *s, hinge_data *data, hinge_error *err)
{
    struct hm_sum sum = { 0 };
    for (int pass = 0; pass < 2; pass++) {
        hinge_status status = HINGE_OK;
        if (pass == 0 || (data->x.rows > 0 && data->x.cols < s->options.min_cols)) {
            hinge_data_free(data);
            status = read_share(s, data, err);
        }
        HG_TRY(hm_agree(s->net, status, err));
        const uint64_t told[] = { data->x.cols, data->file_cols, (uint64_t)data->format, (uint64_t)data->labelled,
                                  data->label_column, (uint64_t)data->header, data->words.count > 0 };
        for (size_t k = 0; k < sizeof told / sizeof *told; k++)
            sum.most[k] = (struct hm_most){ told[k], 0 };
        s->net->sum(s->net, &sum);
        s->options.min_cols = sum.most[0].key;
    }
    data->file_cols = sum.most[1].key;
    data->format = (hinge_format)sum.most[2].key;
    data->labelled = (int)sum.most[3].key;
    data->label_column = sum.most[4].key;
    data->header = (int)sum.most[5].key;
    if (sum.most[6].key && data->file_cols == 0 && data->format == HINGE_FORMAT_LIBSVM) /* the same on all ranks */
        return hg_fail(err, HINGE_EFORMAT, "%s: labels are words, and no line has a pair index:value", s->path);
    return HINGE_OK;
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

/* Makes this rank's words, a 0 behind each and up to 8 bytes of them at the end. */
static void pack_words(const hinge_words *words, struct hg_text *text)
{
    for (size_t k = 0; k < words->count; k++)
        hg_text_add(text, words->word[k], strlen(words->word[k]) + 1);
    while (text->size % 8 != 0 && !text->no_memory)
        hg_text_add(text, "", 1);
}

/* The words in the order of the whole file, as one reader numbers them: those of lower ranks come first. all: as packed
 * by each rank, net->sizes bytes of each. */
static hinge_status number_words(const struct rank_file *s, const char *all, size_t total, hinge_data *data,
                                 hinge_error *err)
{
    const hinge_words none = { 0 }, *known = s->options.words != NULL ? s->options.words : &none;
    size_t n = 0, before = 0, mine = 0;
    struct hg_word *of;
    double *number;
    hinge_words words;
    HG_TRY(HG_MAKE(err, "words", HG_ARRAY(number, total), HG_ARRAY(of, total)));
    for (int r = 0; r < s->net->rank; r++)
        before += s->net->sizes[r];
    for (size_t at = 0; at < total;) {
        size_t length = strlen(all + at);
        mine += at < before && length > 0;
        if (length > 0)
            of[n++] = (struct hg_word){ all + at, length };
        at += length + 1;
    }
    hinge_status status = hg_words_collect(known, of, n, &words, number, err);
    if (status == HINGE_OK) {
        for (size_t i = 0; i < data->x.rows; i++)
            data->y[i] = number[mine + (size_t)data->y[i] - 1];
        hg_words_free(&data->words);
        data->words = words;
    }
    hg_free(number);
    return status;
}

static hinge_status agree_on_words(const struct rank_file *s, hinge_data *data, hinge_error *err)
{
    size_t total;
    struct hg_text mine = { 0 };
    void *all = NULL;
    pack_words(&data->words, &mine);
    hinge_status status = HM_HAVE(s->net, !mine.no_memory, err, "no memory for %zu words", data->words.count);
    HG_THEN(status, hm_gather_all(s->net, mine.data, mine.size, &all, &total, err));
    if (status == HINGE_OK && total > 0)
        status = hm_agree(s->net, number_words(s, all, total, data, err), err);
    hg_text_free(&mine);
    hg_free(all);
    return status;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* Fails where parts are in error: rank 0 looks at all of the file: the first error of the whole is told, by its
 * line. */
static hinge_status find_error(struct rank_file *s, hinge_status status, hinge_error *err)
{
    const struct hg_file_part all = { .check = true };
    hinge_error whole;
    hinge_data data = { 0 };
    if (status != HINGE_EFORMAT || !s->split)
        return status;
    if (s->net->rank == 0 && s->packed) {
        hg_bytes_free(&s->bytes);
        (void)hg_bytes_read(&s->bytes, s->path, NULL);
    }
    if (s->net->rank == 0 && s->bytes.data != NULL &&
        hg_data_read_part(s->path, &s->bytes, all, &s->options, &data, &whole) != HINGE_OK && err != NULL)
        *err = whole;
    hinge_data_free(&data);
    return hm_agree(s->net, s->net->rank == 0 && err != NULL ? err->status : status, err);
}

/* Rank 0's look at the file, which it reads as a whole where that cannot be read by parts. */
static hinge_status look(struct rank_file *s, struct hg_extent *extent, hinge_error *err)
{
    size_t most = hg_total_memory() * (size_t)s->net->ranks;
    HG_TRY(hg_bytes_open(&s->bytes, s->path, err));
    s->packed = s->net->ranks > 1 && s->bytes.mapped != NULL && hg_bytes_packed(&s->bytes);
    if (s->packed)
        HG_TRY(hg_data_measure(s->path, &s->bytes, most, &s->options, extent, &s->split, err));
    s->packed = s->packed && s->split;
    if (s->split)
        return HINGE_OK;
    HG_TRY(hg_bytes_unpack_all(&s->bytes, s->path, err));
    s->split = hg_data_splits(s->path, &s->bytes, &s->options);
    return HINGE_OK;
}

/* Unpacks this rank's part. */
static hinge_status unpack(struct rank_file *s, const struct hg_extent *extent, hinge_error *err)
{
    const struct hg_file_part part = { (size_t)s->net->rank, (size_t)s->net->ranks, false };
    struct hg_bytes packed = s->bytes;
    s->bytes = (struct hg_bytes){ 0 };
    hinge_status status = hg_data_unpack_part(s->path, &packed, extent, part, &s->bytes, err);
    hg_bytes_free(&packed);
    return status;
}

/* Opens the file on each rank that reads some of it. */
static hinge_status open_file(struct rank_file *s, hinge_error *err)
{
    const struct hm_net *net = s->net;
    struct {
        uint64_t split, packed, size;
        struct hg_extent extent;
    } told = { 0 };
    HG_TRY(hm_agree(net, net->rank == 0 ? look(s, &told.extent, err) : HINGE_OK, err));
    told.split = s->split;
    told.packed = s->packed;
    told.size = s->bytes.size;
    net->broadcast(net, &told, sizeof told, 0);
    s->split = told.split != 0;
    s->packed = told.packed != 0;
    hinge_status status = s->split && net->rank > 0 ? hg_bytes_open(&s->bytes, s->path, err) : HINGE_OK;
    if (status == HINGE_OK && s->split && s->bytes.size != told.size)
        status = hg_fail_at(err, HINGE_EIO, s->path, 0, "%zu bytes, and %zu where rank 0 is", s->bytes.size,
                            (size_t)told.size);
    if (s->packed)
        HG_THEN(status, unpack(s, &told.extent, err));
    return hm_agree(net, status, err);
}

hinge_status hm_data_read(const struct hm_net *net, const char *path, const hinge_data_options *options,
                          hinge_data *data, hinge_error *err)
{
    struct rank_file s = { .net = net, .path = path };
    if (options != NULL)
        s.options = *options;
    hg_ok(err);
    memset(data, 0, sizeof *data);
    s.options.drop_empty = 0;
    hinge_status status = open_file(&s, err);
    HG_THEN(status, find_error(&s, read_shares(&s, data, err), err));
    HG_THEN(status, agree_on_words(&s, data, err));
    hg_bytes_free(&s.bytes);
    if (status != HINGE_OK)
        hinge_data_free(data);
    else if (data->x.rows == 0)
        data->x = (hinge_matrix){ .data = data->memory, .type = HINGE_F64, .cols = s.options.min_cols,
                                  .stride = s.options.min_cols };
    return status;
}

/* A share of a file for each rank, and what all ranks have to know of the whole. */
#include "lib/files/manifest.h"
#include "mpi/mpi_train.h"

#include <string.h>

struct rank_files {
    const struct hm_net *net;
    struct hg_files files;
    hinge_data_options options;
};

/* Refuses files that are not laid out alike; of what this rank has, layout is that of the first one. */
static hinge_status check_layouts(const struct rank_files *s, const struct hg_layout *layout, hinge_error *err)
{
    size_t total, ranks = (size_t)s->net->ranks, k = 0;
    void *all = NULL;
    if (s->files.n == 1)
        return HINGE_OK;
    HG_TRY(hm_gather_all(s->net, layout, sizeof *layout, &all, &total, err));
    const struct hg_layout *of = all;
    while (k + 1 < ranks && of[k].rows == 0)
        k++;
    hinge_status status = hg_files_check(&s->files, &of[k], layout, err);
    hg_free(all);
    return hm_agree(s->net, status, err);
}

/* Each rank's share, with as many columns as the widest has: read again where it has fewer. What is told of the file is
 * the same on all ranks. */
static hinge_status read_shares(struct rank_files *s, hinge_data *data, hinge_error *err)
{
    const struct hm_net *net = s->net;
    struct hm_sum sum = { 0 };
    for (int pass = 0; pass < 2; pass++) {
        struct hg_layout layout;
        hinge_status status = HINGE_OK;
        if (pass == 0 || (data->x.rows > 0 && data->x.cols < s->options.min_cols)) {
            hinge_data_free(data);
            status = hg_files_read(&s->files, (size_t)net->rank, (size_t)net->ranks, &s->options, data, &layout, err);
        }
        HG_TRY(hm_agree(net, status, err));
        if (pass == 0)
            HG_TRY(check_layouts(s, &layout, err));
        const uint64_t told[] = { data->x.cols, data->file_cols, (uint64_t)data->format, (uint64_t)data->labelled,
                                  data->label_column, (uint64_t)data->header, data->words.count > 0 };
        for (size_t k = 0; k < sizeof told / sizeof *told; k++)
            sum.most[k] = (struct hm_most){ told[k], 0 };
        net->sum(net, &sum);
        s->options.min_cols = sum.most[0].key;
    }
    bool words = sum.most[6].key != 0;
    data->file_cols = sum.most[1].key;
    data->format = (hinge_format)sum.most[2].key;
    data->labelled = (int)sum.most[3].key;
    data->label_column = sum.most[4].key;
    data->header = (int)sum.most[5].key;
    if (!words || data->file_cols > 0 || data->format != HINGE_FORMAT_LIBSVM)
        return HINGE_OK;
    hinge_status status = HINGE_EFORMAT;
    if (net->rank == 0)
        status = hg_files_find_error(&s->files, 0, &s->options, status, err);
    return hm_agree(net, status, err);
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
static hinge_status number_words(const struct rank_files *s, const char *all, size_t total, hinge_data *data,
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

static hinge_status agree_on_words(const struct rank_files *s, hinge_data *data, hinge_error *err)
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

/* Rank 0's list of files, on all ranks. */
static hinge_status list_files(struct rank_files *s, const char *path, hinge_error *err)
{
    const struct hm_net *net = s->net;
    struct hg_files *files = &s->files;
    hinge_status status = HINGE_OK;
    if (net->rank == 0)
        status = hg_files_open(files, path, s->options.labels_path, err);
    HG_TRY(hm_agree(net, status, err));
    uint64_t told[] = { files->n, files->labels, files->text_size };
    net->broadcast(net, told, sizeof told, 0);
    if (net->rank > 0)
        status = hg_files_reserve(files, told[0], told[1] != 0, told[2], err);
    HG_TRY(hm_agree(net, status, err));
    net->broadcast(net, files->size, files->n * sizeof *files->size, 0);
    net->broadcast(net, files->text, files->text_size, 0);
    hg_files_index(files);
    return HINGE_OK;
}

hinge_status hm_data_read(const struct hm_net *net, const char *path, const hinge_data_options *options,
                          hinge_data *data, hinge_error *err)
{
    struct rank_files s = { .net = net };
    if (options != NULL)
        s.options = *options;
    hg_ok(err);
    memset(data, 0, sizeof *data);
    s.options.drop_empty = 0;
    hinge_status status = list_files(&s, path, err);
    HG_THEN(status, read_shares(&s, data, err));
    HG_THEN(status, agree_on_words(&s, data, err));
    hg_files_free(&s.files);
    if (status != HINGE_OK)
        hinge_data_free(data);
    else if (data->x.rows == 0)
        data->x = (hinge_matrix){ .data = data->memory, .type = HINGE_F64, .cols = s.options.min_cols,
                                  .stride = s.options.min_cols };
    return status;
}

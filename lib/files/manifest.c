/* Manifests, and files that are read as one. Read manifest.h before. */
#include "lib/files/manifest.h"

#include <string.h>

/* ---- the list ---------------------------------------------------------------------------------------------------- */

/* Paths and sizes on their way. */
struct listing {
    struct hg_text paths, sizes;
    size_t n;
};

static void add_path(struct listing *list, const char *folder, size_t length, const char *path, size_t n)
{
    hg_text_add(&list->paths, folder, length);
    hg_text_add(&list->paths, path, n);
    hg_text_add(&list->paths, "", 1);
    list->n++;
}

/* Notes how large the last file is. */
static struct hg_file_info look_at_last(struct listing *list, size_t start)
{
    struct hg_file_info info = { 0 };
    if (list->paths.no_memory)
        return info;
    info = hg_file_look(list->paths.data + start);
    hg_text_add(&list->sizes, (const char *)&info.size, sizeof info.size);
    return info;
}

/* Adds the files that a manifest's lines name, relative to its folder. */
static hinge_status add_lines(struct listing *list, const char *manifest, const struct hg_bytes *bytes,
                              hinge_error *err)
{
    const char *p = bytes->data, *end = p + bytes->size;
    size_t folder = (size_t)(hg_file_name(manifest) - manifest);
    for (size_t number = 1; p < end; number++) {
        struct hg_line line = hg_next_line(manifest, number, &p, end);
        const char *path = hg_skip_blanks(line.p, line.end), *stop = line.end;
        while (stop > path && hg_is_blank(stop[-1]))
            stop--;
        if (path == stop || *path == '#')
            continue;
        if (memchr(path, '\0', (size_t)(stop - path)) != NULL)
            return hg_fail_line(err, &line, "a byte of 0 where a manifest names a file");
        size_t start = list->paths.size;
        add_path(list, manifest, hg_path_is_absolute(path) ? 0 : folder, path, (size_t)(stop - path));
        if (!look_at_last(list, start).exists && !list->paths.no_memory)
            return hg_fail_line(err, &line, "there is no file '%.200s', which the manifest names",
                                list->paths.data + start);
    }
    return list->n > 0 ? HINGE_OK : hg_fail_at(err, HINGE_EFORMAT, manifest, 0, "the manifest names no file");
}

static hinge_status list_files(struct listing *list, const char *path, hinge_error *err)
{
    struct hg_bytes bytes = { 0 };
    *list = (struct listing){ 0 };
    if (!hg_is_manifest(path)) {
        add_path(list, "", 0, path, strlen(path));
        (void)look_at_last(list, 0);
    } else {
        HG_TRY(hg_bytes_read(&bytes, path + 1, err));
        hinge_status status = add_lines(list, path + 1, &bytes, err);
        hg_bytes_free(&bytes);
        HG_TRY(status);
    }
    return list->paths.no_memory || list->sizes.no_memory ? hg_fail(err, HINGE_ENOMEM, "no memory for a list of files")
                                                          : HINGE_OK;
}

hinge_status hg_files_reserve(struct hg_files *files, size_t n, bool labels, size_t text_size, hinge_error *err)
{
    *files = (struct hg_files){ .n = n, .labels = labels, .text_size = text_size };
    return HG_MAKE(err, "a list of files", HG_ARRAY(files->size, n), HG_TABLE(files->path, n, labels ? 2 : 1),
                   HG_ARRAY(files->text, text_size));
}

void hg_files_index(struct hg_files *files)
{
    const char *p = files->text;
    for (size_t k = 0; k < files->n * (files->labels ? 2 : 1); k++, p += strlen(p) + 1)
        files->path[k] = p;
}

void hg_files_free(struct hg_files *files)
{
    hg_free(files->size);
    *files = (struct hg_files){ 0 };
}

hinge_status hg_files_open(struct hg_files *files, const char *path, const char *labels, hinge_error *err)
{
    struct listing rows, others = { 0 };
    *files = (struct hg_files){ 0 };
    hinge_status status = list_files(&rows, path, err);
    if (labels != NULL)
        HG_THEN(status, list_files(&others, labels, err));
    if (status == HINGE_OK && labels != NULL && others.n != rows.n)
        status = hg_fail(err, HINGE_EINVAL, "%s: %zu files of labels for %zu of rows", labels, others.n, rows.n);
    HG_THEN(status, hg_files_reserve(files, rows.n, labels != NULL, rows.paths.size + others.paths.size, err));
    if (status == HINGE_OK) {
        memcpy(files->size, rows.sizes.data, rows.sizes.size);
        memcpy(files->text, rows.paths.data, rows.paths.size);
        if (labels != NULL)
            memcpy(files->text + rows.paths.size, others.paths.data, others.paths.size);
        hg_files_index(files);
    }
    hg_text_free(&rows.paths);
    hg_text_free(&rows.sizes);
    hg_text_free(&others.paths);
    hg_text_free(&others.sizes);
    return status;
}

/* ---- the part of a file ------------------------------------------------------------------------------------------ */

/* A part is told in so many shares of a file's bytes. */
enum { UNITS = 1 << 20 };

/* The first share of a file, from byte `begin` of all on, that does not begin before `at`. */
static size_t first_unit(uint64_t at, uint64_t begin, uint64_t size)
{
    if (at <= begin || at - begin >= HG_MAX(size, (uint64_t)1))
        return at <= begin ? 0 : UNITS;
    return UNITS - (size_t)hg_share_of(UNITS, size - (at - begin), size);
}

/* Where a reader's part begins among `total` bytes: readers' parts follow each other, and the first has byte 0. */
static uint64_t begin_of(uint64_t total, size_t number, size_t of)
{
    return number == of ? UINT64_MAX : total - hg_share_of(total, of - number, of);
}

hinge_status hg_files_find_error(const struct hg_files *files, size_t k, const hinge_data_options *options,
                                 hinge_status status, hinge_error *err)
{
    const struct hg_file_part all = { .check = true };
    hinge_data_options own = *options;
    struct hg_bytes bytes = { 0 };
    hinge_data data = { 0 };
    hinge_error whole;
    own.labels_path = files->labels ? files->path[files->n + k] : NULL;
    if (hg_bytes_read(&bytes, files->path[k], &whole) == HINGE_OK &&
        hg_data_read_part(files->path[k], &bytes, all, &own, &data, &whole) != HINGE_OK && err != NULL)
        *err = whole;
    hinge_data_free(&data);
    hg_bytes_free(&bytes);
    return err != NULL ? err->status : status;
}

/* Unpacks what a part of a file is read from. Where the file is not to be read by parts, whoever has its first one
 * takes all of it, and others nothing. readers: among whose memory it is spread. */
static hinge_status open_part(struct hg_bytes *bytes, const char *path, size_t readers,
                              const hinge_data_options *options, struct hg_file_part *part, hinge_error *err)
{
    bool splits = false;
    struct hg_extent extent;
    struct hg_bytes packed = *bytes;
    if (bytes->mapped != NULL && hg_bytes_packed(bytes)) {
        HG_TRY(hg_data_measure(path, bytes, hg_total_memory() * readers, options, &extent, &splits, err));
        if (splits) {
            *bytes = (struct hg_bytes){ 0 };
            hinge_status status = hg_data_unpack_part(path, &packed, &extent, *part, bytes, err);
            hg_bytes_free(&packed);
            return status;
        }
    } else {
        splits = hg_data_splits(path, bytes, options);
    }
    if (splits)
        return HINGE_OK;
    part->end = part->begin == 0 ? part->of : 0;
    part->begin = 0;
    return part->end > 0 ? hg_bytes_unpack_all(bytes, path, err) : HINGE_OK;
}

static hinge_status read_part(const struct hg_files *files, size_t k, struct hg_file_part part, size_t readers,
                              const hinge_data_options *options, hinge_data *data, hinge_error *err)
{
    const char *path = files->path[k];
    struct hg_bytes bytes;
    bool some = part.begin > 0 || part.end < part.of;
    hinge_status status = hg_bytes_open(&bytes, path, err);
    if (status == HINGE_OK && bytes.mapped != NULL && bytes.size != files->size[k])
        status = hg_fail_at(err, HINGE_EIO, path, 0, "%zu bytes here, and %zu where the first reader is", bytes.size,
                            (size_t)files->size[k]);
    HG_THEN(status,
            some ? open_part(&bytes, path, readers, options, &part, err) : hg_bytes_unpack_all(&bytes, path, err));
    some = part.begin > 0 || part.end < part.of;
    if (!some && files->n == 1)
        part = (struct hg_file_part){ 0 };
    if (part.of == 0 || part.end > part.begin)
        HG_THEN(status, hg_data_read_part(path, &bytes, part, options, data, err));
    hg_bytes_free(&bytes);
    return status == HINGE_EFORMAT && some ? hg_files_find_error(files, k, options, status, err) : status;
}

/* ---- what files have alike --------------------------------------------------------------------------------------- */

static struct hg_layout layout_of(const hinge_data *data, size_t file)
{
    struct hg_layout l = { .file = file,
                           .rows = data->x.rows,
                           .format = (uint64_t)data->format,
                           .labelled = (uint64_t)data->labelled,
                           .words = data->words.count > 0 };
    if (data->format != HINGE_FORMAT_LIBSVM)
        l.cols = data->file_cols;
    for (size_t k = 0; k < data->names.count; k++)
        for (const char *p = data->names.word[k];; p++) {
            l.names ^= (unsigned char)*p;
            l.names = hg_random(&l.names);
            if (*p == '\0')
                break;
        }
    return l;
}

/* A table may have its header in one file alone, as `split` leaves it. */
hinge_status hg_files_check(const struct hg_files *files, const struct hg_layout *first, const struct hg_layout *own,
                            hinge_error *err)
{
    static const char *const formats[] = { [HINGE_FORMAT_AUTO] = "",
                                           [HINGE_FORMAT_LIBSVM] = "LIBSVM's text",
                                           [HINGE_FORMAT_NPY] = ".npy",
                                           [HINGE_FORMAT_CSV] = "CSV" };
    const char *path = files->path[own->file], *before = files->path[first->file];
    if (own->rows == 0 || first->rows == 0)
        return HINGE_OK;
    if (own->format != first->format)
        return hg_fail_at(err, HINGE_EFORMAT, path, 0, "this is %s, and %s before it is %s", formats[own->format],
                          before, formats[first->format]);
    if (own->cols != first->cols)
        return hg_fail_at(err, HINGE_EFORMAT, path, 0, "%zu features, and %s before it has %zu", (size_t)own->cols,
                          before, (size_t)first->cols);
    if (own->names != first->names && own->names != 0 && first->names != 0)
        return hg_fail_at(err, HINGE_EFORMAT, path, 0, "its features are not called as those of %s before it", before);
    if (own->words != first->words || own->labelled != first->labelled)
        return hg_fail_at(err, HINGE_EFORMAT, path, 0, "labels are %s, and those of %s before it %s",
                          own->words      ? "words"
                          : own->labelled ? "numbers"
                                          : "not there",
                          before,
                          first->words      ? "words"
                          : first->labelled ? "numbers"
                                            : "not there");
    return HINGE_OK;
}

/* ---- files as one ------------------------------------------------------------------------------------------------ */

/* What a reader has of all files, part after part. */
struct reading {
    hinge_data *part; /* [files] */
    size_t n;         /* those with rows */
    size_t dropped;   /* rows of those without */
};

/* Copies rows to where row `first` is; features that they have not are 0. */
static void copy_rows(const hinge_data *from, const hinge_data *to, size_t first)
{
    size_t size = hg_size_of(to->x.type), own = from->x.cols * hg_size_of(from->x.type);
    for (size_t i = 0; i < from->x.rows; i++) {
        char *row = (char *)to->memory + (first + i) * to->x.stride * size;
        memset(row, 0, to->x.cols * size);
        if (from->x.type == to->x.type && own > 0)
            memcpy(row, (const char *)from->memory + i * own, own);
        for (size_t c = 0; c < from->x.cols && from->x.type != to->x.type; c++)
            hg_put(row, to->x.type, c, hg_matrix_value(&from->x, i, c));
    }
}

/* Moves what parts tell beside their rows: words of all are the last part's, names those of the first that has some. */
static void take_facts(hinge_data *from, hinge_data *data)
{
    if (from->words.count > 0) {
        hg_words_free(&data->words);
        data->words = from->words;
        from->words = (hinge_words){ 0 };
    }
    if (data->names.count == 0) {
        data->names = from->names;
        from->names = (hinge_words){ 0 };
    }
    if (data->target == NULL) {
        data->target = from->target;
        from->target = NULL;
    }
    if (data->columns == NULL) {
        data->columns = from->columns;
        from->columns = NULL;
    }
    data->format = from->format;
    data->labelled |= from->labelled;
    data->label_column = HG_MAX(data->label_column, from->label_column);
    data->header |= from->header;
    data->file_cols = HG_MAX(data->file_cols, from->file_cols);
    data->dropped += from->dropped;
    data->nonzeros += from->nonzeros;
}

/* Makes one matrix of all parts, each of which goes as soon as it is there. */
static hinge_status join(const struct reading *r, const char *name, hinge_data *data, hinge_error *err)
{
    const hinge_data_options none = { 0 };
    const struct hg_source source = { .name = name, .options = &none };
    size_t rows = 0, cols = 0, first = 0;
    hinge_dtype type = r->part[0].x.type;
    for (size_t k = 0; k < r->n; k++) {
        rows += r->part[k].x.rows;
        cols = HG_MAX(cols, r->part[k].x.cols);
        type = r->part[k].x.type == type ? type : HINGE_F64;
    }
    HG_TRY(hg_data_reserve(data, &source, rows, cols, type, err));
    if (r->part[0].serial != NULL)
        HG_TRY(HG_MAKE(err, "the serial numbers of rows", HG_ZEROS(data->serial, rows)));
    for (size_t k = 0; k < r->n; k++) {
        hinge_data *part = &r->part[k];
        copy_rows(part, data, first);
        memcpy(data->y + first, part->y, part->x.rows * sizeof *part->y);
        if (data->serial != NULL && part->serial != NULL) /* all have them, or none */
            memcpy(data->serial + first, part->serial, part->x.rows * sizeof *part->serial);
        first += part->x.rows;
        take_facts(part, data);
        hinge_data_free(part);
    }
    return HINGE_OK;
}

/* Reads this reader's part of each file that it has some of. */
static hinge_status read_all(const struct hg_files *files, size_t number, size_t of, hinge_data_options options,
                             struct reading *r, struct hg_layout *first, hinge_error *err)
{
    uint64_t total = 0, at = 0;
    for (size_t k = 0; k < files->n; k++)
        total += files->size[k];
    total = HG_MAX(total, (uint64_t)1);
    options.drop_empty = files->n == 1 && of == 1 && options.drop_empty;
    for (size_t k = 0; k < files->n; at += files->size[k], k++) {
        hinge_data *data = &r->part[r->n];
        const struct hg_file_part part = { first_unit(begin_of(total, number, of), at, files->size[k]),
                                           first_unit(begin_of(total, number + 1, of), at, files->size[k]), UNITS,
                                           false };
        if (part.begin >= part.end)
            continue;
        options.labels_path = files->labels ? files->path[files->n + k] : NULL;
        HG_TRY(read_part(files, k, part, of, &options, data, err));
        const struct hg_layout own = layout_of(data, k);
        if (first->rows == 0)
            *first = own;
        r->n += own.rows > 0;
        HG_TRY(hg_files_check(files, first, &own, err));
        if (own.rows == 0) {
            r->dropped += data->dropped;
            hinge_data_free(data);
        }
        if (own.rows > 0 && data->words.count > 0)
            options.words = &data->words;
        if (own.rows > 0 && data->format == HINGE_FORMAT_LIBSVM && options.columns == NULL)
            options.min_cols = HG_MAX(options.min_cols, data->x.cols);
    }
    return HINGE_OK;
}

hinge_status hg_files_read(const struct hg_files *files, size_t number, size_t of, const hinge_data_options *options,
                           hinge_data *data, struct hg_layout *layout, hinge_error *err)
{
    struct reading r = { 0 };
    hinge_data made = { 0 };
    *layout = (struct hg_layout){ 0 };
    *data = made;
    HG_TRY(HG_MAKE(err, "parts of files", HG_ZEROS(r.part, files->n)));
    hinge_status status = read_all(files, number, of, *options, &r, layout, err);
    if (r.n > 1)
        HG_THEN(status, join(&r, files->path[0], &made, err));
    if (status == HINGE_OK && r.n == 1) {
        made = r.part[0];
        r.n = 0;
    }
    made.dropped += r.dropped;
    if (status == HINGE_OK && of == 1 && made.x.rows == 0)
        status = hg_fail_at(err, HINGE_EFORMAT, files->path[0], 0, "no rows, nor in the files behind it");
    if (status == HINGE_OK && of == 1 && hg_lacks_pairs(&made))
        status = hg_files_find_error(files, 0, options, HINGE_EFORMAT, err);
    for (size_t k = 0; k < r.n; k++)
        hinge_data_free(&r.part[k]);
    hg_free(r.part);
    if (status == HINGE_OK)
        *data = made;
    else
        hinge_data_free(&made);
    return status;
}

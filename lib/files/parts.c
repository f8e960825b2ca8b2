/* Packed files by parts: each reader unpacks the file, and keeps what its part is read from. Read io_data.h before. */
#include "lib/files/io_data.h"

#include <string.h>

enum { HEAD = 1 << 16 };

/* Says whether the head of a file tells how to read the rest: it has the first lines, or the header of .npy. */
static bool head_suffices(struct hg_source *source, struct hg_extent *extent)
{
    const char *head = source->data, *newline = NULL;
    size_t lines = 0, size = extent->head;
    hinge_format format = hg_format_of(source);
    if (source->options->precomputed)
        return false;
    if (format == HINGE_FORMAT_NPY)
        return hg_npy_rows(source, &extent->first, &extent->line);
    for (const char *p = memchr(head, '\n', size); p != NULL; lines++) {
        newline = p++;
        p = memchr(p, '\n', size - (size_t)(p - head));
    }
    if (lines < 3 && extent->head < extent->total)
        return false;
    source->size = newline != NULL ? (size_t)(newline + 1 - head) : size;
    hg_skip_mark(source);
    return format != HINGE_FORMAT_CSV || hg_csv_splits(source, true);
}

hinge_status hg_data_measure(const char *path, const struct hg_bytes *packed, size_t most,
                             const hinge_data_options *options, struct hg_extent *extent, bool *splits,
                             hinge_error *err)
{
    struct hg_bytes head = { 0 };
    struct hg_window window = { .most = most };
    *extent = (struct hg_extent){ 0 };
    HG_TRY(HG_MAKE(err, "the end of a file", HG_ARRAY(window.tail, HG_TAIL)));
    hinge_status status = hg_bytes_pass(packed, path, &window, err);
    size_t total = window.at, tail = HG_MIN(total, (size_t)HG_TAIL),
           blank = tail - hg_without_empty_end(window.tail, tail);
    hg_free(window.tail);
    window = (struct hg_window){ .head = HG_MIN(total, (size_t)HEAD) };
    if (status == HINGE_OK && total > 0)
        status = hg_bytes_unpack_some(&head, packed, path, total, window, err);
    if (status == HINGE_OK && total > 0) {
        struct hg_source source = { .name = path, .data = head.data, .size = total, .options = options };
        extent->total = hg_format_of(&source) == HINGE_FORMAT_CSV ? total - blank : total;
        extent->head = HG_MIN(window.head, extent->total);
        *splits = blank < tail / 2 && head_suffices(&source, extent);
    }
    hg_bytes_free(&head);
    return status;
}

/* Wants more than the part's share of the bytes, as the shares of lines are counted behind mark and header. */
hinge_status hg_data_unpack_part(const char *path, const struct hg_bytes *packed, const struct hg_extent *extent,
                                 struct hg_file_part part, struct hg_bytes *bytes, hinge_error *err)
{
    size_t total = extent->total, head = extent->head, first, end;
    struct hg_window window = { .head = head };
    if (extent->first > 0) {
        size_t rows = extent->line > 0 ? (total - extent->first) / extent->line : 0;
        first = extent->first + (size_t)hg_share_of(rows, part.begin, part.of) * extent->line;
        end = extent->first + (size_t)hg_share_of(rows, part.end, part.of) * extent->line;
    } else {
        first = (size_t)hg_share_of(total, part.begin, part.of);
        first = first > 0 ? first - 1 : 0; /* whether a line ends there */
        end = HG_MIN((size_t)hg_share_of(total, part.end, part.of) + head, total);
        window.line = end < total;
    }
    window.first = first;
    window.end = end;
    return hg_bytes_unpack_some(bytes, packed, path, total, window, err);
}

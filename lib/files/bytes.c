/*
 * Files as bytes (bytes.h): text that grows, xz and gz, mapped reading, writing that replaces a file at its end. Every
 * failure of the system is told with the path and errno's text; test/faults.c makes these calls fail by --wrap.
 */
#include "lib/files/bytes.h"
#include "hg_config.h"
#include "lib/base/team.h"
#include "lib/files/number.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if HG_HAVE_LZMA
#include <lzma.h>
#endif
#if HG_HAVE_ZLIB
#include <zlib.h>
#endif

/* "path: No such file or directory", from errno. */
static hinge_status fail_errno(hinge_error *err, const char *path, const char *what)
{
    int number = errno;
    char room[HG_ERROR_ROOM];
    return hg_fail_at(err, number == ENOMEM ? HINGE_ENOMEM : HINGE_EIO, path, 0, "%s%s%s", what,
                      what[0] != '\0' ? ": " : "", hg_error_text(number, room));
}

/* ---- growable text ------------------------------------------------------------------------------------- */

/* Doubles the capacity, so that a text of n bytes takes copies of fewer than 2 n in all. hg_alloc has no realloc. */
char *hg_text_room(struct hg_text *text, size_t length)
{
    if (text->no_memory)
        return NULL;
    if (text->capacity - text->size < length) {
        size_t capacity = HG_MAX(text->capacity, 512);
        while (capacity - text->size < length && capacity <= SIZE_MAX / 4)
            capacity *= 2;
        char *data = capacity - text->size < length ? NULL : hg_alloc(capacity, 1);
        if (data == NULL) {
            text->no_memory = true;
            return NULL;
        }
        if (text->size > 0)
            memcpy(data, text->data, text->size);
        hg_free(text->data);
        text->data = data;
        text->capacity = capacity;
    }
    return text->data + text->size;
}

void hg_text_add(struct hg_text *text, const char *bytes, size_t length)
{
    char *room = hg_text_room(text, length);
    if (room != NULL && length > 0) {
        memcpy(room, bytes, length);
        text->size += length;
    }
}

/* Prints lines of up to 255 characters, longer ones cut: keys and counts, no text of a caller's. */
void hg_text_print(struct hg_text *text, const char *format, ...)
{
    char line[256];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    hg_text_add(text, line, HG_MIN((size_t)HG_MAX(length, 0), sizeof line - 1));
}

/* Writes a number with 17 digits or as few as read back, as the text is to have them. */
static size_t format(const struct hg_text *text, char *room, double value)
{
    return text->in_full ? hg_format_digits(room, value, 17) : hg_format_double(room, value);
}

void hg_text_number(struct hg_text *text, double value)
{
    char *room = hg_text_room(text, HG_NUMBER_ROOM);
    if (room != NULL)
        text->size += format(text, room, value);
}

void hg_text_pair(struct hg_text *text, size_t index, double value)
{
    char *room = hg_text_room(text, 2 * HG_NUMBER_ROOM), *out = room;
    if (room == NULL)
        return;
    out += hg_format_size(out, index);
    *out++ = ':';
    out += format(text, out, value);
    text->size += (size_t)(out - room);
}

void hg_text_free(struct hg_text *text)
{
    hg_free(text->data);
    *text = (struct hg_text){ 0 };
}

/* ---- unpacking ----------------------------------------------------------------------------------------- */

/* Unpacked bytes on their way. */
struct unpacked {
    struct hg_text text;      /* all, or those that came last */
    struct hg_window *window; /* whose bytes are kept; NULL: all are */
    bool done;                /* nothing that follows is wanted */
};

/* Keeps what the window has of [first, end). */
static void keep(const struct hg_window *w, const struct hg_text *text, size_t first, size_t end)
{
    first = HG_MAX(first, w->at);
    end = HG_MIN(HG_MIN(end, w->at + text->size), w->most);
    if (first < end)
        memcpy(w->pages + first, text->data + (first - w->at), end - first);
}

/* The last bytes of all that came. */
static void keep_tail(const struct hg_window *w, const struct hg_text *text)
{
    size_t fresh = HG_MIN(text->size, (size_t)HG_TAIL), old = HG_MIN(w->at, HG_TAIL - fresh);
    memmove(w->tail, w->tail + (HG_MIN(w->at, (size_t)HG_TAIL) - old), old);
    memcpy(w->tail + old, text->data + (text->size - fresh), fresh);
}

/* Takes what the window wants of the bytes that came last. */
static void pass(struct unpacked *out)
{
    struct hg_window *w = out->window;
    struct hg_text *text = &out->text;
    size_t reach = w->at + text->size;
    if (w->line && reach > w->end) {
        const char *from = text->data + (HG_MAX(w->end, w->at) - w->at);
        const char *newline = memchr(from, '\n', (size_t)(text->data + text->size - from));
        w->end = newline != NULL ? w->at + (size_t)(newline + 1 - text->data) : reach;
        w->line = newline == NULL;
    }
    if (w->pages != NULL) {
        keep(w, text, 0, w->head);
        keep(w, text, HG_MAX(w->first, w->head), w->end);
        out->done = !w->line && reach >= HG_MAX(w->end, w->head);
    }
    if (w->tail != NULL && text->size > 0)
        keep_tail(w, text);
    w->at = reach;
    text->size = 0;
}

#if HG_HAVE_LZMA || HG_HAVE_ZLIB
/* Makes room for more unpacked bytes where there is none left, at least as many as there are, but not for more than the
 * machine has: a few packed bytes may say that they are petabytes. */
static hinge_status grow(struct unpacked *out, const char *name, hinge_error *err)
{
    struct hg_text *text = &out->text;
    bool counts = out->window != NULL && out->window->pages == NULL;
    size_t most = out->window == NULL ? hg_total_memory() : counts ? out->window->most : SIZE_MAX;
    if (text->size < text->capacity)
        return HINGE_OK;
    if (out->window != NULL)
        pass(out);
    size_t size = out->window != NULL ? out->window->at : text->size;
    if (size > most || hg_text_room(text, HG_MAX(text->size, 65536)) == NULL)
        return hg_fail_at(err, HINGE_ENOMEM, name, 0, "no memory for more than %zu unpacked bytes", size);
    return HINGE_OK;
}
#endif

#if HG_HAVE_LZMA
/* Unpacks xz data, also several streams one after the other, as xz itself does. */
static hinge_status unpack_xz(struct unpacked *out, const char *name, const void *data, size_t size, hinge_error *err)
{
    struct hg_text *text = &out->text;
    lzma_stream stream = LZMA_STREAM_INIT;
    hinge_status status = HINGE_OK;
    lzma_ret code = lzma_stream_decoder(&stream, hg_total_memory(), LZMA_CONCATENATED);
    stream.next_in = data;
    stream.avail_in = size;
    while (code == LZMA_OK && (status = grow(out, name, err)) == HINGE_OK && !out->done) {
        stream.next_out = (uint8_t *)text->data + text->size;
        stream.avail_out = text->capacity - text->size;
        code = lzma_code(&stream, LZMA_FINISH);
        text->size = text->capacity - stream.avail_out;
    }
    lzma_end(&stream);
    if (status != HINGE_OK || code == LZMA_STREAM_END || out->done)
        return status;
    return hg_fail_at(err, code == LZMA_MEM_ERROR ? HINGE_ENOMEM : HINGE_EFORMAT, name, 0, "%s",
                      code == LZMA_MEM_ERROR        ? "no memory to unpack"
                      : code == LZMA_BUF_ERROR      ? "xz data ends too early"
                      : code == LZMA_MEMLIMIT_ERROR ? "xz data needs more memory than there is"
                      : code == LZMA_OPTIONS_ERROR  ? "xz data of a kind that liblzma does not know"
                                                    : "corrupt xz data");
}
#else
#define unpack_xz NULL
#endif

#if HG_HAVE_ZLIB
/* Makes one round of inflate, whose counts are unsigned int. A member that ended is followed by the next one.
 * Z_BUF_ERROR from zlib means that it could do nothing just then; returned from here it means that the data end too
 * early. */
static int inflate_some(z_stream *stream, struct hg_text *out, const unsigned char *end)
{
    size_t left = (size_t)(end - stream->next_in), room = out->capacity - out->size;
    stream->avail_in = (uInt)HG_MIN(left, UINT_MAX);
    stream->avail_out = (uInt)HG_MIN(room, UINT_MAX);
    stream->next_out = (unsigned char *)out->data + out->size;
    int code = inflate(stream, Z_NO_FLUSH);
    out->size = (size_t)((char *)stream->next_out - out->data);
    if (code == Z_STREAM_END && stream->next_in < end)
        return inflateReset(stream);
    if (code == Z_BUF_ERROR && stream->next_in < end)
        return Z_OK;
    return code == Z_OK && stream->next_in == end && stream->avail_out > 0 ? Z_BUF_ERROR : code;
}

/* Unpacks gz data, also several members one after the other, as gzip itself does. */
static hinge_status unpack_gz(struct unpacked *out, const char *name, const void *data, size_t size, hinge_error *err)
{
    z_stream stream = { 0 };
    hinge_status status = HINGE_OK;
    const unsigned char *end = (const unsigned char *)data + size;
    int code = inflateInit2(&stream, 15 + 16);         /* 32 KiB window, gz wrapping */
    stream.next_in = (unsigned char *)(uintptr_t)data; /* zlib only reads it */
    while (code == Z_OK && (status = grow(out, name, err)) == HINGE_OK && !out->done)
        code = inflate_some(&stream, &out->text, end);
    inflateEnd(&stream);
    if (status != HINGE_OK || code == Z_STREAM_END || out->done)
        return status;
    return hg_fail_at(err, code == Z_MEM_ERROR ? HINGE_ENOMEM : HINGE_EFORMAT, name, 0, "%s",
                      code == Z_MEM_ERROR   ? "no memory to unpack"
                      : code == Z_BUF_ERROR ? "gz data ends too early"
                                            : "corrupt gz data");
}
#else
#define unpack_gz NULL
#endif

/* Files that are known by how they begin, packed ones and others, and what is said of those that cannot be read. */
static const struct packing {
    const char *magic;
    size_t at, length;
    hinge_status (*unpack)(struct unpacked *out, const char *name, const void *data, size_t size, hinge_error *err);
    const char *refusal;
} packings[] = {
    { "\xfd\x37\x7a\x58\x5a\x00", 0, 6, unpack_xz, "xz data, and this hinge was built without liblzma" },
    { "\x1f\x8b", 0, 2, unpack_gz, "gz data, and this hinge was built without zlib" },
    { "1AY&SY", 4, 6, NULL, "compressed with bzip2; of packed files only xz and gz are read" }, /* behind BZh9 */
    { "\x28\xb5\x2f\xfd", 0, 4, NULL, "compressed with zstd; of packed files only xz and gz are read" },
    { "PK\x03\x04", 0, 4, NULL, "a zip archive; of packed files only xz and gz are read" }, /* .npz is one */
    { "\xff\xfe", 0, 2, NULL, "UTF-16 text: convert it, as by iconv -f UTF-16 -t UTF-8" },
    { "\xfe\xff", 0, 2, NULL, "UTF-16 text: convert it, as by iconv -f UTF-16 -t UTF-8" },
};

/* Looks the first bytes up in the table of packings; NULL: none of them begins so. */
static const struct packing *find_packing(const void *data, size_t size)
{
    const struct packing *p = packings, *end = packings + sizeof packings / sizeof *packings;
    if (data == NULL) /* an empty file */
        return NULL;
    while (p < end && (size < p->at + p->length || memcmp((const char *)data + p->at, p->magic, p->length) != 0))
        p++;
    return p < end ? p : NULL;
}

bool hg_bytes_packed(const struct hg_bytes *bytes)
{
    const struct packing *p = find_packing(bytes->data, bytes->size);
    return p != NULL && p->unpack != NULL;
}

/* What is packed in no way is taken as it is. */
hinge_status hg_bytes_unpack(struct hg_bytes *bytes, const char *name, const void *data, size_t size, hinge_error *err)
{
    const struct packing *p = find_packing(data, size);
    *bytes = (struct hg_bytes){ .data = data, .size = size };
    if (p == NULL)
        return HINGE_OK;
    if (p->unpack == NULL)
        return hg_fail_at(err, HINGE_EFORMAT, name, 0, "%s", p->refusal);
    struct unpacked out = { 0 };
    hinge_status status = p->unpack(&out, name, data, size, err);
    if (status != HINGE_OK)
        hg_text_free(&out.text);
    else
        *bytes = (struct hg_bytes){ .data = out.text.data, .size = out.text.size, .owned = out.text.data };
    return status;
}

hinge_status hg_bytes_pass(const struct hg_bytes *packed, const char *name, struct hg_window *window, hinge_error *err)
{
    struct unpacked out = { .window = window };
    if (hg_text_room(&out.text, 1 << 20) == NULL)
        return hg_fail_at(err, HINGE_ENOMEM, name, 0, "no memory to unpack");
    hinge_status status = find_packing(packed->data, packed->size)->unpack(&out, name, packed->data, packed->size, err);
    pass(&out);
    hg_text_free(&out.text);
    return status;
}

hinge_status hg_bytes_unpack_some(struct hg_bytes *bytes, const struct hg_bytes *packed, const char *name, size_t total,
                                  struct hg_window window, hinge_error *err)
{
    window.most = total;
    window.pages = hg_take_pages(total);
    if (window.pages == NULL)
        return hg_fail_at(err, HINGE_ENOMEM, name, 0, "no room for %zu unpacked bytes", total);
    *bytes = (struct hg_bytes){ .data = window.pages, .size = total, .pages = window.pages, .pages_size = total };
    hinge_status status = hg_bytes_pass(packed, name, &window, err);
    if (status != HINGE_OK)
        hg_bytes_free(bytes);
    return status;
}

/* ---- reading ------------------------------------------------------------------------------------------- */

void hg_bytes_free(struct hg_bytes *bytes)
{
    if (bytes->mapped != NULL)
        hg_file_unmap(bytes->mapped, bytes->mapped_size);
    if (bytes->pages != NULL)
        hg_give_pages(bytes->pages, bytes->pages_size);
    hg_free(bytes->owned);
    *bytes = (struct hg_bytes){ 0 };
}

/* Reads a file that cannot be mapped (a pipe, a terminal) to its end, into memory that grows. */
static hinge_status read_file(struct hg_bytes *bytes, int file, const char *path, hinge_error *err)
{
    struct hg_text text = { 0 };
    for (;;) {
        char *room = hg_text_room(&text, 65536);
        ptrdiff_t n = room == NULL ? -1 : hg_file_read(file, room, text.capacity - text.size);
        if (n < 0) {
            hinge_status status = room != NULL ? fail_errno(err, path, "")
                                               : hg_fail_at(err, HINGE_ENOMEM, path, 0, "no memory for the file");
            hg_text_free(&text);
            return status;
        }
        if (n == 0)
            break;
        text.size += (size_t)n;
    }
    *bytes = (struct hg_bytes){ .data = text.data, .size = text.size, .owned = text.data };
    return HINGE_OK;
}

/* Maps the file, or reads it where it cannot be mapped. */
hinge_status hg_bytes_open(struct hg_bytes *bytes, const char *path, hinge_error *err)
{
    hinge_status status = HINGE_OK;
    int file = hg_file_open(path, HG_TO_READ);
    *bytes = (struct hg_bytes){ 0 };
    if (file < 0)
        return fail_errno(err, path, "");
    bytes->mapped = hg_file_map(file, &bytes->mapped_size);
    bytes->data = bytes->mapped;
    bytes->size = bytes->mapped_size;
    if (bytes->mapped == NULL)
        status = read_file(bytes, file, path, err);
    hg_file_close(file);
    return status;
}

/* Packed bytes are given up once they are unpacked. */
hinge_status hg_bytes_unpack_all(struct hg_bytes *bytes, const char *path, hinge_error *err)
{
    struct hg_bytes all;
    HG_TRY(hg_bytes_unpack(&all, path, bytes->data, bytes->size, err));
    if (all.owned == NULL)
        return HINGE_OK;
    hg_bytes_free(bytes);
    *bytes = all;
    return HINGE_OK;
}

hinge_status hg_bytes_read(struct hg_bytes *bytes, const char *path, hinge_error *err)
{
    hinge_status status = hg_bytes_open(bytes, path, err);
    HG_THEN(status, hg_bytes_unpack_all(bytes, path, err));
    if (status != HINGE_OK)
        hg_bytes_free(bytes);
    return status;
}

/* ---- rows printed by many threads ---------------------------------------------------------------------- */

/* Holds the rows of one piece while they are printed: text of its own, kept from batch to batch, and its outcome. */
struct piece {
    struct hg_text text;
    hinge_status status;
    hinge_error err;
};

struct batch { /* of pieces, each of `share` rows from the first on */
    struct piece *pieces;
    size_t first, share, rows;
    hg_row_printer print;
    const void *arg;
};

/* Prints a piece's rows into its text, up to the first that fails. */
static void print_piece(void *arg, int thread, size_t number, size_t behind)
{
    const struct batch *b = arg;
    struct piece *piece = &b->pieces[number];
    size_t begin = b->first + number * b->share, end = HG_MIN(b->rows, begin + b->share);
    (void)thread;
    (void)behind;
    piece->text.size = 0;
    piece->status = HINGE_OK;
    for (size_t row = begin; row < end && piece->status == HINGE_OK; row++)
        piece->status = b->print(b->arg, row, &piece->text, &piece->err);
    if (piece->status == HINGE_OK && piece->text.no_memory)
        piece->status = hg_fail(&piece->err, HINGE_ENOMEM, "no memory for the text of rows");
}

/* Prints a batch of PIECES pieces in parallel, then hands them on in order. Pieces are as long whatever the number of
 * threads, so text and first failure are the same. */
hinge_status hg_print_rows(size_t rows, size_t width, hg_row_printer print, const void *arg, hg_text_sink sink,
                           void *sink_arg, hinge_error *err)
{
    enum { PIECES = 64 }; /* in a batch; of some 32,000 numbers each */
    size_t share = HG_MAX(32768 / HG_MAX(width, 32), 1);
    struct piece *pieces;
    HG_TRY(HG_MAKE(err, "the text of rows", HG_ZEROS(pieces, PIECES)));
    struct batch batch = { pieces, 0, share, rows, print, arg };
    hinge_status status = HINGE_OK;
    for (size_t first = 0; first < rows && status == HINGE_OK; first += PIECES * share) {
        size_t n = (HG_MIN(rows - first, PIECES * share) + share - 1) / share;
        batch.first = first;
        hg_share(hg_threads(0), n, 1, print_piece, &batch);
        for (size_t i = 0; i < n && status == HINGE_OK; i++) {
            status = pieces[i].status;
            if (status == HINGE_OK)
                status = sink(sink_arg, pieces[i].text.data, pieces[i].text.size, err);
            else if (err != NULL)
                *err = pieces[i].err;
        }
    }
    for (size_t i = 0; i < PIECES; i++)
        hg_text_free(&pieces[i].text);
    hg_free(pieces);
    return status;
}

/* ---- writing ------------------------------------------------------------------------------------------- */

/* Opens a new file in the folder of output->target, with the permissions the target has: a rename is atomic within a
 * folder's file system alone. Names are random, since several processes may write the same file; HG_TO_MAKE tells of
 * chance hits. */
static hinge_status open_temporary(struct hg_output *output, const struct hg_file_info *old, hinge_error *err)
{
    size_t folder = (size_t)(hg_file_name(output->target) - output->target), room = folder + 32;
    output->temporary = hg_alloc(room, 1);
    if (output->temporary == NULL)
        return hg_fail_at(err, HINGE_ENOMEM, output->path, 0, "no memory");
    memcpy(output->temporary, output->target, folder);
    uint64_t seed = hg_process() ^ (uint64_t)(hg_now() * 1e9) ^ (uint64_t)(uintptr_t)output->temporary;
    for (int attempt = 0; attempt < 100; attempt++) {
        snprintf(output->temporary + folder, room - folder, ".hinge-%016llx", (unsigned long long)hg_random(&seed));
        output->file = hg_file_open(output->temporary, HG_TO_MAKE);
        if (output->file >= 0 || errno != EEXIST)
            break;
    }
    if (output->file < 0) {
        hinge_status status = fail_errno(err, output->path, "no temporary file beside it");
        hg_free(output->temporary);
        output->temporary = NULL;
        return status;
    }
    if (old->exists)
        hg_file_allow(output->file, old);
    return HINGE_OK;
}

/* Opens what is no regular file directly, as nothing can take its name. */
hinge_status hg_output_open(struct hg_output *output, const char *path, hinge_error *err)
{
    struct hg_file_info info = hg_file_look(path);
    hinge_status status;
    *output = (struct hg_output){ .path = path, .target = hg_file_resolve(path), .file = -1 };
    if (output->target == NULL)
        return hg_fail_at(err, HINGE_ENOMEM, path, 0, "no memory");
    if (info.exists && !info.regular) {
        output->file = hg_file_open(path, HG_TO_WRITE);
        status = output->file < 0 ? fail_errno(err, path, "") : HINGE_OK;
    } else {
        status = open_temporary(output, &info, err);
    }
    if (status != HINGE_OK)
        free(output->target);
    return status;
}

hinge_status hg_output_write(void *arg, const char *bytes, size_t size, hinge_error *err)
{
    const struct hg_output *output = arg;
    for (ptrdiff_t n; size > 0; bytes += n, size -= (size_t)n)
        if ((n = hg_file_write(output->file, bytes, size)) < 0)
            return fail_errno(err, output->path, "");
    return HINGE_OK;
}

/* Brings the new file to the disk before it takes its name, so that after a crash the name stands for the old file or
 * the whole new one. */
hinge_status hg_output_close(struct hg_output *output, hinge_status status, hinge_error *err)
{
    if (status == HINGE_OK && output->temporary != NULL && !hg_file_sync(output->file))
        status = fail_errno(err, output->path, "");
    if (!hg_file_close(output->file) && status == HINGE_OK)
        status = fail_errno(err, output->path, "");
    if (status == HINGE_OK && output->temporary != NULL && !hg_file_rename(output->temporary, output->target))
        status = fail_errno(err, output->path, "");
    if (status != HINGE_OK && output->temporary != NULL)
        hg_file_remove(output->temporary);
    hg_free(output->temporary);
    free(output->target);
    return status;
}

/*
 * Whole files in, text out: reading (mapped, unpacked), growable text, rows printed by many threads, and writing by
 * atomic rename. Nothing here knows what the bytes mean. lines.h cuts them into lines, number.h makes numbers of text.
 */
#ifndef HG_BYTES_H
#define HG_BYTES_H

#include "lib/base/base.h"

/* Holds the bytes of a file; free by hg_bytes_free, which may be called on an all-zero one. */
struct hg_bytes {
    const char *data;
    size_t size;
    void *mapped; /* of mapped_size, or NULL */
    size_t mapped_size;
    void *owned; /* by hg_alloc, or NULL */
    void *pages; /* [pages_size] of which some came to be (hg_bytes_unpack_some), or NULL; all NULL: data is someone
                  * else's */
    size_t pages_size;
};

/* Reads the file, unpacked if its first bytes say that it is xz or gz. */
hinge_status hg_bytes_read(struct hg_bytes *bytes, const char *path, hinge_error *err);
/* Does the same for what is in memory already, which is borrowed unless it has to be unpacked. */
hinge_status hg_bytes_unpack(struct hg_bytes *bytes, const char *name, const void *data, size_t size, hinge_error *err);
/* Reads the file as it is; and unpacks what was read so, which stays where it fails. */
hinge_status hg_bytes_open(struct hg_bytes *bytes, const char *path, hinge_error *err);
hinge_status hg_bytes_unpack_all(struct hg_bytes *bytes, const char *path, hinge_error *err);
/* Says whether bytes are packed, in a way that is known. */
bool hg_bytes_packed(const struct hg_bytes *bytes);

/* Which unpacked bytes are wanted, by their place; and what is found on the way to the last of them. */
enum { HG_TAIL = 1 << 16 };
struct hg_window {
    char *pages;       /* where all have their place; NULL: they are counted only */
    size_t head;       /* the first ones, and */
    size_t first, end; /* these, */
    bool line;         /* and on to the end of the line that `end` is in */
    size_t most;       /* more are refused; of what has its place in pages, left out */
    size_t at;         /* they have come so far; */
    char *tail;        /* NULL, or the last ones, HG_TAIL at most */
};
/* Unpacks, and keeps of it what is wanted. */
hinge_status hg_bytes_pass(const struct hg_bytes *packed, const char *name, struct hg_window *window, hinge_error *err);
/* Does the same into pages, of `total` bytes, that only where something is wanted take memory; elsewhere they are 0. */
hinge_status hg_bytes_unpack_some(struct hg_bytes *bytes, const struct hg_bytes *packed, const char *name, size_t total,
                                  struct hg_window window, hinge_error *err);
void hg_bytes_free(struct hg_bytes *bytes);

/* Holds text that grows. Once memory has run out it stays as it is and says so. */
struct hg_text {
    char *data;
    size_t size, capacity;
    bool no_memory;
    bool in_full; /* numbers have 17 digits, as LIBSVM writes them, not as few as read back */
};

/* Makes room for length more characters at the end, or returns NULL. What is written there counts once size is
 * raised. */
char *hg_text_room(struct hg_text *text, size_t length);
void hg_text_add(struct hg_text *text, const char *bytes, size_t length);
void hg_text_print(struct hg_text *text, const char *format, ...) HG_PRINTF(2, 3);
void hg_text_number(struct hg_text *text, double value);
void hg_text_pair(struct hg_text *text, size_t index, double value); /* "index:value" */
void hg_text_free(struct hg_text *text);

/* Appends row number row to text; called by several threads. */
typedef hinge_status (*hg_row_printer)(const void *arg, size_t row, struct hg_text *text, hinge_error *err);
/* Takes the text of the rows in their order, by one thread at a time. */
typedef hinge_status (*hg_text_sink)(void *arg, const char *bytes, size_t size, hinge_error *err);

/* Prints all rows, of about width numbers each, in parallel and hands them on in batches, so that memory stays
 * small. The failure reported is that of the first row. */
hinge_status hg_print_rows(size_t rows, size_t width, hg_row_printer print, const void *arg, hg_text_sink sink,
                           void *sink_arg, hinge_error *err);

/* Holds a file in the making: a temporary one beside path that takes its name when all is written and on disk. What is
 * not a regular file (a pipe, /dev/stdout) is written to directly. */
struct hg_output {
    const char *path; /* as given, for messages */
    char *target;     /* the file itself where path is a link */
    char *temporary;  /* NULL: written directly */
    int file;
};

hinge_status hg_output_open(struct hg_output *output, const char *path, hinge_error *err);
hinge_status hg_output_write(void *output, const char *bytes, size_t size, hinge_error *err); /* hg_text_sink */
/* Ends what hg_output_open began: the new file stands if status is HINGE_OK and all goes well; otherwise it is
 * removed and the old one untouched. Returns status, or the failure of the last steps. */
hinge_status hg_output_close(struct hg_output *output, hinge_status status, hinge_error *err);

#endif

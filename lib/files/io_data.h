/* Has the common parts of the readers of data formats. Read bytes.h and lines.h before. */
#ifndef HG_IO_DATA_H
#define HG_IO_DATA_H

#include "lib/base/words.h"
#include "lib/files/bytes.h"
#include "lib/files/lines.h"

#include <hinge/io.h>

/* Says what is wanted of a file: all of it, or a part of its rows; or errors alone. */
struct hg_file_part {
    size_t begin, end, of; /* shares [begin, end) of so many; of 0: all */
    bool check;            /* all rows are read, and none is kept */
};

/* Holds a file's unpacked bytes and how to read them. */
struct hg_source {
    const char *name, *data;
    size_t size;
    const hinge_data_options *options;
    int threads;
    struct hg_file_part part;
};

/* Reserves x (not cleared) and y (cleared); refuses what does not fit into this machine. The options' min_cols, and for
 * LIBSVM data max_cols, have been applied to cols; their type goes before the file's. Where rows are checked alone, all
 * of them go to one place. */
hinge_status hg_data_reserve(hinge_data *data, const struct hg_source *source, size_t rows, size_t cols,
                             hinge_dtype type, hinge_error *err);

/* Labels as they are read: all are numbers, or all words. */
struct hg_labels {
    struct hg_line first; /* the first one, if it is a word; number 0: labels are numbers */
    double *y;            /* [rows], or NULL: labels are checked only */
    struct hg_word *word; /* [rows]; NULL: they are numbers, or checked only */
    char where[40];       /* what messages call their place */
};

/* Takes the first label, [p, stop) of the line: whether it is a word decides. column: of CSV, from 1; otherwise 0. */
void hg_labels_begin(struct hg_labels *labels, size_t column, const struct hg_line *line, const char *p,
                     const char *stop);
/* Makes room for the labels of data, once it is reserved; none where they are checked only. */
hinge_status hg_labels_reserve(struct hg_labels *labels, const hinge_data *data, const struct hg_source *source,
                               hinge_error *err);
/* Reads the label of row i, [p, stop). */
hinge_status hg_labels_take(const struct hg_labels *labels, size_t i, const struct hg_line *line, const char *p,
                            const char *stop, hinge_error *err);
/* Numbers the words of all rows of data; frees what was reserved, whatever status says. */
hinge_status hg_labels_end(struct hg_labels *labels, hinge_data *data, const struct hg_source *source,
                           hinge_status status, hinge_error *err);

/* Returns row i of data->x, to be written. */
struct hg_row hg_data_row(const hinge_data *data, size_t i);

/* Fill data, which is all zero, or leave what they reserved to be freed by the caller. */
hinge_status hg_read_npy(const struct hg_source *source, hinge_data *data, hinge_error *err);
hinge_status hg_read_csv(const struct hg_source *source, hinge_data *data, hinge_error *err);

bool hg_is_npy(const void *data, size_t size);
/* Tells the format by the option, the bytes of .npy, or the name's ending, packed or not; all else is LIBSVM's text. */
hinge_format hg_format_of(const struct hg_source *source);
/* Passes over the byte-order mark that spreadsheets write. */
void hg_skip_mark(struct hg_source *source);
/* Counts bytes without empty lines at the end, as tables of the UCI repository have one. */
size_t hg_without_empty_end(const char *data, size_t n);

/* Says whether CSV can be read by parts: not where all labels must be known to tell whether line 1 is a header; nor,
 * where only the first lines are there, if a part would need others, for words, or for the kind of labels. */
bool hg_csv_splits(const struct hg_source *source, bool head);
/* Tells where rows of .npy begin and how many bytes each has, of size bytes whose header is there; false: rows do not
 * lie one after the other, or it is to be refused. */
bool hg_npy_rows(const struct hg_source *source, uint64_t *first, uint64_t *bytes);
/* What is known of a packed file whose parts are read. */
struct hg_extent {
    uint64_t total;       /* unpacked bytes, */
    uint64_t head;        /* so many of which all readers have: what tells how to read the rest */
    uint64_t first, line; /* of .npy, where rows begin, and the bytes of each; of text 0 */
};

/* Unpacks a file once, and says whether it can be read by parts: one whose first bytes tell how to read the rest.
 * Nothing of it is kept. most: refused are more bytes. */
hinge_status hg_data_measure(const char *path, const struct hg_bytes *packed, size_t most,
                             const hinge_data_options *options, struct hg_extent *extent, bool *splits,
                             hinge_error *err);
/* Unpacks what hg_data_read_part needs for a part. */
hinge_status hg_data_unpack_part(const char *path, const struct hg_bytes *packed, const struct hg_extent *extent,
                                 struct hg_file_part part, struct hg_bytes *bytes, hinge_error *err);

/* Says whether a file can be read by parts: one that is not packed, without serial numbers. */
bool hg_data_splits(const char *path, const struct hg_bytes *bytes, const hinge_data_options *options);
/* Reads a part of the bytes of such a file: the lines of text that begin in its share of the bytes, or its share of
 * rows. A part may have no rows, and data is then all zero. Words are numbered by the part's own order; lines of errors
 * are counted from its begin. */
hinge_status hg_data_read_part(const char *path, const struct hg_bytes *bytes, struct hg_file_part part,
                               const hinge_data_options *options, hinge_data *data, hinge_error *err);
/* Moves text and *size to the lines that begin in the part's share of the bytes. */
const char *hg_lines_of_part(const struct hg_file_part *part, const char *text, size_t *size);
/* Returns the first of `count` things that belongs to share k of n. The smaller of count and n, times k, is below
 * 2^64. */
uint64_t hg_share_of(uint64_t count, uint64_t k, uint64_t n);

#endif

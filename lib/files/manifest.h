/*
 * Several files that are read as one: those that a manifest ("@list.txt") names, one a line. Their rows are numbered
 * through, and of several readers each takes its part of all their bytes. Any other path is a list of one file. Read
 * io_data.h before.
 */
#ifndef HG_MANIFEST_H
#define HG_MANIFEST_H

#include "lib/files/io_data.h"

struct hg_files {
    size_t n;
    bool labels;       /* rows of .npy have labels in as many other files */
    uint64_t *size;    /* [n] bytes of each file, as it lies there; what else is to be freed is in its block */
    const char **path; /* [n] or, with labels, [2 n], those of labels behind the others */
    char *text;        /* [text_size] of paths, each with a 0 behind it */
    size_t text_size;
};

/* What all files have alike that have rows. */
struct hg_layout {
    uint64_t file, rows; /* number of the file; rows 0: nothing is known */
    uint64_t format, labelled, words;
    uint64_t cols, names; /* but of LIBSVM's text, and a hash of names, or 0 */
};

static inline bool hg_is_manifest(const char *path)
{
    return path[0] == '@' && path[1] != '\0';
}

/* Lists the files that a path stands for, and those of its labels (NULL: none). */
hinge_status hg_files_open(struct hg_files *files, const char *path, const char *labels, hinge_error *err);
/* Makes room for n files and their text; once the text is there, hg_files_index finds the paths in it. */
hinge_status hg_files_reserve(struct hg_files *files, size_t n, bool labels, size_t text_size, hinge_error *err);
void hg_files_index(struct hg_files *files);
void hg_files_free(struct hg_files *files);

/* Reads what reader `number` of so many has: all, if it is the only one. Data may have no rows, and are all zero then.
 * Errors are those of whole files. *layout is that of the first file that it has rows of; options.labels_path is not
 * looked at. */
hinge_status hg_files_read(const struct hg_files *files, size_t number, size_t of, const hinge_data_options *options,
                           hinge_data *data, struct hg_layout *layout, hinge_error *err);
/* Refuses a file that is laid out otherwise than the first one. */
hinge_status hg_files_check(const struct hg_files *files, const struct hg_layout *first, const struct hg_layout *own,
                            hinge_error *err);
/* Says whether all lines are words alone, as those of another format may be: the first file has an error then. */
static inline bool hg_lacks_pairs(const hinge_data *data)
{
    return data->words.count > 0 && data->file_cols == 0 && data->format == HINGE_FORMAT_LIBSVM;
}
/* Looks at all of a file of which a part fails by this status: the first error of the whole is told, by its line. */
hinge_status hg_files_find_error(const struct hg_files *files, size_t k, const hinge_data_options *options,
                                 hinge_status status, hinge_error *err);

#endif

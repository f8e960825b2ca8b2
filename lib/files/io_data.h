/*
 * What the readers of the data formats share.
 */
#ifndef HG_IO_DATA_H
#define HG_IO_DATA_H

#include "lib/files/lines.h"

#include <hinge/io.h>

/* A file's unpacked bytes and how to read them. */
struct hg_source {
    const char *name, *data;
    size_t size;
    const hinge_data_options *options;
    int threads;
};

/* Reserves x (not cleared) and y (cleared) for a file of file_cols features; refuses what does not fit into
 * this machine. The options' min_cols, and for LIBSVM data max_cols, have been applied to cols. */
hinge_status hg_data_reserve(hinge_data *data, const struct hg_source *source, size_t rows, size_t cols,
                             hinge_dtype type, hinge_error *err);

/* Row i of data->x, to be written. */
struct hg_row hg_data_row(const hinge_data *data, size_t i);

/* Each fills data, which is all zero, or leaves what it reserved to be freed by the caller. */
hinge_status hg_read_npy(const struct hg_source *source, hinge_data *data, hinge_error *err);
hinge_status hg_read_csv(const struct hg_source *source, hinge_data *data, hinge_error *err);

bool hg_is_npy(const void *data, size_t size);

#endif

/* LIBSVM's text, read in each way there is. */
#include "fuzz.h"

#include <limits.h>

bool fuzz_one(const uint8_t *bytes, size_t size)
{
    const hinge_data_options plain = { .format = HINGE_FORMAT_LIBSVM };
    const hinge_data_options narrow = { .format = HINGE_FORMAT_LIBSVM, .max_cols = 3 };
    const hinge_data_options single = { .format = HINGE_FORMAT_LIBSVM, .type = HINGE_F32, .min_cols = 5 };
    const hinge_data_options kernel = { .format = HINGE_FORMAT_LIBSVM, .precomputed = 1 };
    const size_t columns[] = { 1, 3 };
    const hinge_data_options few = { .format = HINGE_FORMAT_LIBSVM, .columns = columns, .n_columns = 2 };
    const hinge_data_options dropped = { .format = HINGE_FORMAT_LIBSVM, .drop_empty = 1 };
    hinge_data data, other;
    hinge_status status = fuzz_read(bytes, size, &plain, &data);

    if (fuzz_read(bytes, size, &few, &other) == HINGE_OK) {
        CHECK(other.x.cols == 3);
        for (size_t i = 0; status == HINGE_OK && i < other.x.rows; i++)
            for (size_t j = 0; j < 2; j++)
                CHECK(columns[j] > data.x.cols ? fuzz_value(&other, i, j) == 0
                                               : fuzz_value(&other, i, j) == fuzz_value(&data, i, columns[j] - 1));
    }
    hinge_data_free(&other);
    if (fuzz_read(bytes, size, &dropped, &other) == HINGE_OK)
        for (size_t j = 0; other.columns != NULL && j < other.x.cols; j++)
            CHECK(other.columns[j] > (j == 0 ? 0 : other.columns[j - 1]) && other.columns[j] <= other.file_cols);
    hinge_data_free(&other);

    if (fuzz_read(bytes, size, &narrow, &other) == HINGE_OK) {
        CHECK(status == HINGE_OK || status == HINGE_ENOMEM || status == HINGE_ESIZE);
        CHECK(other.x.cols <= 3);
        for (size_t i = 0; status == HINGE_OK && i < other.x.rows; i++) {
            CHECK(other.y[i] == data.y[i]);
            for (size_t j = 0; j < other.x.cols; j++)
                CHECK(fuzz_value(&other, i, j) == fuzz_value(&data, i, j));
        }
    } else {
        CHECK(status != HINGE_OK);
    }
    hinge_data_free(&other);
    if (fuzz_read(bytes, size, &single, &other) == HINGE_OK) {
        CHECK(other.x.cols >= 5);
        for (size_t i = 0; status == HINGE_OK && i < other.x.rows; i++)
            for (size_t j = 0; j < data.x.cols; j++)
                CHECK(fuzz_value(&other, i, j) == (double)(float)fuzz_value(&data, i, j));
    }
    hinge_data_free(&other);
    if (fuzz_read(bytes, size, &kernel, &other) == HINGE_OK)
        for (size_t i = 0; i < other.x.rows; i++)
            CHECK(other.serial[i] <= INT_MAX);
    hinge_data_free(&other);
    hinge_data_free(&data);
    return status == HINGE_OK;
}

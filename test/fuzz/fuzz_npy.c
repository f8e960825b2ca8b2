/* NumPy's files, as data and as their own labels. */
#include "fuzz.h"

#include <math.h>

/* A label that is so large may be a whole number that is no double, which is refused; a feature is not. */
static bool has_large_value(const hinge_data *column)
{
    for (size_t i = 0; i < column->x.rows; i++)
        if (fabs(fuzz_value(column, i, 0)) >= 0x1p53)
            return true;
    return false;
}

bool fuzz_one(const uint8_t *bytes, size_t size)
{
    const hinge_data_options plain = { .format = HINGE_FORMAT_NPY };
    const hinge_data_options single = { .format = HINGE_FORMAT_NPY, .type = HINGE_F32, .min_cols = 3 };
    hinge_data data, other;
    hinge_status status = fuzz_read(bytes, size, &plain, &data);
    bool vector = status == HINGE_OK && (data.x.cols == 1 || data.x.rows == 1);

    if (fuzz_read(bytes, size, &single, &other) == HINGE_OK) {
        CHECK(status == HINGE_OK);
        for (size_t i = 0; i < data.x.rows; i++)
            for (size_t j = 0; j < data.x.cols; j++)
                CHECK(fuzz_value(&other, i, j) == (double)(float)fuzz_value(&data, i, j));
    }
    hinge_data_free(&other);
    if (vector) {
        const hinge_data_options labelled = { .format = HINGE_FORMAT_NPY, .labels_path = fuzz_file_of(bytes, size) };
        hinge_error err;
        hinge_status second = hinge_data_parse("fuzz", bytes, size, &labelled, &other, &err);
        fuzz_check_error(second, &err);
        CHECK(data.x.cols == 1 ? second == HINGE_OK || has_large_value(&data) : second != HINGE_OK);
        for (size_t i = 0; second == HINGE_OK && i < data.x.rows; i++)
            CHECK(other.y[i] == fuzz_value(&data, i, 0) || data.x.type == HINGE_F32);
        hinge_data_free(&other);
    }
    hinge_data_free(&data);
    return status == HINGE_OK;
}

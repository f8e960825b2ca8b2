/* CSV, with the label in the first or last column, or none. */
#include "fuzz.h"

/* A label of so many digits may be a whole number that is no double, which is refused; a feature is not. */
static bool has_long_number(const uint8_t *bytes, size_t size)
{
    size_t run = 0;
    for (size_t i = 0; i < size && run < 16; i++)
        run = bytes[i] >= '0' && bytes[i] <= '9' ? run + 1 : 0;
    return run == 16;
}

/* Words of two columns become columns; by the names that these have, a model's, the same comes out again. */
static void fuzz_names(const uint8_t *bytes, size_t size)
{
    hinge_data_options made = { .format = HINGE_FORMAT_CSV, .categories = "1,2", .label_column = -1,
                                .drop_missing = 1 };
    hinge_data data, again;
    if (fuzz_read(bytes, size, &made, &data) == HINGE_OK && data.names.count > 0) {
        const hinge_data_options by_names = { .format = HINGE_FORMAT_CSV, .label_column = -1, .drop_missing = 1,
                                              .names = &data.names, .header = data.header ? 1 : -1 };
        CHECK(data.names.count == data.file_cols);
        CHECK(fuzz_read(bytes, size, &by_names, &again) == HINGE_OK);
        CHECK(again.x.rows == data.x.rows && again.x.cols == data.x.cols && again.dropped == data.dropped);
        for (size_t i = 0; i < data.x.rows; i++)
            for (size_t j = 0; j < data.x.cols; j++)
                CHECK(fuzz_value(&again, i, j) == fuzz_value(&data, i, j));
        hinge_data_free(&again);
    }
    hinge_data_free(&data);
}

bool fuzz_one(const uint8_t *bytes, size_t size)
{
    const hinge_data_options plain = { .format = HINGE_FORMAT_CSV, .no_labels = 1 };
    const hinge_data_options first = { .format = HINGE_FORMAT_CSV };
    const hinge_data_options last = {
        .format = HINGE_FORMAT_CSV, .label_column = -1, .type = HINGE_F32, .min_cols = 4
    };
    hinge_data data, other;
    hinge_status status = fuzz_read(bytes, size, &plain, &data);

    if (fuzz_read(bytes, size, &first, &other) == HINGE_OK) {
        CHECK(status == HINGE_OK || status == HINGE_ENOMEM || other.words.count > 0);
        for (size_t i = 0; status == HINGE_OK && i < data.x.rows; i++) {
            CHECK(other.x.cols + 1 == data.x.cols && (other.words.count > 0 || other.y[i] == fuzz_value(&data, i, 0)));
            for (size_t j = 0; j < other.x.cols; j++)
                CHECK(fuzz_value(&other, i, j) == fuzz_value(&data, i, j + 1));
        }
    } else {
        CHECK(status != HINGE_OK || has_long_number(bytes, size));
    }
    hinge_data_free(&other);
    if (fuzz_read(bytes, size, &last, &other) == HINGE_OK)
        for (size_t i = 0; status == HINGE_OK && i < data.x.rows; i++) {
            CHECK(other.words.count > 0 || other.y[i] == fuzz_value(&data, i, data.x.cols - 1));
            for (size_t j = 0; j + 1 < data.x.cols; j++)
                CHECK(fuzz_value(&other, i, j) == (double)(float)fuzz_value(&data, i, j));
        }
    hinge_data_free(&other);
    hinge_data_free(&data);
    fuzz_names(bytes, size);
    return status == HINGE_OK;
}

/* libFuzzer's entry points, the checks that targets share, and the replay of a folder of inputs. */
#include "fuzz.h"

#include "hg_config.h"
#include "lib/base/base.h"

#include <dirent.h>
#include <math.h>
#include <omp.h>
#include <unistd.h>

/* Linked with --wrap=hg_total_memory. */
size_t __wrap_hg_total_memory(void);
size_t __wrap_hg_total_memory(void)
{
    return FUZZ_MEMORY;
}

void fuzz_broken(const char *what, const char *file, int line)
{
    fprintf(stderr, "%s:%d: broken: %s\n", file, line, what);
    abort();
}

/* ---- a file ------------------------------------------------------------------------------------------------------ */

static char path[64];

static void remove_file(void)
{
    unlink(path);
}

const char *fuzz_file(void)
{
    if (path[0] != '\0')
        return path;
    snprintf(path, sizeof path, "%s/hinge-fuzz-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    int file = mkstemp(path);
    CHECK(file >= 0);
    close(file);
    atexit(remove_file);
    return path;
}

const char *fuzz_file_of(const uint8_t *data, size_t size)
{
    FILE *file = fopen(fuzz_file(), "wb");
    CHECK(file != NULL);
    CHECK(fwrite(data, 1, size, file) == size);
    CHECK(fclose(file) == 0);
    return path;
}

/* ---- checks ------------------------------------------------------------------------------------------------------ */

void fuzz_check_error(hinge_status status, const hinge_error *err)
{
    CHECK(err->status == status);
    CHECK((err->text[0] == '\0') == (status == HINGE_OK));
    CHECK(status == HINGE_OK || status == HINGE_EFORMAT || status == HINGE_ENOMEM || status == HINGE_ESIZE ||
          status == HINGE_EINVAL);
    for (const char *p = err->text; *p != '\0'; p++)
        CHECK(*p >= ' ' && *p <= '~');
}

double fuzz_value(const hinge_data *data, size_t row, size_t col)
{
    return hg_matrix_value(&data->x, row, col);
}

static void check_data(const hinge_data *data)
{
    const hinge_matrix *x = &data->x;
    size_t item = hg_size_of(x->type), nonzeros = 0;
    CHECK(x->rows > 0 && x->stride >= x->cols && x->rows * x->cols * item <= FUZZ_MEMORY);
    for (size_t i = 0; i < x->rows; i++) {
        CHECK(isfinite(data->y[i]));
        for (size_t j = 0; j < x->cols; j++) {
            double value = fuzz_value(data, i, j);
            CHECK(isfinite(value));
            nonzeros += value != 0;
        }
    }
    CHECK(data->nonzeros == nonzeros);
}

static void check_written(const hinge_data *data)
{
    hinge_dtype type = data->x.type == HINGE_F32 ? HINGE_F32 : HINGE_F64;
    hinge_data_options options = { .format = HINGE_FORMAT_LIBSVM, .type = type, .min_cols = data->x.cols };
    hinge_data again = { 0 };
    hinge_error err;
    CHECK(hinge_data_write(fuzz_file(), &data->x, data->y, &err) == HINGE_OK);
    CHECK(hinge_data_read(fuzz_file(), &options, &again, &err) == HINGE_OK);
    CHECK(again.x.rows == data->x.rows && again.x.cols == data->x.cols && again.nonzeros == data->nonzeros);
    for (size_t i = 0; i < data->x.rows; i++) {
        CHECK(again.y[i] == data->y[i]);
        for (size_t j = 0; j < data->x.cols; j++)
            CHECK(fuzz_value(&again, i, j) == fuzz_value(data, i, j));
    }
    hinge_data_free(&again);
}

hinge_status fuzz_read(const uint8_t *bytes, size_t size, const hinge_data_options *options, hinge_data *data)
{
    hinge_error err;
    *data = (hinge_data){ 0 };
    hinge_status status = hinge_data_parse("fuzz", bytes, size, options, data, &err);
    fuzz_check_error(status, &err);
    if (status != HINGE_OK) {
        CHECK(data->memory == NULL && data->y == NULL && data->serial == NULL && data->columns == NULL);
        CHECK(data->x.rows == 0);
        return status;
    }
    check_data(data);
    check_written(data);
    return status;
}

/* ---- libFuzzer --------------------------------------------------------------------------------------------------- */

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    omp_set_num_threads(1);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_one(data, size);
    return 0;
}

/* ---- replay: folder [folder ...] --------------------------------------------------------------------------------- */

#ifdef FUZZ_REPLAY
/* good_... must be accepted, bad_... refused; others may be either. What is packed is refused by a hinge that was built
 * without the library for it. */
static bool is_foreign(const char *name)
{
    return (!HG_HAVE_ZLIB && strcmp(name, "good_gz") == 0) || (!HG_HAVE_LZMA && strcmp(name, "good_xz") == 0);
}

static void replay(const char *folder, const char *name)
{
    char input[512];
    snprintf(input, sizeof input, "%s/%s", folder, name);
    FILE *file = fopen(input, "rb");
    CHECK(file != NULL && fseek(file, 0, SEEK_END) == 0);
    long size = ftell(file);
    CHECK(size >= 0);
    rewind(file);
    uint8_t *bytes = malloc(size == 0 ? 1 : (size_t)size); /* of this very size, so that sanitizers see its end */
    CHECK(bytes != NULL && fread(bytes, 1, (size_t)size, file) == (size_t)size);
    fclose(file);
    printf("%s\n", input);
    fflush(stdout);
    bool accepted = fuzz_one(bytes, (size_t)size);
    free(bytes);
    bool foreign = is_foreign(name), bad = strncmp(name, "bad_", 4) == 0 || foreign;
    bool good = strncmp(name, "good_", 5) == 0 && !foreign;
    if ((good && !accepted) || (bad && accepted))
        fuzz_broken(accepted ? "it must be refused" : "it must be accepted", input, 0);
}

int main(int argc, char **argv)
{
    size_t count = 0;
    LLVMFuzzerInitialize(&argc, &argv);
    for (int i = 1; i < argc; i++) {
        DIR *folder = opendir(argv[i]);
        CHECK(folder != NULL);
        for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
            if (entry->d_name[0] != '.') {
                replay(argv[i], entry->d_name);
                count++;
            }
        closedir(folder);
    }
    printf("%zu inputs\n", count);
    return count == 0;
}
#endif

/* Data files: what is read, what is refused and where, the same for any number of threads. */
#include "lib/base/base.h"
#include "test/support.h"
#include "hg_config.h"

#include <hinge/io.h>

#include <errno.h>
#include <float.h>
#include <sys/stat.h>
#include <unistd.h>
#include <dirent.h>

#if HG_HAVE_LZMA
#include <lzma.h>
#endif
#if HG_HAVE_ZLIB
#include <zlib.h>
#endif

/* ---- helpers ------------------------------------------------------------------------------------------- */

/* A copy without anything behind it, so that sanitizers see a step too far. */
static hinge_status parse_bytes(const char *name, const void *bytes, size_t size,
                                const hinge_data_options *options, hinge_data *data, hinge_error *err)
{
    return hinge_data_parse(name, copy_of(bytes, size), size, options, data, err);
}

static double at(const hinge_data *data, size_t i, size_t j)
{
    assert_true(i < data->x.rows && j < data->x.cols);
    if (data->x.type == HINGE_F32)
        return (double)((const float *)data->x.data)[i * data->x.stride + j];
    if (data->x.type == HINGE_U8)
        return ((const uint8_t *)data->x.data)[i * data->x.stride + j];
    if (data->x.type == HINGE_I8)
        return ((const int8_t *)data->x.data)[i * data->x.stride + j];
    return ((const double *)data->x.data)[i * data->x.stride + j];
}

/* Text that must be read as rows x (1 + cols) numbers, the label first. */
static void check_read(const char *name, const char *text, size_t size, const hinge_data_options *options,
                       size_t rows, size_t cols, const double *expected)
{
    hinge_data data;
    assert_ok(parse_bytes(name, text, size, options, &data, &err));
    assert_int_equal(data.x.rows, rows);
    assert_int_equal(data.x.cols, cols);
    assert_int_equal(data.x.stride, cols);
    size_t nonzeros = 0;
    for (size_t i = 0; i < rows; i++) {
        assert_true(data.y[i] == expected[i * (cols + 1)]);
        for (size_t j = 0; j < cols; j++) {
            if (at(&data, i, j) != expected[i * (cols + 1) + 1 + j])
                fail_msg("[%zu, %zu]: %g", i, j, at(&data, i, j));
            nonzeros += at(&data, i, j) != 0;
        }
    }
    assert_int_equal(data.nonzeros, nonzeros);
    hinge_data_free(&data);
    assert_null(data.y);
    hinge_data_free(&data);
}

#define CHECK_READ(name, text, options, rows, cols, ...)                                                       \
    check_read(name, text, sizeof(text) - 1, options, rows, cols, (const double[]){ __VA_ARGS__ })

/* Text that must be refused with this status, at this line, for a reason that names part. */
static void check_refused(const char *name, const void *text, size_t size, const hinge_data_options *options,
                          hinge_status expected, size_t line, const char *part)
{
    hinge_data data, before;
    char place[64];
    memset(&data, 0x5a, sizeof data);
    before = data;
    hinge_status status = parse_bytes(name, text, size, options, &data, &err);
    if (status != expected || err.status != expected)
        fail_msg("'%s': status %d, not %d", part, (int)status, (int)expected);
    assert_memory_equal(&data, &before, sizeof data);
    assert_says(err.text, part);
    snprintf(place, sizeof place, "%s:%zu: ", name, line);
    if (err.line != line || (line > 0 && strncmp(err.text, place, strlen(place)) != 0))
        fail_msg("'%s', line %zu, does not begin with '%s'", err.text, err.line, place);
    assert_int_equal(parse_bytes(name, text, size, options, &data, NULL), expected);
}

#define CHECK_REFUSED(name, text, options, line, part)                                                         \
    check_refused(name, text, sizeof(text) - 1, options, HINGE_EFORMAT, line, part)

/* ---- LIBSVM -------------------------------------------------------------------------------------------- */

TEST(libsvm_accepts)
{
    CHECK_READ("a", "1 1:0.5 3:-2\n-1 2:1e3\n", NULL, 2, 3, 1, 0.5, 0, -2, -1, 0, 1000, 0);
    CHECK_READ("a", "1 1:0.5 3:-2\n-1 2:1e3", NULL, 2, 3, 1, 0.5, 0, -2, -1, 0, 1000, 0);
    CHECK_READ("a", "1 1:0.5 \t \r\n-1\t2:1\r\n", NULL, 2, 2, 1, 0.5, 0, -1, 0, 1);
    CHECK_READ("a", "1\r\n2 1:1\r\n3\r\n", NULL, 3, 1, 1, 0, 2, 1, 3, 0);
    CHECK_READ("a", "+1 1:1\n1 1:1\n+01e0 1:1\n1.0 1:1\n", NULL, 4, 1, 1, 1, 1, 1, 1, 1, 1, 1);
    CHECK_READ("a", " 1  1:1   2:2\n", NULL, 1, 2, 1, 1, 2);
    CHECK_READ("a", "1\n2\n", NULL, 2, 0, 1, 2);
    CHECK_READ("a", "1", NULL, 1, 0, 1);
    CHECK_READ("a", "1 1:1 # note\n2 # none\n3 2:7 #\n", NULL, 3, 2, 1, 1, 0, 2, 0, 0, 3, 0, 7);
    CHECK_READ("a", "1 1:0 2:0.0 4:-0\n", NULL, 1, 4, 1, 0, 0, 0, 0);
    CHECK_READ("a", "1 0003:0x1p3\n", NULL, 1, 3, 1, 0, 0, 8);
    CHECK_READ("a",
               "\xef\xbb\xbf"
               "1 1:3\n-1\n",
               NULL, 2, 1, 1, 3, -1, 0);
    CHECK_READ("a", "1.25 1:1\n-3e-5 1:+2\n", NULL, 2, 1, 1.25, 1, -3e-5, 2);
}

TEST(libsvm_columns)
{
    CHECK_READ("a", "1 1:1 3:3\n", &((hinge_data_options){ .min_cols = 5 }), 1, 5, 1, 1, 0, 3, 0, 0);
    CHECK_READ("a", "1 1:1 3:3\n", &((hinge_data_options){ .max_cols = 2 }), 1, 2, 1, 1, 0);
    CHECK_READ("a", "1 1:1 3:3\n", &((hinge_data_options){ .min_cols = 2, .max_cols = 2 }), 1, 2, 1, 1, 0);
    CHECK_READ("a", "1 1:1 3:3\n", &((hinge_data_options){ .max_cols = 9 }), 1, 3, 1, 1, 0, 3);
    CHECK_READ("a", "1 1:0.1 2:3\n", &((hinge_data_options){ .type = HINGE_F32 }), 1, 2, 1, (double)0.1f, 3);
    hinge_data data;
    const hinge_data_options two = { .max_cols = 2 };
    /* the widest row is far away, so memory is saved only if max_cols counts before it is reserved */
    assert_int_equal(hinge_data_parse("a", "1 1:5\n1 2000000000:1", 20, &two, &data, NULL), HINGE_OK);
    assert_int_equal(data.file_cols, 2000000000);
    assert_int_equal(data.x.cols, 2);
    assert_int_equal(data.nonzeros, 1);
    hinge_data_free(&data);
}

TEST(libsvm_refuses)
{
    const hinge_data_options command = { .as_command = 1 };
    CHECK_REFUSED("a", "", NULL, 0, "no rows");
    CHECK_REFUSED("a", "1 1:1\n\n1 1:1\n", NULL, 2, "empty line");
    CHECK_REFUSED("a", "1 1:1\n \t\n", NULL, 2, "empty line");
    CHECK_REFUSED("a", "1 1:1\n\r\n", NULL, 2, "empty line");
    CHECK_REFUSED("a", "# c\n1 1:1\n", NULL, 1, "comment");
    CHECK_REFUSED("a", "1 1:1\n1 2:2 # a:b\n", NULL, 2, "# a:b");
    CHECK_REFUSED("a", "1 1:1\nabc 1:1\n", NULL, 2, "'abc'");
    CHECK_REFUSED("a", "1 1:1\n1x 1:1\n", NULL, 2, "'1x' is no number");
    CHECK_REFUSED("a", "1,2 1:1\n", NULL, 1, "'1,2'");
    CHECK_REFUSED("a", "1:1 2:1\n", NULL, 1, "'1:1'");
    CHECK_REFUSED("a", "nan 1:1\n", NULL, 1, "label 'nan' is not finite");
    CHECK_REFUSED("a", "1e999 1:1\n", NULL, 1, "'1e999' is not finite");
    CHECK_REFUSED("a", "1 1:1\n-9007199254740993 1:1\n", NULL, 2, "'-9007199254740993' is a whole number beyond 2^53");
    CHECK_REFUSED("a", "+018446744073709551617 1:1\n", NULL, 1, "'+018446744073709551617' is a whole");
    CHECK_REFUSED("a", "1 qid:3 1:1\n", NULL, 1, "qid:3");
    CHECK_REFUSED("a", "1 1:1 junk\n", NULL, 1, "'junk'");
    CHECK_REFUSED("a", "1 1:1 2\n", NULL, 1, "'2'");
    CHECK_REFUSED("a", "1 -1:1\n", NULL, 1, "'-1:1'");
    CHECK_REFUSED("a", "1 1.5:1\n", NULL, 1, "'1.5:1'");
    CHECK_REFUSED("a", "1 1:\n", NULL, 1, "index 1 is not a number");
    CHECK_REFUSED("a", "1 1: 2\n", NULL, 1, "index 1 is not a number");
    CHECK_REFUSED("a", "1 1:2x\n", NULL, 1, "'2x'");
    CHECK_REFUSED("a", "1 1:0,5\n", NULL, 1, "'0,5'");
    CHECK_REFUSED("a", "1 1:2:3\n", NULL, 1, "'2:3'");
    CHECK_REFUSED("a", "1 1:1\n1 1:nan\n", NULL, 2, "value 'nan' of index 1 is not finite");
    CHECK_REFUSED("a", "1 3:-inf\n", NULL, 1, "'-inf' of index 3");
    CHECK_REFUSED("a", "1 3:1e400\n", NULL, 1, "'1e400' of index 3 is not finite");
    CHECK_REFUSED("a", "1 1:1 1:2\n", NULL, 1, "index 1 stands twice");
    CHECK_REFUSED("a", "1 5:1 3:2\n", NULL, 1, "index 3 after 5");
    CHECK_REFUSED("a", "1 0:1 1:2\n", NULL, 1, "index 0");
    CHECK_REFUSED("a", "1 2147483648:1\n", NULL, 1, "'2147483648:1' exceeds");
    CHECK_REFUSED("a", "1 99999999999999999999999:1\n", NULL, 1, "exceeds");
    CHECK_REFUSED("a", "1 1:\0\n", NULL, 1, "\\x00");
    CHECK_REFUSED("a", "1 1:1\r-1 1:2\r", NULL, 1, "CR alone");
    CHECK_REFUSED("a", "1 1:1\n1 \xef\xbb\xbf\n", NULL, 2, "\\xef\\xbb\\xbf");
    CHECK_REFUSED("a.txt", "5.1,3.5,0\n", NULL, 1, "'5.1,3.5,0' has no pair index:value, but looks like CSV: ");
    CHECK_REFUSED("a.gz", "1 1:1\ny;a;b\n", &command, 2, "--format csv");
    CHECK_REFUSED("a.data", "1\t2\t3\n", NULL, 1, "(HINGE_FORMAT_CSV)");
    CHECK_REFUSED("a", "1 2 3\n", &command, 1, "--format csv");
    CHECK_REFUSED("a", "1 2 3:4\n", NULL, 1, "'2' is not index:value");
    CHECK_REFUSED("a", "1 1:1e39\n", &((hinge_data_options){ .type = HINGE_F32 }), 1, "single precision");
    CHECK_REFUSED("a",
                  "1 1:1 3:xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n",
                  NULL, 1, "aaa...'");
}

TEST(libsvm_sizes)
{
    static char text[40000];
    size_t n = 0;
    for (int i = 0; i < 1000; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "1 2000000000:1\n");
    bool counts = SIZE_MAX > UINT32_MAX; /* so many bytes */
    check_refused("a", text, n, NULL, counts ? HINGE_ENOMEM : HINGE_ESIZE, 0, "1000 x 2000000000");
    check_refused("a", text, n, NULL, counts ? HINGE_ENOMEM : HINGE_ESIZE, 0,
                  counts ? "16000000000000 bytes" : "beyond all sizes");
    /* what is wrong in the text comes first, wherever the huge index stands */
    memcpy(text + 15 * 700, "1 2000000000:x\n", 15);
    check_refused("a", text, n, NULL, HINGE_EFORMAT, 701, "'x'");
    hinge_data_options wide = { .min_cols = SIZE_MAX / 2 };
    check_refused("a", "1 1:1", 5, &wide, HINGE_ESIZE, 0, "beyond all sizes");
}

static double cell(size_t i, size_t j)
{
    uint64_t seed = i * 1000003 + j;
    uint64_t r = hg_random(&seed);
    return r % 3 == 0 ? (double)(r % 1000) / 255.0 : 0;
}

/* Rows of a few values among millions of features: columns that hold nothing are left out, where that pays. */
TEST(libsvm_drops_empty)
{
    enum { ROWS = 3000, COLS = 7 };
    const size_t places[COLS] = { 1, 64, 65, 128, 1000000, 1999999, 2000000 };
    const hinge_data_options drop = { .drop_empty = 1 };
    char *text = get(1, (size_t)ROWS * COLS * 20);
    size_t n = 0;
    for (size_t i = 0; i < ROWS; i++) {
        n += (size_t)sprintf(text + n, "%zu 2:0", i % 2);
        for (size_t j = 0; j < COLS; j++)
            if (cell(i, j) != 0)
                n += (size_t)sprintf(text + n, " %zu:%.17g", places[j] + 2, cell(i, j));
        text[n++] = '\n';
    }
    for (int threads = 1; threads <= 3; threads++) {
        hinge_data data;
        hinge_data_options options = { .drop_empty = 1, .threads = threads };
        assert_ok(parse_bytes("a", text, n, &options, &data, &err));
        assert_int_equal(data.x.rows, ROWS);
        assert_int_equal(data.x.cols, COLS);
        assert_int_equal(data.file_cols, 2000002);
        for (size_t j = 0; j < COLS; j++) {
            assert_int_equal(data.columns[j], places[j] + 2);
            for (size_t i = 0; i < ROWS; i++)
                assert_true(at(&data, i, j) == cell(i, j));
        }
        hinge_data_free(&data);
        assert_null(data.columns);
    }
    check_refused("a", "1 20000000:1\n1 1:x\n", 20, &drop, HINGE_EFORMAT, 2, "'x'");
    hinge_data data;
    assert_int_equal(parse_bytes("a", "1 3:1 900:2\n", 12, &drop, &data, NULL), HINGE_OK); /* small: as it is */
    assert_null(data.columns);
    assert_int_equal(data.x.cols, 900);
    hinge_data_free(&data);
}

/* The columns of a model; the last one is the norm of what it does not know. */
TEST(libsvm_chosen_columns)
{
    const size_t some[] = { 2, 5 }, bad[] = { 2, 2 };
    const hinge_data_options two = { .columns = some, .n_columns = 2 };
    CHECK_READ("a", "1 1:3 2:7 3:-4\n2 5:1 2000000:0\n3 9:2\n", &two, 3, 3, 1, 7, 0, 5, 2, 0, 1, 0, 3, 0, 0, 2);
    CHECK_READ("a", "1 1:2 2:1\n", &((hinge_data_options){ .columns = some }), 1, 1, 1, sqrt(5));
    CHECK_READ("a", "1 1:3e300 3:4e300\n", &two, 1, 3, 1, 0, 0, 5e300);
    CHECK_READ("a", "1 1:4e300 3:3e300\n1 1:3e-300 3:-4e-300 4:0\n1 1:-5e-324\n", &two, 3, 3, 1, 0, 0, 5e300, 1, 0, 0,
               5e-300, 1, 0, 0, 4.9406564584124654e-324); /* squares would overflow, or be lost */
    CHECK_REFUSED("a", "1 1:1.7e308 3:1.7e308\n", &two, 1, "norm of features left out is too large");
    check_refused("a", "1 1:1", 5, &((hinge_data_options){ .columns = bad, .n_columns = 2 }), HINGE_EINVAL, 0,
                  "columns[1]: 2");
    check_refused("a.csv", "1,1", 3, &two, HINGE_EINVAL, 0, "");
}

TEST(precomputed)
{
    const hinge_data_options options = { .precomputed = 1 };
    const char text[] = "1 0:2 1:5 2:6\n-1 0:1 1:7 2:0\n1 0:-3.5 2:1\n";
    hinge_data data;
    assert_int_equal(hinge_data_parse("a", text, sizeof text - 1, &options, &data, NULL), HINGE_OK);
    assert_int_equal(data.x.cols, 2);
    assert_int_equal(data.serial[0], 2);
    assert_int_equal(data.serial[1], 1);
    assert_int_equal(data.serial[2], 0); /* not a serial number: fine for test rows, refused by training */
    assert_true(at(&data, 0, 0) == 5 && at(&data, 0, 1) == 6 && at(&data, 1, 0) == 7 && at(&data, 2, 1) == 1);
    hinge_data_free(&data);
    CHECK_REFUSED("a", "1 0:1 1:1\n1 1:1\n", &options, 2, "0:serial");
    CHECK_REFUSED("a", "1\n", &options, 1, "0:serial");
    CHECK_REFUSED("a", "1 0:nan 1:1\n", &options, 1, "serial number 'nan'");
    CHECK_REFUSED("a", "1 0:1 0:2\n", &options, 1, "index 0");
}

/* Some MB of rows, most of them short, some wider than a chunk is long, against numbers computed here. */
enum { MANY = 600, WIDE = 40000, NARROW = 600 };

static size_t width_of(size_t i)
{
    return i == 234 || i == 599 ? WIDE : NARROW;
}

static char *many_rows(size_t *size)
{
    size_t room = (size_t)MANY * NARROW * 32 + 2 * (size_t)WIDE * 32, n = 0;
    char *text = get(1, room);
    for (size_t i = 0; i < MANY; i++) {
        n += (size_t)sprintf(text + n, "%zu", i % 7);
        for (size_t j = 0; j < width_of(i); j++)
            if (cell(i, j) != 0 || j + 1 == width_of(i))
                n += (size_t)sprintf(text + n, " %zu:%.17g", j + 1, cell(i, j));
        text[n++] = '\n';
    }
    *size = n;
    return text;
}

TEST(threads_agree)
{
    size_t size;
    char *text = many_rows(&size);
    for (int threads = 1; threads <= 4; threads++) {
        const hinge_data_options options = { .threads = threads };
        hinge_data data;
        assert_int_equal(hinge_data_parse("a", text, size, &options, &data, NULL), HINGE_OK);
        assert_int_equal(data.x.rows, MANY);
        assert_int_equal(data.x.cols, WIDE);
        const double *x = data.x.data;
        size_t nonzeros = 0;
        for (size_t i = 0; i < MANY; i++) {
            assert_true(data.y[i] == (double)(i % 7));
            for (size_t j = 0; j < WIDE; j++) {
                if (x[i * WIDE + j] != (j < width_of(i) ? cell(i, j) : 0))
                    fail_msg("[%zu, %zu]", i, j);
                nonzeros += x[i * WIDE + j] != 0;
            }
        }
        assert_int_equal(data.nonzeros, nonzeros);
        hinge_data_free(&data);
    }
    /* two defects: the first one is reported, whoever meets it */
    size_t line = 1, bad = 0;
    for (char *p = text; p < text + size; p++) {
        if (*p == '\n')
            line++;
        if ((line == 250 && *p == ':' && bad == 0) || (line == 500 && *p == ':' && bad == 1)) {
            p[1] = bad == 0 ? 'F' : 'G';
            bad++;
        }
    }
    for (int threads = 1; threads <= 4; threads++) {
        const hinge_data_options options = { .threads = threads };
        check_refused("a", text, size, &options, HINGE_EFORMAT, 250, "'F");
    }
}

/* ---- files and compression ----------------------------------------------------------------------------- */

static const char small[] = "1 1:0.5 3:-2\n-1 2:1e3\n";

static void check_file(const char *path)
{
    hinge_data data;
    assert_ok(hinge_data_read(path, NULL, &data, &err));
    assert_int_equal(data.x.rows, 2);
    assert_int_equal(data.file_cols, 3);
    assert_true(at(&data, 0, 2) == -2 && at(&data, 1, 1) == 1000 && data.y[1] == -1);
    hinge_data_free(&data);
}

static void check_file_refused(const char *path, hinge_status status, const char *part)
{
    hinge_data data;
    assert_int_equal(hinge_data_read(path, NULL, &data, &err), status);
    if (strstr(err.text, part) == NULL || strstr(err.text, path) == NULL)
        fail_msg("'%s' does not say '%s'", err.text, part);
}

TEST(files)
{
    const char *path = path_of("data");
    write_file(path, small, sizeof small - 1);
    check_file(path);
    unlink(path);
    check_file_refused(path, HINGE_EIO, "No such file");
    check_file_refused(folder(), HINGE_EIO, "directory");
    write_file(path, "", 0);
    check_file_refused(path, HINGE_EFORMAT, "no rows");
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0); /* not to be mapped */
    pid_t child = fork();
    if (child == 0) {
        FILE *f = fopen(path, "wb");
        _exit(f == NULL || fwrite(small, 1, sizeof small - 1, f) != sizeof small - 1 || fclose(f) != 0);
    }
    check_file(path);
}

#if HG_HAVE_LZMA
TEST(xz_files)
{
    uint8_t packed[1024];
    size_t half = 0, n = 0;
    const char *path = path_of("data.xz");
    /* two streams one after the other, cut in the middle of a line */
    assert_int_equal(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC64, NULL, (const uint8_t *)small, 10, packed,
                                             &half, sizeof packed),
                     LZMA_OK);
    n = half;
    assert_int_equal(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC64, NULL, (const uint8_t *)small + 10,
                                             sizeof small - 11, packed, &n, sizeof packed),
                     LZMA_OK);
    write_file(path, packed, n);
    check_file(path);
    for (size_t size = 6; size < n; size++) {
        write_file(path, packed, size);
        if (size == half) /* the first stream alone is whole: its half line is what is wrong */
            check_file_refused(path, HINGE_EFORMAT, ":1: value '' of index 3");
        else
            check_file_refused(path, HINGE_EFORMAT, "xz data ends too early");
    }
    packed[half - 30] ^= 0x10;
    write_file(path, packed, n);
    check_file_refused(path, HINGE_EFORMAT, "corrupt xz data");
}
#endif

#if HG_HAVE_ZLIB
static size_t gz_pack(const char *text, size_t size, unsigned char *packed, size_t room)
{
    z_stream stream = { 0 };
    assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    stream.next_in = (unsigned char *)(uintptr_t)text;
    stream.avail_in = (uInt)size;
    stream.next_out = packed;
    stream.avail_out = (uInt)room;
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    size_t n = stream.total_out;
    deflateEnd(&stream);
    return n;
}

TEST(gz_files)
{
    unsigned char packed[1024];
    const char *path = path_of("data.gz");
    size_t half = gz_pack(small, 10, packed, sizeof packed);
    size_t n = half + gz_pack(small + 10, sizeof small - 11, packed + half, sizeof packed - half);
    write_file(path, packed, n);
    check_file(path);
    for (size_t size = 2; size < n; size++) {
        write_file(path, packed, size);
        if (size == half)
            check_file_refused(path, HINGE_EFORMAT, ":1: value '' of index 3");
        else
            check_file_refused(path, HINGE_EFORMAT, "gz data ends too early");
    }
    packed[half - 6] ^= 0x10; /* check sum */
    write_file(path, packed, n);
    check_file_refused(path, HINGE_EFORMAT, "corrupt gz data");
    /* much text, so that memory has to grow many times */
    size_t size;
    char *text = many_rows(&size);
    unsigned char *much = get(1, size);
    n = gz_pack(text, size, much, size);
    hinge_data data;
    assert_int_equal(hinge_data_parse("a.gz", much, n, &((hinge_data_options){ .max_cols = 10 }), &data, NULL),
                     0);
    assert_int_equal(data.x.rows, MANY);
    assert_int_equal(data.file_cols, WIDE);
    assert_true(at(&data, MANY - 1, 9) == cell(MANY - 1, 9));
    hinge_data_free(&data);
}
#endif

/* ---- .npy ---------------------------------------------------------------------------------------------- */

/* Writes magic, version, header and data into bytes; returns the size. */
static size_t npy_bytes(unsigned char *bytes, int version, const char *dict, const void *data, size_t size)
{
    size_t length = strlen(dict) + 1, n = 6;
    memcpy(bytes, "\x93NUMPY", 6);
    bytes[n++] = (unsigned char)version;
    bytes[n++] = 0;
    for (int i = 0; i < (version == 1 ? 2 : 4); i++)
        bytes[n++] = (unsigned char)(length >> 8 * i);
    memcpy(bytes + n, dict, length - 1);
    bytes[n + length - 1] = '\n';
    memcpy(bytes + n + length, data, size);
    const uint16_t one = 1;
    const char *low_first = strchr(dict, '<');
    if (*(const unsigned char *)&one == 0 && low_first != NULL) /* values are in this machine's order */
        for (size_t item = (size_t)(low_first[2] - '0'), at = 0; item > 1 && item <= 8 && at < size / item * item; at++)
            bytes[n + length + at] = ((const unsigned char *)data)[at / item * item + item - 1 - at % item];
    return n + length + size;
}

static void check_npy(int version, const char *dict, const void *values, size_t size, hinge_dtype type,
                      const hinge_data_options *options, size_t rows, size_t cols, const double *expected)
{
    unsigned char bytes[1024];
    hinge_data data;
    size_t n = npy_bytes(bytes, version, dict, values, size);
    if (parse_bytes("a", bytes, n, options, &data, &err) != HINGE_OK)
        fail_msg("%s: %s", dict, err.text);
    assert_int_equal(data.x.type, type);
    assert_int_equal(data.x.rows, rows);
    assert_int_equal(data.x.cols, cols);
    assert_int_equal(data.file_cols, HG_MIN(cols, data.file_cols));
    for (size_t k = 0; k < rows * cols; k++)
        if (at(&data, k / cols, k % cols) != expected[k])
            fail_msg("%s: element %zu is %g", dict, k, at(&data, k / cols, k % cols));
    for (size_t i = 0; i < rows; i++)
        assert_true(data.y[i] == 0);
    hinge_data_free(&data);
}

#define CHECK_NPY(version, dict, values, type, options, rows, cols, ...)                                       \
    check_npy(version, dict, values, sizeof(values), type, options, rows, cols, (const double[]){ __VA_ARGS__ })

TEST(npy_accepts)
{
    const double f8[] = { 1, 2, 3, -4.5, 0, 6 };
    const float f4[] = { 1, 2, 3, -4.5F, 0, 0.1F };
    const int8_t i1[] = { -128, 127, 0, -1 };
    const uint8_t u1[] = { 255, 0, 1, 128 };
    const int16_t i2[] = { -32768, 32767, 0, -1 };
    const uint16_t u2[] = { 65535, 0, 1, 2 };
    const int32_t i4[] = { INT32_MIN, INT32_MAX, 0, -1 };
    const uint32_t u4[] = { UINT32_MAX, 0, 1, 2 };
    const int64_t i8[] = { INT64_MIN, 1, 0, -1 };
    const uint64_t u8[] = { UINT64_MAX, 0, 1, 2 };
    CHECK_NPY(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }   ", f8, HINGE_F64, NULL, 2, 3, 1,
              2, 3, -4.5, 0, 6);
    CHECK_NPY(2, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3)}", f8, HINGE_F64, NULL, 2, 3, 1, 2,
              3, -4.5, 0, 6);
    CHECK_NPY(3, "{\"shape\":(2,3),\"fortran_order\":True,\"descr\":\"<f8\"}", f8, HINGE_F64, NULL, 2, 3, 1, 3,
              0, 2, -4.5, 6);
    CHECK_NPY(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }", f4, HINGE_F32, NULL, 3, 2, 1, 2,
              3, -4.5, 0, (double)0.1F);
    CHECK_NPY(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }", f4, HINGE_F64,
              &((hinge_data_options){ .type = HINGE_F64 }), 3, 2, 1, 2, 3, -4.5, 0, (double)0.1F);
    CHECK_NPY(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (6,), }", f8, HINGE_F64,
              &((hinge_data_options){ .max_cols = 1 }), 6, 1, 1, 2, 3, -4.5, 0, 6);
    CHECK_NPY(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }", f8, HINGE_F32,
              &((hinge_data_options){ .type = HINGE_F32, .min_cols = 4 }), 2, 4, 1, 2, 3, 0, -4.5, 0, 6, 0);
#define CHECK_TYPED(dtype, values, type, ...)                                                                      \
    CHECK_NPY(1, "{'descr': '" dtype "', 'fortran_order': False, 'shape': (2, 2), }", values, type, NULL, 2, 2, \
              __VA_ARGS__)
#define CHECK_INTEGERS(dtype, values, ...) CHECK_TYPED(dtype, values, HINGE_F64, __VA_ARGS__)
    CHECK_TYPED("|i1", i1, HINGE_I8, -128, 127, 0, -1); /* bytes stay what they are, unless asked for otherwise */
    CHECK_TYPED("|u1", u1, HINGE_U8, 255, 0, 1, 128);
    CHECK_TYPED("|b1", ((const uint8_t[]){ 1, 0, 0, 1 }), HINGE_U8, 1, 0, 0, 1);
    CHECK_NPY(1, "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 2), }", u1, HINGE_U8, NULL, 2, 2, 255, 1, 0,
              128);
    CHECK_NPY(1, "{'descr': '|i1', 'fortran_order': False, 'shape': (2, 2), }", i1, HINGE_I8,
              &((hinge_data_options){ .min_cols = 3 }), 2, 3, -128, 127, 0, 0, -1, 0);
    CHECK_NPY(1, "{'descr': '|i1', 'fortran_order': False, 'shape': (2, 2), }", i1, HINGE_F32,
              &((hinge_data_options){ .type = HINGE_F32 }), 2, 2, -128, 127, 0, -1);
    CHECK_TYPED("<f2", ((const uint16_t[]){ 0x3c00, 0x8001, 0x7bff, 0xc500 }), HINGE_F32, 1, -0x1p-24, 65504, -5);
    CHECK_TYPED(">f2", ((const uint8_t[]){ 0x3c, 0, 0x80, 1, 0x7b, 0xff, 0xc5, 0 }), HINGE_F32, 1, -0x1p-24, 65504,
                -5);
    CHECK_INTEGERS("<i2", i2, -32768, 32767, 0, -1);
    CHECK_INTEGERS("<u2", u2, 65535, 0, 1, 2);
    CHECK_INTEGERS("<i4", i4, INT32_MIN, INT32_MAX, 0, -1);
    CHECK_INTEGERS("<u4", u4, UINT32_MAX, 0, 1, 2);
    CHECK_INTEGERS("<i8", i8, -0x1p63, 1, 0, -1);
    CHECK_INTEGERS("<u8", u8, 0x1p64, 0, 1, 2);
    CHECK_INTEGERS(">i2", ((const uint8_t[]){ 0xff, 0xfe, 0, 1, 1, 0, 0x80, 0 }), -2, 1, 256, -32768);
    CHECK_NPY(1, "{'descr': '>f8', 'fortran_order': False, 'shape': (1, 1), }",
              ((const uint8_t[]){ 0x3f, 0xf8, 0, 0, 0, 0, 0, 0 }), HINGE_F64, NULL, 1, 1, 1.5);
    CHECK_NPY(1, "{'descr': '>f4', 'fortran_order': False, 'shape': (1, 1), }",
              ((const uint8_t[]){ 0xc0, 0x40, 0, 0 }), HINGE_F32, NULL, 1, 1, -3);
}

static void check_npy_refused(const char *dict, const void *values, size_t size,
                              const hinge_data_options *options, size_t line, const char *part)
{
    unsigned char bytes[1024];
    hinge_data data;
    size_t n = npy_bytes(bytes, 1, dict, values, size);
    assert_int_equal(parse_bytes("a", bytes, n, options, &data, &err), HINGE_EFORMAT);
    assert_int_equal(err.line, line);
    if (strstr(err.text, part) == NULL)
        fail_msg("%s: '%s' does not say '%s'", dict, err.text, part);
}

TEST(npy_refuses)
{
    const double f8[] = { 1, 2, 3, (double)NAN, 0, 6 }, big[] = { 1, 1e39 };
#define REFUSED(dict, part) check_npy_refused(dict, f8, sizeof f8, NULL, 0, part)
    REFUSED("{'descr': '<f3', 'fortran_order': False, 'shape': (2, 3), }", "'<f3'");
    check_npy_refused("{'descr': '<f2', 'fortran_order': False, 'shape': (1, 2), }", (const uint16_t[]){ 0, 0xfc00 }, 4,
                      NULL, 1, "[0, 1] is -inf");
    REFUSED("{'descr': '<c8', 'fortran_order': False, 'shape': (2, 3), }", "'<c8'");
    REFUSED("{'descr': '|O', 'fortran_order': False, 'shape': (2, 3), }", "'|O'");
    REFUSED("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (2, 3), }", "dtype [('a' is");
    REFUSED("{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2, 3), }", "shape (1, 2, 3) is not");
    REFUSED("{'descr': '<f8', 'fortran_order': False, 'shape': (6,), }", "reshape it to (6, 1)");
    REFUSED("{'descr': '<f8', 'fortran_order': False, 'shape': (), }", "()");
    REFUSED("{'descr': '<f8', 'fortran_order': False, 'shape': (-1, 3), }", "(-1, 3)");
    REFUSED("{'descr': '<f8', 'fortran_order': False}", "header");
    REFUSED("{'descr': '<f8', 'fortran_order': Maybe, 'shape': (2, 3), }", "header");
    REFUSED("{'descr': '<f8' 'fortran_order': False, 'shape': (2, 3), }", "header");
    REFUSED("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3)", "header");
    REFUSED("{'other': 1}", "header");
    REFUSED("", "header");
    REFUSED("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 4), }", "48 bytes");
    REFUSED("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), }", "48 bytes");
    REFUSED("{'descr': '<f8', 'fortran_order': False, 'shape': (0, 2), }", "48 bytes");
    check_npy_refused("{'descr': '<f8', 'fortran_order': False, 'shape': (0, 2), }", f8, 0, NULL, 0, "no rows");
    check_npy_refused("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }", f8, sizeof f8, NULL, 2,
                      "[1, 0] is nan");
    check_npy_refused("{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3), }", f8, sizeof f8, NULL, 2,
                      "[1, 1] is nan");
    check_npy_refused("{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2), }", big, sizeof big,
                      &((hinge_data_options){ .type = HINGE_F32 }), 1, "single precision");
    unsigned char bytes[1024];
    size_t n = npy_bytes(bytes, 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2), }", big, sizeof big);
    for (size_t size = 6; size < n; size++)
        check_refused("a", bytes, size, NULL, HINGE_EFORMAT, 0, "");
    n = npy_bytes(bytes, 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (4294967295, 4294967295), }", big, 16);
    check_refused("a", bytes, n, NULL, HINGE_ESIZE, 0, "beyond all sizes");
    bytes[6] = 9;
    check_refused("a", bytes, n, NULL, HINGE_EFORMAT, 0, "version 9");
}

/* Archives and files packed otherwise are named. */
TEST(foreign_files)
{
    CHECK_REFUSED("a", "BZh91AY&SY\x01\x02", NULL, 0, "compressed with bzip2; of packed files only xz and gz");
    CHECK_REFUSED("a", "\x28\xb5\x2f\xfd\x04", NULL, 0, "compressed with zstd");
    CHECK_REFUSED("a.npz", "PK\x03\x04\x14", NULL, 0, "a zip archive");
    CHECK_REFUSED("a", "BZh91\n", NULL, 1, "label 'BZh91' is not a number, and no line has a pair");
}

TEST(npy_labels)
{
    unsigned char bytes[512];
    const double x[] = { 1, 2, 3, 4, 5, 6 };
    const int32_t y[] = { 7, -8, 9 };
    const char *path = path_of("y.npy");
    write_file(path, bytes, npy_bytes(bytes, 1, "{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }", y, 12));
    size_t n = npy_bytes(bytes, 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), }", x, sizeof x);
    hinge_data data;
    const hinge_data_options options = { .labels_path = path };
    assert_int_equal(hinge_data_parse("x.npy", bytes, n, &options, &data, NULL), HINGE_OK);
    assert_true(data.y[0] == 7 && data.y[1] == -8 && data.y[2] == 9 && data.nonzeros == 6);
    hinge_data_free(&data);
    n = npy_bytes(bytes, 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }", x, sizeof x);
    assert_refused(hinge_data_parse("x.npy", bytes, n, &options, &data, &err),
                   HINGE_EFORMAT, "3 x 1 labels for 2 rows");
    assert_int_equal(hinge_data_parse("x", "1 1:1", 5, &options, &data, &err), HINGE_EINVAL);
    const int64_t large[] = { INT64_C(1) << 62, -(INT64_C(1) << 53) - 1 };
    static const char *const dict[] = { "{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }",
                                        "{'descr': '<u8', 'fortran_order': False, 'shape': (2,), }" };
    for (int is_unsigned = 0; is_unsigned < 2; is_unsigned++) {
        write_file(path, bytes + 256, npy_bytes(bytes + 256, 1, dict[is_unsigned], large, sizeof large));
        assert_int_equal(hinge_data_parse("x.npy", bytes, n, &options, &data, &err), HINGE_EFORMAT);
        assert_non_null(strstr(err.text, is_unsigned ? "[1, 0] is a whole number beyond 2^53 that double precision "
                                                       "takes for 18437736874454810624"
                                                     : "takes for -9007199254740992"));
    }
    unlink(path);
    assert_int_equal(hinge_data_parse("x.npy", bytes, n, &options, &data, &err), HINGE_EIO);
    assert_non_null(strstr(err.text, path));
}

/* ---- CSV ----------------------------------------------------------------------------------------------- */

TEST(csv_accepts)
{
    const hinge_data_options last = { .label_column = -1 }, second = { .label_column = 2 },
                             none = { .no_labels = 1 };
    const hinge_data_options csv = { .format = HINGE_FORMAT_CSV }, wide = { .min_cols = 3, .type = HINGE_F32 };
    CHECK_READ("a.csv", "1,2,3\n-1,0,1e3\n", NULL, 2, 2, 1, 2, 3, -1, 0, 1000);
    CHECK_READ("a.CSV", "y,a,b\r\n1,2,3\r\n-1,0,1e3", NULL, 2, 2, 1, 2, 3, -1, 0, 1000);
    CHECK_READ("a.csv", "2,3,1\n4,5,6\n", &last, 2, 2, 1, 2, 3, 6, 4, 5);
    CHECK_READ("a.csv", "2,3,1\n4,5,6\n", &second, 2, 2, 3, 2, 1, 5, 4, 6);
    CHECK_READ("a.csv", "2,3,1\n4,5,6\n", &none, 2, 3, 0, 2, 3, 1, 0, 4, 5, 6);
    CHECK_READ("a", "2;3;1\n4;5;6\n", &csv, 2, 2, 2, 3, 1, 4, 5, 6);
    CHECK_READ("a", "2\t3\t1\n4\t\"5\"\t6\n", &csv, 2, 2, 2, 3, 1, 4, 5, 6);
    CHECK_READ("a", "\"the, label\",\"a \"\"b\"\"\"\n 2 , \"3\" \n", &csv, 1, 1, 2, 3);
    CHECK_READ("a", "y\n2\n3\n", &csv, 2, 0, 2, 3);
    CHECK_READ("a",
               "\xef\xbb\xbf"
               "1,2\n",
               &csv, 1, 1, 1, 2);
    CHECK_READ("a.tsv", "y\ta\n2\t3\n", NULL, 1, 1, 2, 3);
    CHECK_READ("a.csv", "1,2\n3,4\n\n\n", NULL, 2, 1, 1, 2, 3, 4);
    CHECK_READ("a.csv", "1,2\r\n3,4\r\n\r\n", NULL, 2, 1, 1, 2, 3, 4);
    CHECK_READ("a.csv", "1,0.1\n2,0\n", &wide, 2, 3, 1, (double)0.1F, 0, 0, 2, 0, 0, 0);
}

TEST(csv_refuses)
{
    CHECK_REFUSED("a.csv", "", NULL, 0, "no rows");
    CHECK_REFUSED("a.csv", "y,a\n", NULL, 0, "no rows");
    CHECK_REFUSED("a.csv", "1,2\n1\n", NULL, 2, "1 columns where line 1 has 2");
    CHECK_REFUSED("a.csv", "1,2\n1,2,3\n", NULL, 2, "3 columns where line 1 has 2");
    CHECK_REFUSED("a.csv", "1;2,5;3\n2;4,5;3\n", NULL, 2, "column 2 ('5;3'): '5;3' has a semicolon: decimal commas");
    CHECK_REFUSED("a.csv", "1;0,5;0,2\n2;0,1;0,3\n", NULL, 1, "column 1: '1;0' has a semicolon: decimal commas");
    CHECK_REFUSED("a.csv", "1,2\n1,\n", NULL, 2, "missing value: column 2 is empty; drop such rows (drop_missing)");
    CHECK_REFUSED("a.csv", "1,,2\n", NULL, 1, "column 2 is empty");
    CHECK_REFUSED("a.csv", "1,2\n\n1,2\n", NULL, 2, "empty line");
    CHECK_REFUSED("a.csv", "1,2\n# c\n", NULL, 2, "'# c'");
    CHECK_REFUSED("a.csv", "a,b\n1,2\n1,x y\n", NULL, 3, "column 2 ('b'): 'x y' is not a number");
    CHECK_REFUSED("a.csv", "1,2\n1,NaN\n", NULL, 2, "missing value: column 2 is 'NaN'; drop");
    CHECK_REFUSED("a.csv", "1,inf\n", NULL, 1, "column 2: 'inf' is not finite");
    CHECK_REFUSED("a.csv", "1,2\ninf,2\n", NULL, 2, "column 1: 'inf' is not finite");
    CHECK_REFUSED("a.csv", "1,2\n9007199254740993,2\n", NULL, 2, "column 1: '9007199254740993' is a whole number");
    CHECK_REFUSED("a.csv", "1,2\n1,\"2\n", NULL, 2, "column 2: '\"2'");
    CHECK_REFUSED("a.csv", "y,a\r1,2\r", NULL, 1, "CR alone");
    CHECK_REFUSED("a.csv", "\x7f\1\0\r\2", NULL, 1, "neither text nor .npy");
    CHECK_REFUSED("a.csv", "\xff\xfey\0,\0a\0\n\0", NULL, 0, "UTF-16 text");
    CHECK_REFUSED("a", "\xfe\xff\0001\0\n", NULL, 0, "UTF-16 text");
    CHECK_REFUSED("a.csv", "1,2\n1,1e39\n", &((hinge_data_options){ .type = HINGE_F32 }), 2,
                  "single precision");
    check_refused("a.csv", "1,2\n", 4, &((hinge_data_options){ .label_column = 3 }), HINGE_EINVAL, 0,
                  "label_column 3: there are 2 columns");
    check_refused("a.csv", "1,2\n", 4, &((hinge_data_options){ .label_column = -3, .as_command = 1 }), HINGE_EINVAL, 0,
                  "--label-column -3: there are 2 columns");
}

/* Whether line 1 is a header: told by its fields where they agree, and by the caller otherwise. */
TEST(csv_headers)
{
    const hinge_data_options header = { .header = 1 }, none = { .header = -1 }, command = { .as_command = 1 };
    hinge_data data;
    CHECK_READ("a.csv", "y,,b\n1,2,3\n", NULL, 1, 2, 1, 2, 3);
    CHECK_READ("a.csv", "0,1,2\n1,2,3\n", &header, 1, 2, 1, 2, 3);
    CHECK_READ("a.csv", "y,1,2\n1,2,3\n", &header, 1, 2, 1, 2, 3);
    CHECK_READ("a.csv", "0,1,2\n1,2,3\n", &none, 2, 2, 0, 1, 2, 1, 2, 3);
    CHECK_REFUSED("a.csv", "1,b,3\n1,2,3\n", NULL, 1, "column 2: 'b' beside numbers: say whether");
    CHECK_REFUSED("a.csv", "1,NA,3\n1,2,3\n", NULL, 1, "missing value: column 2 is 'NA'");
    CHECK_REFUSED("a.csv", "y,1,2\n1,2,3\n", NULL, 1, "a header (header = 1) or an example (header = -1)");
    CHECK_REFUSED("a.csv", "y,1,2\n1,2,3\n", &command, 1, "a header (--header) or an example (--no-header)");
    assert_int_equal(parse_bytes("a.csv", "y,1,2\n1,2,3\n", 12, NULL, &data, &err), HINGE_EFORMAT);
    assert_null(strstr(err.text, "or that it is the label")); /* which column 1 is */
    CHECK_REFUSED("a.csv", "1,b,3\n1,2,3\n", NULL, 1, ", or that it is the label");
    CHECK_REFUSED("a.csv", "1,NA,3\n1,2,3\n", &none, 1, "missing value: column 2 is 'NA'");
    CHECK_REFUSED("a.csv", "y,a,b\n1,2,3\n", &none, 1, "column 2: 'a' is not a number; the label is column 1");
    CHECK_REFUSED("a.csv", "y,a,b\n1,NA,3\n", NULL, 2, "missing value: column 2 ('a') is 'NA'");
    check_refused("a.csv", "1,2\n", 4, &((hinge_data_options){ .header = 2 }), HINGE_EINVAL, 0, "header: 2");
}

/* Labels that are words get numbers by first appearance, those of a model first, for any number of threads. */
TEST(words)
{
    const char *model[] = { "dog", "a bird" }, *twice[] = { "dog", "dog" };
    const hinge_words known = { 2, model }, bad = { 2, twice };
    const hinge_data_options last = { .label_column = -1 }, with = { .words = &known }, wrong = { .words = &bad };
    const struct {
        const char *name, *text;
        const hinge_data_options *options;
        double y[3];
        const char *list; /* words, each with a slash behind */
    } cases[] = {
        { "a", "cat 1:1\n dog 2:1\r\ncat\n", NULL, { 1, 2, 1 }, "cat/dog/" },
        { "a", "1st 1:1\nNancy\n-infinite\n", NULL, { 1, 2, 3 }, "1st/Nancy/-infinite/" },
        { "a", "cat 1:1\ndog 2:1\ncat\n", &with, { 3, 1, 3 }, "dog/a bird/cat/" },
        { "a.csv", "cat,1\ndog,2\ncat,3\n", NULL, { 1, 2, 1 }, "cat/dog/" },
        { "a.csv", "1,b c\n2,\"b c\"\n3, \xc3\xa4 \n", &last, { 1, 1, 2 }, "b c/\xc3\xa4/" },
        { "a.csv", "y,a\ncat,1\na bird,2\ncat,3\n", &with, { 3, 2, 3 }, "dog/a bird/cat/" },
        { "a.csv", "dog,1\ncat,2\ncat,3\n", &with, { 1, 3, 3 }, "dog/a bird/cat/" },
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        char list[64] = "";
        hinge_data data;
        if (parse_bytes(cases[k].name, cases[k].text, strlen(cases[k].text), cases[k].options, &data, &err) != HINGE_OK)
            fail_msg("%s", err.text);
        assert_int_equal(data.x.rows, 3);
        assert_memory_equal(data.y, cases[k].y, sizeof cases[k].y);
        for (size_t w = 0; w < data.words.count; w++)
            snprintf(list + strlen(list), sizeof list - strlen(list), "%s/", data.words.word[w]);
        assert_string_equal(list, cases[k].list);
        char room[HINGE_WORD_ROOM];
        assert_ptr_equal(hinge_word(&data.words, 1, room), data.words.word[0]);
        assert_string_equal(hinge_word(&data.words, 0, room), "0");
        assert_string_equal(hinge_word(&data.words, 1.5, room), "1.5");
        assert_int_equal(strtod(hinge_word(&data.words, (double)data.words.count + 1, room), NULL),
                         data.words.count + 1);
        assert_null(hinge_word(&data.words, 1.5, NULL));
        hinge_data_free(&data);
        assert_int_equal(data.words.count, 0);
    }
    CHECK_REFUSED("a", "cat 1:1\n3 1:1\n", NULL, 2, "label '3' is a number, and that of line 1 a word, 'cat'");
    CHECK_REFUSED("a", "3 1:1\ncat 1:1\n", NULL, 2, "label 'cat' is no number, as those before are");
    CHECK_REFUSED("a", "cat 1:1\nnan 1:1\n", NULL, 2, "label 'nan' is not finite");
    CHECK_REFUSED("a", "cat 1:1\ndo\x01g\n", NULL, 2, "label 'do\\x01g' holds a control character");
    CHECK_REFUSED("a.csv", "y,a\ncat,1\n3,1\n", NULL, 3, "column 1: '3' is a number, and that of line 2 a word, 'cat'");
    CHECK_REFUSED("a.csv", "cat,1\n,1\ncat,2\n", NULL, 2, "missing value: column 1 is empty");
    CHECK_REFUSED("a.csv", "y,1,2\ncat,5,6\ncat,7,8\n", NULL, 1, "column 1: 'y' beside numbers: say whether");
    CHECK_REFUSED("a.csv", "5,6,cat\n7,8,cat\n", NULL, 1, "or that it is the label (label_column or label_name)");
    check_refused("a", "cat 1:1\n", 8, &wrong, HINGE_EINVAL, 0, "'dog' stands twice");
}

/* A label that is no word has a number's text, in the caller's room. */
TEST(text_of_numbers)
{
    const double labels[] = { -1, 1, 0, 0.1, -1.7976931348623157e308, 3.5, -4.9406564584124654e-324, 1 / 3.0 };
    char room[HINGE_WORD_ROOM];
    for (size_t k = 0; k < sizeof labels / sizeof *labels; k++) {
        assert_ptr_equal(hinge_word(NULL, labels[k], room), room);
        assert_true(strtod(room, NULL) == labels[k]);
    }
    assert_string_equal(hinge_word(NULL, -1, room), "-1");
    assert_string_equal(hinge_word(NULL, 0.1, room), "0.1");
    assert_string_equal(hinge_word(NULL, NAN, room), "nan");
    assert_string_equal(hinge_word(NULL, INFINITY, room), "inf");
}

TEST(many_words)
{
    enum { ROWS = 60000 };
    char *text = get(1, (size_t)ROWS * 32);
    size_t n = 0;
    for (int i = 0; i < ROWS; i++)
        n += (size_t)sprintf(text + n, "w%d 1:%d\n", i % 40000, i);
    for (int threads = 1; threads <= 4; threads++) {
        hinge_data data;
        hinge_data_options options = { .threads = threads };
        assert_int_equal(parse_bytes("a", text, n, &options, &data, NULL), HINGE_OK);
        assert_int_equal(data.words.count, 40000);
        for (int i = 0; i < ROWS; i++) {
            char word[16];
            sprintf(word, "w%d", i % 40000);
            assert_true(data.y[i] == i % 40000 + 1);
            assert_string_equal(hinge_word(&data.words, data.y[i], NULL), word);
        }
        hinge_data_free(&data);
    }
}

/* What a file turned out to be. */
TEST(tells_what_it_read)
{
    const struct {
        const char *name, *text;
        hinge_data_options options;
        hinge_format format;
        int labelled, header;
        size_t column;
    } cases[] = {
        { "a", "1 1:1\n", { 0 }, HINGE_FORMAT_LIBSVM, 1, 0, 0 },
        { "a.csv", "y,a,b\n1,2,3\n", { 0 }, HINGE_FORMAT_CSV, 1, 1, 1 },
        { "a.csv", "1,2,3\n", { .label_column = 1 }, HINGE_FORMAT_CSV, 1, 0, 1 },
        { "a.csv", "1,2,3\n", { .label_column = -1 }, HINGE_FORMAT_CSV, 1, 0, 3 },
        { "a.csv", "1,2,3\n", { .label_column = 2, .header = -1 }, HINGE_FORMAT_CSV, 1, 0, 2 },
        { "a", "1,2,3\n", { .no_labels = 1, .format = HINGE_FORMAT_CSV }, HINGE_FORMAT_CSV, 0, 0, 0 },
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        hinge_data data;
        assert_int_equal(
            parse_bytes(cases[k].name, cases[k].text, strlen(cases[k].text), &cases[k].options, &data, NULL), HINGE_OK);
        assert_int_equal(data.format, cases[k].format);
        assert_int_equal(data.labelled, cases[k].labelled);
        assert_int_equal(data.header, cases[k].header);
        assert_int_equal(data.label_column, cases[k].column);
        hinge_data_free(&data);
    }
}

TEST(csv_threads)
{
    enum { ROWS = 40000 };
    char *text = get(1, (size_t)ROWS * 64);
    size_t n = (size_t)sprintf(text, "label,a,b\n");
    for (int i = 0; i < ROWS; i++)
        n += (size_t)sprintf(text + n, "%d,%.17g,%d\n", i, i / 255.0, -i);
    for (int threads = 1; threads <= 4; threads++) {
        hinge_data data;
        assert_int_equal(
            hinge_data_parse("a.csv", text, n, &((hinge_data_options){ .threads = threads }), &data, NULL),
            HINGE_OK);
        for (size_t i = 0; i < ROWS; i++)
            assert_true(data.y[i] == (double)i && at(&data, i, 0) == (double)i / 255.0 &&
                        at(&data, i, 1) == -(double)i);
        hinge_data_free(&data);
    }
}

/* ---- writing and options ------------------------------------------------------------------------------- */

static size_t files_in_folder(void)
{
    DIR *dir = opendir(folder());
    size_t n = 0;
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
        n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(dir);
    return n;
}

TEST(writes)
{
    enum { ROWS = 5000, COLS = 7, STRIDE = 9 };
    static double x[ROWS * STRIDE], y[ROWS];
    uint64_t seed = 5;
    hinge_data data;
    const char *path = path_of("out");
    for (size_t i = 0; i < ROWS; i++) {
        y[i] = (double)(hg_random(&seed) % 5) / 3;
        for (size_t j = 0; j < STRIDE; j++)
            x[i * STRIDE + j] = hg_random(&seed) % 2 ? ldexp((double)hg_random(&seed), -80)
                                : j < COLS           ? 0
                                                     : (double)NAN;
    }
    hinge_matrix matrix = { .data = x, .type = HINGE_F64, .rows = ROWS, .cols = COLS, .stride = STRIDE };
    assert_int_equal(hinge_data_write(path, &matrix, y, &err), HINGE_OK);
    assert_int_equal(files_in_folder(), 1);
    assert_int_equal(hinge_data_read(path, &((hinge_data_options){ .min_cols = COLS }), &data, NULL), HINGE_OK);
    for (size_t i = 0; i < ROWS; i++) {
        assert_true(data.y[i] == y[i]);
        for (size_t j = 0; j < COLS; j++)
            assert_true(at(&data, i, j) == x[i * STRIDE + j]);
    }
    hinge_data_free(&data);

    /* the text itself, and the permissions of the file that was there */
    const float f32[] = { 0.5F, 0, -3, 0, 0, 0 };
    hinge_matrix single = hinge_matrix_f32(f32, 2, 3);
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(hinge_data_write(path, &single, NULL, &err), HINGE_OK);
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0640);
    char text[64] = "";
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fread(text, 1, sizeof text - 1, f), 15);
    fclose(f);
    assert_string_equal(text, "0 1:0.5 3:-3\n0\n");
    char *bytes;
    size_t size;
    assert_int_equal(hinge_file_read(path, &bytes, &size, &err), HINGE_OK);
    assert_int_equal(size, 15);
    assert_string_equal(bytes, text);
    hinge_free(bytes);
    assert_int_equal(hinge_file_read(folder(), &bytes, &size, &err), HINGE_EIO);
    assert_int_equal(hinge_file_read(path, NULL, &size, &err), HINGE_EINVAL);

    /* a failure leaves the old file and nothing else */
    x[3 * STRIDE + 2] = (double)INFINITY;
    assert_refused(hinge_data_write(path, &matrix, y, &err), HINGE_EINVAL, "x[3, 2]");
    assert_int_equal(files_in_folder(), 1);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_size, 15);
    unlink(path);
    assert_refused(hinge_data_write(path_of("no/such/folder"), &single, NULL, &err), HINGE_EIO, "No such file");
    assert_int_equal(hinge_data_write(folder(), &single, NULL, &err), HINGE_EIO);
    assert_refused(hinge_data_write("/dev/full", &single, NULL, &err), HINGE_EIO, "No space");
    assert_int_equal(hinge_data_write("/dev/null", &single, NULL, &err), HINGE_OK);
    assert_int_equal(stat("/dev/null", &info), 0);
    assert_true(S_ISCHR(info.st_mode));
    assert_int_equal(files_in_folder(), 0);
}

/* A link stays one, and what it points at is replaced. */
TEST(writes_through_links)
{
    const double x[] = { 1 };
    hinge_matrix matrix = hinge_matrix_f64(x, 1, 1);
    const char *target = path_of("target"), *link = path_of("link");
    write_file(target, "old", 3);
    assert_int_equal(symlink("target", link), 0);
    assert_int_equal(hinge_data_write(link, &matrix, NULL, NULL), HINGE_OK);
    struct stat info;
    assert_int_equal(lstat(link, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(lstat(target, &info), 0);
    assert_int_equal(info.st_size, 6);
}

TEST(bad_options)
{
    check_refused("a", "1 1:1", 5, &((hinge_data_options){ .type = (hinge_dtype)7 }), HINGE_EINVAL, 0,
                  "type: 7");
    check_refused("a", "1 1:1", 5, &((hinge_data_options){ .format = (hinge_format)9 }), HINGE_EINVAL, 0,
                  "format: 9");
    check_refused("a", "1 1:1", 5, &((hinge_data_options){ .threads = -1 }), HINGE_EINVAL, 0, "threads: -1");
    check_refused("a", "1 1:1", 5, &((hinge_data_options){ .threads = 4097 }), HINGE_EINVAL, 0, "threads: 4097");
    check_refused("a", "1 1:1", 5, &((hinge_data_options){ .min_cols = 3, .max_cols = 2 }), HINGE_EINVAL, 0,
                  "min_cols: 3");
    check_refused("a", "1 1:1", 5, &((hinge_data_options){ .label_column = -1 }), HINGE_EINVAL, 0,
                  "label_column is for CSV only, and this is LIBSVM text");
    check_refused("a", "1 1:1", 5, &((hinge_data_options){ .no_labels = 1, .as_command = 1 }), HINGE_EINVAL, 0,
                  "--no-labels is for CSV only, and this is LIBSVM text, whose lines begin with labels; a table is "
                  "read by --format csv");
    hinge_data data;
    assert_int_equal(hinge_data_read(NULL, NULL, &data, NULL), HINGE_EINVAL);
    assert_int_equal(hinge_data_parse("a", NULL, 1, NULL, &data, NULL), HINGE_EINVAL);
    hinge_data_free(NULL);
}

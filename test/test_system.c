/*
 * The room for the system (lib/base/system.h), as users meet it: the same on each system, whose way to it differs.
 */
#include "lib/base/system.h"
#include "lib/files/number.h"
#include "test/folder.h"
#include "test/support.h"
#include "test/tests.h"

#include <hinge/io.h>
#include <errno.h>
#include <locale.h>

/* Reads a file by hand: its bytes, as they lie there. */
static size_t bytes_of(const char *path, char *bytes, size_t room)
{
    int file = hg_file_open(path, HG_TO_READ);
    size_t n = 0;
    ptrdiff_t more;
    assert_true(file >= 0);
    while (n < room && (more = hg_file_read(file, bytes + n, room - n)) > 0)
        n += (size_t)more;
    assert_true(hg_file_close(file));
    return n;
}

static void make_file(const char *path, const void *bytes, size_t size)
{
    int file = hg_file_open(path, HG_TO_MAKE);
    assert_true(file >= 0 && hg_file_write(file, bytes, size) == (ptrdiff_t)size && hg_file_sync(file) &&
                hg_file_close(file));
}

/* Greek, an umlaut, Chinese, and a letter beyond 16 bits. */
static const char *const name = "\xce\xb1-\xc3\xbc-\xe4\xb8\xad-\xf0\x9d\x92\xb3";

TEST(files_have_names_in_utf8)
{
    static const char text[] = "1 1:2 2:0.5\r\n-1 2:3\r\n";
    const char *path = path_of(name);
    hinge_data data;
    make_file(path, text, sizeof text - 1);
    assert_ok(hinge_data_read(path, NULL, &data, &err));
    assert_int_equal(data.x.rows, 2);
    assert_int_equal(data.x.cols, 2);
    hinge_data_free(&data);
    assert_true(hg_file_look(path).regular);
    assert_true(hg_file_remove(path));
    assert_false(hg_file_look(path).exists);
    assert_refused(hinge_data_read(path, NULL, &data, &err), HINGE_EIO, "No such file");
}

TEST(bytes_are_written_and_read_as_they_are)
{
    static const char text[] = "a\nb\r\n\x1a c\0d";
    char read[64];
    const char *path = path_of("bytes");
    make_file(path, text, sizeof text);
    assert_int_equal(bytes_of(path, read, sizeof read), sizeof text);
    assert_memory_equal(read, text, sizeof text);
    assert_true(hg_file_open(path, HG_TO_MAKE) < 0); /* it is there */
    assert_true(hg_file_remove(path));
}

TEST(models_replace_older_ones)
{
    double x[] = { 0, 1, 2, 3 }, y[] = { -1, -1, 1, 1 };
    hinge_matrix m = hinge_matrix_f64(x, 4, 1);
    hinge_params params = hinge_params_default(HINGE_C_SVC);
    hinge_model *model, *again;
    char first[4096], second[4096];
    const char *path = path_of(name);
    assert_ok(hinge_train(&model, &m, y, &params, NULL, &err));
    assert_ok(hinge_model_save(model, path, &err));
    size_t n = bytes_of(path, first, sizeof first);
    assert_true(memchr(first, '\r', n) == NULL);
    assert_ok(hinge_model_save(model, path, &err));
    assert_int_equal(bytes_of(path, second, sizeof second), n);
    assert_memory_equal(first, second, n);
    assert_ok(hinge_model_load(&again, path, NULL, &err));
    hinge_model_free(again);
    hinge_model_free(model);
    assert_true(hg_file_remove(path));
}

TEST(mapped_bytes_are_those_of_the_file)
{
    const char *path = path_of("mapped");
    size_t size = 0;
    make_file(path, "12345", 5);
    int file = hg_file_open(path, HG_TO_READ);
    char *mapped = hg_file_map(file, &size);
    assert_true(hg_file_close(file));
    assert_int_equal(size, 5);
    assert_memory_equal(mapped, "12345", 5);
    hg_file_unmap(mapped, size);
    assert_true(hg_file_remove(path));
}

/* POSIX replaces it, and the mapping keeps what was there; Windows refuses, and both files stay. */
TEST(a_mapped_file_is_replaced_or_stays)
{
    const char *path = path_of("mapped"), *newer = path_of("newer");
    size_t size = 0;
    char bytes[8];
    make_file(path, "12345", 5);
    make_file(newer, "abc", 3);
    int file = hg_file_open(path, HG_TO_READ);
    char *mapped = hg_file_map(file, &size);
    assert_true(hg_file_close(file));
    errno = 0;
    bool done = hg_file_rename(newer, path);
    assert_true(done || errno == EACCES);
    assert_memory_equal(mapped, "12345", 5);
    assert_int_equal(bytes_of(path, bytes, sizeof bytes), done ? 3 : 5);
    assert_memory_equal(bytes, done ? "abc" : "12345", done ? 3 : 5);
    assert_true(done || hg_file_remove(newer));
    hg_file_unmap(mapped, size);
    assert_true(hg_file_remove(path));
}

TEST(a_folder_is_no_file_to_write)
{
    struct hg_file_info info = hg_file_look(folder());
    assert_true(info.exists && !info.regular);
    assert_string_equal(hg_file_name("a/b.c"), "b.c");
    assert_string_equal(hg_file_name("b.c"), "b.c");
}

/* Decimals on both sides of a half between two doubles, and at the ends of the range, by hexadecimal constants. */
static const struct {
    const char *text;
    double value;
} numbers[] = {
    { "9007199254740993", 0x1p53 },
    { "9007199254740993.00000000000000000000000001", 0x1.0000000000001p53 },
    { "1.7976931348623158e308", 0x1.fffffffffffffp1023 },
    { "2.2250738585072011e-308", 0x0.fffffffffffffp-1022 },
    { "4.9e-324", 0x1p-1074 },
    { "6.2517e-2", 0x1.0011d3671ac15p-4 },
    { "123456789012345678901234567890e-20", 0x1.26580b487e6b7p+30 },
    { "0x1.8p1", 3 },
};

static void check_numbers(void)
{
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
        char *stop;
        double value, mine = hg_number(numbers[k].text, &stop);
        assert_int_equal(*stop, '\0');
        assert_true(mine == numbers[k].value);
        const char *end = numbers[k].text + strlen(numbers[k].text);
        assert_true(hg_parse_double(numbers[k].text, end, &value) == end);
        assert_true(value == numbers[k].value);
    }
}

TEST(numbers_are_rounded_to_the_nearest_in_any_locale)
{
    static const char *const locales[] = { "C", "de_DE.UTF-8", "de_DE", "German" };
    for (size_t k = 0; k < sizeof locales / sizeof *locales; k++)
        if (setlocale(LC_ALL, locales[k]) != NULL)
            check_numbers();
    setlocale(LC_ALL, "C");
}

TEST(pages_are_zero_and_clocks_go_on)
{
    size_t bytes = (size_t)64 << 20;
    unsigned char *pages = hg_take_pages(bytes);
    assert_non_null(pages);
    for (size_t k = 0; k < bytes; k += 1 << 20)
        assert_int_equal(pages[k]++, 0);
    hg_give_pages(pages, bytes);
    double begin = hg_now();
    while (hg_now() == begin)
        hg_yield();
    assert_true(hg_now() > begin);
    assert_true(hg_processor_time() >= 0);
    assert_true(hg_total_memory() > bytes);
}

/* A file's first number, after words in front of it; without the file or a number: infinity. */
static double number_in(const char *path, const char *format)
{
    FILE *file = fopen(path, "r");
    double value = HUGE_VAL;
    if (file != NULL && fscanf(file, format, &value) != 1)
        value = HUGE_VAL;
    if (file != NULL)
        fclose(file);
    return value;
}

/*
 * Of more memory than size_t counts, all that it counts; qemu has a system of 32 bits say what its low bits are, and
 * wine shows Linux's files, but says a page less.
 */
TEST(memory_is_the_least_of_what_there_is)
{
    double machine = 1024 * number_in("/proc/meminfo", "MemTotal: %lf");
    if (machine == HUGE_VAL || getenv("WINEPREFIX") != NULL ||
        (getenv("HINGE_EMULATED") != NULL && SIZE_MAX <= UINT32_MAX))
        skip_because("nothing else says how much memory there is");
    double want = fmin(machine, (double)SIZE_MAX);
    want = fmin(want, number_in("/sys/fs/cgroup/memory.max", "%lf"));
    want = fmin(want, number_in("/sys/fs/cgroup/memory/memory.limit_in_bytes", "%lf"));
    assert_true((double)hg_total_memory() == want);
}

TEST(errors_have_words)
{
    char room[HG_ERROR_ROOM];
    assert_string_equal(hg_error_text(ENOENT, room), "No such file or directory");
}

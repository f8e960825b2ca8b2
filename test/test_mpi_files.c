/* Files over ranks, which are threads here: the parts of all are what hinge_data_read makes of the whole. */
#include "hg_config.h"
#include "mpi/mpi_train.h"
#include "test/ranks.h"
#include "test/support.h"

#include <hinge/io.h>

/* What becomes of a file: it is refused, rank 0 reads all of it, or each rank its part. */
enum reads { BAD, ONE, PARTS };

struct reading {
    const char *path;
    hinge_data_options options;
    hinge_data all; /* what hinge_data_read makes of the file */
    hinge_error err;
    size_t rows, readers; /* read so far, and by so many ranks */
};

static void assert_same_words(const hinge_words *a, const hinge_words *b)
{
    assert_int_equal(a->count, b->count);
    for (size_t k = 0; k < a->count; k++)
        assert_string_equal(a->word[k], b->word[k]);
}

static void read_rank(const struct hm_net *net, void *arg)
{
    struct reading *r = arg;
    hinge_data part;
    hinge_error err;
    hinge_status status = hm_data_read(net, r->path, &r->options, &part, &err);
    assert_int_equal(status, r->err.status);
    assert_string_equal(err.text, r->err.text);
    assert_int_equal(err.line, r->err.line);
    if (status != HINGE_OK)
        return;
    assert_int_equal(part.x.cols, r->all.x.cols);
    assert_int_equal(part.file_cols, r->all.file_cols);
    assert_int_equal(part.format, r->all.format);
    assert_int_equal(part.labelled, r->all.labelled);
    assert_int_equal(part.label_column, r->all.label_column);
    assert_int_equal(part.header, r->all.header);
    assert_same_words(&part.words, &r->all.words);
    size_t first = 0;
    hm_sizes(net, part.x.rows);
    for (int k = 0; k < net->rank; k++)
        first += net->sizes[k];
    for (size_t i = 0; i < part.x.rows; i++) {
        size_t size = hg_size_of(part.x.type), bytes = part.x.stride * size;
        assert_int_equal(part.x.type, r->all.x.type);
        assert_true(part.y[i] == r->all.y[first + i]);
        assert_memory_equal((const char *)part.x.data + i * bytes, (const char *)r->all.x.data + (first + i) * bytes,
                            part.x.cols * size);
    }
    r->rows += part.x.rows;
    r->readers += part.x.rows > 0;
    hinge_data_free(&part);
}

/* Reads a file by so many ranks. */
static void check_ranks(struct reading *r, size_t ranks, bool read)
{
    r->rows = r->readers = 0;
    run_ranks((int)ranks, read_rank, r);
    if (read)
        assert_int_equal(r->rows, r->all.x.rows);
}

/* At every split: with as many ranks as bytes, each position begins a part. */
static void check_file(const char *name, const void *bytes, size_t size, hinge_data_options options, enum reads reads)
{
    struct reading r = { .path = path_of(name), .options = options };
    write_file(r.path, bytes, size);
    hinge_status status = hinge_data_read(r.path, &options, &r.all, &r.err);
    assert_int_equal(status == HINGE_OK, reads != BAD);
    for (size_t ranks = 1; ranks <= size + 2; ranks += ranks < 9 ? 1 : size + 2 - ranks > 0 ? size + 2 - ranks : 1) {
        check_ranks(&r, ranks, reads != BAD);
        if (reads != BAD && ranks > size)
            assert_int_equal(r.readers, reads == ONE ? 1 : r.all.x.rows);
    }
    hinge_data_free(&r.all);
}

static void check_splits(const char *text, enum reads reads)
{
    check_file("data", text, strlen(text), (hinge_data_options){ 0 }, reads);
}

TEST(test_files)
{
    check_splits("1 1:2 3:4\n-1 2:5\n1\n-1 4:1e3 # a comment\n", PARTS);
    check_splits("+1 1:0.5 2:7\r\n-1 1:3\r\n+1 6:2", PARTS);
    check_splits("\xef\xbb\xbf"
                 "3 1:1\n2 1:2\n",
                 PARTS);
    check_splits("3 1:1\n\xef\xbb\xbf"
                 "2 1:2\n",
                 BAD); /* a mark that begins a part, but not the file */
    check_splits("5 1:1", PARTS);
    check_splits("1 1:1\n2 1:1\n1 2:x\n1 1:1\n", BAD);
    check_splits("1 1:1\n2 1:1\n1 2:x\n1 1:y\n", BAD);
    check_splits("1 1:1\n\n1 1:1\n", BAD);
    check_splits("1 1:1\n2 1:3\r3 1:1\n", BAD);
    check_splits("", BAD);
    check_splits("1,2\n3,4\n", BAD);
    const size_t kept[] = { 2, 3 };
    const char *text = "1 1:2 3:4\n-1 2:5\n1\n-1 4:1e3\n";
    check_file("data", text, strlen(text), (hinge_data_options){ .columns = kept, .n_columns = 2 }, PARTS);
}

/* Labels that are words are numbered as one reader numbers them, and refused where he does. */
TEST(test_words)
{
    const char *const dog_cow[] = { "dog", "a cow" }, *const twice[] = { "dog", "dog" };
    const hinge_words known = { 2, (const char **)(void *)dog_cow }, bad = { 2, (const char **)(void *)twice };
    const char *text = "cat 1:2\ndog 2:1\ncat 3:1\nhen 1:1\nox 1:4\nhen 4:1\ncat 1:1\nant 1:1";
    check_splits(text, PARTS);
    check_file("data", text, strlen(text), (hinge_data_options){ .words = &known }, PARTS);
    check_file("data", text, strlen(text), (hinge_data_options){ .words = &bad }, BAD);
    check_splits("cat\ndog 2:1\r\ncat\r\ncow\n", PARTS); /* parts without a pair */
    check_splits("cat\ndog\ncat\n", BAD);
    check_splits("cat 1:2\n1 1:3\ndog 1:2\n2 1:4\n", BAD);
    check_splits("1 1:2\n2 1:3\ncat 1:2\ncat 1:2\ncat 1:2\n", BAD);
    check_splits("cat 1:2\nd\x01g 1:3\n", BAD);
}

static void check_csv(const char *text, hinge_data_options options, enum reads reads)
{
    check_file("data.csv", text, strlen(text), options, reads);
}

/* What line 1 tells, each rank looks at; where it may be a header or not, rank 0 reads all. */
TEST(test_csv)
{
    const hinge_data_options plain = { 0 }, last = { .label_column = -1 }, headed = { .header = 1 };
    check_csv("1,2,3\r\n2,3,4.5\r\n1,0,0\r\n2,\"7\",8", plain, PARTS);
    check_csv("\xef\xbb\xbf"
              "kind;x;y\n1;2;3\n2;3;4\n-1;0;7\n",
              plain, PARTS);
    check_csv("1,2,cat\n3,4,\"a cow\"\n5,6,cat\n7,8,dog\n", last, ONE);
    check_csv("1,2,name\n3,4,a cow\n5,6,cat\n7,8,cat\n", last, BAD);
    check_csv("1,2,kind\n3,4,cow\n5,6,cat\n", (hinge_data_options){ .label_column = -1, .header = 1 }, PARTS);
    check_csv("1\t2\n3\t4\n5\t6\n", (hinge_data_options){ .no_labels = 1, .type = HINGE_F32, .min_cols = 4 }, PARTS);
    check_csv("cow\ncat\n", (hinge_data_options){ .header = -1 }, PARTS); /* labels alone */
    check_csv("1,2,3\n2,3,4\n2,3\n1,2,x\n", plain, BAD);
    check_csv("1,2,3\n2,3,4\n\n1,2,3\n", plain, BAD);
    check_csv("1,2,3\n2,3,nan\ncat,2,3\n", plain, BAD);
    check_csv("1,2\n2,1e300\n", (hinge_data_options){ .type = HINGE_F32 }, BAD);
    check_csv("x,2\n1,2\n", headed, PARTS);
    check_csv("x,2\n", headed, BAD);
    check_csv("1,2\n2,3\n", (hinge_data_options){ .label_column = 5 }, BAD);
}

/* ---- .npy -------------------------------------------------------------------------------------------------------- */

struct bytes {
    char data[1024];
    size_t size;
};

/* An array of numbers from 0 on, but for one of them (bad >= 0), which is not finite. */
static struct bytes npy_of(const char *descr, bool fortran, size_t rows, size_t cols, int bad)
{
    struct bytes b = { .size = 10 };
    memcpy(b.data, "\x93NUMPY\x01\x00", 8);
    int length = snprintf(b.data + 10, 118, "{'descr': '%s', 'fortran_order': %s, 'shape': (%zu, %zu), }\n", descr,
                          fortran ? "True" : "False", rows, cols);
    b.data[8] = (char)length;
    b.size += (size_t)length;
    for (size_t k = 0; k < rows * cols; k++) {
        double value = (int)k == bad ? INFINITY : (double)k / 8;
        float single = (float)value;
        size_t item = (size_t)(descr[2] - '0');
        memcpy(b.data + b.size, item == 4 ? (const void *)&single : &value, item);
        b.size += item;
    }
    return b;
}

static void check_npy(const struct bytes *x, const struct bytes *labels, hinge_data_options options, enum reads reads)
{
    const char *path = path_of("labels.npy");
    options.labels_path = labels != NULL ? path : NULL;
    if (labels != NULL)
        write_file(path, labels->data, labels->size);
    check_file("data", x->data, x->size, options, reads);
}

/* Each rank takes its own rows and labels; what is refused, is by the words and place of hinge_data_read. */
TEST(test_npy)
{
    const hinge_data_options plain = { 0 };
    for (int k = 0; k < 4; k++) {
        struct bytes x = npy_of(k % 2 == 0 ? NPY_F8 : NPY_F4, k / 2 == 1, 7, 3, -1);
        struct bytes labels = npy_of(NPY_F8, false, k % 2 == 0 ? 7 : 1, k % 2 == 0 ? 1 : 7, -1);
        check_npy(&x, NULL, plain, PARTS);
        check_npy(&x, &labels, plain, PARTS);
        check_npy(&x, NULL, (hinge_data_options){ .type = k % 2 == 0 ? HINGE_F32 : HINGE_F64, .min_cols = 5 }, PARTS);
        for (int at = 1; at < 21; at += 6) {
            struct bytes other = npy_of(k % 2 == 0 ? NPY_F8 : NPY_F4, k / 2 == 1, 7, 3, at);
            struct bytes bad = npy_of(NPY_F8, false, 7, 1, at / 3);
            check_npy(&other, NULL, plain, BAD);
            check_npy(&other, &bad, plain, BAD);
            check_npy(&x, &bad, plain, BAD);
        }
        labels = npy_of(NPY_F8, false, 6, 1, -1);
        check_npy(&x, &labels, plain, BAD);
        x.size--;
        check_npy(&x, NULL, plain, BAD);
    }
    struct bytes none = npy_of(NPY_F8, false, 0, 3, -1), odd = npy_of(NPY_F8, false, 2, 3, -1);
    check_npy(&none, NULL, plain, BAD);
    memcpy(strstr(odd.data + 10, NPY_F8), "<c8", 3);
    check_npy(&odd, NULL, plain, BAD);
    const char *text = "1 1:2\n1 1:3\n";
    check_file("data", text, strlen(text), (hinge_data_options){ .labels_path = "none" }, BAD);
}

/* ---- manifests --------------------------------------------------------------------------------------------------- */

static void check_list(const char *lines, hinge_data_options options, bool good)
{
    char path[512];
    write_file(path_of("list.txt"), lines, strlen(lines));
    snprintf(path, sizeof path, "@%s", path_of("list.txt"));
    struct reading r = { .path = path, .options = options };
    assert_int_equal(hinge_data_read(path, &options, &r.all, &r.err) == HINGE_OK, good);
    for (size_t ranks = 1; ranks < 100; ranks += ranks < 9 ? 1 : 30)
        check_ranks(&r, ranks, good);
    hinge_data_free(&r.all);
}

static void write_list_file(const char *name, const char *text)
{
    write_file(path_of(name), text, strlen(text));
}

/* Ranks' parts of all files follow each other, wherever one file ends. */
TEST(test_manifests)
{
    char lines[512], command[1024];
    const hinge_data_options plain = { 0 };
    write_list_file("a", "1 1:2 3:4\n-1 2:5\n1\n-1 4:1e3 # a comment\n");
    write_list_file("b", "1 1:1\n");
    write_list_file("c", "2 9:1\n2 1:1\n3 1:7");
    write_list_file("w", "cat 1:2\ndog 2:1\ncat 3:1\n");
    write_list_file("v", "hen 1:1\ndog\nox 1:4\n");
    write_list_file("bad", "1 1:1\n2 1:1\n1 2:x\n1 1:1\n");
    write_list_file("t.csv", "y,u,v\n1,2,3\n2,3,4\n");
    write_list_file("u.csv", "1,7,8\n3,8,9\n");
    write_list_file("d.csv", "name,7,8\ncat,8,9\ncow,1,2\ncat,1,2\n"); /* line 1 may be a header */
    check_list("a\nb\nc\n", plain, true);
    check_list("b\nb\nb\nb\n", plain, true);
    check_list("w\nv\nw\n", plain, true);
    check_list("t.csv\nu.csv\nt.csv\n", plain, true);
    check_list("d.csv\nd.csv\n", (hinge_data_options){ .header = -1 }, true);
    check_list("a\nbad\nc\n", plain, false);
    check_list("a\nnone\n", plain, false);
    check_list("a\nt.csv\n", plain, false);
    check_list("a\nv\n", plain, false);
    check_list("t.csv\nd.csv\n", plain, false);
    for (int k = 0; k < 2; k++) {
        snprintf(command, sizeof command, "%s -1 -k -f '%s'", k == 0 ? "gzip" : "xz", path_of("a"));
        const char *packed = path_of(k == 0 ? "a.gz" : "a.xz");
        assert_int_equal(system(command), 0);
        snprintf(lines, sizeof lines, "%s\nb\n%s\nc\n", packed, packed);
        check_list(lines, plain, true);
    }
    struct bytes x = npy_of(NPY_F8, false, 7, 3, -1), f = npy_of(NPY_F4, true, 5, 3, -1);
    struct bytes y = npy_of(NPY_F8, false, 7, 1, -1), z = npy_of(NPY_F8, false, 5, 1, -1);
    write_file(path_of("x"), x.data, x.size);
    write_file(path_of("f"), f.data, f.size);
    write_file(path_of("y"), y.data, y.size);
    write_file(path_of("z"), z.data, z.size);
    write_list_file("labels.txt", "y\nz\ny\n");
    snprintf(lines, sizeof lines, "@%s", path_of("labels.txt"));
    check_list("x\nf\nx\n", (hinge_data_options){ .labels_path = lines, .type = HINGE_F64 }, true);
    check_list("x\nf\n", (hinge_data_options){ .labels_path = lines }, false);
}

/* ---- packed files ------------------------------------------------------------------------------------------------ */

/* Packed in each way that hinge was built for; unpacked, files are longer than what all ranks have of them. */
static void check_packed(const char *name, const char *bytes, size_t size, hinge_data_options options, enum reads reads)
{
    static const char *const programs[][2] = { { "gzip", "gz" }, { "xz", "xz" } };
    write_file(path_of(name), bytes, size);
    for (size_t k = HG_HAVE_ZLIB ? 0 : 1; k < (HG_HAVE_LZMA ? 2 : 1); k++) {
        char command[1024], packed[64];
        snprintf(packed, sizeof packed, "%s.%s", name, programs[k][1]);
        struct reading r = { .options = options, .path = path_of(packed) };
        snprintf(command, sizeof command, "%s -1 -k -f '%s'", programs[k][0], path_of(name));
        assert_int_equal(system(command), 0);
        hinge_status status = hinge_data_read(r.path, &options, &r.all, &r.err);
        assert_int_equal(status == HINGE_OK, reads != BAD);
        for (size_t ranks = 1; ranks <= 9; ranks += 1 + ranks / 3) {
            check_ranks(&r, ranks, reads != BAD);
            if (reads != BAD)
                assert_int_equal(r.readers, reads == ONE ? 1 : ranks);
        }
        hinge_data_free(&r.all);
    }
}

/* Lines of random length, of the kind that FORMAT tells of; some words are late. */
static size_t make_lines(char *text, size_t size, bool csv, const char *label)
{
    uint64_t seed = 50003;
    size_t n = 0;
    for (size_t i = 0; n + 4096 < size; i++) {
        size_t fields = csv ? 9 : 1 + hg_random(&seed) % 40;
        n += (size_t)sprintf(text + n, "%s%d", label, (int)(i * i % 3 + (i > 2000)));
        for (size_t k = 1; k <= fields; k++)
            n += csv ? (size_t)sprintf(text + n, ",%d", (int)(hg_random(&seed) % 1000))
                     : (size_t)sprintf(text + n, " %zu:%d", k * (i > 2500 ? 2 : 1), (int)(hg_random(&seed) % 1000 + 1));
        text[n++] = '\n';
    }
    return n;
}

TEST(test_packed)
{
    enum { SIZE = 400000 };
    const hinge_data_options plain = { 0 }, last = { .label_column = 1, .header = -1 };
    char *text = malloc(SIZE);
    size_t n = make_lines(text, SIZE, false, "");
    check_packed("data", text, n, plain, PARTS);
    check_packed("data", text, n - 1, plain, PARTS); /* no newline at its end */
    memcpy(text + n - 9, "x\n", 2);
    check_packed("data", text, n - 7, plain, BAD);
    n = make_lines(text, SIZE, false, "class");
    check_packed("data", text, n, plain, PARTS);
    n = make_lines(text, SIZE, true, "");
    check_packed("data.csv", text, n, plain, PARTS);
    memcpy(text + n, "\n\r\n\n", 4);
    check_packed("data.csv", text, n + 4, plain, PARTS); /* empty lines at its end */
    memcpy(text + n / 2, "nan", 3);
    check_packed("data.csv", text, n, plain, BAD);
    n = make_lines(text, SIZE, true, "word");
    check_packed("data.csv", text, n, last, PARTS);
    check_packed("data.csv", text, n, (hinge_data_options){ .header = -1, .categories = "2" }, ONE);
    n = 1;
    for (size_t k = 1; n < 70000; k++) /* line 1 is longer than what all ranks have */
        n += (size_t)sprintf(text + n, " %zu:7", k);
    n += (size_t)sprintf(text + n, "\n2 1:2\n3 1:7\n");
    text[0] = '1';
    check_packed("data", text, n, plain, ONE);
    free(text);
}

TEST(test_packed_npy)
{
    enum { ROWS = 4001, COLS = 21 };
    size_t size = 128 + sizeof(double) * ROWS * COLS;
    char *bytes = calloc(size, 1);
    for (int fortran = 0; fortran < 2; fortran++) {
        memcpy(bytes, "\x93NUMPY\x01\x00\x76\x00", 10);
        int length = snprintf(bytes + 10, 118, "{'descr': '" NPY_F8 "', 'fortran_order': %s, 'shape': (%d, %d), }",
                              fortran ? "True" : "False", ROWS, COLS);
        memset(bytes + 10 + length, ' ', 118 - (size_t)length);
        for (size_t k = 0; k < ROWS * COLS; k++) {
            double value = (double)(k * k % 1009);
            memcpy(bytes + 128 + k * sizeof value, &value, sizeof value);
        }
        check_packed("data.npy", bytes, size, (hinge_data_options){ 0 }, fortran ? ONE : PARTS);
        double bad = NAN;
        memcpy(bytes + size - 99 * sizeof bad, &bad, sizeof bad);
        check_packed("data.npy", bytes, size, (hinge_data_options){ 0 }, BAD);
    }
    free(bytes);
}

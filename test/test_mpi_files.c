/* Files over ranks, which are threads here: the parts of all are what hinge_data_read makes of the whole. */
#include "mpi/train.h"
#include "test/ranks.h"
#include "test/support.h"

#include <hinge/io.h>

#include <stdio.h>
#include <string.h>

struct reading {
    const char *path;
    hinge_data all; /* what hinge_data_read makes of the file */
    hinge_error err;
    size_t rows;    /* read so far */
};

static void read_rank(const struct hm_net *net, void *arg)
{
    struct reading *r = arg;
    hinge_data part;
    hinge_error err;
    hinge_status status = hm_data_read(net, r->path, NULL, &part, &err);
    assert_int_equal(status, r->err.status);
    assert_string_equal(err.text, r->err.text);
    if (status != HINGE_OK)
        return;
    assert_int_equal(part.x.cols, r->all.x.cols);
    size_t counts[1024], first = 0;
    hm_sizes(net, part.x.rows, counts);
    for (int k = 0; k < net->rank; k++)
        first += counts[k];
    for (size_t i = 0; i < part.x.rows; i++) {
        assert_true(part.y[i] == r->all.y[first + i]);
        assert_memory_equal((const double *)part.x.data + i * part.x.stride,
                            (const double *)r->all.x.data + (first + i) * r->all.x.stride, part.x.cols * 8);
    }
    r->rows += part.x.rows;
    hinge_data_free(&part);
}

/* At every split: with as many ranks as bytes, each position begins a part. */
static void check_splits(const char *text)
{
    struct reading r = { .path = path_of("data") };
    FILE *file = fopen(r.path, "wb");
    size_t size = strlen(text);
    assert_int_equal(fwrite(text, 1, size, file), size);
    fclose(file);
    hinge_status status = hinge_data_read(r.path, NULL, &r.all, &r.err);
    for (size_t ranks = 1; ranks <= size + 2; ranks += ranks < 9 ? 1 : size + 2 - ranks > 0 ? size + 2 - ranks : 1) {
        r.rows = 0;
        run_ranks((int)ranks, read_rank, &r);
        if (status == HINGE_OK)
            assert_int_equal(r.rows, r.all.x.rows);
    }
    hinge_data_free(&r.all);
    assert_int_equal(remove(r.path), 0);
}

static void test_files(void **state)
{
    (void)state;
    check_splits("1 1:2 3:4\n-1 2:5\n1\n-1 4:1e3 # a comment\n");
    check_splits("+1 1:0.5 2:7\r\n-1 1:3\r\n+1 6:2");
    check_splits("\xef\xbb\xbf" "3 1:1\n2 1:2\n");
    check_splits("5 1:1");
    check_splits("1 1:1\n2 1:1\n1 2:x\n1 1:1\n");
    check_splits("1 1:1\n\n1 1:1\n");
    check_splits("");
    check_splits("1,2\n3,4\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_files, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

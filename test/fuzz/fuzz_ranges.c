/* Range files: what is read is written, must be the same when read again, and scales a row of numbers. */
#include "tool.h"

#include "tools/common.c"
#include "tools/system_posix.c"
#include "tools/options.c"
#include "tools/ranges.c"

struct task {
    const char *path;
    struct ranges ranges;
};

static void same_interval(struct interval a, struct interval b)
{
    CHECK(a.low == b.low && a.high == b.high);
}

static void check_ranges(const struct ranges *ranges)
{
    const hinge_scaling *x = &ranges->x;

    CHECK(x->lower < x->upper && (!ranges->scale_y || ranges->y_to.low < ranges->y_to.high));
    for (size_t k = 0; k < x->n_features; k++)
        CHECK(isfinite(x->low[k]) && isfinite(x->high[k]) && x->low[k] <= x->high[k]);
}

static void read_and_use(void *arg)
{
    struct task *task = arg, again = { .path = task->path };
    hinge_scaling *x = &task->ranges.x, *x_again = &again.ranges.x;

    ranges_read(&task->ranges, task->path);
    check_ranges(&task->ranges);
    ranges_write(&task->ranges, task->path);
    ranges_read(&again.ranges, task->path);
    CHECK(x_again->n_features == x->n_features && again.ranges.scale_y == task->ranges.scale_y);
    CHECK(x_again->lower == x->lower && x_again->upper == x->upper);
    if (task->ranges.scale_y) {
        same_interval(again.ranges.y_to, task->ranges.y_to);
        same_interval(again.ranges.y, task->ranges.y);
    }
    size_t cols = x->n_features + 1;
    double *factor = allocate(cols, sizeof *factor), *offset = allocate(cols, sizeof *offset);
    ranges_grow(&task->ranges, cols);
    CHECK(x->n_features == cols);
    check(hinge_scaling_factors(x, factor, offset, &failure));
    for (size_t k = 0; k < cols; k++) {
        CHECK(ranges_leave_out(&again.ranges, k) == ranges_leave_out(&task->ranges, k));
        if (ranges_leave_out(&task->ranges, k)) {
            CHECK(factor[k] == 0 && offset[k] == 0);
            continue;
        }
        CHECK(x_again->low[k] == x->low[k] && x_again->high[k] == x->high[k]);
        double low = x->low[k] * factor[k] + offset[k];
        CHECK(fabs(low - x->lower) <= 1e-9 * (fabs(offset[k]) + fabs(x->lower)));
    }
    /* the row of least values, as data that would be scaled */
    double *row = allocate(cols, sizeof *row), label = 1;
    for (size_t k = 0; k + 1 < cols; k++)
        row[k] = x->low[k];
    hinge_data data = { .x = hinge_matrix_f64(row, 1, cols), .y = &label };
    struct ranges here = { 0 };
    ranges_measure(&here, &data);
    warn_of_lost_features(&here, &task->ranges, task->path);
}

bool fuzz_one(const uint8_t *bytes, size_t size)
{
    struct task task = { .path = fuzz_file_of(bytes, size) };
    return tool_run(read_and_use, &task);
}

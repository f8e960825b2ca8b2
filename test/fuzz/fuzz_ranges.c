/* Range files: what is read is written, must be the same when read again, and scales a row of numbers. */
#include "tool.h"

#include "tools/common.c"
#include "tools/options.c"
#include "tools/ranges.c"

struct task {
    const char *path;
    struct ranges ranges;
    struct targets to;
};

static void same_interval(struct interval a, struct interval b)
{
    CHECK(a.low == b.low && a.high == b.high);
}

static void check_ranges(const struct ranges *ranges, const struct targets *to)
{
    CHECK(to->x.low < to->x.high && (!to->scale_y || to->y.low < to->y.high));
    for (size_t k = 0; k < ranges->count; k++)
        CHECK(isfinite(ranges->x[k].low) && isfinite(ranges->x[k].high) && ranges->x[k].low <= ranges->x[k].high);
}

static void read_and_use(void *arg)
{
    struct task *task = arg, again = { .path = task->path };

    ranges_read(&task->ranges, &task->to, task->path);
    check_ranges(&task->ranges, &task->to);
    ranges_write(&task->ranges, &task->to, task->path);
    ranges_read(&again.ranges, &again.to, task->path);
    CHECK(again.ranges.count == task->ranges.count && again.to.scale_y == task->to.scale_y);
    same_interval(again.to.x, task->to.x);
    if (task->to.scale_y) {
        same_interval(again.to.y, task->to.y);
        same_interval(again.ranges.y, task->ranges.y);
    }
    size_t cols = task->ranges.count + 1;
    double *factor = allocate(cols, sizeof *factor), *offset = allocate(cols, sizeof *offset);
    hinge_scaling scaling = ranges_scaling(&task->ranges, task->to.x, cols);
    check(hinge_scaling_factors(&scaling, factor, offset, &failure));
    for (size_t k = 0; k < cols; k++) {
        CHECK(ranges_leave_out(&again.ranges, k) == ranges_leave_out(&task->ranges, k));
        if (ranges_leave_out(&task->ranges, k)) {
            CHECK(factor[k] == 0 && offset[k] == 0);
            continue;
        }
        same_interval(again.ranges.x[k], task->ranges.x[k]);
        double low = task->ranges.x[k].low * factor[k] + offset[k];
        CHECK(fabs(low - task->to.x.low) <= 1e-9 * (fabs(offset[k]) + fabs(task->to.x.low)));
    }
    /* the row of least values, as data that would be scaled */
    double *row = allocate(cols, sizeof *row), label = 1;
    for (size_t k = 0; k + 1 < cols; k++)
        row[k] = task->ranges.x[k].low;
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

/* Small public pieces: the version, what statuses and outcomes are called, views of matrices. */
#include "lib/base/base.h"

#define QUOTE_(x) #x
#define QUOTE(x) QUOTE_(x)

const char *hinge_version(void)
{
    return QUOTE(HINGE_VERSION_MAJOR) "." QUOTE(HINGE_VERSION_MINOR) "." QUOTE(HINGE_VERSION_PATCH);
}

const char *hinge_status_text(hinge_status status)
{
    static const char *const text[] = {
        "success",        "invalid argument",           "out of memory", "input or output failed", "malformed input",
        "size too large", "the kernel function failed", "internal error"
    };
    return (size_t)status < sizeof text / sizeof *text ? text[status] : "unknown status";
}

const char *hinge_outcome_text(hinge_outcome outcome)
{
    static const char *const text[] = { "converged", "iteration limit", "time limit", "stopped",
                                        "stalled",   "not finite",      "no margin" };
    return (size_t)outcome < sizeof text / sizeof *text ? text[outcome] : "unknown outcome";
}
hinge_matrix hinge_matrix_f32(const float *data, size_t rows, size_t cols)
{
    return (hinge_matrix){ data, HINGE_F32, rows, cols, cols };
}

hinge_matrix hinge_matrix_f64(const double *data, size_t rows, size_t cols)
{
    return (hinge_matrix){ data, HINGE_F64, rows, cols, cols };
}

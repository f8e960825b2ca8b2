/*
 * The table of tasks: what each asks for and tells (include/hinge/hinge.h, hinge_task_row). The command, files, compat
 * and the tests walk it; what a task's quadratic program is says lib/data/problem.c. Quantile regression has
 * epsilon-SVR's number, as which LIBSVM reads its models.
 */
#include <hinge/hinge.h>

#include <stddef.h>

/* The task table: one row a task, in the order of hinge_task. */
static const hinge_task_row table[] = {
    { .task = HINGE_C_SVC, .keyword = "c_svc", .libsvm = 0, .classifies = 1, .uses_C = 1 },
    { .task = HINGE_NU_SVC, .keyword = "nu_svc", .libsvm = 1, .classifies = 1, .uses_nu = 1, .two_sums = 1 },
    { .task = HINGE_ONE_CLASS, .keyword = "one_class", .libsvm = 2, .one_class = 1, .uses_nu = 1 },
    { .task = HINGE_EPSILON_SVR, .keyword = "epsilon_svr", .libsvm = 3, .regresses = 1, .uses_C = 1, .uses_p = 1 },
    { .task = HINGE_NU_SVR, .keyword = "nu_svr", .libsvm = 4, .regresses = 1, .uses_C = 1, .uses_nu = 1,
      .two_sums = 1 },
    { .task = HINGE_QUANTILE, .keyword = "quantile", .libsvm = 3, .regresses = 1, .uses_C = 1, .uses_tau = 1 },
};

const hinge_task_row *hinge_task_info(hinge_task task)
{
    return (size_t)task < sizeof table / sizeof *table ? &table[task] : NULL;
}

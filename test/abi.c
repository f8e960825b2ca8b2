/*
 * The size of every public structure, as doc/abi.md promises it within one soname; abi.out has what they are to be.
 */
#include <hinge/hinge.h>
#include <hinge/io.h>
#include <hinge/qp.h>
#include <hinge/theory.h>

#include <stdio.h>

#define SHOW(type) printf("%-28s %zu\n", #type, sizeof(type))

int main(void)
{
    printf("%-28s %d\n", "HINGE_SOVERSION", HINGE_SOVERSION);
    SHOW(hinge_error);
    SHOW(hinge_matrix);
    SHOW(hinge_kernel);
    SHOW(hinge_kernel_part);
    SHOW(hinge_scaling);
    SHOW(hinge_progress);
    SHOW(hinge_params);
    SHOW(hinge_stages);
    SHOW(hinge_targets);
    SHOW(hinge_report);
    SHOW(hinge_predict_report);
    SHOW(hinge_predict_options);
    SHOW(hinge_certificate);
    SHOW(hinge_machine);
    SHOW(hinge_data_options);
    SHOW(hinge_data);
    SHOW(hinge_qp);
    SHOW(hinge_qp_result);
    SHOW(hinge_online_round);
    SHOW(hinge_perceptron_options);
    SHOW(hinge_sgd_options);
    SHOW(hinge_mercer);
    SHOW(hinge_point);
    SHOW(hinge_kinds);
    SHOW(hinge_leave_one_out_report);
    return 0;
}

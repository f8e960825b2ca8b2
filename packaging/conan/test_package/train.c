#include <hinge/hinge.h>
#include <stdio.h>

int main(void)
{
    double points[] = { 0, 0, 2, 2, 2, 0, 3, 0 }, labels[] = { -1, -1, 1, 1 }, predicted[4];
    hinge_matrix x = hinge_matrix_f64(points, 4, 2);
    hinge_params params = hinge_params_default(HINGE_C_SVC);
    params.kernel = hinge_kernel_rbf(0.5);
    params.C = 10;
    hinge_model *model = NULL;
    hinge_error err;
    if (hinge_train(&model, &x, labels, &params, NULL, &err) != HINGE_OK ||
        hinge_predict(model, &x, NULL, predicted, NULL, &err) != HINGE_OK)
        return fprintf(stderr, "%s\n", err.text), 1;
    hinge_model_free(model);
    for (int i = 0; i < 4; i++)
        if (predicted[i] != labels[i])
            return 1;
    printf("hinge %s trains on %s\n", hinge_version(), hinge_machine_info().blas);
    return 0;
}

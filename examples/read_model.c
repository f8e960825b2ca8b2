/*
 * Read a model that LIBSVM (or hinge) wrote, and predict one example with it.
 *
 *     read_model                        a small model in this file, and the example (0.5, 0.25)
 *     read_model FILE.model 0.5 0.25 .. a file, and the features of an example
 */
#include <hinge/io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char small_model[] = "svm_type c_svc\n"
                                  "kernel_type rbf\n"
                                  "gamma 0.5\n"
                                  "nr_class 2\n"
                                  "total_sv 3\n"
                                  "rho -0.125\n"
                                  "label 1 -1\n"
                                  "nr_sv 2 1\n"
                                  "SV\n"
                                  "0.75 1:1 2:0.5 \n"
                                  "0.25 2:1 \n"
                                  "-1 1:-1 2:-0.5 \n";

int main(int argc, char **argv)
{
    hinge_model *model = NULL;
    hinge_error err;
    hinge_status status = argc > 1
                              ? hinge_model_load(&model, argv[1], NULL, &err)
                              : hinge_model_parse(&model, "small model", small_model, strlen(small_model), NULL, &err);
    if (status != HINGE_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    hinge_kernel kernel = hinge_model_kernel(model);
    size_t d = hinge_model_n_features(model), n_problems = hinge_model_n_problems(model);
    printf("%zu support vectors of %zu features, %zu classes, %s kernel, gamma %g\n", hinge_model_n_sv(model), d,
           hinge_model_n_classes(model), hinge_kernel_info(kernel.type)->keyword, kernel.gamma);

    /* Features that are not given are 0. */
    double *x = calloc(d, sizeof *x), *decisions = calloc(n_problems, sizeof *decisions), label;
    if (!x || !decisions)
        return 1;
    for (size_t j = 0; j < d; j++)
        x[j] = argc == 1 ? 0.5 / (double)(j + 1) : (int)j + 2 < argc ? strtod(argv[j + 2], NULL) : 0;

    hinge_matrix example = hinge_matrix_f64(x, 1, d);
    status = hinge_predict(model, &example, NULL, &label, decisions, &err);
    if (status == HINGE_OK)
        printf("label %g, first decision value %.6f\n", label, decisions[0]);
    else
        fprintf(stderr, "%s\n", err.text);
    free(x);
    free(decisions);
    hinge_model_free(model);
    return status != HINGE_OK;
}

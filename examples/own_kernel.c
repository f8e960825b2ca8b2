/*
 * A kernel of one's own: which of two dice was thrown, judged by how often each face came up in 50 throws.
 * Histograms are compared by their intersection, K(a, b) = sum over faces of min(a, b).
 */
#include <hinge/hinge.h>
#include <stdio.h>
#include <string.h>

enum { N = 300, FACES = 6, THROWS = 50 };

/* Fills out[i*ld + j] = K(row i of a, row j of b). hinge calls it for blocks of rows, from several threads. */
static int intersection(void *cookie, const hinge_matrix *a, const hinge_matrix *b, double *out, size_t ld)
{
    (void)cookie; /* whatever was given to hinge_kernel_user: parameters of the kernel, for instance */
    const double *rows_a = a->data, *rows_b = b->data;
    for (size_t i = 0; i < a->rows; i++)
        for (size_t j = 0; j < b->rows; j++) {
            double sum = 0;
            for (size_t k = 0; k < a->cols; k++) {
                double u = rows_a[i * a->stride + k], v = rows_b[j * b->stride + k];
                sum += u < v ? u : v;
            }
            out[i * ld + j] = sum;
        }
    return 0; /* anything else makes the call end with HINGE_ECALLBACK */
}

/* Example i: throws of the loaded die (label 2), which shows its last face more often, or of the fair one (1).
 */
static void throw_dice(double *x, double *y)
{
    static uint32_t state = 7;
    memset(x, 0, N * FACES * sizeof *x);
    for (size_t i = 0; i < N; i++) {
        unsigned sides = i % 2 ? FACES + 2 : FACES;
        y[i] = i % 2 ? 2 : 1;
        for (int t = 0; t < THROWS; t++) {
            state = state * 1664525u + 1013904223u;
            unsigned face = (state >> 16) % sides;
            x[i * FACES + (face < FACES ? face : FACES - 1)] += 1.0 / THROWS;
        }
    }
}

int main(void)
{
    static double x[N * FACES], y[N], x_new[N * FACES], y_new[N], predicted[N];
    throw_dice(x, y);
    throw_dice(x_new, y_new);
    hinge_matrix examples = hinge_matrix_f64(x, N, FACES), new_examples = hinge_matrix_f64(x_new, N, FACES);

    hinge_params params = hinge_params_default(HINGE_C_SVC);
    params.kernel = hinge_kernel_user("intersection", intersection, NULL);
    params.C = 10;
    hinge_model *model = NULL;
    hinge_error err;
    if (hinge_train(&model, &examples, y, &params, NULL, &err) != HINGE_OK ||
        hinge_predict(model, &new_examples, NULL, predicted, NULL, &err) != HINGE_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    int right = 0;
    for (size_t i = 0; i < N; i++)
        right += predicted[i] == y_new[i];
    printf("kernel \"%s\": right on %d of %d new examples\n", hinge_model_kernel(model).name, right, N);
    hinge_model_free(model);
    return 0;
}

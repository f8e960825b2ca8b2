/*
 * What a small training costs: `small hinge|libsvm ROWS TIMES` trains C-SVC, RBF, one thread, on made-up rows, TIMES
 * times over. Run by callgrind with two counts of times, the difference is a training's instructions (README.md).
 */
#include <hinge/hinge.h>
#include <libsvm/svm.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEATURES = 8, MOST_ROWS = 1000 };

static double x[MOST_ROWS * FEATURES], y[MOST_ROWS];
static struct svm_node nodes[MOST_ROWS][FEATURES + 1], *row[MOST_ROWS];

/* Two clouds that overlap. */
static void make(int n)
{
    uint64_t state = 12345;
    for (int i = 0; i < n; i++) {
        y[i] = i % 2 ? 1 : -1;
        row[i] = nodes[i];
        nodes[i][FEATURES].index = -1;
        for (int c = 0; c < FEATURES; c++) {
            double sum = 0.4 * y[i];
            for (int k = 0; k < 4; k++) {
                state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
                sum += (double)(state >> 33) / (double)(UINT64_C(1) << 31) - 0.5;
            }
            x[i * FEATURES + c] = sum;
            nodes[i][c] = (struct svm_node){ c + 1, sum };
        }
    }
}

static void quiet(const char *text)
{
    (void)text;
}

static size_t train_libsvm(int n)
{
    struct svm_problem problem = { n, y, row };
    struct svm_parameter p;
    memset(&p, 0, sizeof p);
    p.svm_type = C_SVC;
    p.kernel_type = RBF;
    p.gamma = 0.125;
    p.C = 1;
    p.eps = 1e-3;
    p.cache_size = 100;
    p.shrinking = 1;
    struct svm_model *model = svm_train(&problem, &p);
    size_t n_sv = (size_t)svm_get_nr_sv(model);
    svm_free_and_destroy_model(&model);
    return n_sv;
}

static size_t train_hinge(int n)
{
    hinge_matrix m = hinge_matrix_f64(x, (size_t)n, FEATURES);
    hinge_params p = hinge_params_default(HINGE_C_SVC);
    hinge_model *model = NULL;
    hinge_error err;
    p.kernel = hinge_kernel_rbf(0.125);
    p.threads = 1;
    if (hinge_train(&model, &m, y, &p, NULL, &err) != HINGE_OK) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    size_t n_sv = hinge_model_n_sv(model);
    hinge_model_free(model);
    return n_sv;
}

int main(int argc, char **argv)
{
    int n = argc == 4 ? atoi(argv[2]) : 0, times = argc == 4 ? atoi(argv[3]) : 0;
    if (n < 2 || n > MOST_ROWS || times < 1) {
        fputs("usage: small hinge|libsvm ROWS TIMES\n", stderr);
        return 2;
    }
    size_t n_sv = 0;
    make(n);
    svm_set_print_string_function(quiet);
    for (int t = 0; t < times; t++)
        n_sv = strcmp(argv[1], "hinge") == 0 ? train_hinge(n) : train_libsvm(n);
    printf("%s: %d rows, %zu support vectors\n", argv[1], n, n_sv);
    return 0;
}

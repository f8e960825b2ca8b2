/* Model files. What loads is saved and loaded again, must then be the same, and predicts the same bits. */
#include "fuzz.h"

#include "lib/model/model.h"

#include <math.h>

enum { MOST_FEATURES = 1000000 };

static int product(void *cookie, const hinge_matrix *a, const hinge_matrix *b, double *out, size_t ld)
{
    (void)cookie;
    for (size_t i = 0; i < a->rows; i++)
        for (size_t j = 0; j < b->rows; j++) {
            double sum = 0;
            for (size_t k = 0; k < a->cols; k++)
                sum += ((const double *)a->data)[i * a->stride + k] * ((const double *)b->data)[j * b->stride + k];
            out[i * ld + j] = sum;
        }
    return 0;
}

static hinge_model *load(const void *bytes, size_t size)
{
    hinge_kernel user = hinge_kernel_user("mine", product, NULL);
    hinge_model *model = NULL;
    hinge_error err;
    hinge_status status = hinge_model_parse(&model, "fuzz", bytes, size, &user, &err);
    fuzz_check_error(status, &err);
    CHECK((model != NULL) == (status == HINGE_OK));
    return model;
}

static void check_model(const hinge_model *m)
{
    size_t sum = 0;
    CHECK(m->n_sv * m->d * hg_size_of(m->sv_type) <= FUZZ_MEMORY || m->sv == NULL);
    for (size_t c = 0; m->class_sv != NULL && c < m->n_classes; c++)
        sum += m->class_sv[c];
    CHECK(m->class_sv == NULL || sum == m->n_sv);
    for (size_t p = 0; p < m->n_problems; p++)
        CHECK(isfinite(m->rho[p]));
    for (size_t i = 0; i < hg_model_coef_rows(m) * m->n_sv; i++)
        CHECK(isfinite(m->coef[i]));
    for (size_t i = 0; m->sv != NULL && i < m->n_sv * m->d; i++)
        CHECK(isfinite(hg_element(m->sv, m->sv_type, i)));
    for (size_t i = 0; m->sv_serial != NULL && i < m->n_sv; i++)
        CHECK(m->sv_serial[i] < m->d);
}

static bool same(const void *a, const void *b, size_t size)
{
    return (a == NULL) == (b == NULL) && (a == NULL || size == 0 || memcmp(a, b, size) == 0);
}

static void check_same(const hinge_model *a, const hinge_model *b)
{
    CHECK(a->task == b->task && a->kernel.type == b->kernel.type && a->multiclass == b->multiclass);
    CHECK(a->d == b->d && a->n_sv == b->n_sv && a->n_classes == b->n_classes && a->n_problems == b->n_problems);
    CHECK(a->kernel.gamma == b->kernel.gamma && a->kernel.coef0 == b->kernel.coef0);
    CHECK(a->kernel.degree == b->kernel.degree);
    CHECK(same(a->labels, b->labels, a->n_classes * sizeof *a->labels));
    CHECK(same(a->class_sv, b->class_sv, a->n_classes * sizeof *a->class_sv));
    CHECK(same(a->rho, b->rho, a->n_problems * sizeof *a->rho));
    CHECK(same(a->coef, b->coef, hg_model_coef_rows(a) * a->n_sv * sizeof *a->coef));
    CHECK(a->sv_type == b->sv_type && same(a->sv, b->sv, a->n_sv * a->d * hg_size_of(a->sv_type)));
    CHECK(same(a->sv_serial, b->sv_serial, a->n_sv * sizeof *a->sv_serial));
    CHECK(same(a->prob_a, b->prob_a, a->n_problems * sizeof *a->prob_a));
    CHECK(same(a->prob_b, b->prob_b, a->n_problems * sizeof *a->prob_b));
    CHECK(same(a->density_marks, b->density_marks, 10 * sizeof *a->density_marks));
    CHECK(same(a->scale_factor, b->scale_factor, a->d * sizeof *a->scale_factor));
    CHECK(same(a->scale_offset, b->scale_offset, a->d * sizeof *a->scale_offset));
    CHECK(same(a->scale_origin, b->scale_origin, a->d * sizeof *a->scale_origin));
    CHECK(same(a->scale_base, b->scale_base, a->d * sizeof *a->scale_base));
    CHECK(a->n_training == b->n_training && same(a->training, b->training, a->n_training * sizeof *a->training));
}

static bool is_label(const hinge_model *m, double label)
{
    if (m->task == HINGE_ONE_CLASS)
        return label == 1 || label == -1;
    for (size_t c = 0; c < m->n_classes && m->labels != NULL; c++)
        if (m->labels[c] == label)
            return true;
    return m->labels == NULL; /* a value: of any kind where the kernel overflows */
}

/* labels[rows], then decisions[rows * n_problems] */
static double *predict(const hinge_model *m, const hinge_matrix *x, hinge_precision precision)
{
    hinge_predict_options options = { .threads = 1, .precision = precision };
    double *out = malloc(x->rows * (m->n_problems + 1) * sizeof *out);
    hinge_error err;
    CHECK(out != NULL);
    hinge_status status = hinge_predict(m, x, &options, out, out + x->rows, &err);
    CHECK(status == HINGE_OK);
    for (size_t i = 0; i < x->rows; i++)
        CHECK(is_label(m, out[i]));
    return out;
}

/* A calibrated model has probabilities, which sum to 1. Where the decision values are infinite there may be none. */
static void check_probability(const hinge_model *m, const hinge_matrix *x)
{
    double *out = malloc(x->rows * m->n_classes * sizeof *out), labels[2];
    hinge_error err;
    CHECK(out != NULL);
    hinge_status status = hinge_predict_probability(m, x, NULL, labels, out, &err);
    fuzz_check_error(status, &err);
    for (size_t i = 0; status == HINGE_OK && i < x->rows; i++) {
        double sum = 0;
        for (size_t c = 0; c < m->n_classes; c++)
            sum += out[i * m->n_classes + c];
        CHECK(isnan(sum) || fabs(sum - 1) < 1e-9);
    }
    free(out);
}

/* Predicts by both models, but for rows too long for the memory that a fuzzer has: a precomputed model's serial numbers
 * may be as large as an int. */
static void use(const hinge_model *m, const hinge_model *again)
{
    if (m->d > MOST_FEATURES)
        return;
    double *x = malloc(2 * (m->d + 1) * sizeof *x);
    CHECK(x != NULL);
    for (size_t k = 0; k < 2 * m->d; k++)
        x[k] = k < m->d ? 0 : 0.5 + (double)(k % 7);
    hinge_matrix matrix = hinge_matrix_f64(x, 2, m->d);
    for (int precision = HINGE_PRECISION_AUTO; precision <= HINGE_PRECISION_F64; precision++) {
        double *a = predict(m, &matrix, (hinge_precision)precision);
        double *b = predict(again, &matrix, (hinge_precision)precision);
        CHECK(memcmp(a, b, 2 * (m->n_problems + 1) * sizeof *a) == 0);
        free(a);
        free(b);
    }
    check_probability(m, &matrix);
    free(x);
}

bool fuzz_one(const uint8_t *bytes, size_t size)
{
    hinge_model *model = load(bytes, size), *again;
    char *text, *second;
    size_t length, second_length;

    if (model == NULL)
        return false;
    check_model(model);
    CHECK(hinge_model_format(model, &text, &length, NULL) == HINGE_OK);
    again = load(text, length);
    CHECK(again != NULL);
    check_same(model, again);
    CHECK(hinge_model_format(again, &second, &second_length, NULL) == HINGE_OK);
    CHECK(length == second_length && memcmp(text, second, length) == 0);
    use(model, again);
    if (hinge_model_widen(again, again->d + 1, NULL) == HINGE_OK)
        check_model(again);
    hinge_free(text);
    hinge_free(second);
    hinge_model_free(again);
    hinge_model_free(model);
    return true;
}

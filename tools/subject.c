/* A model beside data: see subject.h. */
#include <stdlib.h>
#include <string.h>

#include "subject.h"

static void scale(struct subject *s)
{
    const double *factor = hinge_model_scale_factor(s->model), *base = hinge_model_scale_base(s->model);
    const double *origin = hinge_model_scale_origin(s->model);
    const hinge_matrix *x = &s->data.x;
    s->trained = *x;
    if (!factor)
        return;
    s->scaled = allocate(x->rows, x->cols * sizeof *s->scaled);
    for (size_t i = 0; i < x->rows; i++)
        for (size_t k = 0; k < x->cols; k++) {
            double value = ((const double *)x->data)[i * x->stride + k];
            s->scaled[i * x->cols + k] = (value - (origin ? origin[k] : 0)) * factor[k] + base[k];
        }
    s->trained = hinge_matrix_f64(s->scaled, x->rows, x->cols);
}

/* A precomputed kernel's rows must be those of the kernel matrix, in its order. */
static int rows_in_order(const struct subject *s)
{
    for (size_t i = 0; s->data.serial && i < s->data.x.rows; i++)
        if (s->data.serial[i] != i + 1)
            return 0;
    return 1;
}

static void locate(struct subject *s)
{
    if (!rows_in_order(s))
        snprintf(s->why, sizeof s->why, "the rows of the kernel matrix are not in their order");
    else if (hinge_model_locate(s->model, &s->trained, s->data.y, NULL, &failure) != HINGE_OK)
        snprintf(s->why, sizeof s->why, "%s", failure.text);
    else
        s->located = 1;
}

void subject_load(struct subject *s, const char *model_path, const char *data_path, const struct data_flags *flags,
                  int threads)
{
    hinge_predict_options options = { .threads = threads, .precision = HINGE_PRECISION_F64 };
    struct data_flags as_doubles = *flags;
    size_t n;
    memset(s, 0, sizeof *s);
    s->model = load_model(model_path);
    as_doubles.read.type = HINGE_F64;
    load_for_model(data_path, &as_doubles, s->model, threads, &s->data);
    need_labels(data_path, &s->data, "compare with", "--labels");
    n = s->data.x.rows;
    if (n == 0)
        die(EXIT_DATA, "%s: the file holds no examples", data_path);
    scale(s);
    s->labels = allocate(n, sizeof *s->labels);
    s->decisions = allocate(n, hinge_model_n_problems(s->model) * sizeof *s->decisions);
    check(hinge_predict(s->model, &s->data.x, &options, s->labels, s->decisions, &failure));
    locate(s);
}

void subject_free(struct subject *s)
{
    hinge_model_free(s->model);
    hinge_data_free(&s->data);
    free(s->scaled);
    free(s->labels);
    free(s->decisions);
}

const hinge_words *subject_words(const struct subject *s)
{
    return s->data.words.count ? &s->data.words : hinge_model_words(s->model);
}

size_t subject_labels(const struct subject *s, double *labels, size_t most)
{
    static const double normal[2] = { 1, -1 };
    const double *classes = is_classifier(s->model) ? hinge_model_labels(s->model) : normal;
    size_t count = 0;
    for (size_t k = 0; k < hinge_model_n_classes(s->model) && count < most; k++)
        /* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign): two classes where it is no classifier */
        labels[count++] = classes[k];
    for (size_t i = 0; i < s->data.x.rows && count < most; i++)
        if (place_of(labels, count, s->data.y[i]) == count)
            labels[count++] = s->data.y[i];
    return count;
}

double problem_sign(const hinge_model *model, size_t problem, double label)
{
    const double *labels = hinge_model_labels(model);
    size_t a, b;
    problem_classes(model, problem, &a, &b);
    if (label == labels[a])
        return 1;
    return b == SIZE_MAX || label == labels[b] ? -1 : 0;
}

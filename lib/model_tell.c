/* Tells a program of a model: its kind, sizes, vectors and coefficients. */
#include "lib/model.h"

#include <hinge/scaling.h>
#include <math.h>
#include <string.h>

/* Tell what stands in the model as it is: type, function, field. */
#define TELL(type, function, field) \
    type function(const hinge_model *m) \
    { \
        return m->field; \
    }
TELL(hinge_task, hinge_model_task, task)
TELL(double, hinge_model_tau, tau)
TELL(hinge_kernel, hinge_model_kernel, kernel)
TELL(size_t, hinge_model_n_features, d)
TELL(hinge_multiclass, hinge_model_multiclass, multiclass)
TELL(size_t, hinge_model_n_classes, n_classes)
TELL(size_t, hinge_model_n_problems, n_problems)
TELL(size_t, hinge_model_n_sv, n_sv)
TELL(const double *, hinge_model_labels, labels)
TELL(const size_t *, hinge_model_class_sv, class_sv)
TELL(const double *, hinge_model_rho, rho)
TELL(const double *, hinge_model_objectives, objectives)
TELL(const size_t *, hinge_model_sv_index, sv_index)
TELL(const double *, hinge_model_coef, coef)
TELL(const double *, hinge_model_scale_factor, scale_factor)
TELL(const double *, hinge_model_scale_offset, scale_offset)
TELL(const double *, hinge_model_scale_origin, scale_origin)

const double *hinge_model_scale_base(const hinge_model *m)
{
    return m->scale_base != NULL ? m->scale_base : m->scale_offset;
}

hinge_status hinge_model_sv(const hinge_model *m, size_t i, double *x, hinge_error *err)
{
    if (i >= m->n_sv)
        return hg_fail(err, HINGE_EINVAL, "i: there is no support vector %zu, only %zu", i, m->n_sv);
    if (m->sv == NULL)
        return hg_fail(err, HINGE_EINVAL, "model: a precomputed kernel's support vectors have no features");
    memcpy(x, m->sv + i * m->d, m->d * sizeof *x);
    return hg_ok(err);
}

hinge_status hinge_model_weights(const hinge_model *m, size_t problem, double *w, hinge_error *err)
{
    if (m->weights == NULL && m->sv_serial == NULL)
        return hg_fail(err, HINGE_EINVAL, "model: its kernel is %s; only linear and precomputed ones have weights",
                       hinge_kernel_info(m->kernel.type)->keyword);
    if (problem >= m->n_problems)
        return hg_fail(err, HINGE_EINVAL, "problem: there is no problem %zu, only %zu", problem, m->n_problems);
    if (m->weights != NULL) {
        memcpy(w, m->weights + problem * m->d, m->d * sizeof *w);
        return hg_ok(err);
    }
    memset(w, 0, m->d * sizeof *w);
    for (struct hg_coef c = { 0 }; hg_next_coef(m, &c);)
        if (c.problem == problem)
            w[m->sv_serial[c.sv]] += c.value;
    return hg_ok(err);
}

hinge_status hinge_model_beta(const hinge_model *m, size_t n, double *beta, hinge_error *err)
{
    if (m->sv_index == NULL)
        return hg_fail(err, HINGE_EINVAL, "model: read from a file, its training rows are not known");
    if (n != m->n_trained)
        return hg_fail(err, HINGE_EINVAL, "n: %zu, but the model was trained on %zu rows", n, m->n_trained);
    memset(beta, 0, m->n_problems * n * sizeof *beta);
    for (struct hg_coef c = { 0 }; hg_next_coef(m, &c);)
        beta[c.problem * n + m->sv_index[c.sv]] = c.value;
    return hg_ok(err);
}

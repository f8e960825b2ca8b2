/*
 * Tells a program of a model: its kind, sizes, vectors and coefficients, and how it was trained. All of it reads
 * model.h's fields as they are; what prediction derives stays inside. NULL stands for an empty model wherever no error
 * can be told.
 */
#include "lib/model/model.h"

#include <hinge/scaling.h>
#include <math.h>
#include <string.h>

/* An empty model stands for NULL. */
static const hinge_model *or_empty(const hinge_model *m)
{
    static const hinge_model empty = { .n_sv = 0 };
    return m != NULL ? m : &empty;
}

/* Tell what stands in the model as it is: type, function, field. */
#define TELL(type, function, field) \
    type function(const hinge_model *m) \
    { \
        return or_empty(m)->field; \
    }
TELL(hinge_task, hinge_model_task, task)
TELL(double, hinge_model_tau, tau)
TELL(hinge_kernel, hinge_model_kernel, kernel)
TELL(size_t, hinge_model_n_features, d)
TELL(hinge_multiclass, hinge_model_multiclass, multiclass)
TELL(size_t, hinge_model_n_classes, n_classes)
TELL(size_t, hinge_model_n_problems, n_problems)
TELL(size_t, hinge_model_n_targets, n_targets)
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

/* Returns the bases of a model scaled with origins, or else its offsets, which are the same for origins of 0. */
const double *hinge_model_scale_base(const hinge_model *m)
{
    return or_empty(m)->scale_base != NULL ? m->scale_base : or_empty(m)->scale_offset;
}

/* Tells a vector as it was given, in f64, before shift and scaling. */
hinge_status hinge_model_sv(const hinge_model *m, size_t i, double *x, hinge_error *err)
{
    HG_NEED(err, m, "model");
    if (i >= m->n_sv)
        return hg_fail(err, HINGE_EINVAL, "i: there is no support vector %zu, only %zu", i, m->n_sv);
    if (m->sv == NULL)
        return hg_fail(err, HINGE_EINVAL, "model: a precomputed kernel's support vectors have no features");
    struct hg_points points = hg_model_points(m, HINGE_F64);
    hg_points_given(&points, i, 0, m->d, x);
    return hg_ok(err);
}

/* Tells w of a linear kernel as prediction uses it; of a precomputed one the coefficients by column of the matrix, for
 * f = sum of w_c K(x, c) - rho. */
hinge_status hinge_model_weights(const hinge_model *m, size_t problem, double *w, hinge_error *err)
{
    HG_NEED(err, m, "model");
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

/* Spreads coefficients over the rows of training: beta[problem * n + row], 0 for rows that are no support vectors. It
 * is what hinge_params.beta0 takes for a warm start. */
hinge_status hinge_model_beta(const hinge_model *m, size_t n, double *beta, hinge_error *err)
{
    HG_NEED(err, m, "model");
    if (m->sv_index == NULL)
        return hg_fail(err, HINGE_EINVAL, "model: read from a file, its training rows are not known");
    if (n != m->n_trained)
        return hg_fail(err, HINGE_EINVAL, "n: %zu, but the model was trained on %zu rows", n, m->n_trained);
    memset(beta, 0, m->n_problems * n * sizeof *beta);
    for (struct hg_coef c = { 0 }; hg_next_coef(m, &c);)
        beta[c.problem * n + m->sv_index[c.sv]] = c.value;
    return hg_ok(err);
}

/* ---- how it was trained ----------------------------------------------------------------------------------------- */

/* Labels and weights of classes stand one behind the other: arrays that hinge_params can point at. The hard margin's C
 * is 0, since files hold finite numbers. */
hinge_status hinge_model_set_training(hinge_model *m, const hinge_params *p, hinge_error *err)
{
    double *t = NULL;
    size_t k = p != NULL ? p->n_class_weights : 0;
    HG_NEED(err, m, "model");
    if (p != NULL && p->task != m->task)
        return hg_fail(err, HINGE_EINVAL, "params.task: not that of the model");
    if (p != NULL) {
        HG_TRY(HG_MAKE(err, "the parameters of a training", HG_ARRAY(t, HG_TRAINING_FIELDS + 2 * k)));
        t[HG_TRAINING_C] = isinf(p->C) ? 0 : p->C == 0 ? 1 : p->C;
        t[HG_TRAINING_NU] = p->nu == 0 ? 0.5 : p->nu;
        t[HG_TRAINING_P] = p->p;
        t[HG_TRAINING_EPS] = p->eps == 0 ? 1e-3 : p->eps;
        t[HG_TRAINING_NO_BIAS] = p->no_bias != 0;
        t[HG_TRAINING_WEIGHTED] = p->weights != NULL;
        for (size_t c = 0; c < k; c++) {
            t[HG_TRAINING_FIELDS + c] = p->class_labels[c];
            t[HG_TRAINING_FIELDS + k + c] = p->class_weights[c];
        }
    }
    hg_free(m->training);
    m->training = t;
    m->n_training = t != NULL ? HG_TRAINING_FIELDS + 2 * k : 0;
    return hg_ok(err);
}

/* Fills in the fields of p that the model knows, and leaves the others; class_labels and class_weights point into the
 * model, which must outlive them. */
int hinge_model_training(const hinge_model *m, hinge_params *p, int *weighted)
{
    const double *t = m != NULL ? m->training : NULL;
    if (t == NULL)
        return 0;
    p->task = m->task;
    p->tau = m->tau;
    p->kernel = m->kernel;
    p->multiclass = m->multiclass;
    p->C = t[HG_TRAINING_C] == 0 ? INFINITY : t[HG_TRAINING_C];
    p->nu = t[HG_TRAINING_NU];
    p->p = t[HG_TRAINING_P];
    p->eps = t[HG_TRAINING_EPS];
    p->no_bias = t[HG_TRAINING_NO_BIAS] != 0;
    p->n_class_weights = (m->n_training - HG_TRAINING_FIELDS) / 2;
    p->class_labels = t + HG_TRAINING_FIELDS;
    p->class_weights = t + HG_TRAINING_FIELDS + p->n_class_weights;
    if (weighted != NULL)
        *weighted = t[HG_TRAINING_WEIGHTED] != 0;
    return 1;
}

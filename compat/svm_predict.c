/*
 * Prediction of one example from the public fields of a model, which may be the caller's own making: kernel
 * values in double, one support vector after the other.
 */
#include "compat/svm_own.h"
#include "lib/folds/proba.h"

#include <hinge/theory.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- kernel values --------------------------------------------------------------------------------------- */

/* The example: its nodes, and spread out where its indices are few enough, so that a support vector's nodes
 * find their partners without a search. */
struct example {
    const struct svm_node *x;
    double *spread;   /* [size] by index, or NULL */
    unsigned size;    /* its largest index + 1 */
    double norm;      /* sum of squares */
    int first, count; /* its smallest index; its nodes */
    bool full;        /* it has a node for every index from the smallest to the largest */
};

static double square(double v)
{
    return v * v;
}

/* Room for l numbers, as many classes and decision values as the model has and, where that is not much more, for the
 * example's size. */
static double *example_init(struct example *e, const struct svm_node *x, const struct svm_model *m, size_t l)
{
    int kernel_type = m->param.kernel_type;
    size_t own = l + 1 + (m->nr_class > 0 ? (size_t)m->nr_class : 0) + hgc_pairs(m), size = 0, spread = 0;
    *e = (struct example){ x, NULL, 0, 0, x->index, 0, false };
    for (const struct svm_node *p = x; kernel_type != PRECOMPUTED && p->index != -1; p++)
        if (p->index >= 0 && (size_t)p->index >= size)
            size = (size_t)p->index + 1;
    if (kernel_type != PRECOMPUTED && size <= 16 * l + 256)
        spread = size;
    double *room = malloc((own + spread) * sizeof *room);
    if (room == NULL || kernel_type == PRECOMPUTED || spread < size)
        return room;
    e->spread = room + own;
    e->size = (unsigned)size;
    memset(e->spread, 0, size * sizeof *room);
    for (const struct svm_node *p = x; p->index != -1; p++)
        if (p->index >= 0) {
            e->spread[p->index] = p->value;
            e->norm += square(p->value);
            e->count++;
        }
    e->full = e->first >= 0 && e->count == (int)size - e->first;
    return room;
}

static double sparse_dot(const struct svm_node *a, const struct svm_node *b)
{
    double sum = 0;
    while (a->index != -1 && b->index != -1) {
        if (a->index == b->index)
            sum += a++->value * b++->value;
        else if (a->index < b->index)
            a++;
        else
            b++;
    }
    return sum;
}

/* The end, -1, is beyond every size as an unsigned number. Two sums: half the wait for additions. */
static double dot(const struct example *e, const struct svm_node *sv)
{
    double even = 0, odd = 0;
    if (e->spread == NULL)
        return sparse_dot(e->x, sv);
    for (; (unsigned)sv[0].index < e->size; sv += 2) {
        even += sv[0].value * e->spread[sv[0].index];
        if ((unsigned)sv[1].index >= e->size)
            break;
        odd += sv[1].value * e->spread[sv[1].index];
    }
    return even + odd;
}

static double sparse_distance(const struct svm_node *a, const struct svm_node *b)
{
    double sum = 0;
    while (a->index != -1 && b->index != -1) {
        if (a->index == b->index)
            sum += square(a++->value - b++->value);
        else if (a->index < b->index)
            sum += square(a++->value);
        else
            sum += square(b++->value);
    }
    for (; a->index != -1; a++)
        sum += square(a->value);
    for (; b->index != -1; b++)
        sum += square(b->value);
    return sum;
}

/* Sum of squares of those of x's features that z has too. */
static double norm_met(const struct example *e, const struct svm_node *sv)
{
    double met = 0;
    for (; (unsigned)sv->index < e->size; sv++)
        met += square(e->spread[sv->index]);
    return met;
}

/* The bound of what cancels: gamma times a squared distance may be wrong by 1e-16 times this, before it shows. */
static const double CANCELS = 1e3;

/* ||x - z||^2: over z's features, and what x has besides them; nothing, exactly, where z has all of x's. What x has
 * besides is its norm less what was met, or, where digits that matter would cancel, summed itself. */
static double square_distance(const struct example *e, const struct svm_node *sv, double gamma)
{
    double sum = 0, met = 0;
    bool covered = false;
    const struct svm_node *p = sv;
    if (e->spread == NULL)
        return sparse_distance(e->x, sv);
    if (e->full) {
        for (; (unsigned)p->index < e->size; p++)
            sum += square(p->value - e->spread[p->index]);
        covered = p - sv == e->count && (p == sv || sv->index >= e->first);
        met = covered ? e->norm : norm_met(e, sv);
    } else {
        for (; (unsigned)p->index < e->size; p++) {
            double v = e->spread[p->index];
            sum += square(p->value - v);
            met += square(v);
        }
    }
    if (!covered && met > 0 && !(gamma * e->norm * e->count < CANCELS))
        return sparse_distance(e->x, sv);
    for (; p->index != -1; p++)
        sum += square(p->value);
    return sum + fmax(e->norm - met, 0);
}

static double power(double base, int exponent)
{
    double result = 1;
    for (; exponent > 0; exponent /= 2, base *= base)
        if (exponent % 2 == 1)
            result *= base;
    return result;
}

static double kernel(const struct svm_parameter *p, const struct example *e, const struct svm_node *sv)
{
    switch (p->kernel_type) {
    case LINEAR: return dot(e, sv);
    case POLY: return power(p->gamma * dot(e, sv) + p->coef0, p->degree);
    case RBF: return exp(-p->gamma * square_distance(e, sv, p->gamma));
    case SIGMOID: return tanh(p->gamma * dot(e, sv) + p->coef0);
    case PRECOMPUTED: return e->x[(int)sv->value].value;
    default: return 0;
    }
}

/* ---- decision values ------------------------------------------------------------------------------------- */

static double decide_single(const struct svm_model *m, const double *values)
{
    double sum = 0;
    for (int i = 0; i < m->l; i++)
        sum += m->sv_coef[0][i] * values[i];
    return sum - m->rho[0];
}

/* Returns f of class a against class b: sum over SVs of a of coef[b - 1], over SVs of b of coef[a]. */
static double decide_pair(const struct svm_model *m, const double *values, int a, int first_a, int b, int first_b)
{
    double sum = 0;
    const double *of_a = m->sv_coef[b - 1], *of_b = m->sv_coef[a];
    for (int i = first_a; i < first_a + m->nSV[a]; i++)
        sum += of_a[i] * values[i]; /* NOLINT(clang-analyzer-core.UndefinedBinaryOperatorResult): nSV sums to l */
    for (int i = first_b; i < first_b + m->nSV[b]; i++)
        sum += of_b[i] * values[i];
    return sum;
}

/* Returns the label of the class with most votes; votes: room for all classes. */
static double classify(const struct svm_model *m, const double *values, size_t *votes, double *decisions)
{
    for (int a = 0, first_a = 0, p = 0; a < m->nr_class; first_a += m->nSV[a++])
        for (int b = a + 1, first_b = first_a + m->nSV[a]; b < m->nr_class; first_b += m->nSV[b++], p++)
            decisions[p] = decide_pair(m, values, a, first_a, b, first_b) - m->rho[p];
    return m->label[hg_vote((size_t)m->nr_class, false, decisions, NULL, votes)];
}

static double predicted(const struct svm_model *m, const double *values, size_t *votes, double *decisions)
{
    if (hgc_classifies(m->param.svm_type))
        return m->nr_class < 1 ? 0 : classify(m, values, votes, decisions);
    decisions[0] = decide_single(m, values);
    return m->param.svm_type != ONE_CLASS ? decisions[0] : decisions[0] > 0 ? 1 : -1;
}

/* Predicts an example; decisions: room for all pairs, or NULL. */
static double predict(const struct svm_model *m, const struct svm_node *x, double *decisions)
{
    struct example e;
    size_t l = m->l > 0 ? (size_t)m->l : 0, classes = m->nr_class > 0 ? (size_t)m->nr_class : 0;
    double *values = example_init(&e, x, m, l);
    if (values == NULL) {
        hgc_warn("no memory for a prediction\n");
        return 0;
    }
    for (int i = 0; i < m->l; i++)
        values[i] = kernel(&m->param, &e, m->SV[i]);
    double *own = values + l + classes; /* behind the votes */
    double label = predicted(m, values, (size_t *)(void *)(values + l), decisions != NULL ? decisions : own);
    free(values);
    return label;
}

double svm_predict_values(const struct svm_model *model, const struct svm_node *x, double *dec_values)
{
    return model != NULL && x != NULL ? predict(model, x, dec_values) : 0;
}

double svm_predict(const struct svm_model *model, const struct svm_node *x)
{
    return svm_predict_values(model, x, NULL);
}

/* ---- probabilities --------------------------------------------------------------------------------------- */

static double classify_probability(const struct svm_model *m, const struct svm_node *x, double *estimates)
{
    size_t k = (size_t)m->nr_class, pairs = hgc_pairs(m);
    double *decisions = calloc(pairs + 2 * k * k + k + 1, sizeof *decisions); /* 0 where predict fails */
    if (decisions == NULL) {
        hgc_warn("no memory for a prediction\n");
        return 0;
    }
    double label = predict(m, x, decisions);
    hg_pair_probabilities(k, m->probA, m->probB, decisions, estimates, decisions + pairs);
    if (k > 0)
        label = m->label[hinge_argmax(estimates, k)];
    free(decisions);
    return label;
}

#ifndef HINGE_LIBSVM_324
static double one_class_probability(const struct svm_model *m, const struct svm_node *x, double *estimates)
{
    double decision = 0, label = predict(m, x, &decision);
    estimates[0] = hg_density(m->prob_density_marks, decision);
    estimates[1] = 1 - estimates[0];
    return label;
}
#endif

double svm_predict_probability(const struct svm_model *model, const struct svm_node *x, double *prob_estimates)
{
    if (model == NULL || x == NULL)
        return 0;
    if (prob_estimates != NULL && hgc_classifies(model->param.svm_type) && svm_check_probability_model(model))
        return classify_probability(model, x, prob_estimates);
#ifndef HINGE_LIBSVM_324
    if (prob_estimates != NULL && model->param.svm_type == ONE_CLASS && svm_check_probability_model(model))
        return one_class_probability(model, x, prob_estimates);
#endif
    return predict(model, x, NULL);
}

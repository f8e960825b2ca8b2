/*
 * Prediction of one example from the public fields of a model, which may be the caller's own making: sparse kernel
 * values in the order of LIBSVM's definition, in double, one support vector after the other.
 */
#include "compat/own.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- kernel values --------------------------------------------------------------------------------------------- */

static double dot(const struct svm_node *a, const struct svm_node *b)
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

static double square(double v)
{
    return v * v;
}

static double square_distance(const struct svm_node *a, const struct svm_node *b)
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

static double power(double base, int exponent)
{
    double result = 1;
    for (; exponent > 0; exponent /= 2, base *= base)
        if (exponent % 2 == 1)
            result *= base;
    return result;
}

static double kernel(const struct svm_parameter *p, const struct svm_node *x, const struct svm_node *sv)
{
    switch (p->kernel_type) {
    case LINEAR: return dot(x, sv);
    case POLY: return power(p->gamma * dot(x, sv) + p->coef0, p->degree);
    case RBF: return exp(-p->gamma * square_distance(x, sv));
    case SIGMOID: return tanh(p->gamma * dot(x, sv) + p->coef0);
    case PRECOMPUTED: return x[(int)sv->value].value;
    default: return 0;
    }
}

/* ---- decision values ------------------------------------------------------------------------------------------- */

static double decide_single(const struct svm_model *m, const struct svm_node *x)
{
    double sum = 0;
    for (int i = 0; i < m->l; i++)
        sum += m->sv_coef[0][i] * kernel(&m->param, x, m->SV[i]);
    return sum - m->rho[0];
}

/* f of class a against class b: sum over SVs of a of coef[b - 1], over SVs of b of coef[a]. */
static double decide_pair(const struct svm_model *m, const double *values, int a, int first_a, int b, int first_b)
{
    double sum = 0;
    const double *of_a = m->sv_coef[b - 1], *of_b = m->sv_coef[a];
    for (int i = first_a; i < first_a + m->nSV[a]; i++)
        sum += of_a[i] * values[i];
    for (int i = first_b; i < first_b + m->nSV[b]; i++)
        sum += of_b[i] * values[i];
    return sum;
}

/* The class with most votes, the first of those with equally many. */
static double classify(const struct svm_model *m, const double *values, int *votes, double *decisions)
{
    int best = 0;
    for (int a = 0, first_a = 0, p = 0; a < m->nr_class; first_a += m->nSV[a++])
        for (int b = a + 1, first_b = first_a + m->nSV[a]; b < m->nr_class; first_b += m->nSV[b++], p++) {
            decisions[p] = decide_pair(m, values, a, first_a, b, first_b) - m->rho[p];
            votes[decisions[p] > 0 ? a : b]++;
        }
    for (int c = 1; c < m->nr_class; c++)
        if (votes[c] > votes[best])
            best = c;
    return m->label[best];
}

static size_t n_pairs(const struct svm_model *m)
{
    size_t k = m->nr_class > 0 ? (size_t)m->nr_class : 0;
    return k * (k - (k > 0)) / 2;
}

/* decisions: room for all pairs, or NULL. */
static double predict(const struct svm_model *m, const struct svm_node *x, double *decisions)
{
    if (!hgc_classifies(m->param.svm_type)) {
        double value = decide_single(m, x);
        if (decisions != NULL)
            decisions[0] = value;
        return m->param.svm_type != ONE_CLASS ? value : value > 0 ? 1 : -1;
    }
    size_t n = (size_t)(m->l > 0 ? m->l : 0), room = decisions == NULL ? n_pairs(m) : 0;
    double *values = malloc((n + room + 1) * sizeof *values);
    int *votes = calloc((size_t)m->nr_class + 1, sizeof *votes);
    double label = 0;
    if (values != NULL && votes != NULL) {
        for (size_t i = 0; i < n; i++)
            values[i] = kernel(&m->param, x, m->SV[i]);
        label = classify(m, values, votes, decisions == NULL ? values + n : decisions);
    } else {
        hgc_print("no memory for a prediction\n");
    }
    free(values);
    free(votes);
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

/* ---- probabilities --------------------------------------------------------------------------------------------- */

/* 1 / (1 + exp(a f + b)) without overflow. */
static double sigmoid(double f, double a, double b)
{
    double z = a * f + b;
    return z >= 0 ? exp(-z) / (1 + exp(-z)) : 1 / (1 + exp(z));
}

/* Couples r[i][j] = P(i | i or j) to p[k]: min sum_i sum_{j != i} (r_ji p_i - r_ij p_j)^2 with sum p = 1, by the
 * second method of Wu, Lin, Weng 2004: fixed point of Q_tt p_t = p'Qp - sum_{j != t} Q_tj p_j, normalised on the way.
 * q: room for k k, qp: for k. */
static void couple(int k, const double *r, double *p, double *q, double *qp)
{
    double tolerance = 0.005 / k;
    for (int t = 0; t < k; t++) {
        p[t] = 1.0 / k;
        q[t * k + t] = 0;
        for (int j = 0; j < k; j++) {
            if (j == t)
                continue;
            q[t * k + t] += square(r[j * k + t]);
            q[t * k + j] = -r[j * k + t] * r[t * k + j];
        }
    }
    for (int round = 0; round < (k > 100 ? k : 100); round++) {
        double pqp = 0, error = 0;
        for (int t = 0; t < k; t++) {
            qp[t] = 0;
            for (int j = 0; j < k; j++)
                qp[t] += q[t * k + j] * p[j];
            pqp += p[t] * qp[t];
        }
        for (int t = 0; t < k; t++)
            error = fmax(error, fabs(qp[t] - pqp));
        if (error < tolerance)
            return;
        for (int t = 0; t < k; t++) { /* p_t += step, then p /= 1 + step; Qp and p'Qp follow */
            double qtt = q[t * k + t], step = (pqp - qp[t]) / qtt, scale = 1 / (1 + step);
            pqp = (pqp + step * (step * qtt + 2 * qp[t])) * scale * scale;
            p[t] += step;
            for (int j = 0; j < k; j++) {
                qp[j] = (qp[j] + step * q[t * k + j]) * scale;
                p[j] *= scale;
            }
        }
    }
}

static double clip(double p)
{
    return fmin(fmax(p, 1e-7), 1 - 1e-7);
}

static double classify_probability(const struct svm_model *m, const struct svm_node *x, double *estimates)
{
    size_t k = (size_t)m->nr_class, pairs = n_pairs(m);
    double *decisions = malloc((pairs + 2 * k * k + k + 1) * sizeof *decisions);
    if (decisions == NULL) {
        hgc_print("no memory for a prediction\n");
        return 0;
    }
    double *r = decisions + pairs, *q = r + k * k;
    double label = predict(m, x, decisions);
    for (size_t a = 0, pair = 0; a < k; a++)
        for (size_t b = a + 1; b < k; b++, pair++) {
            r[a * k + b] = clip(sigmoid(decisions[pair], m->probA[pair], m->probB[pair]));
            r[b * k + a] = 1 - r[a * k + b];
        }
    if (k == 2) {
        estimates[0] = r[1];
        estimates[1] = r[2];
    } else if (k > 2) {
        couple((int)k, r, estimates, q, q + k * k);
    } else if (k == 1) {
        estimates[0] = 1;
    }
    size_t best = 0;
    for (size_t c = 1; c < k; c++)
        if (estimates[c] > estimates[best])
            best = c;
    if (k > 0)
        label = m->label[best];
    free(decisions);
    return label;
}

#ifndef HINGE_LIBSVM_324
/* The share of the marks, tenths of the training's decision values, that lie at or below the decision value. */
static double one_class_probability(const struct svm_model *m, const struct svm_node *x, double *estimates)
{
    double decision, label = predict(m, x, &decision), share = 0.999;
    const double *marks = m->prob_density_marks;
    if (decision < marks[0])
        share = 0.001;
    else
        for (int i = 1; i < HGC_MARKS; i++)
            if (decision < marks[i]) {
                share = (double)i / HGC_MARKS;
                break;
            }
    estimates[0] = share;
    estimates[1] = 1 - share;
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

/*
 * The figures that LIBSVM prints of each two-class problem once it is solved, computed from the model's
 * coefficients:
 *
 *     C-SVC, SVR   nu = sum |coef| / (C l)
 *     nu-SVC       C = 1 / r, where the coefficients are alpha / r and sum alpha = nu l
 *     nu-SVR       epsilon, half the width of the tube, which training found
 */
#include "compat/svm_own.h"
#include "lib/model/model.h"
#include "lib/data/problem.h"

#include <math.h>
#include <stdlib.h>

/* A run of support vectors, [first, first + n), with the coefficients of one problem. */
struct part {
    const double *coef;
    int first, n;
    double bound; /* of the coefficients */
};

struct figures {
    int n_sv, n_bsv;
    double sum; /* of |coef| */
};

static struct figures figures_of(const struct part *parts, size_t n)
{
    struct figures f = { 0, 0, 0 };
    for (const struct part *part = parts; part < parts + n; part++)
        for (int i = part->first; i < part->first + part->n; i++) {
            double size = fabs(part->coef[i]);
            f.sum += size;
            f.n_sv += size > 0;
            f.n_bsv += size > 0 && size >= part->bound * (1 - 1e-12);
        }
    return f;
}

struct solved {
    const hinge_params *params;
    const struct hgc_dense *dense;
    const hinge_model *trained;
    const struct svm_model *m;
    const unsigned long long *iterations; /* of each problem, or NULL */
};

/* Prints a problem's figures; l: examples of the problem, whose support vectors are in parts[n]. */
static void print_problem(const struct solved *s, size_t problem, struct part *parts, size_t n, double l)
{
    const hinge_params *params = s->params;
    struct figures f = figures_of(parts, n);
    hgc_print("\noptimization finished, #iter = %d\n", s->iterations != NULL ? (int)s->iterations[problem] : 0);
    if (params->task == HINGE_NU_SVC) {
        double bound = f.sum / (params->nu * l);
        hgc_print("C = %f\n", bound);
        for (size_t i = 0; i < n; i++)
            parts[i].bound = bound * (1 - 1e-9); /* the sum is rounded */
        f = figures_of(parts, n);
    } else if (params->task == HINGE_NU_SVR) {
        hgc_print("epsilon = %f\n", s->trained->tube);
    } else if (params->task != HINGE_ONE_CLASS && parts[0].bound == parts[n - 1].bound) {
        hgc_print("nu = %f\n", f.sum / (parts[0].bound * l));
    }
    hgc_print("obj = %f, rho = %f\n", hinge_model_objectives(s->trained)[problem], s->m->rho[problem]);
    hgc_print("nSV = %d, nBSV = %d\n", f.n_sv, f.n_bsv);
}

/* Lists the examples of each class, for free(); NULL: no memory. */
static double *class_sizes(const struct hgc_dense *dense, const struct svm_model *m)
{
    double *size = calloc((size_t)m->nr_class + 1, sizeof *size);
    for (size_t i = 0; size != NULL && i < dense->x.rows; i++) {
        int c = 0;
        while (c < m->nr_class && dense->y[i] != m->label[c])
            c++;
        size[c]++;
    }
    return size;
}

static void print_pairs(const struct solved *s)
{
    const hinge_params *params = s->params;
    const struct svm_model *m = s->m;
    double *size = class_sizes(s->dense, m);
    int first_a = 0;
    size_t p = 0;
    for (int a = 0; size != NULL && a < m->nr_class; first_a += m->nSV[a++]) {
        int first_b = first_a + m->nSV[a];
        for (int b = a + 1; b < m->nr_class; first_b += m->nSV[b++], p++) {
            struct part parts[] = {
                { m->sv_coef[b - 1], first_a, m->nSV[a], params->C * hg_class_weight(params, m->label[a]) },
                { m->sv_coef[a], first_b, m->nSV[b], params->C * hg_class_weight(params, m->label[b]) },
            };
            print_problem(s, p, parts, 2, size[a] + size[b]);
        }
    }
    hgc_print("Total nSV = %d\n", m->l);
    free(size);
}

void hgc_print_problems(const hinge_params *params, const struct hgc_dense *dense, const hinge_model *trained,
                        const struct svm_model *model, const unsigned long long *iterations)
{
    const struct solved solved = { params, dense, trained, model, iterations };
    struct part all = { model->sv_coef[0], 0, model->l, params->C };
    if (hinge_task_info(params->task)->classifies)
        print_pairs(&solved);
    else
        print_problem(&solved, 0, &all, 1, (double)dense->x.rows);
}

/*
 * Finds which rows of the data are a model's support vectors, by a table of rows by their features (kernels/equal.h).
 * Rows that are equal but for their targets have one f, and the larger a target above it, the larger its coefficient at
 * the optimum: so the largest coefficients > 0 are those of the largest targets, and the least < 0 those of the least.
 * Where weights make boxes differ, that is so of the rows whose boxes hold the coefficient, the largest one first. Read
 * model.h before. Files of models do not say which rows they were trained on; certificates need to know.
 */
#include "lib/model/model.h"
#include "lib/data/params.h"
#include "lib/data/problem.h"

#include <hinge/theory.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Is a table of the data's rows by their features, in which support vectors are looked up; taken marks the rows that
 * were given away already. */
struct lookup {
    struct hg_equal_table table;
    struct hg_points rows, sv;
    const double *y;
    bool targets;                /* y are those of a regression */
    const struct hg_problem *pr; /* whose boxes count; NULL: not known */
    double *need; /* [sv.n] the weight of a row whose boxes hold the support vector's coefficients; pr NULL: 0 */
    bool *taken;  /* [rows.n] */
};

/* Says whether the row's boxes hold the support vector's coefficients, as far as is known: up to weight * (1 + 1e-9),
 * as coefficients have been rounded. */
static bool holds(const struct lookup *l, size_t row, size_t sv)
{
    if (l->pr == NULL)
        return true;
    const hinge_params *p = &l->pr->params;
    double weight = p->weights[row] * (l->pr->classifies ? hg_class_weight(p, l->y[row]) : 1);
    return l->need[sv] <= weight * (1 + 1e-9);
}

/* Returns r, which nu-SVC's coefficients are divided by in a problem: each side's alpha sum to half of nu times all
 * weight, and the model's coefficients above 0, alpha / r, to `positive`. */
static double margin_of(const struct hg_problem *pr, size_t p, double positive)
{
    size_t a, b;
    double total = 0;
    hg_problem_pair(pr, p, &a, &b);
    for (size_t c = 0; c < pr->n_classes; c++)
        for (size_t k = pr->start[c]; (c == a || c == b || b == SIZE_MAX) && k < pr->start[c + 1]; k++)
            total += pr->weight[k];
    return positive > 0 ? pr->params.nu * total / 2 / positive : 1;
}

/* Fills l->need: the weight that a row must have for its box to hold the support vector's coefficient in every problem,
 * |coef| r / C, divided by tau or 1 - tau of a quantile. r: [m->n_problems] cleared, work space. */
static void find_needs(const struct lookup *l, const hinge_model *m, double *r)
{
    const hinge_params *p = &l->pr->params;
    for (struct hg_coef c = { 0 }; hg_next_coef(m, &c);)
        r[c.problem] += fmax(c.value, 0);
    for (size_t k = 0; k < m->n_problems; k++)
        r[k] = m->task == HINGE_NU_SVC ? margin_of(l->pr, k, r[k]) : l->pr->task->uses_C ? 1 / p->C : 1;
    for (struct hg_coef c = { 0 }; hg_next_coef(m, &c);) {
        double share = m->task != HINGE_QUANTILE ? 1 : c.value > 0 ? p->tau : 1 - p->tau;
        l->need[c.sv] = fmax(l->need[c.sv], fabs(c.value) * r[c.problem] / share);
    }
}

/* Finds the first row (or last, in the order of targets), not taken yet, that is equal to a support vector and has the
 * label (label != NULL), of those that hold its coefficient or, where none does, of all; SIZE_MAX: none. */
static size_t find(const struct lookup *l, size_t sv, const double *label, double coef)
{
    size_t found = SIZE_MAX;
    bool last = l->targets && coef > 0, held = false;
    double best = 0;
    for (uint32_t p = hg_equal_table_find(&l->table, &l->rows, &l->sv, sv); p != 0; p = l->table.next[p - 1]) {
        size_t row = p - 1;
        double target = l->targets && l->y != NULL && isfinite(l->y[row]) ? l->y[row] : 0;
        if (l->taken[row] || (label != NULL && l->y[row] != *label))
            continue;
        bool fits = holds(l, row, sv);
        if (found == SIZE_MAX || fits > held || (fits == held && (last ? target >= best : target < best))) {
            found = row;
            best = target;
            held = fits;
        }
        if (!l->targets && fits) /* rows ascend */
            break;
    }
    return found;
}

/* Makes the order in which support vectors choose: as they stand; of regression those that need most first, or, where
 * that is not known, the largest coefficients. */
static void take_turns(const hinge_model *m, const struct lookup *l, struct hg_numbered *turn)
{
    for (size_t sv = 0; sv < m->n_sv; sv++)
        turn[sv] = (struct hg_numbered){ !l->targets     ? 0
                                         : l->pr != NULL ? -l->need[sv]
                                                         : -fabs(m->coef[sv]),
                                         (uint32_t)sv };
    qsort(turn, m->n_sv, sizeof *turn, hg_by_value_and_number);
}

/* Looks all support vectors up into index[n_sv]; returns how many are missing, *first the first of them. */
static size_t find_all(const hinge_model *m, const struct lookup *l, const struct hg_numbered *turn, size_t *index,
                       size_t *first)
{
    size_t missing = 0, c = 0, end = 0;
    for (size_t i = 0; i < m->n_sv; i++) {
        size_t sv = turn[i].number;
        while (m->labels != NULL && i == end + m->class_sv[c]) /* classification: they are as they stand */
            end += m->class_sv[c++];
        size_t serial = m->sv == NULL ? m->sv_serial[sv] : 0; /* precomputed kernels: it is the row */
        index[sv] = m->sv == NULL ? (serial < l->rows.n && !l->taken[serial] ? serial : SIZE_MAX)
                                  : find(l, sv, m->labels != NULL ? &m->labels[c] : NULL, m->coef[sv]);
        if (index[sv] != SIZE_MAX) {
            l->taken[index[sv]] = true;
        } else {
            *first = missing > 0 ? HG_MIN(*first, sv) : sv;
            missing++;
        }
    }
    return missing;
}

/* Looks up what the support vectors need (where weights are known), the order in which they choose, and then their
 * rows. *index is the caller's only where all are found; *missing (nullable) tells how many are not. */
hinge_status hg_find_rows(const hinge_model *m, const hinge_matrix *x, const double *y, const struct hg_problem *pr,
                          size_t **found, size_t *missing, hinge_error *err)
{
    struct lookup l = { .rows = { .x = *x, .n = x->rows },
                        .sv = hg_model_points(m, HINGE_F64),
                        .y = y,
                        .targets = hinge_task_info(m->task)->regresses,
                        .pr = pr };
    struct hg_numbered *turn;
    double *r;
    size_t *index, lost = 0, first = 0;
    HG_TRY(HG_MAKE(err, "a search for support vectors", HG_ARRAY(turn, m->n_sv), HG_ZEROS(l.need, m->n_sv),
                   HG_ZEROS(r, m->n_problems), HG_ZEROS(l.taken, x->rows)));
    hinge_status status = HG_MAKE(err, "the rows of support vectors", HG_ARRAY(index, m->n_sv));
    if (m->sv != NULL)
        HG_THEN(status, hg_equal_table_init(&l.table, &l.rows, 1, err));
    if (status == HINGE_OK) {
        for (size_t i = 0; pr != NULL && i < x->rows; i++)
            l.taken[i] = pr->params.weights[i] == 0;
        if (pr != NULL)
            find_needs(&l, m, r);
        take_turns(m, &l, turn);
        lost = find_all(m, &l, turn, index, &first);
        if (missing != NULL)
            *missing = lost;
    }
    hg_equal_table_free(&l.table);
    hg_free(turn);
    if (status == HINGE_OK && lost == 0) {
        *found = index;
        return HINGE_OK;
    }
    hg_free(index);
    HG_TRY(status);
    return hg_fail(err, HINGE_EINVAL,
                   "model: %zu of its %zu support vectors, number %zu the first, are not among the %zu rows: "
                   "these are not the data it was trained on, or not all digits were saved",
                   lost, m->n_sv, first, x->rows);
}

/* Gives a model the rows of its support vectors, as training would have; one whose search fails stays as it was. */
hinge_status hinge_model_locate(hinge_model *m, const hinge_matrix *x, const double *y, size_t *missing,
                                hinge_error *err)
{
    size_t *index;
    HG_NEED(err, m, "model");
    HG_TRY(hg_matrix_check(x, "x", err));
    if (m->sv != NULL && m->n_sv > 0 && x->cols != m->d)
        return hg_fail(err, HINGE_EINVAL, "x.cols: %zu, but the model has %zu features", x->cols, m->d);
    if (m->n_targets > 0)
        return hg_fail(err, HINGE_EINVAL, "model: one of many targets is not located");
    if (m->labels != NULL && y == NULL)
        return hg_fail(err, HINGE_EINVAL, "y: NULL, but the model's support vectors have labels");
    HG_TRY(hg_find_rows(m, x, y, NULL, &index, missing, err));
    hg_free(m->sv_index);
    m->sv_index = index;
    m->n_trained = x->rows;
    return hg_ok(err);
}

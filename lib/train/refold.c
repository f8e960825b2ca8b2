/*
 * Folds of a problem that has just been solved: the examples held out have empty boxes, and block SMO goes on from the
 * solution, by the kernel rows, the working set and the gradient that are there. Held-out decision values of one
 * problem are the gradient at those examples; of several, each fold's model is made of what its problems found, and
 * predicts (hg_refold_predict). Read training.h and solver/smo/block.h first.
 *
 * Buys: calibration by five folds costs as much as the training itself on most sets, where separate trainings cost four
 * times as much, and cross-validation half of what it did (doc/tried.md). Problems that cannot be solved so
 * (hg_refold_may), or whose folds did not converge, are left to separate trainings (calibrate.c, validate.c): a limit
 * of steps (max_iter) or a positive_class switches it off.
 *
 * The way of it: hg_refold_init makes room before the first problem; hg_block_smo calls hg_refold where a problem has
 * converged, its run still alive; hg_refold_predict runs after all problems.
 */
#include "lib/data/partition.h"
#include "lib/data/params.h"
#include "lib/train/training.h"

#include <math.h>
#include <string.h>

/* Asks for tasks whose boxes alone change with a fold: the nu tasks' sums would change as well. Of several problems
 * each fold waits for all of them, so a time limit could end it half-way. */
bool hg_refold_may(const struct hg_training *t)
{
    const hinge_params *p = t->params;
    bool boxes = p->task == HINGE_C_SVC || p->task == HINGE_EPSILON_SVR;
    return boxes && !hg_params_hard(p) && !t->interior && p->max_iter == 0 && p->positive_class == NULL &&
           (p->time_limit == 0 || t->problem.n_problems == 1); /* the models come first */
}

/* Makes room for the decision values of all problems, NaN until they are known; start[p] is where problem p's begin.
 * Solutions of folds are kept where models are to be made of them. */
hinge_status hg_refold_init(struct hg_refold *refold, const struct hg_problem *pr, hinge_error *err)
{
    size_t total = 0;
    for (size_t p = 0; p < pr->n_problems; p++)
        total += hg_problem_size(pr, p);
    HG_TRY(HG_MAKE(err, "the decision values of folds", HG_ZEROS(refold->start, pr->n_problems + 1),
                   HG_ZEROS(refold->decision, total), HG_ZEROS(refold->is_solved, pr->n_problems),
                   HG_ZEROS(refold->work, pr->n_problems)));
    if (refold->predict != NULL &&
        (refold->solutions = hg_zalloc(refold->folds * pr->n_problems, sizeof *refold->solutions)) == NULL)
        return hg_fail(err, HINGE_ENOMEM, "no memory for %zu folds of %zu problems", refold->folds, pr->n_problems);
    for (size_t p = 0; p < pr->n_problems; p++)
        refold->start[p + 1] = refold->start[p] + hg_problem_size(pr, p);
    for (size_t k = 0; k < total; k++)
        refold->decision[k] = NAN;
    return HINGE_OK;
}

/* Holds one problem's folds while they are solved. qp is over the distinct points of the problem, as the run's is; all
 * arrays are one block. */
struct folds {
    const struct hg_refolding *of;
    uint32_t *fold, *work; /* [reduced->n] by position */
    double *g;             /* [qp.n] */
    struct hg_qp qp;
    double eps;
    uint64_t max_iter; /* of each: where that is not enough, going on does not pay */
};

/* Makes the QP of fold f: each point's box is the sum of those of its rows that are trained on, and the start is the
 * solution of all rows, clipped to these boxes and brought back to the sum (hg_qp_project). false: the sum cannot be
 * reached. */
static bool leave_out(struct folds *folds, size_t f)
{
    const struct hg_reduced *reduced = folds->of->reduced;
    struct hg_qp *qp = &folds->qp;
    memset(qp->lo[0], 0, qp->n * sizeof(double));
    memset(qp->hi[0], 0, qp->n * sizeof(double));
    memcpy(qp->off[0], reduced->qp.off[0], qp->n * sizeof(double));
    memcpy(qp->beta[0], reduced->qp.beta[0], qp->n * sizeof(double));
    qp->no_sum = reduced->qp.no_sum;
    qp->kink = reduced->qp.kink;
    qp->size = 0;
    for (size_t k = 0; k < reduced->n; k++)
        if (folds->fold[k] != f) {
            qp->lo[0][reduced->at[k]] += reduced->whole.lo[0][k];
            qp->hi[0][reduced->at[k]] += reduced->whole.hi[0][k];
        }
    return hg_qp_project(qp, reduced->sums);
}

/* Says whether each class keeps examples without fold f, as a problem of one class has no solution to go on to. */
static bool keeps_classes(const struct folds *folds, size_t f)
{
    const struct hg_reduced *reduced = folds->of->reduced;
    bool first = false, second = false;
    for (size_t k = 0; k < reduced->n; k++)
        if (folds->fold[k] != f)
            *(reduced->whole.hi[0][k] > 0 ? &first : &second) = true;
    return first && (second || !folds->of->t->problem.classifies);
}

/* Keeps a fold's coefficients for the model that is to be made of it, each by one of the rows that are equal, any of
 * them: they predict the same. */
static hinge_status keep_fold(const struct folds *folds, size_t f, const struct hg_smo_result *result, hinge_error *err)
{
    const struct hg_reduced *reduced = folds->of->reduced;
    const struct hg_refold *refold = folds->of->t->refold;
    struct hg_solution *s = &refold->solutions[f * folds->of->t->problem.n_problems + folds->of->problem];
    uint32_t *row = folds->work;
    s->n_sv = hg_qp_support(&folds->qp, NULL, NULL, NULL);
    HG_TRY(HG_MAKE(err, "the coefficients of a fold", HG_ARRAY(s->point, s->n_sv), HG_ARRAY(s->beta, s->n_sv)));
    hg_qp_support(&folds->qp, NULL, s->point, s->beta);
    for (size_t k = 0; k < reduced->n; k++)
        row[reduced->at[k]] = reduced->rows[k];
    hg_gather(row, sizeof *row, s->point, s->n_sv, s->point);
    s->rho = result->bias[0] != 0 ? -result->bias[0] : 0; /* never -0 */
    s->report.objective = result->report.objective;
    return HINGE_OK;
}

/* Says whether all problems' folds are, for else the folds' models would lack problems. */
bool hg_refold_solved(const struct hg_refold *refold, size_t n_problems)
{
    for (size_t p = 0; p < n_problems; p++)
        if (!refold->is_solved[p])
            return false;
    return true;
}

/* Builds each fold's model by pack.c from the fold's solutions, of peers each some; frees them all, whatever the
 * status. */
hinge_status hg_refold_predict(const struct hg_training *t, hinge_status status, hinge_error *err)
{
    struct hg_refold *refold = t->refold;
    size_t n_problems = t->problem.n_problems;
    bool solved = hg_refold_solved(refold, n_problems);
    for (size_t f = 0; f < refold->folds && solved && status == HINGE_OK; f++) {
        hinge_model *model = NULL;
        if (t->peers != NULL && !hg_peers_mine(t->peers, f))
            continue;
        status = hg_build_model(t, refold->solutions + f * n_problems, &model, err);
        HG_THEN(status, refold->predict(refold->arg, f, model, t->threads, err));
        hinge_model_free(model);
    }
    for (size_t k = 0; k < refold->folds * n_problems; k++)
        hg_free(refold->solutions[k].point);
    hg_free(refold->solutions);
    refold->solutions = NULL;
    return status;
}

/* Solves each fold from the solution of all rows: the boxes of a fold's rows become empty, what their coefficients had
 * is shared out, and the run goes on with its rows, W and gradient. Held-out values are f = g + bias, g = K beta being
 * known at all points, those at rest too. A fold that does not converge leaves the whole to separate trainings. */
static hinge_status solve_folds(struct folds *folds, struct hg_run *run, hinge_error *err)
{
    const struct hg_refolding *of = folds->of;
    const struct hg_reduced *reduced = of->reduced;
    struct hg_refold *refold = of->t->refold;
    double *decision = refold->decision + refold->start[of->problem];
    const struct hg_problem *pr = &of->t->problem;
    size_t count = refold->folds;
    if (refold->fold == NULL)
        count = hg_folds_deal_problem(pr, of->problem, count, folds->work, folds->fold);
    for (size_t k = 0; refold->fold != NULL && k < reduced->n; k++)
        folds->fold[k] = refold->fold[pr->order[reduced->rows[k]]];
    for (size_t f = 0; f < count; f++) {
        struct hg_smo_result result;
        if (!keeps_classes(folds, f) || !leave_out(folds, f))
            return HINGE_OK;
        HG_TRY(hg_smo_again(run, &folds->qp, folds->eps, folds->max_iter, folds->g, &result, err));
        result.report.rows_computed = result.columns_computed / reduced->qp.n;
        hg_add_work(&refold->work[of->problem], &result.report);
        if (result.report.outcome == HINGE_STOPPED)
            __atomic_store_n(&refold->stopped, 1, __ATOMIC_RELAXED);
        if (result.report.outcome != HINGE_CONVERGED)
            return HINGE_OK;
        for (size_t k = 0; k < reduced->n; k++)
            if (folds->fold[k] == f)
                decision[k] = folds->g[reduced->at[k]] + result.bias[0];
        if (refold->solutions != NULL)
            HG_TRY(keep_fold(folds, f, &result, err));
    }
    refold->is_solved[of->problem] = true;
    return HINGE_OK;
}

/* Sets what the folds are solved to, and runs them. max_iter, twice the steps of the whole and 50 a point, is where
 * going on has become no shorter way than a training from 0. */
hinge_status hg_refold(void *arg, struct hg_run *run, const double *g, const struct hg_smo_result *result,
                       hinge_error *err)
{
    struct folds folds = { .of = arg };
    const struct hg_refold *refold = folds.of->t->refold;
    double least = folds.of->t->params->eps;
    folds.eps = refold->eps;
    folds.max_iter = 2 * result->report.iterations + 50 * folds.of->reduced->n;
    const struct hg_reduced *reduced = folds.of->reduced;
    if (refold->fold == NULL) /* a sigmoid hangs on no less than a tenth of what values vary by, however small C is */
        folds.eps = HG_MAX(least, HG_MIN(folds.eps, hg_deviation(g, NULL, reduced->qp.n) / 10));
    if (result->report.objective > 0) /* rows are too coarse, and coefficients worth less than none */
        return HINGE_OK;
    HG_TRY(HG_MAKE(err, "the folds of a problem", HG_ARRAY(folds.fold, reduced->n), HG_ARRAY(folds.work, reduced->n),
                   HG_ARRAY(folds.g, reduced->qp.n)));
    hinge_status status = hg_qp_init(&folds.qp, reduced->qp.n, 1, err);
    HG_THEN(status, solve_folds(&folds, run, err));
    hg_qp_free(&folds.qp);
    hg_free(folds.fold);
    return status;
}

/*
 * hinge_train, above all that it is made of: rows are scaled where that is asked for, a model is trained (training.c),
 * and calibrated by folds (calibrate.c). Read training.h and folds.h before.
 */
#include "lib/folds/folds.h"
#include "lib/base/team.h"
#include "lib/data/params.h"
#include "lib/model/scaling.h"
#include "lib/train/training.h"

/* Returns to what a calibration's folds are solved: a hundred times eps, but a tenth of a margin at most, and of a tube
 * no more than its half width. Such an error of decision values changes a sigmoid in its third digit (doc/tried.md). */
static double fold_eps(const hinge_params *p)
{
    double most = p->task == HINGE_C_SVC ? 0.1 : HG_MIN(0.1, p->p);
    return HG_MAX(p->eps, HG_MIN(most, 100 * p->eps));
}

/* Scales a copy of the rows where that is asked for, trains, attaches the scaling to the model, and calibrates it. The
 * decision values of folds that the training has found on its way (refold) spare the calibration its trainings. *model
 * and *report are written only when all has gone well. */
static hinge_status train_whole(struct hg_peers *peers, hinge_model **model, const hinge_matrix *x, const double *y,
                                const hinge_targets *targets, const hinge_params *params, hinge_report *report,
                                hinge_error *err)
{
    struct hg_scaled scaled;
    hinge_report r = { 0 };
    hinge_model *m = NULL;
    double begin = hg_now();
    hg_ok(err);
    HG_NEED(err, model, "model");
    HG_NEED(err, params, "params");
    HG_TRY(hg_scaled_init(&scaled, x, params, err));
    struct hg_refold refold = { .folds = HG_FOLDS, .eps = fold_eps(params) };
    bool calibrates = params->probability != 0;
    bool refolds = calibrates && params->scaling == NULL; /* otherwise each fold has its own scaling */
    hinge_status status = hg_train(peers, &m, &scaled.x, y, targets, &scaled.params, refolds ? &refold : NULL, &r, err);
    if (status == HINGE_OK && params->scaling != NULL)
        status = hinge_scaling_attach(&scaled.scaling, m, err);
    r.memory_bytes += scaled.data != NULL ? x->rows * x->cols * sizeof *scaled.data : 0;
    hg_scaled_free(&scaled);
    if (status == HINGE_OK && calibrates && !hg_ended_early(r.outcome)) {
        status = hg_calibrate_by_folds(NULL, peers, &refold, m, x, y, params, begin, &r.outcome, err);
        r.seconds = hg_now() - begin;
    }
    hg_free(refold.start);
    if (status != HINGE_OK) {
        hinge_model_free(m);
        return status;
    }
    if (report != NULL)
        *report = r;
    *model = m;
    return HINGE_OK;
}

hinge_status hg_train_by_peers(struct hg_peers *peers, hinge_model **model, const hinge_matrix *x, const double *y,
                               const hinge_params *params, hinge_report *report, hinge_error *err)
{
    hinge_status status = HINGE_OK;
    HG_TEAM(hg_params_team(params, x, y, 1))
    status = train_whole(peers, model, x, y, NULL, params, report, err);
    return status;
}

hinge_status hinge_train(hinge_model **model, const hinge_matrix *x, const double *y, const hinge_params *params,
                         hinge_report *report, hinge_error *err)
{
    return hg_train_by_peers(NULL, model, x, y, params, report, err);
}

hinge_status hinge_train_many(hinge_model **model, const hinge_matrix *x, const hinge_targets *targets,
                              const hinge_params *params, hinge_report *report, hinge_error *err)
{
    hinge_status status = HINGE_OK;
    HG_TRY(hg_targets_need(targets, params, err));
    HG_TEAM(hg_params_team(params, x, targets->y, targets->n))
    status = train_whole(NULL, model, x, NULL, targets, params, report, err);
    return status;
}

/*
 * The form min E_in subject to w'w <= C of the soft margin. ||w||^2 of C-SVC's solution does not fall as its own C
 * grows, so the C that meets a ball is found by bracketing it, in factors, and by false position on the logarithms of
 * both, each training from the solution before.
 */
#include "lib/base/base.h"
#include "lib/data/params.h"

#include <hinge/theory.h>
#include <math.h>
#include <string.h>

/* Holds the search: log C on either side, log (||w||^2 / ball) there, and the model and coefficients of the last C. */
struct search {
    const hinge_matrix *x;
    const double *y;
    hinge_params params;
    double ball, C, excess;
    hinge_model *model;
    double *beta; /* [n] */
};

/* Trains at s->C: sets the model and s->excess. */
static hinge_status look(struct search *s, hinge_error *err)
{
    hinge_model *model = NULL;
    hinge_report report;
    double norm2;
    s->params.C = s->C;
    s->params.beta0 = s->model != NULL ? s->beta : s->params.beta0;
    HG_TRY(hinge_train(&model, s->x, s->y, &s->params, &report, err));
    hinge_model_free(s->model);
    s->model = model;
    if (hinge_model_n_problems(model) != 1)
        return hg_fail(err, HINGE_EINVAL, "y: the ball is for two classes");
    if (report.outcome == HINGE_STOPPED || report.outcome == HINGE_TIME_LIMIT)
        return hg_fail(err, HINGE_ECALLBACK, "the callback or the time limit ended the search for C");
    HG_TRY(hinge_model_beta(model, s->x->rows, s->beta, err));
    HG_TRY(hinge_model_norm2(model, 0, &norm2, err));
    s->excess = log(norm2 / s->ball);
    return HINGE_OK;
}

/* Finds C between two at which the excess has both signs, by false position; the end that stays has its excess halved,
 * so that it comes nearer too. */
static hinge_status narrow(struct search *s, double at, double excess, hinge_error *err)
{
    enum { MOST = 60 };
    double close = 10 * s->params.eps, end[2] = { log(at), log(s->C) }, value[2] = { excess, s->excess };
    for (int k = 0; k < MOST && fabs(s->excess) > close && fabs(end[1] - end[0]) > 1e-9; k++) {
        double share = value[0] / (value[0] - value[1]);
        double next = end[0] + (isfinite(share) ? share : 0.5) * (end[1] - end[0]);
        s->C = exp(next);
        HG_TRY(look(s, err));
        bool stays = (s->excess < 0) == (value[1] < 0); /* then end 0 does */
        if (stays)
            value[0] /= 2;
        else
            end[0] = end[1], value[0] = value[1];
        end[1] = next, value[1] = s->excess;
    }
    return HINGE_OK;
}

/* Goes by factors of 8 from the C given until the excess changes its sign, or C no longer matters. */
static hinge_status find(struct search *s, hinge_error *err)
{
    HG_TRY(look(s, err));
    double at = s->C, excess = s->excess, factor = excess < 0 ? 8 : 0.125;
    while ((s->excess < 0) == (excess < 0) && s->excess != 0) {
        at = s->C, excess = s->excess;
        s->C *= factor;
        HG_TRY(look(s, err));
        if (factor > 1 && s->excess < 0 && (s->C > 1e10 || s->excess - excess < 10 * s->params.eps)) {
            s->C = INFINITY;
            return HINGE_OK;
        }
    }
    return narrow(s, at, excess, err);
}

hinge_status hinge_tradeoff_ball(hinge_model **model, const hinge_matrix *x, const double *y,
                                 const hinge_params *params, double ball, double *C, hinge_error *err)
{
    HG_NEED(err, model, "model");
    HG_NEED(err, x, "x");
    HG_NEED(err, params, "params");
    HG_NEED(err, C, "C");
    if (params->task != HINGE_C_SVC || !isfinite(params->C))
        return hg_fail(err, HINGE_EINVAL, "params: the ball is for C-SVC, from a finite C");
    if (!(ball > 0 && isfinite(ball)))
        return hg_fail(err, HINGE_EINVAL, "ball: %g is not a finite number > 0", ball);
    struct search s = { .x = x, .y = y, .params = *params, .ball = ball, .C = params->C };
    s.params.eps = params->eps > 0 ? params->eps : 1e-3;
    HG_TRY(HG_MAKE(err, "the coefficients of examples", HG_ARRAY(s.beta, x->rows)));
    hinge_status status = find(&s, err);
    hg_free(s.beta);
    if (status != HINGE_OK) {
        hinge_model_free(s.model);
        return status;
    }
    *model = s.model;
    *C = s.C;
    return hg_ok(err);
}

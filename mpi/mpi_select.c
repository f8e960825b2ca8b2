/*
 * A grid over ranks: kernels, that is combinations of gamma, degree and coef0, go to groups of ranks, and the points
 * of one kernel to the ranks of its group. Each rank tries its points by hinge_select, which takes the others' for
 * dropped; rank 0 gathers them as known ones, and chooses.
 */
#include "lib/base/team.h"
#include "lib/data/params.h"
#include "lib/select/select.h"
#include "mpi/mpi_own.h"
#include "mpi/mpi_train.h"

#include <math.h>

struct rank_grid {
    const struct hm_net *net;
    const hinge_matrix *x;
    const double *y;
    const hinge_params *params;
    hinge_select_options options; /* the caller's */
    hinge_selection *list;        /* all points, none of them tried */
    hinge_grid_point *known;      /* [n_points + the caller's] */
    size_t n_known;
};

/* Whether this rank tries a point of the list, whose points of one kernel come one after the other. */
static bool is_mine(const struct rank_grid *s, size_t i)
{
    const hinge_grid_point *point = s->list->points;
    size_t kernel = 0, kernels = 1, at = 0, ranks = (size_t)s->net->ranks, rank = (size_t)s->net->rank;
    for (size_t k = 1; k < s->list->n_points; k++) {
        bool next = !hg_same_kernel(&point[k], &point[k - 1]);
        kernels += next;
        kernel += next && k <= i;
        at = k > i ? at : next ? 0 : at + 1;
    }
    size_t groups = HG_MIN(ranks, kernels), group = kernel % groups, size = (ranks - group + groups - 1) / groups;
    return rank % groups == group && at % size == rank / groups;
}

/* Selects as hinge_select without a model, and tries points or leaves those waiting that are not known. */
static hinge_status run(const struct rank_grid *s, bool tries, hinge_selection **selection, hinge_error *err)
{
    hinge_select_options options = s->options;
    hinge_status status = HINGE_OK;
    options.known = s->known;
    options.n_known = s->n_known;
    options.no_refit = 1;
    HG_TEAM(hg_params_team(s->params, s->x, s->y, 100))
    status = hg_select(selection, s->x, s->y, s->params, &options, tries, NULL, err);
    return status;
}

/* Lists the points of the grid, and those of other ranks as dropped ones. */
static hinge_status list_points(struct rank_grid *s, hinge_error *err)
{
    HG_TRY(run(s, false, &s->list, err));
    HG_TRY(HG_MAKE(err, "the points of the grid", HG_ARRAY(s->known, s->list->n_points + s->options.n_known)));
    for (size_t i = 0; i < s->list->n_points; i++)
        if (!is_mine(s, i)) {
            s->known[s->n_known] = s->list->points[i];
            s->known[s->n_known++].state = HINGE_POINT_EXACT;
        }
    for (size_t k = 0; k < s->options.n_known; k++)
        s->known[s->n_known++] = s->options.known[k];
    return HINGE_OK;
}

/* The points that this rank has tried, to all: where each is in the list, the point, its folds' scores. */
static hinge_status gather_points(const struct rank_grid *s, const hinge_selection *mine, void **all, size_t *count,
                                  hinge_error *err)
{
    size_t n = s->list->n_points, scores = s->list->n_folds * HINGE_N_SCORES * sizeof(double), total;
    size_t bytes = sizeof(uint64_t) + (sizeof(hinge_grid_point) + 7) / 8 * 8 + scores;
    char *own = hg_zalloc(n, bytes), *to = own;
    for (uint64_t i = 0; own != NULL && i < n; i++) {
        const hinge_grid_point *point = &mine->points[i];
        if (!is_mine(s, i) || point->state == HINGE_POINT_WAITING || point->state == HINGE_POINT_KNOWN)
            continue;
        memcpy(to, &i, sizeof i);
        memcpy(to + sizeof i, point, sizeof *point);
        memcpy(to + bytes - scores, point->fold_score, scores);
        to += bytes;
    }
    hinge_status status = HM_HAVE(s->net, own != NULL, err, "no memory for %zu points", n);
    HG_THEN(status, hm_gather_all(s->net, own, (size_t)(to - own), all, &total, err));
    *count = status == HINGE_OK ? total / bytes : 0;
    hg_free(own);
    return status;
}

/* The selection of all that is known now, on rank 0. */
static hinge_status choose(struct rank_grid *s, const char *all, size_t count, hinge_selection **out, hinge_error *err)
{
    size_t scores = s->list->n_folds * HINGE_N_SCORES * sizeof(double);
    size_t bytes = sizeof(uint64_t) + (sizeof(hinge_grid_point) + 7) / 8 * 8 + scores;
    s->n_known = 0;
    for (size_t k = 0; k < s->options.n_known; k++)
        s->known[s->n_known++] = s->options.known[k];
    const hinge_grid_point *told = s->known + s->n_known;
    for (size_t k = 0; k < count; k++)
        memcpy(&s->known[s->n_known++], all + k * bytes + sizeof(uint64_t), sizeof *told);
    hinge_status status = run(s, false, out, err);
    for (size_t k = 0; status == HINGE_OK && k < count; k++) { /* known ones keep less */
        uint64_t i;
        memcpy(&i, all + k * bytes, sizeof i);
        hinge_grid_point *point = &(*out)->points[i];
        double *fold_score = point->fold_score;
        *point = told[k];
        point->fold_score = fold_score;
        memcpy(fold_score, all + (k + 1) * bytes - scores, scores);
    }
    return status;
}

/* Sums up what it took, of all ranks; and the worst outcome. */
static void add_work(const struct hm_net *net, const hinge_selection *mine, double begin, hinge_selection *out)
{
    struct hm_sum sum = { .most = { { (uint64_t)hg_outcome_rank(mine->outcome), (uint64_t)mine->outcome },
                                    { mine->stored_bytes, 0 } },
                          .count = { mine->trainings, mine->iterations, mine->rows_computed, mine->rows_distinct,
                                     mine->rows_support, mine->kernel_values, mine->n_kernels } };
    net->sum(net, &sum);
    if (out == NULL)
        return;
    out->outcome = (hinge_outcome)sum.most[0].tie;
    out->stored_bytes = sum.most[1].key;
    out->trainings = sum.count[0];
    out->iterations = sum.count[1];
    out->rows_computed = sum.count[2];
    out->rows_distinct = sum.count[3];
    out->rows_support = sum.count[4];
    out->kernel_values = sum.count[5];
    out->n_kernels = sum.count[6];
    out->seconds = hg_now() - begin;
}

/* Trains the best point's model, by this rank alone. */
static hinge_status train_best(const struct rank_grid *s, hinge_selection *out, hinge_error *err)
{
    if (s->options.no_refit || out->best == NULL)
        return HINGE_OK;
    hinge_params params = out->params;
    params.beta0 = NULL;
    return hinge_train(&out->model, s->x, s->y, &params, &out->report, err);
}

static hinge_status try_grid(struct rank_grid *s, hinge_selection **out, hinge_error *err)
{
    double begin = hg_now();
    hinge_selection *mine = NULL;
    void *all = NULL;
    size_t count = 0;
    hinge_status status = hm_agree(s->net, list_points(s, err), err);
    HG_THEN(status, hm_agree(s->net, run(s, true, &mine, err), err));
    HG_THEN(status, gather_points(s, mine, &all, &count, err));
    HG_THEN(status, hm_agree(s->net, s->net->rank == 0 ? choose(s, all, count, out, err) : HINGE_OK, err));
    if (status == HINGE_OK)
        add_work(s->net, mine, begin, *out);
    HG_THEN(status, hm_agree(s->net, *out != NULL ? train_best(s, *out, err) : HINGE_OK, err));
    hinge_selection_free(mine);
    hg_free(all);
    return status;
}

hinge_status hm_select(const struct hm_net *net, hinge_selection **selection, const hinge_matrix *x, const double *y,
                       const hinge_params *params, const hinge_select_options *options, hinge_error *err)
{
    struct rank_grid s = { .net = net, .x = x, .y = y, .params = params };
    hinge_selection *made = NULL;
    if (options != NULL)
        s.options = *options;
    hg_ok(err);
    hinge_status status = HINGE_OK;
    if (params == NULL || selection == NULL)
        status = hg_fail(err, HINGE_EINVAL, "%s: NULL", params == NULL ? "params" : "selection");
    else if (s.options.decisions)
        status = hg_fail(err, HINGE_EINVAL, "decisions: ranks keep none of held-out rows");
    status = hm_agree(net, status, err);
    HG_THEN(status, try_grid(&s, &made, err));
    hinge_selection_free(s.list);
    hg_free(s.known);
    if (status != HINGE_OK) {
        hinge_selection_free(made);
        made = NULL;
    }
    if (selection != NULL)
        *selection = made;
    return status;
}

bool hm_select_fits(const struct hm_net *net, size_t rows, size_t cols)
{
    enum { OF_A_ROW = 64 }; /* values that folds, points and their sums have of a row, about */
    const hinge_params plain = hinge_params_default(HINGE_C_SVC);
    struct hm_sum sum = { .most = { { cols, 0 } }, .count = { rows } };
    net->sum(net, &sum);
    double bytes = (double)sum.count[0] * (double)(sum.most[0].key + OF_A_ROW) * sizeof(double);
    return bytes <= (double)hm_ask_machines(net, &plain).least;
}

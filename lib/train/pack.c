/*
 * Makes what a training leaves. Each problem's QP, once solved, becomes a solution by rows (hg_keep_solution); the
 * solutions of all problems are packed into a model, and the report is made. Read training.h before, and model.h for
 * the layout, which is LIBSVM's: a support vector that several pairs share stands in the model once, and its row of
 * each pair's coefficients is found by its class.
 */
#include "lib/data/params.h"
#include "lib/base/team.h"
#include "lib/train/training.h"

#include <math.h>
#include <string.h>

/* ---- the solution ------------------------------------------------------------------------------------------------ */

/* Takes what coefficients of a regression sum to, which should be 0, off one of them. Steps round: many of one layer,
 * or a few that are the difference of two large ones. Where targets are far from 0 beside their width that matters, as
 * the objective moves by the sum times what they have in common; the least coefficient that is 2^20 times as large, and
 * inside its box, takes it. at [n]: whose they are. true: one has taken it, and they sum to 0. */
static bool take_what_is_over(const struct hg_qp *qp, const uint32_t *at, size_t n, double *beta)
{
    long double sum = 0;
    double width, common = fabs(hg_qp_common_offset(qp, &width));
    size_t taker = n;
    if (!(common > 1e3 * width))
        return false;
    for (size_t k = 0; k < n; k++)
        sum += beta[k];
    double over = (double)sum, far = fabs(over);
    for (size_t k = 0; k < n; k++)
        if (fabs(beta[k]) > 0x1p20 * far && beta[k] > qp->lo[qp->layers - 1][at[k]] + far &&
            beta[k] < qp->hi[0][at[k]] - far && (taker == n || fabs(beta[k]) < fabs(beta[taker])))
            taker = k;
    if (taker < n)
        beta[taker] -= over;
    return taker < n;
}

/* Keeps what a problem's QP came to as its solution: coefficients of rows rather than points, rho = -b, both times
 * nu-SVC's factor 1 / r, and the objective times its square. Coefficients stay finite: where the factor would make them
 * infinite they stay as they are, and the outcome is NONFINITE. */
hinge_status hg_keep_solution(const struct hg_training *t, struct hg_reduced *reduced, struct hg_solution *s,
                              hinge_error *err)
{
    const struct hg_qp *qp = &reduced->whole;
    double b, factor, largest = 0, of_sum = hg_qp_of_sum(&reduced->qp); /* which the objective holds */
    hg_reduced_finish(reduced);
    hg_problem_bias(&t->problem, s->bias, &b, &factor);
    if (!isfinite(b)) /* HINGE_NONFINITE */
        b = 0;
    if (factor == 0 || (s->undivided && s->nu == 0))
        factor = 1; /* a run cut short has not found out whether there is a margin */
    s->n_sv = hg_qp_support(qp, NULL, NULL, NULL);
    for (int l = 0; l < qp->layers; l++)
        for (size_t i = 0; i < qp->n; i++) {
            double beta = qp->beta[l][i];
            largest = HG_MAX(largest, fabs(beta));
            s->report.n_bsv += beta != 0 && (beta >= qp->hi[l][i] || beta <= qp->lo[l][i]);
        }
    if (!isfinite(largest * factor)) { /* coefficients stay finite */
        factor = 1;
        s->report.outcome = HINGE_NONFINITE;
    }
    HG_TRY(HG_MAKE(err, "the coefficients of rows", HG_ARRAY(s->point, s->n_sv), HG_ARRAY(s->beta, s->n_sv)));
    hg_qp_support(qp, NULL, s->point, s->beta);
    if (t->problem.task->regresses && take_what_is_over(qp, s->point, s->n_sv, s->beta))
        s->report.objective -= of_sum;
    hg_gather(reduced->rows, sizeof *s->point, s->point, s->n_sv, s->point);
    for (size_t k = 0; k < s->n_sv; k++)
        s->beta[k] *= factor;
    s->rho = b != 0 ? -b * factor : 0; /* never -0 */
    s->report.objective = s->report.objective * factor * factor;
    if (!hg_params_hard(t->params) && (!isfinite(s->report.objective) || !isfinite(s->rho)))
        s->report.outcome = HINGE_NONFINITE;
    return HINGE_OK;
}

/* ---- the model --------------------------------------------------------------------------------------------------- */

/* Numbers the points that are support vectors of any problem, in the order of points, which is by class; number [n] has
 * UINT32_MAX for the others. Returns how many there are. */
static size_t number_sv(const struct hg_training *t, const struct hg_solution *solutions, uint32_t *number)
{
    size_t n_sv = 0;
    for (size_t p = 0; p < t->problem.n_problems; p++)
        for (size_t k = 0; k < solutions[p].n_sv; k++)
            number[solutions[p].point[k]] = 1;
    for (size_t i = 0; i < t->problem.data.n; i++)
        if (number[i] != 0)
            number[i] = (uint32_t)n_sv++;
        else
            number[i] = UINT32_MAX;
    return n_sv;
}

struct packing {
    const struct hg_points *points;
    hinge_model *model;
};

static void pack_some(void *arg, int thread, size_t first, size_t end)
{
    const struct packing *p = arg;
    hinge_model *m = p->model;
    (void)thread;
    for (size_t sv = first; sv < end; sv++)
        hg_points_pack(p->points, NULL, m->sv_index[sv], 1, m->sv_type,
                       (char *)m->sv + sv * m->d * hg_size_of(m->sv_type), m->d);
}

/* Fills in the support vectors, in f64 or bytes, as the caller gave them, by class and in the order of rows in each,
 * and where each stands in the data. Of a precomputed kernel there are columns instead; d is then what an example's
 * row must have. */
static void fill_sv(const struct hg_training *t, const uint32_t *number, hinge_model *m)
{
    const struct hg_problem *pr = &t->problem;
    const struct hg_points plain = { .x = pr->x, .n = pr->x.rows };
    for (size_t i = 0, c = 0; i < pr->data.n; i++) {
        size_t sv = number[i];
        while (m->labels != NULL && i >= pr->start[c + 1])
            c++;
        if (sv == UINT32_MAX)
            continue;
        m->sv_index[sv] = pr->order[i];
        if (m->class_sv != NULL)
            m->class_sv[c]++;
        if (m->sv == NULL)
            m->sv_serial[sv] = pr->data.column[i];
    }
    hg_share(t->threads, m->sv != NULL ? m->n_sv : 0, 256, pack_some, &(struct packing){ &plain, m });
    for (size_t sv = 0; m->sv_serial != NULL && sv < m->n_sv; sv++)
        m->d = HG_MAX(m->d, m->sv_serial[sv] + 1);
}

/* Fills in coefficients as LIBSVM lays them out: of a pair of classes a < b, row b - 1 of class a's support vectors and
 * row a of class b's; of one-versus-rest row p of problem p. nu-SVR's tube is half of what its two biases differ by
 * (hg_problem_bias). */
static void fill_coef(const struct hg_training *t, const struct hg_solution *solutions, const uint32_t *number,
                      hinge_model *m)
{
    const struct hg_problem *pr = &t->problem;
    for (size_t p = 0; p < pr->n_problems; p++) {
        const struct hg_solution *s = &solutions[p];
        size_t a, b;
        hg_problem_pair(pr, p, &a, &b);
        for (size_t k = 0; k < s->n_sv; k++) {
            bool first = s->point[k] < pr->start[a + 1];
            size_t row = !pr->classifies || pr->one_vs_rest ? p : first ? b - 1 : a;
            m->coef[row * m->n_sv + number[s->point[k]]] = s->beta[k];
        }
        m->rho[p] = s->rho;
        m->tube = m->task == HINGE_NU_SVR && pr->targets == NULL ? (s->bias[0] - s->bias[1]) / 2 : 0;
        m->objectives[p] = s->report.objective;
    }
}

/* Makes room for n_sv vectors, which come in a type, and what training alone tells: rows of training, objectives,
 * labels in their order. */
hinge_status hg_empty_model(const struct hg_problem *pr, size_t rows, size_t n_sv, hinge_dtype type, hinge_model **out,
                            hinge_error *err)
{
    const hinge_params *p = &pr->params;
    size_t d = p->kernel.type == HINGE_PRECOMPUTED ? 0 : pr->data.d;
    size_t n_targets = pr->targets != NULL ? pr->n_problems : 0;
    hinge_model *m = *out = hg_model_new(hg_task_of_model(pr), p->kernel, p->multiclass, pr->n_classes, n_targets, n_sv,
                                         d, hg_model_sv_type(n_sv, d, type));
    bool ok = m != NULL && (m->sv_index = hg_alloc(n_sv, sizeof *m->sv_index)) != NULL &&
              (m->objectives = hg_zalloc(m->n_problems, sizeof *m->objectives)) != NULL;
    if (!ok)
        return hg_fail(err, HINGE_ENOMEM, "no memory for a model of %zu support vectors of %zu features", n_sv,
                       pr->data.d);
    m->n_trained = rows;
    m->tau = pr->task->uses_tau ? p->tau : 0;
    if (m->labels != NULL)
        memcpy(m->labels, pr->labels, pr->n_classes * sizeof *m->labels);
    return HINGE_OK;
}

/* Builds the model: support vectors and coefficients, then what prediction derives from them (hg_model_finish). */
hinge_status hg_build_model(const struct hg_training *t, const struct hg_solution *solutions, hinge_model **out,
                            hinge_error *err)
{
    const struct hg_problem *pr = &t->problem;
    hinge_model *m;
    uint32_t *number;
    HG_TRY(HG_MAKE(err, "the numbers of support vectors", HG_ZEROS(number, pr->data.n)));
    hinge_status status = hg_empty_model(pr, pr->x.rows, number_sv(t, solutions, number), pr->x.type, &m, err);
    if (status == HINGE_OK) {
        fill_sv(t, number, m);
        fill_coef(t, solutions, number, m);
        status = hg_model_finish(m, t->threads, err);
    }
    hg_free(number);
    if (status == HINGE_OK)
        *out = m;
    else
        hinge_model_free(m);
    return status;
}

/* ---- the report -------------------------------------------------------------------------------------------------- */

/* Tells the path: solver, size of W, how rows were made, kernel and vector code, and then what else took part. margin:
 * no hyperplane has a larger one (hard margin). nu: the largest that a problem took for that asked for. Tests tell by
 * these words which way a training went. */
static void report_path(const struct hg_training *t, size_t q, double margin, double nu, hinge_report *r)
{
    const char *kernel = hg_kernel_row(t->problem.data.kernel.type)->told.keyword;
    const struct hg_maker *maker = t->problem.n_problems > 0 ? t->solutions[0].maker : NULL;
    if (t->interior)
        hg_tell_path(r, "interior-point d=%zu, %s", r->rank, kernel);
    else
        hg_tell_path(r, "block-smo q=%zu, %s %s, %s %s%s", q, maker != NULL ? maker->name : "no rows",
                     r->precision == HINGE_PRECISION_F32 ? "f32" : "f64", kernel,
                     hg_maps(hg_cpu_level(t->params->cpu_level))->level,
                     t->problem.data.shift != NULL ? ", centred" : "");
    if (!t->interior && t->cells.count > 0)
        hg_tell_path(r, ", %.2g %% near", 100 * t->cells.near);
    if (t->problem.n_problems > 0 && t->solutions[0].is_whole)
        hg_tell_path(r, ", whole");
    hg_tell_path(r, "%s%s%s", t->params->no_bias ? ", no bias" : "", t->begun_bytes > 0 ? ", rows shared" : "",
                 !hg_side_by_side(t)          ? ""
                 : t->problem.targets != NULL ? ", targets side by side"
                                              : ", pairs side by side");
    if (t->interior && r->trace_error > 0 && r->outcome == HINGE_STALLED)
        hg_tell_path(r, ", approximate");
    if (t->interior && r->outcome == HINGE_NO_MARGIN && isfinite(margin))
        hg_tell_path(r, ", no margin above %.2g", margin);
    if (nu > 0)
        hg_tell_path(r, ", margin from nu=%.9g", nu);
    if (t->interior && q > 0)
        hg_tell_path(r, ", then block-smo q=%zu", q);
    if (!t->interior || q > 0)
        hg_tell_path(r, "%s%s", r->newton_steps > 0 ? ", newton" : "",
                     r->newton_no_room > 0 ? ", no room for newton" : "");
    if (!t->interior && r->rank > 0)
        hg_tell_path(r, ", then interior-point d=%zu", r->rank);
}

/* Counts the bytes of the model and what it derives: vectors as they are and in f32 or as panels where they are there,
 * coefficients, and the model without equal vectors. */
static size_t model_bytes(const hinge_model *m)
{
    size_t rows = hg_model_coef_rows(m);
    size_t panels = m->panels == NULL ? 0 : m->integers.grid.most > 0 ? 1 : m->f32_is_enough ? sizeof(float) : 8;
    return m->n_sv * m->d * (hg_size_of(m->sv_type) + (m->sv32 != NULL ? sizeof(float) : 0) + panels) +
           m->n_sv * rows * (sizeof(double) + (m->coef32 != NULL ? 2 * sizeof(float) : 0)) +
           (m->merged != NULL ? model_bytes(m->merged) : 0);
}

/* Counts the vectors in f64 that stood beside the bytes made of them (hg_model_narrow), for data of a type. */
static size_t narrowed_bytes(const hinge_model *m, hinge_dtype type)
{
    bool were_f64 = hg_model_sv_type(m->n_sv, m->d, type) == HINGE_F64;
    return were_f64 && m->sv_type != HINGE_F64 ? m->n_sv * m->d * sizeof(double) : 0;
}

/* Adds up the reports of all problems: sums of work, the worst of outcomes, the largest violation. Memory is that of
 * one problem, times threads where they run side by side, or of their common start if that had more, and then of
 * points, copy and model. */
void hg_fill_report(const struct hg_training *t, const hinge_model *m, hinge_report *r)
{
    const struct hg_problem *pr = &t->problem;
    hinge_machine machine = hg_processor_info();
    size_t q = 0;
    double margin = INFINITY, nu = 0, rows_computed = 0, gap = t->interior ? 0 : NAN;
    *r = (hinge_report){ .precision = hg_wants_f32(t) ? HINGE_PRECISION_F32 : HINGE_PRECISION_F64,
                         .error = m->n_problems > 0 ? 0 : NAN };
    for (size_t p = 0; p < m->n_problems; p++) {
        const struct hg_solution *s = &t->solutions[p];
        hg_add_report(r, &s->report);
        gap = hg_larger(gap, s->report.gap);
        if (s->report.outcome == HINGE_NO_MARGIN)
            margin = fmin(margin, s->margin_bound);
        nu = HG_MAX(nu, s->nu);
        rows_computed += s->rows_computed;
        q = HG_MAX(q, s->working_set);
    }
    r->n = pr->data.n;
    r->distinct = t->distinct.problem.data.n;
    r->d = pr->data.d;
    r->n_classes = m->n_classes;
    r->n_problems = m->n_problems;
    r->n_sv = m->n_sv;
    r->gap = gap;
    r->threads = hg_threads(t->params->threads);
    r->cache_bytes = t->cache_bytes;
    r->rows_computed = (uint64_t)(rows_computed + 0.5);
    r->memory_bytes = HG_MAX(r->memory_bytes * (hg_side_by_side(t) ? (size_t)t->threads : 1), t->begun_bytes);
    r->memory_bytes +=
        pr->data.n * 64 + hg_hamming_bytes(&t->copy.hamming) + model_bytes(m) + narrowed_bytes(m, pr->x.type);
    r->memory_bytes +=
        r->distinct < pr->data.n ? r->distinct * 128 : 0; /* the points of equal rows, and their program */
    if (t->copy.values != NULL)
        r->memory_bytes += r->distinct * (t->copy.points.x.stride + 1) * sizeof(float);
    memcpy(r->blas, machine.blas, sizeof r->blas);
    r->blas_slow = machine.blas_slow;
    r->seconds = hg_now() - t->begin;
    report_path(t, q, margin, nu, r);
}

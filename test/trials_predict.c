/* Predictions, files, threads, warm starts, folds of a trial; LIBSVM's solution of it. See trials.h. */
#include "test/trials.h"

#include <float.h>
#include <hinge/io.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- Predictions ------------------------------------------------------------------------------------------------- */

/* The label that decision values of one row stand for. */
static double label_of(const struct trial *t, const hinge_model *model, const double *f)
{
    const double *labels = hinge_model_labels(model);
    size_t k = hinge_model_n_classes(model), votes[MAX_CLASSES] = { 0 }, best = 0;
    if (t->params.task == HINGE_ONE_CLASS)
        return f[0] > 0 ? 1 : -1;
    if (labels == NULL)
        return f[0];
    if (hinge_model_n_problems(model) == 0)
        return labels[0];
    if (k > 2 && t->params.multiclass == HINGE_ONE_VS_REST) {
        for (size_t i = 1; i < k; i++)
            best = f[i] > f[best] ? i : best;
        return labels[best];
    }
    for (size_t i = 0, p = 0; i < k; i++)
        for (size_t j = i + 1; j < k; j++, p++)
            votes[f[p] > 0 ? i : j]++;
    for (size_t i = 1; i < k; i++)
        best = votes[i] > votes[best] ? i : best;
    return labels[best];
}

static void check_values(const struct trial *t, const hinge_model *model, const hinge_matrix *x,
                         const struct sums *sums, hinge_precision precision, const char *of)
{
    size_t problems = hinge_model_n_problems(model);
    static const char *const by[] = { "decision value (auto)", "decision value (f32)", "decision value (f64)" };
    double *f = get(x->rows * (problems + 1), sizeof *f), *labels = get(x->rows, sizeof *labels), largest_rho = 1;
    const double *rho = hinge_model_rho(model);
    hinge_predict_report report = { 0 };
    hinge_predict_options options = {
        .threads = t->params.threads, .precision = precision, .cpu_level = t->params.cpu_level, .report = &report
    };
    phase("hinge_predict");
    hinge_status status = hinge_predict(model, x, &options, labels, f, &err);
    phase("checks");
    bool said = false;
    if (status != HINGE_OK)
        finding("predict", "%s: %s", hinge_status_text(status), err.text);
    for (size_t p = 0; p < problems; p++)
        largest_rho = fmax(largest_rho, fabs(rho[p]));
    if (status == HINGE_OK && precision == HINGE_PRECISION_AUTO && !(report.bound <= 1e-4 * largest_rho))
        finding("bound", "%s: %g, where %g is promised", of, report.bound, 1e-4 * largest_rho);
    for (size_t i = 0; status == HINGE_OK && i < x->rows && !said; i++) {
        double label = label_of(t, model, f + i * problems);
        if (labels[i] != label && !(isnan(labels[i]) && isnan(label)) && (said = true))
            finding("label", "%s row %zu: %.17g, its decision values say %.17g", of, i, labels[i], label);
        for (size_t p = 0; p < problems && !said; p++) {
            size_t at = p * sums->rows + i;
            long double truth = sums->g[at] - rho[p];
            double off = (double)fabsl(f[i * problems + p] - truth),
                   rounding = sums->slack[at] + DBL_EPSILON * largest_rho;
            double allowed = 2 * rounding + report.bound;
            if (!isfinite(f[i * problems + p]) && sums->largest_kernel > 1e290)
                continue; /* a value that double does not hold */
            if (!(off <= allowed) && fabsl(truth) < 1e290L && sums->absolute[at] < 1e290 && (said = true))
                finding(by[precision], "%s row %zu: %.12g, plain loops %.12Lg, off by %.3g, allowed %.3g (problem %zu)",
                        of, i, f[i * problems + p], truth, off, allowed, p);
        }
    }
}

/* No value is off by more than is told, which in auto is within the promise; one row at a time as many at once. */
void check_predictions(const struct trial *t, const hinge_model *model, const struct sums *at_rows, const double *beta)
{
    size_t problems = hinge_model_n_problems(model);
    for (int precision = HINGE_PRECISION_AUTO; precision <= HINGE_PRECISION_F64; precision++)
        check_values(t, model, &t->matrix, at_rows, (hinge_precision)precision, "training");
    if (t->m > 0) {
        struct sums sums = truth_sums(t, beta, problems, t->test, t->m);
        hinge_matrix x = hinge_matrix_f64(t->test, t->m, t->d);
        for (int precision = HINGE_PRECISION_AUTO; precision <= HINGE_PRECISION_F64; precision++)
            check_values(t, model, &x, &sums, (hinge_precision)precision, "new");
        x.rows = 1;
        check_values(t, model, &x, &sums, HINGE_PRECISION_AUTO, "single");
        check_values(t, model, &x, &sums, HINGE_PRECISION_F32, "single");
    }
}

/* ---- Files, threads, warm starts, folds -------------------------------------------------------------------------- */

static double *all_decisions(const struct trial *t, const hinge_model *model)
{
    size_t problems = hinge_model_n_problems(model);
    double *f = get(t->n * (problems + 1), sizeof *f);
    if (hinge_predict(model, &t->matrix, NULL, NULL, f, NULL) != HINGE_OK)
        finding("predict", "refused where it was not before");
    return f;
}

static void check_same(const struct trial *t, const hinge_model *a, const hinge_model *b, const char *what)
{
    size_t problems = hinge_model_n_problems(a);
    if (hinge_model_n_problems(b) != problems || hinge_model_n_sv(a) != hinge_model_n_sv(b)) {
        finding(what, "%zu problems, %zu SVs; %zu, %zu before", hinge_model_n_problems(b), hinge_model_n_sv(b),
                problems, hinge_model_n_sv(a));
        return;
    }
    double *f = all_decisions(t, a), *g = all_decisions(t, b);
    for (size_t i = 0; i < t->n * problems; i++)
        if (memcmp(f + i, g + i, sizeof *f) != 0) {
            finding(what, "decision value %.17g, %.17g before (row %zu)", g[i], f[i], i / problems);
            break;
        }
}

static void check_round_trip(const struct trial *t, const hinge_model *model)
{
    char *bytes = NULL;
    size_t size = 0;
    hinge_model *again = NULL;
    phase("hinge_model_format");
    if (t->params.kernel.type == HINGE_PRECOMPUTED && t->index != NULL)
        return;
    if (hinge_model_format(model, &bytes, &size, &err) != HINGE_OK) {
        finding("save", "%s", err.text);
        return;
    }
    phase("hinge_model_parse");
    if (hinge_model_parse(&again, "model", bytes, size, &t->params.kernel, &err) != HINGE_OK)
        finding("load", "%s", err.text);
    else if (hinge_model_n_features(again) != hinge_model_n_features(model))
        finding("saved and loaded", "%zu features, %zu before", hinge_model_n_features(again),
                hinge_model_n_features(model));
    else
        check_same(t, model, again, "saved and loaded");
    hinge_model_free(again);
    hinge_free(bytes);
}

static void check_threads(struct trial *t, const hinge_model *model)
{
    struct trial other = *t;
    hinge_model *again = NULL;
    other.looks = 0;
    other.params.threads = t->params.threads == 1 ? 2 : 1;
    other.params.progress_arg = &other;
    phase("hinge_train, another number of threads");
    if (hinge_train(&again, &other.matrix, other.y, &other.params, NULL, &err) != HINGE_OK)
        finding("threads", "%s", err.text);
    else
        check_same(t, model, again, "threads");
    hinge_model_free(again);
}

static void check_folds(struct trial *t)
{
    double *predictions = get(t->n, sizeof *predictions), labels[MAX_CLASSES];
    hinge_report report;
    bool classes = hinge_task_info(t->params.task)->classifies;
    size_t k = classes ? truth_classes(t, labels) : 0;
    phase("hinge_cross_validate");
    if (t->folds > t->n || t->stop_after > 0 || t->params.time_limit > 0) {
        return;
    }
    hinge_status status = hinge_cross_validate(&t->matrix, t->y, &t->params, t->folds, predictions, &report, &err);
    if (status != HINGE_OK && t->weights == NULL && t->params.n_class_weights == 0)
        finding("cross-validation", "%s", err.text);
    for (size_t i = 0; status == HINGE_OK && i < t->n; i++) {
        bool known = !classes && isfinite(predictions[i]);
        for (size_t a = 0; classes && a < k; a++)
            known = known || predictions[i] == labels[a];
        if (!known && report.outcome != HINGE_NONFINITE) {
            finding("cross-validation", "predicts %g for row %zu, %s", predictions[i], i,
                    hinge_outcome_text(report.outcome));
            break;
        }
    }
}

/* Again from the solution, or from what is no solution at all: the same checks. */
static void check_warm(struct trial *t, const hinge_model *model)
{
    size_t problems = hinge_model_n_problems(model);
    uint64_t state = t->number;
    if (problems == 0 || t->params.solver == HINGE_SOLVER_INTERIOR_POINT || isinf(t->params.C) || t->params.rank > 0)
        return;
    t->beta0 = get(problems * t->n, sizeof *t->beta0);
    if (hinge_model_beta(model, t->n, t->beta0, NULL) != HINGE_OK)
        return;
    for (size_t i = 0; draw(&state) % 2 == 0 && i < problems * t->n; i++)
        t->beta0[i] = draw_normal(&state) * t->params.C;
    t->params.beta0 = t->beta0;
    t->warm = t->twice = t->round_trip = t->selects = false;
    t->folds = 0;
    tell("once more, from coefficients given\n");
    about("from beta0: ");
    check_training(t);
}

void check_extras(struct trial *t, const hinge_model *model, const hinge_report *report)
{
    if (t->round_trip)
        check_round_trip(t, model);
    if (t->twice && report->outcome != HINGE_STOPPED && t->stop_after == 0)
        check_threads(t, model);
    if (t->folds > 0)
        check_folds(t);
    if (t->selects)
        check_selection(t);
    if (t->warm)
        check_warm(t, model);
}

/* ---- LIBSVM ------------------------------------------------------------------------------------------------------ */

static bool oracle_applies(const struct trial *t)
{
    const hinge_params *p = &t->params;
    return t->oracle && p->task != HINGE_QUANTILE && t->n <= 500 && t->psd && t->weights == NULL && !p->no_bias &&
           !isinf(p->C) && p->kernel.type <= HINGE_PRECOMPUTED && p->multiclass == HINGE_ONE_VS_ONE &&
           t->integer_labels && (p->kernel.type != HINGE_PRECOMPUTED || t->index == NULL) && p->max_iter == 0 &&
           p->time_limit == 0 && t->stop_after == 0;
}

/* LIBSVM's coefficients by training row, [problems * n], as hinge would lay them out. */
static void oracle_beta(const struct trial *t, const struct svm_model *model, double *beta)
{
    size_t k = (size_t)model->nr_class, start[MAX_CLASSES + 1] = { 0 };
    bool classes = hinge_task_info(t->params.task)->classifies;
    for (size_t a = 0; classes && a < k; a++)
        start[a + 1] = start[a] + (size_t)model->nSV[a];
    for (size_t v = 0; !classes && v < (size_t)model->l; v++)
        beta[model->sv_indices[v] - 1] = model->sv_coef[0][v];
    for (size_t a = 0, p = 0; classes && a < k; a++)
        for (size_t b = a + 1; b < k; b++, p++) {
            for (size_t v = start[a]; v < start[a + 1]; v++)
                beta[p * t->n + (size_t)model->sv_indices[v] - 1] = model->sv_coef[b - 1][v];
            for (size_t v = start[b]; v < start[b + 1]; v++)
                beta[p * t->n + (size_t)model->sv_indices[v] - 1] = model->sv_coef[a][v];
        }
}

/* In a process of its own: it may take for ever. */
bool oracle_solve(const struct trial *t, size_t problems, double *beta)
{
    int ends[2];
    if (pipe(ends) != 0)
        return false;
    pid_t child = fork();
    if (child == 0) {
        setrlimit(RLIMIT_CPU, &(struct rlimit){ 4, 5 });
        struct set set = { t->n, t->d, t->x, t->y };
        struct oracle oracle = oracle_train(&set, &t->params);
        oracle_beta(t, oracle.model, beta);
        size_t size = problems * t->n * sizeof *beta, done = 0;
        for (ssize_t written; done < size; done += (size_t)written)
            if ((written = write(ends[1], (char *)beta + done, size - done)) <= 0)
                _exit(1);
        _exit(0);
    }
    close(ends[1]);
    size_t size = problems * t->n * sizeof *beta, done = 0;
    for (ssize_t got; child > 0 && done < size; done += (size_t)got)
        if ((got = read(ends[0], (char *)beta + done, size - done)) <= 0)
            break;
    close(ends[0]);
    int status = 1;
    if (child > 0)
        waitpid(child, &status, 0);
    return status == 0 && done == size;
}

/* The objective is convex: from hinge's point to LIBSVM's it falls by half the sum of |their difference| times the
 * violation at most. */
void check_oracle(const struct trial *t, const hinge_model *model, const hinge_report *r,
                  const struct verdict *verdicts, const double *beta)
{
    size_t problems = hinge_model_n_problems(model);
    if (!oracle_applies(t) || problems == 0 || r->trace_error > 0 ||
        (r->outcome != HINGE_CONVERGED && r->outcome != HINGE_STALLED))
        return;
    double *theirs = get(problems * t->n, sizeof *theirs);
    phase("LIBSVM");
    if (!oracle_solve(t, problems, theirs)) {
        tell("LIBSVM does not end\n");
        return;
    }
    phase("checks");
    struct sums sums = truth_sums(t, theirs, problems, t->x, t->n);
    for (size_t p = 0; p < problems; p++) {
        struct verdict v = truth_verdict(t, model, p, theirs + p * t->n, &sums, hinge_model_rho(model)[p], false);
        double moved = 0, rounding = (v.slack + verdicts[p].slack) * (v.sum_scale + verdicts[p].sum_scale);
        for (size_t i = 0; i < t->n; i++)
            moved += fabs(theirs[p * t->n + i] * v.r - beta[p * t->n + i] * verdicts[p].r);
        tell("problem %zu: LIBSVM's objective %.12Lg, kkt %Lg; ours %.12Lg\n", p, v.objective, v.kkt,
             verdicts[p].objective);
        double most = isnan(verdicts[p].middle) ? 2 : 1; /* a tube of 0: either side within eps */
        double explained = 1.05 * most * t->params.eps * moved / 2 + 2 * rounding + v.drift + verdicts[p].drift +
                           1e-9 * (double)(v.absolute + verdicts[p].absolute) +
                           (r->rank > 0 ? 2e-6 * (double)fabsl(v.objective) : 0);
        bool feasible = v.sum <= 1e-9 * v.sum_scale && v.box <= 1e-9;
        if (r->outcome == HINGE_CONVERGED && feasible && verdicts[p].objective > v.objective + explained)
            finding("LIBSVM is better", "objective %.12Lg, LIBSVM's %.12Lg, explained %g (problem %zu)",
                    verdicts[p].objective, v.objective, explained, p);
        if (r->outcome == HINGE_STALLED && v.kkt_low <= t->params.eps)
            remark("stalled at kkt %Lg, where LIBSVM comes to %Lg, eps %g", verdicts[p].kkt, v.kkt, t->params.eps);
    }
}

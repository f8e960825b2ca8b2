/*
 * hinge report: what the theory says of a model on data. Confusion matrix, losses and slacks need the decision values
 * only; certificate, kinds of support vectors and bounds need the rows the model was trained on, which are found again
 * by their values, and the parameters it was trained with, which a model file does not hold.
 */
#include <math.h>
#include <stdlib.h>

#include "progress.h"
#include "cmd_report.h"

static const struct range range_delta = { 0, 0.999999, 1 };

#define FIELD(name) offsetof(struct report_settings, name)
static const struct tool_option training_options[] = {
    { 'c', "cost", "C", parse_cost, FIELD(params.C), &range_positive,
      "give C of c_svc, epsilon_svr, nu_svr, quantile; inf\nis the hard margin of c_svc. Without it, C of c_svc\n"
      "is the largest coefficient, if several have it" },
    { 'n', "nu", "NU", parse_real, FIELD(params.nu), &range_01, "give nu of nu_svc, one_class, nu_svr" },
    { 'p', "epsilon-tube", "P", parse_real, FIELD(params.p), &range_not_negative,
      "give the half width of epsilon_svr's tube" },
    { 'e', "tolerance", "EPS", parse_real, FIELD(params.eps), &range_positive,
      "stop trainings of --leave-one-out at a violation of\nEPS (0.001)" },
    { 'w', "weight", "I=W", parse_weight, FIELD(classes), &range_not_negative,
      "say that C of class I was multiplied by W; also\n-wI W" },
    OPTION_FILE("weights", weights, "say by what C of each example was multiplied: one\nnumber a line, or .npy"),
    OPTION_FLAG("no-bias", params.no_bias, "say that it was trained without threshold"),
};
static const struct tool_option report_options[] = {
    OPTION_FLAG("leave-one-out", leave_one_out,
                "compute the exact leave-one-out error beside its\nbound, by a training for each support vector"),
    OPTION_SLACK(tolerance),
    { 0, "delta", "D", parse_real, FIELD(delta), &range_delta,
      "state the VC bound that holds with probability 1 - D\n(0.05)" },
    OPTION_FILE("points", points,
                "write alpha, C, f, slack, kind and class of every\nexample, one line for each problem"),
    OPTION_THREADS(params.threads),
    OPTION_NO_RESTART(no_restart),
    OPTION_JSON(json),
};

static const char usage[] =
    "usage: hinge report [options] model_file data_file\n\n"
    "Tells what the theory says of a model on labelled data, given as to predict. On any data it prints\n"
    "slacks, losses and the confusion matrix; on those that the model was trained on (its support vectors\n"
    "are looked for among them) also the duality certificate, kinds of support vectors, range of b, margin\n"
    "and bounds.";

/* ---- Parameters ---- */

static void set_params(struct report_settings *s, const hinge_model *model)
{
    s->params.task = hinge_model_task(model);
    s->params.tau = hinge_model_tau(model);
    s->params.kernel = hinge_model_kernel(model);
    s->params.multiclass = hinge_model_multiclass(model);
    s->params.positive_class = hinge_model_labels(model);
    set_class_weights(&s->params, &s->classes, hinge_model_words(model));
}

/* ---- Decision values: slacks, losses, confusion ---- */

static void judge_problem(struct report *r, size_t p, double tolerance)
{
    const struct subject *s = &r->s;
    const double *labels = hinge_model_labels(s->model);
    struct two_class *t = &r->problems[p];
    double *margins = allocate(s->data.x.rows, sizeof *margins);
    size_t a, b;
    problem_classes(s->model, p, &a, &b);
    t->positive = labels[a];
    t->negative = b == SIZE_MAX ? NAN : labels[b];
    for (size_t i = 0; i < s->data.x.rows; i++) {
        double y = problem_sign(s->model, p, s->data.y[i]), f = s->decisions[i * r->n_problems + p];
        if (y == 0)
            continue;
        margins[t->n++] = y * f;
        t->n_slack[hinge_slack_class_of(hinge_slack(y, f), tolerance)]++;
    }
    for (int l = 0; l < HINGE_N_LOSSES; l++)
        t->losses[l] = hinge_loss_mean((hinge_loss)l, margins, t->n);
    free(margins);
}

/* ||w||^2 of each problem of a model without a certificate, which tells it: by kernel values of support vectors.
 * Precomputed kernels have none: there, it is the sum of beta (f - b) over the rows trained on, where these are known,
 * from which a large b takes digits. */
static void find_norms(struct report *r)
{
    const hinge_model *model = r->s.model;
    const double *coef = hinge_model_coef(model), *rho = hinge_model_rho(model);
    const size_t *index = hinge_model_sv_index(model), *class_sv = hinge_model_class_sv(model);
    size_t n = r->n_problems, n_sv = hinge_model_n_sv(model);
    for (size_t p = 0; p < n; p++) {
        struct two_class *t = &r->problems[p];
        size_t sides[2], first = 0;
        if (hinge_model_norm2(model, p, &t->norm2, NULL) == HINGE_OK)
            continue;
        t->norm2 = r->s.located ? 0 : NAN;
        problem_classes(model, p, &sides[0], &sides[1]);
        for (size_t c = 0; r->s.located && c < hinge_model_n_classes(model); first += class_sv[c++]) {
            size_t row = sides[1] == SIZE_MAX ? p : c == sides[0] ? sides[1] - 1 : sides[0];
            if (sides[1] != SIZE_MAX && c != sides[0] && c != sides[1])
                continue;
            for (size_t sv = first; sv < first + class_sv[c]; sv++)
                t->norm2 += coef[row * n_sv + sv] * (r->s.decisions[index[sv] * n + p] + rho[p]);
        }
    }
}

/* Of a hundred labels that only the data have, at most. */
static void confuse(struct report *r)
{
    const struct subject *s = &r->s;
    size_t n = s->data.x.rows, most = hinge_model_n_classes(s->model) + 100;
    r->label = allocate(most, sizeof *r->label);
    r->n_labels = subject_labels(s, r->label, most);
    r->confusion = allocate(r->n_labels, r->n_labels * sizeof *r->confusion);
    for (size_t i = 0; i < n; i++) {
        size_t row = place_of(r->label, r->n_labels, s->data.y[i]);
        if (row < r->n_labels)
            r->confusion[row * r->n_labels + place_of(r->label, r->n_labels, s->labels[i])]++;
    }
}

/* ---- Coefficients: certificate, kinds, bounds ---- */

static double dimension_of(const hinge_kernel *kernel, size_t d)
{
    size_t dimension;
    if (kernel->type == HINGE_LINEAR)
        return (double)d;
    if (kernel->type != HINGE_POLYNOMIAL)
        return INFINITY;
    if (kernel->coef0 == 0 && d > 0) /* monomials of the full degree only */
        d--;
    return hinge_polynomial_dimension(d, kernel->degree, 0, &dimension, NULL) == HINGE_OK ? (double)dimension
                                                                                          : INFINITY;
}

static void find_bounds(struct report *r, const struct report_settings *s)
{
    enum { CENTRED_ROWS = 20000 }; /* n^2 kernel values, unless the kernel is linear */
    const struct two_class *t = &r->problems[0];
    struct bounds *b = &r->bounds;
    size_t n = t->n;
    hinge_kernel kernel = s->params.kernel;
    double margin = hinge_margin(t->norm2), h;
    b->radius = b->radius_centred = NAN; /* which they stay where they are not found */
    (void)hinge_radius(&r->s.trained, &kernel, 0, s->params.threads, &b->radius, NULL);
    if (n <= CENTRED_ROWS || kernel.type == HINGE_LINEAR)
        (void)hinge_radius(&r->s.trained, &kernel, 1, s->params.threads, &b->radius_centred, NULL);
    b->dimension = dimension_of(&kernel, r->s.trained.cols);
    b->vc_fat = hinge_bound_vc_fat(b->radius, margin, b->dimension);
    b->vc_slides = hinge_bound_vc_slides(b->radius_centred, margin, b->dimension);
    h = b->vc_fat < b->vc_slides || isnan(b->vc_slides) ? b->vc_fat : b->vc_slides;
    b->vc_risk = hinge_bound_vc_risk(t->losses[HINGE_LOSS_ZERO_ONE], h, n, s->delta);
    if (s->params.task != HINGE_C_SVC || !s->params.no_bias)
        return;
    b->lambda = hinge_tradeoff_convert(HINGE_TRADEOFF_SUM, HINGE_TRADEOFF_LAMBDA, s->params.C, n);
    b->stability = hinge_bound_stability(0, 0, b->lambda, b->radius, n);
}

/* Leaving out a row that is no support vector must leave the solution as it is: so it does for C-SVC, whose b is that
 * of margin support vectors. */
static double bound_leave_one_out(const struct report *r, const struct report_settings *s)
{
    if (!r->certified || !r->problems || s->params.task != HINGE_C_SVC)
        return NAN;
    for (size_t p = 0; p < r->n_problems; p++)
        if (r->problems[p].kinds.n_margin_sv == 0 && !s->params.no_bias)
            return NAN;
    return hinge_bound_leave_one_out(hinge_model_n_sv(r->s.model), r->s.data.x.rows);
}

/* One training a support vector can take a while. */
static int on_progress(void *arg, const hinge_progress *p)
{
    (void)arg;
    if (line_is_due(p->seconds))
        show_line(p->seconds, "leaving out one row: training %zu of %zu", p->problem + 1, p->n_problems);
    return 0;
}

static void leave_one_out(struct report *r, const struct report_settings *s)
{
    hinge_params params = s->params;
    params.progress = on_progress;
    check(hinge_leave_one_out(&r->s.trained, r->s.data.y, &params, NULL, &r->loo, &failure));
    wipe_line();
}

static int keep_kinds(void *arg, size_t problem, const hinge_kinds *kinds, const hinge_point *points)
{
    struct two_class *problems = arg;
    (void)points;
    problems[problem].kinds = *kinds;
    problems[problem].norm2 = kinds->norm2;
    return 0;
}

static void certify(struct report *r, struct report_settings *s)
{
    const char *missing = r->s.located ? recall_params(r->s.model, &s->params, &r->recall) : r->s.why;
    const hinge_matrix *x = &r->s.trained;
    const double *y = r->s.data.y;
    if (!missing && hinge_certify(r->s.model, x, y, &s->params, &r->certificate, &failure) != HINGE_OK)
        missing = failure.text;
    if (!missing)
        recall_check(r->s.model, &s->params, &r->certificate, &r->recall);
    if (missing)
        snprintf(r->why, sizeof r->why, "%s", missing);
    else if (r->recall.misfit[0] && r->recall.C_of_coefficients)
        snprintf(r->why, sizeof r->why, "C is not known: %s", r->recall.misfit);
    r->certified = !r->why[0];
    if (!r->certified)
        return;
    if (r->problems)
        check(hinge_kinds_each(r->s.model, x, y, &s->params, s->tolerance, keep_kinds, r->problems, &failure));
    if (r->problems && r->n_problems == 1)
        find_bounds(r, s);
    r->bounds.leave_one_out = bound_leave_one_out(r, s);
}

static void find_out(struct report *r, struct report_settings *s)
{
    hinge_task task;
    subject_load(&r->s, s->model_path, s->data_path, &s->data, s->params.threads);
    if (s->weights)
        s->params.weights = r->weights = load_weights(s->weights, r->s.data.x.rows);
    task = hinge_model_task(r->s.model);
    r->n_problems = hinge_model_n_problems(r->s.model);
    set_params(s, r->s.model);
    r->score = score_predictions(task, hinge_model_tau(r->s.model), r->s.data.x.rows, r->s.labels, r->s.data.y);
    if (is_classifier(r->s.model)) {
        r->problems = allocate(r->n_problems, sizeof *r->problems);
        for (size_t p = 0; p < r->n_problems; p++)
            judge_problem(r, p, s->tolerance);
    }
    if (!hinge_task_info(task)->regresses)
        confuse(r);
    certify(r, s);
    if (r->problems && !r->certified)
        find_norms(r);
    if (s->leave_one_out && !r->certified)
        die(EXIT_DATA, "--leave-one-out: %s", r->why);
    if (s->leave_one_out)
        leave_one_out(r, s);
}

/* ---- A line an example and problem ---- */

static const char *const kind_names[] = { "none", "margin", "non-margin" };
static const char *const slack_names[] = { "outside", "inside", "boundary", "wrong" };

struct points_file {
    const struct report *report;
    double tolerance;
    FILE *file;
};

/* points: NULL without certificate. */
static int write_problem(void *arg, size_t p, const hinge_kinds *kinds, const hinge_point *points)
{
    const struct points_file *out = arg;
    const struct report *r = out->report;
    (void)kinds;
    for (size_t i = 0; i < r->s.data.x.rows; i++) {
        double y = problem_sign(r->s.model, p, r->s.data.y[i]), f = r->s.decisions[i * r->n_problems + p];
        double slack = hinge_slack(y, f);
        if (y == 0)
            continue;
        fprintf(out->file, "%zu %zu %+.0f %.10g %.10g %s", i + 1, p + 1, y, f, slack,
                slack_names[hinge_slack_class_of(slack, out->tolerance)]);
        if (points)
            fprintf(out->file, " %.10g %.10g %s\n", points[i].alpha, points[i].C, kind_names[points[i].kind]);
        else
            fputs(" - - -\n", out->file);
    }
    return 0;
}

static void write_points(const struct report *r, const struct report_settings *s)
{
    struct points_file points = { r, s->tolerance, NULL };
    struct output out;
    if (!r->problems)
        die(EXIT_USAGE, "--points: the model is no classifier, and only those have slack classes");
    output_open(&out, s->points);
    points.file = out.file;
    fputs("row problem y f slack class alpha C kind\n", out.file);
    if (r->certified)
        check(hinge_kinds_each(r->s.model, &r->s.trained, r->s.data.y, &s->params, s->tolerance, write_problem, &points,
                               &failure));
    for (size_t p = 0; p < r->n_problems && !r->certified; p++)
        write_problem(&points, p, NULL, NULL);
    output_close(&out);
}

/* ---- The command ---- */

static void read_options(int argc, char **argv, struct report_settings *s)
{
    const struct command_line line = {
        usage, { OPTION_GROUP("How the model was trained:", training_options, s),
                 OPTION_GROUP("Report (default in parentheses):", report_options, s), DATA_GROUP(&s->data) },
        2, "a model file and a data file are needed", { &s->model_path, &s->data_path }, NULL
    };
    s->params = hinge_params_default(HINGE_C_SVC);
    s->params.C = s->params.nu = 0;
    s->params.p = NAN;
    s->tolerance = 1e-3;
    s->delta = 0.05;
    parse_command(argc, argv, &line);
    if (is_stdout(s->points) && s->json)
        die(EXIT_USAGE, "report: only one of --points and --json can go to standard output");
}

int command_report(int argc, char **argv)
{
    struct report_settings s = { 0 };
    struct report r = { 0 };
    read_options(argc, argv, &s);
    restart_if_slow(!s.no_restart, 0);
    if (s.points)
        check_writable(s.points, NULL);
    r.bounds.leave_one_out = NAN;
    find_out(&r, &s);
    if (s.points)
        write_points(&r, &s);
    report_print(&r, &s);
    subject_free(&r.s);
    free(r.weights);
    free(r.problems);
    free(r.label);
    free(r.confusion);
    free_class_weights(&s.classes);
    return 0;
}

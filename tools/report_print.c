/*
 * What hinge report tells: as text, and as JSON.
 */
#include <math.h>
#include <string.h>

#include "cmd_report.h"

/* ---- Text ---- */

static void print_head(const struct report *r, const struct report_settings *s)
{
    hinge_kernel kernel = hinge_model_kernel(r->s.model);
    printf("%-16s %s, %s kernel, %zu support vectors", "model", hinge_task_info(hinge_model_task(r->s.model))->keyword,
           kernel_words(&kernel), hinge_model_n_sv(r->s.model));
    if (r->problems)
        printf(", %zu classes", hinge_model_n_classes(r->s.model));
    printf("\n%-16s %zu examples of %zu features%s\n", "data", r->s.data.x.rows, r->s.data.x.cols,
           r->s.located ? ", the support vectors among them" : "");
    print_names("features", 17, hinge_model_names(r->s.model));
    if (hinge_model_target(r->s.model))
        printf("%-16s %s\n", "predicted", hinge_model_target(r->s.model));
    if (!r->certified) {
        printf("%-16s left out: %s\n", "certificate", r->why);
        return;
    }
    if (s->params.C > 0)
        printf("%-16s %.10g%s\n", "C", s->params.C,
               r->recall.C_of_coefficients ? ", the largest coefficient; -c gives another" : "");
    if (r->recall.misfit[0])
        printf("%-16s do not fit: %s\n", "parameters", r->recall.misfit);
    print_certificate(&r->certificate);
}

static void print_slacks(const size_t *n)
{
    printf("%-16s %zu on the margin or beyond it (xi = 0), %zu inside (0 < xi < 1),\n", "slacks", n[HINGE_SLACK_NONE],
           n[HINGE_SLACK_INSIDE]);
    printf("%-16s %zu on the boundary (xi = 1), %zu on the wrong side (xi > 1)\n", "", n[HINGE_SLACK_BOUNDARY],
           n[HINGE_SLACK_WRONG]);
}

static void print_losses(const double *losses)
{
    printf("%-16s", "losses");
    for (int l = 0; l < HINGE_N_LOSSES; l++)
        printf("%s %s %.6g", l ? "," : "", hinge_loss_name((hinge_loss)l), losses[l]);
    putchar('\n');
}

static void print_bounds(const struct report *r, const struct report_settings *s)
{
    const struct bounds *b = &r->bounds;
    printf("%-16s %.6g, of centred data %.6g; feature space of %.10g dimensions\n", "radius R", b->radius,
           b->radius_centred, b->dimension);
    printf("%-16s <= min(ceil(R^2/rho^2), d) + 1 = %.10g\n", "VC dimension", b->vc_fat);
    if (!isnan(b->vc_slides))
        printf("%-16s <= min(d, ceil(4 R^2/rho^2)) = %.10g, R of centred data\n", "", b->vc_slides);
    printf("%-16s risk <= %.6g with probability %g%s\n", "VC bound", b->vc_risk, 1 - s->delta,
           b->vc_risk >= 1 ? ", which says nothing" : "");
    if (b->lambda > 0)
        printf("%-16s hinge risk - its mean here <= 2 R^2/(lambda n) = %.6g on average over training sets; "
               "lambda = %.6g\n",
               "stability", b->stability, b->lambda);
}

static void print_leave_one_out(const struct report *r, const struct report_settings *s)
{
    size_t n = r->s.data.x.rows, n_sv = hinge_model_n_sv(r->s.model);
    if (isnan(r->bounds.leave_one_out) && !s->leave_one_out)
        return;
    if (isnan(r->bounds.leave_one_out))
        printf("%-16s no bound: b is free, without a margin support vector\n", "leave one out");
    else
        printf("%-16s error <= #SV/N = %zu/%zu = %.6g\n", "leave one out", n_sv, n, r->bounds.leave_one_out);
    if (s->leave_one_out)
        printf("%-16s exact: %zu/%zu = %.6g (%zu trainings, %.3f s)\n", "", r->loo.errors, r->loo.n, r->loo.error,
               r->loo.retrained, r->loo.seconds);
}

static void print_one_problem(const struct report *r)
{
    const struct two_class *t = &r->problems[0];
    if (r->certified) {
        const hinge_kinds *k = &t->kinds;
        printf("%-16s %.10g; the optimality conditions allow %.10g to %.10g\n", "b", k->bias,
               fmin(k->bias_low, k->bias_high), fmax(k->bias_low, k->bias_high));
        printf("%-16s %zu on the margin (0 < alpha < C), %zu not (alpha = C)\n", "support vectors", k->n_margin_sv,
               k->n_non_margin_sv);
    }
    if (!isnan(t->norm2))
        printf("%-16s 1/|w| = %.6g\n", "margin", hinge_margin(t->norm2));
    print_slacks(t->n_slack);
}

enum { TEXT_ROOM = 120 };

/* Returns how many columns a text of UTF-8 takes, each of whose characters is taken to have one. */
static int columns_of(const char *text)
{
    int columns = 0;
    for (; *text; text++)
        columns += ((unsigned char)*text & 0xC0) != 0x80;
    return columns;
}

static const char *problem_name(const hinge_words *words, const struct two_class *t, char name[2 * TEXT_ROOM])
{
    char rooms[2][LABEL_ROOM];
    const char *other = isnan(t->negative) ? "rest" : label_text(words, t->negative, 6, rooms[1]);
    snprintf(name, 2 * TEXT_ROOM, "%.*s, %.*s", TEXT_ROOM - 3, label_text(words, t->positive, 6, rooms[0]),
             TEXT_ROOM - 3, other);
    return name;
}

static void print_problems(const struct report *r)
{
    enum { SHOWN = 45 };
    const hinge_words *words = subject_words(&r->s);
    size_t n = r->n_problems;
    int width = 16;
    char name[2 * TEXT_ROOM];
    for (size_t p = 0; p < n && p < SHOWN; p++)
        width = (int)fmax(width, columns_of(problem_name(words, &r->problems[p], name)));
    printf("%-*s %8s %8s %8s %8s %8s %8s %8s %8s %10s\n", width, "problem", "rows", "1/|w|", "margin", "alpha=C",
           "xi=0", "xi<1", "xi=1", "xi>1", "hinge loss");
    for (size_t p = 0; p < n && p < SHOWN; p++) {
        const struct two_class *t = &r->problems[p];
        problem_name(words, t, name);
        printf("%s%*s %8zu %8.4g", name, width - columns_of(name), "", t->n, hinge_margin(t->norm2));
        if (r->certified)
            printf(" %8zu %8zu", t->kinds.n_margin_sv, t->kinds.n_non_margin_sv);
        else
            printf(" %8s %8s", "-", "-");
        printf(" %8zu %8zu %8zu %8zu %10.4g\n", t->n_slack[0], t->n_slack[1], t->n_slack[2], t->n_slack[3],
               t->losses[HINGE_LOSS_HINGE]);
    }
    if (n > SHOWN)
        printf("%-16s of %zu problems; --json has all\n", "...", n);
}

static void print_confusion(const struct report *r)
{
    enum { SHOWN = 26 };
    const hinge_words *words = subject_words(&r->s);
    size_t n = r->n_labels;
    char room[LABEL_ROOM];
    int width = 6, left;
    if (n > SHOWN) {
        printf("%-16s of %zu classes; --json has it\n", "confusion", n);
        return;
    }
    for (size_t k = 0; k < n; k++)
        width = (int)fmax(width, columns_of(label_text(words, r->label[k], 6, room)));
    left = width > 16 ? width : 16;
    printf("%-16s columns: predicted\n%*s", "confusion", left, "");
    for (size_t k = 0; k < n; k++) {
        const char *text = label_text(words, r->label[k], 6, room);
        printf(" %*s%s", width - columns_of(text), "", text);
    }
    putchar('\n');
    for (size_t i = 0; i < n; i++) {
        const char *text = label_text(words, r->label[i], 6, room);
        printf("%*s%s", left - columns_of(text), "", text);
        for (size_t k = 0; k < n; k++)
            printf(" %*zu", width, r->confusion[i * n + k]);
        putchar('\n');
    }
}

static void print_text(const struct report *r, const struct report_settings *s)
{
    print_head(r, s);
    if (r->problems && r->n_problems == 1)
        print_one_problem(r);
    else if (r->problems)
        print_problems(r);
    print_leave_one_out(r, s);
    if (r->certified && r->problems && r->n_problems == 1)
        print_bounds(r, s);
    if (r->problems && r->n_problems == 1)
        print_losses(r->problems[0].losses);
    if (r->confusion)
        print_confusion(r);
    print_score(stdout, &r->score, 0);
}

/* ---- JSON ---- */

static void json_problem(struct json *j, const struct report *r, const struct two_class *t)
{
    const hinge_kinds *k = &t->kinds;
    json_open(j, NULL, '{');
    json_label(j, "positive", subject_words(&r->s), t->positive);
    json_label(j, "negative", subject_words(&r->s), t->negative);
    json_put(j, "n %zu", t->n);
    json_counts(j, "slack", t->n_slack, 4);
    json_put(j, "norm2 %g, margin %g", t->norm2, hinge_margin(t->norm2));
    if (r->certified) {
        json_put(j, "n_margin_sv %zu, n_non_margin_sv %zu", k->n_margin_sv, k->n_non_margin_sv);
        json_put(j, "bias %g, bias_low %g, bias_high %g", k->bias, k->bias_low, k->bias_high);
        json_put(j, "sum_alpha %g, alpha_slackness %g, slack_slackness %g", k->sum_alpha, k->alpha_slackness,
                 k->slack_slackness);
    }
    json_open(j, "losses", '{');
    for (int l = 0; l < HINGE_N_LOSSES; l++)
        json_real(j, hinge_loss_name((hinge_loss)l), t->losses[l]);
    json_close(j, '}');
    json_close(j, '}');
}

static void json_bounds(struct json *j, const struct bounds *b)
{
    json_open(j, "bounds", '{');
    json_put(j, "leave_one_out %g, radius %g, radius_centred %g, dimension %g", b->leave_one_out, b->radius,
             b->radius_centred, b->dimension);
    json_put(j, "vc_fat %g, vc_slides %g, vc_risk %g", b->vc_fat, b->vc_slides, b->vc_risk);
    if (b->lambda > 0)
        json_put(j, "lambda %g, stability %g", b->lambda, b->stability);
    json_close(j, '}');
}

static void json_confusion(struct json *j, const struct report *r)
{
    json_open(j, "confusion", '{');
    json_labels(j, "labels", subject_words(&r->s), r->label, r->n_labels);
    json_open(j, "counts", '[');
    for (size_t k = 0; k < r->n_labels; k++)
        json_counts(j, NULL, r->confusion + k * r->n_labels, r->n_labels);
    json_close(j, ']');
    json_close(j, '}');
}

static void print_json(const struct report *r, const struct report_settings *s)
{
    struct json j = { 0 };
    json_open(&j, NULL, '{');
    json_put(&j, "model %s, data %s, task %s, kernel %s", s->model_path, s->data_path,
             hinge_task_info(s->params.task)->keyword, kernel_words(&s->params.kernel));
    json_put(&j, "n %zu, d %zu, n_sv %zu", r->s.data.x.rows, r->s.data.x.cols, hinge_model_n_sv(r->s.model));
    json_names(&j, "names", hinge_model_names(r->s.model));
    if (hinge_model_target(r->s.model))
        json_put(&j, "target %s", hinge_model_target(r->s.model));
    json_put(&j, "located %i, certified %i", r->s.located, r->certified);
    if (!r->certified)
        json_put(&j, "why_not %s", r->why);
    if (r->certified && s->params.C > 0)
        json_put(&j, "C %g, C_of_model %i", s->params.C, r->recall.C_of_coefficients);
    if (r->certified) {
        json_put(&j, "misfit %s", r->recall.misfit);
        json_open(&j, "certificate", '{');
        json_certificate(&j, &r->certificate);
        json_close(&j, '}');
    }
    if (r->problems) {
        json_open(&j, "problems", '[');
        for (size_t p = 0; p < r->n_problems; p++)
            json_problem(&j, r, &r->problems[p]);
        json_close(&j, ']');
    }
    if (r->certified && r->problems && r->n_problems == 1)
        json_bounds(&j, &r->bounds);
    if (s->leave_one_out) {
        json_open(&j, "leave_one_out", '{');
        json_put(&j, "n %zu, retrained %zu, errors %zu, error %g, bound %g, seconds %g", r->loo.n, r->loo.retrained,
                 r->loo.errors, r->loo.error, r->loo.bound, r->loo.seconds);
        json_close(&j, '}');
    }
    if (r->confusion)
        json_confusion(&j, r);
    json_score(&j, &r->score);
    json_close(&j, '}');
}

void report_print(const struct report *r, const struct report_settings *s)
{
    if (s->json)
        print_json(r, s);
    else if (!is_stdout(s->points))
        print_text(r, s);
    finish_stdout();
}

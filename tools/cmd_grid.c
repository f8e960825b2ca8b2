/*
 * hinge grid: the choice of C, gamma and the like by cross-validation, with the options and lines of LIBSVM's grid.py.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gnuplot.h"
#include "cmd_grid.h"
#include "progress.h"

/* ---- Parameters ---- */

#define BOTH(field) offsetof(hinge_grid_point, field), offsetof(hinge_select_options, field)
const struct axis axes[AXES] = {
    [AXIS_C] = { "c", "C", 1, &range_positive, BOTH(C) },
    [AXIS_GAMMA] = { "g", "gamma", 1, &range_not_negative, BOTH(gamma) },
    [AXIS_NU] = { "nu", "nu", 0, &range_01, BOTH(nu) },
    [AXIS_P] = { "p", "epsilon", 0, &range_not_negative, BOTH(p) },
    [AXIS_DEGREE] = { "degree", "degree", 0, &range_not_negative, BOTH(degree) },
    [AXIS_COEF0] = { "coef0", "coef0", 0, &range_any, BOTH(coef0) },
    [AXIS_TAU] = { "tau", "quantile", 0, &range_inside_01, BOTH(tau) },
};

double axis_value(const hinge_grid_point *point, enum grid_axis axis)
{
    const char *place = (const char *)point + axes[axis].point;
    return axis == AXIS_DEGREE ? point->degree : *(const double *)(const void *)place;
}

void set_axis_value(hinge_grid_point *point, enum grid_axis axis, double value)
{
    char *place = (char *)point + axes[axis].point;
    if (axis == AXIS_DEGREE)
        point->degree = (int)value;
    else
        *(double *)(void *)place = value;
}

double line_value(enum grid_axis axis, double value)
{
    return axes[axis].log2 ? log2(value) : value;
}

hinge_grid_point point_of(const hinge_params *p)
{
    return (hinge_grid_point){ .C = p->C, .nu = p->nu, .gamma = p->kernel.gamma, .p = p->p, .coef0 = p->kernel.coef0,
                               .tau = p->tau, .degree = p->kernel.degree };
}

int is_scored(const hinge_grid_point *point)
{
    return point->state == HINGE_POINT_DONE || point->state == HINGE_POINT_KNOWN;
}

double rate_of(const struct grid_settings *s, const hinge_grid_point *point)
{
    const double *of = s->select.by_fold || s->select.one_se ? point->mean : point->score;
    return is_scored(point) ? of[s->select.score] * (s->select.score == HINGE_SCORE_ACCURACY ? 100 : 1) : NAN;
}

/* ---- Options ---- */

static void append(struct grid_list *list, double value)
{
    list->value = grown(list->value, list->count + 1, sizeof *list->value);
    list->value[list->count++] = value;
}

static void begin_list(const struct option_use *use, struct grid_list *list)
{
    if (list->given)
        die(EXIT_USAGE, "%s: '%s': there are values of this parameter already", use->shown, use->text);
    list->given = 1;
}

static void fill_log2(struct grid_list *list, double begin, double end, double step)
{
    list->count = hinge_log2_range(begin, end, step, NULL, 0);
    list->value = allocate(list->count, sizeof *list->value);
    hinge_log2_range(begin, end, step, list->value, list->count);
}

static void parse_log2(const struct option_use *use, void *field)
{
    struct grid_list *list = field;
    double number[3];
    begin_list(use, list);
    if (strcmp(use->text, "null") == 0)
        return;
    if (numbers_with_commas(use->text, number, COUNT_OF(number)))
        fill_log2(list, number[0], number[1], number[2]);
    if (list->count == 0)
        die(EXIT_USAGE, "%s: '%s' is neither BEGIN,END,STEP, of which STEP leads from BEGIN to END, nor null",
            use->shown, use->text);
}

static void parse_list(const struct option_use *use, void *field)
{
    struct grid_list *lists = field;
    const char *equals = strchr(use->text, '='), *at = equals ? equals + 1 : NULL;
    int axis = 0;
    while (axis < AXES && equals && (strlen(axes[axis].key) != (size_t)(equals - use->text) ||
                                     strncmp(axes[axis].key, use->text, (size_t)(equals - use->text)) != 0))
        axis++;
    if (!equals || axis == AXES)
        die(EXIT_USAGE, "%s: '%s' is not NAME=VALUE,... with the name c, g, nu, p, degree, coef0 or tau", use->shown,
            use->text);
    begin_list(use, &lists[axis]);
    while (at) {
        size_t length = strcspn(at, ",");
        char *text = allocate(length + 1, 1), shown[64];
        struct option_use one = *use;
        memcpy(text, at, length);
        text[length] = '\0';
        snprintf(shown, sizeof shown, "%s %s", use->shown, axes[axis].key);
        one.text = text;
        one.shown = shown;
        append(&lists[axis], real_value(&one, axes[axis].range));
        free(text);
        at = at[length] ? at + length + 1 : NULL;
    }
}

/* Takes the next word too, unless it is an option or the data file; "": the file that is written without --out. */
static void parse_resume(const struct option_use *use, void *field)
{
    const char *next = option_peek(use, 1);
    *(const char **)field = use->text ? use->text : *next && *next != '-' ? option_next(use) : "";
}

static void parse_score(const struct option_use *use, void *field)
{
    struct choice choices[HINGE_N_SCORES + 1] = { { NULL, 0 } };
    for (int k = 0; k < HINGE_N_SCORES; k++)
        choices[k] = (struct choice){ hinge_score_name((hinge_score)k), k };
    parse_choice(&(struct option_use){ .shown = use->shown, .text = use->text, .detail = choices }, field);
}

static const hinge_drop drop_not_given = (hinge_drop)(HINGE_DROP_RACE + 1);
static const struct choice choice_drop[] = { { "none", HINGE_DROP_NONE }, { "exact", HINGE_DROP_EXACT },
                                             { "race", HINGE_DROP_RACE }, { NULL, 0 } };

#define FIELD(name) offsetof(struct grid_settings, name)
static const struct tool_option grid_options[] = {
    { 0, "log2c", "B,E,S", parse_log2, FIELD(list[AXIS_C]), NULL,
      "try C = 2^B, 2^(B+S), ... up to 2^E (-5,15,2); null:\nthe one of -c, which is enough by itself" },
    { 0, "log2g", "B,E,S", parse_log2, FIELD(list[AXIS_GAMMA]), NULL,
      "try gamma = 2^B, 2^(B+S), ... up or down to 2^E\n(3,-15,-2); null: the one of -g" },
    { 0, "list", "NAME=V,...", parse_list, FIELD(list), NULL,
      "try these values of c, g, nu, p, degree, coef0 or\ntau; once for each name (nu_svc and one_class: nu of\n"
      "0.05, 0.1, 0.2, ... up to 0.8)" },
    { 'v', "folds", "N", parse_size, FIELD(train.folds), &range_folds, "cross-validate in N folds (5)" },
    { 0, "repeats", "N", parse_size, FIELD(select.repeats), &range_positive, "draw the folds N times (1)" },
    { 0, "score", "SCORE", parse_score, FIELD(select.score), NULL,
      "choose by accuracy, balanced_accuracy, f1, auc, mcc,\nlog_loss; mse, mae, r2, pinball (accuracy; "
      "regression:\nmse; quantile: pinball)" },
    OPTION_FLAG("by-fold", select.by_fold,
                "score by the mean of the folds' scores, not by all\nheld-out examples together"),
    OPTION_FLAG("one-se", select.one_se, "choose the smallest C within one standard error of\nthe best"),
    { 0, "drop", "HOW", parse_choice, FIELD(select.drop), choice_drop,
      "leave points unfinished: none; exact, that cannot\nwin any more; race, that are surely worse (exact;\n"
      "with --png none)" },
    { 0, "fold-tolerance", "EPS", parse_real, FIELD(select.eps), &range_positive,
      "stop the folds' trainings at a violation of EPS (0.1,\nin regression a quarter of the targets' standard\n"
      "deviation, of small data a thousandth, and half of\nthe held-out error if these are less, or until its\n"
      "values have next to no way to go; a tenth of nu_svc's\nmargin or of the deviation of one_class's decision\n"
      "values; that of -e if it is larger)" },
    { 0, "svmtrain", "PATH", parse_text, FIELD(ignored), NULL, NULL }, /* of grid.py, which easy.py sets */
    { 0, "gnuplot", "PATH", parse_text, FIELD(ignored), NULL, NULL },
};
static const struct tool_option output_options[] = {
    OPTION_FILE("out", out,
      "write the points to FILE; null: to none (the data\nfile's name with .out added, in the current folder)"),
    { 0, "resume", "[FILE]", parse_resume, FIELD(resume), NULL,
      "take the points that FILE has (by default the one of\n--out's default), written by a grid of the same data" },
    OPTION_FILE("png", picture, "draw a map of the rates to FILE, .png or .svg"),
    { 'q', "quiet", NULL, parse_flag, FIELD(train.quiet), NULL, "print the last line, warnings and errors only" },
    OPTION_VERBOSE(train.verbose),
    OPTION_JSON(train.json),
    OPTION_RECORD(train.record),
};

static const char usage[] =
    "usage: hinge grid [options] training_file [model_file]\n\n"
    "Chooses C and gamma, or other parameters, by cross-validation, as LIBSVM's grid.py does, whose\n"
    "options it takes with one dash too. Writes the model of the best ones, trained on all examples, to\n"
    "model_file if there is one. Ctrl-C ends the search and keeps what was found so far; a second one ends\n"
    "at once.";

/* Gives options of grid.py, which have one dash, another one. */
static char **with_two_dashes(int argc, char **argv)
{
    static char names[][12] = { "--log2c", "--log2g", "--out", "--png", "--resume", "--svmtrain", "--gnuplot" };
    char **words = allocate((size_t)argc + 1, sizeof *words);
    for (int k = 0; k < argc; k++) {
        words[k] = argv[k];
        for (size_t i = 0; i < COUNT_OF(names); i++)
            if (strcmp(argv[k], names[i] + 1) == 0)
                words[k] = names[i];
    }
    return words;
}

static void refuse_others(const struct grid_settings *s)
{
    const hinge_params *p = &s->train.params;
    if ((int)p->solver >= SOLVER_PERCEPTRON || s->train.online.epochs || s->train.online.batch)
        die(EXIT_USAGE, "grid: perceptron and sgd have no grid; see `hinge train --help`");
    if (!isnan(p->C) && s->list[AXIS_C].count)
        die(EXIT_USAGE, "grid: leave out -c, or the list of C");
    if (!isnan(p->kernel.gamma) && s->list[AXIS_GAMMA].count)
        die(EXIT_USAGE, "grid: leave out -g, or the list of gamma");
    if (s->resume && (s->select.by_fold || s->select.one_se || s->select.repeats > 1))
        die(EXIT_USAGE, "grid: --resume knows no scores of single folds: leave it out, or --by-fold, --one-se, "
                        "--repeats");
}

/* Finds the values of each parameter that counts, and those that lines tell. */
static void find_lists(struct grid_settings *s)
{
    hinge_params *p = &s->train.params;
    const hinge_task_row *task = hinge_task_info(p->task);
    const hinge_kernel_row *kernel = hinge_kernel_info(p->kernel.type);
    int only_nu = task->uses_nu && !task->uses_C;
    const int counts[AXES] = { task->uses_C, kernel->uses_gamma, task->uses_nu, task->uses_p, kernel->uses_degree,
                               kernel->uses_coef0, task->uses_tau };
    if (counts[AXIS_C] && !s->list[AXIS_C].given && isnan(p->C))
        fill_log2(&s->list[AXIS_C], -5, 15, 2);
    if (counts[AXIS_GAMMA] && !s->list[AXIS_GAMMA].given && isnan(p->kernel.gamma))
        fill_log2(&s->list[AXIS_GAMMA], 3, -15, -2);
    for (int k = 0; only_nu && !s->list[AXIS_NU].given && isnan(p->nu) && k < 9; k++)
        append(&s->list[AXIS_NU], k ? 0.1 * k : 0.05);
    for (int k = 0; k < AXES; k++) {
        if (!counts[k] && s->list[k].count)
            die(EXIT_USAGE, "grid: %s with the %s kernel has no %s", task->keyword, kernel->keyword, axes[k].key);
        s->list[k].shown = s->list[k].count > (k > AXIS_NU);
    }
    if (isnan(p->C))
        p->C = 1;
    if (isnan(p->nu))
        p->nu = 0.5;
    if (isnan(p->kernel.gamma))
        p->kernel.gamma = HINGE_GAMMA_AUTO;
    if (s->select.score == HINGE_SCORE_AUTO)
        s->select.score = task->uses_tau    ? HINGE_SCORE_PINBALL
                          : task->regresses ? HINGE_SCORE_MSE
                                            : HINGE_SCORE_ACCURACY;
}

static const struct tool_option rank_options[] = {
    OPTION_FLAG("deal", deal, "let each process have its part of the examples alone,\nalso where all of them fit each"),
};

static void read_options(int argc, char **argv, struct grid_settings *s, const char *text, const struct ranks *ranks)
{
    static const char *const own[] = { "folds", NULL };
    struct train_settings *t = &s->train;
    struct command_line line = train_line(t, text, 1);
    t->grid = 1;
    t->folds = 5;
    s->select.drop = drop_not_given;
    line.groups[0] = (struct option_group)OPTION_GROUP("Grid (default in parentheses):", grid_options, s);
    line.groups[1].title = "Problem:";
    line.groups[1].without = own;
    line.groups[TRAIN_GROUPS + 1] = (struct option_group)OPTION_GROUP("Output:", output_options, s);
    if (ranks)
        line.groups[TRAIN_GROUPS + 2] = (struct option_group)OPTION_GROUP("Ranks:", rank_options, s);
    t->params.C = t->params.nu = t->params.kernel.gamma = NAN;
    parse_command(argc, argv, &line);
    if (!s->out || (s->resume && !*s->resume))
        s->own_out = join(base_name(named_file(t->data_path)), ".out", "");
    s->out = s->out ? s->out : s->own_out;
    s->out = strcmp(s->out, "null") == 0 ? NULL : s->out;
    s->resume = s->resume && !*s->resume ? s->own_out : s->resume;
    if (s->select.drop == drop_not_given)
        s->select.drop = s->picture ? HINGE_DROP_NONE : HINGE_DROP_EXACT;
    refuse_others(s);
    find_lists(s);
    train_settle_options(t);
}

/* ---- The run ---- */

struct grid_run {
    const struct grid_settings *s;
    struct points points;
    int stopped;    /* Ctrl-C came */
    char best[120]; /* the best point so far, in words */
    size_t known;   /* points that need not be tried */
};

/* Called now and then: shows how far the grid is, and ends it by Ctrl-C. */
static int on_progress(void *arg, const hinge_progress *p)
{
    struct grid_run *run = arg;
    double done = (double)p->problem, fresh = done - (double)run->known;
    char left[48] = "";
    if (fresh > 0)
        snprintf(left, sizeof left, ", some %.0f s left", p->seconds / fresh * ((double)p->n_problems - done));
    if (!run->s->train.quiet && line_is_due(p->seconds))
        show_line(p->seconds, "%zu of %zu points%s  %.0f s%s", p->problem, p->n_problems, run->best, p->seconds, left);
    run->stopped |= was_interrupted();
    return run->stopped;
}

/* Takes a point that is finished into the file, and warns of one that has failed. */
static void take_point(struct grid_run *run, const hinge_grid_point *point)
{
    points_begin(&run->points, run->s);
    if (point->state == HINGE_POINT_DONE)
        points_add(&run->points, run->s, point);
    if (point->state == HINGE_POINT_FAILED && !run->s->train.quiet)
        warn("a point cannot be trained: %s", point->text);
}

/* Tells a point, after each. */
static int on_point(void *arg, const hinge_select_progress *p)
{
    struct grid_run *run = arg;
    const struct grid_settings *s = run->s;
    wipe_line();
    if (p->best) {
        char number[NUMBER_ROOM];
        size_t used = (size_t)snprintf(run->best, sizeof run->best, ", best %.6g at", rate_of(s, p->best));
        for (enum grid_axis k = AXIS_C; k < AXES; k++)
            if (s->list[k].shown && used < sizeof run->best)
                used += (size_t)snprintf(run->best + used, sizeof run->best - used, " %s=%s", axes[k].key,
                                         number_text(axis_value(p->best, k), 1, number));
    }
    if (!s->train.quiet && !s->train.json)
        grid_line(s, p->point, p->best);
    take_point(run, p->point);
    run->stopped |= was_interrupted();
    return run->stopped;
}

/* Prints points that are known, each with the best of those before. */
static void tell_known(const struct grid_settings *s, const hinge_grid_point *points, size_t count)
{
    const hinge_grid_point *best = NULL;
    double sign = hinge_score_rises(s->select.score) ? 1 : -1;
    for (size_t k = 0; k < count && !s->train.quiet && !s->train.json; k++) {
        const hinge_grid_point *point = &points[k];
        if (is_scored(point) && (!best || sign * rate_of(s, point) > sign * rate_of(s, best)))
            best = point;
        if (best)
            grid_line(s, point, best);
    }
}

static hinge_selection *search(struct grid_settings *s, struct train_run *run, struct grid_run *grid,
                               const struct ranks *ranks)
{
    int dealt = s->train.data.ranks != NULL;
    hinge_selection *selection = NULL;
    hinge_select_options o = s->select;
    o.folds = s->train.folds;
    o.no_refit = !dealt || !s->train.model_path;
    o.known = grid->points.point;
    o.n_known = grid->points.count;
    o.point = ranks ? NULL : on_point; /* points of ranks are told when all have theirs */
    o.point_arg = grid;
    for (int k = 0; k < AXES; k++)
        *(hinge_values *)(void *)((char *)&o + axes[k].values) = (hinge_values){ s->list[k].value, s->list[k].count };
    s->train.params.progress = on_progress;
    s->train.params.progress_arg = grid;
    catch_interrupt(1);
    check((dealt ? ranks->select_dealt : ranks ? ranks->select : hinge_select)(&selection, &run->data.x, run->data.y,
                                                                               &s->train.params, &o, &failure));
    catch_interrupt(0);
    wipe_line();
    return selection;
}

/* Sets the one value of each parameter that has no list, which the library would take a list of its own for. */
static void fix_others(struct grid_settings *s, const hinge_data *data)
{
    hinge_params *p = &s->train.params;
    if (p->kernel.gamma == HINGE_GAMMA_AUTO)
        p->kernel.gamma = 1.0 / (double)data->x.cols;
    if (!s->list[AXIS_C].count)
        append(&s->list[AXIS_C], p->C);
    if (!s->list[AXIS_GAMMA].count)
        append(&s->list[AXIS_GAMMA], p->kernel.gamma);
    if (!s->list[AXIS_NU].count)
        append(&s->list[AXIS_NU], p->nu);
}

/* Says whether ranks have examples of their own alone, as all do not fit each: all are read once to know it. */
static int is_dealt(const struct grid_settings *s, const struct ranks *ranks)
{
    hinge_data_options options = reading(&s->train.data);
    hinge_data data;
    int fits;
    if (s->deal || s->train.params.kernel.type == HINGE_PRECOMPUTED)
        return s->deal;
    options.threads = s->train.params.threads;
    check(ranks->read(s->train.data_path, &options, &data, &failure));
    fits = ranks->fits(data.x.rows, data.x.cols);
    hinge_data_free(&data);
    return !fits;
}

/* Trains, unless ranks have, and writes the model of the best point. */
static void train_best(struct grid_settings *s, struct train_run *run, hinge_selection *selection)
{
    double limit = s->train.params.time_limit;
    if (!s->train.model_path || !selection->best)
        return;
    s->train.params = selection->params;
    s->train.params.time_limit = limit;
    s->train.folds = 0;
    if (s->train.data.ranks) {
        run->model = selection->model;
        run->report = selection->report;
        selection->model = NULL;
        train_complete(&s->train, run);
    } else {
        train_run(&s->train, run);
    }
    save_model(run->model, s->train.model_path);
    if (run->report.outcome != HINGE_CONVERGED)
        warn("%s is not converged: %s", s->train.model_path, hinge_outcome_text(run->report.outcome));
}

/* Warns of points some of whose trainings did not reach the folds' tolerance, and names the first. */
static void warn_of_unconverged(const hinge_selection *selection)
{
    const hinge_grid_point *first = NULL;
    size_t count = 0;
    for (size_t k = selection->n_points; k-- > 0;) {
        const hinge_grid_point *point = &selection->points[k];
        if (point->state == HINGE_POINT_DONE && point->outcome != HINGE_CONVERGED)
            first = point, count++;
    }
    if (first)
        warn("%zu of the points did not converge to %g in all folds, such as C = %g, gamma = %g: %s", count,
             selection->eps, first->C, first->gamma, hinge_outcome_text(first->outcome));
}

/* Tells what was found, before the last training and the files, of which any may fail. */
static void tell(const struct grid_settings *s, const hinge_selection *selection, const struct grid_run *grid)
{
    if (!selection->best && !grid->stopped)
        die(EXIT_DATA, "no point of the grid is done, so there is no best one");
    if (s->train.json)
        grid_json(s, selection);
    else if (!s->train.quiet && selection->best)
        grid_table(s, selection);
    if (!s->train.json && selection->best)
        grid_last_line(s, selection->best);
    fflush(stdout);
}

static void finish(const struct grid_settings *s, const hinge_selection *selection, const struct grid_run *grid)
{
    finish_stdout();
    if (s->train.verbose)
        grid_work(s, selection);
    if (grid->stopped)
        fprintf(stderr, "hinge: interrupted; %s\n", selection->best ? "the table tells the points so far"
                                                                    : "no point is done");
    else if (selection->outcome != HINGE_CONVERGED)
        warn("not all points are tried: %s", hinge_outcome_text(selection->outcome));
    warn_of_unconverged(selection);
    if (s->picture && selection->best)
        grid_picture(s, selection);
    if (grid->points.failed)
        die(EXIT_DATA, "%s: could not be written; it lacks points", s->out);
}

int command_grid(int argc, char **argv)
{
    return run_grid(argc, argv, usage, NULL);
}

int run_grid(int argc, char **argv, const char *text, const struct ranks *ranks)
{
    struct grid_settings s = { 0 };
    struct train_run run = { 0 };
    struct grid_run grid = { .s = &s };
    char **words = with_two_dashes(argc, argv);
    hinge_selection *selection = NULL;
    int stopped;
    read_options(argc, words, &s, text, ranks);
    restart_if_slow(!s.train.no_restart, s.train.verbose);
    check_writable(s.train.model_path, s.train.data_path);
    check_writable(s.train.model_path, s.out);
    check_writable(s.out, s.train.data_path);
    if (s.picture)
        gnuplot_check(s.picture);
    s.train.data.ranks = ranks && is_dealt(&s, ranks) ? ranks : NULL;
    train_load(&s.train, &run);
    fix_others(&s, &run.data);
    points_identify(&s, &run);
    points_read(&grid.points, &s);
    grid.known = grid.points.count;
    tell_known(&s, grid.points.point, grid.points.count);
    selection = search(&s, &run, &grid, ranks);
    if (selection) { /* rank 0's */
        if (ranks)
            tell_known(&s, selection->points, selection->n_points);
        for (size_t k = 0; ranks && k < selection->n_points; k++)
            take_point(&grid, &selection->points[k]);
        points_begin(&grid.points, &s); /* where all points were known */
        points_end(&grid.points);
        tell(&s, selection, &grid);
        train_best(&s, &run, selection);
        finish(&s, selection, &grid);
    }
    stopped = grid.stopped || run.report.outcome == HINGE_STOPPED; /* in the search, or in the last training */
    hinge_selection_free(selection);
    train_release(&s.train, &run);
    for (int k = 0; k < AXES; k++)
        free(s.list[k].value);
    free(s.own_out);
    free(words);
    return stopped ? EXIT_STOPPED : 0;
}

/*
 * hinge plot: decision regions of two features with margins, support vectors and slack classes; values of a regression;
 * or, with --path, cross-validated error and number of support vectors against C. Drawn by gnuplot.
 */
#include <math.h>
#include <stdlib.h>

#include "gnuplot.h"
#include "cmd_plot.h"
#include "progress.h"

static void parse_costs(const struct option_use *use, void *field)
{
    double *costs = field;
    if (!numbers_with_commas(use->text, costs, 3) || hinge_log2_range(costs[0], costs[1], costs[2], NULL, 0) == 0)
        die(EXIT_USAGE, "%s: '%s' is not LOW,HIGH,STEP, of which STEP leads from LOW to HIGH", use->shown, use->text);
}

#define FIELD(name) offsetof(struct plot_settings, name)
static const struct tool_option plot_options[] = {
    { 'o', "output", "FILE", parse_text, FIELD(output), NULL, "write the picture to FILE, .svg or .png (needed)" },
    { 0, "features", "A,B", parse_text, FIELD(features), NULL,
      "draw features A and B, by their numbers from 1 or\ntheir names, and hold the others at their mean (1,2);\n"
      "of a regression also A alone" },
    OPTION_SLACK(tolerance),
    { 0, "keep", "FOLDER", parse_text, FIELD(keep), NULL, "keep the gnuplot script, which holds the data, in\nFOLDER" },
    OPTION_THREADS(params.threads),
    OPTION_NO_RESTART(no_restart),
};
static const struct tool_option path_options[] = {
    OPTION_FLAG("path", path,
                "train on data_file with rising C, and draw error of\ncross-validation and number of support vectors"),
    OPTION_FLAG("scale", scale, "scale each feature to [-1, 1] by what is trained on"),
    { 0, "costs", "L,H,S", parse_costs, FIELD(costs), NULL, "try C = 2^L, 2^(L+S), ... up to 2^H (-5,15,2)" },
    { 'v', "folds", "N", parse_size, FIELD(folds), &range_folds, "cross-validate in N folds (5)" },
    { 's', "type", "TASK", parse_task, FIELD(params.task), NULL,
      "train c_svc, epsilon_svr, nu_svr or quantile, by\nnumber or name as to train (c_svc)" },
    { 'n', "nu", "NU", parse_real, FIELD(params.nu), &range_01, "set nu of nu_svr (0.5)" },
    OPTION_TUBE(params.p),
    { 0, "tau", "TAU", parse_real, FIELD(params.tau), &range_inside_01, "set the level of quantile (0.5)" },
    { 't', "kernel", "KERNEL", parse_kernel, FIELD(params.kernel), NULL,
      "use a kernel of features, as to train (rbf)" },
    OPTION_DEGREE(params.kernel.degree),
    OPTION_GAMMA(params.kernel.gamma),
    OPTION_COEF0(params.kernel.coef0),
    OPTION_EPS(params.eps),
    { 0, "seed", "N", parse_count, FIELD(params.seed), &range_not_negative, "draw the folds from seed N (0)" },
};

static const char usage[] =
    "usage: hinge plot [options] -o picture model_file data_file\n"
    "       hinge plot --path [options] -o picture data_file\n\n"
    "Draws the decision regions of a classifier over two features of the data, with the margins f = +-1,\n"
    "support vectors ringed, and examples coloured by slack; of a regression prediction and tube over one\n"
    "feature, or contours over two. With --path it draws error and number of support vectors against C.\n"
    "gnuplot must be installed.";

/* ---- The path over C ---- */

struct step {
    double C, error; /* error: percent of wrong labels, mean squared error, or mean pinball loss */
    size_t n_sv;
};

static void take_step(const struct plot_settings *settings, const hinge_data *data, hinge_params *params, double **beta,
                      struct step *step)
{
    size_t n = data->x.rows, problems;
    struct score score;
    double *predictions = allocate(n, sizeof *predictions);
    hinge_model *model = NULL;
    params->C = step->C;
    params->beta0 = NULL;
    check(hinge_cross_validate(&data->x, data->y, params, settings->folds, predictions, NULL, &failure));
    score = score_predictions(params->task, params->tau, n, predictions, data->y);
    step->error = score.tau > 0 ? score.pinball : score.regression ? score.mse : 100 - score.accuracy;
    params->beta0 = *beta; /* of the C before */
    check(hinge_train(&model, &data->x, data->y, params, NULL, &failure));
    step->n_sv = hinge_model_n_sv(model);
    problems = hinge_model_n_problems(model);
    if (!*beta)
        *beta = allocate(problems ? problems : 1, n * sizeof **beta);
    check(hinge_model_beta(model, n, *beta, &failure));
    hinge_model_free(model);
    free(predictions);
}

static void path_script(const struct plot_settings *settings, const struct gnuplot *g, size_t n)
{
    const hinge_task_row *task = hinge_task_info(settings->params.task);
    hinge_kernel kernel = settings->params.kernel;
    char gamma[40] = "";
    if (hinge_kernel_info(kernel.type)->uses_gamma && kernel.gamma != HINGE_GAMMA_AUTO)
        snprintf(gamma, sizeof gamma, ", gamma %g", kernel.gamma);
    gnuplot_title(g, "set title ", "%s (%zu examples), %s, %s kernel%s", base_name(settings->data_path), n,
                  task->keyword, kernel_words(&kernel), gamma);
    fprintf(g->script,
            "\nset logscale x 2\nset format x '2^{%%L}'\nset xlabel 'C'\nset xtics nomirror out\n"
            "set ylabel '%s of %zu-fold cross-validation%s' textcolor rgb '#0072B2'\n"
            "set y2label 'support vectors' textcolor rgb '#D55E00'\n"
            "set ytics nomirror out\nset y2tics out\nset yrange [0:*]\nset y2range [0:*]\n"
            "set offsets graph 0.02, graph 0.02, graph 0.05, 0\nset key outside top center horizontal Left reverse\n"
            "plot $path using 1:2 with linespoints lw 2 pt 7 ps 1.2*scale lc rgb '#0072B2' title 'error (left)', \\\n"
            "  '' using 1:3 axes x1y2 with linespoints lw 2 dt '-' pt 9 ps 1.4*scale lc rgb '#D55E00' "
            "title 'support vectors (right)'\n",
            !task->regresses ? "error"
            : task->uses_tau ? "mean pinball loss"
                             : "mean squared error",
            settings->folds, task->regresses ? "" : ", %");
}

static void draw_path(struct plot_settings *settings)
{
    const double *ends = settings->costs;
    size_t count = hinge_log2_range(ends[0], ends[1], ends[2], NULL, 0);
    hinge_params params = settings->params;
    const hinge_scaling to_ends = { .lower = -1, .upper = 1 }; /* by the ranges of what is trained on */
    double *beta = NULL, *costs = allocate(count, sizeof *costs);
    struct gnuplot g;
    hinge_data data;
    FILE *file;
    settings->data.read.drop_empty = params.kernel.type != HINGE_COMBINED;
    params.scaling = settings->scale ? &to_ends : NULL;
    load_data(settings->data_path, &settings->data, 0, params.threads, &data);
    count_dropped(&params.kernel, &data, &settings->data);
    drop_words(&data, params.task);
    need_labels(settings->data_path, &data, "train on", "--labels");
    check_features(settings->data_path, &settings->data, &data);
    warn_of_labels(settings->data_path, &settings->data, params.task, &data);
    gnuplot_open(&g, settings->output, settings->keep);
    file = gnuplot_data(&g, "path", "C, cross-validated error, support vectors of a model of all examples");
    hinge_log2_range(ends[0], ends[1], ends[2], costs, count);
    for (size_t k = 0; k < count; k++) {
        struct step step = { .C = costs[k] };
        show_line(0, "C = %g (%zu of %zu)", step.C, k + 1, count);
        take_step(settings, &data, &params, &beta, &step);
        fprintf(file, "%.17g %.10g %zu\n", step.C, step.error, step.n_sv);
    }
    wipe_line();
    gnuplot_end_data(&g);
    path_script(settings, &g, data.x.rows);
    gnuplot_draw(&g);
    hinge_data_free(&data);
    free(costs);
    free(beta);
}

/* ---- The command ---- */

static void read_options(int argc, char **argv, struct plot_settings *s)
{
    static const char *const own[] = { "features", NULL };
    struct command_line line = { .usage = usage,
                                 .groups = { OPTION_GROUP("Options (default in parentheses):", plot_options, s),
                                             OPTION_GROUP("Path over C:", path_options, s), DATA_GROUP(&s->data) } };
    int first, left;
    s->params = hinge_params_default(HINGE_C_SVC);
    s->costs[0] = -5, s->costs[1] = 15, s->costs[2] = 2;
    s->folds = 5;
    s->tolerance = 1e-3;
    line.groups[2].without = own;
    first = parse_options(argc, argv, &line);
    left = argc - first;
    if (left != 2 - s->path)
        die(EXIT_USAGE, "plot: %s; see `hinge plot --help`",
            s->path    ? "--path takes one data file"
            : left > 2 ? "too many file names"
                       : "a model file and a data file are needed");
    if (!s->output)
        die(EXIT_USAGE, "plot: give -o and the name of the picture");
    combined_has_no_more(&s->params.kernel);
    if (s->params.kernel.type == HINGE_PRECOMPUTED)
        die(EXIT_USAGE, "plot: --path does not draw precomputed kernels");
    if (s->params.task == HINGE_NU_SVC || s->params.task == HINGE_ONE_CLASS)
        die(EXIT_USAGE, "plot: --path: %s has no C", hinge_task_info(s->params.task)->keyword);
    s->model_path = s->path ? NULL : input_name(argv[first]);
    s->data_path = input_name(argv[argc - 1]);
}

int command_plot(int argc, char **argv)
{
    struct plot_settings s = { 0 };
    read_options(argc, argv, &s);
    restart_if_slow(!s.no_restart, 0);
    if (s.path)
        draw_path(&s);
    else
        draw_model(&s);
    finish_stdout();
    return 0;
}

/*
 * hinge plot: decision regions of two features with margins, support vectors and slack classes; or, with --path,
 * cross-validated error and number of support vectors against C. Drawn by gnuplot.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gnuplot.h"
#include "subject.h"

struct plot_settings {
    hinge_params params;
    struct data_flags data;
    const char *output, *keep;
    size_t features[2]; /* from 1; 0: not given */
    int path;
    double costs[3]; /* log2 of the first and the last C, and the step */
    size_t folds;
    int no_restart;
    double tolerance;
    const char *model_path, *data_path;
};

static const struct range range_folds = { 2, INFINITY, 0 };
static const struct range range_tolerance = { 0, 0.49, 0 };

/* Numbers apart by commas; dies unless there are so many. */
static void split_numbers(const struct option_use *use, double *numbers, size_t count)
{
    const char *at = use->text;

    for (size_t k = 0; k < count; k++) {
        char *end;

        numbers[k] = strtod(at, &end);
        if (end == at || !isfinite(numbers[k]) || *end != (k + 1 < count ? ',' : '\0'))
            die(EXIT_USAGE, "%s: '%s' is not %zu numbers with commas between", use->shown, use->text, count);
        at = end + 1;
    }
}

static void parse_features(const struct option_use *use, const void *detail, void *field)
{
    size_t *features = field;
    double numbers[2];

    (void)detail;
    split_numbers(use, numbers, 2);
    for (size_t k = 0; k < 2; k++) {
        if (numbers[k] < 1 || numbers[k] > 1e9 || numbers[k] != floor(numbers[k]))
            die(EXIT_USAGE, "%s: '%s': features are whole numbers from 1", use->shown, use->text);
        features[k] = (size_t)numbers[k];
    }
    if (features[0] == features[1])
        die(EXIT_USAGE, "%s: '%s': two different features are needed", use->shown, use->text);
}

static void parse_costs(const struct option_use *use, const void *detail, void *field)
{
    double *costs = field;

    (void)detail;
    split_numbers(use, costs, 3);
    if (!(costs[2] > 0 && costs[0] <= costs[1] && fabs(costs[0]) <= 100 && fabs(costs[1]) <= 100 &&
          (costs[1] - costs[0]) / costs[2] <= 1000))
        die(EXIT_USAGE, "%s: '%s' is not LOW,HIGH,STEP with LOW <= HIGH and 0 < STEP", use->shown, use->text);
}

#define FIELD(name) offsetof(struct plot_settings, name)
static const struct tool_option plot_options[] = {
    { 'o', "output", "FILE", parse_text, FIELD(output), NULL, "the picture: .svg or .png (needed)" },
    { 0, "features", "A,B", parse_features, FIELD(features), NULL,
      "draw these two features, from 1; others are held at\ntheir mean (1,2)" },
    { 0, "slack-tolerance", "T", parse_real, FIELD(tolerance), &range_tolerance,
      "a slack within T of 0 or 1 counts as 0 or 1 (0.001)" },
    { 0, "keep", "FOLDER", parse_text, FIELD(keep), NULL, "keep data and gnuplot script there" },
    { 0, "threads", "N", parse_int, FIELD(params.threads), &range_positive,
      "threads (OMP_NUM_THREADS, or all processors)" },
    { 0, "no-restart", NULL, parse_flag, FIELD(no_restart), NULL,
      "do not start again with a faster OpenBLAS core;\nthe same as HINGE_NO_RESTART=1" },
};
static const struct tool_option path_options[] = {
    { 0, "path", NULL, parse_flag, FIELD(path), NULL,
      "train on data_file with rising C, and draw error of\ncross-validation and number of support vectors" },
    { 0, "costs", "L,H,S", parse_costs, FIELD(costs), NULL, "C = 2^L, 2^(L+S), ... up to 2^H (-5,15,2)" },
    { 'v', "folds", "N", parse_size, FIELD(folds), &range_folds, "folds (5)" },
    { 't', "kernel", "KERNEL", parse_choice, FIELD(params.kernel.type), choice_kernel,
      "linear, polynomial, rbf, sigmoid; as to train (rbf)" },
    { 'd', "degree", "D", parse_int, FIELD(params.kernel.degree), &range_not_negative, "degree (3)" },
    { 'g', "gamma", "G", parse_gamma, FIELD(params.kernel.gamma), &range_not_negative,
      "gamma; auto or 0: 1 / number of features (auto)" },
    { 'r', "coef0", "R", parse_real, FIELD(params.kernel.coef0), &range_any, "coef0 (0)" },
    { 'e', "tolerance", "EPS", parse_real, FIELD(params.eps), &range_positive, "stop at a violation of EPS (0.001)" },
    { 0, "seed", "N", parse_count, FIELD(params.seed), &range_not_negative, "of the folds (0)" },
};

static const char usage[] =
    "usage: hinge plot [options] -o picture model_file data_file\n"
    "       hinge plot --path [options] -o picture data_file\n\n"
    "Draws the decision regions of a classifier over two features of the data, with the margins f = +-1,\n"
    "support vectors ringed, and examples coloured by slack; or, with --path, what C does. gnuplot draws.";

/* ---- Colours: Okabe and Ito's, told apart by people who see few colours; light ones for regions ---- */

enum { N_COLOURS = 8, N_SHAPES = 4 };
static const char *const colours[N_COLOURS] = { "#0072B2", "#E69F00", "#009E73", "#CC79A7",
                                                "#56B4E9", "#D55E00", "#999933", "#444444" };
static const char *const tints[N_COLOURS] = { "#D3E4F0", "#FBEBC8", "#CDEBE2", "#F4E2EB",
                                              "#E3F3FC", "#F8DCCB", "#ECECD2", "#DDDDDD" };
static const int shapes[N_SHAPES] = { 7, 9, 5, 13 }; /* gnuplot's: disc, triangle, square, diamond */

/* Examples of a two-class problem, by hinge_slack_class. */
static const struct {
    const char *colour, *name;
} slacks[4] = { { "#444444", "slack = 0" },
                { "#0072B2", "slack < 1" },
                { "#CC79A7", "slack = 1" },
                { "#D55E00", "slack > 1: wrong" } };

/* ---- The picture of a model ---- */

enum { GRID = 300 };

struct picture {
    const struct subject *s;
    const struct plot_settings *settings;
    size_t feature[2]; /* from 0 */
    double low[2], high[2];
    size_t n_regions;
    double region_label[256]; /* classes of the model in its order, then labels that only the data have */
    int drawn[256];           /* it has an area in the picture */
    int *class_of;            /* [n] region of each example's label */
    int *region;              /* [GRID * GRID] of each point of the grid, row by row from below */
    double *f;                /* [GRID * GRID] first decision value */
    int two;                  /* one decision value, whose sign is the class */
    int borders;              /* there are any to draw */
};

static double value_of(const struct subject *s, size_t i, size_t k)
{
    return ((const double *)s->data.x.data)[i * s->data.x.stride + k];
}

static double place(const struct picture *p, int axis, size_t at)
{
    return p->low[axis] + (p->high[axis] - p->low[axis]) * (double)at / (GRID - 1);
}

static void find_ranges(struct picture *p)
{
    for (int axis = 0; axis < 2; axis++) {
        double low = INFINITY, high = -INFINITY, room;

        for (size_t i = 0; i < p->s->data.x.rows; i++) {
            low = fmin(low, value_of(p->s, i, p->feature[axis]));
            high = fmax(high, value_of(p->s, i, p->feature[axis]));
        }
        room = high > low ? 0.06 * (high - low) : 1;
        p->low[axis] = low - room;
        p->high[axis] = high + room;
    }
}

static int region_of(struct picture *p, double label)
{
    size_t k = 0;

    while (k < p->n_regions && p->region_label[k] != label)
        k++;
    if (k == COUNT_OF(p->region_label))
        die(EXIT_DATA, "too many classes to draw");
    if (k == p->n_regions)
        p->region_label[p->n_regions++] = label;
    return (int)k;
}

static void list_regions(struct picture *p)
{
    static const double normal[2] = { 1, -1 };
    const hinge_model *model = p->s->model;
    const double *labels = is_classifier(model) ? hinge_model_labels(model) : normal;

    for (size_t k = 0; k < hinge_model_n_classes(model); k++)
        /* NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): two classes where it is no classifier */
        region_of(p, labels[k]);
    for (size_t i = 0; i < p->s->data.x.rows; i++)
        p->class_of[i] = region_of(p, p->s->data.y[i]);
}

static void predict_grid(struct picture *p)
{
    hinge_predict_options options = { .threads = p->settings->params.threads, .precision = HINGE_PRECISION_F64 };
    const struct subject *s = p->s;
    size_t d = s->data.x.cols, n = s->data.x.rows, problems = hinge_model_n_problems(s->model);
    double *x = allocate(GRID, d * sizeof *x), *mean = allocate(d, sizeof *mean),
           *labels = allocate(GRID, sizeof *labels);
    double *decisions = allocate(GRID, problems * sizeof *decisions);
    hinge_matrix view = hinge_matrix_f64(x, GRID, d);
    hinge_error err = { 0 };

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < d; k++)
            mean[k] += value_of(s, i, k) / (double)n;
    for (size_t row = 0; row < GRID; row++) {
        for (size_t column = 0; column < GRID; column++) {
            double *point = x + column * d;

            memcpy(point, mean, d * sizeof *point);
            point[p->feature[0]] = place(p, 0, column);
            point[p->feature[1]] = place(p, 1, row);
        }
        check(hinge_predict(s->model, &view, &options, labels, decisions, &err), &err);
        for (size_t column = 0; column < GRID; column++) {
            p->region[row * GRID + column] = region_of(p, labels[column]);
            p->f[row * GRID + column] = p->two ? decisions[column] : 0;
        }
    }
    free(x);
    free(mean);
    free(labels);
    free(decisions);
}

/* A rectangle a run of equal neighbours in a row; each reaches into the row above, which covers what is too much, so
 * that no seam shows. One block a region. */
static void write_regions(struct picture *p, const struct gnuplot *g)
{
    FILE *file = gnuplot_file(g, "regions.dat");
    double half[2];

    for (int axis = 0; axis < 2; axis++)
        half[axis] = (p->high[axis] - p->low[axis]) / (GRID - 1) / 2;
    fputs("# x y x_low x_high y_low y_high, a block a region\n", file);
    for (size_t k = 0; k < p->n_regions; k++) {
        for (size_t row = 0; row < GRID; row++)
            for (size_t at = 0, end; at < GRID; at = end) {
                double left = fmax(p->low[0], place(p, 0, at) - half[0]), right;
                double low = fmax(p->low[1], place(p, 1, row) - half[1]), high;

                for (end = at + 1; end < GRID && p->region[row * GRID + end] == p->region[row * GRID + at];)
                    end++;
                if (p->region[row * GRID + at] != (int)k)
                    continue;
                right = fmin(p->high[0], place(p, 0, end - 1) + half[0]);
                high = fmin(p->high[1], place(p, 1, row) + half[1] * 1.4);
                fprintf(file, "%.10g %.10g %.10g %.10g %.10g %.10g\n", (left + right) / 2, (low + high) / 2, left,
                        right, low, high);
                p->drawn[k] = 1;
            }
        if (p->drawn[k])
            fputs("\n\n", file);
    }
    gnuplot_close_file(file);
}

/* Where neighbours differ: borders of the regions, for classes of which no one decision value tells the border. 0:
 * there are none. */
static int write_borders(const struct picture *p, const struct gnuplot *g)
{
    FILE *file = gnuplot_file(g, "borders.dat");
    const int *r = p->region;
    double half_x = (p->high[0] - p->low[0]) / (GRID - 1) / 2, half_y = (p->high[1] - p->low[1]) / (GRID - 1) / 2;
    int any = 0;

    fputs("# x y of both ends of a piece of border\n", file);
    for (size_t row = 0; row < GRID; row++)
        for (size_t column = 0; column < GRID; column++) {
            double x = place(p, 0, column), y = place(p, 1, row);
            int here = r[row * GRID + column];

            if (column + 1 < GRID && here != r[row * GRID + column + 1])
                any = fprintf(file, "%.10g %.10g\n%.10g %.10g\n\n", x + half_x, y - half_y, x + half_x, y + half_y);
            if (row + 1 < GRID && here != r[(row + 1) * GRID + column])
                any = fprintf(file, "%.10g %.10g\n%.10g %.10g\n\n", x - half_x, y + half_y, x + half_x, y + half_y);
        }
    gnuplot_close_file(file);
    return any;
}

static void write_grid(const struct picture *p, const struct gnuplot *g)
{
    FILE *file = gnuplot_file(g, "decisions.dat");

    fputs("# x y f\n", file);
    for (size_t row = 0; row < GRID; row++) {
        for (size_t column = 0; column < GRID; column++)
            fprintf(file, "%.10g %.10g %.10g\n", place(p, 0, column), place(p, 1, row), p->f[row * GRID + column]);
        fputc('\n', file);
    }
    gnuplot_close_file(file);
}

/* Kind of an example: its slack class (two classes), or whether it is wrong. */
static size_t kind_of(const struct picture *p, size_t i)
{
    const struct subject *s = p->s;

    if (p->two && is_classifier(s->model)) {
        double y = problem_sign(s->model, 0, s->data.y[i]);

        if (y != 0)
            return (size_t)hinge_slack_class_of(hinge_slack(y, s->decisions[i]), p->settings->tolerance);
    }
    return s->labels[i] == s->data.y[i] ? HINGE_SLACK_NONE : HINGE_SLACK_WRONG;
}

/* Examples by class and kind, a block each pair that there are any of; count[region * 4 + kind]. */
static void write_points(const struct picture *p, const struct gnuplot *g, size_t *count)
{
    FILE *file = gnuplot_file(g, "points.dat");
    const struct subject *s = p->s;

    fputs("# x y, a block a label and slack class\n", file);
    for (size_t k = 0; k < p->n_regions; k++)
        for (size_t kind = 0; kind < 4; kind++) {
            for (size_t i = 0; i < s->data.x.rows; i++)
                if (p->class_of[i] == (int)k && kind_of(p, i) == kind) {
                    fprintf(file, "%.10g %.10g\n", value_of(s, i, p->feature[0]), value_of(s, i, p->feature[1]));
                    count[k * 4 + kind]++;
                }
            if (count[k * 4 + kind])
                fputs("\n\n", file);
        }
    gnuplot_close_file(file);
}

static void write_vectors(const struct picture *p, const struct gnuplot *g)
{
    FILE *file = gnuplot_file(g, "vectors.dat");
    const size_t *index = hinge_model_sv_index(p->s->model);

    fputs("# x y of the support vectors\n", file);
    for (size_t k = 0; k < hinge_model_n_sv(p->s->model); k++)
        fprintf(file, "%.10g %.10g\n", value_of(p->s, index[k], p->feature[0]),
                value_of(p->s, index[k], p->feature[1]));
    gnuplot_close_file(file);
}

/* Contours as data blocks of the script, where f takes the value at all. */
static void script_contours(const struct picture *p, const struct gnuplot *g, int *has)
{
    double low = INFINITY, high = -INFINITY;

    for (size_t k = 0; k < GRID * GRID; k++) {
        low = fmin(low, p->f[k]);
        high = fmax(high, p->f[k]);
    }
    for (int level = -1; level <= 1; level++) {
        has[level + 1] = low < level && level < high && (level == 0 || is_classifier(p->s->model));
        if (has[level + 1])
            fprintf(g->script,
                    "set contour base\nunset surface\nset cntrparam levels discrete %d\nset table $level%d\n"
                    "splot 'decisions.dat' using 1:2:3\nunset table\nunset contour\n",
                    level, level + 1);
    }
}

static void script_lines(const struct gnuplot *g, const int *has)
{
    if (has[1])
        fputs(", \\\n  $level1 using 1:2 with lines lw 2.5 lc rgb '#000000' title 'f = 0'", g->script);
    for (int level = 0; level <= 2; level += 2)
        if (has[level])
            fprintf(g->script, ", \\\n  $level%d using 1:2 with lines lw 1.5 dt '%s' lc rgb '#000000' title 'f = %+d'",
                    level, level ? "-" : ".", level - 1);
}

/* A line of the legend about a class. */
static void script_title(const struct picture *p, const struct gnuplot *g, const char *what, size_t class)
{
    const hinge_words *words = p->s->data.words.count ? &p->s->data.words : hinge_model_words(p->s->model);
    char room[LABEL_ROOM], title[300];

    snprintf(title, sizeof title, "%s %s", what, label_text(words, p->region_label[class], 10, room));
    fputs("title ", g->script);
    gnuplot_text(g, title);
    fputs(" noenhanced", g->script);
}

static void script_label(const struct picture *p, const struct gnuplot *g, size_t class, int shape, const char *colour)
{
    fprintf(g->script, ", \\\n  NaN with points pt %d ps 1.2*scale lc rgb '%s' ", shape, colour);
    script_title(p, g, "label", class);
}

/* Two classes: a shape each, the colour is the slack class. */
static void script_two(const struct picture *p, const struct gnuplot *g, const size_t *count)
{
    size_t block = 0;

    for (size_t k = 0; k < p->n_regions; k++)
        for (size_t kind = 0; kind < 4; kind++)
            if (count[k * 4 + kind]) {
                fprintf(g->script, ", \\\n  'points.dat' index %zu with points pt %d ps 1.1*scale lc rgb '%s' notitle",
                        block++, shapes[k % N_SHAPES], slacks[kind].colour);
            }
    for (size_t k = 0; k < p->n_regions; k++)
        script_label(p, g, k, shapes[k % N_SHAPES], "#444444");
    for (size_t kind = 0; kind < 4; kind++) {
        size_t n = 0;

        for (size_t k = 0; k < p->n_regions; k++)
            n += count[k * 4 + kind];
        if (n)
            fprintf(g->script, ", \\\n  NaN with points pt 5 ps 1.4*scale lc rgb '%s' title '%s (%zu)'",
                    slacks[kind].colour,
                    is_classifier(p->s->model) ? slacks[kind].name
                    : kind                     ? "wrong"
                                               : "right",
                    n);
    }
}

/* More classes: a colour each, with shapes when colours are used up; wrong ones are crossed out. */
static void script_many(const struct picture *p, const struct gnuplot *g, const size_t *count)
{
    size_t block = 0, wrong = 0;

    for (size_t k = 0; k < p->n_regions; k++) {
        int shape = shapes[k / N_COLOURS % N_SHAPES];

        for (size_t kind = 0; kind < 4; kind++)
            if (count[k * 4 + kind]) {
                fprintf(g->script, ", \\\n  'points.dat' index %zu with points pt %d ps 1.1*scale lc rgb '%s' notitle",
                        block, shape, colours[k % N_COLOURS]);
                if (kind)
                    fprintf(
                        g->script,
                        ", \\\n  'points.dat' index %zu with points pt 2 ps 1.3*scale lw 1.5 lc rgb '#000000' notitle",
                        block);
                wrong += kind ? count[k * 4 + kind] : 0;
                block++;
            }
        script_label(p, g, k, shape, colours[k % N_COLOURS]);
    }
    if (wrong)
        fprintf(g->script, ", \\\n  NaN with points pt 2 ps 1.2*scale lw 1.5 lc rgb '#000000' title 'wrong (%zu)'",
                wrong);
}

static void script_regions(const struct picture *p, const struct gnuplot *g)
{
    for (size_t k = 0, block = 0; k < p->n_regions; k++)
        if (p->drawn[k]) {
            fprintf(g->script, ", \\\n  'regions.dat' index %zu using 1:2:3:4:5:6 with boxxyerror lc rgb '%s' ",
                    block++, tints[k % N_COLOURS]);
            if (p->two) /* those of more classes have the colour of their examples */
                script_title(p, g, "predicted", k);
            else
                fputs("notitle", g->script);
        }
}

static void script(const struct picture *p, const struct gnuplot *g, const size_t *count)
{
    const struct subject *s = p->s;
    int has[3] = { 0 };
    char title[300];

    if (p->two)
        script_contours(p, g, has);
    snprintf(title, sizeof title, "%s on %s%s", base_name(p->settings->model_path), base_name(p->settings->data_path),
             s->data.x.cols > 2 ? ", other features at their mean" : "");
    fputs("set title ", g->script);
    gnuplot_text(g, title);
    fprintf(g->script, " noenhanced\nset xlabel 'feature %zu'\nset ylabel 'feature %zu'\n", p->feature[0] + 1,
            p->feature[1] + 1);
    fprintf(g->script, "set xrange [%.10g:%.10g]\nset yrange [%.10g:%.10g]\n", p->low[0], p->high[0], p->low[1],
            p->high[1]);
    fputs("set style fill solid 1 noborder\nset key outside right top vertical Left reverse samplen 1.5 spacing 1.25\n"
          "set tics out nomirror\nset border 3\nplot NaN notitle",
          g->script);
    script_regions(p, g);
    script_lines(g, has);
    if (p->borders)
        fputs(", \\\n  'borders.dat' with lines lw 1 lc rgb '#666666' notitle", g->script);
    if (p->two)
        script_two(p, g, count);
    else
        script_many(p, g, count);
    if (s->located)
        fprintf(
            g->script,
            ", \\\n  'vectors.dat' with points pt 6 ps 2.2*scale lw 1 lc rgb '#000000' title 'support vectors (%zu)'",
            hinge_model_n_sv(s->model));
    fputc('\n', g->script);
}

static void check_picture(const struct plot_settings *settings, const struct subject *s)
{
    size_t d = s->data.x.cols;

    if (hinge_task_info(hinge_model_task(s->model))->regresses)
        die(EXIT_DATA, "%s: a regression has no decision regions to draw", settings->model_path);
    if (hinge_model_kernel(s->model).type == HINGE_PRECOMPUTED)
        die(EXIT_DATA, "%s: the kernel is precomputed, so there are no features to draw", settings->model_path);
    if (d < 2)
        die(EXIT_DATA, "%s: %zu feature where two are needed", settings->data_path, d);
    for (int axis = 0; axis < 2; axis++)
        if (settings->features[axis] > d)
            die(EXIT_USAGE, "--features: there is no feature %zu, only 1 to %zu", settings->features[axis], d);
}

static void draw_model(const struct plot_settings *settings)
{
    struct subject s;
    struct picture p = { .s = &s, .settings = settings };
    struct gnuplot g;
    size_t *count, kept;

    subject_load(&s, settings->model_path, settings->data_path, &settings->data, settings->params.threads);
    if (hinge_model_columns(s.model, &kept))
        die(EXIT_DATA, "%s: its support vectors are too wide to be drawn: %zu features, far apart, hold something",
            settings->model_path, kept);
    check_picture(settings, &s);
    for (size_t axis = 0; axis < 2; axis++)
        p.feature[axis] = settings->features[axis] ? settings->features[axis] - 1 : axis;
    p.two = hinge_model_n_problems(s.model) == 1;
    p.class_of = allocate(s.data.x.rows, sizeof *p.class_of);
    p.region = allocate((size_t)GRID * GRID, sizeof *p.region);
    p.f = allocate((size_t)GRID * GRID, sizeof *p.f);
    list_regions(&p);
    find_ranges(&p);
    predict_grid(&p);
    count = allocate(p.n_regions, 4 * sizeof *count);
    gnuplot_open(&g, settings->output, settings->keep);
    write_regions(&p, &g);
    if (p.two)
        write_grid(&p, &g);
    else
        p.borders = write_borders(&p, &g);
    write_points(&p, &g, count);
    if (s.located)
        write_vectors(&p, &g);
    script(&p, &g, count);
    gnuplot_draw(&g);
    free(count);
    free(p.class_of);
    free(p.region);
    free(p.f);
    subject_free(&s);
}

/* ---- The path over C ---- */

struct step {
    double C, error; /* percent */
    size_t n_sv;
};

static void take_step(const struct plot_settings *settings, const hinge_data *data, hinge_params *params, double **beta,
                      struct step *step)
{
    size_t n = data->x.rows, correct = 0, problems;
    double *predictions = allocate(n, sizeof *predictions);
    hinge_model *model = NULL;
    hinge_error err = { 0 };

    params->C = step->C;
    params->beta0 = NULL;
    check(hinge_cross_validate(&data->x, data->y, params, settings->folds, predictions, NULL, &err), &err);
    for (size_t i = 0; i < n; i++)
        correct += predictions[i] == data->y[i];
    step->error = 100 * (1 - (double)correct / (double)n);
    params->beta0 = *beta; /* of the C before */
    check(hinge_train(&model, &data->x, data->y, params, NULL, &err), &err);
    step->n_sv = hinge_model_n_sv(model);
    problems = hinge_model_n_problems(model);
    if (!*beta)
        *beta = allocate(problems ? problems : 1, n * sizeof **beta);
    check(hinge_model_beta(model, n, *beta, &err), &err);
    hinge_model_free(model);
    free(predictions);
}

static void path_script(const struct plot_settings *settings, const struct gnuplot *g, size_t n)
{
    hinge_kernel kernel = settings->params.kernel;
    char title[300];
    size_t used;

    snprintf(title, sizeof title, "%s (%zu examples), %s kernel", base_name(settings->data_path), n,
             hinge_kernel_keyword(kernel.type));
    used = strlen(title);
    if (kernel.type != HINGE_LINEAR && kernel.gamma != HINGE_GAMMA_AUTO)
        snprintf(title + used, sizeof title - used, ", gamma %g", kernel.gamma);
    fputs("set title ", g->script);
    gnuplot_text(g, title);
    fprintf(
        g->script,
        " noenhanced\nset logscale x 2\nset format x '2^{%%L}'\nset xlabel 'C'\nset xtics nomirror out\n"
        "set ylabel 'error of %zu-fold cross-validation, %%' textcolor rgb '#0072B2'\n"
        "set y2label 'support vectors' textcolor rgb '#D55E00'\n"
        "set ytics nomirror out\nset y2tics out\nset yrange [0:*]\nset y2range [0:*]\n"
        "set offsets graph 0.02, graph 0.02, graph 0.05, 0\nset key outside top center horizontal Left reverse\n"
        "plot 'path.dat' using 1:2 with linespoints lw 2 pt 7 ps 1.2*scale lc rgb '#0072B2' title 'error (left)', \\\n"
        "  '' using 1:3 axes x1y2 with linespoints lw 2 dt '-' pt 9 ps 1.4*scale lc rgb '#D55E00' "
        "title 'support vectors (right)'\n",
        settings->folds);
}

static void draw_path(struct plot_settings *settings)
{
    size_t count = (size_t)floor((settings->costs[1] - settings->costs[0]) / settings->costs[2] + 1e-9) + 1;
    hinge_params params = settings->params;
    double *beta = NULL;
    struct gnuplot g;
    hinge_data data;
    FILE *file;

    settings->data.drop_empty = 1;
    load_data(settings->data_path, &settings->data, 0, 0, params.threads, &data);
    count_dropped(&params.kernel, &data, &settings->data);
    drop_words(&data, params.task);
    need_labels(settings->data_path, &data, "train on", "--labels");
    warn_of_labels(settings->data_path, &settings->data, params.task, &data);
    gnuplot_open(&g, settings->output, settings->keep);
    file = gnuplot_file(&g, "path.dat");
    fputs("# C, cross-validated error in percent, support vectors of a model of all examples\n", file);
    for (size_t k = 0; k < count; k++) {
        struct step step = { .C = exp2(settings->costs[0] + (double)k * settings->costs[2]) };

        if (terminal_width())
            fprintf(stderr, "\rC = %g (%zu of %zu)\033[K", step.C, k + 1, count);
        take_step(settings, &data, &params, &beta, &step);
        fprintf(file, "%.17g %.10g %zu\n", step.C, step.error, step.n_sv);
    }
    if (terminal_width())
        fputs("\r\033[K", stderr);
    gnuplot_close_file(file);
    path_script(settings, &g, data.x.rows);
    gnuplot_draw(&g);
    hinge_data_free(&data);
    free(beta);
}

/* ---- The command ---- */

static void read_options(int argc, char **argv, struct plot_settings *s)
{
    const struct option_group groups[] = {
        { "Options (default in parentheses):", plot_options, COUNT_OF(plot_options), s },
        { "Path over C:", path_options, COUNT_OF(path_options), s },
        { "Data:", data_options, n_data_options - 1,
          &s->data }, /* but the last, --features, which means another here */
    };
    int first, left;

    s->params = hinge_params_default(HINGE_C_SVC);
    s->costs[0] = -5, s->costs[1] = 15, s->costs[2] = 2;
    s->folds = 5;
    s->tolerance = 1e-3;
    first = parse_options(argc, argv, usage, groups, COUNT_OF(groups));
    left = argc - first;
    if (left != 2 - s->path)
        die(EXIT_USAGE, "plot: %s; see `hinge plot --help`",
            s->path    ? "--path takes one data file"
            : left > 2 ? "too many file names"
                       : "a model file and a data file are needed");
    if (!s->output)
        die(EXIT_USAGE, "plot: -o: the name of the picture is needed");
    if (s->params.kernel.type == HINGE_PRECOMPUTED)
        die(EXIT_USAGE, "plot: --path does not draw precomputed kernels");
    s->model_path = s->path ? NULL : argv[first];
    s->data_path = argv[argc - 1];
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

/*
 * The picture of a model: decision regions over two features, margins, support vectors and slack classes.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gnuplot.h"
#include "plot.h"
#include "subject.h"

/* ---- Colours: Okabe and Ito's, told apart by people who see few colours ---- */

enum { N_COLOURS = 8, N_SHAPES = 4 };
static const unsigned colours[N_COLOURS] = { 0x0072B2, 0xE69F00, 0x009E73, 0xCC79A7,
                                             0x56B4E9, 0xD55E00, 0x999933, 0x444444 };
static const int shapes[N_SHAPES] = { 7, 9, 5, 13 }; /* gnuplot's: disc, triangle, square, diamond */

/* Examples of a two-class problem, by hinge_slack_class. */
static const struct {
    unsigned colour;
    const char *name;
} slacks[4] = { { 0x444444, "slack = 0" },
                { 0x0072B2, "slack < 1" },
                { 0xCC79A7, "slack = 1" },
                { 0xD55E00, "slack > 1: wrong" } };

/* ---- The picture of a model ---- */

enum { GRID = 300, MOST_REGIONS = 256 };

struct picture {
    const struct subject *s;
    const struct plot_settings *settings;
    size_t feature[2]; /* from 0 */
    double low[2], high[2], half[2]; /* half: half a step of the grid */
    size_t n_regions;
    double region_label[MOST_REGIONS + 1]; /* classes of the model in its order, then labels that only the data have;
                                            * one more tells that there are too many */
    int drawn[MOST_REGIONS];          /* 1: the class has an area in the picture */
    int *class_of;            /* [n] region of each example's label */
    int *region;              /* [GRID * GRID] of each point of the grid, row by row from below */
    double *f;                /* [GRID * GRID] first decision value */
    int two;                  /* 1: the sign of one decision value is the class */
    int borders;              /* 1: there are borders to draw */
};

/* Mixes a colour with white; share is that of the colour. */
static unsigned tint(unsigned colour, double share)
{
    unsigned mixed = 0;
    for (int shift = 16; shift >= 0; shift -= 8)
        mixed |= (unsigned)(255.5 - share * (255 - (colour >> shift & 255))) << shift;
    return mixed;
}

/* Gives each class a colour of its own: beyond the table, hues a golden section apart in three degrees of light. */
static unsigned colour_of(size_t class)
{
    double hue = fmod(0.618033988749895 * (double)class, 1), light = 0.95 - 0.2 * (double)(class % 3);
    unsigned colour = 0;
    if (class < N_COLOURS)
        return colours[class];
    for (int channel = 0; channel < 3; channel++) {
        double away = fabs(fmod(6 * hue + 2 * channel, 6) - 3) - 1; /* of the hue from the channel's own */
        colour = colour << 8 | (unsigned)(255 * light * (0.15 + 0.85 * fmin(fmax(away, 0), 1)));
    }
    return colour;
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
            low = fmin(low, entry_of(&p->s->data, i, p->feature[axis]));
            high = fmax(high, entry_of(&p->s->data, i, p->feature[axis]));
        }
        if (!(high > low))
            warn("%s: feature %zu is %g in all examples: --features chooses others", p->settings->data_path,
                 p->feature[axis] + 1, low);
        room = high > low ? 0.06 * (high - low) : 1;
        p->low[axis] = low - room;
        p->high[axis] = high + room;
        p->half[axis] = (p->high[axis] - p->low[axis]) / (GRID - 1) / 2;
    }
}

static int region_of(const struct picture *p, double label)
{
    return (int)place_of(p->region_label, p->n_regions, label);
}

static void list_regions(struct picture *p)
{
    p->n_regions = subject_labels(p->s, p->region_label, COUNT_OF(p->region_label));
    if (p->n_regions > MOST_REGIONS)
        die(EXIT_DATA, "the picture has room for %d classes, and model and data have more", MOST_REGIONS);
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
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < d; k++)
            mean[k] += entry_of(&s->data, i, k) / (double)n;
    for (size_t row = 0; row < GRID; row++) {
        for (size_t column = 0; column < GRID; column++) {
            double *point = x + column * d;
            memcpy(point, mean, d * sizeof *point);
            point[p->feature[0]] = place(p, 0, column);
            point[p->feature[1]] = place(p, 1, row);
        }
        check(hinge_predict(s->model, &view, &options, labels, decisions, &failure));
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

/* Writes a rectangle for each run of equal neighbours in a row; each reaches into the row above, which covers what is
 * too much, so that no seam shows. One block a region. */
static void write_regions(struct picture *p, const struct gnuplot *g)
{
    FILE *file = gnuplot_data(g, "regions", "x y x_low x_high y_low y_high, a block a region");
    const double *half = p->half;
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
    gnuplot_end_data(g);
}

/* Where neighbours differ: borders of the regions, for classes of which no one decision value tells the border. 0:
 * there are none. */
static int write_borders(const struct picture *p, const struct gnuplot *g)
{
    FILE *file = gnuplot_data(g, "borders", "x y of both ends of a piece of border");
    const int *r = p->region;
    double half_x = p->half[0], half_y = p->half[1];
    int any = 0;
    for (size_t row = 0; row < GRID; row++)
        for (size_t column = 0; column < GRID; column++) {
            double x = place(p, 0, column), y = place(p, 1, row);
            int here = r[row * GRID + column];
            if (column + 1 < GRID && here != r[row * GRID + column + 1])
                any = fprintf(file, "%.10g %.10g\n%.10g %.10g\n\n", x + half_x, y - half_y, x + half_x, y + half_y);
            if (row + 1 < GRID && here != r[(row + 1) * GRID + column])
                any = fprintf(file, "%.10g %.10g\n%.10g %.10g\n\n", x - half_x, y + half_y, x + half_x, y + half_y);
        }
    gnuplot_end_data(g);
    return any;
}

static void write_grid(const struct picture *p, const struct gnuplot *g)
{
    FILE *file = gnuplot_data(g, "decisions", "x y f");
    for (size_t row = 0; row < GRID; row++) {
        for (size_t column = 0; column < GRID; column++)
            fprintf(file, "%.10g %.10g %.10g\n", place(p, 0, column), place(p, 1, row), p->f[row * GRID + column]);
        fputc('\n', file);
    }
    gnuplot_end_data(g);
}

/* Returns the kind of an example: its slack class (two classes), or whether it is wrong. */
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

/* Writes examples by class and kind, a block for each pair that occurs; count[region * 4 + kind]. */
static void write_points(const struct picture *p, const struct gnuplot *g, size_t *count)
{
    FILE *file = gnuplot_data(g, "points", "x y, a block a label and slack class");
    const struct subject *s = p->s;
    for (size_t k = 0; k < p->n_regions; k++)
        for (size_t kind = 0; kind < 4; kind++) {
            for (size_t i = 0; i < s->data.x.rows; i++)
                if (p->class_of[i] == (int)k && kind_of(p, i) == kind) {
                    fprintf(file, "%.10g %.10g\n", entry_of(&s->data, i, p->feature[0]),
                            entry_of(&s->data, i, p->feature[1]));
                    count[k * 4 + kind]++;
                }
            if (count[k * 4 + kind])
                fputs("\n\n", file);
        }
    gnuplot_end_data(g);
}

static void write_vectors(const struct picture *p, const struct gnuplot *g)
{
    FILE *file = gnuplot_data(g, "vectors", "x y of the support vectors");
    const size_t *index = hinge_model_sv_index(p->s->model);
    for (size_t k = 0; k < hinge_model_n_sv(p->s->model); k++)
        fprintf(file, "%.10g %.10g\n", entry_of(&p->s->data, index[k], p->feature[0]),
                entry_of(&p->s->data, index[k], p->feature[1]));
    gnuplot_end_data(g);
}

/* Makes contours as data blocks of the script, where f takes the value at all. */
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
                    "splot $decisions using 1:2:3\nunset table\nunset contour\n",
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

/* Writes a line of the legend about a class. */
static void script_title(const struct picture *p, const struct gnuplot *g, const char *what, size_t class)
{
    char room[LABEL_ROOM];
    gnuplot_title(g, "", "%s %s", what, label_text(subject_words(p->s), p->region_label[class], 10, room));
}

static void script_label(const struct picture *p, const struct gnuplot *g, size_t class, unsigned colour)
{
    fprintf(g->script, ", \\\n  NaN with points pt %d ps 1.2*scale lc rgb '#%06X' ", shapes[class % N_SHAPES], colour);
    script_title(p, g, "label", class);
}

/* Draws examples. Each class has a shape; of two classes, the colour is the slack class, of more it is that of the
 * class, and wrong ones are crossed out. */
static void script_points(const struct picture *p, const struct gnuplot *g, const size_t *count)
{
    size_t block = 0, sum[4] = { 0 };
    for (size_t k = 0; k < p->n_regions; k++) {
        for (size_t kind = 0; kind < 4; kind++) {
            if (!count[k * 4 + kind])
                continue;
            fprintf(g->script, ", \\\n  $points index %zu with points pt %d ps 1.1*scale lc rgb '#%06X' notitle",
                    block, shapes[k % N_SHAPES], p->two ? slacks[kind].colour : colour_of(k));
            if (!p->two && kind)
                fprintf(g->script, ", \\\n  $points index %zu with points pt 2 ps 1.3*scale lw 1.5 "
                                   "lc rgb '#000000' notitle", block);
            sum[kind] += count[k * 4 + kind];
            block++;
        }
        if (!p->two)
            script_label(p, g, k, colour_of(k));
    }
    for (size_t k = 0; p->two && k < p->n_regions; k++)
        script_label(p, g, k, 0x444444);
    for (size_t kind = 0; p->two && kind < 4; kind++)
        if (sum[kind])
            fprintf(g->script, ", \\\n  NaN with points pt 5 ps 1.4*scale lc rgb '#%06X' title '%s (%zu)'",
                    slacks[kind].colour,
                    is_classifier(p->s->model) ? slacks[kind].name
                    : kind                     ? "wrong"
                                               : "right",
                    sum[kind]);
    if (!p->two && sum[1] + sum[2] + sum[3])
        fprintf(g->script, ", \\\n  NaN with points pt 2 ps 1.2*scale lw 1.5 lc rgb '#000000' title 'wrong (%zu)'",
                sum[1] + sum[2] + sum[3]);
}

static void script_regions(const struct picture *p, const struct gnuplot *g)
{
    for (size_t k = 0, block = 0; k < p->n_regions; k++)
        if (p->drawn[k]) {
            fprintf(g->script, ", \\\n  $regions index %zu using 1:2:3:4:5:6 with boxxyerror lc rgb '#%06X' ",
                    block++, tint(colour_of(k), p->two ? 0.18 : 0.3));
            script_title(p, g, "predicted", k);
        }
}

static void script(const struct picture *p, const struct gnuplot *g, const size_t *count)
{
    const struct subject *s = p->s;
    double wide = p->high[0] - p->low[0], high = p->high[1] - p->low[1];
    int has[3] = { 0 };
    if (p->two)
        script_contours(p, g, has);
    gnuplot_title(g, "set ", "%s on %s%s", base_name(p->settings->model_path), base_name(p->settings->data_path),
                  s->data.x.cols > 2 ? ", other features at their mean" : "");
    fprintf(g->script, "\nset xlabel 'feature %zu'\nset ylabel 'feature %zu'\n", p->feature[0] + 1, p->feature[1] + 1);
    if (fmax(wide, high) <= 2 * fmin(wide, high)) /* features of like scale */
        fputs("set size ratio -1\n", g->script);
    fprintf(g->script, "set xrange [%.10g:%.10g]\nset yrange [%.10g:%.10g]\n", p->low[0], p->high[0], p->low[1],
            p->high[1]);
    fprintf(g->script, "set key outside right top vertical Left reverse samplen 1.5 %s\n",
            p->n_regions > N_COLOURS ? "font ',11' spacing 1.05 maxrows 28" : "spacing 1.25");
    fputs("set style fill solid 1 noborder\n"
          "set tics out nomirror\nset border 3\nplot NaN notitle",
          g->script);
    script_regions(p, g);
    script_lines(g, has);
    if (p->borders)
        fputs(", \\\n  $borders with lines lw 1 lc rgb '#666666' notitle", g->script);
    script_points(p, g, count);
    if (s->located)
        fprintf(
            g->script,
            ", \\\n  $vectors with points pt 6 ps 2.2*scale lw %g lc rgb '#000000' title 'support vectors (%zu)'",
            p->two ? 1 : 0.5, hinge_model_n_sv(s->model));
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

void draw_model(const struct plot_settings *settings)
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

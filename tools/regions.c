/*
 * The picture of a classifier or one_class: decision regions over two features, margins, support vectors and slack
 * classes. Regions are rectangles about the points of a grid; where a border goes through a square between four of
 * them, quadrangles that meet on the border cover these.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "view.h"

/* ---- Colours: Okabe and Ito's, told apart by people who see few colours ---- */

enum { N_COLOURS = 8, N_SHAPES = 4 };
static const unsigned colours[N_COLOURS] = { 0x0072B2, 0xE69F00, 0x009E73, 0xCC79A7,
                                             0x56B4E9, 0xD55E00, 0x999933, 0x444444 };
static const int shapes[N_SHAPES] = { 7, 9, 5, 13 }; /* gnuplot's: disc, triangle, square, diamond */

/* Examples of a two-class problem, by hinge_slack_class. */
static const struct {
    unsigned colour;
    const char *name;
} slacks[4] = {
    { 0x444444, "slack = 0" }, { 0x0072B2, "slack < 1" }, { 0xCC79A7, "slack = 1" }, { 0xD55E00, "slack > 1: wrong" }
};

/* ---- The picture of a model ---- */

enum { GRID = 300, MOST_REGIONS = 256 };

struct picture {
    const struct subject *s;
    const struct plot_settings *settings;
    struct view view;
    double step[2]; /* of the grid */
    size_t n_regions;
    double region_label[MOST_REGIONS + 1]; /* classes of the model in its order, then labels that only the data have;
                                            * one more tells that there are too many */
    int drawn[MOST_REGIONS];               /* 1: the class has an area in the picture */
    int *class_of;                         /* [n] region of each example's label */
    int *region;                           /* [GRID * GRID] of each point of the grid, row by row from below */
    double *f;                             /* [GRID * GRID] first decision value */
    float *cross[2]; /* [GRID * GRID] of the step from each point to the right, and up: the share of it behind
                               * which another region begins */
    int two;         /* 1: the sign of one decision value is the class */
    int apart;       /* 1: one_class, and labels are words, which are neither inside nor outside: regions 0 and
                               * 1 are these, and those behind them the words' */
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

static double place(const struct picture *p, size_t axis, size_t at)
{
    return view_place(&p->view, axis, at, GRID);
}

static int region_of(const struct picture *p, double label)
{
    return (int)place_of(p->region_label, p->n_regions, label);
}

static void list_regions(struct picture *p)
{
    if (p->apart) {
        p->n_regions = 2 + p->s->data.words.count;
        if (p->n_regions > MOST_REGIONS)
            die(EXIT_DATA, "the picture has room for %d labels, and the data have more", MOST_REGIONS - 2);
        p->region_label[0] = 1, p->region_label[1] = -1;
        for (size_t k = 2; k < p->n_regions; k++)
            p->region_label[k] = NAN; /* which nothing predicts */
        for (size_t i = 0; i < p->s->data.x.rows; i++)
            p->class_of[i] = 1 + (int)p->s->data.y[i];
        return;
    }
    p->n_regions = subject_labels(p->s, p->region_label, COUNT_OF(p->region_label));
    if (p->n_regions > MOST_REGIONS)
        die(EXIT_DATA, "the picture has room for %d classes, and model and data have more", MOST_REGIONS);
    for (size_t i = 0; i < p->s->data.x.rows; i++)
        p->class_of[i] = region_of(p, p->s->data.y[i]);
}

static void predict_grid(struct picture *p)
{
    enum { ALL = GRID * GRID };
    size_t problems = hinge_model_n_problems(p->s->model);
    double *points = allocate(ALL, 2 * sizeof *points), *labels = allocate(ALL, sizeof *labels);
    double *decisions = p->two ? allocate(ALL, problems * sizeof *decisions) : NULL;
    for (size_t k = 0; k < ALL; k++) {
        points[2 * k] = place(p, 0, k % GRID);
        points[2 * k + 1] = place(p, 1, k / GRID);
    }
    view_predict(&p->view, points, ALL, labels, decisions);
    for (size_t k = 0; k < ALL; k++) {
        p->region[k] = region_of(p, labels[k]);
        p->f[k] = p->two ? decisions[k] : 0;
    }
    free(points);
    free(labels);
    free(decisions);
}

/* Tells whether the step from a point of the grid, to the right or up, leads to another region. */
static int crosses(const struct picture *p, int up, size_t k)
{
    size_t next = up ? k + GRID : k + 1;
    return (up ? next < (size_t)GRID * GRID : next % GRID != 0) && p->region[next] != p->region[k];
}

/* Finds where steps of the grid leave their region, by halving each ten times. */
static void find_crossings(struct picture *p)
{
    enum { ALL = GRID * GRID, HALVINGS = 10 };
    size_t *edge = allocate(2 * (size_t)ALL, sizeof *edge), n = 0;
    double *points, *labels;
    for (size_t e = 0; e < 2 * (size_t)ALL; e++)
        if (crosses(p, (int)(e / ALL), e % ALL))
            edge[n++] = e;
    points = allocate(n, 2 * sizeof *points);
    labels = allocate(n, sizeof *labels);
    for (size_t i = 0; i < n; i++)
        p->cross[edge[i] / ALL][edge[i] % ALL] = 0.5F;
    for (int halving = 2; halving <= HALVINGS; halving++) {
        for (size_t i = 0; i < n; i++) {
            size_t up = edge[i] / ALL, k = edge[i] % ALL;
            points[2 * i] = place(p, 0, k % GRID);
            points[2 * i + 1] = place(p, 1, k / GRID);
            points[2 * i + up] += (double)p->cross[up][k] * p->step[up];
        }
        view_predict(&p->view, points, n, labels, NULL);
        for (size_t i = 0; i < n; i++) {
            size_t up = edge[i] / ALL, k = edge[i] % ALL;
            float move = (float)ldexp(1, -halving);
            p->cross[up][k] += region_of(p, labels[i]) == p->region[k] ? move : -move;
        }
    }
    free(edge);
    free(points);
    free(labels);
}

/* A square between four points of the grid that are not all of one region: corners in order round it, the places
 * between each and the next, on the border if there is one, and the middle of those on borders. */
struct square {
    int region[4], border[4];
    double corner[4][2], side[4][2], middle[2];
};

/* Returns 0 where all corners are of one region. */
static int make_square(const struct picture *p, size_t row, size_t column, struct square *q)
{
    static const size_t right[4] = { 0, 1, 1, 0 }, up[4] = { 0, 0, 1, 1 };
    int borders = 0, same = 1;
    if (row + 1 == GRID || column + 1 == GRID)
        return 0;
    for (int c = 0; c < 4; c++) {
        q->region[c] = p->region[(row + up[c]) * GRID + column + right[c]];
        same &= q->region[c] == q->region[0];
    }
    if (same)
        return 0;
    q->middle[0] = q->middle[1] = 0;
    for (int c = 0; c < 4; c++) {
        q->corner[c][0] = place(p, 0, column + right[c]);
        q->corner[c][1] = place(p, 1, row + up[c]);
    }
    for (int c = 0; c < 4; c++) {
        int next = (c + 1) % 4, axis = c % 2;
        size_t from = (row + (c == 2)) * GRID + column + (c == 1); /* where the step along this side begins */
        q->border[c] = q->region[c] != q->region[next];
        for (int k = 0; k < 2; k++)
            q->side[c][k] = (q->corner[c][k] + q->corner[next][k]) / 2;
        if (q->border[c])
            q->side[c][axis] =
                place(p, (size_t)axis, axis ? row : column) + (double)p->cross[axis][from] * p->step[axis];
        borders += q->border[c];
        for (int k = 0; k < 2 && q->border[c]; k++)
            q->middle[k] += q->side[c][k];
    }
    for (int k = 0; k < 2; k++)
        q->middle[k] /= borders;
    return 1;
}

/* Writes a rectangle for each run of equal neighbours in a row; each reaches into the row above, which covers what is
 * too much, so that no seam shows. One block a region. */
static void write_regions(struct picture *p, const struct gnuplot *g)
{
    FILE *file = gnuplot_data(g, "regions", "x y x_low x_high y_low y_high, a block a region");
    const double half[2] = { p->step[0] / 2, p->step[1] / 2 }, *lowest = p->view.low, *highest = p->view.high;
    for (size_t k = 0; k < p->n_regions; k++) {
        for (size_t row = 0; row < GRID; row++)
            for (size_t at = 0, end; at < GRID; at = end) {
                double left = fmax(lowest[0], place(p, 0, at) - half[0]), right;
                double low = fmax(lowest[1], place(p, 1, row) - half[1]), high;
                for (end = at + 1; end < GRID && p->region[row * GRID + end] == p->region[row * GRID + at];)
                    end++;
                if (p->region[row * GRID + at] != (int)k)
                    continue;
                right = fmin(highest[0], place(p, 0, end - 1) + half[0]);
                high = fmin(highest[1], place(p, 1, row) + half[1] * 1.4);
                fprintf(file, "%.10g %.10g %.10g %.10g %.10g %.10g\n", (left + right) / 2, (low + high) / 2, left,
                        right, low, high);
                p->drawn[k] = 1;
            }
        if (p->drawn[k])
            fputs("\n\n", file);
    }
    gnuplot_end_data(g);
}

/* Writes what each region has of squares that a border goes through, a block a region that has any; then the borders
 * themselves. */
static void write_borders(struct picture *p, const struct gnuplot *g)
{
    FILE *file = gnuplot_data(g, "corners", "x y of the corners of a quadrangle, a block a region");
    struct square q;
    for (size_t k = 0; k < p->n_regions; k++) {
        for (size_t at = 0; at < (size_t)GRID * GRID; at++)
            for (int c = 0; make_square(p, at / GRID, at % GRID, &q) && c < 4; c++)
                if (q.region[c] == (int)k) {
                    const double *round[] = { q.corner[c], q.side[c], q.middle, q.side[(c + 3) % 4] };
                    for (int i = 0; i < 4; i++)
                        fprintf(file, "%.10g %.10g\n", round[i][0], round[i][1]);
                    fputc('\n', file);
                    p->drawn[k] |= 2;
                }
        if (p->drawn[k] & 2)
            fputs("\n", file);
    }
    gnuplot_end_data(g);
    file = gnuplot_data(g, "borders", "x y of both ends of a piece of border");
    for (size_t at = 0; at < (size_t)GRID * GRID; at++)
        for (int c = 0; make_square(p, at / GRID, at % GRID, &q) && c < 4; c++)
            if (q.border[c])
                fprintf(file, "%.10g %.10g\n%.10g %.10g\n\n", q.side[c][0], q.side[c][1], q.middle[0], q.middle[1]);
    gnuplot_end_data(g);
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
    if (p->apart)
        return HINGE_SLACK_NONE;
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
                    fprintf(file, "%.10g %.10g\n", view_entry(&p->view, i, 0), view_entry(&p->view, i, 1));
                    count[k * 4 + kind]++;
                }
            if (count[k * 4 + kind])
                fputs("\n\n", file);
        }
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
    double label = p->apart ? (double)class - 1 : p->region_label[class];
    if (p->apart && class < 2)
        gnuplot_title(g, "title ", "%s %s", what, class ? "outside" : "inside");
    else
        gnuplot_title(g, "title ", "%s %s", what, label_text(subject_words(p->s), label, 10, room));
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
    int by_slack = p->two && !p->apart;
    for (size_t k = 0; k < p->n_regions; k++) {
        for (size_t kind = 0; kind < 4; kind++) {
            if (!count[k * 4 + kind])
                continue;
            fprintf(g->script, ", \\\n  $points index %zu with points pt %d ps 1.1*scale lc rgb '#%06X' notitle", block,
                    shapes[k % N_SHAPES], by_slack ? slacks[kind].colour : colour_of(k));
            if (!by_slack && kind) /* with arms beyond the shape */
                fprintf(g->script,
                        ", \\\n  $points index %zu with points pt 2 ps 2.1*scale lw 1.5 "
                        "lc rgb '#000000' notitle",
                        block);
            sum[kind] += count[k * 4 + kind];
            block++;
        }
        if (!by_slack && !(p->apart && k < 2))
            script_label(p, g, k, colour_of(k));
    }
    for (size_t k = 0; by_slack && k < p->n_regions; k++)
        script_label(p, g, k, 0x444444);
    for (size_t kind = 0; by_slack && kind < 4; kind++)
        if (sum[kind])
            fprintf(g->script, ", \\\n  NaN with points pt 5 ps 1.4*scale lc rgb '#%06X' title '%s (%zu)'",
                    slacks[kind].colour,
                    is_classifier(p->s->model) ? slacks[kind].name
                    : kind                     ? "wrong"
                                               : "right",
                    sum[kind]);
    if (!by_slack && sum[1] + sum[2] + sum[3])
        fprintf(g->script, ", \\\n  NaN with points pt 2 ps 2.1*scale lw 1.5 lc rgb '#000000' title 'wrong (%zu)'",
                sum[1] + sum[2] + sum[3]);
}

static void script_regions(const struct picture *p, const struct gnuplot *g)
{
    double share = p->two ? 0.18 : 0.3;
    for (size_t k = 0, block = 0; k < p->n_regions; k++)
        if (p->drawn[k]) {
            fprintf(g->script, ", \\\n  $regions index %zu using 1:2:3:4:5:6 with boxxyerror lc rgb '#%06X' ", block++,
                    tint(colour_of(k), share));
            script_title(p, g, "predicted", k);
        }
    for (size_t k = 0, block = 0; k < p->n_regions; k++)
        if (p->drawn[k] & 2)
            fprintf(g->script, ", \\\n  $corners index %zu with filledcurves closed lc rgb '#%06X' notitle", block++,
                    tint(colour_of(k), share));
}

static void script(const struct picture *p, const struct gnuplot *g, const size_t *count)
{
    const struct subject *s = p->s;
    double wide = p->view.high[0] - p->view.low[0], high = p->view.high[1] - p->view.low[1];
    int has[3] = { 0 };
    if (p->two)
        script_contours(p, g, has);
    view_script(&p->view, g);
    if (fmax(wide, high) <= 2 * fmin(wide, high)) /* features of like scale */
        fputs("set size ratio -1\n", g->script);
    fprintf(g->script, "set key outside right top vertical Left reverse samplen 1.5 %s\n",
            p->n_regions > N_COLOURS ? "font ',11' spacing 1.05 maxrows 28" : "spacing 1.25");
    fputs("plot NaN notitle", g->script);
    script_regions(p, g);
    script_lines(g, has);
    if (!p->two)
        fputs(", \\\n  $borders with lines lw 1 lc rgb '#666666' notitle", g->script);
    script_points(p, g, count);
    if (s->located)
        fprintf(g->script,
                ", \\\n  $vectors with points pt 6 ps 2.4*scale lw %g lc rgb '#000000' title 'support vectors (%zu)'",
                p->two ? 1 : 0.5, hinge_model_n_sv(s->model));
    fputc('\n', g->script);
}

static void draw_regions(const struct subject *s, const struct plot_settings *settings)
{
    enum { ALL = GRID * GRID };
    struct picture p = { .s = s, .settings = settings, .view = { .s = s, .settings = settings } };
    struct gnuplot g;
    size_t *count;
    view_open(&p.view, 2);
    for (int axis = 0; axis < 2; axis++) {
        p.step[axis] = (p.view.high[axis] - p.view.low[axis]) / (GRID - 1);
        p.cross[axis] = allocate(ALL, sizeof *p.cross[axis]);
    }
    p.two = hinge_model_n_problems(s->model) == 1;
    p.apart = !is_classifier(s->model) && s->data.words.count > 0;
    p.class_of = allocate(s->data.x.rows, sizeof *p.class_of);
    p.region = allocate(ALL, sizeof *p.region);
    p.f = allocate(ALL, sizeof *p.f);
    list_regions(&p);
    predict_grid(&p);
    find_crossings(&p);
    count = allocate(p.n_regions, 4 * sizeof *count);
    gnuplot_open(&g, settings->output, settings->keep);
    write_regions(&p, &g);
    write_borders(&p, &g);
    if (p.two)
        write_grid(&p, &g);
    write_points(&p, &g, count);
    if (s->located)
        view_vectors(&p.view, &g);
    script(&p, &g, count);
    gnuplot_draw(&g);
    free(count);
    free(p.class_of);
    free(p.region);
    free(p.f);
    free(p.cross[0]);
    free(p.cross[1]);
}

void draw_model(const struct plot_settings *settings)
{
    static const hinge_words any = { 0 };
    struct data_flags flags = settings->data;
    struct subject s;
    size_t kept;
    flags.read.words = &any; /* which say of one_class what the examples are */
    subject_load(&s, settings->model_path, settings->data_path, &flags, settings->params.threads);
    if (hinge_model_columns(s.model, &kept))
        die(EXIT_DATA, "%s: its support vectors are too wide to be drawn: %zu features, far apart, hold something",
            settings->model_path, kept);
    if (hinge_model_kernel(s.model).type == HINGE_PRECOMPUTED)
        die(EXIT_DATA, "%s: the kernel is precomputed, so there are no features to draw", settings->model_path);
    if (s.data.words.count && !hinge_model_words(s.model) && hinge_model_task(s.model) != HINGE_ONE_CLASS) {
        s.data.labelled = 0;
        need_labels(settings->data_path, &s.data, "compare with", "--labels");
    }
    if (hinge_task_info(hinge_model_task(s.model))->regresses)
        draw_values(&s, settings);
    else
        draw_regions(&s, settings);
    subject_free(&s);
}

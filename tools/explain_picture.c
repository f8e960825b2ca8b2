/*
 * The pictures of hinge explain: bars of the shares in one row, and a beeswarm of those in many, of the features with
 * the largest.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd_explain.h"
#include "gnuplot.h"

static size_t shown(const struct explanation *e)
{
    size_t top = e->settings->top ? e->settings->top : 10;
    return top < e->d ? top : e->d;
}

/* Writes a line's name to the left of the picture; lines are at -1, -2, ... */
static void name_line(const struct gnuplot *g, size_t line, const char *text)
{
    gnuplot_title(g, "set label ", "%s", text);
    fprintf(g->script, " at graph 0, first %g right offset -1,0\n", -(double)line);
}

/* Writes title and frame; widest is the length of the longest name. */
static void script_frame(const struct explanation *e, const struct gnuplot *g, size_t lines, size_t widest)
{
    const struct explain_settings *s = e->settings;
    size_t problem = s->problem ? s->problem - 1 : 0;
    char room[PROBLEM_ROOM], row[60] = "";
    if (s->bars)
        snprintf(row, sizeof row, "row %zu of ", e->first + 1);
    gnuplot_title(g, "set title ", "%s on %s%s, %s", base_name(s->model_path), row, base_name(s->data_path),
                  problem_text(e->model, problem, room));
    if (s->bars)
        gnuplot_title(g, "\nset xlabel ", "share in the decision value %.4g; base %.4g", e->f[0], e->base[problem]);
    else
        gnuplot_title(g, "\nset xlabel ", "share in the decision value; base %.4g", e->base[problem]);
    fprintf(g->script,
            "\nunset ytics\nset lmargin %zu\nset yrange [%g:-0.3]\nset yzeroaxis lw 1.5 lt 1 lc rgb '#888888'\n"
            "set xtics out nomirror\nset border 1\nset style fill solid 1 noborder\nunset key\n",
            widest < 60 ? widest + 3 : 60, -(double)lines - 0.7);
}

static void write_bar(FILE *file, size_t line, double share)
{
    fprintf(file, "%g %.10g %u\n", -(double)line, share, share < 0 ? 0x0072B2u : 0xD55E00u);
}

void draw_bars(const struct explanation *e)
{
    struct ranked *list = rank_features(e->shares, e->d);
    size_t top = shown(e), lines = top + (top < e->d), widest = 10;
    double others = 0;
    struct gnuplot g;
    FILE *file;
    gnuplot_open(&g, e->settings->bars, e->settings->keep);
    file = gnuplot_data(&g, "bars", "line, share, colour");
    for (size_t k = 0; k < e->d; k++)
        if (k < top)
            write_bar(file, k + 1, e->shares[list[k].feature]);
        else
            others += e->shares[list[k].feature];
    if (top < e->d)
        write_bar(file, lines, others);
    gnuplot_end_data(&g);
    for (size_t k = 0; k < top; k++) {
        size_t c = list[k].feature;
        char value[40], *text;
        snprintf(value, sizeof value, "%.6g", entry_of(&e->data, e->first, c));
        text = join(e->names[c], " = ", value);
        widest = strlen(text) > widest ? strlen(text) : widest;
        name_line(&g, k + 1, text);
        free(text);
    }
    if (top < e->d)
        name_line(&g, lines, "all others");
    script_frame(e, &g, lines, widest);
    fputs("set offsets graph 0.12, graph 0.12, 0, 0\n"
          "plot $bars using ($2/2):1:(abs($2)/2):(0.36):3 with boxxyerror lc rgb variable, \\\n"
          "  $bars using ($2 < 0 ? NaN : $2):1:(sprintf('%+.3g', $2)) with labels left offset 0.6,0, \\\n"
          "  $bars using ($2 < 0 ? $2 : NaN):1:(sprintf('%+.3g', $2)) with labels right offset -0.6,0\n",
          g.script);
    gnuplot_draw(&g);
    free(list);
}

/* ---- Beeswarm ---- */

/* Sets the ends of a feature's values, but for the twentieth part of them at each. */
static void ends_of_values(const struct explanation *e, size_t feature, double ends[2])
{
    double *sorted = allocate(e->rows, sizeof *sorted);
    for (size_t i = 0; i < e->rows; i++)
        sorted[i] = entry_of(&e->data, e->first + i, feature);
    qsort(sorted, e->rows, sizeof *sorted, compare_reals);
    ends[0] = sorted[e->rows / 20];
    ends[1] = sorted[e->rows - 1 - e->rows / 20];
    if (ends[0] == ends[1]) {
        ends[0] = sorted[0];
        ends[1] = sorted[e->rows - 1];
    }
    free(sorted);
}

/* Writes a line of points: those whose shares are about the same stand above each other, from the middle outwards. */
static void write_swarm(FILE *file, const struct explanation *e, size_t line, size_t feature, const double range[2])
{
    enum { BINS = 150 };
    size_t count[BINS] = { 0 }, done[BINS] = { 0 }, most = 1;
    double ends[2], width = range[1] > range[0] ? (range[1] - range[0]) / (BINS - 1) : 1, step;
    ends_of_values(e, feature, ends);
    for (size_t i = 0; i < e->rows; i++) {
        size_t bin = (size_t)((e->shares[i * e->d + feature] - range[0]) / width);
        count[bin]++;
        most = count[bin] > most ? count[bin] : most;
    }
    step = fmin(0.1, 0.8 / (double)most);
    for (size_t i = 0; i < e->rows; i++) {
        double share = e->shares[i * e->d + feature], value = entry_of(&e->data, e->first + i, feature);
        size_t bin = (size_t)((share - range[0]) / width), k = done[bin]++, away = (k + 1) / 2;
        double up = (double)away * (k % 2 ? step : -step);
        double shade = ends[1] > ends[0] ? (value - ends[0]) / (ends[1] - ends[0]) : 0.5;
        fprintf(file, "%.10g %.6g %.4g\n", share, up - (double)line, fmin(fmax(shade, 0), 1));
    }
}

void draw_beeswarm(const struct explanation *e)
{
    size_t top = shown(e), widest = 10;
    double *mean = allocate(e->d, sizeof *mean), range[2] = { INFINITY, -INFINITY };
    struct ranked *list;
    struct gnuplot g;
    FILE *file;
    for (size_t i = 0; i < e->rows; i++)
        for (size_t k = 0; k < e->d; k++) {
            double share = e->shares[i * e->d + k];
            mean[k] += fabs(share) / (double)e->rows;
            range[0] = fmin(range[0], share);
            range[1] = fmax(range[1], share);
        }
    list = rank_features(mean, e->d);
    gnuplot_open(&g, e->settings->beeswarm, e->settings->keep);
    file = gnuplot_data(&g, "swarm", "share, line, the feature's value from 0 (low) to 1 (high)");
    for (size_t k = 0; k < top; k++)
        write_swarm(file, e, k + 1, list[k].feature, range);
    gnuplot_end_data(&g);
    for (size_t k = 0; k < top; k++) {
        const char *name = e->names[list[k].feature];
        widest = strlen(name) > widest ? strlen(name) : widest;
        name_line(&g, k + 1, name);
    }
    script_frame(e, &g, top, widest);
    fputs(
        "set palette defined (0 '#0072B2', 0.5 '#BBBBBB', 1 '#D55E00')\nset cbrange [0:1]\n"
        "set cbtics ('low' 0, 'high' 1)\nset cblabel 'value of the feature'\nset offsets graph 0.03, graph 0.03, 0, 0\n"
        "plot $swarm using 1:2:3 with points pt 7 ps 0.9*scale lc palette\n",
        g.script);
    gnuplot_draw(&g);
    free(mean);
    free(list);
}

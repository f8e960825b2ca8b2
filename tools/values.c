/*
 * The picture of a regression: over one feature the prediction, its tube and the examples, over two its contours.
 */
#include <math.h>
#include <stdlib.h>

#include "view.h"

/* Returns half the width of the tube: no support vector is nearer to its prediction, but for the tolerance of the
 * training. NaN: there is none, or it is not known which rows the support vectors are. */
static double tube_of(const struct subject *s)
{
    const hinge_task_row *task = hinge_task_info(hinge_model_task(s->model));
    const size_t *index = hinge_model_sv_index(s->model);
    double least = INFINITY;
    for (size_t k = 0; s->located && k < hinge_model_n_sv(s->model); k++)
        least = fmin(least, fabs(s->labels[index[k]] - s->data.y[index[k]]));
    return task->uses_tau || !isfinite(least) ? NAN : least;
}

static const char *target_of(const struct subject *s)
{
    const char *target = hinge_model_target(s->model);
    return target ? target : "target";
}

static void write_points(const struct view *v, const struct gnuplot *g)
{
    FILE *file = gnuplot_data(g, "points", v->axes == 2 ? "x y target" : "x target");
    for (size_t i = 0; i < v->s->data.x.rows; i++) {
        for (size_t axis = 0; axis < v->axes; axis++)
            fprintf(file, "%.10g ", view_entry(v, i, axis));
        fprintf(file, "%.10g\n", v->s->data.y[i]);
    }
    gnuplot_end_data(g);
}

/* Writes the prediction at the places of a grid, row by row from below. */
static void write_values(const struct view *v, const struct gnuplot *g, size_t across, size_t down)
{
    size_t n = across * down;
    double *points = allocate(n, v->axes * sizeof *points), *values = allocate(n, sizeof *values);
    FILE *file;
    for (size_t k = 0; k < n; k++) {
        points[k * v->axes] = view_place(v, 0, k % across, across);
        if (v->axes == 2)
            points[k * 2 + 1] = view_place(v, 1, k / across, down);
    }
    view_predict(v, points, n, values, NULL);
    file = gnuplot_data(g, "values", v->axes == 2 ? "x y prediction" : "x prediction");
    for (size_t k = 0; k < n; k++) {
        for (size_t axis = 0; axis < v->axes; axis++)
            fprintf(file, "%.10g ", points[k * v->axes + axis]);
        fprintf(file, "%.10g\n%s", values[k], v->axes == 2 && (k + 1) % across == 0 ? "\n" : "");
    }
    gnuplot_end_data(g);
    free(points);
    free(values);
}

static void script_curve(const struct view *v, const struct gnuplot *g)
{
    double tube = tube_of(v->s), tau = hinge_model_tau(v->s->model);
    gnuplot_title(g, "set ylabel ", "%s", target_of(v->s));
    fputs("\nset key outside right top vertical Left reverse samplen 1.5 spacing 1.25\nplot ", g->script);
    if (!isnan(tube))
        fprintf(g->script, "$values using 1:($2-%.10g):($2+%.10g) with filledcurves lc rgb '#CDE3F1' "
                           "title 'tube, +- %.4g', \\\n  ", tube, tube, tube);
    fputs("$points using 1:2 with points pt 7 ps 0.9*scale lc rgb '#444444' title 'examples', \\\n  ", g->script);
    if (v->s->located)
        fprintf(g->script, "$vectors with points pt 6 ps 1.9*scale lw 1 lc rgb '#D55E00' "
                           "title 'support vectors (%zu)', \\\n  ", hinge_model_n_sv(v->s->model));
    fputs("$values using 1:2 with lines lw 2.5 lc rgb '#0072B2' ", g->script);
    if (tau > 0)
        gnuplot_title(g, "title ", "quantile %g", tau);
    else
        gnuplot_title(g, "title ", "prediction");
    fputc('\n', g->script);
}

static void script_contours(const struct view *v, const struct gnuplot *g)
{
    gnuplot_title(g, "set cblabel ", "%s", target_of(v->s));
    fputs("\nset contour base\nunset surface\nset cntrparam levels auto 10\nset table $contours\n"
          "splot $values using 1:2:3\nunset table\nunset contour\n"
          "set palette defined (0 '#440154', 1 '#3b528b', 2 '#21918c', 3 '#5ec962', 4 '#fde725')\n"
          "set key outside center top horizontal Left reverse samplen 1.5\n"
          "plot $values using 1:2:3 with image notitle, \\\n"
          "  $contours using 1:2 with lines lw 1.5 lc rgb '#c0c0c0' title 'contours of the prediction', \\\n"
          "  $points using 1:2 with points pt 7 ps 1.3*scale lc rgb '#ffffff' notitle, \\\n"
          "  $points using 1:2:3 with points pt 7 ps 0.9*scale lc palette title 'examples, by their targets'",
          g->script);
    if (v->s->located)
        fprintf(g->script,
                ", \\\n  $vectors with points pt 6 ps 1.9*scale lw 1 lc rgb '#000000' title 'support vectors (%zu)'",
                hinge_model_n_sv(v->s->model));
    fputc('\n', g->script);
}

void draw_values(const struct subject *s, const struct plot_settings *settings)
{
    enum { FINE = 500, GRID = 200 };
    struct view v = { .s = s, .settings = settings };
    struct gnuplot g;
    view_open(&v, 0);
    gnuplot_open(&g, settings->output, settings->keep);
    write_points(&v, &g);
    write_values(&v, &g, v.axes == 2 ? GRID : FINE, v.axes == 2 ? GRID : 1);
    if (s->located)
        view_vectors(&v, &g);
    view_script(&v, &g);
    if (v.axes == 2)
        script_contours(&v, &g);
    else
        script_curve(&v, &g);
    gnuplot_draw(&g);
}

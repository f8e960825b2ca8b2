/*
 * What hinge grid tells of its points: lines, a table, JSON, a picture.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gnuplot.h"
#include "cmd_grid.h"

/* ---- Lines ---- */

/* What lines call a point, and what stands in the table where it has no rate. */
static const struct {
    const char *name, *cell;
} states[] = {
    [HINGE_POINT_DONE] = { "local", "" },       [HINGE_POINT_KNOWN] = { "resumed", "" },
    [HINGE_POINT_EXACT] = { "dropped", "-" },   [HINGE_POINT_RACE] = { "dropped", "-" },
    [HINGE_POINT_FAILED] = { "failed", "x" },   [HINGE_POINT_WAITING] = { "waiting", "." },
};

void grid_line(const struct grid_settings *s, const hinge_grid_point *point, const hinge_grid_point *best)
{
    char room[NUMBER_ROOM];
    printf("[%s]", states[point->state].name);
    EACH_SHOWN(k, s)
        printf(" %s", number_text(line_value(k, axis_value(point, k)), 0, room));
    printf(is_scored(point) ? " %.6g (best " : " nan (best ", rate_of(s, point));
    EACH_SHOWN(k, s)
        printf("%s=%s, ", axes[k].key, best ? number_text(axis_value(best, k), 1, room) : "nan");
    printf(best ? "rate=%.6g)\n" : "rate=nan)\n", best ? rate_of(s, best) : NAN);
    fflush(stdout);
}

void grid_last_line(const struct grid_settings *s, const hinge_grid_point *best)
{
    char room[NUMBER_ROOM];
    EACH_SHOWN(k, s)
        printf("%s ", number_text(axis_value(best, k), 1, room));
    printf("%.6g\n", rate_of(s, best));
}

/* ---- The table ---- */

/* Finds the parameters along columns and rows: the first two of several values. AXES: there is none. */
static void find_sides(const struct grid_settings *s, enum grid_axis *across, enum grid_axis *down)
{
    enum grid_axis *sides[] = { across, down };
    size_t n = 0;
    *across = *down = AXES;
    for (enum grid_axis k = AXIS_C; k < AXES && n < 2; k++)
        if (s->list[k].shown && s->list[k].count > 1)
            *sides[n++] = k;
}

/* Makes an ascending list of a side's values, without doubles; a side that is not there has one. */
static double *side_values(const struct grid_settings *s, enum grid_axis side, size_t *count)
{
    size_t n = side < AXES ? s->list[side].count : 1, kept = 0;
    double *values = allocate(n, sizeof *values);
    if (side < AXES)
        memcpy(values, s->list[side].value, n * sizeof *values);
    qsort(values, n, sizeof *values, compare_reals);
    for (size_t k = 0; k < n; k++)
        if (kept == 0 || values[k] != values[kept - 1])
            values[kept++] = values[k];
    *count = kept;
    return values;
}

/* Returns the point at a place of the table, all else as the best one; NULL: there is none. */
static const hinge_grid_point *point_at(const hinge_selection *selection, enum grid_axis across, double x,
                                        enum grid_axis down, double y)
{
    for (size_t i = 0; i < selection->n_points; i++) {
        const hinge_grid_point *point = &selection->points[i];
        int same = 1;
        for (enum grid_axis k = AXIS_C; k < AXES; k++)
            same &= axis_value(point, k) == (k == across ? x : k == down ? y : axis_value(selection->best, k));
        if (same)
            return point;
    }
    return NULL;
}

/* Tells whether a side's values are written as powers of 2: all of them, or none. */
static int has_powers(enum grid_axis side, const double *values, size_t count)
{
    int all = side < AXES && axes[side].log2;
    for (size_t k = 0; all && k < count; k++)
        all = values[k] > 0 && log2(values[k]) == round(log2(values[k]));
    return all;
}

static const char *side_text(int powers, double value, char room[NUMBER_ROOM])
{
    char power[NUMBER_ROOM];
    if (powers)
        snprintf(room, NUMBER_ROOM, "2^%s", number_text(log2(value), 0, power));
    else
        snprintf(room, NUMBER_ROOM, "%.4g", value);
    return room;
}

static void print_cell(const struct grid_settings *s, const hinge_selection *selection, const hinge_grid_point *point)
{
    char text[NUMBER_ROOM] = "";
    if (point && is_scored(point))
        snprintf(text, sizeof text, "%s%.5g", point == selection->best ? "*" : "", rate_of(s, point));
    printf("%10s", !point || *text ? text : states[point->state].cell);
}

void grid_table(const struct grid_settings *s, const hinge_selection *selection)
{
    enum grid_axis across, down;
    size_t nx, ny;
    double *x, *y;
    int powers[2];
    char room[NUMBER_ROOM];
    find_sides(s, &across, &down);
    if (across == AXES) /* one point, which the last line tells */
        return;
    x = side_values(s, across, &nx);
    y = side_values(s, down, &ny);
    powers[0] = has_powers(across, x, nx);
    powers[1] = has_powers(down, y, ny);
    printf("\n%s%s of %zu folds; * the best, - dropped, x failed, . not tried\n", hinge_score_name(s->select.score),
           s->select.score == HINGE_SCORE_ACCURACY ? ", percent," : "", selection->n_folds);
    for (enum grid_axis k = AXIS_C; k < AXES; k++)
        if (s->list[k].count > 1 && k != across && k != down)
            printf("at %s = %s\n", axes[k].key,
                   side_text(has_powers(k, s->list[k].value, s->list[k].count), axis_value(selection->best, k), room));
    printf("%-9s", down < AXES ? axes[down].key : "");
    for (size_t i = 0; i < nx; i++) {
        char value[NUMBER_ROOM], head[2 * NUMBER_ROOM];
        snprintf(head, sizeof head, "%s%s%s", i ? "" : axes[across].key, i ? "" : "=",
                 side_text(powers[0], x[i], value));
        printf("%10s", head);
    }
    for (size_t k = 0; k < ny; k++) {
        printf("\n%-9s", down < AXES ? side_text(powers[1], y[k], room) : "");
        for (size_t i = 0; i < nx; i++)
            print_cell(s, selection, point_at(selection, across, x[i], down, y[k]));
    }
    printf("\n\n");
    free(x);
    free(y);
}

void grid_work(const struct grid_settings *s, const hinge_selection *selection)
{
    if (s->train.scale && !s->train.scale_restore)
        fprintf(stderr,
                "each fold is scaled by itself: %zu kernels were made, which share nothing, where %zu would do\n",
                selection->n_kernels, selection->n_kernels / selection->n_folds);
    fprintf(stderr, "%zu points in %.3f s: %" PRIu64 " trainings to %g, %" PRIu64 " steps; %zu kernels, %" PRIu64
                    " rows of them computed for %" PRIu64 " support vectors\n",
            selection->n_points, selection->seconds, selection->trainings, selection->eps, selection->iterations,
            selection->n_kernels, selection->rows_computed, selection->rows_support);
}

/* ---- JSON ---- */

/* Returns scikit-learn's name of a score, of which more is better: it takes others with a minus. */
static const char *scoring(hinge_score score)
{
    static const char *const names[HINGE_N_SCORES] = {
        [HINGE_SCORE_AUC] = "roc_auc",
        [HINGE_SCORE_MCC] = "matthews_corrcoef",
        [HINGE_SCORE_LOG_LOSS] = "neg_log_loss",
        [HINGE_SCORE_MSE] = "neg_mean_squared_error",
        [HINGE_SCORE_MAE] = "neg_mean_absolute_error",
        [HINGE_SCORE_PINBALL] = "neg_mean_pinball_loss",
    };
    return names[score] ? names[score] : hinge_score_name(score);
}

static void json_parameters(struct json *j, const char *key, const struct grid_settings *s,
                            const hinge_grid_point *point)
{
    json_open(j, key, '{');
    EACH_SHOWN(k, s)
        json_real(j, axes[k].name, axis_value(point, k));
    json_close(j, '}');
}

/* Ranks the mean scores from 1; equal ones share a rank, and what has none comes last. */
static void json_ranks(struct json *j, const double *mean, size_t n)
{
    size_t *rank = allocate(n, sizeof *rank);
    for (size_t i = 0; i < n; i++) {
        rank[i] = 1;
        for (size_t k = 0; k < n; k++)
            rank[i] += isnan(mean[i]) ? !isnan(mean[k]) : mean[k] > mean[i];
    }
    json_counts(j, "rank_test_score", rank, n);
    free(rank);
}

static void json_results(struct json *j, const struct grid_settings *s, const hinge_selection *selection)
{
    size_t n = selection->n_points;
    const hinge_grid_point *point = selection->points;
    hinge_score score = selection->score;
    double sign = hinge_score_rises(score) ? 1 : -1, *column = allocate(n, sizeof *column);
    char key[48];
    json_open(j, "cv_results", '{');
    json_open(j, "params", '[');
    for (size_t i = 0; i < n; i++)
        json_parameters(j, NULL, s, &point[i]);
    json_close(j, ']');
    for (enum grid_axis k = AXIS_C; k < AXES; k++) {
        for (size_t i = 0; i < n; i++)
            column[i] = axis_value(&point[i], k);
        snprintf(key, sizeof key, "param_%s", axes[k].name);
        if (s->list[k].shown)
            json_reals(j, key, column, n);
    }
    for (size_t f = 0; f < selection->n_folds; f++) {
        for (size_t i = 0; i < n; i++)
            column[i] = point[i].fold_score ? sign * point[i].fold_score[f * HINGE_N_SCORES + score] : NAN;
        snprintf(key, sizeof key, "split%zu_test_score", f);
        json_reals(j, key, column, n);
    }
    for (size_t i = 0; i < n; i++)
        column[i] = point[i].deviation[score];
    json_reals(j, "std_test_score", column, n);
    for (size_t i = 0; i < n; i++)
        column[i] = sign * point[i].score[score];
    json_reals(j, "pooled_test_score", column, n);
    for (size_t i = 0; i < n; i++)
        column[i] = sign * point[i].mean[score];
    json_reals(j, "mean_test_score", column, n);
    json_ranks(j, column, n);
    json_open(j, "state", '[');
    for (size_t i = 0; i < n; i++)
        json_text(j, NULL, is_scored(&point[i]) ? "done" : states[point[i].state].name);
    json_close(j, ']');
    json_open(j, "outcome", '[');
    for (size_t i = 0; i < n; i++)
        json_text(j, NULL, hinge_outcome_text(selection->points[i].outcome));
    json_close(j, ']');
    json_close(j, '}');
    free(column);
}

void grid_json(const struct grid_settings *s, const hinge_selection *selection)
{
    struct json j = { 0 };
    const hinge_grid_point *best = selection->best;
    json_open(&j, NULL, '{');
    json_put(&j, "data %s", s->train.data_path);
    if (s->train.model_path && best)
        json_put(&j, "model %s", s->train.model_path);
    json_put(&j, "outcome %s, scoring %s", hinge_outcome_text(selection->outcome), scoring(selection->score));
    if (best) {
        json_parameters(&j, "best_params", s, best);
        json_put(&j, "best_index %zu, best_score %g", (size_t)(best - selection->points),
                 (hinge_score_rises(selection->score) ? 1 : -1) * best->score[selection->score]);
    }
    json_put(&j, "n_splits %zu", selection->n_folds);
    json_results(&j, s, selection);
    json_put(&j, "tolerance_of_folds %g, trainings %" PRIu64 ", iterations %" PRIu64 ", kernels %zu", selection->eps,
             selection->trainings, selection->iterations, selection->n_kernels);
    json_put(&j, "rows_computed %" PRIu64 ", rows_distinct %" PRIu64 ", rows_support %" PRIu64,
             selection->rows_computed, selection->rows_distinct, selection->rows_support);
    json_put(&j, "kernel_values %" PRIu64 ", stored_bytes %zu, seconds %g", selection->kernel_values,
             selection->stored_bytes, selection->seconds);
    json_close(&j, '}');
}

/* ---- The picture ---- */

/* Returns the edge between two values of a side, or half a step beyond its ends, on the picture's scale. */
static double edge(enum grid_axis side, const double *values, size_t count, size_t k)
{
    size_t a = k == 0 ? 0 : k - 1, b = a + 1 < count ? a + 1 : a;
    double low = values[a], high = values[b];
    if (side < AXES)
        low = line_value(side, low), high = line_value(side, high);
    if (a == b && count > 1) /* beyond the last one */
        return low + (low - edge(side, values, count, k - 1));
    if (a == b)
        return low + (k ? 0.5 : -0.5);
    return k == 0 ? low - (high - low) / 2 : (low + high) / 2;
}

static void draw_axis(FILE *script, const char *name, enum grid_axis side, const double *values, size_t count)
{
    char room[NUMBER_ROOM];
    size_t step = (count + 19) / 20;
    int powers = has_powers(side, values, count);
    if (side == AXES) {
        fprintf(script, "unset %stics\n", name);
        return;
    }
    fprintf(script, "set %slabel '%s'\nset %stics out nomirror (", name,
            side == AXIS_C ? "C" : side == AXIS_GAMMA ? "gamma" : axes[side].key, name);
    for (size_t k = 0; k < count; k += step) {
        double at = line_value(side, values[k]);
        if (powers)
            fprintf(script, "%s'2^{%.0f}' %.17g", k ? ", " : "", at, at);
        else
            fprintf(script, "%s'%s' %.17g", k ? ", " : "", side_text(0, values[k], room), at);
    }
    fputs(")\n", script);
}

struct map {
    enum grid_axis across, down;
    double *x, *y, low, high; /* low, high: of the rates */
    size_t nx, ny;
};

static void draw_cells(const struct grid_settings *s, const struct gnuplot *g, const hinge_selection *selection,
                       struct map *m)
{
    FILE *file = gnuplot_data(g, "cells", "left, right, lower, upper edge, rate, 1: the best one");
    m->low = INFINITY, m->high = -INFINITY;
    for (size_t k = 0; k < m->ny; k++)
        for (size_t i = 0; i < m->nx; i++) {
            const hinge_grid_point *point = point_at(selection, m->across, m->x[i], m->down, m->y[k]);
            double rate = point ? rate_of(s, point) : NAN;
            if (isnan(rate))
                continue;
            fprintf(file, "%.17g %.17g %.17g %.17g ", edge(m->across, m->x, m->nx, i),
                    edge(m->across, m->x, m->nx, i + 1), edge(m->down, m->y, m->ny, k),
                    edge(m->down, m->y, m->ny, k + 1));
            fprintf(file, "%.10g %d\n", rate, point == selection->best);
            m->low = fmin(m->low, rate);
            m->high = fmax(m->high, rate);
        }
    gnuplot_end_data(g);
}

static void draw_script(const struct grid_settings *s, const struct gnuplot *g, const hinge_selection *selection,
                        const struct map *m)
{
    const char *name = hinge_score_name(selection->score), *comma = "";
    int rises = hinge_score_rises(selection->score), far = m->low > 0 && m->high > 30 * m->low;
    char title[400], room[NUMBER_ROOM];
    size_t used = (size_t)snprintf(title, sizeof title, "%.100s: best %s %.6g%s at", base_name(s->train.data_path),
                                   name, rate_of(s, selection->best),
                                   s->select.score == HINGE_SCORE_ACCURACY ? " %" : "");
    for (enum grid_axis k = AXIS_C; k < AXES; k++)
        if (s->list[k].count > 1 && s->list[k].shown) {
            used += (size_t)snprintf(title + used, sizeof title - used, "%s %s = %s", comma, axes[k].name,
                                     number_text(axis_value(selection->best, k), 0, room));
            comma = ",";
        }
    gnuplot_title(g, "set title ", "%s", title);
    fputc('\n', g->script);
    draw_axis(g->script, "x", m->across, m->x, m->nx);
    draw_axis(g->script, "y", m->down, m->y, m->ny);
    fprintf(g->script,
            "set xrange [%.17g:%.17g]\nset yrange [%.17g:%.17g]\nset cblabel '%s%s of cross-validation' noenhanced\n"
            "set palette %s defined (0 '#440154', 1 '#3b528b', 2 '#21918c', 3 '#5ec962', 4 '#fde725')\n%sunset key\n"
            "set object 1 rectangle from graph 0,0 to graph 1,1 behind fillcolor rgb '#dddddd' fillstyle solid\n"
            "set style fill solid 1 noborder\n",
            edge(m->across, m->x, m->nx, 0), edge(m->across, m->x, m->nx, m->nx), edge(m->down, m->y, m->ny, 0),
            edge(m->down, m->y, m->ny, m->ny), name, s->select.score == HINGE_SCORE_ACCURACY ? ", percent," : "",
            rises ? "" : "negative", far ? "set logscale cb\n" : "");
    if (!(m->high > m->low)) /* one value, of which gnuplot makes no range */
        fprintf(g->script, "set cbrange [%.10g:%.10g]\n", m->low - 0.01 * fabs(m->low) - 1e-9,
                m->high + 0.01 * fabs(m->high) + 1e-9);
    fprintf(g->script, "level(r) = %s\nlow = %.10g\nhigh = %.10g\n", far ? "log(r)" : "r", m->low, m->high);
    fprintf(g->script, "bright(r) = level(r) - level(low) %s 0.5 * (level(high) - level(low))\n", rises ? ">" : "<");
    fputs("x(a, b) = (a + b) / 2\nshown(r) = sprintf('%.4g', r)\n"
          "plot $cells using (x($1,$2)):(x($3,$4)):1:2:3:4:5 with boxxyerror lc palette, \\\n",
          g->script);
    if (m->nx * m->ny <= 200)
        fputs("  '' using (x($1,$2)):(x($3,$4)):(shown($5)):(bright($5) ? 0 : 0xffffff) with labels font ',10' "
              "tc rgb variable, \\\n",
              g->script);
    fputs("  '' using (x($1,$2)):($6 == 1 ? x($3,$4) : NaN):1:2:3:4 with boxxyerror fs empty border rgb '#111111' "
          "lc rgb '#111111' lw 4\n",
          g->script);
}

void grid_picture(const struct grid_settings *s, const hinge_selection *selection)
{
    struct gnuplot g;
    struct map m = { .across = AXES, .down = AXES };
    find_sides(s, &m.across, &m.down);
    m.x = side_values(s, m.across, &m.nx);
    m.y = side_values(s, m.down, &m.ny);
    gnuplot_open(&g, s->picture, NULL);
    draw_cells(s, &g, selection, &m);
    draw_script(s, &g, selection, &m);
    gnuplot_draw(&g);
    free(m.x);
    free(m.y);
}

/* The plane of a picture: see view.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "view.h"

/* ---- Features ---- */

/* Returns a feature from 0 by its name or number; SIZE_MAX: there is none. */
static size_t find_feature(const struct view *v, const char *text, size_t length)
{
    const hinge_words *names = hinge_model_names(v->s->model);
    size_t d = v->s->data.x.cols, number = 0;
    for (size_t k = 0; names && k < names->count; k++)
        if (strlen(names->word[k]) == length && memcmp(names->word[k], text, length) == 0)
            return k;
    for (size_t i = 0; i < length; i++)
        if (text[i] >= '0' && text[i] <= '9' && number <= d)
            number = 10 * number + (size_t)(text[i] - '0');
        else
            number = SIZE_MAX;
    return number >= 1 && number <= d ? number - 1 : SIZE_MAX;
}

/* Finds two features with a comma between, which a name may hold too. */
static void find_two(struct view *v, const char *text)
{
    const char *comma = strchr(text, ',');
    size_t length = strlen(text);
    if (!comma)
        die(EXIT_USAGE, "--features: '%s' is not two features with a comma between", text);
    for (; comma; comma = strchr(comma + 1, ',')) {
        size_t before = (size_t)(comma - text);
        v->feature[0] = find_feature(v, text, before);
        v->feature[1] = find_feature(v, comma + 1, length - before - 1);
        if (v->feature[0] != SIZE_MAX && v->feature[1] != SIZE_MAX)
            return;
    }
    comma = strchr(text, ',');
    if (v->feature[0] != SIZE_MAX)
        text = strrchr(text, ',') + 1, length = strlen(text);
    else
        length = (size_t)(comma - text);
    die(EXIT_USAGE, "--features: there is no feature %.*s: they are whole numbers from 1 to %zu%s", (int)length, text,
        v->s->data.x.cols, hinge_model_names(v->s->model) ? ", or names" : "");
}

static void find_features(struct view *v, size_t axes)
{
    const char *text = v->settings->features;
    size_t d = v->s->data.x.cols, alone = text ? find_feature(v, text, strlen(text)) : SIZE_MAX;
    v->axes = axes ? axes : alone != SIZE_MAX || d < 2 ? 1 : 2;
    if (d < v->axes)
        die(EXIT_DATA, "%s: %zu feature%s where %s", v->settings->data_path, d, d == 1 ? "" : "s",
            v->axes == 1 ? "one is needed" : "two are needed");
    v->feature[0] = 0;
    v->feature[1] = 1;
    if (text && v->axes == 1 && alone == SIZE_MAX)
        die(EXIT_USAGE, "--features: there is no feature %s", text);
    if (text && v->axes == 1)
        v->feature[0] = alone;
    else if (text)
        find_two(v, text);
    if (v->axes == 2 && v->feature[0] == v->feature[1])
        die(EXIT_USAGE, "--features: '%s': two different features are needed", text);
}

/* ---- Places ---- */

double view_place(const struct view *v, size_t axis, size_t at, size_t count)
{
    return v->low[axis] + (v->high[axis] - v->low[axis]) * (double)at / (double)(count - 1);
}

double view_entry(const struct view *v, size_t i, size_t axis)
{
    return entry_of(&v->s->data, i, v->feature[axis]);
}

void view_open(struct view *v, size_t axes)
{
    find_features(v, axes);
    for (size_t axis = 0; axis < v->axes; axis++) {
        double low = INFINITY, high = -INFINITY, room;
        for (size_t i = 0; i < v->s->data.x.rows; i++) {
            low = fmin(low, view_entry(v, i, axis));
            high = fmax(high, view_entry(v, i, axis));
        }
        if (!(high > low))
            warn("%s: feature %zu is %g in all examples: --features chooses others", v->settings->data_path,
                 v->feature[axis] + 1, low);
        room = high > low ? 0.06 * (high - low) : 1;
        v->low[axis] = low - room;
        v->high[axis] = high + room;
    }
}

void view_predict(const struct view *v, const double *points, size_t n, double *labels, double *decisions)
{
    enum { ROWS = 300 };
    hinge_predict_options options = { .threads = v->settings->params.threads, .precision = HINGE_PRECISION_F64 };
    const struct subject *s = v->s;
    size_t d = s->data.x.cols, problems = hinge_model_n_problems(s->model);
    double *x = allocate(ROWS, d * sizeof *x), *mean = allocate(d, sizeof *mean);
    for (size_t i = 0; i < s->data.x.rows; i++)
        for (size_t k = 0; k < d; k++)
            mean[k] += entry_of(&s->data, i, k) / (double)s->data.x.rows;
    for (size_t first = 0; first < n; first += ROWS) {
        size_t rows = n - first < ROWS ? n - first : ROWS;
        hinge_matrix some = hinge_matrix_f64(x, rows, d);
        for (size_t i = 0; i < rows; i++) {
            memcpy(x + i * d, mean, d * sizeof *x);
            for (size_t axis = 0; axis < v->axes; axis++)
                x[i * d + v->feature[axis]] = points[(first + i) * v->axes + axis];
        }
        check(hinge_predict(s->model, &some, &options, labels + first, decisions ? decisions + first * problems : NULL,
                            &failure));
    }
    free(x);
    free(mean);
}

/* ---- The script ---- */

/* Gives all numbers on an axis one form, where gnuplot would change it at 1e+06 or 1e-05. */
static void script_form(const struct view *v, const struct gnuplot *g, size_t axis)
{
    double most = fmax(fabs(v->low[axis]), fabs(v->high[axis])), span = v->high[axis] - v->low[axis];
    if (most >= 1e5 && span >= 10)
        fprintf(g->script, "set format %c '%s'\n", axis ? 'y' : 'x', most < 1e10 ? "%.0f" : "%.1e");
    else if (most < 1e-3)
        fprintf(g->script, "set format %c '%%.1e'\n", axis ? 'y' : 'x');
}

void view_script(const struct view *v, const struct gnuplot *g)
{
    const hinge_words *names = hinge_model_names(v->s->model);
    gnuplot_title(g, "set title ", "%s on %s%s", base_name(v->settings->model_path), base_name(v->settings->data_path),
                  v->s->data.x.cols > v->axes ? ", other features at their mean" : "");
    for (size_t axis = 0; axis < v->axes; axis++) {
        size_t k = v->feature[axis];
        const char *start = axis ? "\nset ylabel " : "\nset xlabel ";
        if (names && k < names->count)
            gnuplot_title(g, start, "%s", names->word[k]);
        else
            gnuplot_title(g, start, "feature %zu", k + 1);
        fprintf(g->script, "\nset %srange [%.10g:%.10g]\n", axis ? "y" : "x", v->low[axis], v->high[axis]);
        script_form(v, g, axis);
    }
    fputs("set style fill solid 1 noborder\nset tics out nomirror\nset border 3\n", g->script);
}

void view_vectors(const struct view *v, const struct gnuplot *g)
{
    FILE *file = gnuplot_data(g, "vectors", "x y of the support vectors");
    const size_t *index = hinge_model_sv_index(v->s->model);
    for (size_t k = 0; k < hinge_model_n_sv(v->s->model); k++)
        fprintf(file, "%.10g %.10g\n", view_entry(v, index[k], 0),
                v->axes == 2 ? view_entry(v, index[k], 1) : v->s->data.y[index[k]]);
    gnuplot_end_data(g);
}

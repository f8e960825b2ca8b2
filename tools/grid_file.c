/*
 * The file of a grid's points, in the form of LIBSVM's grid.py; a line before them says what they are points of.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd_grid.h"

static const char mark[] = "# hinge grid ";

const char *number_text(double value, int python, char room[NUMBER_ROOM])
{
    snprintf(room, NUMBER_ROOM, "nan"); /* of whatever sign */
    for (int digits = 1; digits <= 17 && !isnan(value); digits++) {
        int exponent, decimals;
        snprintf(room, NUMBER_ROOM, "%.*e", digits - 1, value);
        exponent = atoi(strchr(room, 'e') + 1);
        decimals = digits - 1 - exponent > 0 ? digits - 1 - exponent : 0;
        if (strtod(room, NULL) != value && digits < 17)
            continue;
        if (exponent < -4 || exponent > 15)
            snprintf(room, NUMBER_ROOM, "%.*g", digits, value);
        else
            snprintf(room, NUMBER_ROOM, "%.*f", decimals, value);
        break;
    }
    if (python && !strpbrk(room, ".en"))
        snprintf(room + strlen(room), NUMBER_ROOM - strlen(room), ".0");
    return room;
}

/* ---- What the points are of ---- */

static uint64_t mixed(uint64_t sum, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    sum = (sum ^ bits) * 0x9e3779b97f4a7c15u;
    return sum ^ (sum >> 29);
}

void points_identify(struct grid_settings *s, const struct train_run *run)
{
    const hinge_params *p = &s->train.params;
    const hinge_data *data = &run->data;
    const struct ranks *ranks = s->train.data.ranks;
    uint64_t sum = mixed(0, (double)data->x.cols), settings = 0;
    size_t rows = ranks ? ranks->rows(data->x.rows) : data->x.rows;
    const double before[] = { p->eps, (double)p->multiclass, p->no_bias, s->train.scale, s->train.scale_lower,
                              s->train.scale_upper, s->train.positive_label, (double)s->select.repeats,
                              s->select.by_fold || s->select.one_se };
    static const enum grid_axis order[AXES] = { AXIS_DEGREE, AXIS_COEF0, AXIS_P, AXIS_TAU, AXIS_NU, AXIS_C,
                                                AXIS_GAMMA };
    const hinge_grid_point point = point_of(p);
    if (ranks && !ranks->first())
        sum = ranks->sum_before();
    for (size_t i = 0; i < data->x.rows; i++) {
        for (size_t k = 0; k < data->x.cols; k++)
            sum = mixed(sum, entry_of(data, i, k));
        sum = mixed(sum, data->y[i]);
        if (p->weights)
            sum = mixed(sum, p->weights[i]);
    }
    s->counted = 0;
    for (size_t i = 0; i < data->x.rows; i++)
        s->counted += !p->weights || p->weights[i] > 0;
    if (ranks) {
        sum = ranks->sum_of_all(sum);
        s->counted = ranks->rows(s->counted);
    }
    for (size_t k = 0; k < p->n_class_weights; k++)
        settings = mixed(mixed(settings, p->class_labels[k]), p->class_weights[k]);
    for (size_t k = 0; k < COUNT_OF(before); k++)
        settings = mixed(settings, before[k]);
    for (size_t k = 0; k < AXES; k++) /* a parameter that lines tell may have other values */
        settings = mixed(settings, s->list[order[k]].shown ? 0 : axis_value(&point, order[k]));
    settings = mixed(mixed(settings, (double)p->max_iter), s->select.eps);
    for (const char *c = p->kernel.type == HINGE_COMBINED ? kernel_words(&p->kernel) : ""; *c; c++)
        settings = mixed(settings, *c);
    snprintf(s->identity, sizeof s->identity,
             "data=%016" PRIx64 " %zu x %zu, %s, %s, %zu folds, seed %" PRIu64 ", %s, options=%016" PRIx64, sum,
             rows, data->x.cols, hinge_task_info(p->task)->keyword, hinge_kernel_info(p->kernel.type)->keyword,
             s->train.folds, p->seed, hinge_score_name(s->select.score), settings);
}

static void check_identity(const struct grid_settings *s, const char *line)
{
    const char *theirs = line + sizeof mark - 1;
    size_t data = strcspn(s->identity, " ");
    if (strncmp(theirs, s->identity, data + 1) != 0)
        die(EXIT_DATA, "%s: it holds points of other data than %s", s->resume, s->train.data_path);
    if (strcmp(theirs, s->identity) != 0)
        die(EXIT_DATA, "%s: it holds points of other options: '%s' instead of '%s'", s->resume, theirs + data + 1,
            s->identity + data + 1);
}

/* ---- Reading ---- */

/* Finds name=NUMBER among the words of a line; dies of what is no number. */
static int find_number(const struct grid_settings *s, const char *line, size_t number, const char *name, double *value)
{
    size_t length = strlen(name);
    const char *at = line;
    char *end;
    while ((at = strstr(at, name)) && ((at > line && at[-1] != ' ') || at[length] != '='))
        at += length;
    if (!at)
        return 0;
    *value = strtod(at + length + 1, &end);
    if (end == at + length + 1 || (*end && *end != ' ') || !isfinite(*value))
        die(EXIT_DATA, "%s:%zu: %s is not a number", s->resume, number, name);
    return 1;
}

/* Sets a parameter to the value of the list that the file means, which may have fewer digits. */
static int take_value(const struct grid_settings *s, hinge_grid_point *point, enum grid_axis axis, double value)
{
    const struct grid_list *list = &s->list[axis];
    for (size_t k = 0; k < list->count; k++) {
        double here = line_value(axis, list->value[k]);
        if (fabs(here - value) <= 1e-9 * fmax(1, fabs(here))) {
            set_axis_value(point, axis, list->value[k]);
            return 1;
        }
    }
    return 0;
}

/* Returns an accuracy in percent as the share of rows that it is, which the file may have in few digits. */
static double share_of(double rate, const struct grid_settings *s)
{
    return round(rate / 100 * (double)s->counted) / (double)s->counted;
}

static void read_point(struct points *points, const struct grid_settings *s, const char *line, size_t number)
{
    const hinge_params *p = &s->train.params;
    hinge_grid_point point = point_of(p);
    double value, rate;
    if (!find_number(s, line, number, "rate", &rate))
        die(EXIT_DATA, "%s:%zu: there is no rate=", s->resume, number);
    point.state = HINGE_POINT_KNOWN;
    for (int k = 0; k < HINGE_N_SCORES; k++)
        point.score[k] = point.mean[k] = point.deviation[k] = NAN;
    point.score[s->select.score] = s->select.score == HINGE_SCORE_ACCURACY ? share_of(rate, s) : rate;
    for (enum grid_axis k = AXIS_C; k < AXES; k++) {
        char name[16];
        snprintf(name, sizeof name, "%s%s", axes[k].log2 ? "log2" : "", axes[k].key);
        if (find_number(s, line, number, name, &value) != s->list[k].shown)
            die(EXIT_DATA, "%s:%zu: it is of another grid, which has %s%s", s->resume, number,
                s->list[k].shown ? "no " : "", name);
        if (s->list[k].shown && !take_value(s, &point, k, value))
            die(EXIT_DATA, "%s:%zu: %s=%g is of another grid: it is none of the values to try", s->resume, number, name,
                value);
    }
    points->point = grown(points->point, points->count + 1, sizeof point);
    points->point[points->count++] = point;
}

void points_read(struct points *points, const struct grid_settings *s)
{
    FILE *file;
    char *line = NULL;
    size_t room = 0, number = 0;
    int marked = 0;
    size_t length;
    if (!s->resume)
        return;
    file = open_file(s->resume, "r");
    while ((length = read_line(file, &line, &room)) > 0 && line[length - 1] == '\n') { /* the last one may be cut off */
        number++;
        line[length - 1] = '\0';
        if (strncmp(line, mark, sizeof mark - 1) == 0) {
            check_identity(s, line);
            marked = 1;
        } else if (*line && *line != '#') {
            read_point(points, s, line, number);
        }
    }
    if (ferror(file))
        die(EXIT_DATA, "%s: cannot read: %s", s->resume, strerror(errno));
    if (!marked)
        warn("%s: it does not tell of what data its points are", s->resume);
    free(line);
    fclose(file);
}

/* ---- Writing ---- */

static void write_point(FILE *file, const struct grid_settings *s, const hinge_grid_point *point)
{
    char room[NUMBER_ROOM];
    double rate = rate_of(s, point);
    EACH_SHOWN(k, s)
        fprintf(file, "%s%s=%s ", axes[k].log2 ? "log2" : "", axes[k].key,
                    number_text(line_value(k, axis_value(point, k)), 0, room));
    number_text(rate, 1, room);
    if (strchr(room, 'e')) /* grid.py reads digits and a point only */
        fprintf(file, "rate=%.*f\n", rate < 1 ? 20 - (int)floor(log10(fabs(rate))) : 1, rate);
    else
        fprintf(file, "rate=%s\n", room);
}

void points_begin(struct points *points, const struct grid_settings *s)
{
    struct output out;
    if (!s->out || points->file)
        return;
    output_open(&out, s->out);
    fprintf(out.file, "%s%s\n", mark, s->identity);
    for (size_t k = 0; k < points->count; k++)
        write_point(out.file, s, &points->point[k]);
    output_close(&out);
    points->file = is_stdout(s->out) ? stdout : open_file(s->out, "a");
}

void points_add(struct points *points, const struct grid_settings *s, const hinge_grid_point *point)
{
    if (!points->file || points->failed)
        return;
    write_point(points->file, s, point);
    if (!fflush(points->file) && !ferror(points->file))
        return;
    points->failed = 1;
    warn("%s: cannot write: %s; going on without it", s->out, strerror(errno));
}

void points_end(struct points *points)
{
    if (points->file && points->file != stdout)
        fclose(points->file);
    points->file = NULL;
    free(points->point);
    points->point = NULL;
}

/*
 * What hinge grid was asked for, its file of points, and how the points are told.
 */
#ifndef HINGE_TOOLS_GRID_H
#define HINGE_TOOLS_GRID_H

#include "cmd_train.h"

/* The parameters of a grid, in the order in which lines have them. */
enum grid_axis { AXIS_C, AXIS_GAMMA, AXIS_NU, AXIS_P, AXIS_DEGREE, AXIS_COEF0, AXIS_TAU, AXES };

struct grid_list {
    double *value; /* [count] */
    size_t count;
    int given; /* by an option, "null" among them: then count is 0 */
    int shown; /* lines tell it */
};

struct grid_settings {
    struct train_settings train;
    struct grid_list list[AXES];
    const char *out, *resume, *picture;
    hinge_select_options select; /* score: AUTO no longer, once the task is known */
    const char *ignored;         /* grid.py's programs, of which none is run */
    int deal;                    /* rows to ranks, however few they are */
    char *own_out;               /* DATA.out, where out is not given */
    size_t counted;              /* rows of weight > 0, */
    char identity[256];          /* the first line of the file: of what data and settings its points are */
};

struct axis {
    const char *key;  /* as lines have it: "c", "g", "nu", ... */
    const char *name; /* as JSON and pictures have it */
    int log2;         /* lines have the logarithm to base 2 */
    const struct range *range;
    size_t point, values; /* offsets in hinge_grid_point and hinge_select_options */
};
extern const struct axis axes[AXES];
#define EACH_SHOWN(k, s) \
    for (enum grid_axis k = AXIS_C; k < AXES; k++) \
        if ((s)->list[k].shown)

double axis_value(const hinge_grid_point *point, enum grid_axis axis);
void set_axis_value(hinge_grid_point *point, enum grid_axis axis, double value);
/* Returns the value as lines have it. */
double line_value(enum grid_axis axis, double value);
/* Returns a point of the values that the parameters have. */
hinge_grid_point point_of(const hinge_params *params);
/* Returns what lines call the rate: percent of an accuracy, any other score as it is. */
double rate_of(const struct grid_settings *s, const hinge_grid_point *point);
int is_scored(const hinge_grid_point *point);

/* Writes a number in as few digits as give it back; as Python does (32.0) if so wanted. */
enum { NUMBER_ROOM = 40 };
const char *number_text(double value, int python, char room[NUMBER_ROOM]);

/* ---- The file of points, as grid.py writes it: log2c=5 log2g=-7 rate=83.3 ---- */

struct points {
    hinge_grid_point *point;
    size_t count;
    FILE *file; /* where points are added; NULL: nowhere */
    int failed; /* it could not be written */
};

/* Makes the identity of data and settings. */
void points_identify(struct grid_settings *s, const struct train_run *run);
/* Reads the points of s->resume; dies of a file of other data, settings or points than this grid's. */
void points_read(struct points *points, const struct grid_settings *s);
/* Writes s->out anew with the points known so far, and leaves it open, unless that is done already. */
void points_begin(struct points *points, const struct grid_settings *s);
void points_add(struct points *points, const struct grid_settings *s, const hinge_grid_point *point);
void points_end(struct points *points);

/* ---- Reports ---- */

/* Prints a point as grid.py does: [local] 5 -7 83.3333 (best c=32.0, g=0.0078125, rate=83.3333). */
void grid_line(const struct grid_settings *s, const hinge_grid_point *point, const hinge_grid_point *best);
/* Prints the table with the best point marked, and the line `C gamma rate`. */
void grid_table(const struct grid_settings *s, const hinge_selection *selection);
void grid_last_line(const struct grid_settings *s, const hinge_grid_point *best);
/* Tells on standard error what the search took. */
void grid_work(const struct grid_settings *s, const hinge_selection *selection);
/* Prints the selection as a JSON object whose cv_results has the names of scikit-learn's cv_results_. */
void grid_json(const struct grid_settings *s, const hinge_selection *selection);
/* Draws the rates over C and gamma, or over what else has two values or more. */
void grid_picture(const struct grid_settings *s, const hinge_selection *selection);

#endif

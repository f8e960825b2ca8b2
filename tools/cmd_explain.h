/*
 * What hinge explain was asked for and has found, and its pictures.
 */
#ifndef HINGE_TOOLS_EXPLAIN_H
#define HINGE_TOOLS_EXPLAIN_H

#include "common.h"

struct explain_settings {
    hinge_predict_options options;
    struct data_flags data;
    const char *background_path, *bars, *beeswarm, *keep;
    size_t top, problem; /* 0: not given */
    size_t rows[2];      /* the first and the last, from 1; 0: all */
    int gradients, json, no_restart;
    const char *data_path, *model_path, *output_path;
};

struct explanation {
    const struct explain_settings *settings;
    hinge_model *model;
    hinge_data data;
    char **names;       /* [d] of features */
    size_t d, problems; /* of the model */
    size_t first, rows; /* row `first` of data, from 0, and those behind it are explained */
    double *wide;       /* data, where the background has more features; otherwise NULL */
    double *base;       /* [problems] */
    double *shares;     /* [rows * d] of the problem that is drawn; NULL: no picture is wanted */
    double *f;          /* [rows] of that problem, or NULL */
};

/* A feature, and how large its share is, without a sign. */
struct ranked {
    double size;
    size_t feature;
};

/* Orders all features by shares[d], the largest first. The caller frees the list. */
struct ranked *rank_features(const double *shares, size_t d);
/* Says what f > 0 speaks for in a problem: "1 against 2". */
enum { PROBLEM_ROOM = 3 * LABEL_ROOM };
const char *problem_text(const hinge_model *model, size_t problem, char room[PROBLEM_ROOM]);

/* Draw the shares of a row; those of many. */
void draw_bars(const struct explanation *e);
void draw_beeswarm(const struct explanation *e);

#endif

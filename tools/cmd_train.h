/*
 * What hinge train was asked for, what came of it, and how it is told.
 */
#ifndef HINGE_TOOLS_TRAIN_H
#define HINGE_TOOLS_TRAIN_H

#include "train_online.h"
#include "ranges.h"

struct train_settings {
    hinge_params params;
    struct class_weights classes;
    struct data_flags data;
    const char *weights, *test, *test_labels, *targets;
    size_t folds; /* folds of a cross-validation; 0: train a model */
    struct online online;
    int scale;
    int eps_open;                    /* -e gives none */
    double scale_lower, scale_upper; /* NaN: not given */
    const char *positive;            /* a class, NULL: not given */
    double positive_label;
    const char *scale_restore;
    int quiet, verbose, json, certify, profile, record, no_restart;
    const char *data_path, *model_path;
    char *own_path; /* DATA.model, where model_path is not given */
    int grid;       /* hinge grid: folds are those of several trainings, and a model follows */
};

struct train_run {
    hinge_data data, test;
    double *weights; /* [data.x.rows], NULL: there are none */
    hinge_targets targets;
    double *target_values; /* of these; NULL: there are none */
    size_t *index;
    hinge_scaling scaling; /* low NULL: there is none, or each fold has its own */
    hinge_model *model;
    hinge_report report;
    hinge_certificate certificate;
    struct score score;
    double seconds_load, seconds_save, seconds_predict;
    double seconds_system; /* system time of all threads in training, in which new pages count */
    uint64_t page_faults;
    double seconds_floor; /* seconds of a pass over support vectors x examples; NaN: not measured */
    size_t rows_floor;    /* number of examples that it was measured on */
};

/* Sets the defaults, and returns a command line that names a training file and maybe a model file. From the first group
 * on, it has those of what hinge train and hinge grid can be told of problem, scaling, run and data. */
enum { TRAIN_GROUPS = 4 };
struct command_line train_line(struct train_settings *s, const char *usage, size_t first);
/* Takes each of the options of scaling for --scale, and sets the tolerance that nobody gave. */
void train_settle_options(struct train_settings *s);
/* Reads the data and all that belongs to them into run, and lets the parameters point there. */
void train_load(struct train_settings *s, struct train_run *run);
/* Trains or cross-validates, until Ctrl-C, and dies where there is no model. */
void train_run(struct train_settings *s, struct train_run *run);
/* Tells the model of what it was trained on: the end of train_run. */
void train_complete(struct train_settings *s, struct train_run *run);
void train_release(struct train_settings *s, struct train_run *run);
/* Does all that hinge train does behind its options, and returns the exit code; the settings are released. */
int run_train(struct train_settings *s);

/* Refuses options that do not go with --targets; and reads its file. */
void targets_check(const struct train_settings *s);
void targets_read(const char *path, struct train_run *run);

/* Prints the report, as JSON or as text. */
void train_report(const struct train_settings *s, const struct train_run *run);
/* Tells whether Ctrl-C came, to any rank, and not after the last step. */
int train_was_stopped(const struct train_settings *s, const struct train_run *run);
/* Warns of what the model may not be good for, and dies where a cross-validation is not complete. */
void train_warn(const struct train_settings *s, const struct train_run *run);

#endif

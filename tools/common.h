/*
 * What the subcommands of hinge share: messages, files written whole, JSON and scores are in common.c, options in
 * options.c, data files in data.c. Each command has its name's file; beside them
 *
 *   train    train_online.c: perceptron and sgd; train_targets.c: several targets; train_report.c: what is told
 *   grid     grid_file.c: the file of points; grid_report.c: what is told
 *   report   recall.c: how a model was trained; report_print.c: what is told
 *   explain  explain_picture.c: the pictures
 *   plot     view.c: the plane of a picture; regions.c: of a classifier; values.c: of a regression
 *   several  gnuplot.c, progress.c, ranges.c: files of svm-scale; subject.c: a model beside data; restart.c;
 *            system_posix.c, system_windows.c: the system (system.h)
 *
 * A command that cannot go on calls die(): the message goes to stderr as "hinge: ...", and nothing that was
 * to be written is left behind, since every file is written under another name and renamed at the end.
 */
#ifndef HINGE_TOOLS_COMMON_H
#define HINGE_TOOLS_COMMON_H

#include <hinge/hinge.h>
#include <hinge/io.h>
#include <hinge/scaling.h>
#include <hinge/select.h>

#include "system.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* ---- Messages and ends: exit codes beside 0 ---- */

enum { EXIT_DATA = 1, EXIT_USAGE = 2, EXIT_STOPPED = 130 };

_Noreturn void die(int code, const char *format, ...) PRINTF_LIKE(2, 3);
/* What die() was told; code 0: it was not called. */
extern struct last_words {
    int code;
    char text[1024];
} last_words;
void warn(const char *format, ...) PRINTF_LIKE(1, 2);
/* Makes die() write its message to standard output too, as {"error": ..., "exit_status": ...}, unless another object
 * is there already. */
void die_in_json(void);
/* Why the last call of the library failed. */
extern hinge_error failure;
/* Dies of it unless status is HINGE_OK. */
void check(hinge_status status);
/* Dies unless everything printed so far has reached standard output. */
void finish_stdout(void);

void *allocate(size_t count, size_t size); /* zeroed; dies without memory */
void *grown(void *memory, size_t count, size_t size); /* realloc's; dies without memory */
int ends_in(const char *text, const char *end);
char *join(const char *a, const char *b, const char *c); /* all in one text, the caller's */
/* Returns the one of count names that a mistyped one may be meant for, such as by one wrong letter; NULL: none. Names
 * are text members of records of so many bytes. */
const char *nearest(const char *typed, const void *names, size_t count, size_t size);
int compare_reals(const void *a, const void *b); /* qsort's, of doubles */

/* ---- Options: a table row each drives getopt_long, the checks and the help ---- */

struct option_use {
    const char *shown; /* the option as the user wrote it, "--gamma" */
    const char *text;  /* its value, NULL: none */
    const void *detail; /* what its table has */
    int argc;          /* the command line, for options with two values: see option_next */
    char **argv;
};

/* Parses an option's value into a field. */
typedef void option_parser(const struct option_use *use, void *field);

struct tool_option {
    int letter;       /* one-letter name, 0: none */
    const char *name; /* long name, NULL: none */
    const char *arg;  /* what the help calls its value, NULL: takes none; in brackets: takes one with = only */
    option_parser *parse;
    size_t field;       /* offset of what it sets, from the group's base */
    const void *detail; /* what parse needs: a range, a list of choices, a value */
    const char *help;   /* NULL: another name of an option shown elsewhere; '\n' breaks the line */
};

struct option_group {
    const char *title; /* NULL behind the last group */
    const struct tool_option *options;
    size_t count;
    void *base;
    const char *const *without; /* long names of those that are left out, NULL behind the last; NULL: none is */
};
#define OPTION_GROUP(title, options, base) { title, options, COUNT_OF(options), base, NULL }
#define DATA_GROUP(flags) { "Data:", data_options, n_data_options, flags, NULL }

/* What a command takes: options, and the names of files behind them. */
struct command_line {
    const char *usage; /* what --help prints before the options */
    struct option_group groups[8];
    int least;             /* so many names are needed, */
    const char *needed;    /* which says that they are */
    const char **place[4]; /* where each goes; NULL: no more are allowed */
    const char *too_many;  /* says that there are more; NULL: "too many file names" */
};

/* Reads all options and moves the other arguments to the end; returns the index of the first of them.
 * --help prints usage and the groups, and exits. */
int parse_options(int argc, char **argv, const struct command_line *line);
/* Does parse_options, and sets the places to the names behind the options; those without a name are left alone. Names
 * that are needed are of files to be read (input_name). */
void parse_command(int argc, char **argv, const struct command_line *line);

struct range {
    double low, high;
    int open; /* 1: low itself is not allowed, 2: nor is high */
};

struct choice {
    const char *name; /* NULL ends a list */
    int value;
};

extern const struct range range_any, range_positive, range_not_negative, range_01, range_inside_01, range_level,
    range_folds, range_tolerance;
extern const struct choice choice_off_on[], choice_precision[], choice_maker[], choice_format[];

/* Returns the first name of a value; "?": there is none. */
const char *choice_name(const struct choice *choices, int value);

struct class_weights {
    size_t count;
    char **names; /* as the user wrote them */
    double *labels, *weights; /* labels: see set_class_weights */
};

/* Parsers for options' tables, by what field points at, then what detail is. */
option_parser parse_flag;                /* int: becomes 1 */
option_parser parse_real, parse_cost;    /* double; range. cost may be inf */
option_parser parse_gamma;               /* double; range. 0 (as in svm-train) and auto stand for 1 / features */
option_parser parse_int, parse_count, parse_size; /* int, uint64_t, size_t; range */
option_parser parse_bytes, parse_text;   /* size_t, const char *; nothing */
option_parser parse_choice;              /* int, enum; choices */
option_parser parse_task, parse_kernel;  /* hinge_task, hinge_kernel; nothing */
void combined_has_no_more(const hinge_kernel *kernel); /* dies where -g, -d or -r were given for a combined kernel */
option_parser parse_column;  /* hinge_data_options: label_column, counted from 1 or from the end by -1, or label_name */
option_parser parse_columns; /* const char *, names or numbers with commas between; several options are one list */
option_parser parse_weight; /* struct class_weights; range. -w1 5, -w 1=5 or --weight 1=5, and words likewise */

/* Rows that several tables have; FIELD is the table's own. */
#define OPTION_FLAG(name, field, help) { 0, name, NULL, parse_flag, FIELD(field), NULL, help }
#define OPTION_FILE(name, field, help) { 0, name, "FILE", parse_text, FIELD(field), NULL, help }
#define OPTION_THREADS(field) \
    { 0, "threads", "N", parse_int, FIELD(field), &range_positive, \
      "use N threads (OMP_NUM_THREADS, or all processors)" }
#define OPTION_PRECISION(field, what) \
    { 0, "precision", "P", parse_choice, FIELD(field), choice_precision, \
      "compute kernel " what " in auto, f32 or f64 (auto)" }
#define OPTION_MAKER(field, words) \
    { 0, "maker", "M", parse_choice, FIELD(field), choice_maker, "have kernel values made by auto, " words }
#define OPTION_LEVEL(field) \
    { 0, "cpu-level", "L", parse_int, FIELD(field), &range_level, \
      "run vector code of level L: 1 plain, 2 to 4\nx86-64-v2 to v4 (the best that runs here)" }
#define OPTION_NO_RESTART(field) \
    OPTION_FLAG("no-restart", field, \
                "do not start again with a faster OpenBLAS core, as\nHINGE_NO_RESTART=1 has it too")
#define OPTION_QUIET(field) { 'q', "quiet", NULL, parse_flag, FIELD(field), NULL, "print warnings and errors only" }
#define OPTION_VERBOSE(field) OPTION_FLAG("verbose", field, "tell more on standard error")
#define OPTION_JSON(field) OPTION_FLAG("json", field, "print the report as a JSON object")
#define OPTION_DEGREE(field) \
    { 'd', "degree", "D", parse_int, FIELD(field), &range_not_negative, \
      "set the degree of the polynomial kernel (3)" }
#define OPTION_GAMMA(field) \
    { 'g', "gamma", "G", parse_gamma, FIELD(field), &range_not_negative, \
      "set gamma; auto or 0 means 1 / number of features\n(auto)" }
#define OPTION_COEF0(field) { 'r', "coef0", "R", parse_real, FIELD(field), &range_any, "set coef0 (0)" }
#define OPTION_TUBE(field) \
    { 'p', "epsilon-tube", "P", parse_real, FIELD(field), &range_not_negative, \
      "set the half width of epsilon_svr's tube (0.1)" }
#define OPTION_EPS(field) \
    { 'e', "tolerance", "EPS", parse_real, FIELD(field), &range_positive, "stop at a violation of EPS (0.001)" }
#define OPTION_RECORD(field) \
    OPTION_FLAG("record", field, \
                "store in the model how it was trained, for hinge\nreport; svm-predict refuses such a model")
#define OPTION_SLACK(field) \
    { 0, "slack-tolerance", "T", parse_real, FIELD(field), &range_tolerance, \
      "count a slack within T of 0 or 1 as 0 or 1 (0.001)" }

/* Reads count numbers with commas between, and nothing behind them; 0: there is something else. */
int numbers_with_commas(const char *text, double *numbers, size_t count);
double real_value(const struct option_use *use, const struct range *range);
/* Returns the argument after an option's value, for -wI W and -y LOW HIGH; dies if there is none. */
const char *option_next(const struct option_use *use);
/* Returns what option_next would, and leaves it there; "": so many words do not follow behind it. */
const char *option_peek(const struct option_use *use, int behind);

/* Reads a line and its end into memory that grows, the caller's; returns its length, 0: none is left. */
size_t read_line(FILE *file, char **line, size_t *room);
/* Opens a file as fopen does, or dies. */
FILE *open_file(const char *path, const char *mode);

/* ---- Files written whole ---- */

struct output {
    FILE *file;
    char *path, *temporary; /* temporary: NULL where path is no regular file */
};

int is_stdout(const char *path); /* "-" is; NULL is not */
/* Returns the name under which a file to be read is opened: "-" is standard input. */
const char *input_name(const char *path);
/* Returns the manifest of "@manifest", else the path itself. */
const char *named_file(const char *path);
void output_open(struct output *out, const char *path);
void output_close(struct output *out); /* only now does path exist or change */
/*
 * Dies if a file cannot be written at path, or if path is the other file, which the command reads or writes too: call
 * it before a long run, which is then not in vain. NULL for path: nothing is written; NULL for other: there is none.
 */
void check_writable(const char *path, const char *other);

/* ---- JSON on standard output: NULL for key inside arrays ---- */

struct json {
    int depth, first;
};

void json_open(struct json *j, const char *key, char bracket);
void json_close(struct json *j, char bracket);
/* Writes members of an object, "n %zu, seconds %g, path %s": each a key and, checked as printf's are, %g for a double,
 * %s a text, %d an int, %i an int that is true or false, %zu, or PRIu64. */
void json_put(struct json *j, const char *format, ...) PRINTF_LIKE(2, 3);
void json_real(struct json *j, const char *key, double value); /* NaN and infinity become null */
void json_text(struct json *j, const char *key, const char *value);
void json_reals(struct json *j, const char *key, const double *values, size_t count);
void json_counts(struct json *j, const char *key, const size_t *values, size_t count);
/* Write labels as numbers, or as texts where words names them; NaN becomes null. */
void json_names(struct json *j, const char *key, const hinge_words *names); /* NULL: nothing */
void json_label(struct json *j, const char *key, const hinge_words *words, double label);
void json_labels(struct json *j, const char *key, const hinge_words *words, const double *labels, size_t count);

/* ---- Data ---- */

struct train_settings;
struct train_run;

/* What several processes (ranks) do otherwise than one. All call the same; data are the part of the rows that each has,
 * but for those of a grid whose rows fit each rank, which are all rows. */
struct ranks {
    int (*first)(void); /* tells whether this one is the first, which writes and tells */
    hinge_status (*read)(const char *path, const hinge_data_options *options, hinge_data *data, hinge_error *err);
    int (*all)(int mine); /* tells whether it is so on all of them */
    size_t (*rows)(size_t mine); /* tells how many rows all of them have */
    void (*span)(hinge_scaling *here, size_t rows); /* takes the ranges of the rows of all of them */
    double *(*weights)(const char *path, size_t rows); /* load_weights, of all rows, for its own */
    double *(*gather)(double *part, size_t rows, size_t width, size_t *n); /* see gather_rows */
    void (*check_output)(const char *path, const char *other); /* check_writable, by the one that tells */
    hinge_status (*train)(struct train_settings *s, struct train_run *run);
    hinge_status (*cross_validate)(struct train_settings *s, struct train_run *run, double *predictions);
    /* of --profile; j or NULL: as text */
    void (*tell_traffic)(const struct train_settings *s, const hinge_report *r, struct json *j);
    hinge_status (*predict)(const hinge_model *model, const hinge_matrix *x, const hinge_predict_options *options,
                            double *labels, double *decisions, hinge_error *err);
    hinge_status (*probability)(const hinge_model *model, const hinge_matrix *x, const hinge_predict_options *options,
                                double *labels, double *probabilities, hinge_error *err);
    hinge_status (*select)(hinge_selection **selection, const hinge_matrix *x, const double *y,
                           const hinge_params *params, const hinge_select_options *options, hinge_error *err);
    hinge_status (*select_dealt)(hinge_selection **selection, const hinge_matrix *x, const double *y,
                                 const hinge_params *params, const hinge_select_options *options, hinge_error *err);
    int (*fits)(size_t rows, size_t cols); /* tells whether a grid has room for all rows on each rank */
    /* Go on with a sum where the rank before ended, and make it that of all. */
    uint64_t (*sum_before)(void);
    uint64_t (*sum_of_all)(uint64_t sum);
};

struct data_flags {
    hinge_data_options read; /* min_cols: --features. In load_test, words NULL: the model's labels are numbers */
    int no_header;
    const struct ranks *ranks; /* NULL: this process is the only one */
};

extern const struct tool_option data_options[];
extern const size_t n_data_options;

/* The lines of a text file, each with its end, as they stand there. */
struct text_lines {
    char *bytes;
    size_t *start; /* [count + 1] of each line in bytes, and the end of all */
    size_t count;
};

/* Reads a file, packed or not, or dies. */
void load_lines(const char *path, struct text_lines *lines);
void free_lines(struct text_lines *lines);
/* Tells what a file holds: a model, by its first word, or what can be read as data. */
enum file_kind { FILE_OTHER, FILE_MODEL, FILE_DATA };
enum file_kind kind_of_bytes(const char *path, const char *bytes, size_t size);
enum file_kind kind_of_file(const char *path);
/* Tells whether a file is no LIBSVM text, of whose lines each stands for itself. */
int is_table(const char *path, const char *bytes, hinge_format format);
/* Returns what flags say of reading, or dies. */
hinge_data_options reading(const struct data_flags *flags);
/* Reads a file as at least min_cols features, or dies. */
void load_data(const char *path, const struct data_flags *flags, size_t min_cols, int threads, hinge_data *data);
/* Makes the table of all processes' n rows of the part that each has, which it frees; NULL: another process tells. */
double *gather_rows(const struct data_flags *flags, double *part, size_t rows, size_t width, size_t *n);
/* Sets a gamma of 1 / features by all features, those included that flags let be dropped. */
void count_dropped(hinge_kernel *kernel, const hinge_data *data, const struct data_flags *flags);
/* Reads weights of n examples, one number a line or an .npy file; the caller frees them. */
double *load_weights(const char *path, size_t n);
/* Reads a table of numbers without labels, CSV or .npy, which has a row for each of n examples. */
void load_table(const char *path, size_t n, hinge_data *data);
/* Reads data, as load_data, that a model of cols features shall predict, of the columns that flags names; dies of a
 * table of another number. Takes labels that are words for none where flags has no words. */
void load_test(const char *path, const struct data_flags *flags, size_t cols, int threads, hinge_data *data);
/* Makes model and data fit each other: features that the model has not count, its support vectors having 0 there,
 * unless it scales its features: then it knows no range of theirs, and they are left out. */
void fit_test(hinge_model *model, hinge_data *data);
/* Does load_test, then fit_test. */
void load_for_model(const char *path, const struct data_flags *flags, hinge_model *model, int threads,
                    hinge_data *data);
/* Dies where the data have no labels for what is wanted; option names a file of them. */
void need_labels(const char *path, const hinge_data *data, const char *what, const char *option);
double entry_of(const hinge_data *data, size_t i, size_t k);
/* Lists the different labels in ascending order, and how many rows have each; returns how many there are. The caller
 * frees both. */
size_t list_labels(const hinge_data *data, double **labels, size_t **counts);
/* Warns of a table in which no field but the label is found. */
void warn_of_fields(const char *path, const hinge_data *data);
/* Dies of data to train on that have no features, and warns of features of a table that number its rows. */
void check_features(const char *path, const struct data_flags *flags, const hinge_data *data);
void warn_of_row_numbers(const char *path, const struct data_flags *flags, const hinge_data *data);
/* Warns of training data whose labels look like something else than the task takes them for. */
void warn_of_labels(const char *path, const struct data_flags *flags, hinge_task task, const hinge_data *data);
/* Returns the place of a label in a list; count: it is not there. */
size_t place_of(const double *labels, size_t count, double label);
/* Warns of labels that are no classes of the model. */
void warn_of_unknown_labels(const char *path, const hinge_data *data, const hinge_model *model);
/* Returns a label as its word or, where it has none, as a number of so many digits, written to room. */
enum { LABEL_ROOM = 40 };
const char *label_text(const hinge_words *words, double label, int digits, char room[LABEL_ROOM]);
/* Returns the label that the user names in an option. A word that the data have not gets a number that they have not
 * either; dies of a word where their labels are numbers. */
double label_named(const char *option, const char *name, const hinge_words *words);
/* Puts the weights into params, once the words of labels are known. */
void set_class_weights(hinge_params *params, struct class_weights *classes, const hinge_words *words);
void free_class_weights(struct class_weights *classes);
/* Takes labels that are words for none where the task wants numbers. */
void drop_words(hinge_data *data, hinge_task task);

/* Reads a model file, or dies. */
hinge_model *load_model(const char *path);
int is_classifier(const hinge_model *model);
/* Finds classes a and b of a two-class problem, by position in hinge_model_labels; b is SIZE_MAX for the rest. */
void problem_classes(const hinge_model *model, size_t problem, size_t *a, size_t *b);
/* Tells whether a two-class problem of a model has a coefficient: a training that was ended may not have come to it. */
int problem_begun(const hinge_model *model, size_t problem);
/* Returns the Laplace width of a calibrated regression; NaN: the model is none. */
double laplace_width(const hinge_model *model);
/* Writes a model file; - is standard output. */
void save_model(const hinge_model *model, const char *path);

/* Prints a line of the names of features, of which a long list is cut; NULL: there are none. */
void print_names(const char *what, int column, const hinge_words *names);
/* Prints a line of at most 12 numbers, the first at the column after the name. */
void print_reals(const char *name, int column, const double *values, size_t count);
/* Writes the kernel's name and the parameters that it has. */
void json_kernel(struct json *j, const hinge_kernel *kernel);
const char *kernel_words(const hinge_kernel *kernel); /* keyword, or what is combined; until the next call */

/* How well predictions hit their targets. */
struct score {
    int regression;
    size_t n, correct;
    double accuracy; /* percent */
    double mse, r2;  /* mean squared error, squared correlation coefficient */
    double tau;      /* level of a quantile regression, which has the next two instead of the above; otherwise 0 */
    double pinball;  /* mean pinball loss */
    double coverage; /* share of targets at or below their predictions, percent */
};

/* Scores predictions; tau is the level of a quantile regression, otherwise ignored. */
struct score score_predictions(hinge_task task, double tau, size_t n, const double *predicted, const double *target);
/* Prints the lines of LIBSVM's svm-predict or, of a cross-validation, those of svm-train -v. */
void print_score(FILE *file, const struct score *score, int cross);
void json_score(struct json *j, const struct score *score);
void print_certificate(const hinge_certificate *certificate);
void json_certificate(struct json *j, const hinge_certificate *certificate);

/* ---- The process ---- */

/* Starts the command anew, once, where OpenBLAS overlooked AVX-512 and nobody chose its core. */
void restart_if_slow(int allowed, int verbose);
/* Keeps the command line as it was given, for restart_if_slow; before anything else. */
void remember_arguments(int argc, char **argv);

/* Run hinge predict and hinge grid; ranks: NULL, or how several processes do it, of which one tells. */
int run_predict(int argc, char **argv, const char *usage, const struct ranks *ranks);
int run_grid(int argc, char **argv, const char *usage, const struct ranks *ranks);

typedef int command_function(int argc, char **argv);
command_function command_train, command_grid, command_predict, command_calibrate, command_explain, command_check,
    command_sample, command_scale, command_export, command_info, command_report, command_plot;

#endif

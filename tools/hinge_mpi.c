/*
 * hinge-mpi: training and prediction by all ranks that mpirun starts. Options are those of hinge train and predict.
 *
 * Every rank does the same up to the last call; ranks beside the first say nothing, and all end with the same status.
 * Where one dies, the first tells of it.
 */
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <hinge/mpi.h>

#include "cmd_grid.h"
#include "progress.h"

struct mpi_settings {
    struct train_settings train;
    hinge_mpi_options mpi;
    hinge_mpi_traffic traffic;
    int finished; /* the training came to its own end */
};

static int rank_of(void)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

/* ---- Ends of one rank ---- */

struct end {
    struct last_words words;
    int rank;
    char machine[MPI_MAX_PROCESSOR_NAME];
};
static int over; /* all ranks know that one has ended */

/* All ranks come here before whatever they do together, and at their end. Where one comes because it died, all learn
 * what the lowest such rank died of; code 0: none has. */
static struct end meet(void)
{
    struct end end = { .words = last_words };
    int mine = last_words.code ? rank_of() : INT_MAX, length;
    if (over)
        return end;
    MPI_Allreduce(&mine, &end.rank, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    over = end.rank != INT_MAX;
    MPI_Get_processor_name(end.machine, &length);
    if (over)
        MPI_Bcast(&end, sizeof end, MPI_BYTE, end.rank, MPI_COMM_WORLD);
    return end;
}

/* Ends this rank where another one has died; rank 0 is heard. */
static void meet_others(void)
{
    struct end end = meet();
    if (end.words.code)
        die(end.words.code, "%s (rank %d on %s)", end.words.text, end.rank, end.machine);
}

static void finalize(void)
{
    int ended = last_words.code;
    struct end end = meet();
    MPI_Finalize();
    if (ended || !end.words.code)
        return;
    fprintf(stderr, "hinge: %s (rank %d on %s)\n", end.words.text, end.rank, end.machine);
    fflush(NULL);
    _Exit(end.words.code);
}

/* ---- Training ---- */

#define FIELD(name) offsetof(struct mpi_settings, name)
static const struct tool_option mpi_options[] = {
    { 0, "checkpoint", "FOLDER", parse_text, FIELD(mpi.checkpoint), NULL,
      "keep the state of the training in FOLDER, which all\nranks see, and go on from what is there; it is removed\n"
      "once the model is saved" },
    { 0, "checkpoint-every", "S", parse_real, FIELD(mpi.every), &range_positive, "write it every S seconds (600)" },
    { 0, "tile", "N", parse_size, FIELD(mpi.tile), &range_positive,
      "deal N examples to a rank together (2048), however\nfew they are" },
    OPTION_FILE("rounds", mpi.rounds, "write what each round took to FILE"),
};
static const struct tool_option output_options[] = {
    OPTION_QUIET(train.quiet),
    OPTION_VERBOSE(train.verbose),
    OPTION_JSON(train.json),
    OPTION_FLAG("certify", train.certify, "recompute primal, dual, gap and residuals in f64"),
    OPTION_FLAG("profile", train.profile, "tell where rank 0's time went, and what ranks told each\nother"),
};

static const char train_usage[] =
    "usage: mpirun -np P hinge-mpi train [options] training_file [model_file]\n\n"
    "Trains by P processes, each of which reads its part of the examples. Where all of them fit each\n"
    "process, they share the kernel rows; otherwise, or with --tile or --rounds, each holds its part\n"
    "alone. Memory for kernel rows (-m) is that of all together, threads are those of one. Ctrl-C or\n"
    "SIGTERM saves the best model so far.";

static void read_train_options(int argc, char **argv, struct mpi_settings *s)
{
    static const char *const others[] = { "epochs", "batch", NULL };
    struct command_line line = train_line(&s->train, train_usage, 0);
    line.groups[2].without = others; /* of those about the run */
    line.groups[4] = line.groups[3];
    line.groups[3] = (struct option_group)OPTION_GROUP("Ranks:", mpi_options, s);
    line.groups[5] = (struct option_group)OPTION_GROUP("Output:", output_options, s);
    parse_command(argc, argv, &line);
    if (s->train.folds && (s->train.certify || s->train.profile || s->mpi.checkpoint || s->mpi.rounds))
        die(EXIT_USAGE, "train: leave out %s or -v, which trains no model",
            s->train.certify    ? "--certify"
            : s->train.profile  ? "--profile"
            : s->mpi.checkpoint ? "--checkpoint"
                                : "--rounds");
    train_settle_options(&s->train);
    if (s->train.online.solver)
        die(EXIT_USAGE, "train: --solver perceptron and sgd are for hinge train");
}

static void on_signal(int number)
{
    (void)number;
    raise(SIGINT); /* as progress.c catches it */
}

static int is_first(void)
{
    return rank_of() == 0;
}

/* Does check_writable on rank 0, which writes. */
static void check_output(const char *path, const char *other)
{
    if (is_first())
        check_writable(path, other);
}

static hinge_status read_over_ranks(const char *path, const hinge_data_options *options, hinge_data *data,
                                    hinge_error *err)
{
    meet_others();
    return hinge_mpi_data_read(MPI_COMM_WORLD, path, options, data, err);
}

static int so_on_all(int mine)
{
    int all;
    meet_others();
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    return all;
}

static void span_all(hinge_scaling *here, size_t rows)
{
    int count = (int)here->n_features;
    meet_others();
    for (int k = 0; k < count && !rows; k++) {
        here->low[k] = INFINITY;
        here->high[k] = -INFINITY;
    }
    MPI_Allreduce(MPI_IN_PLACE, here->low, count, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, here->high, count, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
}

/* Gathers rank 0's table of all ranks' rows, NULL on others; frees this rank's part. *n becomes the number of rows. */
static double *gather_over_ranks(double *part, size_t rows, size_t width, size_t *n)
{
    int ranks, rank = rank_of(), *counts, *places;
    double *all = NULL;
    MPI_Datatype row;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Type_contiguous((int)width, MPI_DOUBLE, &row);
    MPI_Type_commit(&row);
    counts = allocate((size_t)ranks, sizeof *counts);
    places = allocate((size_t)ranks, sizeof *places);
    counts[rank] = (int)rows;
    meet_others();
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_INT, counts, 1, MPI_INT, MPI_COMM_WORLD);
    *n = 0;
    for (int r = 0; r < ranks; r++) {
        places[r] = (int)*n;
        *n += (size_t)counts[r];
    }
    if (rank == 0)
        all = allocate(*n * width, sizeof *all);
    meet_others();
    MPI_Gatherv(part, (int)rows, row, all, counts, places, row, 0, MPI_COMM_WORLD);
    MPI_Type_free(&row);
    free(counts);
    free(places);
    free(part);
    return all;
}

static size_t rows_of_all(size_t rows)
{
    unsigned long long mine = rows, all = 0;
    meet_others();
    MPI_Allreduce(&mine, &all, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

/* Takes this rank's part of a file of weights, which each rank reads as a whole for a moment. */
static double *own_weights(const char *path, size_t rows)
{
    unsigned long long mine = rows, before = 0;
    double *weights = allocate(rows, sizeof *weights), *all;
    meet_others();
    MPI_Exscan(&mine, &before, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    all = load_weights(path, rows_of_all(rows));
    memcpy(weights, all + before, rows * sizeof *weights);
    free(all);
    return weights;
}

static void catch_signals(void)
{
    signal(SIGTERM, on_signal);
    signal(SIGUSR1, on_signal);
}

static hinge_status cross_validate_over_ranks(struct train_settings *t, struct train_run *run, double *predictions)
{
    const struct mpi_settings *s = (const void *)t; /* whose first member it is */
    catch_signals();
    meet_others();
    return hinge_mpi_cross_validate(MPI_COMM_WORLD, &run->data.x, run->data.y, &t->params, t->folds, &s->mpi,
                                    predictions, &run->report, &failure);
}

static hinge_status train_over_ranks(struct train_settings *t, struct train_run *run)
{
    struct mpi_settings *s = (void *)t;
    catch_signals();
    s->mpi.certificate = t->certify ? &run->certificate : NULL;
    s->mpi.traffic = t->profile ? &s->traffic : NULL;
    meet_others();
    hinge_status status = hinge_mpi_train(MPI_COMM_WORLD, &run->data.x, run->data.y, &t->params, &s->mpi, &run->model,
                                          &run->report, &failure);
    s->finished = run->report.outcome == HINGE_CONVERGED || run->report.outcome == HINGE_NO_MARGIN;
    return status;
}

static void json_exchange(struct json *j, const char *name, const hinge_mpi_exchange *e)
{
    json_open(j, name, '{');
    json_put(j, "calls %" PRIu64 ", sums %" PRIu64 ", bytes %" PRIu64 ", bytes_most %" PRIu64 ", seconds %g", e->calls,
             e->sums, e->bytes, e->most, e->seconds);
    json_close(j, '}');
}

static void print_exchange(const char *name, const hinge_mpi_exchange *e, const hinge_report *r)
{
    printf("    %-12s %9.4f s  %5.1f %%  in %" PRIu64 " calls of MPI, which brought %.4g MB, %.4g at most to a rank\n",
           name, e->seconds, 100 * e->seconds / r->seconds, e->calls, 1e-6 * (double)e->bytes, 1e-6 * (double)e->most);
}

static void tell_traffic(const struct train_settings *s, const hinge_report *r, struct json *j)
{
    const hinge_mpi_traffic *t = &((const struct mpi_settings *)(const void *)s)->traffic;
    double busiest = t->values ? (double)t->most_values / (double)t->values : 1;
    if (j) {
        json_open(j, "ranks", '{');
        json_put(j, "count %d, busiest %g", t->ranks, busiest);
        json_exchange(j, "deal", &t->deal);
        json_exchange(j, "rounds", &t->rounds);
        json_exchange(j, "rest", &t->rest);
        json_close(j, '}');
        return;
    }
    printf("  %-14s %d, of which the busiest made %.2f %% of the kernel values\n", "ranks", t->ranks, 100 * busiest);
    print_exchange("deal", &t->deal, r);
    print_exchange("rounds", &t->rounds, r);
    if (r->rounds > 0)
        printf("    %-12s %.3g calls and %.4g KB to a rank at most\n", "of which each",
               (double)t->rounds.calls / (double)r->rounds, 1e-3 * (double)t->rounds.most / (double)r->rounds);
    print_exchange("rest", &t->rest, r);
}

static int mpi_train(int argc, char **argv, const struct ranks *ranks)
{
    struct mpi_settings s = { .train.data.ranks = ranks };
    read_train_options(argc, argv, &s);
    int code = run_train(&s.train);
    if (is_first() && s.mpi.checkpoint && s.finished && hinge_mpi_forget(s.mpi.checkpoint, &failure) != HINGE_OK)
        warn("%s", failure.text);
    return code;
}

/* ---- Prediction ---- */

static const char predict_usage[] =
    "usage: mpirun -np P hinge-mpi predict [options] test_file model_file [output_file]\n\n"
    "Predicts by P processes, each of which reads its part of the examples. Options, output and accuracy\n"
    "are those of hinge predict.";

#define OVER_RANKS(name, call) \
    static hinge_status name(const hinge_model *model, const hinge_matrix *x, const hinge_predict_options *options, \
                             double *labels, double *values, hinge_error *err) \
    { \
        meet_others(); \
        return call(MPI_COMM_WORLD, model, x, options, labels, values, err); \
    }
OVER_RANKS(predict_over_ranks, hinge_mpi_predict)
OVER_RANKS(probability_over_ranks, hinge_mpi_predict_probability)

/* ---- Grids ---- */

static const char grid_usage[] =
    "usage: mpirun -np P hinge-mpi grid [options] training_file [model_file]\n\n"
    "Chooses C and gamma, or other parameters, by P processes. Where all examples fit each, it reads all of\n"
    "them and tries its share of the points; otherwise, or with --deal, each has its part of the examples,\n"
    "and all of them train one fold after the other. Lines, files and options are those of hinge grid;\n"
    "lines come at the end.";

static hinge_status select_over_ranks(hinge_selection **selection, const hinge_matrix *x, const double *y,
                                      const hinge_params *params, const hinge_select_options *options, hinge_error *err)
{
    meet_others();
    return hinge_mpi_select(MPI_COMM_WORLD, selection, x, y, params, options, err);
}

static hinge_status select_dealt(hinge_selection **selection, const hinge_matrix *x, const double *y,
                                 const hinge_params *params, const hinge_select_options *options, hinge_error *err)
{
    meet_others();
    return hinge_mpi_select_dealt(MPI_COMM_WORLD, selection, x, y, params, options, NULL, err);
}

static int fits_ranks(size_t rows, size_t cols)
{
    int fits;
    meet_others();
    check(hinge_mpi_select_fits(MPI_COMM_WORLD, rows, cols, &fits, &failure));
    return fits;
}

static uint64_t sum_before(void)
{
    uint64_t sum;
    MPI_Recv(&sum, 1, MPI_UINT64_T, rank_of() - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return sum;
}

static uint64_t sum_of_all(uint64_t sum)
{
    int ranks;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (rank_of() + 1 < ranks)
        MPI_Send(&sum, 1, MPI_UINT64_T, rank_of() + 1, 0, MPI_COMM_WORLD);
    MPI_Bcast(&sum, 1, MPI_UINT64_T, ranks - 1, MPI_COMM_WORLD);
    return sum;
}

/* ---- The command ---- */

static const struct ranks world = { .first = is_first,
                                    .read = read_over_ranks,
                                    .all = so_on_all,
                                    .rows = rows_of_all,
                                    .span = span_all,
                                    .weights = own_weights,
                                    .gather = gather_over_ranks,
                                    .check_output = check_output,
                                    .train = train_over_ranks,
                                    .tell_traffic = tell_traffic,
                                    .cross_validate = cross_validate_over_ranks,
                                    .predict = predict_over_ranks,
                                    .probability = probability_over_ranks,
                                    .select = select_over_ranks,
                                    .select_dealt = select_dealt,
                                    .fits = fits_ranks,
                                    .sum_before = sum_before,
                                    .sum_of_all = sum_of_all };

static const char usage[] = "usage: mpirun -np P hinge-mpi train|predict|grid [options] ...\n\n"
                            "Kernel support vector machines by many processes over MPI.\n"
                            "`hinge-mpi COMMAND --help` lists the options of a command.\n";

int main(int argc, char **argv)
{
    system_begin(&argc, &argv);
    int given, code = EXIT_USAGE;
    remember_arguments(argc, argv);
    restart_if_slow(1, 0); /* while MPI has not begun; HINGE_NO_RESTART=1 prevents it */
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &given);
    atexit(finalize);
    if (!is_first() && (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr)))
        return EXIT_DATA;
    if (argc > 1 && strcmp(argv[1], "train") == 0)
        code = mpi_train(argc - 1, argv + 1, &world);
    else if (argc > 1 && strcmp(argv[1], "predict") == 0)
        code = run_predict(argc - 1, argv + 1, predict_usage, &world);
    else if (argc > 1 && strcmp(argv[1], "grid") == 0)
        code = run_grid(argc - 1, argv + 1, grid_usage, &world);
    else if (argc > 1 && strcmp(argv[1], "--version") == 0)
        code = printf("hinge-mpi %s\n", hinge_version()) < 0;
    else
        fputs(usage, stderr);
    finish_stdout();
    return code;
}

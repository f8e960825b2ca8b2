/*
 * Training and prediction by many processes over MPI. The conventions and the notation are those of hinge.h.
 *
 * All calls but hinge_mpi_forget are collective: every rank of the communicator makes the same one, with the same
 * parameters, and all get the same status and message. Link with hinge-mpi (pkg-config hinge-mpi), which holds all of
 * hinge too. Ranks call MPI from the thread that called hinge alone (MPI_THREAD_FUNNELED is enough).
 */
#ifndef HINGE_MPI_H
#define HINGE_MPI_H

#include <hinge/io.h>
#include <hinge/select.h>

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hinge_mpi_exchange { /* what ranks told each other, in one part of a training */
    uint64_t calls;                 /* of MPI, all of them collective: as many on each rank, */
    uint64_t sums;                  /* of which so many are allreduces of 4,352 bytes */
    uint64_t bytes; /* that came to ranks from others, all ranks together, as calls bring them, however MPI does it */
    uint64_t most;  /* that came to one rank, at most */
    double seconds; /* in these calls, waiting for others too, of rank 0 */
} hinge_mpi_exchange;

typedef struct hinge_mpi_traffic {
    int ranks;
    hinge_mpi_exchange deal;   /* until each rank has the rows that it trains on */
    hinge_mpi_exchange rounds; /* from there to the coefficients of all problems */
    hinge_mpi_exchange rest;   /* the model, a certificate, a calibration with its trainings */
    uint64_t values;           /* kernel values that the training made, of all ranks; */
    uint64_t most_values;      /* and of the one that made most: equal shares are values / ranks */
} hinge_mpi_traffic;

typedef struct hinge_mpi_options {
    const char *checkpoint; /* a folder that all ranks see: the training's state is kept there, and one of the same data
                             * and parameters goes on from what it finds, by any number of ranks. NULL: none */
    double every;           /* seconds from one checkpoint to the next; 0: 600 */
    size_t tile;            /* points that are dealt to a rank together, rounded up to a multiple of 512; 0: 2,048.
                             * Given, or with rounds, rows are dealt however few they are */
    const char *rounds;     /* a file for what each round took, by rank 0: a line of names, then one of numbers each,
                             * times in seconds; NULL: none. doc/mpi.md says what they are */
    hinge_certificate *certificate; /* what the solution is worth, recomputed in f64 by all ranks after the training,
                             * on each of them: hinge_certify's figures but for rounding; NULL: not wanted */
    hinge_mpi_traffic *traffic; /* what ranks told each other, alike on all of them but for seconds; NULL: not wanted */
} hinge_mpi_options;

/* Trains on the rows of all ranks, those of rank 0 first. n rows of d features, n (d + 64) at most 2^27, are shared:
 * all ranks hold all of them, and train as hinge_train does, whose tasks, kernels and solvers they have. Larger data
 * are dealt, and each rank holds its own alone. x and y [x->rows] are this rank's share, which may be empty; where a
 * rank has fewer features than another, those missing are 0. params are as for hinge_train and the same on all ranks,
 * but for weights [x->rows], beta0 [n_problems * x->rows] and precomputed_index [x->rows], which are this rank's, and
 * progress: a callback is called on each rank that has one, after every round, and any can end the run, once ranks with
 * problems of their own have solved these. beta0 is NULL on all ranks, or on none that has rows; a checkpoint that is
 * found goes before it. Ranges of a scaling are those of all ranks' rows. threads are a rank's own. cache_bytes is the
 * budget for kernel rows of all ranks together; 0: of rows that are dealt, half of the memory of their machines, and of
 * others what hinge_train takes of a rank's part of it. Of rows that are dealt, problems of several classes, one
 * against one, that fit a rank's part of the budget are solved by one rank each; others by all ranks together.
 * *model is set on rank 0, the others get NULL; report may be NULL. options may be NULL. The model is the same, bit for
 * bit, for any number of ranks and threads, at one cache_bytes, on processors of one kind.
 * params->probability: the model is calibrated as hinge_train does it, by the same folds of each two-class problem. Of
 * rows that are dealt each fold is trained and predicted by all ranks, and rank 0 takes some 120 bytes for each row of
 * all.
 * EINVAL: what hinge_train refuses; of rows that are dealt a precomputed kernel, a hard margin, the interior point. */
HINGE_API hinge_status hinge_mpi_train(MPI_Comm comm, const hinge_matrix *x, const double *y,
                                       const hinge_params *params, const hinge_mpi_options *options,
                                       hinge_model **model, hinge_report *report, hinge_error *err);

/* Removes from a folder what trainings have kept there (hinge_mpi_options.checkpoint), also what killed ones have left;
 * other files stay. For one rank to call where the model of a training that has ended is saved. EIO: the folder cannot
 * be read, or a file not removed. */
HINGE_API hinge_status hinge_mpi_forget(const char *folder, hinge_error *err);

/* Cross-validates as hinge_cross_validate does, by folds that are the same: predictions[x->rows], the caller's, are of
 * this rank's rows. x, y and params are as for hinge_mpi_train, and all x have the same columns. Rows that are shared
 * are cross-validated as hinge_cross_validate does: folds go on from the solution of all rows, which ranks find
 * together, or each is trained by one rank. Of rows that are dealt one fold is trained and predicted after the other,
 * by all ranks each; predictions differ from hinge_cross_validate's as much as params.eps lets them, and rank 0 takes
 * some 120 bytes for each row of all. Of the options, which may be NULL, tile alone may be set. report may be NULL; of
 * rows that are dealt its n_sv is rank 0's alone.
 * EINVAL: what hinge_cross_validate refuses; params->probability; what rows that are dealt do without. */
HINGE_API hinge_status hinge_mpi_cross_validate(MPI_Comm comm, const hinge_matrix *x, const double *y,
                                                const hinge_params *params, size_t folds,
                                                const hinge_mpi_options *options, double *predictions,
                                                hinge_report *report, hinge_error *err);

/* Predicts this rank's rows as hinge_predict does, by the model of rank 0 (other ranks' models are not looked at).
 * Features that the model has not are taken for ones that are 0 in all its support vectors. */
HINGE_API hinge_status hinge_mpi_predict(MPI_Comm comm, const hinge_model *model, const hinge_matrix *x,
                                         const hinge_predict_options *options, double *labels, double *decisions,
                                         hinge_error *err);

/* Predicts the probabilities of this rank's rows as hinge_predict_probability does, in the same way. */
HINGE_API hinge_status hinge_mpi_predict_probability(MPI_Comm comm, const hinge_model *model, const hinge_matrix *x,
                                                     const hinge_predict_options *options, double *labels,
                                                     double *probabilities, hinge_error *err);

/* Reads this rank's share of a file, or of those of a manifest ("@list.txt", as hinge_data_read has it): of text the
 * lines that begin in its part of the bytes, of .npy its part of the rows (and of the labels in options->labels_path).
 * Of xz and gz each unpacks the file up to its part, and keeps that alone. Precomputed kernels, CSV whose first line
 * may be a header or not, and compressed files of which the first 64 KB do not tell how to read the rest (.npy in
 * Fortran's order, words of categories, long lines) are read by one rank alone, of one file by rank 0, and others have
 * none of their rows: hinge_mpi_train deals them all the same.
 * All ranks have the same columns, the same words of labels, numbered as hinge_data_read numbers those of the whole
 * file, and are told the same of the file (format, labelled, label_column, header, file_cols). options may be NULL;
 * drop_empty is not looked at. Errors are those of hinge_data_read, of the whole file. */
HINGE_API hinge_status hinge_mpi_data_read(MPI_Comm comm, const char *path, const hinge_data_options *options,
                                           hinge_data *data, hinge_error *err);

/* Tries a grid as hinge_select does, whose arguments these are: each rank has all rows, x and y, and its own threads
 * and cache_bytes. Kernels (gamma, degree, coef0) go to groups of ranks, and the points of one kernel to those of a
 * group. Where the points of a kernel stay together and none are dropped, scores are hinge_select's, bit for bit;
 * elsewhere trainings start from other neighbours, which changes scores as much as options->eps lets them, and a rank
 * that drops points compares those that it has. *selection is set on rank 0, the others get NULL. Rank 0 alone trains
 * the best point's model unless options->no_refit (hinge_mpi_train takes selection->params). Callbacks are called on
 * each rank that has them, and a rank that is stopped leaves its own points waiting.
 * EINVAL: what hinge_select refuses; options->decisions. */
HINGE_API hinge_status hinge_mpi_select(MPI_Comm comm, hinge_selection **selection, const hinge_matrix *x,
                                        const double *y, const hinge_params *params,
                                        const hinge_select_options *options, hinge_error *err);

/* Says in *fits, alike on all ranks, whether each rank has room for all rows, of which this one has so many: where
 * these and what a grid keeps of each, (cols + 64) doubles, take half of a machine's memory at most, with as many
 * ranks as it has. Where they do, hinge_mpi_select needs them all on each rank; otherwise there is the next. */
HINGE_API hinge_status hinge_mpi_select_fits(MPI_Comm comm, size_t rows, size_t cols, int *fits, hinge_error *err);

/* Tries a grid on rows of which each rank has its share, as of hinge_mpi_train: points and folds are those of
 * hinge_select, and all ranks train one fold after the other, as hinge_mpi_train does, each from the start. Folds of
 * C-SVC end at the eps of hinge_select, others at params->eps, so that scores are hinge_select's but for eps. All x
 * have the same columns. Rank 0 takes some 200 bytes for each row of all, and 8 for each two-class problem. The best
 * point's model is trained by all ranks unless options->no_refit. Of own, which may be NULL, tile alone may be set.
 * *selection is set on rank 0, the others get NULL. Callbacks are called on each rank that has them, and any of them
 * ends all.
 * EINVAL: what hinge_select and hinge_mpi_train refuse; a precomputed kernel; options->decisions, fold, group; a fold
 * that holds out all rows of a class. */
HINGE_API hinge_status hinge_mpi_select_dealt(MPI_Comm comm, hinge_selection **selection, const hinge_matrix *x,
                                              const double *y, const hinge_params *params,
                                              const hinge_select_options *options, const hinge_mpi_options *own,
                                              hinge_error *err);

#ifdef __cplusplus
}
#endif
#endif

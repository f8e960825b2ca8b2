/* Training over a table of ranks: what hinge_mpi_train is by MPI's, and tests by their own. */
#ifndef HM_TRAIN_H
#define HM_TRAIN_H

#include "mpi/net.h"

#include <hinge/io.h>
#include <hinge/select.h>

struct hm_options { /* as hinge_mpi_options */
    const char *checkpoint;
    double every;
    size_t tile;
    const char *rounds;
    hinge_certificate *certificate;
    struct hm_traffic *traffic;
};

hinge_status hm_train(const struct hm_net *net, const hinge_matrix *x, const double *y, const hinge_params *params,
                      const struct hm_options *options, hinge_model **model, hinge_report *report, hinge_error *err);
/* Says (shared.c) whether all rows fit each rank, and nothing is asked for that only rows that are dealt have; and
 * trains so, with a certificate where that is asked for. The model is rank 0's, and to be freed on failure too. */
bool hm_fits(const struct hm_net *net, const hinge_matrix *x, const hinge_params *params,
             const struct hm_options *options);
hinge_status hm_train_shared(const struct hm_net *net, const hinge_matrix *x, const double *y,
                             const hinge_params *params, const struct hm_options *options, hinge_model **model,
                             hinge_report *report, hinge_error *err);
/* Cross-validates so: each rank gets the predictions of its own rows, and the same report (NULL: not wanted). */
hinge_status hm_cross_validate_shared(const struct hm_net *net, const hinge_matrix *x, const double *y,
                                      const hinge_params *params, size_t folds, double *predictions,
                                      hinge_report *report, hinge_error *err);
/* Predicts values as hinge_predict's decisions or, where probable, hinge_predict_probability's probabilities */
hinge_status hm_predict(const struct hm_net *net, const hinge_model *model, const hinge_matrix *x,
                        const hinge_predict_options *options, bool probable, double *labels, double *values,
                        hinge_error *err);
/* validate.c; of the options, tile alone is taken */
hinge_status hm_cross_validate(const struct hm_net *net, const hinge_matrix *x, const double *y,
                               const hinge_params *params, size_t folds, const struct hm_options *options,
                               double *predictions, hinge_report *report, hinge_error *err);
/* Calibrates as hinge_train does where params ask for probabilities: by the folds of each two-class problem, that each
 * is trained without by all ranks; one-class by the model itself. The model is rank 0's, and stays as it is where a
 * fold is ended early, as *outcome then says on all ranks. begin: of the training. */
hinge_status hm_calibrate(const struct hm_net *net, const hinge_matrix *x, const double *y, const hinge_params *params,
                          const struct hm_options *options, double begin, hinge_model *model, hinge_outcome *outcome,
                          hinge_error *err);
/* select.c */
hinge_status hm_select(const struct hm_net *net, hinge_selection **selection, const hinge_matrix *x, const double *y,
                       const hinge_params *params, const hinge_select_options *options, hinge_error *err);
/* Says whether a grid has room for all rows on each rank. */
bool hm_select_fits(const struct hm_net *net, size_t rows, size_t cols);
/* validate.c; of rows that each rank has some of, by trainings as hm_train's; of own options, tile alone is taken */
hinge_status hm_select_dealt(const struct hm_net *net, hinge_selection **selection, const hinge_matrix *x,
                             const double *y, const hinge_params *params, const hinge_select_options *options,
                             const struct hm_options *own, hinge_error *err);
/* save.c; by one rank: removes the files of checkpoints (save.h), which nobody goes on from any more */
hinge_status hm_forget(const char *folder, hinge_error *err);
/* files.c */
hinge_status hm_data_read(const struct hm_net *net, const char *path, const hinge_data_options *options,
                          hinge_data *data, hinge_error *err);

#endif

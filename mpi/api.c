/* Has hinge/mpi.h's calls: those of mpi_train.c and files.c over MPI's table of ranks. */
#include "mpi/net_mpi.h"
#include "mpi/mpi_train.h"

#include <hinge/mpi.h>

/* The table, or ENOMEM on all ranks. */
static hinge_status open_net(struct hm_mpi *mpi, MPI_Comm comm, hinge_error *err)
{
    int failed = hm_mpi_open(mpi, comm, err) != HINGE_OK, any;
    MPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, comm);
    if (any && !failed)
        hm_mpi_close(mpi);
    return any ? hg_fail(err, HINGE_ENOMEM, "no memory for %d ranks", mpi->net.ranks) : HINGE_OK;
}

static hinge_status close_net(struct hm_mpi *mpi, hinge_status status)
{
    hm_mpi_close(mpi);
    return status;
}

/* traffic: where it is counted, if that is wanted. */
static struct hm_options options_of(const hinge_mpi_options *o, struct hm_traffic *traffic)
{
    const struct hm_options none = { 0 };
    if (o == NULL)
        return none;
    return (struct hm_options){ o->checkpoint, o->every,       o->tile,
                                o->rounds,     o->certificate, o->traffic != NULL ? traffic : NULL };
}

static hinge_mpi_exchange exchange_of(const struct hm_exchange *e)
{
    return (hinge_mpi_exchange){ e->calls, e->sums, e->bytes, e->most, e->seconds };
}

static void tell_traffic(hinge_mpi_traffic *to, const struct hm_traffic *t, int ranks)
{
    *to = (hinge_mpi_traffic){ ranks,
                               exchange_of(&t->part[HM_DEAL]),
                               exchange_of(&t->part[HM_SOLVING]),
                               exchange_of(&t->part[HM_REST]),
                               t->values,
                               t->most_values };
}

hinge_status hinge_mpi_train(MPI_Comm comm, const hinge_matrix *x, const double *y, const hinge_params *params,
                             const hinge_mpi_options *options, hinge_model **model, hinge_report *report,
                             hinge_error *err)
{
    struct hm_mpi mpi;
    struct hm_traffic traffic = { 0 };
    const struct hm_options own = options_of(options, &traffic);
    HG_TRY(open_net(&mpi, comm, err));
    hinge_status status = hm_train(&mpi.net, x, y, params, &own, model, report, err);
    if (own.traffic != NULL)
        tell_traffic(options->traffic, &traffic, mpi.net.ranks);
    return close_net(&mpi, status);
}

hinge_status hinge_mpi_cross_validate(MPI_Comm comm, const hinge_matrix *x, const double *y, const hinge_params *params,
                                      size_t folds, const hinge_mpi_options *options, double *predictions,
                                      hinge_report *report, hinge_error *err)
{
    struct hm_mpi mpi;
    struct hm_traffic none;
    const struct hm_options own = options_of(options, &none);
    HG_TRY(open_net(&mpi, comm, err));
    return close_net(&mpi, hm_cross_validate(&mpi.net, x, y, params, folds, &own, predictions, report, err));
}

static hinge_status predict(MPI_Comm comm, const hinge_model *model, const hinge_matrix *x,
                            const hinge_predict_options *options, bool probable, double *labels, double *values,
                            hinge_error *err)
{
    struct hm_mpi mpi;
    HG_TRY(open_net(&mpi, comm, err));
    return close_net(&mpi, hm_predict(&mpi.net, model, x, options, probable, labels, values, err));
}

hinge_status hinge_mpi_predict(MPI_Comm comm, const hinge_model *model, const hinge_matrix *x,
                               const hinge_predict_options *options, double *labels, double *decisions,
                               hinge_error *err)
{
    return predict(comm, model, x, options, false, labels, decisions, err);
}

hinge_status hinge_mpi_predict_probability(MPI_Comm comm, const hinge_model *model, const hinge_matrix *x,
                                           const hinge_predict_options *options, double *labels, double *probabilities,
                                           hinge_error *err)
{
    return predict(comm, model, x, options, true, labels, probabilities, err);
}

hinge_status hinge_mpi_forget(const char *folder, hinge_error *err)
{
    return folder != NULL ? hm_forget(folder, err) : hg_fail(err, HINGE_EINVAL, "folder: NULL");
}

hinge_status hinge_mpi_data_read(MPI_Comm comm, const char *path, const hinge_data_options *options, hinge_data *data,
                                 hinge_error *err)
{
    struct hm_mpi mpi;
    HG_TRY(open_net(&mpi, comm, err));
    return close_net(&mpi, hm_data_read(&mpi.net, path, options, data, err));
}

hinge_status hinge_mpi_select(MPI_Comm comm, hinge_selection **selection, const hinge_matrix *x, const double *y,
                              const hinge_params *params, const hinge_select_options *options, hinge_error *err)
{
    struct hm_mpi mpi;
    HG_TRY(open_net(&mpi, comm, err));
    return close_net(&mpi, hm_select(&mpi.net, selection, x, y, params, options, err));
}

hinge_status hinge_mpi_select_fits(MPI_Comm comm, size_t rows, size_t cols, int *fits, hinge_error *err)
{
    struct hm_mpi mpi;
    HG_TRY(open_net(&mpi, comm, err));
    *fits = hm_select_fits(&mpi.net, rows, cols);
    return close_net(&mpi, hg_ok(err));
}

hinge_status hinge_mpi_select_dealt(MPI_Comm comm, hinge_selection **selection, const hinge_matrix *x, const double *y,
                                    const hinge_params *params, const hinge_select_options *options,
                                    const hinge_mpi_options *own, hinge_error *err)
{
    struct hm_mpi mpi;
    struct hm_traffic none;
    const struct hm_options all = options_of(own, &none);
    HG_TRY(open_net(&mpi, comm, err));
    return close_net(&mpi, hm_select_dealt(&mpi.net, selection, x, y, params, options, &all, err));
}

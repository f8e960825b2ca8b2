/* The table of ranks by MPI. */
#ifndef HM_NET_MPI_H
#define HM_NET_MPI_H

#include "mpi/net.h"

#include <mpi.h>

struct hm_mpi {
    struct hm_net net;
    MPI_Comm comm, machine;
    MPI_Datatype type; /* struct hm_sum */
    MPI_Op add;
    int *count, *place; /* [2 * ranks] each */
    char name[MPI_MAX_PROCESSOR_NAME];
};

/* ENOMEM here would leave the other ranks waiting: the caller agrees by MPI itself. */
hinge_status hm_mpi_open(struct hm_mpi *mpi, MPI_Comm comm, hinge_error *err);
void hm_mpi_close(struct hm_mpi *mpi);

#endif

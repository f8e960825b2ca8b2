/* Makes the table of ranks (net.h) by MPI. Its errors end the job, as MPI's default has it. */
#include "mpi/net_mpi.h"

enum { AT_ONCE = 1 << 30 };

static void add_sums(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int k = 0; k < *count; k++)
        hm_add_sum((struct hm_sum *)inout + k, (const struct hm_sum *)in + k);
}

static struct hm_mpi *mpi_of(const struct hm_net *net)
{
    return net->arg;
}

static void sum_up(const struct hm_net *net, struct hm_sum *sum)
{
    struct hm_mpi *m = mpi_of(net);
    MPI_Allreduce(MPI_IN_PLACE, sum, 1, m->type, m->add, m->comm);
}

/* Counts and places of pieces, in words of 8 bytes. */
static void lay(int ranks, const uint64_t *bytes, int *count, int *place)
{
    int at = 0;
    for (int r = 0; r < ranks; r++) {
        count[r] = (int)(bytes[r] / 8);
        place[r] = at;
        at += count[r];
    }
}

static void gather(const struct hm_net *net, const void *send, const uint64_t *counts, void *recv)
{
    struct hm_mpi *m = mpi_of(net);
    lay(net->ranks, counts, m->count, m->place);
    const void *from = send == (uint64_t *)recv + m->place[net->rank] ? MPI_IN_PLACE : send;
    MPI_Allgatherv(from, m->count[net->rank], MPI_UINT64_T, recv, m->count, m->place, MPI_UINT64_T, m->comm);
}

static void exchange(const struct hm_net *net, const void *send, const uint64_t *out, void *recv, const uint64_t *in)
{
    struct hm_mpi *m = mpi_of(net);
    int *count = m->count + net->ranks, *place = m->place + net->ranks;
    lay(net->ranks, out, m->count, m->place);
    lay(net->ranks, in, count, place);
    MPI_Alltoallv(send, m->count, m->place, MPI_UINT64_T, recv, count, place, MPI_UINT64_T, m->comm);
}

static void broadcast(const struct hm_net *net, void *data, size_t bytes, int root)
{
    for (size_t at = 0; at < bytes; at += AT_ONCE)
        MPI_Bcast((char *)data + at, (int)HG_MIN((size_t)AT_ONCE, bytes - at), MPI_BYTE, root, mpi_of(net)->comm);
}

hinge_status hm_mpi_open(struct hm_mpi *m, MPI_Comm comm, hinge_error *err)
{
    int on_machine, length;
    struct hm_net *net = &m->net;
    *m = (struct hm_mpi){ .comm = comm };
    *net = (struct hm_net){ .arg = m, .sum = sum_up, .gather = gather, .exchange = exchange, .broadcast = broadcast };
    MPI_Comm_rank(comm, &net->rank);
    MPI_Comm_size(comm, &net->ranks);
    MPI_Get_processor_name(m->name, &length);
    net->machine = m->name;
    MPI_Type_contiguous((int)sizeof(struct hm_sum), MPI_BYTE, &m->type);
    MPI_Type_commit(&m->type);
    MPI_Op_create(add_sums, 1, &m->add);
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, net->rank, MPI_INFO_NULL, &m->machine);
    MPI_Comm_rank(m->machine, &on_machine);
    net->leads = on_machine == 0;
    size_t ranks = (size_t)net->ranks;
    hinge_status status = HG_MAKE(err, "ranks", HG_ARRAY(m->count, 2 * ranks), HG_ARRAY(m->place, 2 * ranks),
                                  HG_ARRAY(net->sizes, ranks), HG_ARRAY(net->out, ranks), HG_ARRAY(net->in, ranks));
    if (status != HINGE_OK)
        hm_mpi_close(m);
    return status;
}

void hm_mpi_close(struct hm_mpi *m)
{
    MPI_Type_free(&m->type);
    MPI_Op_free(&m->add);
    MPI_Comm_free(&m->machine);
    hg_free(m->count);
}

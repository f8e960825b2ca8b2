/*
 * Ranks as threads of one process, through the same table as MPI's (mpi/net.h): one of them runs at a time, and hands
 * over where it waits for the others. What they send is counted.
 */
#ifndef TEST_RANKS_H
#define TEST_RANKS_H

#include "mpi/net.h"

struct traffic { /* of one rank */
    uint64_t sums, gathers, broadcasts;
    uint64_t gathered; /* bytes that gathers brought */
};

/* Runs job(net, arg) on so many ranks; returns rank 0's traffic. */
struct traffic run_ranks(int ranks, void (*job)(const struct hm_net *net, void *arg), void *arg);

/* Of checkpoints in folder(): how many files begin so, and the last one's name; none any more; one with its last byte
 * altered, or cut off. */
size_t count_files(const char *begin, const char **name);
void empty_folder(void);
void spoil(const char *path, bool cut);

#endif

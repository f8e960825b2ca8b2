/*
 * Faults on order. The test is linked with --wrap for every function by which hinge gets memory or writes files, so
 * that calls from the library's own objects (and the test's), but not from BLAS, OpenMP or libc, come here first.
 */
#ifndef TEST_FAULTS_H
#define TEST_FAULTS_H

#include <stdbool.h>

enum fault_kind {
    FAULT_NONE = 0,
    FAULT_MEMORY, /* malloc, calloc, realloc, aligned_alloc, strdup, realpath, mmap, and the decompressors' set-up */
    FAULT_FILE,   /* open for writing, write, fsync, close, rename: fail with `error` */
    FAULT_KILL,   /* the same: the process is killed by SIGKILL, of a write after half of it */
    FAULT_SHORT   /* write: a few bytes at a time, every other call interrupted by a signal */
};

/* From now on the k-th call of that kind fails, and with `on` all after it; k = 0: none, calls are counted. */
void faults_begin(enum fault_kind kind, long k, bool on, int error);
/* Ends that; returns how many calls there were. */
long faults_end(long *failed);
/* Pieces of memory that are held now. */
long faults_held(void);

#endif

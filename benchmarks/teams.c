/*
 * What a training does alone and in jobs that a team shares: run_hinge ... teams=1. The program is linked so that
 * hinge's hg_share comes here first. What a piece took is told by its thread's processor time, so that other work on
 * the machine, and waiting, count for nothing.
 */
#include "benchmarks/job.h"
#include "benchmarks/teams.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST_PIECES = 1 << 16, LINES = 6 };

static const int threads_of[LINES] = { 2, 4, 8, 16, 32, 64 };

static struct {
    bool counts;
    double alone, shared, jobs; /* seconds outside of jobs, in them, and how many there were */
    double predicted[LINES];    /* seconds of all jobs with so many threads */
    double last;                /* the processor time of the thread that trains when its last job ended */
    double *piece;              /* of the job that runs: seconds of each piece */
    size_t n_pieces;
} counted;

static _Thread_local bool in_piece;

static double processor_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds of the job by so many threads: pieces go to the thread that is free first. */
static double makespan(int threads)
{
    double busy[64] = { 0 }, longest = 0;
    for (size_t k = 0; k < counted.n_pieces && k < MOST_PIECES; k++) {
        int first = 0;
        for (int t = 1; t < threads; t++)
            first = busy[t] < busy[first] ? t : first;
        busy[first] += counted.piece[k];
        longest = busy[first] > longest ? busy[first] : longest;
    }
    return longest;
}

typedef void piece_fn(void *arg, int thread, size_t first, size_t end);

struct timed {
    piece_fn *piece;
    void *arg;
};

static void time_piece(void *arg, int thread, size_t first, size_t end)
{
    const struct timed *job = arg;
    double begin = processor_time();
    in_piece = true;
    job->piece(job->arg, thread, first, end);
    in_piece = false;
    size_t k = __atomic_fetch_add(&counted.n_pieces, 1, __ATOMIC_RELAXED);
    counted.piece[k % MOST_PIECES] = processor_time() - begin;
}

/* Jobs that one thread makes, and those within a piece, are part of what surrounds them. */
void __real_hg_share(int threads, size_t count, size_t grain, piece_fn *piece, void *arg);
void __wrap_hg_share(int threads, size_t count, size_t grain, piece_fn *piece, void *arg);
void __wrap_hg_share(int threads, size_t count, size_t grain, piece_fn *piece, void *arg)
{
    if (!counted.counts || in_piece || threads < 2 || count <= grain) {
        __real_hg_share(threads, count, grain, piece, arg);
        return;
    }
    counted.alone += processor_time() - counted.last;
    counted.n_pieces = 0;
    __real_hg_share(threads, count, grain, time_piece, &(struct timed){ piece, arg });
    counted.jobs++;
    for (size_t k = 0; k < counted.n_pieces && k < MOST_PIECES; k++)
        counted.shared += counted.piece[k];
    for (int k = 0; k < LINES; k++)
        counted.predicted[k] += makespan(threads_of[k]);
    counted.last = processor_time();
}

void teams_start(void)
{
    counted.piece = malloc(MOST_PIECES * sizeof *counted.piece);
    counted.last = processor_time();
    counted.counts = counted.piece != NULL;
}

void teams_stop(void)
{
    counted.alone += processor_time() - counted.last;
    counted.counts = false;
    double all = counted.alone + counted.shared;
    printf("{\"alone_s\": %.6g, \"shared_s\": %.6g, \"serial\": %.4g, \"jobs\": %.0f", counted.alone, counted.shared,
           counted.alone / all, counted.jobs);
    for (int k = 0; k < LINES; k++)
        printf(", \"times_%d\": %.3g", threads_of[k], all / (counted.alone + counted.predicted[k]));
    printf("}\n");
    free(counted.piece);
}

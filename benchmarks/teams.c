/*
 * What a training does alone and in teams of threads: run_hinge ... teams=1. libgomp's calls by which a region begins
 * and its tiles are dealt come here first, as the program's names go before those of libraries. What a tile took is
 * told by its thread's processor time, so that other work on the machine, and waiting, count for nothing.
 */
#include "benchmarks/job.h"
#include "benchmarks/teams.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_TILES = 1 << 16, LINES = 6 };

static const int threads_of[LINES] = { 2, 4, 8, 16, 32, 64 };

static struct {
    bool counts;
    double alone, shared, teams; /* seconds: outside of regions, in them, and how many regions there were */
    double predicted[LINES];     /* seconds of all regions with so many threads */
    double last;                 /* the processor time of the thread that trains when its last region ended */
    double *tile, rest;          /* of the region that runs: seconds of each tile that was dealt, of all else */
    size_t n_tiles;
} counted;

static _Thread_local struct {
    int depth;           /* regions that this thread is in */
    double mark;         /* its processor time when it was last looked at, */
    bool in_tile, waits; /* and what it has done since */
} here;

static double processor_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void lap(bool in_tile, bool waits)
{
    if (!counted.counts || here.depth != 1)
        return;
    double now = processor_time(), passed = now - here.mark;
    if (here.in_tile) {
        size_t k = __atomic_fetch_add(&counted.n_tiles, 1, __ATOMIC_RELAXED);
        counted.tile[k % MOST_TILES] = passed;
    } else if (!here.waits) {
#pragma omp atomic
        counted.rest += passed;
    }
    here.mark = now;
    here.in_tile = in_tile;
    here.waits = waits;
}

static void *next(const char *name)
{
    void *function = dlsym(RTLD_NEXT, name);
    if (function == NULL)
        job_fail(name, "not in the OpenMP library that runs here");
    return function;
}

/* Seconds of the region by so many threads: tiles go to the thread that is free first, all else is shared evenly. */
static double makespan(int threads)
{
    double busy[64] = { 0 }, longest = 0;
    for (size_t k = 0; k < counted.n_tiles && k < MOST_TILES; k++) {
        int first = 0;
        for (int t = 1; t < threads; t++)
            first = busy[t] < busy[first] ? t : first;
        busy[first] += counted.tile[k];
        longest = busy[first] > longest ? busy[first] : longest;
    }
    return longest + counted.rest / threads;
}

struct job_of_team {
    void (*run)(void *);
    void *data;
};

static void in_team(void *arg)
{
    struct job_of_team *job = arg;
    here.depth++;
    here.mark = here.depth == 1 ? processor_time() : here.mark;
    here.in_tile = here.waits = false;
    job->run(job->data);
    lap(false, false);
    here.depth--;
}

void GOMP_parallel(void (*run)(void *), void *data, unsigned threads, unsigned flags);
void GOMP_parallel(void (*run)(void *), void *data, unsigned threads, unsigned flags)
{
    static void (*real)(void (*)(void *), void *, unsigned, unsigned);
    if (real == NULL)
        *(void **)&real = next("GOMP_parallel");
    if (!counted.counts || here.depth > 0) {
        here.depth += counted.counts;
        real(run, data, threads, flags);
        here.depth -= counted.counts;
        return;
    }
    counted.alone += processor_time() - counted.last;
    counted.n_tiles = 0;
    counted.rest = 0;
    real(in_team, &(struct job_of_team){ run, data }, threads, flags);
    counted.shared += counted.rest;
    counted.teams++;
    for (size_t k = 0; k < counted.n_tiles && k < MOST_TILES; k++)
        counted.shared += counted.tile[k];
    for (int k = 0; k < LINES; k++)
        counted.predicted[k] += makespan(threads_of[k]);
    counted.last = processor_time();
}

typedef unsigned long long number;
bool GOMP_loop_ull_nonmonotonic_dynamic_start(bool up, number begin, number end, number step, number chunk,
                                              number *first, number *last);
bool GOMP_loop_ull_nonmonotonic_dynamic_start(bool up, number begin, number end, number step, number chunk,
                                              number *first, number *last)
{
    static bool (*real)(bool, number, number, number, number, number *, number *);
    if (real == NULL)
        *(void **)&real = next("GOMP_loop_ull_nonmonotonic_dynamic_start");
    bool any = real(up, begin, end, step, chunk, first, last);
    lap(any, false);
    return any;
}

bool GOMP_loop_ull_nonmonotonic_dynamic_next(number *first, number *last);
bool GOMP_loop_ull_nonmonotonic_dynamic_next(number *first, number *last)
{
    static bool (*real)(number *, number *);
    if (real == NULL)
        *(void **)&real = next("GOMP_loop_ull_nonmonotonic_dynamic_next");
    bool any = real(first, last);
    lap(any, false);
    return any;
}

/* What waits for the others is no work. */
#define WAITS(NAME)                       \
    void NAME(void);                      \
    void NAME(void)                       \
    {                                     \
        static void (*real)(void);        \
        if (real == NULL)                 \
            *(void **)&real = next(#NAME); \
        lap(false, true);                 \
        real();                           \
        lap(false, false);                \
    }

WAITS(GOMP_barrier)
WAITS(GOMP_loop_end)

void teams_start(void)
{
    counted.tile = malloc(MOST_TILES * sizeof *counted.tile);
    counted.last = processor_time();
    counted.counts = counted.tile != NULL;
}

void teams_stop(void)
{
    counted.alone += processor_time() - counted.last;
    counted.counts = false;
    if (counted.teams == 0)
        job_fail("teams", "no region was seen: GCC's OpenMP library is wanted");
    double all = counted.alone + counted.shared;
    printf("{\"alone_s\": %.6g, \"shared_s\": %.6g, \"serial\": %.4g, \"teams\": %.0f", counted.alone, counted.shared,
           counted.alone / all, counted.teams);
    for (int k = 0; k < LINES; k++)
        printf(", \"times_%d\": %.3g", threads_of[k], all / (counted.alone + counted.predicted[k]));
    printf("}\n");
    free(counted.tile);
}

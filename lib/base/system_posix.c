/*
 * Linux and its like (system.h).
 */
#include "lib/base/base.h"

#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* ---- pages ------------------------------------------------------------------------------------------------------- */

enum { HUGE_PAGE = 2 << 20 }; /* x86-64's */

/* Asks for huge pages inside a block of 8 MB or more, because finding its small pages one by one takes as long as
 * filling them. Trainings that fill much memory with rows gain up to a fifth of their time (doc/tried.md). A test does
 * without them by linking with --wrap=madvise. */
void hg_ask_for_huge_pages(void *memory, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    char *first = (char *)memory + (HUGE_PAGE - (uintptr_t)memory % HUGE_PAGE) % HUGE_PAGE;
    if (bytes >= 4 * (size_t)HUGE_PAGE)
        madvise(first, ((char *)memory + bytes - first) / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
#endif
}

/* Reserves addresses alone (MAP_NORESERVE). */
void *hg_take_pages(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
#ifdef MADV_HUGEPAGE
    madvise(memory, bytes, MADV_HUGEPAGE);
#endif
    return memory;
}

void hg_give_pages(void *memory, size_t bytes)
{
    munmap(memory, bytes);
}

/* ---- the machine and its clocks ---------------------------------------------------------------------------------- */

/* Reads the number in a control file of a container; SIZE_MAX: there is none, or it says "max". */
static size_t limit_in(const char *path)
{
    FILE *f = fopen(path, "r");
    unsigned long long value = 0;
    bool read = f != NULL && fscanf(f, "%llu", &value) == 1;
    if (f != NULL)
        fclose(f);
    return read && value > 0 && value < SIZE_MAX ? (size_t)value : SIZE_MAX;
}

/* Takes the least of the machine's memory and what its control group may have, of version 2 or 1; 1 GB where nobody
 * says. */
size_t hg_total_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    size_t total = pages > 0 && page > 0 ? (size_t)pages * (size_t)page : (size_t)1 << 30;
    total = HG_MIN(total, limit_in("/sys/fs/cgroup/memory.max"));
    return HG_MIN(total, limit_in("/sys/fs/cgroup/memory/memory.limit_in_bytes"));
}

double hg_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double hg_processor_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void hg_yield(void)
{
    sched_yield();
}

/*
 * Linux and its like (system.h).
 */
#include "lib/base/base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#ifdef __APPLE__
#include <xlocale.h>
#endif

/* ---- pages ------------------------------------------------------------------------------------------------------- */

enum { HUGE_PAGE = 2 << 20 }; /* x86-64's */

/* Asks for huge pages inside a block of 2 MB or more, because finding its small pages one by one takes as long as
 * filling them. Trainings that fill much memory with rows gain up to a fifth of their time (doc/tried.md). A test does
 * without them by linking with --wrap=madvise. */
void hg_ask_for_huge_pages(void *memory, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    char *first = (char *)memory + (HUGE_PAGE - (uintptr_t)memory % HUGE_PAGE) % HUGE_PAGE;
    if (bytes >= HUGE_PAGE)
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

/* Returns the number in a control file of a container where that is less than `bytes`; there may be none, or "max". */
static size_t at_most(size_t bytes, const char *path)
{
    FILE *f = fopen(path, "r");
    unsigned long long value = 0;
    bool read = f != NULL && fscanf(f, "%llu", &value) == 1;
    if (f != NULL)
        fclose(f);
    return read && value > 0 && value < bytes ? (size_t)value : bytes;
}

/* Takes the least of the machine's memory, what a process can address and what its control group may have, of version 2
 * or 1; 1 GB where nobody says. */
size_t hg_total_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t machine = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : (uint64_t)1 << 30;
    size_t total = at_most((size_t)HG_MIN(machine, SIZE_MAX), "/sys/fs/cgroup/memory.max");
    return at_most(total, "/sys/fs/cgroup/memory/memory.limit_in_bytes");
}

static double seconds_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double hg_now(void)
{
    return seconds_of(CLOCK_MONOTONIC);
}

double hg_processor_time(void)
{
    return seconds_of(CLOCK_THREAD_CPUTIME_ID);
}

void hg_yield(void)
{
    sched_yield();
}

uint64_t hg_process(void)
{
    return (uint64_t)getpid();
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

/* O_EXCL tells of a name that is taken. */
int hg_file_open(const char *path, enum hg_file_use use)
{
    int flags = use == HG_TO_READ ? O_RDONLY : use == HG_TO_WRITE ? O_WRONLY : O_WRONLY | O_CREAT | O_EXCL;
    return open(path, flags | O_CLOEXEC, 0666);
}

ptrdiff_t hg_file_read(int file, void *bytes, size_t size)
{
    ssize_t n;
    do
        n = read(file, bytes, size);
    while (n < 0 && errno == EINTR);
    return n;
}

ptrdiff_t hg_file_write(int file, const void *bytes, size_t size)
{
    ssize_t n;
    do
        n = write(file, bytes, HG_MIN(size, (size_t)1 << 30));
    while (n < 0 && errno == EINTR);
    return n;
}

/* EINVAL: a file system that has nothing to synchronise. */
bool hg_file_sync(int file)
{
    return fsync(file) == 0 || errno == EINVAL;
}

bool hg_file_close(int file)
{
    return close(file) == 0;
}

void *hg_file_map(int file, size_t *size)
{
    struct stat info;
    *size = 0;
    if (fstat(file, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size <= 0 || (uintmax_t)info.st_size > PTRDIFF_MAX)
        return NULL;
    void *mapped = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (mapped == MAP_FAILED)
        return NULL;
    *size = (size_t)info.st_size;
    return mapped;
}

void hg_file_unmap(void *mapped, size_t size)
{
    munmap(mapped, size);
}

struct hg_file_info hg_file_look(const char *path)
{
    struct stat info;
    if (stat(path, &info) != 0)
        return (struct hg_file_info){ 0 };
    return (struct hg_file_info){ true, S_ISREG(info.st_mode), (unsigned)info.st_mode & 07777U,
                                  (uint64_t)info.st_size };
}

void hg_file_allow(int file, const struct hg_file_info *like)
{
    (void)!fchmod(file, (mode_t)like->rights);
}

char *hg_file_resolve(const char *path)
{
    char *target = realpath(path, NULL);
    return target != NULL || errno == ENOMEM ? target : strdup(path);
}

const char *hg_file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

bool hg_path_is_absolute(const char *path)
{
    return path[0] == '/';
}

bool hg_file_rename(const char *from, const char *to)
{
    return rename(from, to) == 0;
}

bool hg_file_remove(const char *path)
{
    return unlink(path) == 0;
}

bool hg_folder_visit(const char *path, void (*visit)(void *arg, const char *name), void *arg)
{
    DIR *folder = opendir(path);
    if (folder == NULL)
        return false;
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder))
        visit(arg, entry->d_name);
    closedir(folder);
    return true;
}

/* strerror is not safe among threads; of the ways that are, macOS has another one. */
#ifdef __APPLE__
const char *hg_error_text(int number, char room[HG_ERROR_ROOM])
{
    (void)strerror_r(number, room, HG_ERROR_ROOM);
    return room;
}
#else
const char *hg_error_text(int number, char room[HG_ERROR_ROOM])
{
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    snprintf(room, HG_ERROR_ROOM, "%s", c != (locale_t)0 ? strerror_l(number, c) : "system error");
    if (c != (locale_t)0)
        freelocale(c);
    return room;
}
#endif

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

double hg_number(const char *text, char **stop)
{
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    double value = 0;
    *stop = (char *)(uintptr_t)text;
    if (c != (locale_t)0) {
        value = strtod_l(text, stop, c);
        freelocale(c);
    }
    return value;
}

/*
 * Errors, memory, random numbers, halts, the processor, jobs side by side (base.h, team.h).
 * Read base.h before; here is only what cannot be seen from there.
 */
#include "lib/base/team.h"
#include "hg_config.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if HG_X86_LEVELS && defined(__GNUC__)
#include <cpuid.h>
#endif

/* ---- errors ------------------------------------------------------------------------------------------------------ */

hinge_status hg_ok(hinge_error *err)
{
    if (err != NULL) {
        err->status = HINGE_OK;
        err->line = 0;
        err->text[0] = '\0';
    }
    return HINGE_OK;
}

/* Stands in parentheses, as the analyser's macro of the same name must not expand here (base.h). */
hinge_status(hg_fail)(hinge_error *err, hinge_status status, const char *format, ...)
{
    if (err != NULL) {
        va_list args;
        va_start(args, format);
        vsnprintf(err->text, sizeof err->text, format, args);
        va_end(args);
        err->status = status;
        err->line = 0;
    }
    return status;
}

/* Writes "file:line: text", or "file: text" where line is 0. */
hinge_status(hg_fail_at)(hinge_error *err, hinge_status status, const char *file, size_t line, const char *format, ...)
{
    if (err != NULL) {
        char text[sizeof err->text];
        va_list args;
        va_start(args, format);
        vsnprintf(text, sizeof text, format, args);
        va_end(args);
        /* A long path must not push the message out: its end tells more than its beginning. */
        size_t length = strlen(file), room = sizeof err->text - 32 - HG_MIN(strlen(text), sizeof err->text / 2);
        const char *name = length > room ? file + (length - room) : file;
        int used = line > 0 ? snprintf(err->text, sizeof err->text, "%s:%zu: ", name, line)
                            : snprintf(err->text, sizeof err->text, "%s: ", name);
        snprintf(err->text + used, sizeof err->text - (size_t)used, "%s", text);
        err->status = status;
        err->line = line;
    }
    return status;
}

int hg_outcome_rank(hinge_outcome outcome)
{
    static const int rank[] = {
        [HINGE_CONVERGED] = 0, [HINGE_MAX_ITER] = 1,   [HINGE_STALLED] = 2, [HINGE_NO_MARGIN] = 3,
        [HINGE_NONFINITE] = 4, [HINGE_TIME_LIMIT] = 5, [HINGE_STOPPED] = 6
    };
    return rank[outcome];
}

hinge_outcome hg_worse_outcome(hinge_outcome a, hinge_outcome b)
{
    return hg_outcome_rank(a) > hg_outcome_rank(b) ? a : b;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

bool hg_mul(size_t a, size_t b, size_t *product)
{
    if (b != 0 && a > SIZE_MAX / b)
        return false;
    *product = a * b;
    return true;
}

/* Aligns to a cache line, which is also a register of AVX-512. */
enum { ALIGNMENT = 64 };

/* Takes malloc's memory from the next cache line on: aligned_alloc takes some ten times as many instructions. How far
 * that is from malloc's own address, 1 to 64, stands in the byte before what is returned, where hg_free finds it. */
void *hg_alloc(size_t count, size_t size)
{
    size_t bytes;
    if (!hg_mul(count, size, &bytes) || bytes > PTRDIFF_MAX - 3 * ALIGNMENT)
        return NULL;
    unsigned char *whole = malloc(hg_aligned(bytes) + ALIGNMENT);
    if (whole == NULL)
        return NULL;
    hg_ask_for_huge_pages(whole, bytes);
    size_t before = ALIGNMENT - (uintptr_t)whole % ALIGNMENT; /* 1 at least: the byte in front says it */
    whole[before - 1] = (unsigned char)before;
    return whole + before;
}

void *hg_zalloc(size_t count, size_t size)
{
    void *memory = hg_alloc(count, size);
    if (memory != NULL && count * size > 0)
        memset(memory, 0, count * size);
    return memory;
}

void hg_free(void *memory)
{
    unsigned char *place = memory;
    if (place != NULL)
        free(place - place[-1]);
}

/* Keeps the compiler from removing an allocation that nobody uses. A test does without by linking with
 * --wrap=hg_let_heap_stay. */
void hg_let_heap_stay(void)
{
    void *volatile block = malloc((size_t)2048 << 10);
    free(block);
}

/* Goes over the arrays twice: to measure them with a base of NULL, and to place them; without memory hg_take returns
 * NULL for each. The bound keeps the total below what a pointer difference holds. */
bool hg_room(const struct hg_array *arrays, size_t n, size_t *bytes)
{
    size_t total = 0, size;
    bool fits = true;
    for (const struct hg_array *a = arrays; a < arrays + n && fits; a++) {
        fits = hg_mul(a->rows, a->cols, &size) && hg_mul(size, a->size, &size) && size < PTRDIFF_MAX / 2 - total;
        hg_take(NULL, &total, fits ? size : 0);
    }
    char *memory = fits ? hg_alloc(total, 1) : NULL;
    if (bytes != NULL)
        *bytes = total;
    total = 0;
    for (const struct hg_array *a = arrays; a < arrays + n; a++) {
        void *place = hg_take(memory, &total, a->rows * a->cols * a->size);
        memcpy(a->to, &place, sizeof place);
        if (place != NULL && a->clear)
            memset(place, 0, a->rows * a->cols * a->size);
    }
    return memory != NULL;
}

/* Counts bytes in double for the message, since they may overflow. */
hinge_status hg_make(hinge_error *err, const char *what, const struct hg_array *arrays, size_t n)
{
    double bytes = 0;
    if (hg_room(arrays, n, NULL))
        return HINGE_OK;
    for (const struct hg_array *a = arrays; a < arrays + n; a++)
        bytes += (double)a->rows * (double)a->cols * (double)a->size;
    return hg_fail(err, HINGE_ENOMEM, "no memory for %s: %.3g bytes", what, bytes);
}

/* Pages come as they are touched, so that much may be reserved for what may
 * come. An arena that problems use one after the other spares the system most of the work of finding pages for each
 * (doc/tried.md). A caller that lends no arena (hg_gram.lent, hg_smo_options.arena NULL) has memory of its own for each
 * problem. */
char *hg_arena_reserve(struct hg_arena *arena, size_t bytes)
{
    if (arena->bytes >= bytes)
        return arena->memory;
    hg_arena_free(arena);
    arena->memory = hg_take_pages(bytes);
    arena->bytes = arena->memory != NULL ? bytes : 0;
    return arena->memory;
}

/* Leaves most_points, which are the caller's. */
void hg_arena_free(struct hg_arena *arena)
{
    if (arena->memory != NULL)
        hg_give_pages(arena->memory, arena->bytes);
    *arena = (struct hg_arena){ .most_points = arena->most_points };
}

/* ---- random numbers, orders, halts ------------------------------------------------------------------------------- */

uint64_t hg_random(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Draws again beyond the largest multiple of n, so that each number is as likely; that is rare. */
size_t hg_random_below(uint64_t *state, size_t n)
{
    uint64_t bound = UINT64_MAX - UINT64_MAX % n, r;
    do
        r = hg_random(state);
    while (r >= bound);
    return (size_t)(r % n);
}

void hg_shuffle(uint64_t *state, uint32_t *list, size_t n)
{
    for (size_t i = 0; i + 1 < n; i++) {
        size_t j = i + hg_random_below(state, n - i);
        uint32_t other = list[j];
        list[j] = list[i];
        list[i] = other;
    }
}

/* Compares: 1, 0 or -1, which no difference of doubles would fit. */
int hg_by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int hg_by_value_and_number(const void *a, const void *b)
{
    const struct hg_numbered *x = a, *y = b;
    return x->value != y->value ? hg_by_value(&x->value, &y->value) : (x->number > y->number) - (x->number < y->number);
}

/* Takes two passes, as sums of squares alone cancel where the mean is large. */
double hg_deviation(const double *x, const uint32_t *at, size_t n)
{
    double mean = 0, square = 0;
    for (size_t k = 0; k < n; k++)
        mean += x[at != NULL ? at[k] : k] / (double)n;
    for (size_t k = 0; k < n; k++) {
        double away = x[at != NULL ? at[k] : k] - mean;
        square += away * away / (double)n;
    }
    return sqrt(square);
}

/* Copies by memcpy, which one instruction replaces, since out may be `at` itself, of another type. */
void hg_gather(const void *from, size_t size, const uint32_t *at, size_t n, void *out)
{
    if (size == sizeof(float))
        for (size_t k = 0; k < n; k++)
            memcpy((float *)out + k, (const float *)from + at[k], sizeof(float));
    else
        for (size_t k = 0; k < n; k++)
            memcpy((double *)out + k, (const double *)from + at[k], sizeof(double));
}

/* Keeps the first reason: whoever comes later changes nothing. */
void hg_request_halt(const struct hg_halt *halt, int reason)
{
    int none = 0;
    __atomic_compare_exchange_n(halt->stop, &none, reason, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

bool hg_halted(const struct hg_halt *halt)
{
    return __atomic_load_n(halt->stop, __ATOMIC_RELAXED) != 0;
}

hinge_outcome hg_halt_outcome(const struct hg_halt *halt)
{
    return __atomic_load_n(halt->stop, __ATOMIC_RELAXED) == 1 ? HINGE_TIME_LIMIT : HINGE_STOPPED;
}

/* Asks the caller by the thread that began the work alone, since the caller's function need not stand two. */
bool hg_poll_halt(const struct hg_halt *halt)
{
    if (halt->deadline > 0 && hg_now() > halt->deadline)
        hg_request_halt(halt, 1);
    if (halt->ask != NULL && hg_leads() && !hg_halted(halt))
        halt->ask(halt->arg);
    return hg_halted(halt);
}

/* ---- the machine ------------------------------------------------------------------------------------------------- */

/* Some 5 to 25 ms of one thread. OpenMP's own beginning and end of a region wait for each of its threads, which takes
 * 0.1 ms on a quiet machine and up to 5 where another program holds a core: a call of less work by two threads takes
 * up to five times as long there as by one (doc/tried.md). A test has teams for less by linking with
 * --wrap=hg_team_work. */
double hg_team_work(void)
{
    return 2e8;
}

/* Looks for what the levels of the x86-64 psABI have that the maps and loops are compiled for. */
int hg_cpu_level(int asked)
{
    int level = 1;
#if HG_X86_LEVELS && defined(__GNUC__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt"))
        level = 2;
    if (level == 2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
        level = 3;
    if (level == 3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd"))
        level = 4;
#endif
    return asked >= 1 && asked < level ? asked : level;
}

/* Asks for AVX-VNNI by its number (leaf 7, subleaf 1, EAX bit 4), which compilers have no name for until late; that the
 * system keeps these registers is what level 3 says. */
bool hg_cpu_has(enum hg_cpu_set set)
{
#if HG_X86_LEVELS && defined(__GNUC__)
    unsigned a, b, c, d;
    __builtin_cpu_init();
    switch (set) {
    case HG_CPU_AVX_VNNI:
        return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a >> 4 & 1) != 0;
    case HG_CPU_AVX512_VNNI:
        return __builtin_cpu_supports("avx512vnni");
    case HG_CPU_VPOPCNTDQ:
        return __builtin_cpu_supports("avx512vpopcntdq");
    default:
        return true;
    }
#else
    return set == HG_CPU_LEVEL;
#endif
}

/* ---- jobs side by side ------------------------------------------------------------------------------------------- */

struct each {
    size_t count;
    int threads;
    hinge_status (*job)(void *arg, int thread, size_t number, int threads, hinge_error *err);
    void *arg;
    size_t failed; /* the first job that did */
    hinge_status status;
    hinge_error err;
    pthread_mutex_t lock;
};

/* Makes one job, unless one before it has failed. Those before that one are made in any case, so that status and error
 * are those of the same job for any number of threads. */
static void make_one(void *arg, int thread, size_t number, size_t end)
{
    struct each *e = arg;
    hinge_error mine;
    hg_ok(&mine);
    (void)end;
    if (__atomic_load_n(&e->failed, __ATOMIC_RELAXED) < number)
        return;
    bool last = number + (size_t)e->threads >= e->count;
    hinge_status done = e->job(e->arg, thread, number, last ? e->threads : 1, &mine);
    pthread_mutex_lock(&e->lock);
    if (done != HINGE_OK && number < e->failed) {
        __atomic_store_n(&e->failed, number, __ATOMIC_RELAXED);
        e->status = done;
        e->err = mine;
    }
    pthread_mutex_unlock(&e->lock);
}

hinge_status hg_each(size_t count, bool side_by_side, int threads,
                     hinge_status (*job)(void *arg, int thread, size_t number, int threads, hinge_error *err),
                     void *arg, hinge_error *err)
{
    hinge_status status = HINGE_OK;
    for (size_t j = 0; j < count && !side_by_side && status == HINGE_OK; j++)
        status = job(arg, 0, j, threads, err);
    if (!side_by_side)
        return status;
    struct each e = { .count = count, .threads = threads, .job = job, .arg = arg, .failed = SIZE_MAX };
    pthread_mutex_init(&e.lock, NULL);
    hg_share(threads, count, 1, make_one, &e);
    pthread_mutex_destroy(&e.lock);
    if (e.status != HINGE_OK && err != NULL)
        *err = e.err;
    return e.status;
}

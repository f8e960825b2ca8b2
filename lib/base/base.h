/*
 * The floor: memory, checked sizes, errors, random numbers, the clock, the processor. Everything may include it.
 */
#ifndef HG_BASE_H
#define HG_BASE_H

#include "lib/base/system.h"

#include <hinge/hinge.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HG_MIN(a, b) ((a) < (b) ? (a) : (b))
#define HG_MAX(a, b) ((a) > (b) ? (a) : (b))

/* Fills err (nullable) and returns status: "return hg_fail(err, HINGE_EINVAL, "nu: %g", nu);" */
hinge_status hg_fail(hinge_error *err, hinge_status status, const char *format, ...) HG_PRINTF(3, 4);
/* Does the same for a place in a file: the text begins with "file:line: ". */
hinge_status hg_fail_at(hinge_error *err, hinge_status status, const char *file, size_t line, const char *format,
                        ...) HG_PRINTF(5, 6);
#ifdef __clang_analyzer__ /* which sees one file at a time, and would take a failure for a possible HINGE_OK */
#define hg_fail(err, status, ...) (hg_fail((err), (status), __VA_ARGS__), (status))
#define hg_fail_at(err, status, ...) (hg_fail_at((err), (status), __VA_ARGS__), (status))
#endif
/* Clears err and returns HINGE_OK. */
hinge_status hg_ok(hinge_error *err);
/* Returns from the function with the status of a call that failed; what the function holds by then is its caller's. */
#define HG_TRY(call) \
    do { \
        hinge_status tried_ = (call); \
        if (tried_ != HINGE_OK) \
            return tried_; \
    } while (0)
/* Refuses NULL, by its name, in the same way. */
#define HG_NEED(err, pointer, name) \
    do { \
        if ((pointer) == NULL) \
            return hg_fail((err), HINGE_EINVAL, "%s: NULL", (name)); \
    } while (0)
/* Takes the status of a call that is made only where all before it went well. */
#define HG_THEN(status, call) ((status) = (status) == HINGE_OK ? (call) : (status))

/* Allocates count * size bytes, 64-byte aligned; NULL on overflow or without memory; freed by hg_free. count = 0 gives
 * a pointer that may be freed. hg_zalloc clears. */
void *hg_alloc(size_t count, size_t size);
void *hg_zalloc(size_t count, size_t size);
void hg_free(void *memory);

/* Keeps the heap's pages from one small problem to the next. An allocator like glibc's gives the top of its heap back
 * to the system where 128 KB are free there, unless a larger block was freed before: it leaves twice as much as that.
 * Here is one, which nobody touches; without memory for it nothing is lost. Finding the same pages again takes a small
 * training a third of its time (doc/tried.md). */
void hg_let_heap_stay(void);

/* An array of an object: rows * cols values of `size` bytes, and where its pointer stands. HG_ZEROS is cleared, the
 * others are not; HG_VALUES is for a pointer to void. */
struct hg_array {
    void *to;
    size_t rows, cols, size;
    bool clear;
};
#define HG_ARRAY(pointer, count) { &(pointer), (count), 1, sizeof *(pointer), false }
#define HG_ZEROS(pointer, count) { &(pointer), (count), 1, sizeof *(pointer), true }
#define HG_TABLE(pointer, rows, cols) { &(pointer), (rows), (cols), sizeof *(pointer), false }
#define HG_VALUES(pointer, count, size) { &(pointer), (count), 1, (size), false }
/* Makes one block for all arrays of an object, 64-byte aligned each: hg_free of the first frees them all. *bytes
 * (nullable): of the block. false: no memory or an overflow, and all pointers are NULL. */
bool hg_room(const struct hg_array *arrays, size_t n, size_t *bytes);
#define HG_ROOM(...) hg_room(HG_ARRAYS(__VA_ARGS__), NULL)
#define HG_ARRAYS(...) \
    (struct hg_array[]){ __VA_ARGS__ }, sizeof((struct hg_array[]){ __VA_ARGS__ }) / sizeof(struct hg_array)
/* Makes the same, or fails with HINGE_ENOMEM and "no memory for WHAT: BYTES bytes". */
hinge_status hg_make(hinge_error *err, const char *what, const struct hg_array *arrays, size_t n);
#define HG_MAKE(err, what, ...) hg_make((err), (what), HG_ARRAYS(__VA_ARGS__))

/* Memory that one problem after the other takes, so that its pages are found only once: zeroed at first, taken as it is
 * touched, on huge pages where the system gives them. */
struct hg_arena {
    char *memory;
    size_t bytes;
    size_t most_points; /* the caller's: of the largest problem that is to come */
    size_t touched;     /* most bytes that a problem had in use: they stay in memory */
};
/* Returns that many bytes at least; anew, and what was there is gone, where the arena has fewer. NULL: no memory. */
char *hg_arena_reserve(struct hg_arena *arena, size_t bytes);
void hg_arena_free(struct hg_arena *arena);

/* Multiplies sizes; false: they overflow, and *product is untouched. */
bool hg_mul(size_t a, size_t b, size_t *product);

/* Draws the next number by SplitMix64 (Steele, Lea, Flood 2014), and one in [0, n), n > 0. */
uint64_t hg_random(uint64_t *state);
size_t hg_random_below(uint64_t *state, size_t n);
/* Any order of the list is as likely (Fisher and Yates). */
void hg_shuffle(uint64_t *state, uint32_t *list, size_t n);

/* Compare for qsort: doubles that rise; numbered ones, equal ones by number. */
struct hg_numbered {
    double value;
    uint32_t number;
};
int hg_by_value(const void *a, const void *b);
int hg_by_value_and_number(const void *a, const void *b);

/* Returns the standard deviation of x[at[k]], k < n; at NULL: of x[k]. */
double hg_deviation(const double *x, const uint32_t *at, size_t n);

/* Gathers out[k] = from[at[k]], k < n, of 4 or 8 bytes each; out may be `at`, or `from` where at[k] >= k. */
void hg_gather(const void *from, size_t size, const uint32_t *at, size_t n, void *out);

/* Returns the bytes of a value; below, one value of an array, bytes rounded up to a cache line, one value of a
 * matrix. */
static inline size_t hg_size_of(hinge_dtype type)
{
    return type == HINGE_F64 ? sizeof(double) : type == HINGE_F32 ? sizeof(float) : type == HINGE_F16 ? 2 : 1;
}

static inline double hg_get(const void *values, hinge_dtype type, size_t at)
{
    return type == HINGE_F32 ? (double)((const float *)values)[at] : ((const double *)values)[at];
}

static inline void hg_put(void *values, hinge_dtype type, size_t at, double value)
{
    if (type == HINGE_F32)
        ((float *)values)[at] = (float)value;
    else
        ((double *)values)[at] = value;
}

static inline size_t hg_aligned(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* The next bytes, rounded up to a cache line, of a block of memory laid out from base on; base NULL: NULL, the block
 * is only measured. *at: what is taken already. */
static inline void *hg_take(char *base, size_t *at, size_t bytes)
{
    void *place = base != NULL ? base + *at : NULL;
    *at += hg_aligned(bytes);
    return place;
}

/* The values of a row stand side by side. */
static inline bool hg_matrix_by_rows(const hinge_matrix *x)
{
    return x->order != HINGE_COLUMN_MAJOR;
}

/* Returns the value of two bytes of IEEE 754: its numbers, denormals among them, are numbers of f32; infinite and NaN
 * stay so. The exponent's bits are moved up, and what they are wrong by is a factor of 2^112. */
static inline double hg_from_f16(uint16_t half)
{
    uint32_t bits = (uint32_t)(half & 0x8000U) << 16 | (uint32_t)(half & 0x7fffU) << 13;
    float value;
    if ((half & 0x7c00U) == 0x7c00U)
        bits |= 0x7f800000U;
    memcpy(&value, &bits, sizeof value);
    return (half & 0x7c00U) == 0x7c00U ? (double)value : (double)value * 0x1p112;
}

/* Returns value `at` of an array of a matrix's type; below, one value of a matrix. */
static inline double hg_element(const void *values, hinge_dtype type, size_t at)
{
    switch (type) {
    case HINGE_F32:
        return (double)((const float *)values)[at];
    case HINGE_U8:
        return ((const uint8_t *)values)[at];
    case HINGE_I8:
        return ((const int8_t *)values)[at];
    case HINGE_F16:
        return hg_from_f16(((const uint16_t *)values)[at]);
    default:
        return ((const double *)values)[at];
    }
}

static inline double hg_matrix_value(const hinge_matrix *x, size_t row, size_t col)
{
    return hg_element(x->data, x->type, hg_matrix_by_rows(x) ? row * x->stride + col : col * x->stride + row);
}

/* Lower or raise *to, atomic, to a value: what comes out does not depend on the order of those who do so at once. */
static inline void hg_lower(size_t *to, size_t value)
{
    size_t now = __atomic_load_n(to, __ATOMIC_RELAXED);
    while (value < now && !__atomic_compare_exchange_n(to, &now, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

/* Adds to a sum that several add to at once, atomic: their order shows in its last digits. */
static inline void hg_add(double *to, double value)
{
    double now, then;
    __atomic_load(to, &now, __ATOMIC_RELAXED);
    do
        then = now + value;
    while (!__atomic_compare_exchange(to, &now, &then, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

static inline void hg_raise(double *to, double value)
{
    double now;
    __atomic_load(to, &now, __ATOMIC_RELAXED);
    while (value > now && !__atomic_compare_exchange(to, &now, &value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

/* The larger of two; NaN where one is, so that what could not be computed does not pass for small. */
static inline double hg_larger(double a, double b)
{
    return a > b || a != a ? a : b;
}

static inline double hg_dot(const double *x, const double *y, size_t n)
{
    double sum = 0;
    for (size_t k = 0; k < n; k++)
        sum += x[k] * y[k];
    return sum;
}

/* Adds x to high + low without error (Knuth's two-sum), but for the rounding of low. */
static inline void hg_add_exactly(double *high, double *low, double x)
{
    double sum = *high + x, part = sum - *high;
    *low += (*high - (sum - part)) + (x - part);
    *high = sum;
}

/* The upper half of x's digits: the product of two such halves is exact (Dekker 1971; no fma here, which would be a
 * call on the oldest processors). */
static inline double hg_upper_half(double x)
{
    double c = 134217729.0 * x; /* 2^27 + 1 */
    return c - (c - x);
}

/* Adds factor x to high + low without error, but for the rounding of low; [n] each. */
static inline void hg_add_multiple(double *high, double *low, double factor, const double *x, size_t n)
{
    double fh = hg_upper_half(factor), fl = factor - fh;
    for (size_t c = 0; c < n && factor != 0; c++) {
        double product = x[c] * factor, xh = hg_upper_half(x[c]), xl = x[c] - xh;
        hg_add_exactly(&high[c], &low[c], product);
        low[c] += ((xh * fh - product) + xh * fl + xl * fh) + xl * fl;
    }
}

/* The outcome of two runs together is that of the larger rank: what ended them early (the caller, then the time), since
 * the rest is then unfinished; otherwise the worse. Values that are not numbers are worse than no margin. */
int hg_outcome_rank(hinge_outcome outcome);
hinge_outcome hg_worse_outcome(hinge_outcome a, hinge_outcome b);
static inline bool hg_ended_early(hinge_outcome outcome)
{
    return outcome == HINGE_TIME_LIMIT || outcome == HINGE_STOPPED;
}

/* Add what work took, as a report counts it: the sums of both, and the most that either held. hg_add_report: and what
 * came out of two runs together, where sums have no meaning the larger or worse. Times, machine, path, the counts of
 * rows and features are the sum's own. */
void hg_add_stages(hinge_stages *sum, const hinge_stages *part);
void hg_share_stages(hinge_stages *stages, int threads); /* seconds of threads to their share of the clock's */
void hg_add_work(hinge_report *sum, const hinge_report *part);
void hg_add_report(hinge_report *sum, const hinge_report *part);
/* Goes on with a report's path. */
void hg_tell_path(hinge_report *report, const char *format, ...) HG_PRINTF(2, 3);

/* Ends work early. All that takes long polls it now and then. */
struct hg_halt {
    int *stop;              /* shared by all runs of a training, atomic: not 0 ends them; 1: time, 2: the caller */
    double deadline;        /* on hg_now's clock: past it *stop becomes 1; 0: none */
    void (*ask)(void *arg); /* or NULL: called by the thread that began the work, and may set *stop */
    void *arg;
};
bool hg_halted(const struct hg_halt *halt); /* *stop is not 0 */
bool hg_poll_halt(const struct hg_halt *halt); /* the same, after a look at the clock and a question */
hinge_outcome hg_halt_outcome(const struct hg_halt *halt); /* of a run that was halted: what by */
/* Sets *stop, unless there is a reason already. */
void hg_request_halt(const struct hg_halt *halt, int reason);

/* Returns 1 for plain C, 2..4 for x86-64-v2..v4: the level asked for (0: the best), never more than the processor
 * runs. */
int hg_cpu_level(int asked);
/* Says whether the processor has what no level has. */
enum hg_cpu_set { HG_CPU_LEVEL, HG_CPU_AVX_VNNI, HG_CPU_AVX512_VNNI, HG_CPU_VPOPCNTDQ };
bool hg_cpu_has(enum hg_cpu_set set);
hinge_machine hg_processor_info(void); /* hinge_machine_info but for total_memory, which the system is asked for */

#endif

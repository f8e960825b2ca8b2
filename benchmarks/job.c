#include "benchmarks/job.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>

void job_fail(const char *what, const char *text)
{
    fprintf(stderr, "%s: %s\n", what, text);
    exit(1);
}

void *job_allocate(size_t n, size_t size)
{
    void *memory = calloc(n ? n : 1, size);
    if (!memory)
        job_fail("memory", "not enough of it");
    return memory;
}

double job_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* --- command line ------------------------------------------------------------------------------------------------- */

enum kind { TEXT, SIZE, COUNT, NUMBER };

/* Sets *target (const char *, size_t, int, double) from the text. */
static void set_value(const char *argument, const char *text, enum kind kind, void *target)
{
    char *end;
    double number = strtod(text, &end);
    if (kind != TEXT && (end == text || *end || !(number >= 0)))
        job_fail(argument, "wants a number, 0 or more");
    if (kind == TEXT)
        *(const char **)target = text;
    else if (kind == SIZE)
        *(size_t *)target = (size_t)number;
    else if (kind == COUNT)
        *(int *)target = (int)number;
    else
        *(double *)target = number;
}

struct job job_read(int argc, char **argv)
{
    struct job job = { .threads = 1, .times = 1 };
    const struct {
        const char *key;
        enum kind kind;
        void *target;
    } known[] = {
        { "folder", TEXT, &job.folder },
        { "out", TEXT, &job.out },
        { "n", SIZE, &job.n },
        { "d", SIZE, &job.d },
        { "n_test", SIZE, &job.n_test },
        { "task", COUNT, &job.task },
        { "threads", COUNT, &job.threads },
        { "teams", COUNT, &job.teams },
        { "times", COUNT, &job.times },
        { "C", NUMBER, &job.C },
        { "gamma", NUMBER, &job.gamma },
        { "p", NUMBER, &job.p },
        { "eps", NUMBER, &job.eps },
        { "cache_mb", NUMBER, &job.cache_mb },
        { "limit", NUMBER, &job.limit },
    };
    const size_t n_known = sizeof known / sizeof *known;
    for (int i = 1; i < argc; i++) {
        const char *equals = strchr(argv[i], '=');
        size_t length = equals ? (size_t)(equals - argv[i]) : 0, k = 0;
        while (k < n_known && (strlen(known[k].key) != length || strncmp(known[k].key, argv[i], length) != 0))
            k++;
        if (k == n_known)
            job_fail(argv[i], "no such key (benchmarks/job.h has them)");
        set_value(argv[i], equals + 1, known[k].kind, known[k].target);
    }
    if (!job.folder || !job.out || !job.n || !job.d || !job.n_test || job.threads < 1 || job.times < 1)
        job_fail("job", "folder, out, n, d, n_test, threads and times are needed");
    return job;
}

/* --- files -------------------------------------------------------------------------------------------------------- */

static FILE *open_file(const char *folder, char separator, const char *name, const char *mode)
{
    char path[4096];
    snprintf(path, sizeof path, "%s%c%s", folder, separator, name);
    FILE *file = fopen(path, mode);
    if (!file)
        job_fail(path, "cannot be opened");
    return file;
}

static double *load(const char *folder, char separator, const char *name, size_t *count)
{
    FILE *file = open_file(folder, separator, name, "rb");
    fseek(file, 0, SEEK_END);
    *count = (size_t)ftell(file) / sizeof(double);
    rewind(file);
    double *values = job_allocate(*count, sizeof *values);
    if (fread(values, sizeof *values, *count, file) != *count)
        job_fail(name, "cannot be read");
    fclose(file);
    return values;
}

double *job_load_part(const struct job *job, const char *name, size_t count)
{
    size_t there;
    double *values = load(job->folder, '/', name, &there);
    if (there != count)
        job_fail(name, "has not the size that the job says");
    return values;
}

double *job_load_out(const struct job *job, const char *name, size_t *count)
{
    return load(job->out, '.', name, count);
}

static void write_doubles(const char *name, FILE *file, const double *values, size_t count)
{
    if (fwrite(values, sizeof *values, count, file) != count)
        job_fail(name, "cannot be written");
}

void job_save_model(const struct job *job, size_t n_sv, size_t n_coef, const double *rows)
{
    FILE *file = open_file(job->out, '.', "model", "wb");
    write_doubles("model", file, (double[]){ (double)n_sv, (double)n_coef }, 2);
    write_doubles("model", file, rows, n_sv * (1 + n_coef));
    if (fclose(file) != 0)
        job_fail("model", "cannot be written");
}

void job_save_predicted(const struct job *job, const double *predicted)
{
    FILE *file = open_file(job->out, '.', "predicted", "wb");
    write_doubles("predicted", file, predicted, job->n_test);
    if (fclose(file) != 0)
        job_fail("predicted", "cannot be written");
}

/* --- measuring ---------------------------------------------------------------------------------------------------- */

static struct {
    double start, base_mb;
    struct rusage usage;
} phase;

/* A line "key:  123 kB" of /proc/self/status, in MB; 0 where there is none. */
static double status_mb(const char *key)
{
    char line[256];
    double kb = 0;
    size_t length = strlen(key);
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, key, length) == 0 && line[length] == ':')
            kb = strtod(line + length + 1, NULL);
    if (file)
        fclose(file);
    return kb / 1024;
}

/* What was freed goes back to the system first, or it would be used again without being seen. */
static void start_peak(void)
{
    malloc_trim(0);
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (file) {
        fputs("5", file);
        fclose(file);
    }
    phase.base_mb = status_mb("VmRSS");
}

static void set_alarm(double seconds)
{
    time_t whole = (time_t)seconds;
    struct itimerval timer = { .it_value = { whole, (suseconds_t)(1e6 * (seconds - (double)whole)) } };
    setitimer(ITIMER_REAL, &timer, NULL);
}

static double seconds_of(struct timeval t)
{
    return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

void job_start(const struct job *job)
{
    if (phase.base_mb == 0)
        start_peak();
    set_alarm(job->limit);
    getrusage(RUSAGE_SELF, &phase.usage);
    phase.start = job_now();
}

void job_stop(const char *name)
{
    double seconds = job_now() - phase.start;
    struct rusage now;
    getrusage(RUSAGE_SELF, &now);
    set_alarm(0);
    printf("{\"%s_s\": %.9g, \"%s_user_s\": %.6g, \"%s_system_s\": %.6g, \"%s_faults\": %ld}\n", name, seconds, name,
           seconds_of(now.ru_utime) - seconds_of(phase.usage.ru_utime), name,
           seconds_of(now.ru_stime) - seconds_of(phase.usage.ru_stime), name, now.ru_minflt - phase.usage.ru_minflt);
    fflush(stdout);
}

void job_print_memory(void)
{
    printf("{\"peak_mb\": %.1f, \"base_mb\": %.1f}\n", status_mb("VmHWM"), phase.base_mb);
}

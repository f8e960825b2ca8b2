/*
 * The random tester: draws problems from numbers, has hinge solve each in a process of its own with a bound on its
 * processor time, and checks by plain loops what comes out. See trials.h, and doc/testing.md for how it is used.
 */
#include "test/trials.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_JOBS = 16, ROOM = 8192 };

/* What the process of a trial tells its parent, however it ends. */
struct slate {
    char phase[64], about[32];
    double begun;     /* the phase, in seconds of processor time */
    char slowest[64]; /* phase of all that hinge was called in, */
    double longest;   /* and its seconds */
    char findings[ROOM], remarks[ROOM];
    size_t n_findings, n_remarks;
};

static struct slate *slate; /* this process's */
static bool verbose;

struct job {
    pid_t pid;
    uint64_t number;
    time_t started;
    double took; /* seconds of processor time, once it has ended */
    struct slate *slate;
};

static struct {
    uint64_t first, count;
    double seconds, cpu; /* stop drawing after so many; bound on processor time, times what the size gives */
    double slow;         /* tell calls that take more processor time than this; 0: none */
    int jobs, task, kernel;
    bool list, remarks, qp_only, tools;
    const char *dump;
} options = { .count = 500, .cpu = 1, .jobs = 1, .task = -1, .kernel = -1 };

/* ---- What checks say --------------------------------------------------------------------------------------------- */

/* Ends a phase; those that are not in hinge do not count. */
static void note_time(struct slate *s, double now)
{
    bool is_own = strncmp(s->phase, "checks", 6) == 0 || strcmp(s->phase, "LIBSVM") == 0;
    if (!is_own && now - s->begun > s->longest) {
        s->longest = now - s->begun;
        snprintf(s->slowest, sizeof s->slowest, "%s", s->phase);
    }
    s->begun = now;
}

void phase(const char *what)
{
    note_time(slate, processor_time());
    snprintf(slate->phase, sizeof slate->phase, "%s", what);
    if (verbose)
        fprintf(stderr, "... %s (after %.2f s)\n", what, processor_time());
}

void about(const char *what)
{
    snprintf(slate->about, sizeof slate->about, "%s", what);
}

static void append(char *text, const char *format, va_list arguments)
{
    size_t length = strlen(text);
    vsnprintf(text + length, ROOM - length, format, arguments);
}

static void append_words(char *text, const char *words)
{
    size_t length = strlen(text);
    snprintf(text + length, ROOM - length, "%s", words);
}

void finding(const char *check, const char *format, ...)
{
    if (slate->n_findings++ >= 12)
        return;
    va_list arguments;
    va_start(arguments, format);
    append_words(slate->findings, "    ");
    append_words(slate->findings, slate->about);
    append_words(slate->findings, check);
    append_words(slate->findings, ": ");
    append(slate->findings, format, arguments);
    append_words(slate->findings, "\n");
    va_end(arguments);
}

void remark(const char *format, ...)
{
    if (slate->n_remarks++ >= 12)
        return;
    va_list arguments;
    va_start(arguments, format);
    append_words(slate->remarks, "    remark: ");
    append(slate->remarks, format, arguments);
    append_words(slate->remarks, "\n");
    va_end(arguments);
}

void tell(const char *format, ...)
{
    if (!verbose)
        return;
    va_list arguments;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    fflush(stdout);
}

/* ---- One trial --------------------------------------------------------------------------------------------------- */

static double cpu_bound(const struct trial *t)
{
    bool factor = t->params.solver == HINGE_SOLVER_INTERIOR_POINT; /* of as many columns as eps asks for */
    double times = options.cpu * (t->selects ? 6 : 1);
    return ceil(times * (t->is_qp || t->n <= 200 ? 20 : t->n <= 2000 ? 60 : factor ? 600 : 240));
}

/* Bytes that a training may take, with the tester's own: a generous multiple of what there is to hold. */
static double memory_bound(const struct trial *t)
{
    double n = (double)t->n, d = (double)t->d;
    bool whole = isinf(t->params.C) || t->params.solver == HINGE_SOLVER_INTERIOR_POINT;
    double copies = t->selects ? 40 : 12;
    double rank = whole ? n : fmin(n, fmax(d, 1000)); /* a factor may hold all of K */
    return 6e7 + 3.5e7 * t->params.threads +
           8 * (3 * n * n + copies * n * d + 6 * n * rank + 12 * rank * rank) * (t->params.threads > 1 ? 1.5 : 1);
}

static void run_trial(uint64_t number)
{
    struct trial t = trial_plan(number);
    struct rusage usage;
    if (options.tools) {
        check_tools(number);
        return;
    }
    if (t.is_qp) {
        check_qp(number);
        return;
    }
    trial_fill(&t);
    check_training(&t);
    getrusage(RUSAGE_SELF, &usage);
    double peak = (double)usage.ru_maxrss * 1024, allowed = memory_bound(&t);
    tell("%.0f MB at once, allowed %.0f; %.2f s of processor time\n", peak / 1e6, allowed / 1e6, processor_time());
    if (peak > allowed)
        finding("memory", "%.0f MB at once, allowed %.0f", peak / 1e6, allowed / 1e6);
}

static void describe(uint64_t number, char *text, size_t size)
{
    if (options.tools) {
        snprintf(text, size, "--tools");
        return;
    }
    struct trial t = trial_plan(number);
    if (!t.is_qp)
        trial_fill(&t);
    trial_describe(&t, text, size);
    give_back(NULL);
}

static bool wanted(uint64_t number)
{
    if (options.task < 0 && options.kernel < 0 && !options.qp_only)
        return true;
    struct trial t = trial_plan(number);
    if (t.is_qp || options.qp_only)
        return t.is_qp && options.qp_only;
    return (options.task < 0 || (int)t.params.task == options.task) &&
           (options.kernel < 0 || (int)t.params.kernel.type == options.kernel);
}

static void start(struct job *job, uint64_t number)
{
    memset(job->slate, 0, sizeof *job->slate);
    job->number = number;
    job->started = time(NULL);
    fflush(stdout);
    job->pid = fork();
    if (job->pid != 0)
        return;
    struct trial t = trial_plan(number);
    rlim_t bound = options.tools ? 60 : (rlim_t)cpu_bound(&t);
    setrlimit(RLIMIT_CPU, &(struct rlimit){ bound, bound + 2 });
    setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
    slate = job->slate;
    run_trial(number);
    fflush(stdout);
    exit(0); /* as a program does, so that coverage and leaks are told */
}

/* Prints how a trial ended; true: as it should. */
static bool finish(struct job *job, int status)
{
    char ended[160] = "", words[600];
    struct slate *s = job->slate;
    note_time(s, job->took);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
        snprintf(ended, sizeof ended, "    did not end: %s\n", s->phase);
    else if (WIFSIGNALED(status))
        snprintf(ended, sizeof ended, "    signal %d: %s\n", WTERMSIG(status), s->phase);
    else if (WEXITSTATUS(status) != 0)
        snprintf(ended, sizeof ended, "    exit %d: %s\n", WEXITSTATUS(status), s->phase);
    bool passed = ended[0] == 0 && s->n_findings == 0;
    bool slow = options.slow > 0 && s->longest > options.slow;
    if (!passed || slow || (options.remarks && s->n_remarks > 0) || verbose) {
        describe(job->number, words, sizeof words);
        printf("%s %llu: %s\n%s%s%s", passed ? "trial" : "FAILED", (unsigned long long)job->number, words, ended,
               s->findings, options.remarks || verbose ? s->remarks : "");
        if (slow)
            printf("    slow: %.1f s of processor time in %s, %.1f s in all\n", s->longest, s->slowest, job->took);
        fflush(stdout);
    }
    return passed;
}

/* ---- All of them ------------------------------------------------------------------------------------------------- */

static double seconds_of(const struct rusage *usage)
{
    return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) +
           1e-6 * (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec);
}

/* Waits for one trial to end; one that blocks without using the processor is ended after 20 minutes. */
static struct job *await(struct job *jobs, int *status)
{
    for (;;) {
        for (int k = 0; k < options.jobs; k++) {
            if (jobs[k].pid <= 0)
                continue;
            struct rusage usage;
            if (wait4(jobs[k].pid, status, WNOHANG, &usage) == jobs[k].pid) {
                jobs[k].took = seconds_of(&usage);
                return jobs + k;
            }
            if (time(NULL) - jobs[k].started > 1200)
                kill(jobs[k].pid, SIGKILL);
        }
        nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
    }
}

static int run_all(void)
{
    struct job jobs[MAX_JOBS] = { 0 };
    struct slate *slates =
        mmap(NULL, MAX_JOBS * sizeof *slates, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    uint64_t next = options.first, done = 0, passed = 0, remarked = 0;
    time_t begun = time(NULL);
    int running = 0, status;
    if (slates == MAP_FAILED)
        return 2;
    for (int k = 0; k < MAX_JOBS; k++)
        jobs[k].slate = slates + k;
    while (running > 0 || next < options.first + options.count) {
        bool late = options.seconds > 0 && difftime(time(NULL), begun) > options.seconds;
        while (!late && running < options.jobs && next < options.first + options.count) {
            if (!wanted(next)) {
                next++;
                continue;
            }
            int k = 0;
            while (jobs[k].pid > 0)
                k++;
            start(jobs + k, next++);
            running++;
        }
        if (running == 0)
            break;
        struct job *job = await(jobs, &status);
        passed += finish(job, status);
        remarked += job->slate->n_remarks > 0;
        done++;
        job->pid = 0;
        running--;
    }
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    printf("trials %llu to %llu, %.0f s of processor time, %llu with remarks\n%llu passed, %llu failed\n",
           (unsigned long long)options.first, (unsigned long long)(next - 1), seconds_of(&usage),
           (unsigned long long)remarked, (unsigned long long)passed, (unsigned long long)(done - passed));
    return done == passed ? 0 : 1;
}

/* ---- Command ----------------------------------------------------------------------------------------------------- */

static const char usage_text[] =
    "usage: trials [options]\n"
    "  --first N      number of the first trial (0)\n"
    "  --count N      how many (500)\n"
    "  --one N        this one alone, with all that is known of it\n"
    "  --seconds S    start no more after so many seconds\n"
    "  --task T       only those of -s T; --kernel K: only those of -t K; --qp: only those of hinge_qp_solve\n"
    "  --tools        other trials: of scaling, stochastic gradients, geometry, the drop-in library's probabilities\n"
    "  --jobs J       so many at once (1)\n"
    "  --cpu F        bound on processor time, times F (1: 20 s up to 200 examples, 60 s to 2000, 240 s above)\n"
    "  --slow S       tell trials of which a call takes more than S seconds of processor time, and which\n"
    "  --remarks      tell remarks too: what is worth knowing, and no failure\n"
    "  --list         say what they are and run none\n"
    "  --dump FILE    with --one: the examples as a LIBSVM file, the flags of `hinge train` printed; run nothing\n";

static int list_all(void)
{
    char words[600];
    for (uint64_t number = options.first; number < options.first + options.count; number++)
        if (wanted(number)) {
            describe(number, words, sizeof words);
            printf("%llu: %s\n", (unsigned long long)number, words);
        }
    return 0;
}

static int dump_one(void)
{
    struct trial t = trial_plan(options.first);
    if (t.is_qp)
        return 2;
    trial_fill(&t);
    trial_dump(&t, options.dump);
    return 0;
}

static bool read_options(int argc, char **argv)
{
    static const struct option names[] = {
        { "first", 1, NULL, 'f' }, { "count", 1, NULL, 'c' },  { "one", 1, NULL, 'o' },     { "seconds", 1, NULL, 's' },
        { "task", 1, NULL, 't' },  { "kernel", 1, NULL, 'k' }, { "jobs", 1, NULL, 'j' },    { "cpu", 1, NULL, 'p' },
        { "list", 0, NULL, 'l' },  { "dump", 1, NULL, 'd' },   { "remarks", 0, NULL, 'r' }, { "qp", 0, NULL, 'q' },
        { "tools", 0, NULL, 'w' }, { "slow", 1, NULL, 'S' },   { NULL, 0, NULL, 0 }
    };
    for (int c; (c = getopt_long(argc, argv, "", names, NULL)) != -1;)
        switch (c) {
        case 'o':
            verbose = true;
            options.count = 1; /* fall through */
        case 'f':
            options.first = strtoull(optarg, NULL, 10);
            break;
        case 'c':
            options.count = strtoull(optarg, NULL, 10);
            break;
        case 's':
            options.seconds = atof(optarg);
            break;
        case 't':
            options.task = atoi(optarg);
            break;
        case 'k':
            options.kernel = atoi(optarg);
            break;
        case 'j':
            options.jobs = atoi(optarg);
            break;
        case 'p':
            options.cpu = atof(optarg);
            break;
        case 'S':
            options.slow = atof(optarg);
            break;
        case 'd':
            options.dump = optarg;
            break;
        case 'l':
            options.list = true;
            break;
        case 'r':
            options.remarks = true;
            break;
        case 'q':
            options.qp_only = true;
            break;
        case 'w':
            options.tools = true;
            break;
        default:
            return false;
        }
    return optind == argc && options.jobs >= 1 && options.jobs <= MAX_JOBS && options.cpu > 0;
}

int main(int argc, char **argv)
{
    if (getenv("OMP_WAIT_POLICY") == NULL) { /* threads that wait are not to count as work */
        setenv("OMP_WAIT_POLICY", "passive", 1);
        execv("/proc/self/exe", argv);
    }
    if (!read_options(argc, argv)) {
        fputs(usage_text, stderr);
        return 2;
    }
    return options.dump != NULL ? dump_one() : options.list ? list_all() : run_all();
}

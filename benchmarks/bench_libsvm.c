/*
 * hinge and LIBSVM in one process: the same examples, C, gamma, eps and cache, in turn, so many times each.
 *
 * Both get memory that the system has handed out before (fresh pages of a virtual machine are slow, once).
 * hinge gets rows of doubles, LIBSVM its own sparse nodes, made outside the clock. LIBSVM has one thread, hinge
 * has
 * --threads. Seconds are medians by the wall clock; everything else is of the last run.
 */
#include "benchmarks/sets.h"

#include <libsvm/svm.h>
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_REPEAT = 99 };

struct options {
    const char *folder, *csv, *names; /* names: "a9a,mnist", or NULL: all that are there */
    int threads, repeat;
    int libsvm_repeat; /* 0: do not run it */
    double eps, cache_mb;
    double time_limit, libsvm_limit; /* of one training, in seconds; 0: none */
    int rows, test_rows;             /* at most; 0: all; rows -1: by the table of sets */
    int list, help;                  /* print that, and stop */
    int no_libsvm, no_restart;
};

/* What one training and prediction came to, of either contestant. */
struct run {
    double seconds, predict_seconds;
    double objective, score; /* score: accuracy in per cent, or mean squared error */
    double memory_mb;        /* most memory in use during training, less what was in use before */
    size_t n_sv;
    int gave_up; /* LIBSVM: killed at --libsvm-limit; seconds is the limit, nothing else is known */
};

static _Noreturn void fail(const char *what, const char *text)
{
    fprintf(stderr, "bench_libsvm: %s: %s\n", what, text);
    exit(1);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *allocate(size_t n, size_t size)
{
    void *memory = calloc(n ? n : 1, size);
    if (!memory)
        fail("memory", "not enough of it");
    return memory;
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

/* A line "key:  123 kB" of a file under /proc, in MB; 0 where there is none. */
static double proc_mb(const char *path, const char *key)
{
    char line[256];
    double kb = 0;
    size_t length = strlen(key);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, key, length) == 0 && line[length] == ':')
            kb = strtod(line + length + 1, NULL);
    if (file)
        fclose(file);
    return kb / 1024;
}

/* Lets the peak (VmHWM) start again at what is in use now, which is returned. What was freed goes back to the
 * system first, or the next run would use it without being seen. */
static double start_peak(void)
{
    malloc_trim(0);
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (file) {
        fputs("5", file);
        fclose(file);
    }
    return proc_mb("/proc/self/status", "VmRSS");
}

static double peak_mb(void)
{
    return proc_mb("/proc/self/status", "VmHWM");
}

/* Has the system find as much memory as a run may take, and gives it back. */
static void touch_memory(const struct part *train, double cache_mb)
{
    double n = (double)train->n, d = (double)train->d;
    double rows_mb = n * n * 8 / 1048576; /* f64 rows at most */
    double mb = (rows_mb < cache_mb ? rows_mb : cache_mb) + 3 * n * d * 8 / 1048576 + 200;
    double available = 0.8 * proc_mb("/proc/meminfo", "MemAvailable");
    size_t bytes = (size_t)((mb < available ? mb : available) * 1048576);
    volatile char *memory = malloc(bytes);
    if (!memory)
        return;
    for (size_t i = 0; i < bytes; i += 4096)
        memory[i] = 1;
    free((void *)memory);
}

/* --- score -------------------------------------------------------------------------------------------------------- */

static int is_regression(hinge_task task)
{
    return task == HINGE_EPSILON_SVR || task == HINGE_NU_SVR;
}

static const char *score_name(hinge_task task)
{
    return is_regression(task) ? "MSE" : task == HINGE_ONE_CLASS ? "accepted %" : "accuracy %";
}

/* Per cent of right labels (one-class: of examples accepted), or the mean squared error. */
static double score_of(hinge_task task, const double *predicted, const double *y, size_t n)
{
    double right = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        right += task == HINGE_ONE_CLASS ? predicted[i] > 0 : predicted[i] == y[i];
        squares += (predicted[i] - y[i]) * (predicted[i] - y[i]);
    }
    return is_regression(task) ? squares / (double)n : 100 * right / (double)n;
}

/* --- hinge -------------------------------------------------------------------------------------------------------- */

static struct run run_hinge(const struct set *set, const struct sample *sample, const struct options *options,
                            hinge_report *report)
{
    const struct part *train = &sample->train, *test = &sample->test;
    hinge_matrix x = hinge_matrix_f64(train->x, train->n, train->d);
    hinge_matrix x_test = hinge_matrix_f64(test->x, test->n, test->d);
    hinge_predict_options predict_options = { .threads = options->threads };
    hinge_params params = hinge_params_default(set->task);
    params.kernel = hinge_kernel_rbf(set->gamma);
    params.C = set->C;
    params.p = params.nu = set->p;
    params.eps = options->eps;
    params.threads = options->threads;
    params.cache_bytes = (size_t)(options->cache_mb * 1048576);
    params.time_limit = options->time_limit;

    struct run run = { 0 };
    hinge_model *model = NULL;
    hinge_error err;
    double *predicted = allocate(test->n, sizeof *predicted);
    double before = start_peak(), start = now();
    if (hinge_train(&model, &x, train->y, &params, report, &err) != HINGE_OK)
        fail(set->name, err.text);
    run.seconds = now() - start;
    run.memory_mb = peak_mb() - before;
    start = now();
    if (hinge_predict(model, &x_test, &predict_options, predicted, NULL, &err) != HINGE_OK)
        fail(set->name, err.text);
    run.predict_seconds = now() - start;
    run.score = score_of(set->task, predicted, test->y, test->n);
    run.objective = report->objective;
    run.n_sv = report->n_sv;
    hinge_model_free(model);
    free(predicted);
    return run;
}

/* --- LIBSVM ------------------------------------------------------------------------------------------------------- */

/* LIBSVM tells the objective only in what it prints: "obj = %f, rho = %f", once a pair of classes. */
static double libsvm_objective;

static void listen_to_libsvm(const char *text)
{
    const char *found = strstr(text, "obj = ");
    if (found)
        libsvm_objective += strtod(found + strlen("obj = "), NULL);
}

/* Rows as LIBSVM takes them: nodes of what is not 0. nodes[0 ... n-1] point into *memory. */
static struct svm_node **make_nodes(const struct part *part, struct svm_node **memory)
{
    size_t entries = part->n; /* each row ends with a node of index -1 */
    for (size_t i = 0; i < part->n * part->d; i++)
        entries += part->x[i] != 0;
    struct svm_node *node = *memory = allocate(entries, sizeof *node);
    struct svm_node **nodes = allocate(part->n, sizeof(struct svm_node *));
    for (size_t i = 0; i < part->n; i++) {
        nodes[i] = node;
        for (size_t j = 0; j < part->d; j++)
            if (part->x[i * part->d + j] != 0)
                *node++ = (struct svm_node){ (int)j + 1, part->x[i * part->d + j] };
        *node++ = (struct svm_node){ -1, 0 };
    }
    return nodes;
}

static struct run run_libsvm(const struct set *set, const struct sample *sample, const struct options *options,
                             struct svm_node **train_nodes, struct svm_node **test_nodes)
{
    const struct part *train = &sample->train, *test = &sample->test;
    struct svm_problem problem = { (int)train->n, train->y, train_nodes };
    struct svm_parameter parameter = {
        .svm_type = (int)set->task, /* hinge's values are LIBSVM's */
        .kernel_type = RBF,
        .gamma = set->gamma,
        .cache_size = options->cache_mb,
        .eps = options->eps,
        .C = set->C,
        .p = set->p,
        .nu = set->p,
        .shrinking = 1,
    };
    const char *complaint = svm_check_parameter(&problem, &parameter);
    if (complaint)
        fail(set->name, complaint);

    struct run run = { 0 };
    double *predicted = allocate(test->n, sizeof *predicted);
    libsvm_objective = 0;
    svm_set_print_string_function(listen_to_libsvm);
    double before = start_peak(), start = now();
    struct svm_model *model = svm_train(&problem, &parameter);
    run.seconds = now() - start;
    alarm(0); /* the limit, where there is one, is for training */
    run.memory_mb = peak_mb() - before;
    start = now();
    for (size_t i = 0; i < test->n; i++)
        predicted[i] = svm_predict(model, test_nodes[i]);
    run.predict_seconds = now() - start;
    run.score = score_of(set->task, predicted, test->y, test->n);
    run.objective = libsvm_objective;
    run.n_sv = (size_t)model->l;
    svm_free_and_destroy_model(&model);
    free(predicted);
    return run;
}

/* The same in a child process, which the system kills when training and prediction take longer than the limit.
 */
static struct run run_libsvm_limited(const struct set *set, const struct sample *sample,
                                     const struct options *options, struct svm_node **train_nodes,
                                     struct svm_node **test_nodes)
{
    int ends[2];
    if (pipe(ends) != 0)
        fail(set->name, "no pipe");
    pid_t child = fork();
    if (child < 0)
        fail(set->name, "no child process");
    if (child == 0) {
        alarm((unsigned)options->libsvm_limit + (options->libsvm_limit < 1));
        struct run run = run_libsvm(set, sample, options, train_nodes, test_nodes);
        _exit(write(ends[1], &run, sizeof run) != (ssize_t)sizeof run);
    }
    close(ends[1]);
    struct run run;
    if (read(ends[0], &run, sizeof run) != (ssize_t)sizeof run)
        run = (struct run){ .seconds = options->libsvm_limit, .gave_up = 1 };
    close(ends[0]);
    waitpid(child, NULL, 0);
    return run;
}

/* --- one set ------------------------------------------------------------------------------------------------------ */

struct contest {
    struct run hinge, libsvm; /* seconds are medians */
    int libsvm_runs;
    hinge_report report;
};

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, by_size);
    return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

static struct contest compete(const struct set *set, const struct sample *sample, const struct options *options)
{
    struct contest contest = { 0 };
    double hinge_train[MAX_REPEAT], hinge_predict[MAX_REPEAT], train[MAX_REPEAT], predict[MAX_REPEAT];
    struct svm_node *train_memory = NULL, *test_memory = NULL, **train_nodes = NULL, **test_nodes = NULL;
    if (options->libsvm_repeat > 0) {
        train_nodes = make_nodes(&sample->train, &train_memory);
        test_nodes = make_nodes(&sample->test, &test_memory);
    }
    touch_memory(&sample->train, options->cache_mb);
    for (int r = 0; r < options->repeat; r++) {
        contest.hinge = run_hinge(set, sample, options, &contest.report);
        hinge_train[r] = contest.hinge.seconds;
        hinge_predict[r] = contest.hinge.predict_seconds;
        if (r >= options->libsvm_repeat || contest.libsvm.gave_up)
            continue;
        contest.libsvm = (options->libsvm_limit > 0 ? run_libsvm_limited : run_libsvm)(set, sample, options,
                                                                                       train_nodes, test_nodes);
        train[r] = contest.libsvm.seconds;
        predict[r] = contest.libsvm.predict_seconds;
        contest.libsvm_runs++;
    }
    contest.hinge.seconds = median(hinge_train, options->repeat);
    contest.hinge.predict_seconds = median(hinge_predict, options->repeat);
    if (contest.libsvm_runs > 0 && !contest.libsvm.gave_up) {
        contest.libsvm.seconds = median(train, contest.libsvm_runs);
        contest.libsvm.predict_seconds = median(predict, contest.libsvm_runs);
    }
    free(train_nodes);
    free(train_memory);
    free(test_nodes);
    free(test_memory);
    return contest;
}

/* --- output ------------------------------------------------------------------------------------------------------- */

static double rows_per_sv(const hinge_report *report)
{
    return report->n_sv ? (double)report->rows_computed / (double)report->n_sv : 0;
}

static void print_run(const char *who, const struct set *set, const struct run *run)
{
    if (run->gave_up) {
        printf("  %-7s > %.0f s (stopped)\n", who, run->seconds);
        return;
    }
    printf("  %-7s %10.3f s  objective %-16.10g %8zu SVs  %s %.6g  prediction %.3f s  memory +%.0f MB\n", who,
           run->seconds, run->objective, run->n_sv, score_name(set->task), run->score,
           run->predict_seconds, run->memory_mb);
}

static void print_contest(const struct set *set, const struct sample *sample, const struct options *options,
                          const struct contest *contest)
{
    const hinge_report *report = &contest->report;
    printf("%s: %zu x %zu, %zu for the test; C %g, gamma %g, eps %g, cache %g MB, %d thread%s, %s\n", set->name,
           sample->train.n, sample->train.d, sample->test.n, set->C, set->gamma, options->eps,
           options->cache_mb, report->threads, report->threads == 1 ? "" : "s", report->blas);
    print_run("hinge", set, &contest->hinge);
    printf("          %s; %.2f rows computed a SV, %.0f GFLOP/s, violation %.2g, error %.2g; %s\n",
           hinge_outcome_text(report->outcome), rows_per_sv(report), report->gflop / report->seconds,
           report->violation, report->error, report->path);
    printf("          rows %.3f s, selection %.3f, block %.3f, subproblem %.3f, certificate %.3f; %zu rounds\n",
           report->phase.rows, report->phase.select, report->phase.block, report->phase.subproblem,
           report->phase.certificate, (size_t)report->rounds);
    if (contest->libsvm_runs > 0) {
        print_run("LIBSVM", set, &contest->libsvm);
        printf("  ratio   %s%.3g", contest->libsvm.gave_up ? "> " : "",
               contest->libsvm.seconds / contest->hinge.seconds);
        if (!contest->libsvm.gave_up)
            printf(", objectives differ by %.1e relative",
                   (contest->hinge.objective - contest->libsvm.objective) / fabs(contest->libsvm.objective));
        printf("\n");
    }
    fflush(stdout);
}

/* One line a set; what is not known stays empty. The last two columns may hold commas and are quoted. */
static void write_csv(FILE *csv, const struct set *set, const struct sample *sample,
                      const struct options *options, const struct contest *contest)
{
    const struct run *h = &contest->hinge, *l = &contest->libsvm;
    const hinge_report *report = &contest->report;
    fprintf(csv, "%s,%s,%zu,%zu,%zu,%zu,%g,%g,%g,%g,%g,%d,%d,%d,", set->name,
            is_regression(set->task) ? "regression" : "classification", sample->train.n, sample->train.d,
            sample->test.n, report->n_classes, set->C, set->gamma, set->p, options->eps, options->cache_mb,
            report->threads, options->repeat, contest->libsvm_runs);
    fprintf(csv, "%.6g,%.10g,%zu,%.6g,%.6g,%.0f,", h->seconds, h->objective, h->n_sv, h->score,
            h->predict_seconds, h->memory_mb);
    if (contest->libsvm_runs == 0)
        fprintf(csv, ",,,,,,,,");
    else if (l->gave_up)
        fprintf(csv, "%.6g,1,%.6g,,,,,,", l->seconds, l->seconds / h->seconds);
    else
        fprintf(csv, "%.6g,0,%.6g,%.10g,%zu,%.6g,%.6g,%.0f,", l->seconds, l->seconds / h->seconds, l->objective,
                l->n_sv, l->score, l->predict_seconds, l->memory_mb);
    fprintf(csv, "%.6g,%.6g,%.4g,%.4g,%s,%s,\"%s\",\"%s\"\n", rows_per_sv(report),
            report->gflop / report->seconds, report->violation, report->error,
            hinge_outcome_text(report->outcome), report->precision == HINGE_PRECISION_F64 ? "f64" : "f32",
            report->blas, report->path);
    fflush(csv);
}

static FILE *open_csv(const char *path)
{
    if (!path)
        return NULL;
    FILE *csv = fopen(path, "a");
    if (!csv)
        fail(path, "cannot be written");
    fseek(csv, 0, SEEK_END);
    if (ftell(csv) == 0)
        fprintf(csv, "set,task,n,d,n_test,classes,C,gamma,p,eps,cache_mb,threads,hinge_runs,libsvm_runs,"
                     "hinge_s,hinge_objective,hinge_nsv,hinge_score,hinge_predict_s,hinge_mb,"
                     "libsvm_s,libsvm_gave_up,ratio,libsvm_objective,libsvm_nsv,libsvm_score,libsvm_predict_s,"
                     "libsvm_mb,rows_per_sv,gflops,violation,error,outcome,precision,blas,path\n");
    return csv;
}

/* --- command ------------------------------------------------------------------------------------------------------ */

static const char usage[] =
    "bench_libsvm [option]...: trains and tests hinge and LIBSVM on the same data, and compares them\n"
    "  --data FOLDER        of NAME.train.xz and NAME.test.xz; default: the environment's HINGE_DATA\n"
    "  --sets NAME,NAME     default: all known sets that are in the folder\n"
    "  --list               print the known sets that are in the folder, and stop\n"
    "  --repeat N           runs of each, 1 ... 99; default 3\n"
    "  --libsvm-repeat N    runs of LIBSVM if fewer\n"
    "  --no-libsvm          hinge alone\n"
    "  --libsvm-limit S     end LIBSVM's run after S seconds (it then runs in a process of its own)\n"
    "  --time-limit S       hinge's own limit for a training\n"
    "  --threads N          of hinge; default 2\n"
    "  --eps E              default 0.001\n"
    "  --cache MB           of each; default 4096\n"
    "  --rows N             use N training rows at most (0: all); default: 50000 for covtype, all for others\n"
    "  --test-rows N        use N test rows at most (0: all); default 20000\n"
    "  --csv FILE           append a line a set\n"
    "  --no-restart         keep the BLAS kernels OpenBLAS chose, though the processor has faster ones\n";

static void print_sets(const char *folder)
{
    for (size_t i = 0; i < n_sets; i++)
        if (set_is_there(&sets[i], folder))
            puts(sets[i].name);
}

enum kind { TEXT, COUNT, NUMBER, FLAG };

/* Sets *target (const char *, int, double, int) from the text; count and number are >= 0. */
static void set_option(const char *name, enum kind kind, void *target, const char *text)
{
    char *end = NULL;
    if (kind == TEXT)
        *(const char **)target = text;
    else if (kind == COUNT)
        *(int *)target = (int)strtol(text, &end, 10);
    else if (kind == NUMBER)
        *(double *)target = strtod(text, &end);
    else
        *(int *)target = 1;
    if (end && (end == text || *end || (kind == COUNT && *(int *)target < 0) ||
                (kind == NUMBER && !(*(double *)target >= 0))))
        fail(name, "wants a number, 0 or more");
}

static struct options read_options(int argc, char **argv)
{
    struct options o = { .folder = getenv("HINGE_DATA"),
                         .threads = 2,
                         .repeat = 3,
                         .libsvm_repeat = MAX_REPEAT,
                         .eps = 1e-3,
                         .cache_mb = 4096,
                         .rows = -1,
                         .test_rows = 20000 };
    const struct {
        const char *name;
        enum kind kind;
        void *target;
    } known[] = {
        { "--data", TEXT, &o.folder },
        { "--sets", TEXT, &o.names },
        { "--csv", TEXT, &o.csv },
        { "--list", FLAG, &o.list },
        { "--help", FLAG, &o.help },
        { "--repeat", COUNT, &o.repeat },
        { "--libsvm-repeat", COUNT, &o.libsvm_repeat },
        { "--no-libsvm", FLAG, &o.no_libsvm },
        { "--libsvm-limit", NUMBER, &o.libsvm_limit },
        { "--time-limit", NUMBER, &o.time_limit },
        { "--threads", COUNT, &o.threads },
        { "--eps", NUMBER, &o.eps },
        { "--cache", NUMBER, &o.cache_mb },
        { "--rows", COUNT, &o.rows },
        { "--test-rows", COUNT, &o.test_rows },
        { "--no-restart", FLAG, &o.no_restart },
    };
    const size_t n_known = sizeof known / sizeof *known;
    for (int i = 1; i < argc; i++) {
        size_t k = 0;
        while (k < n_known && strcmp(known[k].name, argv[i]) != 0)
            k++;
        if (k == n_known)
            fail(argv[i], "no such option (try --help)");
        if (known[k].kind != FLAG && i + 1 == argc)
            fail(argv[i], "wants a value");
        set_option(argv[i], known[k].kind, known[k].target, known[k].kind != FLAG ? argv[i + 1] : NULL);
        i += known[k].kind != FLAG;
    }
    if (o.repeat < 1 || o.repeat > MAX_REPEAT)
        fail("--repeat", "wants 1 ... 99");
    if (o.no_libsvm)
        o.libsvm_repeat = 0;
    return o;
}

/* OpenBLAS picks its kernels when it is loaded: where they are not the processor's best, start again and say
 * so. */
static void restart_with_fast_blas(char **argv)
{
    if (!hinge_machine_info().blas_slow || getenv("OPENBLAS_CORETYPE"))
        return;
    setenv("OPENBLAS_CORETYPE", "SkylakeX", 1);
    execv("/proc/self/exe", argv);
}

static void bench(const struct set *set, const struct options *options, FILE *csv)
{
    struct sample sample;
    hinge_error err;
    size_t rows = options->rows < 0 ? set->max_rows : (size_t)options->rows;
    if (set_load(set, options->folder, rows, (size_t)options->test_rows, &sample, &err) != HINGE_OK)
        fail(set->name, err.text);
    struct contest contest = compete(set, &sample, options);
    print_contest(set, &sample, options, &contest);
    if (csv)
        write_csv(csv, set, &sample, options, &contest);
    sample_free(&sample);
}

/* The sets named, or all that are there. */
static void bench_all(const struct options *options, FILE *csv)
{
    if (!options->names) {
        for (size_t i = 0; i < n_sets; i++)
            if (set_is_there(&sets[i], options->folder))
                bench(&sets[i], options, csv);
        return;
    }
    char *names = strdup(options->names);
    for (char *name = names ? strtok(names, ",") : NULL; name; name = strtok(NULL, ",")) {
        const struct set *set = set_find(name);
        if (!set)
            fail(name, "no such set (benchmarks/sets.c has the table)");
        bench(set, options, csv);
    }
    free(names);
}

int main(int argc, char **argv)
{
    struct options options = read_options(argc, argv);
    if (options.help) {
        fputs(usage, stdout);
        return 0;
    }
    if (!options.folder)
        fail("--data", "give a folder, or set HINGE_DATA");
    if (options.list) {
        print_sets(options.folder);
        return 0;
    }
    if (!options.no_restart)
        restart_with_fast_blas(argv);
    FILE *csv = open_csv(options.csv);
    hinge_machine machine = hinge_machine_info();
    printf("hinge %s (%s%s) against LIBSVM %d.%02d\n", hinge_version(), machine.blas,
           machine.blas_slow ? ", without this processor's AVX-512" : "", libsvm_version / 100,
           libsvm_version % 100);
    bench_all(&options, csv);
    if (csv)
        fclose(csv);
    return 0;
}

/* Linux and its like: see system.h. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common.h"

extern char **environ;

/* ---- The process ---- */

static const char *program = "hinge";

void system_begin(int *argc, char ***argv)
{
    if (*argc > 0)
        program = base_name((*argv)[0]);
}

const char *program_name(void)
{
    return program;
}

double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int terminal_width(void)
{
    struct winsize size = { 0 };
    if (!isatty(STDERR_FILENO))
        return 0;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || !size.ws_col ? 80 : size.ws_col;
}

/* macOS counts bytes, others kilobytes. */
uint64_t peak_bytes(void)
{
    struct rusage used;
#ifdef __APPLE__
    const uint64_t unit = 1;
#else
    const uint64_t unit = 1024;
#endif
    return getrusage(RUSAGE_SELF, &used) ? 0 : (uint64_t)used.ru_maxrss * unit;
}

struct system_work system_work(void)
{
    struct rusage used = { 0 };
    getrusage(RUSAGE_SELF, &used);
    return (struct system_work){ (double)used.ru_stime.tv_sec + 1e-6 * (double)used.ru_stime.tv_usec,
                                 (uint64_t)used.ru_minflt };
}

int set_variable(const char *name, const char *value)
{
    return setenv(name, value, 1);
}

void on_interruption(void (*function)(int number))
{
    struct sigaction action = { 0 };
    action.sa_handler = function ? function : SIG_DFL;
    action.sa_flags = function ? (int)SA_RESETHAND : 0;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
}

/* A system that has no such file goes on. */
void start_again(char **argv)
{
    execv("/proc/self/exe", argv);
}

/* ---- Files ---- */

const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

FILE *file_open(const char *path, const char *mode)
{
    return fopen(path, mode);
}

enum path_kind path_kind(const char *path)
{
    struct stat status;
    if (stat(path, &status))
        return PATH_NONE;
    return S_ISREG(status.st_mode) ? PATH_FILE : S_ISDIR(status.st_mode) ? PATH_FOLDER : PATH_OTHER;
}

int is_same_file(const char *path, const char *other)
{
    struct stat status, second;
    if (stat(path, &status) || stat(other, &second))
        return strcmp(path, other) == 0;
    return S_ISREG(status.st_mode) && status.st_dev == second.st_dev && status.st_ino == second.st_ino;
}

int may_write_in(const char *folder)
{
    return !access(folder, W_OK | X_OK);
}

int make_folder(const char *path)
{
    return mkdir(path, 0777) && errno != EEXIST;
}

FILE *file_beside(const char *path, char **temporary)
{
    mode_t mask = umask(0);
    int fd;
    umask(mask);
    *temporary = join(path, ".XXXXXX", "");
    fd = mkstemp(*temporary);
    if (fd >= 0)
        (void)!fchmod(fd, 0666 & ~mask);
    return fd < 0 ? NULL : fdopen(fd, "w");
}

char *file_behind(const char *path)
{
    char *found = realpath(path, NULL);
    return found ? found : join(path, "", "");
}

int file_replace(const char *from, const char *to)
{
    return rename(from, to);
}

void file_remove(const char *path)
{
    unlink(path);
}

FILE *nameless_file(void)
{
    const char *folder = getenv("TMPDIR");
    char *path = join(folder && *folder ? folder : "/tmp", "/", "hinge-plot-XXXXXX");
    int fd = mkstemp(path);
    if (fd >= 0)
        unlink(path);
    free(path);
    return fd < 0 ? NULL : fdopen(fd, "w+");
}

/* ---- Another program ---- */

const char *const standard_input = "/dev/stdin";

/* What a signal that ends the command takes with it. */
static struct {
    const char *picture; /* the unfinished one, "": there is none */
    pid_t child;         /* the running gnuplot, or 0 */
} left = { "", 0 };

/* Raises the signal again, which now has its default action (SA_RESETHAND) and ends the command. */
static void on_signal(int number)
{
    if (left.child)
        kill(left.child, SIGTERM);
    unlink(left.picture);
    raise(number);
}

void remove_at_signal(const char *unfinished)
{
    static const int ends[] = { SIGINT, SIGTERM, SIGHUP };
    struct sigaction action = { 0 };
    left.picture = unfinished;
    action.sa_handler = on_signal;
    action.sa_flags = (int)SA_RESETHAND;
    sigemptyset(&action.sa_mask);
    for (size_t k = 0; k < COUNT_OF(ends); k++)
        sigaction(ends[k], &action, NULL);
}

int run_program(char *const *words, FILE *input)
{
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status, error = posix_spawn_file_actions_init(&actions);
    if (!error)
        error = posix_spawn_file_actions_adddup2(&actions, fileno(input), STDIN_FILENO);
    if (!error)
        error = posix_spawnp(&child, words[0], &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error)
        return error;
    left.child = child;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return errno;
    left.child = 0;
    return WIFEXITED(status) ? -WEXITSTATUS(status) : -1;
}

/* Drawing by gnuplot: see gnuplot.h. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gnuplot.h"

extern char **environ;

/* What is removed when the command ends, in whatever way. A signal handler reads it, so it holds plain names. */
static struct {
    char folder[4096];    /* the temporary folder, or "" */
    const char *files[8]; /* names in the folder */
    int descriptor;       /* the open folder */
    char *picture;        /* the unfinished picture, or NULL */
    pid_t child;          /* the running gnuplot, or 0 */
} left;

static void clean(void)
{
    if (left.child)
        kill(left.child, SIGTERM);
    if (left.picture)
        unlink(left.picture);
    for (size_t k = 0; k < COUNT_OF(left.files) && left.folder[0] && left.files[k]; k++)
        unlinkat(left.descriptor, left.files[k], 0);
    if (left.folder[0])
        rmdir(left.folder);
}

/* Cleans up and raises the signal again, which now has its default action (SA_RESETHAND) and ends the command. */
static void on_signal(int number)
{
    clean();
    raise(number);
}

static void clean_at_end(void)
{
    static const int ends[] = { SIGINT, SIGTERM, SIGHUP };
    struct sigaction action = { 0 };
    action.sa_handler = on_signal;
    action.sa_flags = (int)SA_RESETHAND;
    sigemptyset(&action.sa_mask);
    for (size_t k = 0; k < COUNT_OF(ends); k++)
        sigaction(ends[k], &action, NULL);
    atexit(clean);
}

static const struct terminal {
    const char *ending, *line;
    double points; /* size of points, so that they look alike */
} terminals[] = {
    { ".svg", "svg size 960,640 dynamic font 'Helvetica,14' background '#ffffff'", 0.5 },
    { ".png", "pngcairo size 1440,960 font 'Sans,15' background '#ffffff'", 1 },
};

static const struct terminal *terminal_of(const char *picture)
{
    for (size_t k = 0; k < COUNT_OF(terminals); k++)
        if (strlen(picture) > strlen(terminals[k].ending) && ends_in(picture, terminals[k].ending))
            return &terminals[k];
    die(EXIT_USAGE, "'%s' ends neither in .svg nor in .png, as a picture must", picture);
}

static void make_folder(struct gnuplot *g, const char *keep)
{
    const char *temporary = getenv("TMPDIR");
    if (keep) {
        g->keep = 1;
        if (mkdir(keep, 0777) && errno != EEXIST)
            die(EXIT_DATA, "%s: cannot make the folder: %s", keep, strerror(errno));
        g->folder = realpath(keep, NULL);
    } else {
        g->folder = allocate(4096, 1);
        snprintf(g->folder, 4096, "%s/hinge-plot-XXXXXX", temporary && *temporary ? temporary : "/tmp");
        if (!mkdtemp(g->folder))
            die(EXIT_DATA, "%s: cannot make the folder: %s", g->folder, strerror(errno));
    }
    if (!g->folder)
        die(EXIT_DATA, "%s: %s", keep, strerror(errno));
    clean_at_end();
    if (keep)
        return;
    left.descriptor = open(g->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    snprintf(left.folder, sizeof left.folder, "%s", g->folder);
}

void gnuplot_check(const char *picture)
{
    terminal_of(picture);
    check_writable(picture, NULL);
}

void gnuplot_open(struct gnuplot *g, const char *picture, const char *keep)
{
    const struct terminal *terminal = terminal_of(picture);
    memset(g, 0, sizeof *g);
    g->picture = picture;
    check_writable(picture, NULL);
    make_folder(g, keep);
    g->script = gnuplot_file(g, "plot.gp", "# gnuplot plot.gp draws plot");
    fprintf(g->script, "%s\nif (!exists('picture')) picture = 'plot%s'\n", terminal->ending, terminal->ending);
    fprintf(g->script, "set terminal %s\nset output picture\nset encoding utf8\nscale = %g\n", terminal->line,
            terminal->points);
}

FILE *gnuplot_file(const struct gnuplot *g, const char *name, const char *head)
{
    char *path = join(g->folder, "/", name);
    FILE *file;
    size_t k = 0;
    while (left.files[k] && k + 1 < COUNT_OF(left.files))
        k++;
    left.files[k] = name;
    file = open_file(path, "w");
    fputs(head, file);
    free(path);
    return file;
}

void gnuplot_close_file(FILE *file)
{
    int failed = ferror(file);
    if (fclose(file) || failed)
        die(EXIT_DATA, "cannot write data for gnuplot: %s", strerror(errno));
}

/* Makes `start` and, behind it, the text in gnuplot's single quotes; the caller frees it. */
static char *quoted(const char *start, const char *text)
{
    size_t used = strlen(start);
    char *line = allocate(used + 2 * strlen(text) + 3, 1);
    memcpy(line, start, used);
    line[used++] = '\'';
    for (; *text; text++) {
        if (*text == '\'')
            line[used++] = '\'';
        line[used++] = *text;
    }
    line[used] = '\'';
    return line;
}

void gnuplot_title(const struct gnuplot *g, const char *set, const char *format, ...)
{
    char text[400], *line;
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    line = quoted("title ", text);
    fprintf(g->script, "%s%s noenhanced", set, line);
    free(line);
}

/* Makes the file that holds the picture until it is whole, so that nobody else has the name; the caller frees it. */
static char *beside(const char *picture)
{
    char *path, *whole;
    int fd = open_beside(picture, &path);
    if (fd < 0)
        die(EXIT_DATA, "%s: cannot write: %s", picture, strerror(errno));
    close(fd);
    whole = realpath(path, NULL); /* gnuplot works in another folder */
    free(path);
    return whole;
}

/* Runs a program to its end. Returns 0, or what went wrong: an error number, or minus the exit code. */
static int run(char *const *words)
{
    pid_t child;
    int status, error;
    error = posix_spawnp(&child, words[0], NULL, NULL, words, environ);
    if (error)
        return error;
    left.child = child;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return errno;
    left.child = 0;
    return WIFEXITED(status) ? -WEXITSTATUS(status) : -1;
}

void gnuplot_draw(struct gnuplot *g)
{
    char name[] = "gnuplot", option[] = "-e";
    char *temporary = beside(g->picture), *to = quoted("picture = ", temporary), *in = quoted("cd ", g->folder);
    char *script = join(g->folder, "/", "plot.gp"), *words[] = { name, option, in, option, to, script, NULL };
    struct stat made = { 0 };
    int failed;
    left.picture = temporary;
    gnuplot_close_file(g->script);
    setenv("LC_ALL", "C.UTF-8", 1); /* labels and titles are UTF-8, and numbers have a point */
    failed = run(words);
    if (!failed && (stat(temporary, &made) || made.st_size == 0))
        failed = -1;
    if (!failed && rename(temporary, g->picture))
        failed = errno;
    if (failed)
        unlink(temporary);
    left.picture = NULL;
    free(temporary);
    free(to);
    free(in);
    free(script);
    if (failed && g->keep)
        fprintf(stderr, "hinge: data and script are in %s\n", g->folder);
    free(g->folder);
    if (failed == ENOENT)
        die(EXIT_DATA, "gnuplot is not installed (Debian: apt-get install gnuplot-nox); with --keep FOLDER data and "
                       "script are kept for drawing elsewhere");
    if (failed)
        die(EXIT_DATA, "%s: gnuplot could not draw it: %s", g->picture,
            failed > 0 ? strerror(failed) : "see its message above");
}

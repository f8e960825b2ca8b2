/* Drawing by gnuplot: see gnuplot.h. */
#include <errno.h>
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

void gnuplot_check(const char *picture)
{
    terminal_of(picture);
    check_writable(picture, NULL);
}

/* Makes a file without a name, which is gone when it is closed; NULL: it cannot be made. */
static FILE *nameless_file(void)
{
    const char *folder = getenv("TMPDIR");
    char *path = join(folder && *folder ? folder : "/tmp", "/", "hinge-plot-XXXXXX");
    int fd = mkstemp(path);
    if (fd >= 0)
        unlink(path);
    free(path);
    return fd < 0 ? NULL : fdopen(fd, "w+");
}

void gnuplot_open(struct gnuplot *g, const char *picture, const char *keep)
{
    const struct terminal *terminal = terminal_of(picture);
    check_writable(picture, NULL);
    if (keep && mkdir(keep, 0777) && errno != EEXIST)
        die(EXIT_DATA, "%s: cannot make the folder: %s", keep, strerror(errno));
    g->picture = picture;
    g->kept = keep ? join(keep, "/", "plot.gp") : NULL;
    g->script = keep ? open_file(g->kept, "w+") : nameless_file();
    if (!g->script)
        die(EXIT_DATA, "cannot make a temporary file: %s", strerror(errno));
    fprintf(g->script, "# gnuplot plot.gp draws plot%s\nif (!exists('picture')) picture = 'plot%s'\n",
            terminal->ending, terminal->ending);
    fprintf(g->script, "set terminal %s\nset output picture\nset encoding utf8\nscale = %g\n", terminal->line,
            terminal->points);
}

FILE *gnuplot_data(const struct gnuplot *g, const char *name, const char *comment)
{
    fprintf(g->script, "# %s\n$%s << END\n", comment, name);
    return g->script;
}

void gnuplot_end_data(const struct gnuplot *g)
{
    fputs("END\n", g->script);
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

void gnuplot_title(const struct gnuplot *g, const char *start, const char *format, ...)
{
    char text[400], *line;
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    line = quoted(start, text);
    fprintf(g->script, "%s noenhanced", line);
    free(line);
}

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

static void catch_ends(void)
{
    static const int ends[] = { SIGINT, SIGTERM, SIGHUP };
    struct sigaction action = { 0 };
    action.sa_handler = on_signal;
    action.sa_flags = (int)SA_RESETHAND;
    sigemptyset(&action.sa_mask);
    for (size_t k = 0; k < COUNT_OF(ends); k++)
        sigaction(ends[k], &action, NULL);
}

/* Runs a program to its end, with a file as its standard input. Returns 0, or what went wrong: an error number, or
 * minus the exit code. */
static int run(char *const *words, FILE *input)
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

void gnuplot_draw(struct gnuplot *g)
{
    char name[] = "gnuplot", option[] = "-e", script[] = "/dev/stdin", *to;
    struct output out;
    struct stat made = { 0 };
    int failed;
    if (fflush(g->script) || ferror(g->script))
        die(EXIT_DATA, "cannot write the script for gnuplot: %s", strerror(errno));
    rewind(g->script);
    output_open(&out, g->picture);
    if (out.temporary)
        left.picture = out.temporary;
    catch_ends();
    setenv("LC_ALL", "C.UTF-8", 1); /* labels and titles are UTF-8, and numbers have a point */
    to = quoted("picture = ", out.temporary ? out.temporary : out.path);
    failed = run((char *[]){ name, option, to, script, NULL }, g->script);
    if (!failed && out.temporary && (stat(out.temporary, &made) || made.st_size == 0))
        failed = -1;
    fclose(g->script);
    free(to);
    if (failed && g->kept)
        fprintf(stderr, "hinge: the script, with its data, is %s\n", g->kept);
    free(g->kept);
    if (failed == ENOENT)
        die(EXIT_DATA, "gnuplot is not installed (Debian: apt-get install gnuplot-nox); with --keep FOLDER data and "
                       "script are kept for drawing elsewhere");
    if (failed)
        die(EXIT_DATA, "%s: gnuplot could not draw it: %s", g->picture,
            failed > 0 ? strerror(failed) : "see its message above");
    left.picture = "";
    output_close(&out);
}

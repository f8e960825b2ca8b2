/* Drawing by gnuplot: see gnuplot.h. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "gnuplot.h"

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

void gnuplot_open(struct gnuplot *g, const char *picture, const char *keep)
{
    const struct terminal *terminal = terminal_of(picture);
    check_writable(picture, NULL);
    if (keep && make_folder(keep))
        die(EXIT_DATA, "%s: cannot make the folder: %s", keep, strerror(errno));
    g->picture = picture;
    g->kept = keep ? join(keep, "/", "plot.gp") : NULL;
    g->script = keep ? open_file(g->kept, "w+") : nameless_file();
    if (!g->script)
        die(EXIT_DATA, "cannot make a temporary file: %s", strerror(errno));
    fprintf(g->script, "# gnuplot plot.gp draws plot%s\nif (!exists('picture')) picture = 'plot%s'\n", terminal->ending,
            terminal->ending);
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

static int is_empty(const char *path)
{
    FILE *file = file_open(path, "rb");
    int empty = !file || getc(file) == EOF;
    if (file)
        fclose(file);
    return empty;
}

void gnuplot_draw(struct gnuplot *g)
{
    char name[] = "gnuplot", option[] = "-e", *script = join(standard_input, "", ""), *to;
    struct output out;
    int failed;
    if (fflush(g->script) || ferror(g->script))
        die(EXIT_DATA, "cannot write the script for gnuplot: %s", strerror(errno));
    rewind(g->script);
    output_open(&out, g->picture);
    set_variable("LC_ALL", "C.UTF-8"); /* labels and titles are UTF-8, and numbers have a point */
    to = quoted("picture = ", out.temporary ? out.temporary : out.path);
    remove_at_signal(out.temporary ? out.temporary : "");
    failed = run_program((char *[]){ name, option, to, script, NULL }, g->script);
    if (!failed && out.temporary && is_empty(out.temporary))
        failed = -1;
    fclose(g->script);
    free(to);
    free(script);
    if (failed && g->kept)
        fprintf(stderr, "hinge: the script, with its data, is %s\n", g->kept);
    free(g->kept);
    if (failed == ENOENT)
        die(EXIT_DATA, "gnuplot is not installed (Debian: apt-get install gnuplot-nox); with --keep FOLDER data and "
                       "script are kept for drawing elsewhere");
    if (failed)
        die(EXIT_DATA, "%s: gnuplot could not draw it: %s", g->picture,
            failed > 0 ? strerror(failed) : "see its message above");
    remove_at_signal("");
    output_close(&out);
}

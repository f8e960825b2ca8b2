/*
 * What the command asks of the system: system_posix.c answers for Linux and its like, system_windows.c for Windows.
 * No other file of the command includes a system's header or asks which one this is (test/layering.py). Paths are
 * UTF-8; errno tells of a failure.
 */
#ifndef HINGE_TOOLS_SYSTEM_H
#define HINGE_TOOLS_SYSTEM_H

#include <stdint.h>
#include <stdio.h>

/* Functions whose argument `text` is a printf format; of printf's two kinds on Windows it is that of C. */
#if defined(__MINGW_PRINTF_FORMAT)
#define PRINTF_LIKE(text, first) __attribute__((format(__MINGW_PRINTF_FORMAT, text, first)))
#elif defined(__GNUC__)
#define PRINTF_LIKE(text, first) __attribute__((format(printf, text, first)))
#else
#define PRINTF_LIKE(text, first)
#endif

/* ---- The process ---- */

/* Makes words of the command line UTF-8, and standard streams bytes; before anything else. */
void system_begin(int *argc, char ***argv);
const char *program_name(void); /* as it was called, without its folder */
double now(void);               /* seconds of a clock that only goes forward */
int terminal_width(void);       /* columns of stderr, 0: no terminal */
uint64_t peak_bytes(void);      /* the most memory that was held; 0: the system does not tell */
/* What the system did for the process so far. */
struct system_work {
    double seconds;
    uint64_t page_faults;
};
struct system_work system_work(void);
int set_variable(const char *name, const char *value); /* of the environment; 0: done */
/* Has the user's interruption call a function, once; NULL: it ends the process, as usual. */
void on_interruption(void (*function)(int number));
/* Starts this program anew in its place, with these words, or returns. */
void start_again(char **argv);

/* ---- Files ---- */

const char *base_name(const char *path);                          /* what follows the last slash */
FILE *file_open(const char *path, const char *mode);              /* fopen */
enum path_kind { PATH_NONE, PATH_FILE, PATH_FOLDER, PATH_OTHER }; /* other: a pipe, a terminal, a device */
enum path_kind path_kind(const char *path);
int is_same_file(const char *path, const char *other); /* a regular one, or one that may become it */
int may_write_in(const char *folder);
int make_folder(const char *path); /* 0: it is there now */
/* Opens a new file beside path, with the rights that a new file has; NULL: it cannot be made. *temporary becomes its
 * name, the caller's. */
FILE *file_beside(const char *path, char **temporary);
/* Returns the file that path stands for, links followed; path itself where there is none yet; the caller's. */
char *file_behind(const char *path);
int file_replace(const char *from, const char *to); /* 0: `to` is what `from` was */
void file_remove(const char *path);
FILE *nameless_file(void); /* gone when it is closed; NULL: it cannot be made */

/* ---- Another program ---- */

extern const char *const standard_input; /* what gnuplot calls it */
/* Runs a program to its end, with a file as its standard input. Returns 0, or what went wrong: an error number, or
 * minus the exit code. */
int run_program(char *const *words, FILE *input);
/* Has a signal that ends this process end the other too, and remove an unfinished file; "": there is none. */
void remove_at_signal(const char *unfinished);

#endif

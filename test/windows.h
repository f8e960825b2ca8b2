/*
 * What tests take from POSIX, for Windows; compilers include it in front of each file of them there (meson.build).
 * Packed data sets are read unpacked from the folder HINGE_UNPACKED, since programs of other systems cannot be run.
 */
#ifndef HINGE_TEST_WINDOWS_H
#define HINGE_TEST_WINDOWS_H

#include <direct.h>
#include <io.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static inline char *mkdtemp(char *path)
{
    return _mktemp(path) != NULL && _mkdir(path) == 0 ? path : NULL;
}

static inline int setenv(const char *name, const char *value, int replace)
{
    (void)replace;
    return _putenv_s(name, value);
}

static inline ssize_t getline(char **line, size_t *room, FILE *file)
{
    size_t n = 0;
    for (int c = 0; c != '\n' && (c = getc(file)) != EOF; (*line)[n++] = (char)c, (*line)[n] = '\0')
        if (n + 2 > *room || *line == NULL)
            *line = realloc(*line, *room = 2 * *room + 128);
    return n > 0 ? (ssize_t)n : -1;
}

static inline void *memmem(const void *in, size_t size, const void *what, size_t length)
{
    for (const char *p = in; size >= length; p++, size--)
        if (memcmp(p, what, length) == 0)
            return (void *)(uintptr_t)p;
    return NULL;
}

static inline char *strcasestr(const char *in, const char *what)
{
    for (; *in != '\0'; in++)
        if (_strnicmp(in, what, strlen(what)) == 0)
            return (char *)(uintptr_t)in;
    return NULL;
}

/* Of the command "xz -dc 'FOLDER/NAME'". */
static inline FILE *unpacked(const char *command)
{
    const char *slash = strrchr(command, '/'), *folder = getenv("HINGE_UNPACKED");
    char path[512];
    snprintf(path, sizeof path, "%s%.*s", folder != NULL ? folder : ".", slash != NULL ? (int)strcspn(slash, "'") : 0,
             slash != NULL ? slash : "");
    return fopen(path, "rb");
}

#undef popen
#undef pclose
#define popen(command, mode) unpacked(command)
#define pclose(file) fclose(file)
#define readlink(path, text, size) ((void)(path), (void)(text), -1)
#define aligned_alloc(alignment, size) malloc(size) /* free takes it back; vector moves need no alignment */

#endif

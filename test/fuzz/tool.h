/*
 * Parts of the hinge command as a library: they end by exit() and leave to it what they hold. Here exit() goes back
 * to tool_run, and what was held is freed. Messages go nowhere. To be included before sources of tools/.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"

enum { TOOL_HOLDS = 4096 };
static struct {
    jmp_buf end;
    int code;
    void *memory[TOOL_HOLDS];
    size_t held;
    FILE *files[16], *nowhere;
} tool;

static void *tool_keep(void *memory)
{
    CHECK(tool.held < TOOL_HOLDS);
    if (memory != NULL)
        tool.memory[tool.held++] = memory;
    return memory;
}

static void tool_forget(void *memory)
{
    size_t i = 0;
    while (i < tool.held && tool.memory[i] != memory)
        i++;
    if (i < tool.held)
        tool.memory[i] = tool.memory[--tool.held];
}

static void tool_free(void *memory)
{
    tool_forget(memory);
    free(memory);
}

static void *tool_realloc(void *memory, size_t size)
{
    CHECK(size <= 2 * (size_t)FUZZ_MEMORY);
    tool_forget(memory);
    return tool_keep(realloc(memory, size));
}

static void *tool_calloc(size_t count, size_t size)
{
    CHECK(size == 0 || count <= 2 * (size_t)FUZZ_MEMORY / size);
    return tool_keep(calloc(count, size));
}

static FILE *tool_open(FILE *file)
{
    for (size_t i = 0; file != NULL && i < 16; i++)
        if (tool.files[i] == NULL)
            return tool.files[i] = file;
    CHECK(file == NULL);
    return NULL;
}

static int tool_close(FILE *file)
{
    for (size_t i = 0; i < 16; i++)
        if (tool.files[i] == file)
            tool.files[i] = NULL;
    return fclose(file);
}

static _Noreturn void tool_exit(int code)
{
    tool.code = code;
    longjmp(tool.end, 1);
}

/* Runs task(arg); true: it came to its end, and did not call exit(). */
static bool tool_run(void (*task)(void *arg), void *arg)
{
    if (tool.nowhere == NULL)
        tool.nowhere = fopen("/dev/null", "w");
    CHECK(tool.nowhere != NULL);
    tool.code = 0;
    bool ended = setjmp(tool.end) != 0;
    if (!ended)
        task(arg);
    for (size_t i = 0; i < 16; i++)
        if (tool.files[i] != NULL)
            tool_close(tool.files[i]);
    while (tool.held > 0)
        free(tool.memory[--tool.held]);
    CHECK(tool.code >= 0 && tool.code <= 2); /* as common.h names them */
    return !ended;
}

#undef stderr
#undef stdout
#undef putchar
#define stderr tool.nowhere
#define stdout tool.nowhere
#define exit(code) tool_exit(code)
#define free(memory) tool_free(memory)
#define calloc(count, size) tool_calloc(count, size)
#define realloc(memory, size) tool_realloc(memory, size)
#define fopen(path, mode) tool_open(fopen(path, mode))
#define fdopen(file, mode) tool_open(fdopen(file, mode))
#define fclose(file) tool_close(file)
#define printf(...) fprintf(tool.nowhere, __VA_ARGS__)
#define puts(text) fprintf(tool.nowhere, "%s\n", text)
#define putchar(c) fputc(c, tool.nowhere)

/* Windows: see system.h. Paths and words are UTF-8 here, and UTF-16 for the system. */
#include <direct.h>
#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <windows.h>
#include <shellapi.h>
#define PSAPI_VERSION 2 /* of the kernel's library, so that no other one is linked */
#include <psapi.h>

#include "common.h"

/* Makes UTF-16 of UTF-8, the caller's; what is no UTF-8 names no file. */
static wchar_t *wide(const char *text)
{
    int length = MultiByteToWideChar(CP_UTF8, 0, text, -1, NULL, 0);
    wchar_t *out = allocate((size_t)length + 1, sizeof *out);
    MultiByteToWideChar(CP_UTF8, 0, text, -1, out, length);
    return out;
}

static char *narrow(const wchar_t *text)
{
    int length = WideCharToMultiByte(CP_UTF8, 0, text, -1, NULL, 0, NULL, NULL);
    char *out = allocate((size_t)length + 1, 1);
    WideCharToMultiByte(CP_UTF8, 0, text, -1, out, length, NULL, NULL);
    return out;
}

/* ---- The process ---- */

static char *program;
static UINT output_page; /* of characters, as the console had it */

static void restore_console(void)
{
    SetConsoleOutputCP(output_page);
}

void system_begin(int *argc, char ***argv)
{
    int count;
    wchar_t **words = CommandLineToArgvW(GetCommandLineW(), &count);
    _setmode(_fileno(stdin), _O_BINARY);
    _setmode(_fileno(stdout), _O_BINARY);
    output_page = GetConsoleOutputCP();
    if (output_page && output_page != CP_UTF8 && SetConsoleOutputCP(CP_UTF8))
        atexit(restore_console);
    if (words) {
        *argc = count;
        *argv = allocate((size_t)count + 1, sizeof **argv);
        for (int k = 0; k < count; k++)
            (*argv)[k] = narrow(words[k]);
        LocalFree(words);
    }
    program = join(base_name(*argc > 0 ? (*argv)[0] : "hinge"), "", "");
    if (ends_in(program, ".exe"))
        program[strlen(program) - 4] = '\0';
}

const char *program_name(void)
{
    return program;
}

double now(void)
{
    LARGE_INTEGER count, frequency;
    QueryPerformanceCounter(&count);
    QueryPerformanceFrequency(&frequency);
    return (double)count.QuadPart / (double)frequency.QuadPart;
}

/* A console that does not know escapes, by which lines are wiped, is none. */
int terminal_width(void)
{
    HANDLE console = (HANDLE)_get_osfhandle(_fileno(stderr));
    CONSOLE_SCREEN_BUFFER_INFO info;
    DWORD mode;
    if (!_isatty(_fileno(stderr)) || !GetConsoleMode(console, &mode) ||
        !SetConsoleMode(console, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING) ||
        !GetConsoleScreenBufferInfo(console, &info))
        return 0;
    return info.srWindow.Right - info.srWindow.Left + 1;
}

uint64_t peak_bytes(void)
{
    PROCESS_MEMORY_COUNTERS memory;
    return GetProcessMemoryInfo(GetCurrentProcess(), &memory, sizeof memory) ? memory.PeakWorkingSetSize : 0;
}

struct system_work system_work(void)
{
    PROCESS_MEMORY_COUNTERS memory = { .PageFaultCount = 0 };
    FILETIME begun, ended, system = { 0, 0 }, user;
    GetProcessTimes(GetCurrentProcess(), &begun, &ended, &system, &user);
    GetProcessMemoryInfo(GetCurrentProcess(), &memory, sizeof memory);
    return (struct system_work){ 1e-7 * (system.dwHighDateTime * 4294967296.0 + system.dwLowDateTime),
                                 memory.PageFaultCount };
}

int set_variable(const char *name, const char *value)
{
    return _putenv_s(name, value);
}

/* The C library takes a handler away as it calls it. */
void on_interruption(void (*function)(int number))
{
    signal(SIGINT, function ? function : SIG_DFL);
}

/* Windows puts no program in another one's place: this one waits for its like and ends as that does. */
void start_again(char **argv)
{
    wchar_t path[32768], *line = _wcsdup(GetCommandLineW());
    STARTUPINFOW start = { .cb = sizeof start };
    PROCESS_INFORMATION child;
    DWORD code = EXIT_DATA, length = GetModuleFileNameW(NULL, path, COUNT_OF(path));
    (void)argv;
    if (!line || !length || length >= COUNT_OF(path) ||
        !CreateProcessW(path, line, NULL, NULL, TRUE, 0, NULL, NULL, &start, &child))
        return;
    SetConsoleCtrlHandler(NULL, TRUE); /* an interruption is the other's */
    WaitForSingleObject(child.hProcess, INFINITE);
    GetExitCodeProcess(child.hProcess, &code);
    exit((int)code);
}

/* ---- Files ---- */

const char *base_name(const char *path)
{
    const char *name = path;
    for (; *path; path++)
        if (*path == '/' || *path == '\\' || *path == ':')
            name = path + 1;
    return name;
}

static FILE *open_as_bytes(const wchar_t *path, const char *mode)
{
    wchar_t how[8] = { 0 };
    size_t n = 0;
    for (; *mode && n < COUNT_OF(how) - 2; mode++)
        if (*mode != 'b')
            how[n++] = (wchar_t)*mode;
    how[n] = L'b';
    return _wfopen(path, how);
}

FILE *file_open(const char *path, const char *mode)
{
    wchar_t *name = wide(path);
    FILE *file = open_as_bytes(name, mode);
    free(name);
    return file;
}

enum path_kind path_kind(const char *path)
{
    size_t length = strlen(path);
    char *bare = join(path, "", ""); /* Windows knows no folder by a slash at its end */
    struct _stat64 status;
    while (length > 1 && (bare[length - 1] == '/' || bare[length - 1] == '\\') && bare[length - 2] != ':')
        bare[--length] = '\0';
    wchar_t *name = wide(bare);
    int failed = _wstat64(name, &status);
    free(name);
    free(bare);
    if (failed)
        return PATH_NONE;
    return status.st_mode & _S_IFREG ? PATH_FILE : status.st_mode & _S_IFDIR ? PATH_FOLDER : PATH_OTHER;
}

/* Compares full paths, whose letters stand for their capitals too. */
int is_same_file(const char *path, const char *other)
{
    wchar_t *a = wide(path), *b = wide(other), *full_a = _wfullpath(NULL, a, 0), *full_b = _wfullpath(NULL, b, 0);
    enum path_kind kind = path_kind(path);
    int same = full_a && full_b && _wcsicmp(full_a, full_b) == 0 && (kind == PATH_FILE || kind == PATH_NONE);
    free(a);
    free(b);
    free(full_a);
    free(full_b);
    return same;
}

/* Tries it by a file that goes away with its handle: the bit "read-only" says nothing of folders. */
int may_write_in(const char *folder)
{
    char number[40];
    snprintf(number, sizeof number, "/.hinge-%lu", (unsigned long)GetCurrentProcessId());
    char *path = join(folder, number, "");
    wchar_t *name = wide(path);
    HANDLE file = CreateFileW(name, GENERIC_WRITE, 0, NULL, CREATE_NEW, FILE_FLAG_DELETE_ON_CLOSE, NULL);
    int may = file != INVALID_HANDLE_VALUE;
    if (may)
        CloseHandle(file);
    else
        errno = EACCES;
    free(name);
    free(path);
    return may;
}

int make_folder(const char *path)
{
    wchar_t *name = wide(path);
    int failed = _wmkdir(name) && errno != EEXIST;
    free(name);
    return failed;
}

/* Opens a new file whose name begins so, and goes on with a number that is free. */
static FILE *new_file(const char *begin, int goes_away, char **path)
{
    int flags = _O_RDWR | _O_CREAT | _O_EXCL | _O_BINARY | _O_NOINHERIT | (goes_away ? _O_TEMPORARY : 0), fd = -1;
    for (unsigned k = 0; k < 1000 && fd < 0; k++) {
        char number[24];
        snprintf(number, sizeof number, ".%06x", (unsigned)(GetCurrentProcessId() * 1000 + k) & 0xffffff);
        *path = join(begin, number, "");
        wchar_t *name = wide(*path);
        fd = _wopen(name, flags, _S_IREAD | _S_IWRITE);
        free(name);
        if (fd < 0 && errno != EEXIST)
            return NULL;
        if (fd < 0)
            free(*path);
    }
    return fd < 0 ? NULL : _fdopen(fd, "w+b");
}

FILE *file_beside(const char *path, char **temporary)
{
    return new_file(path, 0, temporary);
}

char *file_behind(const char *path)
{
    return join(path, "", "");
}

int file_replace(const char *from, const char *to)
{
    wchar_t *old = wide(from), *name = wide(to);
    int done = MoveFileExW(old, name, MOVEFILE_REPLACE_EXISTING);
    free(old);
    free(name);
    if (!done)
        errno = EACCES; /* another program has the file open, most often */
    return !done;
}

void file_remove(const char *path)
{
    wchar_t *name = wide(path);
    _wunlink(name);
    free(name);
}

FILE *nameless_file(void)
{
    wchar_t folder[MAX_PATH + 2] = { 0 };
    GetTempPathW(COUNT_OF(folder), folder);
    char *begin = narrow(folder), *path = join(begin, "hinge-plot", ""), *name = NULL;
    FILE *file = new_file(path, 1, &name);
    free(begin);
    free(path);
    free(name);
    return file;
}

/* ---- Another program ---- */

const char *const standard_input = "-";

void remove_at_signal(const char *unfinished) /* an interruption of the console goes to both programs */
{
    (void)unfinished;
}

/* Puts words in quotes, as programs there take their command line apart. */
static char *command_line(char *const *words)
{
    size_t room = 1;
    for (char *const *word = words; *word; word++)
        room += 2 * strlen(*word) + 3;
    char *line = allocate(room, 1), *out = line;
    for (char *const *word = words; *word; word++) {
        size_t backslashes = 0;
        *out++ = '"';
        for (const char *p = *word; *p; *out++ = *p++) {
            for (backslashes += *p == '"'; *p == '"' && backslashes; backslashes--)
                *out++ = '\\';
            backslashes = *p == '\\' ? backslashes + 1 : 0;
        }
        for (; backslashes; backslashes--)
            *out++ = '\\';
        *out++ = '"';
        *out++ = ' ';
    }
    return line;
}

int run_program(char *const *words, FILE *input)
{
    HANDLE own = GetCurrentProcess(), in;
    PROCESS_INFORMATION child;
    DWORD code = 1;
    if (!DuplicateHandle(own, (HANDLE)_get_osfhandle(_fileno(input)), own, &in, 0, TRUE, DUPLICATE_SAME_ACCESS))
        return EBADF;
    STARTUPINFOW start = { .cb = sizeof start,
                           .dwFlags = STARTF_USESTDHANDLES,
                           .hStdInput = in,
                           .hStdOutput = GetStdHandle(STD_OUTPUT_HANDLE),
                           .hStdError = GetStdHandle(STD_ERROR_HANDLE) };
    char *line = command_line(words);
    wchar_t *text = wide(line);
    int begun = CreateProcessW(NULL, text, NULL, NULL, TRUE, 0, NULL, NULL, &start, &child);
    int error = begun ? 0 : GetLastError() == ERROR_FILE_NOT_FOUND ? ENOENT : EACCES;
    free(line);
    free(text);
    CloseHandle(in);
    if (!begun)
        return error;
    WaitForSingleObject(child.hProcess, INFINITE);
    GetExitCodeProcess(child.hProcess, &code);
    CloseHandle(child.hProcess);
    CloseHandle(child.hThread);
    return -(int)code;
}

/*
 * Windows (system.h), by its wide interface: names come as UTF-8. Files are numbered as the C library numbers them, so
 * that errno tells of their failures.
 */
#include "lib/base/base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <locale.h>
#include <share.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <windows.h>

/* ---- pages ------------------------------------------------------------------------------------------------------- */

/* Large pages want a right that few have. */
void hg_ask_for_huge_pages(void *memory, size_t bytes)
{
    (void)memory;
    (void)bytes;
}

void *hg_take_pages(size_t bytes)
{
    return VirtualAlloc(NULL, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
}

void hg_give_pages(void *memory, size_t bytes)
{
    (void)bytes;
    VirtualFree(memory, 0, MEM_RELEASE);
}

/* ---- the machine and its clocks ---------------------------------------------------------------------------------- */

/* Takes the least of the machine's memory and what a job object lets this process have; 1 GB where nobody says. */
size_t hg_total_memory(void)
{
    MEMORYSTATUSEX status = { .dwLength = sizeof status };
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION job;
    size_t total = GlobalMemoryStatusEx(&status) && status.ullTotalPhys > 0
                       ? (size_t)HG_MIN(status.ullTotalPhys, (DWORDLONG)SIZE_MAX)
                       : (size_t)1 << 30;
    if (!QueryInformationJobObject(NULL, JobObjectExtendedLimitInformation, &job, sizeof job, NULL))
        return total;
    if ((job.BasicLimitInformation.LimitFlags & JOB_OBJECT_LIMIT_PROCESS_MEMORY) != 0 && job.ProcessMemoryLimit > 0)
        total = HG_MIN(total, job.ProcessMemoryLimit);
    if ((job.BasicLimitInformation.LimitFlags & JOB_OBJECT_LIMIT_JOB_MEMORY) != 0 && job.JobMemoryLimit > 0)
        total = HG_MIN(total, job.JobMemoryLimit);
    return total;
}

double hg_now(void)
{
    LARGE_INTEGER count, frequency;
    QueryPerformanceCounter(&count);
    QueryPerformanceFrequency(&frequency);
    return (double)count.QuadPart / (double)frequency.QuadPart;
}

static double seconds_of(FILETIME time)
{
    return 1e-7 * ((double)time.dwHighDateTime * 4294967296.0 + (double)time.dwLowDateTime);
}

/* Windows counts in steps of some 15 ms: sums over many jobs are right. */
double hg_processor_time(void)
{
    FILETIME begun, ended, system, user;
    return GetThreadTimes(GetCurrentThread(), &begun, &ended, &system, &user) ? seconds_of(system) + seconds_of(user)
                                                                              : hg_now();
}

void hg_yield(void)
{
    SwitchToThread();
}

uint64_t hg_process(void)
{
    return GetCurrentProcessId();
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

/* Makes UTF-16 of UTF-8, to be freed by free; NULL: no memory, or it is no UTF-8, as errno tells. */
static wchar_t *wide(const char *text)
{
    int length = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, NULL, 0);
    errno = length > 0 ? ENOMEM : EILSEQ;
    wchar_t *out = length > 0 ? malloc((size_t)length * sizeof *out) : NULL;
    if (out != NULL)
        MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, out, length);
    return out;
}

/* Returns another number for the standard stream that a path of other systems stands for; -1: it stands for none. */
static int standard_stream(const char *path)
{
    static const char *const names[] = { "/dev/stdin", "/dev/stdout", "/dev/stderr" };
    for (int k = 0; k < 3; k++)
        if (strcmp(path, names[k]) == 0)
            return k;
    return -1;
}

/* Opens files as bytes: lines keep their ends. Others may read, rename and remove what is read here meanwhile. */
int hg_file_open(const char *path, enum hg_file_use use)
{
    int flags = use == HG_TO_READ ? _O_RDONLY : use == HG_TO_WRITE ? _O_WRONLY : _O_WRONLY | _O_CREAT | _O_EXCL;
    int stream = standard_stream(path), file = stream < 0 ? -1 : _dup(stream);
    if (stream >= 0) {
        if (file >= 0)
            _setmode(file, _O_BINARY);
        return file;
    }
    wchar_t *name = wide(path);
    if (name != NULL)
        file = _wopen(name, flags | _O_BINARY | _O_NOINHERIT, _S_IREAD | _S_IWRITE);
    free(name);
    return file;
}

ptrdiff_t hg_file_read(int file, void *bytes, size_t size)
{
    return _read(file, bytes, (unsigned)HG_MIN(size, (size_t)1 << 30));
}

ptrdiff_t hg_file_write(int file, const void *bytes, size_t size)
{
    return _write(file, bytes, (unsigned)HG_MIN(size, (size_t)1 << 20));
}

bool hg_file_sync(int file)
{
    return _commit(file) == 0;
}

bool hg_file_close(int file)
{
    return _close(file) == 0;
}

/* The view keeps the file; the mapping's handle need not stay. */
void *hg_file_map(int file, size_t *size)
{
    HANDLE handle = (HANDLE)_get_osfhandle(file);
    LARGE_INTEGER bytes;
    *size = 0;
    if (GetFileType(handle) != FILE_TYPE_DISK || !GetFileSizeEx(handle, &bytes) || bytes.QuadPart <= 0 ||
        (uint64_t)bytes.QuadPart > PTRDIFF_MAX)
        return NULL;
    HANDLE mapping = CreateFileMappingW(handle, NULL, PAGE_READONLY, 0, 0, NULL);
    void *mapped = mapping != NULL ? MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, 0) : NULL;
    if (mapping != NULL)
        CloseHandle(mapping);
    if (mapped != NULL)
        *size = (size_t)bytes.QuadPart;
    return mapped;
}

void hg_file_unmap(void *mapped, size_t size)
{
    (void)size;
    UnmapViewOfFile(mapped);
}

/* Takes a folder, a device or a pipe for something that is there and no regular file. */
struct hg_file_info hg_file_look(const char *path)
{
    struct hg_file_info info = { .exists = standard_stream(path) >= 0 };
    wchar_t *name = info.exists ? NULL : wide(path);
    struct _stat64 status;
    if (name != NULL && _wstat64(name, &status) == 0)
        info = (struct hg_file_info){ true, (status.st_mode & _S_IFMT) == _S_IFREG, 0, (uint64_t)status.st_size };
    free(name);
    return info;
}

/* A new file has the rights that its folder passes on. */
void hg_file_allow(int file, const struct hg_file_info *like)
{
    (void)file;
    (void)like;
}

/* Follows no links, which are rare there: a path stays as it is. */
char *hg_file_resolve(const char *path)
{
    return strdup(path);
}

const char *hg_file_name(const char *path)
{
    const char *name = path;
    for (; *path != '\0'; path++)
        if (*path == '/' || *path == '\\' || *path == ':')
            name = path + 1;
    return name;
}

/* Makes an errno of the system's number, of the few that a rename may have. */
static int errno_of(DWORD error)
{
    switch (error) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
        return ENOENT;
    case ERROR_ACCESS_DENIED:
    case ERROR_SHARING_VIOLATION: /* another program has the file open, or mapped */
    case ERROR_USER_MAPPED_FILE:
        return EACCES;
    case ERROR_DISK_FULL:
        return ENOSPC;
    case ERROR_NOT_ENOUGH_MEMORY:
        return ENOMEM;
    default:
        return EIO;
    }
}

bool hg_path_is_absolute(const char *path)
{
    return path[0] == '/' || path[0] == '\\' || (path[0] != '\0' && path[1] == ':');
}

bool hg_file_rename(const char *from, const char *to)
{
    wchar_t *old = wide(from), *name = old != NULL ? wide(to) : NULL;
    bool done = name != NULL;
    if (done && !MoveFileExW(old, name, MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH)) {
        errno = errno_of(GetLastError());
        done = false;
    }
    free(old);
    free(name);
    return done;
}

bool hg_file_remove(const char *path)
{
    wchar_t *name = wide(path);
    bool done = name != NULL && _wunlink(name) == 0;
    free(name);
    return done;
}

bool hg_folder_visit(const char *path, void (*visit)(void *arg, const char *name), void *arg)
{
    wchar_t *name = wide(path);
    _WDIR *folder = name != NULL ? _wopendir(name) : NULL;
    free(name);
    if (folder == NULL)
        return false;
    for (const struct _wdirent *entry = _wreaddir(folder); entry != NULL; entry = _wreaddir(folder)) {
        char utf8[4 * FILENAME_MAX];
        if (WideCharToMultiByte(CP_UTF8, 0, entry->d_name, -1, utf8, (int)sizeof utf8, NULL, NULL) > 0)
            visit(arg, utf8);
    }
    _wclosedir(folder);
    return true;
}

const char *hg_error_text(int number, char room[HG_ERROR_ROOM])
{
    if (strerror_s(room, HG_ERROR_ROOM, number) != 0)
        snprintf(room, HG_ERROR_ROOM, "system error %d", number);
    return room;
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

/* Reads by mingw-w64's strtod, which rounds to the nearest, where msvcrt's does not. It takes the locale's point, which
 * is put into a copy where that is another one. */
double hg_number(const char *text, char **stop)
{
    const char *point = localeconv()->decimal_point, *dot = strchr(text, '.');
    size_t before = dot != NULL ? (size_t)(dot - text) : 0, length = strlen(point);
    char *copy = dot == NULL || strcmp(point, ".") == 0 ? NULL : malloc(strlen(text) + length);
    if (copy == NULL)
        return strtod(text, stop);
    memcpy(copy, text, before);
    memcpy(copy + before, point, length);
    strcpy(copy + before + length, dot + 1);
    double value = strtod(copy, stop);
    size_t read = (size_t)(*stop - copy);
    *stop = (char *)(uintptr_t)text + (read > before ? read - length + 1 : read);
    free(copy);
    return value;
}

/* See faults.h. */
#include "test/faults.h"
#include "hg_config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#if HG_HAVE_LZMA
#include <lzma.h>
#endif
#if HG_HAVE_ZLIB
#include <zlib.h>
#endif

static struct {
    enum fault_kind kind;
    long k, count, failed;
    bool on;
    int error;
} order;
static long held;

void faults_begin(enum fault_kind kind, long k, bool on, int error)
{
    order.k = k;
    order.count = order.failed = 0;
    order.on = on;
    order.error = error;
    order.kind = kind;
}

long faults_end(long *failed)
{
    order.kind = FAULT_NONE;
    if (failed != NULL)
        *failed = order.failed;
    return order.count;
}

long faults_held(void)
{
    return __atomic_load_n(&held, __ATOMIC_SEQ_CST);
}

static bool is_due(void)
{
    long at = __atomic_add_fetch(&order.count, 1, __ATOMIC_SEQ_CST);
    bool due = order.k > 0 && (at == order.k || (order.on && at > order.k));
    if (due)
        __atomic_add_fetch(&order.failed, 1, __ATOMIC_SEQ_CST);
    return due;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static bool no_memory(void)
{
    if (order.kind != FAULT_MEMORY || !is_due())
        return false;
    errno = ENOMEM;
    return true;
}

static void *hold(void *memory)
{
    if (memory != NULL)
        __atomic_add_fetch(&held, 1, __ATOMIC_SEQ_CST);
    return memory;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
char *__real_strdup(const char *text);
char *__real_realpath(const char *path, char *resolved);
void __real_free(void *memory);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_realpath(const char *path, char *resolved);
void __wrap_free(void *memory);

void *__wrap_malloc(size_t size)
{
    return no_memory() ? NULL : hold(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
    return no_memory() ? NULL : hold(__real_calloc(count, size));
}

void *__wrap_realloc(void *memory, size_t size)
{
    void *other = no_memory() ? NULL : __real_realloc(memory, size);
    return memory == NULL ? hold(other) : other;
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return no_memory() ? NULL : hold(__real_aligned_alloc(alignment, size));
}

char *__wrap_strdup(const char *text)
{
    return no_memory() ? NULL : hold(__real_strdup(text));
}

char *__wrap_realpath(const char *path, char *resolved)
{
    if (resolved == NULL && no_memory())
        return NULL;
    char *path_found = __real_realpath(path, resolved);
    return resolved == NULL ? hold(path_found) : path_found;
}

void __wrap_free(void *memory)
{
    if (memory != NULL)
        __atomic_sub_fetch(&held, 1, __ATOMIC_SEQ_CST);
    __real_free(memory);
}

/* Two names of each: which one a call goes to depends on _FILE_OFFSET_BITS. */
#define WRAP_MMAP(name) \
    void *__real_##name(void *at, size_t size, int protection, int flags, int fd, off_t offset); \
    void *__wrap_##name(void *at, size_t size, int protection, int flags, int fd, off_t offset); \
    void *__wrap_##name(void *at, size_t size, int protection, int flags, int fd, off_t offset) \
    { \
        if (no_memory()) \
            return MAP_FAILED; \
        void *memory = __real_##name(at, size, protection, flags, fd, offset); \
        if (memory != MAP_FAILED) \
            hold(memory); \
        return memory; \
    }
WRAP_MMAP(mmap)
WRAP_MMAP(mmap64)

int __real_munmap(void *memory, size_t size);
int __wrap_munmap(void *memory, size_t size);

int __wrap_munmap(void *memory, size_t size)
{
    __atomic_sub_fetch(&held, 1, __ATOMIC_SEQ_CST);
    return __real_munmap(memory, size);
}

#if HG_HAVE_LZMA
lzma_ret __real_lzma_stream_decoder(lzma_stream *stream, uint64_t limit, uint32_t flags);
lzma_ret __wrap_lzma_stream_decoder(lzma_stream *stream, uint64_t limit, uint32_t flags);

lzma_ret __wrap_lzma_stream_decoder(lzma_stream *stream, uint64_t limit, uint32_t flags)
{
    return no_memory() ? LZMA_MEM_ERROR : __real_lzma_stream_decoder(stream, limit, flags);
}
#endif

#if HG_HAVE_ZLIB
int __real_inflateInit2_(z_stream *stream, int bits, const char *version, int size);
int __wrap_inflateInit2_(z_stream *stream, int bits, const char *version, int size);

int __wrap_inflateInit2_(z_stream *stream, int bits, const char *version, int size)
{
    return no_memory() ? Z_MEM_ERROR : __real_inflateInit2_(stream, bits, version, size);
}
#endif

/* ---- files ------------------------------------------------------------------------------------------------------- */

static bool no_file(void)
{
    if ((order.kind != FAULT_FILE && order.kind != FAULT_KILL) || !is_due())
        return false;
    if (order.kind == FAULT_KILL)
        raise(SIGKILL);
    errno = order.error;
    return true;
}

ssize_t __real_write(int fd, const void *bytes, size_t size);
int __real_fsync(int fd);
int __real_close(int fd);
int __real_rename(const char *from, const char *to);
ssize_t __wrap_write(int fd, const void *bytes, size_t size);
int __wrap_fsync(int fd);
int __wrap_close(int fd);
int __wrap_rename(const char *from, const char *to);

ssize_t __wrap_write(int fd, const void *bytes, size_t size)
{
    if (order.kind == FAULT_SHORT) {
        if (is_due() || order.count % 2 == 0) {
            errno = EINTR;
            return -1;
        }
        return __real_write(fd, bytes, size < 7 ? size : 7);
    }
    if (order.kind == FAULT_KILL && order.count + 1 == order.k)
        (void)!__real_write(fd, bytes, size / 2);
    return no_file() ? -1 : __real_write(fd, bytes, size);
}

int __wrap_fsync(int fd)
{
    return no_file() ? -1 : __real_fsync(fd);
}

int __wrap_close(int fd)
{
    bool fails = no_file();
    int error = errno, result = __real_close(fd); /* as Linux does: the descriptor is gone whatever it says */
    errno = fails ? error : errno;
    return fails ? -1 : result;
}

int __wrap_rename(const char *from, const char *to)
{
    return no_file() ? -1 : __real_rename(from, to);
}

#define WRAP_OPEN(name) \
    int __real_##name(const char *path, int flags, ...); \
    int __wrap_##name(const char *path, int flags, ...); \
    int __wrap_##name(const char *path, int flags, ...) \
    { \
        va_list args; \
        va_start(args, flags); \
        unsigned mode = (flags & O_CREAT) != 0 ? va_arg(args, unsigned) : 0; \
        va_end(args); \
        if ((flags & O_ACCMODE) != O_RDONLY && no_file()) \
            return -1; \
        return __real_##name(path, flags, mode); \
    }
WRAP_OPEN(open)
WRAP_OPEN(open64)

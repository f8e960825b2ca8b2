/*
 * What Debian's static libraries, made for glibc with its checks, ask for that musl has not (scripts/cross): functions
 * that take the size of the room, or a flag, and here do without the check.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

int __printf_chk(int flag, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    const int n = vprintf(format, list);
    va_end(list);
    return n;
}

int __vfprintf_chk(FILE *file, int flag, const char *format, va_list list)
{
    return vfprintf(file, format, list);
}

int __fprintf_chk(FILE *file, int flag, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    const int n = vfprintf(file, format, list);
    va_end(list);
    return n;
}

/* It keeps to the room, as far as a printf can. */
int __sprintf_chk(char *to, int flag, size_t room, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    const int n = vsnprintf(to, room < 1U << 30 ? room : 1U << 30, format, list);
    va_end(list);
    return n;
}

int __snprintf_chk(char *to, size_t n, int flag, size_t room, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    const int length = vsnprintf(to, n < room ? n : room, format, list);
    va_end(list);
    return length;
}

void *__memset_chk(void *to, int byte, size_t n, size_t room)
{
    return memset(to, byte, n);
}

char *__strcat_chk(char *to, const char *from, size_t room)
{
    return strcat(to, from);
}

/*
 * The one function that OpenBLAS's LAPACK asks of Fortran's run-time: dest = left // right, with blanks up to its length
 * or cut there. With it a wheel holds no libgfortran.
 */
#include <string.h>

void _gfortran_concat_string(size_t room, char *dest, size_t left_length, const char *left, size_t right_length,
                             const char *right);

void _gfortran_concat_string(size_t room, char *dest, size_t left_length, const char *left, size_t right_length,
                             const char *right)
{
    const size_t first = left_length < room ? left_length : room;
    const size_t second = right_length < room - first ? right_length : room - first;
    memmove(dest, left, first);
    memmove(dest + first, right, second);
    memset(dest + first + second, ' ', room - first - second);
}

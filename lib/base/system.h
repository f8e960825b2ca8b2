/*
 * What the library asks of the system, all of it in this room: system_posix.c answers for Linux and its like,
 * system_windows.c for Windows. Elsewhere nothing includes a system's header or asks which one this is
 * (test/layering.py).
 */
#ifndef HG_SYSTEM_H
#define HG_SYSTEM_H

#include <pthread.h> /* locks and conditions: mingw-w64 has them too */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A function that takes a printf format as argument f, and what it prints from argument a on; of printf's two kinds on
 * Windows it is that of C. */
#if defined(__MINGW_PRINTF_FORMAT)
#define HG_PRINTF(f, a) __attribute__((format(__MINGW_PRINTF_FORMAT, f, a)))
#elif defined(__GNUC__)
#define HG_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define HG_PRINTF(f, a)
#endif

/* ---- pages ------------------------------------------------------------------------------------------------------- */

/* Asks for huge pages inside a block of 2 MB or more. A system without them, or one that refuses, costs nothing. */
void hg_ask_for_huge_pages(void *memory, size_t bytes);
/* Takes whole pages, zeroed, that come as they are touched, huge ones where there are; NULL: no memory. Give them back
 * with the same number of bytes. */
void *hg_take_pages(size_t bytes);
void hg_give_pages(void *memory, size_t bytes);

/* ---- the machine and its clocks ---------------------------------------------------------------------------------- */

size_t hg_total_memory(void);   /* bytes, the container's limit where there is one */
double hg_now(void);            /* seconds of a steady clock */
double hg_processor_time(void); /* seconds that this thread has worked */
void hg_yield(void);            /* lets another thread have the processor */
uint64_t hg_process(void);      /* this process's number */

/* ---- files: names are UTF-8; errno tells of a failure ------------------------------------------------------------ */

enum hg_file_use { HG_TO_READ, HG_TO_WRITE, HG_TO_MAKE }; /* make: a file that is not there yet */
int hg_file_open(const char *path, enum hg_file_use use); /* -1: it failed */
/* Returns how many bytes were read, 0: none are left; -1: it failed. A signal in between is no failure. */
ptrdiff_t hg_file_read(int file, void *bytes, size_t size);
/* Returns how many bytes were written, as many as the system takes at once; -1: it failed. A signal is none. */
ptrdiff_t hg_file_write(int file, const void *bytes, size_t size);
bool hg_file_sync(int file); /* brings what was written to the disk */
bool hg_file_close(int file);
/* Maps a regular file, so that its pages are read by the threads that need them; NULL where that is not possible. */
void *hg_file_map(int file, size_t *size);
void hg_file_unmap(void *mapped, size_t size);

struct hg_file_info { /* of the file that a path stands for */
    bool exists, regular;
    unsigned rights; /* who may do what with it, as the system counts that */
    uint64_t size;   /* bytes */
};
struct hg_file_info hg_file_look(const char *path);
void hg_file_allow(int file,
                   const struct hg_file_info *like); /* gives a file another one's rights, as good as it goes */
/* Returns the file that path stands for, links followed, so that the link stays; path itself if there is none yet.
 * NULL: no memory. To be freed by free. */
char *hg_file_resolve(const char *path);
const char *hg_file_name(const char *path);            /* what follows the folder in path */
bool hg_path_is_absolute(const char *path);            /* it means the same in each folder */
bool hg_file_rename(const char *from, const char *to); /* takes the place of a file that is there */
bool hg_file_remove(const char *path);
/* Calls visit with the name of each file in a folder, which it may remove; false: the folder cannot be read. */
bool hg_folder_visit(const char *path, void (*visit)(void *arg, const char *name), void *arg);

enum { HG_ERROR_ROOM = 128 };
const char *hg_error_text(int number, char room[HG_ERROR_ROOM]); /* of errno, in English */

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

/* Does strtod in the C locale, whatever the process's is. *stop = text: it is no number. */
double hg_number(const char *text, char **stop);

#endif

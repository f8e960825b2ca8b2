/*
 * What the library asks of the system, all of it in this room: system_posix.c answers for Linux and its like,
 * system_windows.c for Windows. Elsewhere nothing includes a system's header or asks which one this is
 * (test/layering.py).
 */
#ifndef HG_SYSTEM_H
#define HG_SYSTEM_H

#include <pthread.h> /* locks and conditions: mingw-w64 has them too */
#include <stddef.h>

/* ---- pages ------------------------------------------------------------------------------------------------------- */

/* Asks for huge pages inside a block of 8 MB or more. A system without them, or one that refuses, costs nothing. */
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

#endif

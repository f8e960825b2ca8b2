/*
 * Files of tests: all are in a folder of the test's own, below TMPDIR, or /tmp where that is not set.
 */
#ifndef TEST_FOLDER_H
#define TEST_FOLDER_H

#include <stddef.h>

/* The folder, which is made when a test first asks for it, or for a path in it. */
const char *folder(void);
/* The path of a name in it, which stands until the end of the test. */
const char *path_of(const char *name);
/* The end of it: what is at these paths goes. Returns 0; else something was left behind that no path was asked for. */
int remove_folder(void);

/* What .npy files call doubles and floats as this machine stores them. */
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define NPY_F8 ">f8"
#define NPY_F4 ">f4"
#else
#define NPY_F8 "<f8"
#define NPY_F4 "<f4"
#endif

/* A file of these bytes. */
void write_file(const char *path, const void *bytes, size_t size);

#endif

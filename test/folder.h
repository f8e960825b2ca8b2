/*
 * Files of tests: all below TMPDIR, or /tmp where that is not set.
 */
#ifndef TEST_FOLDER_H
#define TEST_FOLDER_H

#include <stddef.h>

enum { PATH_ROOM = 512 };

/* A folder of the test's own, and its end, as set-up and tear-down of cmocka. The end fails where anything is left in
 * it; that of a model removes the file "model", which must be there. */
extern char folder[PATH_ROOM];
int make_folder(void **state);
int remove_folder(void **state);
int remove_folder_of_model(void **state);
/* The path of a name in it, which stands until 16 others have been asked for. */
const char *path_of(const char *name);

/* A file of these bytes. */
void write_file(const char *path, const void *bytes, size_t size);

/* An empty file of the test's own, which the test removes. */
void temporary_file(char path[PATH_ROOM]);

#endif

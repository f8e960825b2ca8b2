/* See folder.h. */
#include "test/folder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

char folder[PATH_ROOM];

static void below_temporary(char path[PATH_ROOM])
{
    const char *where = getenv("TMPDIR");
    int length = snprintf(path, PATH_ROOM, "%s/hinge-test-XXXXXX", where != NULL && *where != '\0' ? where : "/tmp");
    assert_true(length > 0 && length < PATH_ROOM);
}

int make_folder(void **state)
{
    below_temporary(folder);
    return mkdtemp(folder) == NULL;
}

int remove_folder(void **state)
{
    return rmdir(folder);
}

int remove_folder_of_model(void **state)
{
    return unlink(path_of("model")) != 0 || remove_folder(state) != 0;
}

const char *path_of(const char *name)
{
    static char paths[16][2 * PATH_ROOM];
    static size_t last;
    last = (last + 1) % (sizeof paths / sizeof *paths);
    snprintf(paths[last], sizeof *paths, "%s/%s", folder, name);
    return paths[last];
}

void write_file(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

void temporary_file(char path[PATH_ROOM])
{
    below_temporary(path);
    int file = mkstemp(path);
    assert_true(file >= 0 && close(file) == 0);
}

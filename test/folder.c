/* See folder.h. */
#include "test/folder.h"
#include "test/tests.h"

#include <unistd.h>

static struct path {
    struct path *next;
    char text[];
} * paths; /* the last that was asked for, first */

static char root[512];

static struct path *new_path(size_t size)
{
    struct path *path = calloc(1, sizeof *path + size);
    assert_non_null(path);
    path->next = paths;
    return paths = path;
}

const char *folder(void)
{
    const char *where = getenv("TMPDIR");
    if (root[0] != '\0')
        return root;
    int length = snprintf(root, sizeof root, "%s/hinge-test-XXXXXX", where != NULL && *where != '\0' ? where : "/tmp");
    assert_true(length > 0 && (size_t)length < sizeof root);
    assert_non_null(mkdtemp(root));
    return root;
}

const char *path_of(const char *name)
{
    size_t size = strlen(folder()) + strlen(name) + 2;
    char *text = new_path(size)->text;
    snprintf(text, size, "%s/%s", root, name);
    return text;
}

int remove_folder(void)
{
    for (struct path *next; paths != NULL; paths = next) {
        next = paths->next;
        remove(paths->text);
        free(paths);
    }
    if (root[0] == '\0')
        return 0;
    int left = rmdir(root);
    root[0] = '\0';
    return left;
}

void write_file(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

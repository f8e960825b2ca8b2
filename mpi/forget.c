/* Removes the files of checkpoints (save.h), which nobody goes on from any more. */
#include "mpi/mpi_train.h"

#include <errno.h>
#include <stdio.h>

struct forgetting {
    const char *folder;
    bool manifests; /* first, so that none names parts that are gone */
    int failed;     /* errno, or 0 */
    char path[4096];
};

/* Says whether a name is that of a manifest, or of a part. */
static bool is_ours(const char *name, bool manifests)
{
    unsigned long long problem, generation, part;
    int length = 0;
    if (manifests)
        return sscanf(name, "problem-%llu.manifest%n", &problem, &length) == 1 && length > 0 && name[length] == '\0';
    return sscanf(name, "problem-%llu.%llu.part-%llu%n", &problem, &generation, &part, &length) == 3 &&
           name[length] == '\0';
}

static void forget(void *arg, const char *name)
{
    struct forgetting *f = arg;
    if (!is_ours(name, f->manifests))
        return;
    snprintf(f->path, sizeof f->path, "%s/%s", f->folder, name);
    if (!hg_file_remove(f->path) && f->failed == 0)
        f->failed = errno;
}

hinge_status hm_forget(const char *folder, hinge_error *err)
{
    char room[HG_ERROR_ROOM];
    struct forgetting f = { .folder = folder };
    for (int k = 0; k < 2 && f.failed == 0; k++) {
        f.manifests = k == 0;
        if (!hg_folder_visit(folder, forget, &f))
            f.failed = errno;
    }
    return f.failed == 0 ? hg_ok(err)
                         : hg_fail_at(err, HINGE_EIO, folder, 0, "the checkpoint is not removed: %s",
                                      hg_error_text(f.failed, room));
}

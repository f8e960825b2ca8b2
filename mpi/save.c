/* Checkpoints as files: how parts and manifests are written, found again, believed and removed. Read save.h before. */
#include "mpi/save.h"
#include "lib/files/bytes.h"
#include "mpi/mpi_train.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { PATH = 4096 };

/* Names of files: of a problem; of a problem, its generation, the part. */
#define MANIFEST_NAME "problem-%llu.manifest"
#define PART_NAME "problem-%llu.%llu.part-%llu"

struct entry {
    uint64_t number;
    double beta[2];
};

struct manifest {
    uint64_t found, identity, generation, ranks;
};

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash ^= word;
    return hg_random(&hash);
}

uint64_t hm_mix_bytes(uint64_t hash, const void *bytes, size_t size)
{
    for (size_t at = 0; at < size; at += 8) {
        uint64_t word = 0;
        memcpy(&word, (const char *)bytes + at, HG_MIN((size_t)8, size - at));
        hash = mix(hash, word);
    }
    return hash;
}

uint64_t hm_identity(uint64_t points, const hinge_params *p, const uint64_t *sizes, size_t n_sizes)
{
    const double reals[] = { p->C, p->nu, p->p, p->tau, p->kernel.gamma, p->kernel.coef0 };
    const uint64_t words[] = { (uint64_t)p->task, (uint64_t)p->kernel.type, (uint64_t)p->kernel.degree,
                               (uint64_t)p->no_bias, (uint64_t)p->multiclass };
    uint64_t all = hm_mix_bytes(hm_mix_bytes(points, reals, sizeof reals), words, sizeof words);
    all = hm_mix_bytes(all, sizes, n_sizes * sizeof *sizes);
    for (size_t k = 0; k < p->kernel.n_parts && p->kernel.type == HINGE_COMBINED; k++) {
        hinge_kernel_part part = hg_kernel_part(&p->kernel, k);
        const double values[] = { part.factor, part.kernel.gamma, part.kernel.coef0 };
        const uint64_t facts[] = { (uint64_t)part.kernel.type, (uint64_t)part.kernel.degree, part.first, part.count,
                                   (uint64_t)part.times };
        all = hm_mix_bytes(hm_mix_bytes(all, values, sizeof values), facts, sizeof facts);
    }
    return all != 0 ? all : 1;
}

uint64_t hm_identify(const struct hm_net *net, const struct hm_own *own)
{
    const uint64_t sizes[] = { own->pr.data.n, own->rows, own->pr.data.d };
    struct hm_sum sum = { 0 };
    for (size_t i = 0; i < own->n; i++) {
        uint64_t hash = mix(own->number[i], own->row[i]);
        hash = hm_mix_bytes(hash, &own->y[i], sizeof *own->y);
        hash = hm_mix_bytes(hash, &own->weight[i], sizeof *own->weight);
        size_t size = own->type == HINGE_F32 ? sizeof(float) : sizeof(double);
        sum.count[0] += hm_mix_bytes(hash, (const char *)own->x + i * own->stride * size, own->pr.data.d * size);
    }
    net->sum(net, &sum);
    return hm_identity(sum.count[0], &own->pr.params, sizes, sizeof sizes / sizeof *sizes);
}

static void part_path(const struct hm_save *s, uint64_t generation, uint64_t part, char path[PATH])
{
    snprintf(path, PATH, "%s/" PART_NAME, s->folder, (unsigned long long)s->problem, (unsigned long long)generation,
             (unsigned long long)part);
}

static void manifest_path(const struct hm_save *s, char path[PATH])
{
    snprintf(path, PATH, "%s/" MANIFEST_NAME, s->folder, (unsigned long long)s->problem);
}

static hinge_status write_file(const char *path, const void *bytes, size_t size, hinge_error *err)
{
    struct hg_output output;
    HG_TRY(hg_output_open(&output, path, err));
    hinge_status status = hg_output_write(&output, bytes, size, err);
    return hg_output_close(&output, status, err);
}

/* Writes the coefficients of qp, whose check sum is *hash. r: the run over ranks whose part they are; NULL: they are
 * all. */
static hinge_status write_part(const struct hm_save *s, uint64_t part, const struct hg_qp *qp, const struct hm_run *r,
                               uint64_t *hash, hinge_error *err)
{
    char path[PATH];
    size_t count = 0;
    struct entry *entry;
    HG_TRY(HG_MAKE(err, "a checkpoint", HG_ZEROS(entry, qp->n)));
    for (size_t at = 0; at < qp->n; at++) {
        struct entry *e = &entry[count];
        e->number = r != NULL ? r->own->number[r->points.of[at]] : at;
        e->beta[0] = qp->beta[0][at];
        e->beta[1] = qp->layers == 2 ? qp->beta[1][at] : 0;
        count += e->beta[0] != 0 || e->beta[1] != 0;
    }
    part_path(s, s->generation, part, path);
    *hash = hm_mix_bytes(s->identity, entry, count * sizeof *entry);
    hinge_status status = write_file(path, entry, count * sizeof *entry, err);
    hg_free(entry);
    return status;
}

/* The parts of a generation that a newer one stands for. */
static void remove_parts(const struct hm_save *s, uint64_t generation, uint64_t ranks)
{
    char path[PATH];
    for (uint64_t k = 0; k < ranks && generation > 0; k++) {
        part_path(s, generation, k, path);
        (void)hg_file_remove(path);
    }
}

/* Looks at the manifest; hash [ranks] is to be freed. */
static hinge_status read_manifest(const struct hm_save *s, struct manifest *m, uint64_t **hash, hinge_error *err)
{
    char path[PATH];
    struct hg_bytes bytes = { 0 };
    *m = (struct manifest){ 0 };
    *hash = NULL;
    manifest_path(s, path);
    if (!hg_file_look(path).exists)
        return HINGE_OK;
    HG_TRY(hg_bytes_read(&bytes, path, err));
    struct hg_text text = { 0 };
    int length = 0;
    hg_text_add(&text, bytes.data, bytes.size);
    hg_text_add(&text, "", 1);
    bool ok = !text.no_memory;
    ok = ok && sscanf(text.data, "hinge-mpi 1\nidentity %" SCNx64 "\ngeneration %" SCNu64 "\nranks %" SCNu64 "%n",
                      &m->identity, &m->generation, &m->ranks, &length) == 3;
    ok = ok && m->ranks - 1 < 1u << 24;
    *hash = ok ? hg_alloc(m->ranks, sizeof **hash) : NULL;
    ok = *hash != NULL;
    char *at = ok ? text.data + length : NULL, *begin = at;
    for (size_t k = 0; ok && k < m->ranks; k++, begin = at) {
        (*hash)[k] = strtoull(begin, &at, 16);
        ok = at != begin;
    }
    hg_text_free(&text);
    hg_bytes_free(&bytes);
    m->found = ok;
    if (ok)
        return HINGE_OK;
    hg_free(*hash);
    *hash = NULL;
    return hg_fail(err, HINGE_EFORMAT, "%s: it is torn, or no manifest of hinge-mpi", path);
}

/* Writes a manifest of so many parts; what it stands for goes then. */
static hinge_status write_manifest(const struct hm_save *s, const uint64_t *hash, int parts, hinge_error *err)
{
    char path[PATH];
    struct hg_text text = { 0 };
    struct manifest old = { 0 };
    uint64_t *olds = NULL;
    manifest_path(s, path);
    (void)read_manifest(s, &old, &olds, NULL); /* which is written over, whatever it is */
    hg_free(olds);
    hg_text_print(&text, "hinge-mpi 1\nidentity %016llx\ngeneration %llu\nranks %d\n", (unsigned long long)s->identity,
                  (unsigned long long)s->generation, parts);
    for (int k = 0; k < parts; k++)
        hg_text_print(&text, "%016llx\n", (unsigned long long)hash[k]);
    hinge_status status = text.no_memory ? hg_fail(err, HINGE_ENOMEM, "no memory for a checkpoint")
                                         : write_file(path, text.data, text.size, err);
    hg_text_free(&text);
    if (status == HINGE_OK && old.found && old.generation != s->generation)
        remove_parts(s, old.generation, old.ranks);
    return status;
}

hinge_status hm_save(struct hm_save *s, const struct hm_run *r, hinge_error *err)
{
    const struct hm_net *net = r->net;
    uint64_t mine = 0;
    s->generation++;
    HG_TRY(hm_agree(net, write_part(s, (uint64_t)net->rank, &r->qp, r, &mine, err), err));
    hm_sizes(net, mine);
    return hm_agree(net, net->rank == 0 ? write_manifest(s, net->sizes, net->ranks, err) : HINGE_OK, err);
}

hinge_status hm_save_whole(struct hm_save *s, const struct hg_qp *qp, hinge_error *err)
{
    uint64_t hash = 0;
    s->generation++;
    HG_TRY(write_part(s, 0, qp, NULL, &hash, err));
    return write_manifest(s, &hash, 1, err);
}

/* Puts a coefficient where it belongs, if that is on this rank; false: there is no such point. */
static bool put(struct hg_qp *qp, const struct hm_run *r, const struct entry *e)
{
    size_t c, tile, in;
    if (e->number >= (r != NULL ? r->own->pr.data.n : qp->n))
        return false;
    for (int l = 0; l < qp->layers && r == NULL; l++)
        qp->beta[l][e->number] = e->beta[l];
    if (r == NULL)
        return true;
    tile = hm_find_tile(r->own, e->number, &c);
    in = (e->number - r->own->pr.start[c]) % r->own->tile;
    for (const struct hm_tile *t = r->points.tile; t < r->points.tile + r->points.n_tiles; t++)
        for (int l = 0; l < qp->layers && t->number == tile; l++)
            qp->beta[l][t->at + in] = e->beta[l];
    return true;
}

/* Takes the coefficients of a part that belong to this rank. */
static hinge_status take_part(const struct hm_save *s, struct hg_qp *qp, const struct hm_run *r, uint64_t part,
                              uint64_t hash, hinge_error *err)
{
    char path[PATH];
    struct hg_bytes bytes = { 0 };
    part_path(s, s->generation, part, path);
    HG_TRY(hg_bytes_read(&bytes, path, err));
    hinge_status status = HINGE_OK;
    if (bytes.size % sizeof(struct entry) != 0 || hm_mix_bytes(s->identity, bytes.data, bytes.size) != hash)
        status = hg_fail(err, HINGE_EFORMAT, "%s: it is torn, or not the part that its manifest names", path);
    for (size_t at = 0; status == HINGE_OK && at < bytes.size; at += sizeof(struct entry)) {
        struct entry e;
        memcpy(&e, bytes.data + at, sizeof e);
        if (!put(qp, r, &e))
            status = hg_fail(err, HINGE_EFORMAT, "%s: there is no point %llu", path, (unsigned long long)e.number);
    }
    hg_bytes_free(&bytes);
    return status;
}

/* Finds the manifest of this training, if there is one. */
static hinge_status find(const struct hm_save *s, struct manifest *m, uint64_t **hash, hinge_error *err)
{
    HG_TRY(read_manifest(s, m, hash, err));
    return !m->found || m->identity == s->identity
               ? HINGE_OK
               : hg_fail(err, HINGE_EINVAL, "%s: the checkpoint is of other data or parameters", s->folder);
}

/* Finds a checkpoint, and takes its parts; *hash is to be freed, on failure too. */
static hinge_status restore(struct hm_save *s, struct hm_run *r, struct manifest *m, uint64_t **hash, hinge_error *err)
{
    const struct hm_net *net = r->net;
    hinge_status status = net->rank == 0 ? find(s, m, hash, err) : HINGE_OK;
    HG_TRY(hm_agree(net, status, err));
    net->broadcast(net, m, sizeof *m, 0);
    if (!m->found)
        return HINGE_OK;
    if (net->rank > 0)
        *hash = hg_alloc(m->ranks, sizeof **hash);
    HG_TRY(HM_HAVE(net, *hash != NULL, err, "no memory for a checkpoint"));
    net->broadcast(net, *hash, m->ranks * sizeof **hash, 0);
    s->generation = m->generation;
    for (uint64_t k = 0; k < m->ranks; k++)
        HG_THEN(status, take_part(s, &r->qp, r, k, (*hash)[k], err));
    return hm_agree(net, status, err);
}

hinge_status hm_restore(struct hm_save *s, struct hm_run *run, bool *restored, hinge_error *err)
{
    struct manifest m = { 0 };
    uint64_t *hash = NULL;
    s->problem = run->problem;
    s->generation = 0;
    hinge_status status = restore(s, run, &m, &hash, err);
    *restored = m.found;
    hg_free(hash);
    return status;
}

hinge_status hm_restore_whole(struct hm_save *s, struct hg_qp *qp, bool *restored, hinge_error *err)
{
    struct manifest m = { 0 };
    uint64_t *hash = NULL;
    hinge_status status = find(s, &m, &hash, err);
    s->generation = m.generation;
    for (int l = 0; l < qp->layers && m.found; l++)
        memset(qp->beta[l], 0, qp->n * sizeof(double));
    if (status == HINGE_OK && m.found)
        for (uint64_t k = 0; k < m.ranks; k++)
            HG_THEN(status, take_part(s, qp, NULL, k, hash[k], err));
    *restored = m.found;
    hg_free(hash);
    return status;
}

/* ---- removing ---------------------------------------------------------------------------------------------------- */

struct forgetting {
    const char *folder;
    bool manifests; /* first, so that none names parts that are gone */
    int failed;     /* errno, or 0 */
    char path[PATH];
};

/* Says whether a name is that of a manifest, or of a part. */
static bool is_ours(const char *name, bool manifests)
{
    unsigned long long problem, generation, part;
    int length = 0;
    if (manifests)
        return sscanf(name, MANIFEST_NAME "%n", &problem, &length) == 1 && length > 0 && name[length] == '\0';
    return sscanf(name, PART_NAME "%n", &problem, &generation, &part, &length) == 3 &&
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

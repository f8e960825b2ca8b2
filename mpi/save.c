/* Checkpoints as files: how parts and manifests are written, found again and believed. Read save.h before. */
#include "mpi/save.h"
#include "lib/files/bytes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { PATH = 4096 };

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

static uint64_t mix_bytes(uint64_t hash, const void *bytes, size_t size)
{
    for (size_t at = 0; at < size; at += 8) {
        uint64_t word = 0;
        memcpy(&word, (const char *)bytes + at, HG_MIN((size_t)8, size - at));
        hash = mix(hash, word);
    }
    return hash;
}

/* Makes a check sum of what makes the optimum: all points, and parameters but for eps. */
static uint64_t identify(const struct hm_net *net, const struct hm_own *own)
{
    const hinge_params *p = &own->pr.params;
    const double reals[] = { p->C, p->nu, p->p, p->tau, p->kernel.gamma, p->kernel.coef0 };
    const uint64_t words[] = { (uint64_t)p->task, (uint64_t)p->kernel.type, (uint64_t)p->kernel.degree,
                               (uint64_t)p->no_bias, (uint64_t)p->multiclass, own->pr.n, own->rows, own->pr.d };
    struct hm_sum sum = { 0 };
    for (size_t i = 0; i < own->n; i++) {
        uint64_t hash = mix(own->number[i], own->row[i]);
        hash = mix_bytes(hash, &own->y[i], sizeof *own->y);
        hash = mix_bytes(hash, &own->weight[i], sizeof *own->weight);
        size_t size = own->type == HINGE_F32 ? sizeof(float) : sizeof(double);
        sum.count[0] += mix_bytes(hash, (const char *)own->x + i * own->stride * size, own->pr.d * size);
    }
    net->sum(net, &sum);
    uint64_t all = mix_bytes(mix_bytes(sum.count[0], reals, sizeof reals), words, sizeof words);
    return all != 0 ? all : 1;
}

static void part_path(const struct hm_save *s, uint64_t generation, uint64_t part, char path[PATH])
{
    snprintf(path, PATH, "%s/problem-%zu.%llu.part-%llu", s->folder, s->problem, (unsigned long long)generation,
             (unsigned long long)part);
}

static void manifest_path(const struct hm_save *s, char path[PATH])
{
    snprintf(path, PATH, "%s/problem-%zu.manifest", s->folder, s->problem);
}

static hinge_status write_file(const char *path, const void *bytes, size_t size, hinge_error *err)
{
    struct hg_output output;
    HG_TRY(hg_output_open(&output, path, err));
    hinge_status status = hg_output_write(&output, bytes, size, err);
    return hg_output_close(&output, status, err);
}

/* Writes this rank's part, whose check sum is *hash. */
static hinge_status write_part(const struct hm_save *s, const struct hm_run *r, uint64_t *hash, hinge_error *err)
{
    char path[PATH];
    size_t count = 0;
    struct entry *entry;
    HG_TRY(HG_MAKE(err, "a checkpoint", HG_ZEROS(entry, r->points.n)));
    for (size_t at = 0; at < r->points.n; at++) {
        struct entry *e = &entry[count];
        e->number = s->own->number[r->points.of[at]];
        e->beta[0] = r->qp.beta[0][at];
        e->beta[1] = r->qp.layers == 2 ? r->qp.beta[1][at] : 0;
        count += e->beta[0] != 0 || e->beta[1] != 0;
    }
    part_path(s, s->generation, (uint64_t)s->net->rank, path);
    *hash = mix_bytes(s->identity, entry, count * sizeof *entry);
    hinge_status status = write_file(path, entry, count * sizeof *entry, err);
    hg_free(entry);
    return status;
}

static hinge_status write_manifest(const struct hm_save *s, const uint64_t *hash, hinge_error *err)
{
    char path[PATH];
    struct hg_text text = { 0 };
    manifest_path(s, path);
    hg_text_print(&text, "hinge-mpi 1\nidentity %016llx\ngeneration %llu\nranks %d\n", (unsigned long long)s->identity,
                  (unsigned long long)s->generation, s->net->ranks);
    for (int k = 0; k < s->net->ranks; k++)
        hg_text_print(&text, "%016llx\n", (unsigned long long)hash[k]);
    hinge_status status = text.no_memory ? hg_fail(err, HINGE_ENOMEM, "no memory for a checkpoint")
                                         : write_file(path, text.data, text.size, err);
    hg_text_free(&text);
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

/* Rank 0's look at the manifest; hash [ranks] is to be freed. */
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

hinge_status hm_save(struct hm_save *s, struct hm_run *run, hinge_error *err)
{
    const struct hm_net *net = s->net;
    struct manifest old = { 0 };
    uint64_t mine = 0, *olds = NULL;
    hinge_status status = HINGE_OK;
    s->generation++;
    HG_TRY(hm_agree(net, write_part(s, run, &mine, err), err));
    hm_sizes(net, mine);
    if (net->rank == 0) {
        (void)read_manifest(s, &old, &olds, NULL); /* which is written over, whatever it is */
        hg_free(olds);
        status = write_manifest(s, net->sizes, err);
    }
    HG_TRY(hm_agree(net, status, err));
    if (old.found && old.generation != s->generation)
        remove_parts(s, old.generation, old.ranks);
    return HINGE_OK;
}

/* Takes the coefficients of a part that belong to this rank. */
static hinge_status take_part(const struct hm_save *s, struct hm_run *r, uint64_t part, uint64_t hash, hinge_error *err)
{
    char path[PATH];
    struct hg_bytes bytes = { 0 };
    const struct hm_own *own = s->own;
    part_path(s, s->generation, part, path);
    HG_TRY(hg_bytes_read(&bytes, path, err));
    hinge_status status = HINGE_OK;
    if (bytes.size % sizeof(struct entry) != 0 || mix_bytes(s->identity, bytes.data, bytes.size) != hash)
        status = hg_fail(err, HINGE_EFORMAT, "%s: it is torn, or not the part that its manifest names", path);
    for (size_t at = 0; status == HINGE_OK && at < bytes.size; at += sizeof(struct entry)) {
        struct entry e;
        size_t c;
        memcpy(&e, bytes.data + at, sizeof e);
        if (e.number >= own->pr.n) {
            status = hg_fail(err, HINGE_EFORMAT, "%s: there is no point %llu", path, (unsigned long long)e.number);
            break;
        }
        size_t tile = hm_find_tile(own, e.number, &c), in = (e.number - own->pr.start[c]) % own->tile;
        for (const struct hm_tile *t = r->points.tile; t < r->points.tile + r->points.n_tiles; t++)
            for (int l = 0; l < r->qp.layers && t->number == tile; l++)
                r->qp.beta[l][t->at + in] = e.beta[l];
    }
    hg_bytes_free(&bytes);
    return status;
}

/* Finds a checkpoint, and takes its parts; *hash is to be freed, on failure too. */
static hinge_status restore(struct hm_save *s, struct hm_run *run, struct manifest *m, uint64_t **hash,
                            hinge_error *err)
{
    const struct hm_net *net = s->net;
    hinge_status status = net->rank == 0 ? read_manifest(s, m, hash, err) : HINGE_OK;
    if (status == HINGE_OK && m->found && m->identity != s->identity)
        status = hg_fail(err, HINGE_EINVAL, "%s: the checkpoint is of other data or parameters", s->folder);
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
        HG_THEN(status, take_part(s, run, k, (*hash)[k], err));
    return hm_agree(net, status, err);
}

hinge_status hm_restore(struct hm_save *s, struct hm_run *run, bool *restored, hinge_error *err)
{
    struct manifest m = { 0 };
    uint64_t *hash = NULL;
    s->problem = run->problem;
    s->generation = 0;
    if (s->identity == 0)
        s->identity = identify(s->net, s->own);
    hinge_status status = restore(s, run, &m, &hash, err);
    *restored = m.found;
    hg_free(hash);
    return status;
}

/*
 * Checkpoints: what a training over ranks goes on from, with any number of them. Of rows that are dealt every rank
 * writes a part for each problem, the coefficients of its points, and then rank 0 a manifest that names the parts and
 * their check sums, so that there is always a whole one. Of rows that are shared whoever solves a problem writes all of
 * it, as one part.
 */
#ifndef HM_SAVE_H
#define HM_SAVE_H

#include "mpi/mpi_run.h"

struct hm_save {
    const char *folder;
    size_t problem;
    uint64_t identity;   /* of data and parameters */
    uint64_t generation; /* of this problem's last one */
};

/* Makes a check sum of what makes the optimum: points, by a check sum of theirs, parameters but for eps, and sizes. */
uint64_t hm_mix_bytes(uint64_t hash, const void *bytes, size_t size);
uint64_t hm_identity(uint64_t points, const hinge_params *params, const uint64_t *sizes, size_t n_sizes);

/* By all ranks together, or by one alone that has all points of the problem. hm_identify makes the identity of points
 * that are dealt, of all ranks. EFORMAT: a checkpoint is torn; EINVAL: another training's. */
uint64_t hm_identify(const struct hm_net *net, const struct hm_own *own);
hinge_status hm_save(struct hm_save *save, const struct hm_run *run, hinge_error *err);
hinge_status hm_restore(struct hm_save *save, struct hm_run *run, bool *restored, hinge_error *err);
/* By this rank alone, of a problem that it has whole. */
hinge_status hm_save_whole(struct hm_save *save, const struct hg_qp *qp, hinge_error *err);
hinge_status hm_restore_whole(struct hm_save *save, struct hg_qp *qp, bool *restored, hinge_error *err);

#endif

/*
 * Checkpoints: what a training over ranks goes on from, with any number of them. For each problem every rank writes a
 * part, the coefficients of its points, and then rank 0 a manifest that names the parts and their check sums, so that
 * there is always a whole one.
 */
#ifndef HM_SAVE_H
#define HM_SAVE_H

#include "mpi/mpi_run.h"

struct hm_save {
    const char *folder;
    const struct hm_net *net;
    const struct hm_own *own;
    size_t problem;
    uint64_t identity;   /* of data and parameters; 0: not known yet */
    uint64_t generation; /* of this problem's last one */
};

/* EFORMAT: a checkpoint is torn; EINVAL: another training's. */
hinge_status hm_save(struct hm_save *save, struct hm_run *run, hinge_error *err);
hinge_status hm_restore(struct hm_save *save, struct hm_run *run, bool *restored, hinge_error *err);

#endif

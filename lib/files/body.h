/*
 * The two parts of a model file: the lines before "SV" (header.c), and from that line on what it tells beside, and a
 * line a support vector (body.c).
 */
#ifndef HG_BODY_H
#define HG_BODY_H

#include "lib/files/bytes.h"
#include "lib/files/lines.h"
#include "lib/model/model.h"

void hg_told_print(const struct hinge_model *model, struct hg_text *text);
hinge_status hg_vectors_print(const struct hinge_model *model, hg_text_sink sink, void *sink_arg, hinge_error *err);

struct hg_body {
    struct hg_line told; /* behind the word "SV" */
    const char *text;    /* the lines of support vectors */
    size_t size;
    size_t scale_line; /* where factors of scaling stand */
    /* By hg_told_read: */
    size_t features;      /* 0: not told */
    struct hg_line words; /* number 0: labels are numbers */
    struct hg_line names; /* of features, and behind them that of a target; number 0: there are none */
    size_t n_names;       /* of features */
};

/* header.c: writes what stands before "SV"; reads that into a model that is all 0, to be freed on failure too, which
 * lacks its body then. own: a class that is named twice is refused, which LIBSVM takes; user: the caller's own kernel,
 * or NULL. */
void hg_header_print(const struct hinge_model *model, struct hg_text *text);
hinge_status hg_header_read(struct hinge_model *model, const char *name, const struct hg_bytes *bytes, bool own,
                            const hinge_kernel *user, struct hg_body *body, hinge_error *err);

/* Reads the line "SV" alone; *tau is the level of a quantile regression, and stays as it is in other models. */
hinge_status hg_told_read(struct hg_body *body, double *tau, hinge_error *err);

/* Reads words and support vectors into arrays that the model gets for them. Its task, kernel, labels and sizes are
 * known; d is raised to what the vectors have, and where most columns would be empty, those are left out. */
hinge_status hg_body_read(const struct hg_body *body, struct hinge_model *model, hinge_error *err);

#endif

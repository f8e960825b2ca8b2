/*
 * A prediction in work: what predict.c drives, and decide.c makes decision values of. Read model.h and kernels/maker.h
 * before. One struct hg_prediction serves a whole call and is read by all its threads; each thread has a struct
 * hg_workplace of its own.
 */
#ifndef HG_PREDICT_H
#define HG_PREDICT_H

#include "lib/base/teller.h"
#include "lib/predict/nearby.h"

/* Holds one call, in one type at a time: predict_as sets what depends on the type (tiler, sv, coef, panels, promise)
 * before threads begin. Output arrays are the caller's, or those of predict_aside. */
struct hg_prediction {
    const hinge_model *m;
    struct hg_points x; /* the examples, less the model's shift */
    struct hg_tiler tiler;
    struct hg_integers x_integers, sv_integers; /* of examples and SVs, in the order in which they are taken */
    struct hg_points sv, all_sv;                /* as they are taken, and in the model's order */
    const void *sv_norms;                       /* in the tiler's type, or NULL */
    const void *coef;                           /* [coef rows * n_sv] in the tiler's type */
    const void *panels;                         /* of the SVs, where the tiler's maker has such */
    bool summed;                                /* values are summed as they are made, for one row of coef */
    struct hg_nearby nearby;
    uint32_t *place;   /* [n_sv] of each SV in the order of nearby; NULL: their own */
    const void *sizes; /* |coef| behind coef, for `again`: where values are summed as they are made, or a row of it
                           * has both signs within a class; otherwise NULL */
    uint8_t *again;    /* [rows of x] f32: 1 where f64 is needed; or NULL */
    bool values;       /* again: where decision values, not labels alone, are not known well enough */
    double promise;    /* hg_model_promise's */
    bool as_asked;     /* again: only where f32 overflows */
    bool on_trial;     /* f32 is tried with some examples first; */
    bool declined;     /* it leaves too many of them open */
    double *labels, *decisions;
    const hinge_predict_options *options;
    struct hg_teller teller;
    pthread_mutex_t lock; /* of the teller: a thread that finds it taken goes on with its work */
    size_t done;          /* rows, atomic */
    size_t rows_f64;      /* rows that are made in f64, */
    double bound;         /* atomic: and how wrong a decision value of the others may be */
    int stopped;          /* atomic: the caller wants an end */
};

/* Is the work space of one thread, for blocks of up to `rows` examples: one stretch of memory that lay_out of predict.c
 * divides. What is in the tiler's type is void here. It is filled block by block and keeps nothing between blocks. */
struct hg_workplace {
    size_t rows, cols, ldx;
    void *x, *norm, *dots, *sv, *part;
    struct hg_lengths *lengths; /* [rows] of examples, where the job has `again` */
    struct hg_left left, close; /* in the room of x: the examples; by GEMM where distances are close */
    void *room;                 /* the maker's */
    uint32_t *equal;            /* [rows] 1 + the first SV that is equal to an example; 0: there is none */
    double *decisions, *sizes;  /* [rows * problems]; sums of |coef| K, where the job has `again` */
    struct hg_sums sums;        /* of values, where they are summed as they are made */
    uint64_t *ones;             /* [rows * HG_ONES] hg_sums', */
    double bound;               /* how wrong decision values of the block may be that f32 does not leave open */
    bool any_equal;             /* where an example of the block is equal to an SV */
    size_t *votes;              /* [2 * classes] */
    size_t *problem;            /* [coef rows] of a class, where each belongs */
};

/* Returns the rows of coef, at least 1: a tile's part has so many columns. */
static inline size_t hg_decision_columns(const hinge_model *m)
{
    size_t coef_rows = hg_model_coef_rows(m);
    return HG_MAX(coef_rows, (size_t)1);
}

/* Returns the squared norm of example r of the block at hand, less the shift, as rounded to the tiler's type. */
static inline double hg_example_norm(const struct hg_prediction *j, const struct hg_workplace *w, size_t r)
{
    return hg_get(w->norm, j->tiler.type, r);
}

/* Adds to w->decisions, and with j->again to w->sizes, what examples row .. row + rows get by the model's vectors. */
hinge_status hg_decide(const struct hg_prediction *j, struct hg_workplace *w, size_t row, size_t rows);

/* Returns the threads of a team for predictions of so many rows; what is not valid is refused by the call itself. */
int hg_predict_team(const hinge_model *m, const hinge_matrix *x, const hinge_predict_options *options);

#endif

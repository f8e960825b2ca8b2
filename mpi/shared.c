/*
 * Trainings, and their folds, whose rows fit each rank: all ranks have all rows, and train by hinge's own training with
 * peers (lib/rows/peers.h). Of one two-class problem they share the kernel rows, of several each solves some. What
 * comes out is the same for any number of them.
 */
#include "lib/data/params.h"
#include "lib/folds/folds.h"
#include "lib/train/training.h"
#include "mpi/mpi_own.h"
#include "mpi/mpi_train.h"
#include "mpi/save.h"

#include <math.h>

/* Values that all rows may have, and what a training keeps of each row, counted as values. Rows of more are dealt. */
static const double MOST_VALUES = 0x1p27;
enum { OF_A_ROW = 64 };

struct shared {
    const struct hm_net *net;
    struct hg_peers peers;
    double *mine, *all; /* [room] each: sums on their way; one block */
    size_t room;
    hinge_matrix x; /* of all ranks; */
    double *y;      /* [x.rows] their labels, or NULL; */
    double *weight; /* [x.rows] or NULL; */
    double *start;  /* [n_problems * x.rows] coefficients to start from; or NULL */
    size_t *index;  /* [x.rows] columns of a kernel matrix; or NULL */
    struct kept {   /* [n_problems] checkpoints; NULL: there are none */
        struct hm_save save;
        double at; /* when it was written, on hg_now's clock */
    } * kept;
    size_t n_problems;
    double every;         /* seconds from one to the next */
    pthread_mutex_t lock; /* of unsaved and restored: */
    hinge_error unsaved;  /* why one was not written; */
    bool restored;        /* a problem of this rank went on from one */
};

/* ---- peers ------------------------------------------------------------------------------------------------------- */

static hinge_status make_room(struct shared *s, size_t n)
{
    if (n <= s->room)
        return HINGE_OK;
    hg_free(s->mine);
    s->room = 0;
    HG_TRY(HG_MAKE(NULL, "sums", HG_ARRAY(s->mine, n), HG_ARRAY(s->all, n)));
    s->room = n;
    return HINGE_OK;
}

/* Copies the tiles of a rank between sums [n] and where they stand one after the other; to: from sums. Returns how many
 * they are. */
static size_t copy_tiles(const struct hg_peers *peers, size_t rank, double *sums, size_t n, size_t grain, double *tiles,
                         bool to)
{
    size_t count = 0;
    for (size_t at = rank * grain; at < n; at += peers->count * grain) {
        size_t some = HG_MIN(grain, n - at);
        memcpy(to ? tiles + count : sums + at, to ? sums + at : tiles + count, some * sizeof *sums);
        count += some;
    }
    return count;
}

/* Says whether each rank has one tile at most: they are already where they come to. */
static bool lie(const struct hg_peers *peers, size_t n, size_t grain)
{
    return n <= peers->count * grain;
}

static void share_sums(struct shared *s, double *sums, size_t n, size_t grain)
{
    const struct hg_peers *peers = &s->peers;
    const struct hm_net *net = s->net;
    const double *from = s->all;
    for (size_t r = 0; r < peers->count; r++)
        net->sizes[r] = hg_peers_columns(peers, r, n, grain) * sizeof *sums;
    if (lie(peers, n, grain)) {
        net->gather(net, sums + HG_MIN(peers->rank * grain, n), net->sizes, sums);
        return;
    }
    (void)copy_tiles(peers, peers->rank, sums, n, grain, s->mine, true);
    net->gather(net, s->mine, net->sizes, s->all);
    for (size_t r = 0; r < peers->count; r++)
        if (r != peers->rank)
            from += copy_tiles(peers, r, sums, n, grain, (double *)from, false);
        else
            from += net->sizes[r] / sizeof *sums;
}

/* Does hg_peers.bring by one sum, which is where the ranks agree on everything, and a gather. */
static hinge_status bring(struct hg_peers *peers, hinge_status status, const struct hg_halt *halt, uint64_t *values,
                          double *sums, size_t n, size_t grain)
{
    struct shared *s = peers->arg;
    struct hm_sum sum = { .count = { *values } };
    if (peers->failed != HINGE_OK) /* on all */
        return peers->failed;
    peers->met++;
    sum.most[1].key = (uint64_t)__atomic_load_n(&peers->wish, __ATOMIC_RELAXED);
    if (peers->deadline > 0 && hg_now() > peers->deadline)
        sum.most[1].key = 1;
    if (status == HINGE_OK && s->unsaved.status != HINGE_OK)
        status = (peers->err = s->unsaved).status;
    if (status == HINGE_OK)
        status = make_room(s, lie(peers, n, grain) ? 0 : n);
    else if (peers->err.status != status)
        (void)hg_rows_told(status, &peers->err);
    peers->failed = hm_agreed_with(s->net, status, &sum, &peers->err);
    if (peers->failed != HINGE_OK)
        return peers->failed;
    *values = sum.count[0];
    if (halt != NULL && sum.most[1].key != 0)
        hg_request_halt(halt, (int)sum.most[1].key);
    if (n > 0 && peers->count > 1)
        share_sums(s, sums, n, grain);
    return HINGE_OK;
}

static hinge_status collect(struct hg_peers *peers, const void *mine, size_t bytes, void **all, size_t *total)
{
    struct shared *s = peers->arg;
    return peers->failed = hm_gather_all(s->net, mine, bytes, all, total, &peers->err);
}

/* ---- checkpoints ------------------------------------------------------------------------------------------------- */

/* Does hg_peers.keep: of one problem, which all ranks solve, rank 0 writes it. */
static bool keep(struct hg_peers *peers, size_t problem, const struct hg_qp *qp, bool now)
{
    struct shared *s = peers->arg;
    struct kept *kept = &s->kept[problem];
    hinge_error err = { 0 };
    double time = hg_now();
    if ((s->n_problems == 1 && peers->rank > 0) || (!now && time - kept->at <= s->every))
        return true;
    kept->at = time;
    if (hm_save_whole(&kept->save, qp, &err) == HINGE_OK)
        return true;
    pthread_mutex_lock(&s->lock);
    s->unsaved = err;
    pthread_mutex_unlock(&s->lock);
    return false;
}

/* Restores a problem of this rank's own. */
static hinge_status take_own(struct shared *s, size_t problem, struct hg_qp *qp, bool *found, hinge_error *err)
{
    hinge_status status = hm_restore_whole(&s->kept[problem].save, qp, found, err);
    pthread_mutex_lock(&s->lock);
    s->restored |= *found;
    pthread_mutex_unlock(&s->lock);
    return status;
}

/* Does hg_peers.take. One problem is read by rank 0, so that all go on from the same. */
static hinge_status take(struct hg_peers *peers, size_t problem, struct hg_qp *qp, bool *found, hinge_error *err)
{
    struct shared *s = peers->arg;
    uint64_t told;
    hinge_status status = HINGE_OK;
    if (s->n_problems > 1)
        return take_own(s, problem, qp, found, err);
    if (peers->rank == 0)
        status = take_own(s, problem, qp, found, &peers->err);
    HG_TRY(peers->failed = hm_agree(s->net, status, &peers->err));
    told = *found;
    s->net->broadcast(s->net, &told, sizeof told, 0);
    *found = told != 0;
    for (int l = 0; l < qp->layers && *found; l++)
        s->net->broadcast(s->net, qp->beta[l], qp->n * sizeof(double), 0);
    return HINGE_OK;
}

/* Makes the identity of the rows of all ranks, and of how they are trained on. */
static uint64_t identify(const struct shared *s, const hinge_params *p)
{
    const hinge_scaling *scaling = p->scaling;
    const double range[] = { scaling != NULL, scaling != NULL ? scaling->lower : 0,
                             scaling != NULL ? scaling->upper : 0 };
    const uint64_t sizes[] = { s->x.rows, s->x.cols, s->n_problems, p->n_class_weights, p->positive_class != NULL };
    size_t width = s->x.stride * hg_size_of(s->x.type);
    uint64_t hash = hm_mix_bytes(0, s->x.data, s->x.rows * width);
    hash = hm_mix_bytes(hash, s->y, s->y != NULL ? s->x.rows * sizeof *s->y : 0);
    hash = hm_mix_bytes(hash, s->weight, s->weight != NULL ? s->x.rows * sizeof *s->weight : 0);
    hash = hm_mix_bytes(hash, s->index, s->index != NULL ? s->x.rows * sizeof *s->index : 0);
    hash = hm_mix_bytes(hash, range, sizeof range);
    if (scaling != NULL && scaling->low != NULL) {
        hash = hm_mix_bytes(hash, scaling->low, scaling->n_features * sizeof *scaling->low);
        hash = hm_mix_bytes(hash, scaling->high, scaling->n_features * sizeof *scaling->high);
    }
    hash = hm_mix_bytes(hash, p->class_labels, p->n_class_weights * sizeof *p->class_labels);
    hash = hm_mix_bytes(hash, p->class_weights, p->n_class_weights * sizeof *p->class_weights);
    hash = hm_mix_bytes(hash, p->positive_class, p->positive_class != NULL ? sizeof *p->positive_class : 0);
    return hm_identity(hash, p, sizes, sizeof sizes / sizeof *sizes);
}

static hinge_status open_checkpoints(struct shared *s, const hinge_params *p, const struct hm_options *options,
                                     hinge_error *err)
{
    if (options->checkpoint == NULL)
        return HINGE_OK;
    uint64_t identity = identify(s, p);
    s->every = options->every > 0 ? options->every : 600;
    HG_TRY(HM_MAKE(s->net, err, "checkpoints", HG_ZEROS(s->kept, s->n_problems)));
    for (size_t k = 0; k < s->n_problems; k++)
        s->kept[k] = (struct kept){ { .folder = options->checkpoint, .problem = k, .identity = identity }, hg_now() };
    return HINGE_OK;
}

/* ---- the rows ---------------------------------------------------------------------------------------------------- */

/* Says whether f32 has this rank's values as they are. */
static bool all_f32(const hinge_matrix *x)
{
    for (size_t i = 0; x->type == HINGE_F64 && i < x->rows; i++)
        for (size_t c = 0; c < x->cols; c++) {
            double v = hg_matrix_value(x, i, c);
            if ((double)(float)v != v)
                return false;
        }
    return true;
}

/* Gathers all rows. An odd number of floats is filled up, as messages are of 8 bytes each. */
static hinge_status gather_rows(struct shared *s, const hinge_matrix *x, size_t n, size_t d, hinge_dtype type,
                                hinge_error *err)
{
    size_t stride = type == HINGE_F32 ? (d + 1) / 2 * 2 : d, size = hg_size_of(type), total;
    char *mine = hg_zalloc(x->rows * stride, size);
    void *all = NULL;
    for (size_t i = 0; mine != NULL && i < x->rows; i++)
        for (size_t c = 0; c < x->cols; c++)
            hg_put(mine, type, i * stride + c, hg_matrix_value(x, i, c));
    hinge_status status = hm_gather_all(s->net, mine, x->rows * stride * size, &all, &total, err);
    hg_free(mine);
    s->x = (hinge_matrix){ all, type, n, d, stride, HINGE_ROW_MAJOR };
    return status;
}

/* Gathers columns part [width * rows] (NULL: of 1): *table [width * rows of all], to be freed. */
static hinge_status gather_columns(const struct shared *s, size_t rows, const double *part, size_t width,
                                   double **table, hinge_error *err)
{
    size_t total;
    void *all = NULL;
    double *mine;
    *table = NULL;
    HG_TRY(HM_MAKE(s->net, err, "what rows have", HG_TABLE(mine, rows, width)));
    for (size_t k = 0; k < width; k++)
        for (size_t i = 0; i < rows; i++)
            mine[i * width + k] = part != NULL ? part[k * rows + i] : 1;
    hinge_status status = hm_gather_all(s->net, mine, rows * width * sizeof *mine, &all, &total, err);
    hg_free(mine);
    HG_THEN(status, HM_MAKE(s->net, err, "what rows have", HG_TABLE(*table, s->x.rows, width)));
    for (size_t i = 0; status == HINGE_OK && i < s->x.rows; i++)
        for (size_t k = 0; k < width; k++)
            (*table)[k * s->x.rows + i] = ((const double *)all)[i * width + k];
    hg_free(all);
    return status;
}

/* Gathers each row's column of a kernel matrix. */
static hinge_status gather_index(struct shared *s, size_t rows, const hinge_params *p, hinge_error *err)
{
    double *mine, *all = NULL;
    HG_TRY(HM_MAKE(s->net, err, "columns of a kernel matrix", HG_ARRAY(mine, rows)));
    for (size_t i = 0; i < rows; i++)
        mine[i] = (double)p->precomputed_index[i];
    hinge_status status = gather_columns(s, rows, mine, 1, &all, err);
    HG_THEN(status, HM_MAKE(s->net, err, "columns of a kernel matrix", HG_ARRAY(s->index, s->x.rows)));
    for (size_t i = 0; status == HINGE_OK && i < s->x.rows; i++)
        s->index[i] = (size_t)all[i];
    hg_free(mine);
    hg_free(all);
    return status;
}

/* ---- the training ------------------------------------------------------------------------------------------------ */

/* What all ranks bring, added up. */
struct whole {
    size_t n, d;
    bool weighted, started, indexed, f64;
};

static struct whole add_up(const struct hm_net *net, const hinge_matrix *x, const hinge_params *p)
{
    struct hm_sum sum = { .most = { { x->cols, 0 },
                                    { p->weights != NULL, 0 },
                                    { p->beta0 != NULL, 0 },
                                    { p->precomputed_index != NULL, 0 },
                                    { !all_f32(x), 0 } },
                          .count = { x->rows } };
    net->sum(net, &sum);
    return (struct whole){ sum.count[0],    sum.most[0].key, sum.most[1].key,
                           sum.most[2].key, sum.most[3].key, sum.most[4].key };
}

bool hm_fits(const struct hm_net *net, const hinge_matrix *x, const hinge_params *params,
             const struct hm_options *options)
{
    struct whole w = add_up(net, x, params);
    return options->tile == 0 && options->rounds == NULL && w.n > 0 &&
           (double)w.n * (double)(w.d + OF_A_ROW) <= MOST_VALUES && !hm_ask_machines(net, params).mixed;
}

/* Counts the two-class problems of labels y [n]. */
static size_t count_problems(const hinge_params *p, const double *y, size_t n)
{
    size_t classes = 0;
    for (size_t i = 0, k; i < n && hinge_task_info(p->task)->classifies; i++) {
        for (k = 0; k < i && y[k] != y[i]; k++)
            ;
        classes += k == i;
    }
    return hinge_task_info(p->task)->classifies ? hg_count_problems(p->multiclass, classes) : 1;
}

/* Gathers what the ranks have, and sets params to it. */
static hinge_status gather(struct shared *s, const hinge_matrix *x, const double *y, hinge_params *p, hinge_error *err)
{
    struct whole w = add_up(s->net, x, p);
    hinge_status status = HINGE_OK;
    if (w.started && p->beta0 == NULL && x->rows > 0)
        status = hg_fail(err, HINGE_EINVAL, "beta0: NULL on a rank that has rows, and other ranks have coefficients");
    if (w.indexed && p->precomputed_index == NULL && x->rows > 0)
        status = hg_fail(err, HINGE_EINVAL, "precomputed_index: NULL on a rank that has rows, and not on others");
    HG_TRY(hm_agree(s->net, status, err));
    HG_TRY(gather_rows(s, x, w.n, w.d, w.f64 ? HINGE_F64 : HINGE_F32, err));
    if (!hinge_task_info(p->task)->one_class)
        HG_TRY(gather_columns(s, x->rows, y, 1, &s->y, err));
    if (w.weighted)
        HG_TRY(gather_columns(s, x->rows, p->weights, 1, &s->weight, err));
    s->n_problems = count_problems(p, s->y, w.n);
    if (w.started)
        HG_TRY(gather_columns(s, x->rows, p->beta0, s->n_problems, &s->start, err));
    if (w.indexed)
        HG_TRY(gather_index(s, x->rows, p, err));
    p->precomputed_index = s->index;
    p->weights = s->weight;
    p->beta0 = s->start;
    return HINGE_OK;
}

/* Certifies by rank 0, which tells the others. */
static hinge_status certify(const struct shared *s, const hinge_model *model, const double *y, const hinge_params *p,
                            hinge_certificate *certificate, hinge_error *err)
{
    hinge_status status = HINGE_OK;
    if (s->net->rank == 0)
        status = hinge_certify(model, &s->x, y, p, certificate, err);
    HG_TRY(hm_agree(s->net, status, err));
    s->net->broadcast(s->net, certificate, sizeof *certificate, 0);
    return HINGE_OK;
}

static void open_peers(struct shared *s, const hinge_params *p)
{
    s->peers = (struct hg_peers){ .rank = (size_t)s->net->rank,
                                  .count = (size_t)s->net->ranks,
                                  .memory = hm_ask_machines(s->net, p).least,
                                  .arg = s,
                                  .bring = bring,
                                  .collect = collect,
                                  .keep = s->kept != NULL ? keep : NULL,
                                  .take = take,
                                  .deadline = p->time_limit > 0 ? hg_now() + p->time_limit : 0 };
}

/* Ends a call of hinge's own with peers: what one rank came to, all do. */
static hinge_status settle(struct shared *s, hinge_status status, hinge_report *report, hinge_error *err)
{
    const hinge_error *told = s->peers.failed != HINGE_OK     ? &s->peers.err
                              : s->unsaved.status != HINGE_OK ? &s->unsaved
                                                              : NULL;
    if (told != NULL && err != NULL)
        *err = *told;
    if (s->peers.failed != HINGE_OK) /* on all */
        return s->peers.failed;
    struct hm_sum sum = { .most = { [1] = { s->restored, 0 } } };
    HG_TRY(hm_agreed_with(s->net, told != NULL ? told->status : status, &sum, err));
    hg_tell_path(report, ", %d ranks", s->net->ranks);
    if (sum.most[1].key != 0)
        hg_tell_path(report, ", from a checkpoint");
    return HINGE_OK;
}

static hinge_status train(struct shared *s, const hinge_params *p, const struct hm_options *options,
                          hinge_model **model, hinge_report *report, hinge_error *err)
{
    open_peers(s, p);
    hm_count_as(s->net, HM_SOLVING);
    hinge_status status = hg_train_by_peers(&s->peers, model, &s->x, s->y, p, report, err);
    hm_count_as(s->net, HM_REST);
    if (status == HINGE_OK && s->net->traffic != NULL)
        s->net->traffic->values = report->kernel_values - s->peers.spared;
    HG_TRY(settle(s, status, report, err));
    return options->certificate != NULL ? certify(s, *model, s->y, p, options->certificate, err) : HINGE_OK;
}

static void close_shared(struct shared *s)
{
    hg_free((void *)s->x.data);
    hg_free(s->y);
    hg_free(s->weight);
    hg_free(s->start);
    hg_free(s->index);
    hg_free(s->mine);
    hg_free(s->kept);
    pthread_mutex_destroy(&s->lock);
}

hinge_status hm_train_shared(const struct hm_net *net, const hinge_matrix *x, const double *y,
                             const hinge_params *params, const struct hm_options *options, hinge_model **model,
                             hinge_report *report, hinge_error *err)
{
    struct shared s = { .net = net };
    hinge_params p = *params;
    pthread_mutex_init(&s.lock, NULL);
    hinge_status status = gather(&s, x, y, &p, err);
    HG_THEN(status, open_checkpoints(&s, &p, options, err));
    HG_THEN(status, train(&s, &p, options, model, report, err));
    if (net->rank != 0) {
        hinge_model_free(*model);
        *model = NULL;
    }
    close_shared(&s);
    return status;
}

/* first: of this rank's rows */
static hinge_status validate(struct shared *s, const hinge_params *p, size_t folds, size_t first, size_t rows,
                             double *predictions, hinge_report *report, hinge_error *err)
{
    hinge_report r = { 0 };
    double *all;
    HG_TRY(HM_MAKE(s->net, err, "predictions", HG_ARRAY(all, s->x.rows)));
    open_peers(s, p);
    hinge_status status = hg_cross_validate(NULL, &s->peers, &s->x, s->y, p, folds, all, &r, err);
    status = settle(s, status, &r, err);
    if (status == HINGE_OK && rows > 0)
        memcpy(predictions, all + first, rows * sizeof *all);
    if (status == HINGE_OK && report != NULL)
        *report = r;
    hg_free(all);
    return status;
}

hinge_status hm_cross_validate_shared(const struct hm_net *net, const hinge_matrix *x, const double *y,
                                      const hinge_params *params, size_t folds, double *predictions,
                                      hinge_report *report, hinge_error *err)
{
    struct shared s = { .net = net };
    hinge_params p = *params;
    size_t first = 0;
    p.beta0 = NULL;
    pthread_mutex_init(&s.lock, NULL);
    hm_sizes(net, x->rows);
    for (int r = 0; r < net->rank; r++)
        first += net->sizes[r];
    hinge_status status = gather(&s, x, y, &p, err);
    HG_THEN(status, validate(&s, &p, folds, first, x->rows, predictions, report, err));
    close_shared(&s);
    return status;
}

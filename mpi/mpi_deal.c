/* Labels, counts and points: what ranks agree on before a training, and the deal of tiles (mpi_own.h). */
#include "lib/data/params.h"
#include "mpi/mpi_own.h"

#include <hinge/scaling.h>

#include <math.h>

static const size_t AT_ONCE = (size_t)64 << 20; /* bytes that a rank gets in one exchange, at most */

struct class_seen {
    double label;
    uint64_t row; /* first of this rank's; then of all */
};

struct deal {
    const struct hm_net *net;
    const hinge_matrix *x;
    const double *y;
    struct hm_own *own;
    struct hg_points points; /* x as it is trained on */
    uint64_t first_row;
    uint32_t *group;   /* [rows] UINT32_MAX: of weight 0 */
    double *factor;    /* [2 d] that values are scaled by, then what is added; NULL: they are not */
    uint64_t *before;  /* [groups] points of each on lower ranks, then the next one's place */
    struct head *head; /* [batch] of rows that are dealt together */
    uint64_t *place;   /* [ranks] of each one's next row among them */
};

/* A value as it is trained on; of features that this rank's rows have not, too. */
static double value_of(const struct deal *d, size_t i, size_t c)
{
    if (c < d->x->cols)
        return hg_points_value(&d->points, i, c);
    return d->factor != NULL ? (0 - d->own->scaling.low[c]) * d->factor[c] + d->factor[d->own->pr.data.d + c] : 0;
}

static double weight_of(const hinge_params *p, size_t row, double label)
{
    double weight = p->weights != NULL ? p->weights[row] : 1;
    return hinge_task_info(p->task)->classifies ? weight * hg_class_weight(p, label) : weight;
}

/* ---- classes ----------------------------------------------------------------------------------------------------- */

/* One more of k labels, if it is none of them; returns how many there are then. */
static size_t add_label(struct class_seen *seen, size_t k, struct class_seen one)
{
    size_t c = 0;
    while (c < k && seen[c].label != one.label)
        c++;
    seen[c] = c < k ? seen[c] : one;
    return HG_MAX(k, c + 1);
}

/* Lists the labels of this rank's rows, in the order in which they appear; returns how many there are. */
static size_t own_labels(const struct deal *d, struct class_seen *seen)
{
    size_t count = 0;
    for (size_t i = 0; i < d->x->rows; i++)
        count = add_label(seen, count, (struct class_seen){ d->y[i] == 0 ? 0 : d->y[i], d->first_row + i });
    return count;
}

static hinge_status take_labels(struct hg_problem *pr, struct class_seen *all, size_t n, hinge_error *err)
{
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        k = add_label(all, k, all[i]);
    pr->n_classes = k;
    HG_TRY(HG_MAKE(err, "the labels of classes", HG_ARRAY(pr->labels, k)));
    for (size_t c = 0; c < k; c++)
        pr->labels[c] = all[c].label;
    return hg_problem_classes(pr, err);
}

static hinge_status agree_on_labels(struct deal *d, hinge_error *err)
{
    size_t total;
    struct class_seen *mine;
    void *all = NULL;
    hinge_status status = HM_MAKE(d->net, err, "labels", HG_ARRAY(mine, d->x->rows));
    HG_THEN(status, hm_gather_all(d->net, mine, own_labels(d, mine) * sizeof *mine, &all, &total, err));
    HG_THEN(status, hm_agree(d->net, take_labels(&d->own->pr, all, total / sizeof *mine, err), err));
    hg_free(mine);
    hg_free(all);
    return status;
}

/* ---- counts ------------------------------------------------------------------------------------------------------ */

/* Each row's group, and how many points each has on each rank. */
static hinge_status count_points(struct deal *d, hinge_error *err)
{
    struct hm_own *own = d->own;
    struct hg_problem *pr = &own->pr;
    size_t groups = own->n_groups = pr->classifies ? pr->n_classes : 1, ranks = (size_t)d->net->ranks;
    uint64_t *all;
    pr->start = hg_zalloc(groups + 1, sizeof *pr->start);
    bool ok = pr->start != NULL && HG_ROOM(HG_ZEROS(own->first_tile, groups + 1), HG_ZEROS(own->begin, groups + 1)) &&
              HG_ROOM(HG_ARRAY(d->group, d->x->rows), HG_ZEROS(d->before, groups), HG_ARRAY(all, groups * ranks));
    HG_TRY(HM_HAVE(d->net, ok, err, "no memory for %zu rows", d->x->rows));
    hinge_status status = HINGE_OK;
    size_t c = 0;
    for (size_t i = 0; i < d->x->rows; i++) {
        while (pr->classifies && pr->labels[c] != d->y[i])
            c = c + 1 < groups ? c + 1 : 0;
        bool used = weight_of(&pr->params, i, pr->classifies ? pr->labels[c] : 0) > 0;
        d->group[i] = used ? (uint32_t)c : UINT32_MAX;
        d->before[c] += used;
    }
    for (size_t r = 0; r < ranks; r++)
        d->net->sizes[r] = groups * sizeof *all;
    d->net->gather(d->net, d->before, d->net->sizes, all);
    for (c = 0; c < groups; c++) {
        size_t count = 0;
        for (size_t r = 0; r < ranks; r++) {
            if (r == (size_t)d->net->rank)
                d->before[c] = count;
            count += all[r * groups + c];
        }
        pr->start[c + 1] = pr->start[c] + count;
        if (count == 0 && pr->classifies)
            status = hg_fail(err, HINGE_EINVAL, "weights: all rows of class %g have weight 0", pr->labels[c]);
    }
    pr->data.n = pr->start[groups];
    /* the same on all */
    return pr->data.n > 0 ? status : hg_fail(err, HINGE_EINVAL, "weights: all rows have weight 0");
}

/* ---- tiles ------------------------------------------------------------------------------------------------------- */

size_t hm_find_tile(const struct hm_own *own, uint64_t number, size_t *c)
{
    *c = 0;
    while (number >= own->pr.start[*c + 1])
        ++*c;
    return own->first_tile[*c] + (number - own->pr.start[*c]) / own->tile;
}

static void lay_tiles(const struct hm_net *net, struct hm_own *own)
{
    for (size_t c = 0; c < own->n_groups; c++) {
        size_t n = own->pr.start[c + 1] - own->pr.start[c];
        own->first_tile[c + 1] = own->first_tile[c] + (n + own->tile - 1) / own->tile;
        for (size_t t = own->first_tile[c]; t < own->first_tile[c + 1]; t++)
            if (t % (size_t)net->ranks == (size_t)net->rank)
                own->n += HG_MIN(own->tile, n - (t - own->first_tile[c]) * own->tile);
        own->begin[c + 1] = own->n;
    }
    own->n_tiles = own->first_tile[own->n_groups];
}

/* ---- the deal ---------------------------------------------------------------------------------------------------- */

struct head { /* of a row on its way; its start and its values follow */
    uint64_t number, row;
    double y, weight;
};

static size_t head_bytes(const struct hm_own *own)
{
    return sizeof(struct head) + own->starts * sizeof *own->start;
}

size_t hm_row_bytes(const struct hm_own *own)
{
    return head_bytes(own) + (own->pr.data.d * hg_size_of(own->type) + 7) / 8 * 8;
}

static void write_row(const struct deal *d, size_t i, struct head head, char *to)
{
    const struct hm_own *own = d->own;
    memset(to, 0, hm_row_bytes(own));
    memcpy(to, &head, sizeof head);
    for (size_t p = 0; p < own->starts; p++)
        memcpy(to + sizeof head + p * sizeof(double), &own->pr.params.beta0[p * d->x->rows + i], sizeof(double));
    to += head_bytes(own);
    hg_points_pack(&d->points, NULL, i, 1, own->type, to, own->pr.data.d);
    for (size_t c = d->x->cols; c < own->pr.data.d; c++)
        hg_put(to, own->type, c, value_of(d, i, c));
}

void hm_write_row(const struct hm_own *own, size_t i, char *to)
{
    const struct head head = { own->number[i], own->row[i], own->y[i], own->weight[i] };
    size_t starts = own->starts * sizeof *own->start;
    memset(to, 0, hm_row_bytes(own));
    memcpy(to, &head, sizeof head);
    memcpy(to + sizeof head, own->start + i * own->starts, starts);
    hg_points_pack(&own->points, NULL, i, 1, own->type, to + sizeof head + starts, own->pr.data.d);
}

size_t hm_take_row(const struct hm_net *net, struct hm_own *own, const char *from)
{
    struct head head;
    size_t c, ranks = (size_t)net->ranks, size = hg_size_of(own->type);
    memcpy(&head, from, sizeof head);
    size_t tile = hm_find_tile(own, head.number, &c), first = own->first_tile[c];
    size_t mine = first + ((size_t)net->rank + ranks - first % ranks) % ranks; /* those before are whole */
    size_t at = own->begin[c] + (tile - mine) / ranks * own->tile + (head.number - own->pr.start[c]) % own->tile;
    own->number[at] = head.number;
    own->row[at] = head.row;
    own->y[at] = head.y;
    own->weight[at] = head.weight;
    memcpy(own->start + at * own->starts, from + sizeof head, own->starts * sizeof *own->start);
    memcpy((char *)own->x + at * own->stride * size, from + head_bytes(own), own->pr.data.d * size);
    return at;
}

/* Whom row k of those dealt together goes to. */
static size_t rank_of(const struct deal *d, size_t k)
{
    size_t c;
    return hm_find_tile(d->own, d->head[k].number, &c) % (size_t)d->net->ranks;
}

/* Rows [first, end); before [groups] moves on. */
static hinge_status exchange_rows(struct deal *d, size_t first, size_t end, hinge_error *err)
{
    const struct hm_own *own = d->own;
    size_t ranks = (size_t)d->net->ranks, bytes = hm_row_bytes(own), total = 0, used = 0;
    uint64_t *out = d->net->out;
    void *all;
    memset(out, 0, ranks * sizeof *out);
    for (size_t i = first; i < end; i++) {
        uint32_t c = d->group[i];
        if (c == UINT32_MAX)
            continue;
        double y = d->y != NULL ? d->y[i] : 0;
        d->head[i - first] = (struct head){ own->pr.start[c] + d->before[c]++, d->first_row + i, y,
                                            weight_of(&own->pr.params, i, y == 0 ? 0 : y) };
        out[rank_of(d, i - first)] += bytes;
    }
    for (size_t r = 0; r < ranks; r++) {
        d->place[r] = used;
        used += out[r];
    }
    char *send = hg_alloc(used, 1);
    for (size_t i = first; i < end && send != NULL; i++)
        if (d->group[i] != UINT32_MAX) {
            uint64_t *to = &d->place[rank_of(d, i - first)];
            write_row(d, i, d->head[i - first], send + *to);
            *to += bytes;
        }
    hinge_status status = hm_exchange(d->net, send, &all, &total, err);
    for (size_t at = 0; status == HINGE_OK && at < total; at += bytes)
        (void)hm_take_row(d->net, d->own, (const char *)all + at);
    hg_free(send);
    hg_free(all);
    return status;
}

/* Makes room for own points. */
static bool make_rows(struct hm_own *own)
{
    size_t n = own->n;
    own->x = hg_zalloc(n * own->stride, hg_size_of(own->type));
    own->x32 = own->type == HINGE_F32 ? own->x : hg_zalloc(n * own->stride, sizeof *own->x32);
    own->points = (struct hg_points){ .x = { own->x, own->type, n, own->pr.data.d, own->stride, HINGE_ROW_MAJOR },
                                      .n = n };
    return own->x != NULL && own->x32 != NULL &&
           HG_ROOM(HG_ARRAY(own->number, n), HG_ARRAY(own->row, n), HG_ARRAY(own->y, n), HG_ARRAY(own->weight, n),
                   HG_TABLE(own->start, n, own->starts));
}

static hinge_status deal_rows(struct deal *d, hinge_error *err)
{
    struct hm_own *own = d->own;
    size_t ranks = (size_t)d->net->ranks;
    size_t batch = HG_MAX(AT_ONCE / ranks / hm_row_bytes(own), (size_t)1);
    struct hm_sum sum = { 0 };
    own->stride = (own->pr.data.d + 15) / 16 * 16;
    bool ok = make_rows(own) && HG_ROOM(HG_ARRAY(d->head, HG_MIN(batch, d->x->rows)), HG_ARRAY(d->place, ranks));
    HG_TRY(HM_HAVE(d->net, ok, err, "no memory for %zu rows of %zu features", own->n, own->pr.data.d));
    sum.most[0].key = (d->x->rows + batch - 1) / batch;
    d->net->sum(d->net, &sum);
    for (uint64_t k = 0; k < sum.most[0].key; k++) {
        size_t first = HG_MIN(k * batch, d->x->rows);
        HG_TRY(exchange_rows(d, first, HG_MIN(first + batch, d->x->rows), err));
    }
    return HINGE_OK;
}

/* ---- the data as a whole ----------------------------------------------------------------------------------------- */

static bool all_f32(const struct deal *d)
{
    if (d->x->type == HINGE_F32 && d->factor == NULL)
        return true;
    for (size_t i = 0; i < d->x->rows; i++)
        for (size_t c = 0; c < d->own->pr.data.d; c++) {
            double v = value_of(d, i, c);
            if ((double)(float)v != v)
                return false;
        }
    return true;
}

hinge_status hm_check_rows(const hinge_matrix *x, const double *y, const hinge_params *params, hinge_error *err)
{
    const hinge_task_row *task = params != NULL ? hinge_task_info(params->task) : NULL;
    HG_TRY(hg_matrix_check(x, "x", err));
    if (task == NULL)
        return hg_fail(err, HINGE_EINVAL, params == NULL ? "params: NULL" : "params: NULL, or no task");
    if (y == NULL && !task->one_class && x->rows > 0)
        return hg_fail(err, HINGE_EINVAL, "y: NULL, but this task needs labels or targets");
    HG_TRY(hg_matrix_check_finite(x, "x", 1, err));
    for (size_t i = 0; i < x->rows; i++) {
        if (!task->one_class && !isfinite(y[i]))
            return hg_fail(err, HINGE_EINVAL, "y: row %zu of this rank is %g, not a finite number", i, y[i]);
        if (params->weights != NULL && !(params->weights[i] >= 0 && isfinite(params->weights[i])))
            return hg_fail(err, HINGE_EINVAL, "weights: %g of row %zu of this rank", params->weights[i], i);
    }
    return HINGE_OK;
}

hinge_status hm_check_params(const hinge_params *params, size_t n, size_t d, hinge_params *resolved, hinge_error *err)
{
    hinge_params plain = *params;
    plain.weights = NULL; /* looked at already */
    plain.scaling = NULL;
    plain.beta0 = NULL;
    if (params->solver == HINGE_SOLVER_INTERIOR_POINT)
        return hg_fail(err, HINGE_EINVAL, "solver: rows that are dealt know block SMO alone");
    if (params->kernel.type == HINGE_PRECOMPUTED)
        return hg_fail(err, HINGE_EINVAL, "kernel: a precomputed kernel has columns for all rows; they are not dealt");
    HG_TRY(hg_params_check(&plain, n, d, resolved, err));
    return !hg_params_need_interior(resolved)
               ? HINGE_OK
               : hg_fail(err, HINGE_EINVAL,
                         "solver: a hard margin, or a rank, needs the interior point, which rows "
                         "that are dealt do not have");
}

struct hm_machines hm_ask_machines(const struct hm_net *net, const hinge_params *params)
{
    hinge_machine machine = hg_processor_info();
    struct hm_sum sum = { 0 };
    uint64_t hash = (uint64_t)hg_cpu_level(params->cpu_level), half = hg_total_memory() / 2;
    for (size_t k = 0; machine.blas[k] != '\0'; k++) {
        hash ^= (uint64_t)(unsigned char)machine.blas[k];
        hash = hg_random(&hash);
    }
    sum.most[0].key = hash;
    sum.most[1].key = ~hash;
    sum.most[2].key = ~half;
    sum.count[0] = net->leads ? half : 0;
    sum.count[1] = net->leads;
    net->sum(net, &sum);
    uint64_t ranks = (uint64_t)net->ranks, machines = HG_MAX(sum.count[1], (uint64_t)1);
    return (struct hm_machines){ .mixed = sum.most[0].key != ~sum.most[1].key,
                                 .memory = params->cache_bytes > 0 ? params->cache_bytes : sum.count[0],
                                 .least = ~sum.most[2].key / ((ranks + machines - 1) / machines) };
}

/* Counts of rows and features, and what parameters come to with them. */
static hinge_status agree_on_sizes(struct deal *d, const hinge_params *params, hinge_error *err)
{
    struct hm_own *own = d->own;
    struct hm_sum sum = { 0 };
    hm_sizes(d->net, d->x->rows);
    for (int r = 0; r < d->net->ranks; r++) {
        d->first_row += r < d->net->rank ? d->net->sizes[r] : 0;
        own->rows += d->net->sizes[r];
    }
    sum.most[0].key = d->x->cols;
    sum.most[1].key = params->beta0 != NULL;
    d->net->sum(d->net, &sum);
    own->pr.data.d = sum.most[0].key;
    if (own->rows == 0)
        return hg_fail(err, HINGE_EINVAL, "x: no rows to train on");
    if (own->rows > UINT32_MAX)
        return hg_fail(err, HINGE_ESIZE, "x: %zu rows are more than 2^32 - 1", own->rows);
    hinge_status status = hm_check_params(params, own->rows, own->pr.data.d, &own->pr.params, err);
    if (status == HINGE_OK && sum.most[1].key && params->beta0 == NULL && d->x->rows > 0)
        status = hg_fail(err, HINGE_EINVAL, "beta0: NULL on a rank that has rows, and other ranks have coefficients");
    own->starts = sum.most[1].key;
    own->pr.params.weights = params->weights;
    own->pr.params.beta0 = params->beta0;
    own->pr.data.kernel = own->pr.params.kernel;
    own->pr.data.maker = own->pr.params.maker;
    own->pr.data.cpu_level = own->pr.params.cpu_level;
    own->pr.task = hinge_task_info(params->task);
    own->pr.classifies = own->pr.task->classifies;
    return hm_agree(d->net, status, err);
}

void hm_fill_floats(struct hm_own *own)
{
    for (size_t i = 0; own->type == HINGE_F64 && i < own->n; i++)
        for (size_t c = 0; c < own->pr.data.d; c++)
            own->x32[i * own->stride + c] = (float)hg_matrix_value(&own->points.x, i, c);
}

static void measure_points(const struct hm_net *net, struct hm_own *own)
{
    struct hm_sum sum = { 0 };
    for (size_t i = 0; i < own->n; i++) {
        double norm = 0;
        for (size_t c = 0; c < own->pr.data.d; c++) {
            double v = hg_matrix_value(&own->points.x, i, c);
            norm += v * v;
            sum.count[0] += (float)v != 0;
        }
        hm_raise(&sum.most[0], hm_key(norm), 0);
    }
    net->sum(net, &sum);
    own->nonzeros = (double)sum.count[0] / (double)own->pr.data.n;
    own->pr.data.norm = sum.most[0].key > 0 ? hm_value(sum.most[0].key) : 0;
}

static hinge_status deal(struct deal *d, const hinge_params *params, size_t tile, hinge_error *err)
{
    struct hm_own *own = d->own;
    struct hm_sum sum = { 0 };
    HG_TRY(agree_on_sizes(d, params, err));
    own->pr.n_classes = 2;
    own->pr.n_problems = 1;
    if (own->pr.classifies)
        HG_TRY(agree_on_labels(d, err));
    own->starts *= own->pr.n_problems;
    HG_TRY(count_points(d, err));
    if (params->scaling != NULL)
        HG_TRY(hm_scale(d->net, d->x, params, own->pr.data.d, &own->scaling, &d->factor, err));
    d->points = (struct hg_points){ .x = *d->x, .n = d->x->rows, .origin = own->scaling.low, .factor = d->factor,
                                    .offset = d->factor != NULL ? d->factor + own->pr.data.d : NULL };
    sum.most[0].key = !all_f32(d);
    d->net->sum(d->net, &sum);
    own->type = sum.most[0].key ? HINGE_F64 : HINGE_F32;
    own->tile = (tile > 0 ? (tile + HG_TILE_COLS - 1) / HG_TILE_COLS : 4) * HG_TILE_COLS;
    lay_tiles(d->net, own);
    HG_TRY(deal_rows(d, err));
    hm_fill_floats(own);
    measure_points(d->net, own);
    return hm_find_counts(d->net, own, err);
}

hinge_status hm_deal(const struct hm_net *net, const hinge_matrix *x, const double *y, const hinge_params *params,
                     size_t tile, struct hm_own *own, hinge_error *err)
{
    struct deal d = { .net = net, .x = x, .y = y, .own = own };
    memset(own, 0, sizeof *own);
    hinge_status status = deal(&d, params, tile, err);
    hg_free(d.group);
    hg_free(d.factor);
    hg_free(d.head);
    if (status != HINGE_OK)
        hm_own_free(own);
    return status;
}

/* ---- one problem alone ------------------------------------------------------------------------------------------- */

hinge_status hm_alone_init(struct hm_own *alone, const struct hm_own *all, size_t problem, hinge_error *err)
{
    size_t a, b, groups = all->n_groups;
    const size_t *start = all->pr.start;
    hg_problem_pair(&all->pr, problem, &a, &b);
    *alone = *all;
    alone->x = NULL;
    alone->x32 = NULL;
    alone->number = NULL;
    alone->n = hg_problem_size(&all->pr, problem);
    HG_TRY(HG_MAKE(err, "classes", HG_ZEROS(alone->begin, groups + 1)));
    for (size_t c = 0; c < groups; c++)
        alone->begin[c + 1] = alone->begin[c] + (c == a || c == b ? start[c + 1] - start[c] : 0);
    return make_rows(alone)
               ? HINGE_OK
               : hg_fail(err, HINGE_ENOMEM, "no memory for %zu rows of %zu features", alone->n, all->pr.data.d);
}

static void free_rows(struct hm_own *own)
{
    if (own->x32 != own->x)
        hg_free(own->x32);
    hg_free(own->x);
    hg_free(own->number);
}

void hm_alone_free(struct hm_own *alone)
{
    free_rows(alone);
    hg_free(alone->begin);
}

void hm_own_free(struct hm_own *own)
{
    free_rows(own);
    hg_free(own->first_tile);
    hg_free(own->kind.common);
    hinge_scaling_free(&own->scaling);
    hg_problem_free(&own->pr);
    memset(own, 0, sizeof *own);
}

/*
 * Problems of two of several classes, each solved by one rank (run.h). Of many small problems all ranks together would
 * each make K_WW and the inner solve, and share few tiles. In turns, each rank gets the rows of some problems, solves
 * one after the other over a table of one rank, and gives the coefficients back. Nothing of a problem depends on how
 * many ranks solve it: its points keep their numbers and tiles, and as many rows of theirs are kept.
 */
#include "mpi/mpi_run.h"
#include "lib/rows/peers.h"
#include "lib/train/training.h"
#include "solver/smo/store.h"

enum {
    OF_A_POINT = 200,           /* bytes that a run has of a point, beside its values and kernel rows */
    A_MESSAGE = (size_t)4 << 20 /* bytes of rows on their way to one rank that are few anywhere */
};

struct turns {
    const struct hm_net *net;
    struct hm_own *own;
    const struct hm_pairs *pairs;
    struct hg_dealt *dealt; /* [n] problems, the largest first */
    size_t n, *count;       /* [n_groups * ranks] points of each class on each rank */
    size_t memory, room;    /* for kernel rows of all ranks; for all that a rank has of its problems */
    size_t first, each;     /* of this turn: so many problems of each rank, the first of all */
};

/* Counts the bytes of a problem of n points where one rank has it: its rows come and go, and kernel rows are kept as
 * all ranks together would keep them (make_block of mpi_problem.c), by eight bytes a value in case f32 will not do. */
static double bytes_of(const struct turns *t, size_t n)
{
    struct hm_part part = { 0 };
    const struct hm_run run = { .own = t->own, .points = { .part = &part } };
    bool keeps = hg_keeps_rows(hm_cost(&run, HINGE_F32), n) || hg_keeps_rows(hm_cost(&run, HINGE_F64), n);
    return (double)n * ((keeps ? (double)n * sizeof(double) : 0) + 3 * (double)hm_row_bytes(t->own) + OF_A_POINT);
}

/* Chooses who solves what: the same on all ranks. What is left over for few ranks is for all. */
static hinge_status choose(struct turns *t, hinge_error *err)
{
    const struct hg_problem *pr = &t->own->pr;
    size_t ranks = (size_t)t->net->ranks, groups = t->own->n_groups;
    const struct hm_machines machines = hm_ask_machines(t->net, &pr->params);
    HG_TRY(HM_MAKE(t->net, err, "the deal of problems", HG_ARRAY(t->dealt, pr->n_problems),
                   HG_ZEROS(t->count, groups * ranks)));
    t->memory = machines.memory;
    t->room = machines.memory / ranks;
    for (size_t p = 0; p < pr->n_problems && !machines.mixed; p++) {
        size_t points = hg_problem_size(pr, p);
        if (bytes_of(t, points) <= (double)t->room)
            t->dealt[t->n++] = (struct hg_dealt){ points, p };
    }
    hg_largest_first(t->dealt, t->n);
    t->n -= 2 * (t->n % ranks) < ranks ? t->n % ranks : 0;
    for (size_t c = 0; c < groups; c++)
        for (size_t k = t->own->first_tile[c], left = pr->start[c + 1] - pr->start[c]; left > 0; k++) {
            size_t points = HG_MIN(left, t->own->tile);
            t->count[c * ranks + k % ranks] += points;
            left -= points;
        }
    return HINGE_OK;
}

/* Sets how many problems each rank gets next: messages are to be small beside the rows that a rank has anyway. */
static void begin_turn(struct turns *t)
{
    size_t ranks = (size_t)t->net->ranks, left = (t->n - t->first + ranks - 1) / ranks;
    size_t points = t->dealt[t->first].points, row = hm_row_bytes(t->own);
    double most = HG_MAX((double)A_MESSAGE, (double)t->own->pr.data.n / (double)ranks * (double)row / 4);
    most = HG_MIN(most, ((double)t->room - bytes_of(t, points)) / 2) / ((double)points * (double)row);
    t->each = HG_MAX(HG_MIN(left, (size_t)HG_MAX(most, 0.0)), (size_t)1);
}

/* Returns the k-th problem of a rank in this turn; SIZE_MAX: there is none. */
static size_t problem_of(const struct turns *t, size_t rank, size_t k)
{
    size_t at = t->first + hg_drawn(rank, (size_t)t->net->ranks, k);
    return at < t->n ? t->dealt[at].number : SIZE_MAX;
}

/* Counts the points that a rank has of what another one solves in this turn, before its k-th problem. */
static size_t points_before(const struct turns *t, size_t rank, size_t solver, size_t k)
{
    size_t a, b, sum = 0, ranks = (size_t)t->net->ranks;
    for (size_t j = 0; j < k; j++) {
        size_t p = problem_of(t, solver, j);
        if (p == SIZE_MAX)
            continue;
        hg_problem_pair(&t->own->pr, p, &a, &b);
        sum += t->count[a * ranks + rank] + t->count[b * ranks + rank];
    }
    return sum;
}

/* Visits own points as they travel in this turn: to each solver, of each problem, those of its first class first. */
struct visitor {
    const struct turns *t;
    char *row;          /* of the next one; or */
    const double *coef; /* the next one's; NULL: rows are written */
};

static void visit(struct visitor *v, size_t problem)
{
    const struct turns *t = v->t;
    const struct hm_own *own = t->own;
    size_t class[2], bytes = hm_row_bytes(own);
    hg_problem_pair(&own->pr, problem, &class[0], &class[1]);
    for (int k = 0; k < 2; k++)
        for (size_t i = own->begin[class[k]]; i < own->begin[class[k] + 1]; i++)
            if (v->coef != NULL) {
                t->pairs->put(t->pairs->arg, problem, i, k == 0, *v->coef++);
            } else {
                hm_write_row(own, i, v->row);
                v->row += bytes;
            }
}

static void visit_all(struct visitor *v)
{
    for (size_t r = 0; r < (size_t)v->t->net->ranks; r++)
        for (size_t k = 0; k < v->t->each; k++)
            if (problem_of(v->t, r, k) != SIZE_MAX)
                visit(v, problem_of(v->t, r, k));
}

static hinge_status bring_rows(const struct turns *t, void **rows, size_t *n, hinge_error *err)
{
    size_t bytes = hm_row_bytes(t->own), sent = 0, total;
    for (size_t r = 0; r < (size_t)t->net->ranks; r++) {
        t->net->out[r] = points_before(t, (size_t)t->net->rank, r, t->each) * bytes;
        sent += t->net->out[r];
    }
    struct visitor writer = { .t = t, .row = hg_alloc(sent, 1) };
    void *message = writer.row;
    if (message != NULL)
        visit_all(&writer);
    hinge_status status = hm_exchange(t->net, message, rows, &total, err);
    hg_free(message);
    *n = total / bytes;
    return status;
}

/* Solves the k-th problem of this rank; coefs: as rows. */
static hinge_status solve_one(struct turns *t, size_t k, const char *rows, double *coefs, hinge_error *err)
{
    size_t p = problem_of(t, (size_t)t->net->rank, k), bytes = hm_row_bytes(t->own), at = 0, *place;
    uint64_t words[3];
    const struct hm_net net = hm_net_alone(words);
    struct hm_own alone;
    double *coef;
    if (p == SIZE_MAX)
        return HINGE_OK;
    hinge_status status = hm_alone_init(&alone, t->own, p, err);
    HG_THEN(status, HG_MAKE(err, "a problem", HG_ARRAY(coef, alone.n), HG_ARRAY(place, alone.n)));
    for (size_t r = 0; status == HINGE_OK && r < (size_t)t->net->ranks; r++) {
        size_t me = (size_t)t->net->rank, end = at + points_before(t, r, me, k + 1);
        for (size_t i = at + points_before(t, r, me, k); i < end; i++)
            place[hm_take_row(&net, &alone, rows + i * bytes)] = i;
        at += points_before(t, r, me, t->each);
    }
    if (status == HINGE_OK) {
        hm_fill_floats(&alone);
        alone.pr.params.cache_bytes = t->memory;
        status = t->pairs->solve(t->pairs->arg, &net, &alone, p, coef, err);
        for (size_t i = 0; i < alone.n && status == HINGE_OK; i++)
            coefs[place[i]] = coef[i];
        hg_free(coef);
    }
    hm_alone_free(&alone);
    return status;
}

static hinge_status give_back(const struct turns *t, const double *coefs, hinge_error *err)
{
    size_t total;
    void *all = NULL;
    for (size_t r = 0; r < (size_t)t->net->ranks; r++)
        t->net->out[r] = points_before(t, r, (size_t)t->net->rank, t->each) * sizeof *coefs;
    HG_TRY(hm_exchange(t->net, coefs, &all, &total, err));
    visit_all(&(struct visitor){ .t = t, .coef = all });
    hg_free(all);
    return HINGE_OK;
}

/* Tells all what came out of this turn's problems; what ended one early ends the others. */
static hinge_status tell(const struct turns *t, hinge_error *err)
{
    struct hm_solved *solved = t->pairs->solved, *mine;
    size_t n = 0, total, me = (size_t)t->net->rank;
    void *all = NULL;
    HG_TRY(HM_MAKE(t->net, err, "what came out of problems", HG_ARRAY(mine, t->each)));
    for (size_t k = 0; k < t->each; k++)
        if (problem_of(t, me, k) != SIZE_MAX)
            mine[n++] = solved[problem_of(t, me, k)];
    hinge_status status = hm_gather_all(t->net, mine, n * sizeof *mine, &all, &total, err);
    const struct hm_solved *from = all;
    for (size_t r = 0; status == HINGE_OK && r < (size_t)t->net->ranks; r++)
        for (size_t k = 0; k < t->each; k++) {
            size_t p = problem_of(t, r, k);
            if (p == SIZE_MAX)
                continue;
            solved[p] = *from++;
            solved[p].by_one = true;
            if (hg_ended_early(solved[p].report.outcome))
                t->own->pr.params.max_iter = 1;
            if (r == me)
                continue;
            solved[p].values = 0;
            memset(&solved[p].report.phase, 0, sizeof solved[p].report.phase);
            memset(&solved[p].report.stages, 0, sizeof solved[p].report.stages);
        }
    hg_free(mine);
    hg_free(all);
    return status;
}

static hinge_status take_turn(struct turns *t, hinge_error *err)
{
    void *rows = NULL;
    double *coefs = NULL;
    size_t n = 0;
    begin_turn(t);
    HG_TRY(bring_rows(t, &rows, &n, err));
    hinge_status status = HG_MAKE(err, "coefficients", HG_ARRAY(coefs, n));
    for (size_t k = 0; k < t->each; k++)
        HG_THEN(status, solve_one(t, k, rows, coefs, err));
    hg_free(rows);
    status = hm_agree(t->net, status, err);
    HG_THEN(status, give_back(t, coefs, err));
    HG_THEN(status, tell(t, err));
    hg_free(coefs);
    t->first += t->each * (size_t)t->net->ranks;
    return status;
}

hinge_status hm_solve_pairs(const struct hm_net *net, struct hm_own *own, const struct hm_pairs *pairs,
                            hinge_error *err)
{
    struct turns t = { .net = net, .own = own, .pairs = pairs };
    if (net->ranks == 1 || own->pr.n_problems == 1 || own->pr.one_vs_rest)
        return HINGE_OK;
    hinge_status status = choose(&t, err);
    while (status == HINGE_OK && t.first < t.n)
        status = take_turn(&t, err);
    hg_free(t.dealt);
    return status;
}

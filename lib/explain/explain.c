/*
 * Exact Shapley values. Read include/hinge/explain.h before, for what they mean.
 *
 * What a feature gains, averaged over all orders, is the integral over t in [0, 1] of what it gains where each other
 * feature is known with probability t (Owen 1972). For a kernel that is a product over features, a pair of an example
 * and a support vector z, and a row b of the background, it is
 *     (k(x_c, z_c) - k(b_c, z_c)) integral of prod over l != c of (1 - t) k(b_l, z_l) + t k(x_l, z_l),
 * a polynomial of degree d - 1 in t, which d / 2 nodes of Gauss and Legendre integrate exactly. All terms are >= 0:
 * nothing cancels but what coefficients cancel. In powers t^k (1 - t)^(d-1-k) the coefficients are >= 0 too, so that
 * the error of fewer nodes is at most that of the worst of these d polynomials: some 2e-13 of the integral with 4
 * sqrt(d) nodes.
 *
 * (gamma <x,z> + coef0)^p is p! times the coefficient of s^p in exp(s coef0) prod exp(s gamma x_l z_l): a product
 * again, of power series in s, of which the first p + 1 coefficients are kept.
 *
 * Support vectors are shared out in chunks whose number does not depend on that of threads; their sums are added in
 * order. doc/tried.md has times.
 */
#include "lib/base/team.h"
#include "lib/base/teller.h"
#include "lib/data/params.h"
#include "lib/explain/explain.h"
#include "lib/explain/products.h"

#include <hinge/explain.h>
#include <hinge/scaling.h>
#include <math.h>
#include <string.h>

enum {
    LANES = HG_PRODUCT_LANES,
    CHUNKS = 32, /* of support vectors, at most */
    ROWS = 16,   /* examples at once, where there is no background */
    MOST_DEGREE = 16,
    STRETCH_BYTES = 1 << 18 /* factors of background rows that a thread makes at once, about */
};

/* Holds one call; all arrays are in one block, whose first is t. */
struct explaining {
    const hinge_model *m;    /* as it predicts */
    size_t d, chunk, chunks; /* support vectors in each chunk, and how many those are */
    size_t n_b, stretch;     /* rows of background, those whose factors are made at once; without background 1 */
    size_t nodes;            /* a multiple of HG_PRODUCT_NODES: those left over have weight 0 */
    bool has_b;
    hg_products_fn *products;
    double *t, *weight; /* [nodes] */
    double *x, *b;      /* [ROWS * d], [n_b * d] scaled as the model scales */
    double *base;       /* [n_problems] */
    size_t rows;        /* of x, now */
    double *part;       /* [chunks * rows * n_problems * d] */
    double *room;       /* [threads * room_of] */
};

/* ---- integrals --------------------------------------------------------------------------------------------------- */

/* Makes n nodes and weights on [0, 1]: roots of Legendre's polynomial by Newton's method. */
static void legendre(size_t n, double *t, double *weight)
{
    for (size_t i = 0; i < n; i++) {
        double x = cos(3.14159265358979323846 * ((double)i + 0.75) / ((double)n + 0.5)), slope = 1;
        for (int turn = 0; turn < 8; turn++) {
            double last = 1, p = x;
            for (size_t k = 2; k <= n; k++) {
                double next = ((2 * (double)k - 1) * x * p - ((double)k - 1) * last) / (double)k;
                last = p;
                p = next;
            }
            slope = (double)n * (last - x * p) / ((1 - x) * (1 + x));
            x -= p / slope;
        }
        t[i] = (1 - x) / 2;
        weight[i] = 1 / ((1 - x) * (1 + x) * slope * slope);
    }
}

/* Returns how many nodes the integrals of d features take; of polynomials the integrand has degree p - 1. */
static size_t count_nodes(const hinge_model *m)
{
    double most = m->kernel.type == HINGE_POLYNOMIAL ? m->kernel.degree : (double)m->d;
    return (size_t)fmax(1, fmin(ceil(most / 2), ceil(4 * sqrt(most))));
}

/* ---- pairs ------------------------------------------------------------------------------------------------------- */

/* One feature's factor of the kernel. */
static double factor(const hinge_kernel *kernel, double x, double z)
{
    double by = x - z;
    return exp(-kernel->gamma * (kernel->type == HINGE_LAPLACIAN ? fabs(by) : by * by));
}

/* Makes factors [d * LANES] of a vector x with n support vectors from z on; lanes left over are 0. */
static void make_factors(const struct explaining *e, const double *x, const double *z, size_t n, double *out)
{
    for (size_t c = 0; c < e->d; c++)
        for (size_t lane = 0; lane < LANES; lane++)
            out[c * LANES + lane] = lane < n ? factor(&e->m->kernel, x[c], z[lane * e->d + c]) : 0;
}

/* Adds shares [d * LANES] of an example's kernel values with LANES support vectors, for `count` rows of background,
 * whose factors are low, one after the other. room: of three times d * LANES, and for products. */
static void share_product(const struct explaining *e, const double *high, const double *low, size_t count, double *room,
                          double *share)
{
    size_t size = e->d * LANES;
    double *rise = room, *sum = room + size, *before = room + 2 * size;
    for (size_t b = 0; b < count; b++, low += e->has_b ? size : 0) {
        memset(sum, 0, size * sizeof *sum);
        for (size_t k = 0; k < size; k++)
            rise[k] = high[k] - low[k];
        e->products(e->d, e->nodes, e->t, e->weight, low, rise, before, sum);
        for (size_t k = 0; k < size; k++)
            share[k] += rise[k] * sum[k];
    }
}

/* Sets power[k] = u^k / k!, k <= p. */
static void exponential(double u, int p, double *power)
{
    power[0] = 1;
    for (int k = 1; k <= p; k++)
        power[k] = power[k - 1] * u / k;
}

/* Adds shares of (a + sum of u)^p at one node: `all`, the product of series, divided by 1 + t (exp(s u_c) - 1), which
 * leaves feature c out, times exp(s u_c) - 1, which puts it in. */
static void share_power_at(size_t d, int p, double a, const double *u, double t, double weight, double *share)
{
    double all[MOST_DEGREE + 1], power[MOST_DEGREE + 1], rest[MOST_DEGREE + 1];
    exponential(a, p, all);
    for (size_t c = 0; c < d; c++) {
        exponential(u[c], p, power);
        for (int k = p; k > 0; k--)
            for (int i = 1; i <= k; i++)
                all[k] += t * power[i] * all[k - i];
    }
    for (size_t c = 0; c < d; c++) {
        double sum = 0;
        exponential(u[c], p, power);
        for (int k = 0; k < p; k++) {
            rest[k] = all[k];
            for (int i = 1; i <= k; i++)
                rest[k] -= t * power[i] * rest[k - i];
            sum += rest[k] * power[p - k];
        }
        share[c * LANES] += weight * sum;
    }
}

/* Adds shares of a polynomial kernel's value of x and z by one row of background, or NULL. room [d]. */
static void share_power(const struct explaining *e, const double *x, const double *z, const double *b, double *room,
                        double *share)
{
    const hinge_kernel *kernel = &e->m->kernel;
    double a = kernel->coef0, all = 1;
    for (int k = 2; k <= kernel->degree; k++)
        all *= k;
    for (size_t c = 0; c < e->d; c++) {
        a += b != NULL ? kernel->gamma * b[c] * z[c] : 0;
        room[c] = kernel->gamma * z[c] * (x[c] - (b != NULL ? b[c] : 0));
    }
    for (size_t k = 0; k < e->nodes; k++)
        share_power_at(e->d, kernel->degree, a, room, e->t[k], all * e->weight[k], share);
}

/* ---- chunks ------------------------------------------------------------------------------------------------------ */

/* Values of a thread's room: shares of an example, factors of it, of background rows, work space, and
 * support vectors. */
static size_t room_of(const struct explaining *e)
{
    return e->d * LANES * (2 + e->stretch + 2 + HG_PRODUCT_NODES + 1);
}

/* Adds shares, each support vector's times its coefficients, to those of an example's decision values. */
static void fold(const struct explaining *e, size_t first, size_t n, const double *share, double *values)
{
    const hinge_model *m = e->m;
    size_t rows = hg_model_coef_rows(m);
    struct hg_coef c = { .next = first * rows };
    for (size_t k = 0; k < n * rows && hg_next_coef(m, &c); k++) {
        double *to = values + c.problem * e->d, value = c.value / (double)e->n_b;
        const double *from = share + (c.sv - first);
        for (size_t j = 0; j < e->d && value != 0; j++)
            to[j] += value * from[j * LANES];
    }
}

/* Shares LANES support vectors' values out, for all examples at hand. */
static void explain_lanes(const struct explaining *e, size_t first, size_t n, double *room, double *values)
{
    size_t size = e->d * LANES, each = e->m->n_problems * e->d;
    const double *z = hg_model_vectors(e->m, first, n, room + room_of(e) - size);
    double *share = room, *high = share + size, *low = high + size, *work = low + e->stretch * size;
    for (size_t k = 0; k < size; k++)
        low[k] = 1; /* of what is not known, without background */
    for (size_t b = 0; b < e->n_b; b += e->stretch) {
        size_t count = HG_MIN(e->stretch, e->n_b - b);
        bool power = e->m->kernel.type == HINGE_POLYNOMIAL;
        for (size_t k = 0; k < count && e->has_b && !power; k++)
            make_factors(e, e->b + (b + k) * e->d, z, n, low + k * size);
        for (size_t r = 0; r < e->rows; r++) {
            const double *x = e->x + r * e->d;
            memset(share, 0, size * sizeof *share);
            for (size_t k = 0; k < count * n && power; k++)
                share_power(e, x, z + k % n * e->d, e->has_b ? e->b + (b + k / n) * e->d : NULL, work, share + k % n);
            if (!power) {
                make_factors(e, x, z, n, high);
                share_product(e, high, low, count, work, share);
            }
            fold(e, first, n, share, values + r * each);
        }
    }
}

static void explain_chunks(void *arg, int thread, size_t first, size_t end)
{
    const struct explaining *e = arg;
    size_t each = e->m->n_problems * e->d;
    double *room = e->room + (size_t)thread * room_of(e);
    for (size_t chunk = first; chunk < end; chunk++) {
        double *part = e->part + chunk * ROWS * each;
        size_t last = HG_MIN(e->m->n_sv, (chunk + 1) * e->chunk);
        memset(part, 0, e->rows * each * sizeof *part);
        for (size_t sv = chunk * e->chunk; sv < last; sv += LANES)
            explain_lanes(e, sv, HG_MIN(last - sv, (size_t)LANES), room, part);
    }
}

/* ---- the call ---------------------------------------------------------------------------------------------------- */

/* f is linear: its shares are w_c (x_c - mean of b_c). */
static void explain_linear(const struct explaining *e, double *values)
{
    size_t d = e->d, problems = e->m->n_problems;
    for (size_t r = 0; r < e->rows; r++)
        for (size_t p = 0; p < problems; p++)
            for (size_t c = 0; c < d; c++)
                values[(r * problems + p) * d + c] = e->m->weights[p * d + c] * (e->x[r * d + c] - e->t[c]);
}

/* Explains the examples at hand into values, by all threads. */
static void explain_batch(const struct explaining *e, int threads, double *values)
{
    size_t count = e->rows * e->m->n_problems * e->d;
    if (e->m->weights != NULL) {
        explain_linear(e, values);
        return;
    }
    hg_share(threads, e->chunks, 1, explain_chunks, (void *)(uintptr_t)e);
    memset(values, 0, count * sizeof *values);
    for (size_t chunk = 0; chunk < e->chunks; chunk++)
        for (size_t k = 0; k < count; k++)
            values[k] += e->part[chunk * ROWS * e->m->n_problems * e->d + k];
}

/* Makes base where nothing is known and there is no background: sums of coefficients times the kernel's value of
 * nothing, and -rho. */
static void base_of_nothing(const hinge_model *m, double *base)
{
    const hinge_kernel *kernel = &m->kernel;
    double value = kernel->type == HINGE_LINEAR       ? 0
                   : kernel->type == HINGE_POLYNOMIAL ? pow(kernel->coef0, kernel->degree)
                                                      : 1;
    for (struct hg_coef c = { 0 }; hg_next_coef(m, &c);)
        base[c.problem] += c.value * value;
    for (size_t p = 0; p < m->n_problems; p++)
        base[p] -= m->rho[p];
}

/* Makes base the mean of decision values of background's rows. */
static hinge_status base_of_rows(const hinge_model *m, const hinge_matrix *background,
                                 const hinge_predict_options *options, double *base, hinge_error *err)
{
    const hinge_predict_options own = { .threads = options->threads,
                                        .precision = HINGE_PRECISION_F64,
                                        .cpu_level = options->cpu_level };
    size_t rows = background->rows;
    double *decisions;
    HG_TRY(HG_MAKE(err, "decision values of the background", HG_TABLE(decisions, rows, m->n_problems)));
    hinge_status status = hinge_predict(m, background, &own, NULL, decisions, err);
    for (size_t p = 0; p < m->n_problems && status == HINGE_OK; p++)
        for (size_t r = 0; r < rows; r++)
            base[p] += decisions[r * m->n_problems + p] / (double)rows;
    hg_free(decisions);
    return status;
}

static hinge_status make_room(struct explaining *e, const hinge_matrix *background, int threads, hinge_error *err)
{
    const hinge_model *m = e->m;
    bool linear = m->weights != NULL;
    size_t nodes = count_nodes(m), factors = HG_MAX(e->d, (size_t)1) * LANES * sizeof(double);
    e->has_b = background != NULL;
    e->n_b = background != NULL ? background->rows : 1;
    e->stretch = HG_MAX((size_t)1, HG_MIN(e->n_b, STRETCH_BYTES / factors));
    e->nodes = (nodes + HG_PRODUCT_NODES - 1) / HG_PRODUCT_NODES * HG_PRODUCT_NODES;
    e->chunk = (m->n_sv / CHUNKS + LANES) / LANES * LANES;
    e->chunks = linear ? 0 : (m->n_sv + e->chunk - 1) / e->chunk;
    HG_TRY(HG_MAKE(err, "Shapley values", HG_ZEROS(e->t, HG_MAX(e->nodes, e->d)), HG_ZEROS(e->weight, e->nodes),
                   HG_TABLE(e->x, (size_t)ROWS, e->d), HG_TABLE(e->b, e->n_b, e->d), HG_ZEROS(e->base, m->n_problems),
                   HG_TABLE(e->part, e->chunks * ROWS, m->n_problems * e->d),
                   HG_TABLE(e->room, (size_t)threads, linear ? 0 : room_of(e))));
    if (background != NULL)
        hg_points_pack(&(struct hg_points){ .x = *background, .n = e->n_b }, NULL, 0, e->n_b, HINGE_F64, e->b, e->d);
    return HINGE_OK;
}

/* Scales n rows as the model does, where it does. */
void hg_explain_scale(const hinge_model *m, size_t n, double *x)
{
    const double *base = hinge_model_scale_base(m);
    for (size_t k = 0; m->scale_factor != NULL && k < n * m->d; k++) {
        size_t c = k % m->d;
        x[k] = (x[k] - (m->scale_origin != NULL ? m->scale_origin[c] : 0)) * m->scale_factor[c] + base[c];
    }
}

/* Explains batch after batch. m: the model as the caller has it, which scales. */
static hinge_status explain_rows(struct explaining *e, const hinge_model *m, const hinge_matrix *x,
                                 const hinge_predict_options *options, int threads, double *values, hinge_error *err)
{
    const struct hg_points points = { .x = *x, .n = x->rows };
    size_t each = m->n_problems * e->d, step = e->n_b > 1 ? 1 : ROWS;
    int stop = 0;
    struct hg_teller teller = { options->progress, options->progress_arg, hg_now(), -INFINITY, &stop, NULL };
    hg_explain_scale(m, e->has_b ? e->n_b : 0, e->b);
    if (e->m->weights == NULL)
        legendre(count_nodes(m), e->t, e->weight);
    else /* the mean of background */
        for (size_t b = 0; b < e->n_b && e->has_b; b++)
            for (size_t c = 0; c < e->d; c++)
                e->t[c] += e->b[b * e->d + c] / (double)e->n_b;
    for (size_t row = 0; row < x->rows; row += e->rows) {
        e->rows = HG_MIN(step, x->rows - row);
        hg_points_pack(&points, NULL, row, e->rows, HINGE_F64, e->x, e->d);
        hg_explain_scale(m, e->rows, e->x);
        explain_batch(e, threads, values + row * each);
        size_t done = row + e->rows;
        if (hg_is_due(&teller) &&
            hg_tell(&teller, &(hinge_progress){ .n_problems = 1, .n = x->rows, .n_active = x->rows - done }))
            return hg_fail(err, HINGE_ECALLBACK, "progress: the callback ended the explanation after %zu of %zu rows",
                           done, x->rows);
    }
    return HINGE_OK;
}

hinge_status hg_explain_check(const hinge_model *m, const hinge_matrix *x, const char *name, int threads,
                              hinge_error *err)
{
    HG_TRY(hg_matrix_check(x, name, err));
    if (x->cols != m->d)
        return hg_fail(err, HINGE_EINVAL, "%s.cols: %zu, but the model has %zu features", name, x->cols, m->d);
    return hg_matrix_check_finite(x, name, threads, err);
}

static hinge_status check(const hinge_model *m, const hinge_matrix *x, const hinge_matrix *background,
                          const hinge_predict_options *options, hinge_error *err)
{
    HG_NEED(err, m, "model");
    hinge_kernel_type type = m->kernel.type;
    HG_TRY(hg_options_check(options, err));
    if (type != HINGE_LINEAR && type != HINGE_POLYNOMIAL && type != HINGE_RBF && type != HINGE_LAPLACIAN)
        return hg_fail(err, HINGE_EINVAL, "kernel: %s is no product over features, and not explained",
                       hinge_kernel_info(type)->keyword);
    if (type == HINGE_POLYNOMIAL && m->kernel.degree > MOST_DEGREE)
        return hg_fail(err, HINGE_EINVAL, "degree: %d, and polynomials are explained up to %d", m->kernel.degree,
                       MOST_DEGREE);
    HG_TRY(hg_explain_check(m, x, "x", options->threads, err));
    if (background == NULL)
        return HINGE_OK;
    HG_TRY(hg_explain_check(m, background, "background", options->threads, err));
    return background->rows > 0 ? HINGE_OK : hg_fail(err, HINGE_EINVAL, "background: no rows");
}

static hinge_status explain(const hinge_model *m, const hinge_matrix *x, const hinge_matrix *background,
                            const hinge_predict_options *options, int threads, double *values, double *base,
                            hinge_error *err)
{
    struct explaining e = { .m = m->merged != NULL ? m->merged : m, .d = m->d };
    e.products = hg_products(hg_cpu_level(options->cpu_level));
    HG_TRY(make_room(&e, background, threads, err));
    hinge_status status = HINGE_OK;
    if (background != NULL)
        status = base_of_rows(m, background, options, e.base, err);
    else
        base_of_nothing(e.m, e.base);
    HG_THEN(status, explain_rows(&e, m, x, options, threads, values, err));
    if (status == HINGE_OK)
        memcpy(base, e.base, m->n_problems * sizeof *base);
    hg_free(e.t);
    return status == HINGE_OK ? hg_ok(err) : status;
}

hinge_status hinge_explain(const hinge_model *m, const hinge_matrix *x, const hinge_matrix *background,
                           const hinge_predict_options *options, double *values, double *base, hinge_error *err)
{
    static const hinge_predict_options none = { 0 };
    options = options != NULL ? options : &none;
    hinge_status status = check(m, x, background, options, err);
    if (status != HINGE_OK)
        return status;
    double pairs = (double)x->rows * (double)m->n_sv * (double)(background != NULL ? background->rows : 1);
    int threads = hg_team_size(hg_threads(options->threads), pairs * (double)m->d * (double)count_nodes(m));
    HG_TEAM(threads)
    status = explain(m, x, background, options, threads, values, base, err);
    return status;
}

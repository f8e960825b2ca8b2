/*
 * Explicit polynomial features z with <z(x), z(x')> = (coef0 + gamma <x, x'>)^Q. A monomial of degree q is a
 * non-decreasing list of q variables; taken level by level, it is one of degree q - 1 (its parent) times a variable
 * that is not before the parent's last. Its coefficient is in include/hinge/theory.h ("Feature maps").
 */
#include "kernels/kernel.h"
#include "lib/base/team.h"
#include "lib/data/params.h"

#include <hinge/theory.h>
#include <math.h>

/* Is a node of the tree of monomials; the first is 1, of degree 0. */
struct monomial {
    size_t parent;
    uint32_t variable;
    uint32_t count; /* how often the variable is in it: the exponent of its last variable */
};

/* Holds the map: monomials by degree, in one block with their coefficients. */
struct polynomial {
    size_t d, dimension;
    int degree;
    double root, zeta;         /* of gamma, by which values are multiplied before their powers overflow; coef0 */
    struct monomial *monomial; /* [dimension] */
    double *coefficient;       /* [dimension] */
};

static size_t common_divisor(size_t a, size_t b)
{
    while (b != 0) {
        size_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* C(d + degree, degree), false where it is not below SIZE_MAX; exact: each partial product is a binomial. */
static bool binomial(size_t d, size_t degree, size_t *result)
{
    size_t small = HG_MIN(d, degree), large = HG_MAX(d, degree), value = 1;
    for (size_t k = 1; k <= small; k++) {
        size_t common = common_divisor(value, k); /* what is left of k divides large + k */
        if (!hg_mul(value / common, (large + k) / (k / common), &value) || value == SIZE_MAX)
            return false;
    }
    *result = value;
    return true;
}

/* Refuses what has more monomials than size_t numbers, or rows of features than the machine has memory. */
hinge_status hinge_polynomial_dimension(size_t d, int degree, size_t rows, size_t *dimension, hinge_error *err)
{
    size_t count, values;
    if (degree < 0)
        return hg_fail(err, HINGE_EINVAL, "degree: %d is negative", degree);
    HG_NEED(err, dimension, "dimension");
    if (d >= INT32_MAX || !binomial(d, (size_t)degree, &count))
        return hg_fail(err, HINGE_ESIZE,
                       "degree: %d of %zu features has more monomials than can be numbered; use the "
                       "kernel",
                       degree, d);
    bool fits = hg_mul(count, sizeof(double), &values) && hg_mul(values, rows, &values) && values <= hg_total_memory();
    if (rows > 0 && (!fits || count >= INT32_MAX))
        return hg_fail(err, HINGE_ESIZE,
                       "degree: %d of %zu features gives C(%zu, %d) = %zu monomials, %.3g bytes for %zu rows, and "
                       "this machine has %.3g; use the kernel",
                       degree, d, d + (size_t)degree, degree, count, 8 * (double)count * (double)rows, rows,
                       (double)hg_total_memory());
    *dimension = count;
    return hg_ok(err);
}

/* Returns sqrt(C(Q, q) zeta^(Q-q)), without overflow before the product itself overflows. */
static double level_scale(const struct polynomial *p, int q)
{
    double scale = 1;
    for (int k = 1; k <= q; k++)
        scale *= sqrt((double)(p->degree - q + k) / k);
    for (int k = q; k < p->degree; k++)
        scale *= sqrt(p->zeta);
    return scale;
}

/* Lists all monomials level by level, with coefficients sqrt(C(Q, q) zeta^(Q-q) q! / prod k_j!). The multinomial q! /
 * prod k_j! goes from parent to child by q / (exponent of the variable added); a level gets its scale when its children
 * have been made. One level more than the degree is walked, for the scale of the last. */
static void list_monomials(struct polynomial *p)
{
    size_t level = 0, next = 1; /* first of the level, and after its last */
    p->monomial[0] = (struct monomial){ 0, 0, 0 };
    p->coefficient[0] = 1;
    for (int q = 1; q <= p->degree + 1; q++) {
        double scale = level_scale(p, q - 1);
        size_t at = next;
        for (size_t parent = level; parent < next; parent++) {
            uint32_t last = p->monomial[parent].variable, before = p->monomial[parent].count;
            for (size_t v = last; v < p->d && q <= p->degree; v++) {
                uint32_t count = v == last ? before + 1 : 1;
                p->monomial[at] = (struct monomial){ parent, (uint32_t)v, count };
                p->coefficient[at++] = p->coefficient[parent] * sqrt((double)q / count);
            }
            p->coefficient[parent] *= scale;
        }
        level = next;
        next = at;
    }
}

/* Makes a row's monomials, each from its parent's value, then multiplies by coefficients. root = sqrt(gamma) goes in
 * with each variable. */
static void map_row(const struct polynomial *p, const hinge_matrix *x, size_t row, double *z)
{
    z[0] = 1;
    for (size_t k = 1; k < p->dimension; k++)
        z[k] = z[p->monomial[k].parent] * (p->root * hg_matrix_value(x, row, p->monomial[k].variable));
    for (size_t k = 0; k < p->dimension; k++)
        z[k] *= p->coefficient[k];
}

struct mapping {
    const struct polynomial *p;
    const hinge_matrix *x;
    double *z;
};

static void map_some(void *arg, int thread, size_t first, size_t end)
{
    const struct mapping *m = arg;
    (void)thread;
    for (size_t i = first; i < end; i++)
        map_row(m->p, m->x, i, m->z + i * m->p->dimension);
}

/* Checks, lists monomials once, and maps rows in parallel: each is one thread's. */
hinge_status hinge_polynomial_features(const hinge_matrix *x, const hinge_kernel *kernel, int threads, double *z,
                                       hinge_error *err)
{
    struct polynomial p = { 0 };
    hinge_kernel k;
    HG_TRY(hg_matrix_check(x, "x", err));
    if (kernel == NULL || kernel->type != HINGE_POLYNOMIAL || z == NULL)
        return hg_fail(err, HINGE_EINVAL, "%s", z == NULL ? "z: NULL" : "kernel: not a polynomial one");
    HG_TRY(hg_kernel_check(kernel, x->cols, &k, err));
    if (k.coef0 < 0)
        return hg_fail(err, HINGE_EINVAL,
                       "kernel.coef0: %g is negative, so that no features have it as their inner "
                       "product",
                       k.coef0);
    HG_TRY(hg_options_check(&(hinge_predict_options){ .threads = threads }, err));
    HG_TRY(hg_matrix_check_finite(x, "x", hg_threads(threads), err));
    HG_TRY(hinge_polynomial_dimension(x->cols, k.degree, HG_MAX(x->rows, (size_t)1), &p.dimension, err));
    p.d = x->cols;
    p.degree = k.degree;
    p.root = sqrt(k.gamma);
    p.zeta = k.coef0;
    HG_TRY(HG_MAKE(err, "monomials", HG_ARRAY(p.monomial, p.dimension), HG_ARRAY(p.coefficient, p.dimension)));
    list_monomials(&p);
    struct mapping job = { &p, x, z };
    hg_share(hg_team_size(hg_threads(threads), (double)x->rows * (double)p.dimension), x->rows, 64, map_some, &job);
    hg_free(p.monomial);
    return hg_ok(err);
}

/*
 * The kernel table (kernel.h), and how large and how wrong a kernel's values may be. Its parts in order: the table, the
 * public constructors, what combined kernels are made of, the check of what a caller gave, and bounds. The bounds
 * follow the rounding of one value step by step: of the vectors to the type, of the dot product, of its argument u =
 * gamma <x, z> + coef0 or of the squared distance, and of the map. They decide what is computed in f32, in training
 * (hg_kernel_beyond_f32) and in prediction (hg_kernel_error).
 */
#include "kernels/kernel.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- facts, kernel by kernel ------------------------------------------------------------------------------------- */

static double linear_most(const hinge_kernel *kernel, double product)
{
    (void)kernel;
    return product;
}

/* <x + a, z + b> differs from <x, z> by at most |a| |z| + |b| |x| + |a| |b|. */
static double linear_error(const hinge_kernel *kernel, const struct hg_rounding *r)
{
    (void)kernel;
    return r->dot + r->moved * (2 * sqrt(r->norm) + r->moved);
}

static double polynomial_most(const hinge_kernel *kernel, double product)
{
    return pow(kernel->gamma * product + fabs(kernel->coef0), kernel->degree);
}

/* The largest slope times the error of u (mean value theorem). */
static double polynomial_error(const hinge_kernel *kernel, const struct hg_rounding *r)
{
    return kernel->degree > 0 ? kernel->degree * pow(r->most + r->lost, kernel->degree - 1) * r->lost : 0;
}

/* The slope of tanh is at most 1. */
static double sigmoid_error(const hinge_kernel *kernel, const struct hg_rounding *r)
{
    (void)kernel;
    return fmin(2, r->lost + 4 * r->ulp);
}

/* t is wrong by gamma times twice what a dot product loses, and what norms and their sum lose; rounding moves each
 * vector by ulp ||x||, something else may too, and no kernel of the distance falls faster along r = sqrt(t) than by
 * 0.86, exp(-r^2)'s. */
static double distance_error(const hinge_kernel *kernel, const struct hg_rounding *r)
{
    const struct hg_kernel_row *row = hg_kernel_row(kernel->type);
    double of_t = row->slope(0) * expm1(2 * kernel->gamma * (r->dot + r->ulp * r->norm));
    double of_places = 2 * r->ulp * sqrt(kernel->gamma * r->norm) + 2 * sqrt(kernel->gamma) * r->moved;
    return fmin(1, of_t + of_places + row->ulps * r->ulp);
}

static double rbf(double t) /* and its slope */
{
    return exp(-t);
}

static double rbf_flat(double slope)
{
    return -log(slope);
}

/* Matern's, of r = sqrt(t). r is wrong by less than two ulps of itself, and exp(-r) by r times as much; r is at most 88
 * where the value is not 0 in f32. */
enum { MATERN_ULPS = 192 };

static double matern32(double t)
{
    return (1 + sqrt(t)) * exp(-sqrt(t));
}

static double matern32_slope(double t)
{
    return exp(-sqrt(t)) / 2;
}

static double matern32_flat(double slope)
{
    double r = -log(2 * slope);
    return r * r;
}

static double matern52(double t)
{
    return (1 + sqrt(t) + t / 3) * exp(-sqrt(t));
}

static double matern52_slope(double t)
{
    return (1 + sqrt(t)) * exp(-sqrt(t)) / 6;
}

/* Solves r = a + log(1 + r) from above, where r <= a + sqrt(2 a) (exp(s) >= 1 + s + s^2 / 2 for s = r - a): each step
 * comes nearer, and none goes below. */
static double matern52_flat(double slope)
{
    double a = -log(6 * slope), r = a + sqrt(2 * a);
    for (int step = 0; step < 4; step++)
        r = a + log1p(r);
    return r * r;
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

#define OF_DISTANCE                                                                \
    .is_1_of_equal = true, .of_distance = true, .bounded = true, .smooth = true, \
    .error = distance_error

/* Stand in the order of hinge_kernel_type. */
static const struct hg_kernel_row table[] = {
    { { "linear", HINGE_LINEAR }, HG_FROM_DOTS, .most = linear_most, .error = linear_error },
    { { "polynomial", HINGE_POLYNOMIAL, .uses_gamma = 1, .uses_coef0 = 1, .uses_degree = 1 }, HG_FROM_DOTS,
      .smooth = true, .most = polynomial_most, .error = polynomial_error },
    { { "rbf", HINGE_RBF, .uses_gamma = 1 }, HG_FROM_DOTS, OF_DISTANCE, .ulps = 4, .value = rbf, .slope = rbf,
      .flat = rbf_flat },
    { { "sigmoid", HINGE_SIGMOID, .uses_gamma = 1, .uses_coef0 = 1 }, HG_FROM_DOTS, .bounded = true,
      .indefinite = true, .error = sigmoid_error },
    { { "precomputed", HINGE_PRECOMPUTED }, HG_FROM_MATRIX },
    { { "user", HINGE_USER }, HG_FROM_USER },
    { { "matern32", HINGE_MATERN32, .uses_gamma = 1 }, HG_FROM_DOTS, OF_DISTANCE, .ulps = MATERN_ULPS,
      .value = matern32, .slope = matern32_slope, .flat = matern32_flat },
    { { "matern52", HINGE_MATERN52, .uses_gamma = 1 }, HG_FROM_DOTS, OF_DISTANCE, .ulps = MATERN_ULPS,
      .value = matern52, .slope = matern52_slope, .flat = matern52_flat },
    { { "laplacian", HINGE_LAPLACIAN, .uses_gamma = 1 }, HG_FROM_DIFFERENCES, .is_1_of_equal = true,
      .bounded = true, .ulps = 4, .value = rbf, .slope = rbf },
    { { "chi2", HINGE_CHI2, .uses_gamma = 1 }, HG_FROM_DIFFERENCES, .difference = HG_DIFFERENCE_RATIO,
      .is_1_of_equal = true, .bounded = true },
    { { "tanimoto", HINGE_TANIMOTO }, HG_FROM_DIFFERENCES, .difference = HG_DIFFERENCE_SHARE, .is_1_of_equal = true,
      .bounded = true },
    { { "combined", HINGE_COMBINED }, HG_FROM_PARTS },
};

const struct hg_kernel_row *hg_kernel_row(hinge_kernel_type type)
{
    return (size_t)type < sizeof table / sizeof *table ? &table[type] : NULL;
}

const hinge_kernel_row *hinge_kernel_info(hinge_kernel_type type)
{
    const struct hg_kernel_row *row = hg_kernel_row(type);
    return row != NULL ? &row->told : NULL;
}

/* Makes a kernel of the parameters given. Constructors whose kernel has no use for some of them give LIBSVM's defaults:
 * degree 3, gamma 1 / features, coef0 0. */
static hinge_kernel make(hinge_kernel_type type, int degree, double gamma, double coef0)
{
    hinge_kernel kernel;
    memset(&kernel, 0, sizeof kernel);
    kernel.type = type;
    kernel.degree = degree;
    kernel.gamma = gamma;
    kernel.coef0 = coef0;
    return kernel;
}

hinge_kernel hinge_kernel_linear(void)
{
    return make(HINGE_LINEAR, 3, HINGE_GAMMA_AUTO, 0);
}

hinge_kernel hinge_kernel_polynomial(int degree, double gamma, double coef0)
{
    return make(HINGE_POLYNOMIAL, degree, gamma, coef0);
}

hinge_kernel hinge_kernel_rbf(double gamma)
{
    return make(HINGE_RBF, 3, gamma, 0);
}

hinge_kernel hinge_kernel_sigmoid(double gamma, double coef0)
{
    return make(HINGE_SIGMOID, 3, gamma, coef0);
}

hinge_kernel hinge_kernel_matern32(double gamma)
{
    return make(HINGE_MATERN32, 3, gamma, 0);
}

hinge_kernel hinge_kernel_matern52(double gamma)
{
    return make(HINGE_MATERN52, 3, gamma, 0);
}

hinge_kernel hinge_kernel_laplacian(double gamma)
{
    return make(HINGE_LAPLACIAN, 3, gamma, 0);
}

hinge_kernel hinge_kernel_chi2(double gamma)
{
    return make(HINGE_CHI2, 3, gamma, 0);
}

hinge_kernel hinge_kernel_tanimoto(void)
{
    return make(HINGE_TANIMOTO, 3, HINGE_GAMMA_AUTO, 0);
}

hinge_kernel hinge_kernel_precomputed(void)
{
    return make(HINGE_PRECOMPUTED, 3, HINGE_GAMMA_AUTO, 0);
}

hinge_kernel hinge_kernel_user(const char *name, hinge_user_kernel function, void *cookie)
{
    hinge_kernel kernel = make(HINGE_USER, 3, HINGE_GAMMA_AUTO, 0);
    size_t length = name != NULL ? strlen(name) : 0;
    memcpy(kernel.name, name != NULL ? name : "", HG_MIN(length, sizeof kernel.name - 1));
    kernel.user = function;
    kernel.cookie = cookie;
    return kernel;
}

hinge_kernel hinge_kernel_combine(const hinge_kernel_part *parts, size_t n)
{
    hinge_kernel kernel = make(HINGE_COMBINED, 3, HINGE_GAMMA_AUTO, 0);
    kernel.parts = parts;
    kernel.n_parts = n;
    return kernel;
}

/* ---- combined kernels -------------------------------------------------------------------------------------------- */

hinge_kernel_part hg_kernel_part(const hinge_kernel *kernel, size_t k)
{
    hinge_kernel_part part = kernel->parts[k];
    part.count = part.count > 0 ? part.count : kernel->n_features - part.first;
    part.factor = part.factor > 0 ? part.factor : 1;
    part.times = k > 0 && part.times != 0;
    if (part.kernel.gamma == HINGE_GAMMA_AUTO)
        part.kernel.gamma = 1 / (double)part.count;
    return part;
}

bool hg_kernel_is_bounded(const hinge_kernel *kernel)
{
    bool bounded = hg_kernel_row(kernel->type)->bounded || kernel->type == HINGE_COMBINED;
    for (size_t k = 0; kernel->type == HINGE_COMBINED && k < kernel->n_parts; k++)
        bounded = bounded && hg_kernel_row(kernel->parts[k].kernel.type)->bounded;
    return bounded;
}

bool hg_kernel_is_indefinite(const hinge_kernel *kernel)
{
    bool indefinite = hg_kernel_row(kernel->type)->indefinite;
    for (size_t k = 0; kernel->type == HINGE_COMBINED && k < kernel->n_parts; k++)
        indefinite = indefinite || hg_kernel_row(kernel->parts[k].kernel.type)->indefinite;
    return indefinite;
}

/* ---- checks ------------------------------------------------------------------------------------------------------ */

/* Checks a user's kernel: its function is there, and its name is one word, as model files keep it. */
static hinge_status check_user(const hinge_kernel *kernel, hinge_error *err)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
    size_t length = strnlen(kernel->name, sizeof kernel->name);
    if (length == 0 || length == sizeof kernel->name || strspn(kernel->name, allowed) != length)
        return hg_fail(err, HINGE_EINVAL,
                       "kernel.name: a user kernel's name has 1 to 31 characters of [A-Za-z0-9_-]");
    if (kernel->user == NULL)
        return hg_fail(err, HINGE_EINVAL, "kernel.user: no function given for kernel '%s'", kernel->name);
    return HINGE_OK;
}

/* Checks a part of a combined kernel for examples of d columns. */
static hinge_status check_part(const hinge_kernel_part *part, size_t number, size_t d, hinge_error *err)
{
    const struct hg_kernel_row *row = hg_kernel_row(part->kernel.type);
    size_t count = part->count > 0 ? part->count : d - part->first;
    hinge_error of_kernel;
    hinge_kernel resolved;
    if (row != NULL && (!hg_kernel_is_of_features(row) || row->source == HG_FROM_PARTS))
        return hg_fail(err, HINGE_EINVAL, "kernel.parts[%zu]: a %s kernel cannot be a part of another", number,
                       row->told.keyword);
    if (part->first >= d || count > d - part->first)
        return hg_fail(err, HINGE_EINVAL, "kernel.parts[%zu]: columns %zu to %zu, counted from 1, of %zu", number,
                       part->first + 1, part->first + HG_MAX(part->count, (size_t)1), d);
    if (!(part->factor >= 0 && isfinite(part->factor)))
        return hg_fail(err, HINGE_EINVAL, "kernel.parts[%zu]: factor %g is not a finite number > 0", number,
                       part->factor);
    if (hg_kernel_check(&part->kernel, count, &resolved, &of_kernel) != HINGE_OK)
        return hg_fail(err, HINGE_EINVAL, "kernel.parts[%zu]: %.200s", number, of_kernel.text);
    return HINGE_OK;
}

static hinge_status check_parts(const hinge_kernel *kernel, size_t d, hinge_error *err)
{
    if (kernel->parts == NULL || kernel->n_parts == 0)
        return hg_fail(err, HINGE_EINVAL, "kernel.parts: a combined kernel has no parts");
    for (size_t k = 0; k < kernel->n_parts; k++)
        HG_TRY(check_part(&kernel->parts[k], k, d, err));
    return HINGE_OK;
}

/* Checks the fields that the kernel uses, and no others; a refusal names the field and its value. */
hinge_status hg_kernel_check(const hinge_kernel *kernel, size_t d, hinge_kernel *resolved, hinge_error *err)
{
    const struct hg_kernel_row *row = hg_kernel_row(kernel->type);
    if (row == NULL)
        return hg_fail(err, HINGE_EINVAL, "kernel.type: %d is not a kernel", (int)kernel->type);
    hinge_kernel k = *kernel;
    if (k.gamma == HINGE_GAMMA_AUTO)
        k.gamma = 1.0 / (double)HG_MAX(d, (size_t)1);
    if (row->told.uses_gamma && !(k.gamma >= 0 && isfinite(k.gamma)))
        return hg_fail(err, HINGE_EINVAL, "kernel.gamma: %g is not a finite number >= 0", kernel->gamma);
    if (row->told.uses_coef0 && !isfinite(k.coef0))
        return hg_fail(err, HINGE_EINVAL, "kernel.coef0: %g is not a finite number", k.coef0);
    if (row->told.uses_degree && k.degree < 0)
        return hg_fail(err, HINGE_EINVAL, "kernel.degree: %d is negative", k.degree);
    if (row->source == HG_FROM_USER && check_user(&k, err) != HINGE_OK)
        return HINGE_EINVAL;
    k.n_features = d;
    if (row->source == HG_FROM_PARTS)
        HG_TRY(check_parts(&k, d, err));
    *resolved = k;
    return HINGE_OK;
}

/* ---- bounds ------------------------------------------------------------------------------------------------------ */

/* A gamma that f32 does not hold, or with which squares of features that it does not hold would count. */
static bool gamma_is_beyond_f32(const hinge_kernel *kernel)
{
    bool counts = hg_kernel_row(kernel->type)->told.uses_gamma;
    return counts && kernel->gamma != 0 && (kernel->gamma < 0x1p-100 || kernel->gamma > 0x1p100);
}

/* Says whether a size is too large or, unless it is 0, too small: f32 holds 2^-126 to 2^127, and a solver makes
 * products and sums of values. */
static bool is_beyond(double value, double most)
{
    return value > most || (value < 1 / most && value > 0);
}

/* Looks at kernels of the distance first: norms are rounded to 2^-24 of themselves, which changes t = gamma |x - z|^2
 * by some gamma norm 2^-23, and a value of 1 by that times the slope. */
bool hg_kernel_beyond_f32(const hinge_kernel *kernel, double norm)
{
    const struct hg_kernel_row *row = hg_kernel_row(kernel->type);
    bool made = hg_kernel_is_of_features(row);
    for (size_t k = 0; row->source == HG_FROM_PARTS && k < kernel->n_parts; k++) {
        hinge_kernel_part part = hg_kernel_part(kernel, k);
        if (hg_kernel_beyond_f32(&part.kernel, norm) || is_beyond(part.factor, 0x1p80))
            return true;
    }
    bool narrow = row->of_distance && row->slope(0) * kernel->gamma * norm > 16384; /* of 2^23, an ulp of f32 */
    return narrow || gamma_is_beyond_f32(kernel) || (made && is_beyond(norm, 0x1p100)) ||
           is_beyond(made ? hg_kernel_most(kernel, norm) : norm, 0x1p80);
}

double hg_dot_error(hinge_dtype type, size_t d)
{
    /* GEMM adds up blocks of some 400 products; the worst runs of equal products lose a sixth of an ulp each */
    return (type == HINGE_F32 ? 0x1p-24 : 0x1p-53) * (2 + (double)HG_MIN(d, (size_t)512) / 4);
}

/* Bounds |K| of a combined kernel, where all parts' norms are at most the whole's, and with error not NULL how wrong
 * values in `type` may be: those of parts, of products and sums. dot, moved: as in hg_kernel_error_by. */
static double combined_most(const hinge_kernel *kernel, double norm, hinge_dtype type, double dot, double moved,
                            double *error)
{
    double ulp = type == HINGE_F32 ? 0x1p-24 : 0x1p-53, total = 0, lost = 0, most = 0, off = 0;
    for (size_t k = 0; k < kernel->n_parts; k++) {
        hinge_kernel_part part = hg_kernel_part(kernel, k);
        double value = part.factor * hg_kernel_most(&part.kernel, norm);
        double by = error != NULL ? part.factor * hg_kernel_error_by(&part.kernel, type, dot, moved, norm) : 0;
        off = part.times ? most * by + value * off + off * by : by;
        most = part.times ? most * value : value;
        bool ends = k + 1 == kernel->n_parts || !hg_kernel_part(kernel, k + 1).times;
        total += ends ? most : 0;
        lost += ends ? off : 0;
    }
    if (error != NULL)
        *error = lost + 3 * (double)kernel->n_parts * ulp * (total + lost);
    return total;
}

/* Uses |<x, z>| <= ||x|| ||z||; the product is that of the norms. */
double hg_kernel_most(const hinge_kernel *kernel, double product)
{
    const struct hg_kernel_row *row = hg_kernel_row(kernel->type);
    if (row->source == HG_FROM_PARTS)
        return combined_most(kernel, product, HINGE_F64, 0, 0, NULL);
    return row->most != NULL ? row->most(kernel, product) : row->bounded ? 1 : INFINITY;
}

/* Bounds the error by what each step adds; values that are given have none. */
double hg_kernel_error_by(const hinge_kernel *kernel, hinge_dtype type, double dot, double moved, double norm)
{
    const struct hg_kernel_row *row = hg_kernel_row(kernel->type);
    struct hg_rounding r = { type == HINGE_F32 ? 0x1p-24 : 0x1p-53, type == HINGE_F32 ? FLT_MIN : DBL_MIN, norm,
                             .moved = moved, .most = kernel->gamma * norm + fabs(kernel->coef0) };
    r.dot = (dot + 2 * r.ulp) * norm;
    r.lost = kernel->gamma * linear_error(kernel, &r) + 4 * r.ulp * r.most + r.tiny;
    double error = row->error != NULL ? row->error(kernel, &r) : hg_kernel_is_of_features(row) ? INFINITY : 0;
    if (row->source == HG_FROM_PARTS)
        combined_most(kernel, norm, type, dot, moved, &error);
    return isnan(error) ? INFINITY : error + (error > 0 ? r.tiny : 0); /* NaN: infinite values */
}

double hg_kernel_error(const hinge_kernel *kernel, hinge_dtype type, size_t d, double norm)
{
    return hg_kernel_error_by(kernel, type, hg_dot_error(type, d), 0, norm);
}

/* Finds, by halving, the t from which on a function that falls is at most `to`. */
static double falls_to(double (*f)(double t), double to)
{
    double low = 0, high = 1;
    if (!(f(0) > to))
        return 0;
    while (f(high) > to)
        high *= 2;
    for (double middle = high / 2; middle > low && middle < high; middle = low + (high - low) / 2)
        *(f(middle) > to ? &low : &high) = middle;
    return high;
}

double hg_kernel_far(const hinge_kernel *kernel, double share)
{
    return falls_to(hg_kernel_row(kernel->type)->value, share);
}

double hg_kernel_reach(const hinge_kernel *kernel, double share)
{
    bool falls = hg_kernel_row(kernel->type)->of_distance && kernel->gamma > 0 && share > 0;
    return falls ? hg_kernel_far(kernel, share) / kernel->gamma : INFINITY;
}

double hg_kernel_flat(const hinge_kernel *kernel, double slope)
{
    const struct hg_kernel_row *row = hg_kernel_row(kernel->type);
    return slope < row->slope(0) ? row->flat(slope) : 0;
}

/* Goes by the plain map whatever the processor, so that diagonals are the same at all levels. */
double hg_kernel_value(const hinge_kernel *kernel, double dot, double norm_x, double norm_z)
{
    double value;
    hg_maps(1)->map[HINGE_F64](kernel, 1, &dot, &value, norm_x, &norm_z);
    return value;
}

/*
 * The kernel table (kernel.h), and how large and how wrong a kernel's values may be. Its parts in order: the table, the
 * public constructors, the check of what a caller gave, and bounds. The bounds follow the rounding of one value step by
 * step: of the vectors to the type, of the dot product, of its argument u = gamma <x, z> + coef0 or of the squared
 * distance, and of the map. They decide what is computed in f32, in training (hg_kernel_beyond_f32) and in prediction
 * (hg_kernel_error).
 */
#include "kernels/kernel.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Stand in the order of hinge_kernel_type. */
static const struct hg_kernel_row table[] = {
    { { "linear", HINGE_LINEAR }, HG_FROM_DOTS },
    { { "polynomial", HINGE_POLYNOMIAL, .uses_gamma = 1, .uses_coef0 = 1, .uses_degree = 1 }, HG_FROM_DOTS },
    { { "rbf", HINGE_RBF, .uses_gamma = 1 }, HG_FROM_DOTS, .needs_norms = true, .translation_invariant = true },
    { { "sigmoid", HINGE_SIGMOID, .uses_gamma = 1, .uses_coef0 = 1 }, HG_FROM_DOTS },
    { { "precomputed", HINGE_PRECOMPUTED }, HG_FROM_MATRIX },
    { { "user", HINGE_USER }, HG_FROM_USER },
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
    *resolved = k;
    return HINGE_OK;
}

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

/* Looks at RBF first: norms are rounded to 2^-24 of themselves, which changes the exponent gamma |x - z|^2 by some
 * gamma norm 2^-23, and the value by as large a share. */
bool hg_kernel_beyond_f32(const hinge_kernel *kernel, double norm)
{
    bool dots = hg_kernel_row(kernel->type)->source == HG_FROM_DOTS;
    bool narrow = kernel->type == HINGE_RBF && kernel->gamma * norm > 16384; /* of 2^23, an ulp of f32 */
    return narrow || gamma_is_beyond_f32(kernel) || (dots && is_beyond(norm, 0x1p100)) ||
           is_beyond(dots ? hg_kernel_most(kernel, norm) : norm, 0x1p80);
}

double hg_dot_error(hinge_dtype type, size_t d)
{
    /* GEMM adds up blocks of some 400 products; the worst runs of equal products lose a sixth of an ulp each */
    return (type == HINGE_F32 ? 0x1p-24 : 0x1p-53) * (2 + (double)HG_MIN(d, (size_t)512) / 4);
}

/* Uses |<x, z>| <= ||x|| ||z||; the product is that of the norms. */
double hg_kernel_most(const hinge_kernel *kernel, double product)
{
    switch (kernel->type) {
    case HINGE_LINEAR:
        return product;
    case HINGE_POLYNOMIAL:
        return pow(kernel->gamma * product + fabs(kernel->coef0), kernel->degree);
    case HINGE_RBF:
    case HINGE_SIGMOID:
        return 1;
    default:
        return INFINITY;
    }
}

/* Bounds the error by what each step adds, where `dot` is that of the dot product, once vectors and products are
 * rounded, and `lost` is that of u = gamma <x, z> + coef0, |u| <= most. A polynomial's is the largest slope times lost
 * (mean value theorem). RBF's exponent is wrong by gamma times twice what a dot product loses, and what norms and their
 * sum lose; rounding moves each vector by ulp ||x||, and the slope of exp(-gamma r^2) along r is at most 0.86
 * sqrt(gamma). The slope of tanh is at most 1. */
double hg_kernel_error(const hinge_kernel *kernel, hinge_dtype type, size_t d, double norm)
{
    double ulp = type == HINGE_F32 ? 0x1p-24 : 0x1p-53, dot = (hg_dot_error(type, d) + 2 * ulp) * norm;
    double tiny = type == HINGE_F32 ? FLT_MIN : DBL_MIN; /* what is less may be lost */
    double most = kernel->gamma * norm + fabs(kernel->coef0), lost = kernel->gamma * dot + 4 * ulp * most + tiny;
    double error = hg_kernel_row(kernel->type)->source == HG_FROM_DOTS ? INFINITY : 0;
    switch (kernel->type) {
    case HINGE_LINEAR:
        error = dot;
        break;
    case HINGE_POLYNOMIAL:
        error = kernel->degree > 0 ? kernel->degree * pow(most + lost, kernel->degree - 1) * lost : 0;
        break;
    case HINGE_RBF: /* of the squared distance; of the vectors; of the map */
        error = fmin(1, expm1(2 * kernel->gamma * (dot + ulp * norm)) + 2 * ulp * sqrt(kernel->gamma * norm) + 4 * ulp);
        break;
    case HINGE_SIGMOID:
        error = fmin(2, lost + 4 * ulp);
        break;
    default:
        break;
    }
    return isnan(error) ? INFINITY : error + (error > 0 ? tiny : 0); /* NaN: infinite values */
}

/* Goes by the plain map whatever the processor, so that diagonals are the same at all levels. */
double hg_kernel_value(const hinge_kernel *kernel, double dot, double norm_x, double norm_z)
{
    double value;
    hg_maps(1)->map64(kernel, 1, &dot, &value, norm_x, &norm_z);
    return value;
}

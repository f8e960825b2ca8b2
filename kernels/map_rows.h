/*
 * Rows of kernel values in one type: for map.c, which includes it once for each. REAL: float or double; BITS: 32 or 64,
 * what names end in; FABS, SQRT, COPYSIGN: of that type. OF(rbf) is rbf32 or rbf64. A kernel has one function here,
 * which maps whole blocks of BLOCK entries in loops that compilers vectorise; map.c has the formulas and the
 * exponential. Add a kernel as doc/add-a-kernel.md says.
 */
#define OF(name) GLUE(name, BITS)

/* Holds what of a row's maps depends on the kernel alone, and the row's norm. exp: of what
 * OF(prepare) says. */
struct OF(row) {
    struct OF(scale) exp;
    REAL gamma, coef0, norm, zero; /* zero: a variable, as map.c says of bounds */
    int degree;
};

/* Maps blocks, `count` of them: dot and out [count * BLOCK], which may be the same; norms [count * BLOCK], for
 * kernels of the distance. */
typedef void OF(blocks_fn)(const struct OF(row) * row, size_t count, const REAL *dot, REAL *out, const REAL *norms);

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

static void OF(linear)(const struct OF(row) * row, size_t count, const REAL *dot, REAL *out, const REAL *norms)
{
    (void)row, (void)norms;
    if (out != dot && count > 0)
        memcpy(out, dot, count * BLOCK * sizeof *out);
}

/* Raises u = gamma s + coef0 to the degree by repeated squaring, from the highest bit of the degree down. The loop over
 * bits is outside, so that those over entries vectorise. Degree 0 gives 1, but NaN stays NaN. */
static void OF(polynomial)(const struct OF(row) * row, size_t count, const REAL *dot, REAL *out, const REAL *norms)
{
    (void)norms;
    unsigned degree = (unsigned)row->degree, top = 1;
    while (top <= degree / 2)
        top *= 2;
    REAL gamma = row->gamma, coef0 = row->coef0;
    for (size_t b = 0; b < count; b++, dot += BLOCK, out += BLOCK) {
        REAL u[BLOCK], power[BLOCK];
        for (int j = 0; j < BLOCK; j++) {
            u[j] = gamma * dot[j] + coef0;
            power[j] = u[j];
        }
        for (unsigned bit = top / 2; bit > 0; bit /= 2) { /* power = u^(the bits of degree down to this one) */
            if (degree & bit) {
                for (int j = 0; j < BLOCK; j++)
                    power[j] = power[j] * power[j] * u[j];
            } else {
                for (int j = 0; j < BLOCK; j++)
                    power[j] *= power[j];
            }
        }
        for (int j = 0; j < BLOCK; j++)
            out[j] = degree == 0 && u[j] == u[j] ? 1 : power[j];
    }
}

/* Makes out [BLOCK] = exp(c d), d = max(floor, norm + norms - 2 dot) */
static inline __attribute__((always_inline)) void OF(exp_block)(struct OF(scale) c, REAL norm, const REAL *dot,
                                                                REAL *out, const REAL *norms)
{
#if VECTOR == 64
    enum { COUNT = BLOCK * sizeof(REAL) / VECTOR };
    OF(vector) value[COUNT];
    OF(exp_side)(c, norm, dot, norms, COUNT, value);
    for (int k = 0; k < COUNT; k++)
        ((OF(loose) *)(void *)out)[k] = value[k];
#else
#pragma omp simd
    for (int j = 0; j < BLOCK; j++) {
        REAL d = norm + norms[j] - 2 * dot[j];
        out[j] = OF(exp)(c, d < c.floor ? c.floor : d);
    }
#endif
}

/* Maps by exp(-gamma d), whose constants are the row's. */
static void OF(rbf)(const struct OF(row) * row, size_t count, const REAL *dot, REAL *out, const REAL *norms)
{
    struct OF(scale) c = row->exp;
    REAL norm = row->norm;
    for (size_t b = 0; b < count; b++, dot += BLOCK, out += BLOCK, norms += BLOCK)
        OF(exp_block)(c, norm, dot, out, norms);
}

/* Makes tanh u of |u|, with the sign of u put back in the end: both formulas are computed, and the one for the size of
 * u is taken. */
static void OF(sigmoid)(const struct OF(row) * row, size_t count, const REAL *dot, REAL *out, const REAL *norms)
{
    (void)norms;
    struct OF(scale) c = row->exp;
    REAL gamma = row->gamma, coef0 = row->coef0;
    const REAL third = (REAL)(1.0 / 3), fifth = (REAL)(2.0 / 15), seventh = (REAL)(17.0 / 315);
    const REAL ninth = (REAL)(62.0 / 2835);
    size_t n = count * BLOCK;
#pragma omp simd
    for (size_t j = 0; j < n; j++) {
        REAL u = gamma * dot[j] + coef0, a = FABS(u), s = u * u;
        REAL e = OF(exp)(c, a);
        REAL near = a - a * s * (third - s * (fifth - s * (seventh - s * ninth)));
        out[j] = COPYSIGN(a < (REAL)0.03125 ? near : (1 - e) / (1 + e), u);
    }
}

static void OF(laplacian)(const struct OF(row) * row, size_t count, const REAL *dot, REAL *out, const REAL *norms)
{
    struct OF(scale) c = row->exp;
    size_t n = count * BLOCK;
    (void)norms;
#pragma omp simd
    for (size_t j = 0; j < n; j++)
        out[j] = OF(exp)(c, dot[j] < c.floor ? c.floor : dot[j]);
}

static void OF(chi2)(const struct OF(row) * row, size_t count, const REAL *dot, REAL *out, const REAL *norms)
{
    OF(laplacian)(row, count, dot, out, norms);
}

/* Makes min / max, which are s - D and s + D of the sum s of |x| + |z| and the sum D of |x - z|: of the share u = D /
 * s, (1 - u) / (1 + u). */
static void OF(tanimoto)(const struct OF(row) * row, size_t count, const REAL *dot, REAL *out, const REAL *norms)
{
    REAL zero = row->zero, one = 1;
    size_t n = count * BLOCK;
    (void)norms;
#pragma omp simd
    for (size_t j = 0; j < n; j++) {
        REAL u = dot[j] < zero ? zero : dot[j] > one ? one : dot[j];
        out[j] = (one - u) / (one + u);
    }
}

/* Makes r [BLOCK] = sqrt(gamma d2), at most the limit of exp(-r), and exp [BLOCK] of it, which is 1 where r is 0. */
static inline void OF(matern)(const struct OF(row) * row, const REAL *dot, const REAL *norms, REAL *r, REAL *exp)
{
    struct OF(scale) c = row->exp;
    REAL gamma = row->gamma, norm = row->norm, zero = row->zero;
#pragma omp simd
    for (size_t j = 0; j < BLOCK; j++) {
        REAL d2 = norm + norms[j] - 2 * dot[j], root = SQRT(gamma * (d2 < zero ? zero : d2));
        r[j] = root > c.limit ? c.limit : root;
        exp[j] = OF(exp)(c, root < c.floor ? c.floor : root);
    }
}

static void OF(matern32)(const struct OF(row) * row, size_t count, const REAL *dot, REAL *out, const REAL *norms)
{
    REAL r[BLOCK], exp[BLOCK];
    for (size_t b = 0; b < count; b++, dot += BLOCK, out += BLOCK, norms += BLOCK) {
        OF(matern)(row, dot, norms, r, exp);
        for (int j = 0; j < BLOCK; j++)
            out[j] = exp[j] * (1 + r[j]);
    }
}

static void OF(matern52)(const struct OF(row) * row, size_t count, const REAL *dot, REAL *out, const REAL *norms)
{
    REAL r[BLOCK], exp[BLOCK];
    for (size_t b = 0; b < count; b++, dot += BLOCK, out += BLOCK, norms += BLOCK) {
        OF(matern)(row, dot, norms, r, exp);
        for (int j = 0; j < BLOCK; j++)
            out[j] = exp[j] * (1 + r[j] * (1 + r[j] * (REAL)(1.0 / 3)));
    }
}

/* ---- whole rows -------------------------------------------------------------------------------------------------- */

/* Computes once a row what its kernel needs, in the type of the row. */
static struct OF(row) OF(prepare)(const hinge_kernel *kernel)
{
    const double factor = false ? 0 HG_MAPS(EXPONENT_OF) : 0;
    return (struct OF(row)){ .exp = OF(exp_scale)(factor),
                             .gamma = OF(real)(kernel->gamma),
                             .coef0 = OF(real)(kernel->coef0),
                             .degree = kernel->degree };
}

/* Holds the map of each kernel. The user's function makes values, which only go where they are wanted; precomputed ones
 * meet no map. */
static OF(blocks_fn) *const OF(blocks)[] = { HG_MAPS(BLOCKS_OF)[HINGE_USER] = OF(linear) };

/* Maps n entries (hg_maps.map): whole blocks in place, and the rest in a block filled up with 0, so that each entry
 * goes through the same arithmetic wherever it stands. */
static void OF(map)(const hinge_kernel *kernel, size_t n, const void *dots, void *values, double norm,
                    const void *squares)
{
    OF(blocks_fn) *const blocks = OF(blocks)[kernel->type];
    struct OF(row) row = OF(prepare)(kernel);
    size_t done = n / BLOCK * BLOCK, rest = n - done;
    const REAL *dot = dots, *norms = squares;
    REAL *out = values;
    row.norm = (REAL)norm;
    blocks(&row, n / BLOCK, dot, out, norms);
    if (rest > 0) {
        REAL s[BLOCK] = { 0 }, z[BLOCK] = { 0 };
        memcpy(s, dot + done, rest * sizeof *s);
        if (norms != NULL)
            memcpy(z, norms + done, rest * sizeof *z);
        blocks(&row, 1, s, s, z);
        memcpy(out + done, s, rest * sizeof *s);
    }
}

/*
 * Rows of kernel values in one type: for map.c, which includes it once for each. REAL: float or double; BITS: 32 or 64,
 * what names end in; FABS, COPYSIGN: of that type.
 */
#define OF(name) GLUE(name, BITS)

/* What of a row's maps depends on the kernel alone, and the row's norm. */
struct OF(row) {
    struct OF(scale) exp;
    REAL gamma, coef0, norm;
    int degree;
};

/* Maps blocks, `count` of them; norms [count * BLOCK], RBF only. */
typedef void OF(blocks_fn)(const struct OF(row) *row, size_t count, const REAL *dot, REAL *out, const REAL *norms);

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

static void OF(linear)(const struct OF(row) *row, size_t count, const REAL *dot, REAL *out, const REAL *norms)
{
    (void)row, (void)norms;
    if (out != dot && count > 0)
        memcpy(out, dot, count * BLOCK * sizeof *out);
}

static void OF(polynomial)(const struct OF(row) *row, size_t count, const REAL *dot, REAL *out, const REAL *norms)
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
static inline __attribute__((always_inline)) void
OF(exp_block)(struct OF(scale) c, REAL norm, const REAL *dot, REAL *out, const REAL *norms)
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

static void OF(rbf)(const struct OF(row) *row, size_t count, const REAL *dot, REAL *out, const REAL *norms)
{
    struct OF(scale) c = row->exp;
    REAL norm = row->norm;
    for (size_t b = 0; b < count; b++, dot += BLOCK, out += BLOCK, norms += BLOCK)
        OF(exp_block)(c, norm, dot, out, norms);
}

static void OF(sigmoid)(const struct OF(row) *row, size_t count, const REAL *dot, REAL *out, const REAL *norms)
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

/* ---- whole rows -------------------------------------------------------------------------------------------------- */

static struct OF(row) OF(prepare)(const hinge_kernel *kernel)
{
    if (kernel->type == HINGE_RBF)
        return (struct OF(row)){ .exp = OF(exp_scale)(-kernel->gamma) };
    return (struct OF(row)){ .exp = OF(exp_scale)(-2),
                                .gamma = OF(real)(kernel->gamma),
                                .coef0 = OF(real)(kernel->coef0),
                                .degree = kernel->degree };
}

/* The user's function makes values, which only go where they are wanted. */
static OF(blocks_fn) *const OF(blocks)[] = { HG_MAPS(BLOCKS_OF)[HINGE_USER] = OF(linear) };

static void OF(map)(const hinge_kernel *kernel, size_t n, const REAL *dot, REAL *out, REAL norm, const REAL *norms)
{
    OF(blocks_fn) *const blocks = OF(blocks)[kernel->type];
    struct OF(row) row = OF(prepare)(kernel);
    size_t done = n / BLOCK * BLOCK, rest = n - done;
    row.norm = norm;
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

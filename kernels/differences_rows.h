/*
 * Sums over differences in one type: for differences.c, which includes it once for each. REAL: float or double; BITS:
 * 32 or 64; MASK: an integer as wide, BARE: all its bits but the sign; FABS: of that type.
 */
#define OF(name) GLUE(name, BITS)

typedef REAL OF(vector) __attribute__((vector_size(VECTOR), aligned(VECTOR), may_alias));
typedef MASK OF(mask) __attribute__((vector_size(VECTOR), aligned(VECTOR), may_alias));

enum { OF(LANES) = VECTOR / sizeof(REAL) };

static inline __attribute__((always_inline)) OF(vector) OF(size_of)(OF(vector) value)
{
    return (OF(vector))((OF(mask))value & BARE);
}

/* a / b, whose 0 / 0 is 0 */
static inline __attribute__((always_inline)) OF(vector) OF(divide)(OF(vector) a, OF(vector) b)
{
    return a / (b - __builtin_convertvector(b == 0, OF(vector)));
}

/* Makes out [ROWS][SPAN vectors] of ROWS vectors x, `ld` values apart, and as many columns of a panel from its first.
 * A stretch of features is summed by itself, so that rounding grows with their number more slowly. */
static inline __attribute__((always_inline)) void OF(some)(enum hg_difference what, const REAL *x, size_t ld,
                                                           size_t rows, const REAL *panel, size_t d, REAL *out,
                                                           size_t ld_out)
{
    enum { WIDTH = HG_PANEL_BYTES / sizeof(REAL) };
    OF(vector) sum[ROWS][SPAN] = { 0 }, whole[ROWS][SPAN] = { 0 };
    for (size_t k0 = 0; k0 < d; k0 += HG_STRETCH) {
        OF(vector) part[ROWS][SPAN] = { 0 }, all[ROWS][SPAN] = { 0 };
        for (size_t k = k0; k < HG_MIN(d, k0 + HG_STRETCH); k++) {
            const OF(vector) *z = (const OF(vector) *)(const void *)(panel + k * WIDTH);
            for (size_t r = 0; r < rows; r++)
                for (int v = 0; v < SPAN; v++) {
                    OF(vector) by = z[v] - x[r * ld + k], size = OF(size_of)(z[v]) + FABS(x[r * ld + k]);
                    if (what == HG_DIFFERENCE_RATIO)
                        part[r][v] += by * OF(divide)(by, size);
                    else
                        part[r][v] += OF(size_of)(by);
                    if (what == HG_DIFFERENCE_SHARE)
                        all[r][v] += size;
                }
        }
        for (size_t r = 0; r < rows; r++)
            for (int v = 0; v < SPAN; v++) {
                sum[r][v] += part[r][v];
                whole[r][v] += all[r][v];
            }
    }
    for (size_t r = 0; what == HG_DIFFERENCE_SHARE && r < rows; r++)
        for (int v = 0; v < SPAN; v++)
            sum[r][v] = OF(divide)(sum[r][v], whole[r][v]);
    for (size_t r = 0; r < rows; r++)
        memcpy(out + r * ld_out, sum[r], sizeof sum[r]);
}

static inline __attribute__((always_inline)) void OF(all)(enum hg_difference what, const REAL *x, size_t ld,
                                                          size_t rows, const REAL *panel, size_t d, REAL *out,
                                                          size_t ld_out)
{
    enum { WIDTH = HG_PANEL_BYTES / sizeof(REAL), STEP = SPAN * OF(LANES) };
    for (size_t r = 0; r < rows; r += ROWS)
        for (size_t c = 0; c < WIDTH; c += STEP) {
            if (rows - r >= ROWS)
                OF(some)(what, x + r * ld, ld, ROWS, panel + c, d, out + r * ld_out + c, ld_out);
            else
                OF(some)(what, x + r * ld, ld, rows - r, panel + c, d, out + r * ld_out + c, ld_out);
        }
}

/* Gives each kind of sum code of its own, as OF(all) takes it for a constant. */
static void OF(sums)(enum hg_difference what, const void *vectors, size_t ld, size_t rows, const void *columns,
                     size_t d, void *sums, size_t ld_out)
{
    const REAL *x = vectors, *panel = columns;
    REAL *out = sums;
    if (what == HG_DIFFERENCE)
        OF(all)(HG_DIFFERENCE, x, ld, rows, panel, d, out, ld_out);
    else if (what == HG_DIFFERENCE_RATIO)
        OF(all)(HG_DIFFERENCE_RATIO, x, ld, rows, panel, d, out, ld_out);
    else
        OF(all)(HG_DIFFERENCE_SHARE, x, ld, rows, panel, d, out, ld_out);
}

#undef OF
#undef REAL
#undef BITS
#undef MASK
#undef BARE
#undef FABS

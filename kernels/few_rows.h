/*
 * Dot products of few vectors with many in one type: for few.c, which includes it once for each. REAL: float or double;
 * BITS: 32 or 64.
 */
#define OF(name) GLUE(name, BITS)

typedef REAL OF(vector) __attribute__((vector_size(VECTOR), aligned(sizeof(REAL)), may_alias));

enum { OF(LANES) = VECTOR / sizeof(REAL) };

/* Adds up the lanes of a vector: parts of 16 bytes, which registers have, and then those of one part. */
static inline __attribute__((always_inline)) REAL OF(total)(OF(vector) sum)
{
    enum { PARTS = VECTOR / 16, LANES = 16 / sizeof(REAL) };
    typedef REAL part __attribute__((vector_size(16)));
    union {
        OF(vector) all;
        part part[PARTS];
    } of = { sum };
    part total = of.part[0];
    REAL both = 0;
    for (int i = 1; i < PARTS; i++)
        total += of.part[i];
    for (size_t i = 0; i < LANES; i++)
        both += total[i];
    return both;
}

/* Makes rows x cols products, whose sums of a stretch of features have a register each; stretch by stretch, so that
 * rounding grows with the number of features more slowly. */
static inline __attribute__((always_inline)) void OF(some)(const REAL *x, size_t ldx, size_t rows, const REAL *z,
                                                           size_t ldz, size_t cols, size_t d, REAL *out, size_t ld)
{
    enum { STRETCH = 64 * OF(LANES) };
    for (size_t k0 = 0; k0 < d; k0 += STRETCH) {
        size_t end = HG_MIN(d, k0 + STRETCH), whole = k0 + (end - k0) / OF(LANES) * OF(LANES);
        OF(vector) sum[ROWS][WIDE] = { 0 };
        for (size_t k = k0; k < whole; k += OF(LANES)) {
            OF(vector) b[WIDE];
            for (size_t c = 0; c < cols; c++)
                b[c] = *(const OF(vector) *)(const void *)(z + c * ldz + k);
            for (size_t r = 0; r < rows; r++)
                for (size_t c = 0; c < cols; c++)
                    sum[r][c] += *(const OF(vector) *)(const void *)(x + r * ldx + k) * b[c];
        }
        for (size_t r = 0; r < rows; r++)
            for (size_t c = 0; c < cols; c++) {
                REAL part = OF(total)(sum[r][c]);
                for (size_t k = whole; k < end; k++)
                    part += x[r * ldx + k] * z[c * ldz + k];
                out[r * ld + c] = (k0 > 0 ? out[r * ld + c] : 0) + part;
            }
    }
}

/* Makes blocks of as many rows and columns as fit the registers: twice as many columns for one row or two. Columns that
 * are left are taken one by one. */
static void OF(dots)(const void *few, size_t ldx, size_t rows, const void *many, size_t ldz, size_t cols, size_t d,
                     void *products, size_t ld)
{
    const REAL *x = few, *z = many;
    REAL *out = products;
#define BLOCK(high, wide) OF(some)(x + r * ldx, ldx, high, z + c * ldz, ldz, wide, d, out + r * ld + c, ld)
    size_t c = 0;
    for (size_t r = 0; rows <= 2 && c + WIDE <= cols; c += WIDE)
        rows == 2 ? BLOCK(2, WIDE) : BLOCK(1, WIDE);
    for (; c + COLS <= cols; c += COLS)
        for (size_t r = 0; r < rows; r += ROWS)
            if (rows - r >= 4)
                BLOCK(4, COLS);
            else if (rows - r == 3)
                BLOCK(3, COLS);
            else if (rows - r == 2)
                BLOCK(2, COLS);
            else
                BLOCK(1, COLS);
    for (; c < cols; c++)
        for (size_t r = 0; r < rows; r++)
            BLOCK(1, 1);
#undef BLOCK
}

#undef OF
#undef REAL
#undef BITS

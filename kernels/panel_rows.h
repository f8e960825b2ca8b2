/*
 * The loops of panel.h in one type: for map.c, which includes it after map_rows.h and with the same macros, all of
 * which are undefined in the end. A panel's columns are in four registers of 64 bytes (or as many smaller ones), one
 * multiply-add each for every non-zero of a row.
 */
enum { OF(WIDTH) = HG_PANEL_BYTES / sizeof(REAL) };

/* to = from (NULL: 0) + sum over the entries [begin, end) of value * the panel's row at `at` */
static inline void OF(dots)(const struct hg_lists *l, size_t begin, size_t end, const REAL *panel, const REAL *from,
                            REAL *to)
{
    const uint32_t *at = l->at;
    const REAL *value = l->value;
    OF(wide) a = { 0 }, b = { 0 }, c = { 0 }, d = { 0 };
    if (from != NULL) {
        const OF(wide) *f = (const OF(wide) *)(const void *)from;
        a = f[0], b = f[1], c = f[2], d = f[3];
    }
    for (size_t i = begin; i < end; i++) {
        const OF(wide) *p = (const OF(wide) *)(const void *)(panel + at[i]);
        REAL x = value[i];
        a += x * p[0], b += x * p[1], c += x * p[2], d += x * p[3];
    }
    OF(wide) *t = (OF(wide) *)(void *)to;
    t[0] = a, t[1] = b, t[2] = c, t[3] = d;
}

/* Stretch s of row r of the job. */
static inline void OF(stretch)(const struct hg_panel_job *j, size_t r, size_t s, const REAL *panel, REAL *to)
{
    const struct hg_lists *l = j->lists;
    const uint32_t *end = l->end + (j->row0 + r) * l->stretches + s;
    REAL *sums = (REAL *)j->sums + r * OF(WIDTH);
    OF(dots)(l, s > 0 ? end[-1] : (j->row0 + r) * l->capacity, *end, panel, s > 0 ? sums : NULL, to);
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

/* A panel's values [WIDTH], times coef [WIDTH], to sum [HG_SUM_LANES]. In f32 only five roundings are before f64's. */
static inline void OF(sum_panel)(const REAL *value, const REAL *coef, double *sum)
{
    const OF(loose) *v = (const OF(loose) *)(const void *)value, *c = (const OF(loose) *)(const void *)coef;
    OF(wide) part = v[0] * c[0] + v[1] * c[1] + v[2] * c[2] + v[3] * c[3];
    OF(add_lanes)(sum, &part);
}

/* The values [WIDTH] of row `row` in a panel whose first column is `col`; coef [WIDTH], and [WIDTH] from ld on. */
static inline void OF(sum_row)(const struct hg_sums *s, size_t row, size_t col, REAL *value, const REAL *coef,
                               size_t ld)
{
    uint64_t one = s->ones != NULL ? s->ones[row * HG_ONES + col / 64] >> col % 64 : 0;
    for (size_t c = 0; one != 0 && c < OF(WIDTH); c++, one >>= 1)
        if (one & 1)
            value[c] = 1;
    OF(sum_panel)(value, coef, s->sum + row * s->m * HG_SUM_LANES);
    if (s->m > 1)
        OF(sum_panel)(value, coef + ld, s->sum + (row * s->m + 1) * HG_SUM_LANES);
}

/* padded [2 * WIDTH] = the coefficients of a panel's n columns, and 0 */
static void OF(pad_coef)(const struct hg_sums *s, size_t col, size_t n, REAL *padded)
{
    memset(padded, 0, 2 * OF(WIDTH) * sizeof *padded);
    for (size_t k = 0; k < s->m; k++)
        memcpy(padded + k * OF(WIDTH), (const REAL *)s->coef + k * s->ld + col, n * sizeof *padded);
}

static void OF(sum)(const struct hg_sums *s, size_t row, size_t n, REAL *value)
{
    size_t done = n / OF(WIDTH) * OF(WIDTH), rest = n - done;
    for (size_t c = 0; c < done; c += OF(WIDTH))
        OF(sum_row)(s, row, c, value + c, (const REAL *)s->coef + c, s->ld);
    if (rest > 0) {
        REAL last[OF(WIDTH)] = { 0 }, padded[2 * OF(WIDTH)];
        memcpy(last, value + done, rest * sizeof *last);
        OF(pad_coef)(s, done, rest, padded);
        OF(sum_row)(s, row, done, last, padded, OF(WIDTH));
    }
}

/* ---- panels ------------------------------------------------------------------------------------------------------ */

static void OF(panel)(const struct hg_panel_job *j, const REAL *panel, const REAL *norms, size_t col, size_t n)
{
    enum { WIDTH = OF(WIDTH) };
    const REAL *norm = j->norm;
    struct OF(hg_row) row = OF(prepare)(j->kind, &j->args);
    OF(hg_blocks) *map = j->maps->OF(blocks)[j->kind];
    _Alignas(64) REAL padded[WIDTH] = { 0 }, values[WIDTH], padded_coef[2 * WIDTH];
    const REAL *coef = j->into != NULL ? (const REAL *)j->into->coef + col : NULL;
    size_t ld = j->into != NULL ? j->into->ld : 0;
    if (norms != NULL && n < WIDTH) {
        memcpy(padded, norms, n * sizeof *padded);
        norms = padded;
    }
    if (j->into != NULL && n < WIDTH) {
        OF(pad_coef)(j->into, col, n, padded_coef);
        coef = padded_coef;
        ld = WIDTH;
    }
    size_t last = j->lists->stretches - 1;
    for (size_t s = 0; s < last; s++)
        for (size_t r = 0; r < j->rows; r++)
            OF(stretch)(j, r, s, panel, (REAL *)j->sums + r * WIDTH);
    for (size_t r = 0; r < j->rows; r++) {
        OF(stretch)(j, r, last, panel, values);
        row.norm = norm != NULL ? norm[r] : 0;
        REAL *out = n < WIDTH || j->into != NULL ? values : (REAL *)j->out[r] + col;
        if (j->kind == HG_MAP_RBF) /* inlined: its constants stay in registers */
            OF(rbf)(&row, WIDTH / HG_MAP_BLOCK, values, out, norms);
        else
            map(&row, WIDTH / HG_MAP_BLOCK, values, out, norms);
        if (j->into != NULL)
            OF(sum_row)(j->into, j->row0 + r, col, values, coef, ld);
        else if (n < WIDTH)
            memcpy((REAL *)j->out[r] + col, values, n * sizeof *out);
    }
}

#undef OF
#undef REAL
#undef BITS
#undef FABS
#undef COPYSIGN

/*
 * The loops of panel.h in one type: for map.c, which includes it after map_rows.h and with the same macros, all of
 * which are undefined in the end. Four registers of a panel's columns take one multiply-add each for every non-zero of
 * a row, and two rows go side by side, so that none waits for its sums. Rows that are dense go as many side by side as
 * there are registers for, since each multiply-add of a pair would wait for its load.
 */
enum {
    OF(WIDTH) = HG_PANEL_BYTES / sizeof(REAL),
    OF(FOUR) = 4 * VECTOR / sizeof(REAL), /* columns of four registers */
    OF(MOST) = VECTOR == 64   ? 6
               : VECTOR == 32 ? 3
                              : 2 /* dense rows side by side */
};

/* Views the non-zeros of a row within a stretch: value[i] belongs to the panel's line at[i]. */
struct OF(entries) {
    const uint32_t *at;
    const REAL *value;
    size_t count;
};

/* Returns stretch s of row r of the job; no entries where it has no such row, the second of a pair. */
static inline struct OF(entries) OF(entries_of)(const struct hg_panel_job *j, size_t r, size_t s)
{
    const struct hg_lists *l = j->lists;
    if (r >= j->rows)
        return (struct OF(entries)){ 0 };
    const uint32_t *end = l->end + (j->row0 + r) * l->stretches + s;
    size_t begin = s > 0 ? end[-1] : (j->row0 + r) * l->capacity;
    return (struct OF(entries)){ l->at + begin, (const REAL *)l->value + begin, *end - begin };
}

/* Holds sums, or values, of four registers' columns. */
struct OF(four) {
    OF(vector) a, b, c, d;
};

/* Loads without memcpy: compilers make that of 16 bytes at a time, and longer loads wait for such stores. */
static inline struct OF(four) OF(load)(const REAL *from)
{
    const OF(vector) *p = (const OF(vector) *)(const void *)from;
    return (struct OF(four)){ p[0], p[1], p[2], p[3] };
}

static inline void OF(store)(struct OF(four) sum, REAL *to)
{
    OF(vector) *p = (OF(vector) *)(void *)to;
    p[0] = sum.a, p[1] = sum.b, p[2] = sum.c, p[3] = sum.d;
}

/* Adds x times a line of the panel: four multiply-adds, each with a load. */
static inline void OF(add)(struct OF(four) * sum, REAL x, const REAL *at)
{
    const OF(vector) *p = (const OF(vector) *)(const void *)at;
    sum->a += x * p[0], sum->b += x * p[1], sum->c += x * p[2], sum->d += x * p[3];
}

static inline void OF(add_entry)(struct OF(four) * sum, const struct OF(entries) * e, size_t i, const REAL *panel)
{
    OF(add)(sum, e->value[i], panel + e->at[i]);
}

/* Writes the sum, and what is at `from` (NULL: 0), to `to`. */
static inline void OF(put)(struct OF(four) sum, const REAL *from, REAL *to)
{
    if (from != NULL) {
        struct OF(four) before = OF(load)(from);
        sum.a += before.a, sum.b += before.b, sum.c += before.c, sum.d += before.d;
    }
    OF(store)(sum, to);
}

/* Makes to [2 * WIDTH] = from (NULL: 0) + sum over entries of value * the panel's row at `at`, for two rows. As long as
 * both have entries they take turns, so that eight sums are under way at once. */
static inline void OF(dots)(struct OF(entries) e, struct OF(entries) f, const REAL *panel, const REAL *from, REAL *to)
{
    size_t both = HG_MIN(e.count, f.count);
    for (size_t c = 0; c < OF(WIDTH); c += OF(FOUR), panel += OF(FOUR)) {
        struct OF(four) s = { 0 }, t = { 0 };
        for (size_t i = 0; i < both; i++) {
            OF(add_entry)(&s, &e, i, panel);
            OF(add_entry)(&t, &f, i, panel);
        }
        for (size_t i = both; i < e.count; i++)
            OF(add_entry)(&s, &e, i, panel);
        for (size_t i = both; i < f.count; i++)
            OF(add_entry)(&t, &f, i, panel);
        OF(put)(s, from != NULL ? from + c : NULL, to + c);
        OF(put)(t, from != NULL ? from + c + OF(WIDTH) : NULL, to + c + OF(WIDTH));
    }
}

/* Does the same for n dense rows x [n * ld] of `count` features. n: a constant, at most MOST */
static inline __attribute__((always_inline)) void OF(dense)(const REAL *x, size_t ld, size_t n, size_t count,
                                                            const REAL *panel, const REAL *from, REAL *to)
{
    for (size_t c = 0; c < OF(WIDTH); c += OF(FOUR)) {
        struct OF(four) sum[OF(MOST)] = { 0 };
        const REAL *at = panel + c;
        for (size_t k = 0; k < count; k++, at += OF(WIDTH))
#pragma GCC unroll 6
            for (size_t r = 0; r < n; r++)
                OF(add)(&sum[r], x[r * ld + k], at);
#pragma GCC unroll 6
        for (size_t r = 0; r < n; r++)
            OF(put)(sum[r], from != NULL ? from + r * OF(WIDTH) + c : NULL, to + r * OF(WIDTH) + c);
    }
}

/* Returns how many rows from r on go side by side. */
static inline size_t OF(side_by_side)(const struct hg_panel_job *j, size_t r)
{
    return HG_MIN(j->lists->dense ? (size_t)OF(MOST) : 2, j->rows - r);
}

/* Makes dot products of rows [r, r + n) of the job over stretch s, added to `from` (NULL: 0); by lists two at a time,
 * the second of which may be one too many: `to` has room for it. The three calls of dense() differ in a constant, which
 * unrolls its loops. */
static inline void OF(stretch)(const struct hg_panel_job *j, size_t r, size_t n, size_t s, const REAL *panel,
                               const REAL *from, REAL *to)
{
    enum { MOST = OF(MOST) };
    const struct hg_lists *l = j->lists;
    if (!l->dense) {
        OF(dots)(OF(entries_of)(j, r, s), OF(entries_of)(j, r + 1, s), panel, from, to);
        return;
    }
    const REAL *x = (const REAL *)l->value + (j->row0 + r) * l->capacity + s * HG_STRETCH;
    size_t count = HG_MIN((size_t)HG_STRETCH, l->capacity - s * HG_STRETCH);
    panel += s * HG_STRETCH * OF(WIDTH);
    for (size_t i = 0, some; i < n; i += some, x += some * l->capacity) {
        const REAL *before = from != NULL ? from + i * OF(WIDTH) : NULL;
        some = n == MOST ? MOST : HG_MIN(n - i, (size_t)2);
        if (some == MOST)
            OF(dense)(x, l->capacity, MOST, count, panel, before, to + i * OF(WIDTH));
        else if (some == 2)
            OF(dense)(x, l->capacity, 2, count, panel, before, to + i * OF(WIDTH));
        else
            OF(dense)(x, l->capacity, 1, count, panel, before, to + i * OF(WIDTH));
    }
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

/* Adds a panel's values [WIDTH], times coef [WIDTH], to sum [HG_SUM_LANES]. In f32 only five roundings are before
 * f64's. The lanes are 64 bytes wide at every level, so that the order of sums is the same. */
static inline __attribute__((always_inline)) void OF(sum_panel)(const REAL *value, const REAL *coef, double *sum)
{
    enum { EACH = 64 / VECTOR };
    const OF(loose) *v = (const OF(loose) *)(const void *)value, *c = (const OF(loose) *)(const void *)coef;
    OF(vector) part[EACH];
    for (int k = 0; k < EACH; k++)
        part[k] = v[k] * c[k];
    for (int k = EACH; k < HG_PANEL_BYTES / VECTOR; k++)
        part[k % EACH] += v[k] * c[k];
    OF(add_lanes)(sum, (const REAL *)(const void *)part);
}

/* Adds the values [WIDTH] of row `row` to its sums, one for each of the m rows of coefficients: coef [WIDTH], and
 * [WIDTH] from ld on. */
static inline __attribute__((always_inline)) void OF(sum_values)(const struct hg_sums *s, size_t row, const REAL *value,
                                                                 const REAL *coef, size_t ld)
{
    for (size_t k = 0; k < s->m; k++)
        OF(sum_panel)(value, coef + k * ld, s->sum + (row * s->m + k) * HG_SUM_LANES);
}

/* Does the same with values of a panel whose first column is `col`, after setting those to 1 that are to be. */
static inline void OF(sum_row)(const struct hg_sums *s, size_t row, size_t col, REAL *value, const REAL *coef,
                               size_t ld)
{
    uint64_t one = s->ones != NULL ? s->ones[row * HG_ONES + col / 64] >> col % 64 : 0;
    for (size_t c = 0; one != 0 && c < OF(WIDTH); c++, one >>= 1)
        if (one & 1)
            value[c] = 1;
    OF(sum_values)(s, row, value, coef, ld);
}

#if VECTOR == 64
/* Sums RBF values of a row, by their dot products [WIDTH], without writing the values down, which spares prediction up
 * to a sixth of its time (doc/tried.md). */
static inline __attribute__((always_inline)) void OF(sum_rbf)(const struct hg_sums *s, size_t row,
                                                              const struct OF(row) * of, const REAL *dot,
                                                              const REAL *norms, const REAL *coef, size_t ld)
{
    enum { COUNT = HG_PANEL_BYTES / VECTOR };
    OF(vector) value[COUNT];
    OF(exp_side)(of->exp, of->norm, dot, norms, COUNT, value);
    OF(sum_values)(s, row, (const REAL *)(const void *)value, coef, ld);
}
#endif

/* Makes padded [2 * WIDTH] = the coefficients of a panel's n columns, and 0 */
static void OF(pad_coef)(const struct hg_sums *s, size_t col, size_t n, REAL *padded)
{
    memset(padded, 0, 2 * OF(WIDTH) * sizeof *padded);
    for (size_t k = 0; k < s->m; k++)
        memcpy(padded + k * OF(WIDTH), (const REAL *)s->coef + k * s->ld + col, n * sizeof *padded);
}

/* Sums a row of n values that GEMM and the map have made (hg_maps.sum), as panels do: in pieces of WIDTH columns, the
 * last filled up with coefficients of 0. */
static void OF(sum)(const struct hg_sums *s, size_t row, size_t n, void *values)
{
    size_t done = n / OF(WIDTH) * OF(WIDTH), rest = n - done;
    REAL *value = values;
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

/* Holds what all rows of a panel share. */
struct OF(panel_side) {
    const REAL *norms, *coef; /* [WIDTH]; [WIDTH], and [WIDTH] from ld on */
    size_t ld, col, n;
};

/* Ends all rows of a panel: their last stretch, the map, and where values go: to the row, or into its sums. rbf: a
 * constant, true where the kernel is RBF and the panel has all columns: its constants stay in registers then, since
 * nothing is called. */
static inline __attribute__((always_inline)) void
OF(rows)(const struct hg_panel_job *job, const struct OF(panel_side) * side, const REAL *panel, bool rbf)
{
    enum { WIDTH = OF(WIDTH) };
    const struct hg_panel_job j = *job;
    const struct OF(panel_side) p = *side;
    struct OF(row) row = OF(prepare)(j.kernel);
    _Alignas(64) REAL values[OF(MOST) * WIDTH];
    size_t last = j.lists->stretches - 1, some;
    for (size_t r = 0; r < j.rows; r += some) {
        some = OF(side_by_side)(&j, r);
        OF(stretch)(&j, r, some, last, panel, last > 0 ? (const REAL *)j.sums + r * WIDTH : NULL, values);
        for (size_t i = 0; i < some; i++) {
            REAL *value = values + i * WIDTH, *to = j.into == NULL ? (REAL *)j.out[r + i] + p.col : NULL;
            if (j.norm != NULL)
                row.norm = ((const REAL *)j.norm)[r + i];
#if VECTOR == 64
            if (rbf && to == NULL && j.into->ones == NULL) {
                OF(sum_rbf)(j.into, j.row0 + r + i, &row, value, p.norms, p.coef, p.ld);
                continue;
            }
#endif
            if (rbf)
                OF(rbf)(&row, WIDTH / HG_MAP_BLOCK, value, to != NULL ? to : value, p.norms);
            else
                OF(blocks)[j.kernel->type](&row, WIDTH / HG_MAP_BLOCK, value, value, p.norms);
            if (to == NULL)
                OF(sum_row)(j.into, j.row0 + r + i, p.col, value, p.coef, p.ld);
            else if (!rbf)
                memcpy(to, value, p.n * sizeof *to);
        }
    }
}

/* Makes a panel's n columns of all rows (hg_maps.panel). All stretches but the last come first, and leave their sums in
 * j->sums; norms and coefficients of a panel that is not full are filled up with 0. */
static void OF(panel)(const struct hg_panel_job *j, const void *columns, const void *norms, size_t col, size_t n)
{
    const REAL *panel = columns;
    enum { WIDTH = OF(WIDTH) };
    _Alignas(64) REAL padded[WIDTH] = { 0 }, padded_coef[2 * WIDTH];
    struct OF(panel_side) p = { norms, NULL, 0, col, n };
    if (norms != NULL && n < WIDTH)
        p.norms = memcpy(padded, norms, n * sizeof *padded);
    if (j->into != NULL) {
        p.coef = (const REAL *)j->into->coef + col;
        p.ld = j->into->ld;
    }
    if (j->into != NULL && n < WIDTH) {
        OF(pad_coef)(j->into, col, n, padded_coef);
        p.coef = padded_coef;
        p.ld = WIDTH;
    }
    for (size_t s = 0; s + 1 < j->lists->stretches; s++)
        for (size_t r = 0, some; r < j->rows; r += some) {
            REAL *to = (REAL *)j->sums + r * WIDTH;
            some = OF(side_by_side)(j, r);
            OF(stretch)(j, r, some, s, panel, s > 0 ? to : NULL, to);
        }
    if (j->kernel->type == HINGE_RBF && n == WIDTH)
        OF(rows)(j, &p, panel, true);
    else
        OF(rows)(j, &p, panel, false);
}

#undef OF
#undef REAL
#undef BITS
#undef FABS
#undef SQRT
#undef COPYSIGN

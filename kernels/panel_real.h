/*
 * Template of panel.c for one type: included with REAL, WIDE (64 bytes of it), PANEL (the function made), what map.h
 * calls its ROW, BLOCKS, MAPS and PREPARE; NAME(x) makes a name of the type's own.
 */

enum { NAME(WIDTH) = HG_PANEL_BYTES / sizeof(REAL) };

/* to = from (NULL: 0) + sum over the entries [begin, end) of value * the panel's row at `at` */
static inline void NAME(dots)(const struct hg_lists *l, size_t begin, size_t end, const REAL *panel, const REAL *from,
                              REAL *to)
{
    const uint32_t *at = l->at;
    const REAL *value = l->value;
    WIDE a = { 0 }, b = { 0 }, c = { 0 }, d = { 0 };
    if (from != NULL) {
        const WIDE *f = (const WIDE *)(const void *)from;
        a = f[0], b = f[1], c = f[2], d = f[3];
    }
    for (size_t i = begin; i < end; i++) {
        const WIDE *p = (const WIDE *)(const void *)(panel + at[i]);
        REAL x = value[i];
        a += x * p[0], b += x * p[1], c += x * p[2], d += x * p[3];
    }
    WIDE *t = (WIDE *)(void *)to;
    t[0] = a, t[1] = b, t[2] = c, t[3] = d;
}

/* Stretch s of row r of the job. */
static inline void NAME(stretch)(const struct hg_panel_job *j, size_t r, size_t s, const REAL *panel, REAL *to)
{
    const struct hg_lists *l = j->lists;
    const uint32_t *end = l->end + (j->row0 + r) * l->stretches + s;
    REAL *sums = (REAL *)j->sums + r * NAME(WIDTH);
    NAME(dots)(l, s > 0 ? end[-1] : (j->row0 + r) * l->capacity, *end, panel, s > 0 ? sums : NULL, to);
}

void PANEL(const struct hg_panel_job *, const REAL *, const REAL *, size_t, size_t);

void PANEL(const struct hg_panel_job *j, const REAL *panel, const REAL *norms, size_t col, size_t n)
{
    enum { WIDTH = NAME(WIDTH) };
    const REAL *norm = j->norm;
    struct ROW row = j->maps->PREPARE(j->kind, &j->args);
    BLOCKS *map = j->maps->MAPS[j->kind];
    _Alignas(64) REAL padded[WIDTH] = { 0 }, values[WIDTH];
    if (norms != NULL && n < WIDTH) {
        memcpy(padded, norms, n * sizeof *padded);
        norms = padded;
    }
    size_t last = j->lists->stretches - 1;
    for (size_t s = 0; s < last; s++)
        for (size_t r = 0; r < j->rows; r++)
            NAME(stretch)(j, r, s, panel, (REAL *)j->sums + r * WIDTH);
    for (size_t r = 0; r < j->rows; r++) {
        NAME(stretch)(j, r, last, panel, values);
        row.norm = norm != NULL ? norm[r] : 0;
        REAL *out = (REAL *)j->out[r] + col;
        map(&row, WIDTH / HG_MAP_BLOCK, values, n == WIDTH ? out : values, norms);
        if (n < WIDTH)
            memcpy(out, values, n * sizeof *out);
    }
}

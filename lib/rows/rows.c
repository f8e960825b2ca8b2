/* The verbs of a source of kernel rows that need no tile of their caller's: fill, block and apply (rows.h). */
#include "lib/rows/rows.h"

hinge_status hg_rows_fill(struct hg_rows *rows, const uint32_t *left, size_t n_left, const uint32_t *right,
                          size_t n_right, void *const *out, const int *stop)
{
    struct hg_fetch fetch = { .rows = left, .n_rows = n_left, .cols = right, .n_cols = n_right, .out = out,
                              .stop = stop };
    return n_left > 0 ? rows->ops->fetch(rows, &fetch) : HINGE_OK;
}

hinge_status hg_rows_block(struct hg_rows *rows, const uint32_t *left, size_t n_left, const uint32_t *right,
                           size_t n_right, double *out)
{
    void **row = hg_alloc(n_left, sizeof *row);
    if (row == NULL)
        return HINGE_ENOMEM;
    for (size_t r = 0; r < n_left; r++)
        row[r] = out + r * n_right;
    hinge_status status = hg_rows_fill(rows, left, n_left, right, n_right, row, NULL);
    hg_free(row);
    return status;
}

struct sum {
    const struct hg_halt *halt;
    const double *coef;
    double *g;
};

static void add_tile(void *arg, const struct hg_tile *tile)
{
    const struct sum *s = arg;
    if (s->halt != NULL && hg_poll_halt(s->halt))
        return;
    for (size_t r = 0; r < tile->n_rows; r++) {
        const double *row = tile->row[r];
        double coef = s->coef != NULL ? s->coef[tile->row0 + r] : 1;
        for (size_t c = 0; c < tile->n_cols; c++)
            s->g[tile->col0 + c] += coef * row[c];
    }
}

hinge_status hg_rows_apply(struct hg_rows *rows, const uint32_t *left, size_t n_left, const double *coef,
                           const uint32_t *right, size_t n_right, double *g, const struct hg_halt *halt)
{
    struct sum sum = { halt, coef, g };
    struct hg_fetch fetch = { .rows = left, .n_rows = n_left, .cols = right, .n_cols = n_right, .tile = add_tile,
                              .arg = &sum, .stop = halt != NULL ? halt->stop : NULL };
    return n_left > 0 ? rows->ops->fetch(rows, &fetch) : HINGE_OK;
}

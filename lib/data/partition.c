/* Rows dealt to folds (partition.h), and gathered from where they are. */
#include "lib/data/partition.h"

#include <string.h>

/* Deals position start[g] + i of a shuffled group to fold (start[g] + i) mod folds: groups go on where the one before
 * ended, so that folds differ by a row at most, in all and in each group. */
void hg_folds_deal(uint64_t *state, const size_t *start, size_t groups, size_t folds, uint32_t *work, uint32_t *fold)
{
    for (size_t g = 0; g < groups; g++) {
        size_t n = start[g + 1] - start[g];
        for (size_t i = 0; i < n; i++)
            work[i] = (uint32_t)(start[g] + i);
        hg_shuffle(state, work, n);
        for (size_t i = 0; i < n; i++)
            fold[work[i]] = (uint32_t)((start[g] + i) % folds);
    }
}

size_t hg_folds_deal_problem(const struct hg_problem *pr, size_t p, size_t folds, uint32_t *work, uint32_t *fold)
{
    size_t n = hg_problem_size(pr, p), start[3] = { 0, hg_problem_firsts(pr, p), n };
    /* Each problem has a stream of random numbers of its own, so that problems need no order. */
    uint64_t stream = pr->params.seed + p * UINT64_C(0x632be59bd9b4e019), state = hg_random(&stream);
    folds = HG_MIN(folds, n);
    hg_folds_deal(&state, start, 2, folds, work, fold);
    return folds;
}

/* Deals classes one by one, and rows of weight 0 as a last group of their own: they are predicted, never trained on.
 * row [rows] has the points in order, then those rows. */
hinge_status hg_folds_draw(const struct hg_problem *pr, uint64_t *state, size_t folds, uint32_t *fold, hinge_error *err)
{
    size_t rows = pr->x.rows, groups = pr->classifies ? pr->n_classes : 1, last = pr->data.n, *start;
    uint32_t *row, *dealt, *work;
    HG_TRY(HG_MAKE(err, "the folds of rows", HG_ARRAY(row, rows), HG_ARRAY(dealt, rows), HG_ARRAY(work, rows),
                   HG_ARRAY(start, groups + 2)));
    memcpy(start, pr->start, (groups + 1) * sizeof *start);
    start[groups + 1] = rows;
    memcpy(row, pr->order, pr->data.n * sizeof *row);
    memset(fold, 0, rows * sizeof *fold);
    for (size_t i = 0; i < pr->data.n; i++)
        fold[row[i]] = 1;
    for (size_t i = 0; i < rows; i++)
        if (fold[i] == 0)
            row[last++] = (uint32_t)i;
    hg_folds_deal(state, start, groups + 1, folds, work, dealt);
    for (size_t i = 0; i < rows; i++)
        fold[row[i]] = dealt[i];
    hg_free(row);
    return HINGE_OK;
}

void hg_folds_mark(const struct hg_problem *pr, bool *used, bool *alone)
{
    for (size_t k = 0; k < pr->data.n; k++)
        used[pr->order[k]] = true;
    for (size_t c = 0; alone != NULL && pr->classifies && c < pr->n_classes; c++)
        alone[pr->order[pr->start[c]]] = pr->start[c + 1] - pr->start[c] == 1;
}

/* Sums weights of each class without the fold; hg_most_nu has the bound itself. */
double hg_folds_most_nu(const struct hg_problem *pr, const uint32_t *fold, size_t without, double *work)
{
    for (size_t c = 0; c < pr->n_classes; c++) {
        work[c] = 0;
        for (size_t i = pr->start[c]; i < pr->start[c + 1]; i++)
            work[c] += fold == NULL || fold[pr->order[i]] != without ? pr->weight[i] : 0;
    }
    return hg_most_nu(work, pr->n_classes, pr->one_vs_rest);
}

void hg_gather_rows(const hinge_matrix *x, const uint32_t *rows, size_t n, void *out)
{
    const struct hg_points points = { .x = *x, .n = x->rows };
    hg_points_pack(&points, rows, 0, n, x->type, out, x->cols);
}

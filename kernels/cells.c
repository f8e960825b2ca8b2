/*
 * Cells (cells.h): the tree, the boxes, which of them are far, and which rows of a fetch matter to a tile. Making them
 * takes one pass over the points for each level of the tree, of which there are some log2(n / 512), and one comparison
 * for each pair of boxes: little beside a training. All decisions are by the points alone, with random numbers from a
 * fixed state, so that the same points have the same cells anywhere.
 */
#include "kernels/cells.h"
#include "lib/base/team.h"
#include "kernels/points.h"

#include <math.h>
#include <string.h>

enum {
    PAIRS = 1024, /* drawn to see whether cells can pay */
    SAMPLE = 128, /* points that choose a node's split */
    LEAF = 512,   /* points of a leaf, where they vary at all */
    MOST_CELLS = 2048,
    MOST_DEPTH = 48
};
static const double WORTH = 0.5; /* share of near pairs that is still worth it */

/* Draws pairs of points: with 1,024 of them the share is right to some 0.02, which is enough to say whether to go on. A
 * training gives the same set twice, a prediction its examples and support vectors. */
bool hg_cells_may_pay(const struct hg_points *a, const struct hg_points *b, double distance2)
{
    uint64_t state = 1;
    size_t near = 0;
    for (size_t k = 0; k < PAIRS; k++) {
        size_t i = hg_random_below(&state, a->n), j = hg_random_below(&state, b->n);
        double sum = 0;
        for (size_t c = 0; c < a->x.cols; c++) {
            double d = hg_points_value(a, i, c) - hg_points_value(b, j, c);
            sum += d * d;
        }
        near += sum < distance2;
    }
    return (double)near < WORTH * PAIRS;
}

/* ---- the tree ---------------------------------------------------------------------------------------------------- */

struct tree {
    const struct hg_points *points;
    uint32_t *id;  /* [n] points, those of a node side by side */
    uint32_t *end; /* [n] of the leaves found so far, or NULL */
    size_t leaves, leaf;
};

/* Finds the feature that varies most over a sample of points id[0..n), by the sum of squares about the mean, and the
 * mean there; false: none varies, and the points are equal as far as is seen. The sample is spread evenly over the
 * list. */
static bool choose_split(const struct hg_points *points, const uint32_t *id, size_t n, size_t *feature, double *at)
{
    double most = 0;
    size_t count = HG_MIN(n, (size_t)SAMPLE);
    for (size_t c = 0; c < points->x.cols; c++) {
        double sum = 0, squares = 0, low = INFINITY, high = -INFINITY;
        for (size_t k = 0; k < count; k++) {
            double v = hg_points_value(points, id[k * n / count], c);
            sum += v, squares += v * v;
            low = HG_MIN(low, v), high = HG_MAX(high, v);
        }
        double mean = sum / (double)count, spread = squares - sum * mean;
        if (spread > most && high > low) {
            most = spread;
            *feature = c;
            *at = HG_MIN(HG_MAX(mean, low), low + 0.999 * (high - low)); /* both sides get some */
        }
    }
    return most > 0;
}

/* Splits points [begin, end) of the list at the mean of the feature that varies most, down to leaves: a k-d tree, of
 * which only the leaves' ends are kept. Points of a leaf are neighbours, and stand side by side in the list. */
static void split(struct tree *t, size_t begin, size_t end, int depth)
{
    size_t feature = 0, low = begin, high = end;
    double at = 0;
    if (end - begin <= t->leaf || depth >= MOST_DEPTH ||
        !choose_split(t->points, t->id + begin, end - begin, &feature, &at)) {
        if (t->end != NULL)
            t->end[t->leaves++] = (uint32_t)end;
        return;
    }
    while (low < high) {
        uint32_t point = t->id[low];
        if (hg_points_value(t->points, point, feature) <= at) {
            low++;
        } else {
            t->id[low] = t->id[--high];
            t->id[high] = point;
        }
    }
    if (low > begin)
        split(t, begin, low, depth + 1);
    if (low < end)
        split(t, low, end, depth + 1);
}

void hg_cells_sort(const struct hg_points *points, size_t leaf, uint32_t *ids, size_t n)
{
    struct tree t = { .points = points, .id = ids, .leaf = leaf };
    split(&t, 0, n, 0);
}

/* ---- far pairs --------------------------------------------------------------------------------------------------- */

/* Makes the box in f32, widened by one number each way, so that it holds the points whatever rounding does. */
void hg_cells_box(const struct hg_points *points, const uint32_t *ids, size_t n, float *box)
{
    size_t d = points->x.cols;
    float *low = box, *high = box + d;
    for (size_t k = 0; k < n; k++)
        for (size_t f = 0; f < d; f++) {
            float v = (float)hg_points_value(points, ids[k], f);
            low[f] = k == 0 ? v : HG_MIN(low[f], v);
            high[f] = k == 0 ? v : HG_MAX(high[f], v);
        }
    for (size_t f = 0; f < d; f++) { /* rounding */
        low[f] = nextafterf(low[f], -INFINITY);
        high[f] = nextafterf(high[f], INFINITY);
    }
}

/* Returns where cell c's points begin in t->id; those of c end where c + 1's begin. */
static size_t begin_of(const struct tree *t, size_t c)
{
    return c > 0 ? t->end[c - 1] : 0;
}

struct boxes { /* of all cells, each [2 * features] floats */
    const struct tree *t;
    struct hg_cells *cells;
    float *box;
    double distance2;
};

enum { CELLS = 8 }; /* in a piece */

/* Makes cells' boxes, and notes each point's cell. */
static void bound(void *arg, int thread, size_t first, size_t end)
{
    const struct boxes *b = arg;
    const struct tree *t = b->t;
    (void)thread;
    for (size_t c = first; c < end; c++) {
        size_t begin = begin_of(t, c);
        hg_cells_box(t->points, t->id + begin, t->end[c] - begin, b->box + 2 * c * t->points->x.cols);
        for (size_t k = begin; k < t->end[c]; k++)
            b->cells->cell[t->id[k]] = (uint32_t)c;
    }
}

/* Sums the squares of the gaps between the boxes, feature by feature: no two of their points are nearer than that. */
bool hg_cells_are_far(const float *a, const float *b, size_t d, double distance2)
{
    float sum = 0;
    for (size_t f = 0; f < d; f++) {
        float gap = HG_MAX(HG_MAX(a[f] - b[d + f], b[f] - a[d + f]), 0.0f);
        sum += gap * gap;
    }
    return sum >= distance2 * 1.0001; /* the boxes are rounded to f32 */
}

/* Compares cells' boxes with those of all before them. */
static void compare_some(void *arg, int thread, size_t first, size_t end)
{
    const struct boxes *b = arg;
    size_t d = b->t->points->x.cols, count = b->cells->count;
    (void)thread;
    for (size_t a = first; a < end; a++)
        for (size_t c = 0; c < a; c++)
            b->cells->far[a * count + c] = hg_cells_are_far(b->box + 2 * a * d, b->box + 2 * c * d, d, b->distance2);
}

/* Compares all pairs of boxes, and adds up the share of pairs of points whose cells are near: it says whether cells are
 * worth it, and what a kernel value costs with them. */
static void compare(struct boxes *boxes, int threads)
{
    const struct tree *t = boxes->t;
    struct hg_cells *cells = boxes->cells;
    size_t count = cells->count;
    double near = 0, n = (double)t->points->n;
    hg_share(threads, count, CELLS, compare_some, boxes);
    for (size_t a = 0; a < count; a++)
        for (size_t b = 0; b <= a; b++) {
            uint8_t far = cells->far[b * count + a] = cells->far[a * count + b];
            double in_a = (double)(t->end[a] - begin_of(t, a)), in_b = (double)(t->end[b] - begin_of(t, b));
            near += far ? 0 : (a == b ? 1 : 2) * in_a * in_b;
        }
    cells->near = near / (n * n);
}

/* Gives up, with count 0, before anything is made where a sample says that most pairs are near, and afterwards where
 * more than half of them turn out to be. Leaves grow with n, so that `far`, a byte for each pair of cells, has 4 MB at
 * most. */
hinge_status hg_cells_init(struct hg_cells *cells, const struct hg_points *points, double distance2, int threads,
                           hinge_error *err)
{
    memset(cells, 0, sizeof *cells);
    if (points->n < 8 * (size_t)LEAF || !hg_cells_may_pay(points, points, distance2))
        return HINGE_OK;
    size_t n = points->n;
    struct tree t = { .points = points, .leaf = HG_MAX((size_t)LEAF, n / (MOST_CELLS / 2)) };
    HG_TRY(HG_MAKE(err, "the tree of cells", HG_ARRAY(t.id, n), HG_ARRAY(t.end, n)));
    for (size_t i = 0; i < n; i++)
        t.id[i] = (uint32_t)i;
    split(&t, 0, n, 0);
    hinge_status status = HINGE_OK;
    if (t.leaves <= MOST_CELLS) {
        float *box;
        cells->count = t.leaves;
        status = HG_MAKE(err, "the cells of rows", HG_ARRAY(cells->cell, n), HG_ZEROS(cells->far, t.leaves * t.leaves));
        HG_THEN(status, HG_MAKE(err, "the boxes of cells", HG_TABLE(box, t.leaves, 2 * points->x.cols)));
        if (status == HINGE_OK) {
            struct boxes boxes = { &t, cells, box, distance2 };
            hg_share(threads, cells->count, CELLS, bound, &boxes);
            compare(&boxes, threads);
            hg_free(box);
        }
    }
    hg_free(t.id);
    if (status != HINGE_OK || cells->near > WORTH)
        hg_cells_free(cells);
    return status;
}

/* Sorts by counting, which keeps the order of numbers within a cell. */
uint32_t *hg_cells_order(const struct hg_cells *cells, const uint32_t *subset, size_t n)
{
    size_t *next = hg_zalloc(cells->count + 1, sizeof *next);
    uint32_t *order = hg_alloc(n, sizeof *order);
    bool ok = next != NULL && order != NULL;
    for (size_t i = 0; ok && i < n; i++)
        next[cells->cell[subset != NULL ? subset[i] : i] + 1]++;
    for (size_t c = 0; ok && c < cells->count; c++)
        next[c + 1] += next[c];
    for (size_t i = 0; ok && i < n; i++)
        order[next[cells->cell[subset != NULL ? subset[i] : i]]++] = (uint32_t)i;
    hg_free(next);
    if (ok)
        return order;
    hg_free(order);
    return NULL;
}

/* ---- which rows of a fetch matter to a tile ---------------------------------------------------------------------- */

/* Takes the union of what is near to each column's cell. Columns come in the order of cells, so that most are of the
 * cell of the one before and cost nothing. */
void hg_cells_near(const struct hg_cells *cells, const uint32_t *ids, size_t count, uint8_t *near)
{
    memset(near, 0, cells->count);
    for (size_t c = 0; c < count; c++) {
        uint32_t cell = cells->cell[ids[c]];
        if (c > 0 && cell == cells->cell[ids[c - 1]])
            continue;
        const uint8_t *far = cells->far + cell * cells->count;
        for (size_t k = 0; k < cells->count; k++)
            near[k] |= (uint8_t)!far[k];
    }
}

/* Cuts the list of rows where the cell changes. */
void hg_cells_stretches(const struct hg_cells *cells, const uint32_t *ids, size_t count, struct hg_stretches *s)
{
    s->count = 0;
    for (size_t r = 0; r < count; r++) {
        uint32_t cell = cells->cell[ids[r]];
        if (r == 0 || cell != s->of[s->count - 1].cell)
            s->of[s->count++].cell = cell;
        s->of[s->count - 1].end = (uint32_t)r + 1;
    }
}

/* Passes over stretches that are far, and joins those that are near and follow each other. */
bool hg_cells_next(const struct hg_stretches *s, const uint8_t *near, struct hg_rows_near *rows)
{
    size_t k = rows->next;
    while (k < s->count && !near[s->of[k].cell])
        k++;
    rows->first = k > 0 ? s->of[k - 1].end : 0;
    for (rows->end = rows->first; k < s->count && near[s->of[k].cell]; k++)
        rows->end = s->of[k].end;
    rows->next = k;
    return rows->first < rows->end;
}

void hg_cells_free(struct hg_cells *cells)
{
    hg_free(cells->cell);
    memset(cells, 0, sizeof *cells);
}

/*
 * Points of whole numbers (integers.h): whether values are on a grid, and their numbers there. Bytes as they lie are
 * looked at once, by which values there are. Of other values some rows are read first: their distinct values, at most
 * 256, have differences that are multiples of one step, which Euclid's algorithm finds; values that are measured have
 * none, and are given up here. A pass over all rows then makes the numbers, and ends at the first value that is not on
 * the grid.
 */
#include "kernels/integers.h"
#include "kernels/points.h"
#include "lib/base/team.h"

#include "hg_config.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { VALUES = 256, SAMPLE = 64, POINTS = 256 }; /* of a grid; rows that are read first; in a piece */

/* ---- loops ------------------------------------------------------------------------------------------------------- */

extern const struct hg_integer_loop hg_integers_plain[3], hg_integers_v2[3], hg_integers_v3[3], hg_integers_v4[3];

/* Stands in the order in which loops are preferred: the last that runs is taken. */
const struct hg_integer_loop *hg_integer_loop_number(size_t k)
{
#if HG_X86_LEVELS
    static const struct hg_integer_loop *const level[] = { hg_integers_plain, hg_integers_v2, hg_integers_v3,
                                                           hg_integers_v4 };
#else
    static const struct hg_integer_loop *const level[] = { hg_integers_plain };
#endif
    return k / 3 < sizeof level / sizeof *level ? &level[k / 3][k % 3] : NULL;
}

bool hg_integer_loop_runs(const struct hg_integer_loop *loop)
{
    return loop->name != NULL && loop->level <= hg_cpu_level(0) && hg_cpu_has(loop->needs);
}

const struct hg_integer_loop *hg_integer_loop(int level, bool bits)
{
    const struct hg_integer_loop *best = NULL, *loop;
    for (size_t k = 0; (loop = hg_integer_loop_number(k)) != NULL; k++)
        if (loop->level <= HG_MAX(level, 1) && bits == (loop->group == 32) && hg_integer_loop_runs(loop))
            best = loop;
    return best;
}

/* ---- the grid ---------------------------------------------------------------------------------------------------- */

/* What values of a grid may be off their places by: some units of f64's last place, so that distances are as exact as
 * those of the values; or of a rough grid what f32 rounds, or text of six digits. How far they are is measured then. */
enum grade { EXACT, OF_F32, OF_TEXT, GRADES };

static double tolerance(double least, double most, enum grade grade)
{
    double largest = fmax(fabs(least), fabs(most));
    return grade == EXACT ? 8 * DBL_EPSILON * (most - least) : (grade == OF_F32 ? FLT_EPSILON : 0x1p-18) * largest;
}

struct values {           /* that are seen of a sample */
    double value[VALUES]; /* they rise */
    size_t count;
    double off, close; /* no two values of a grid differ by more than `off` and less than `close` */
};

/* Puts a value among those seen; false: there is no room for one more, or it is too close to another. */
static bool note_value(struct values *seen, double x)
{
    double *value = seen->value;
    size_t low = 0, high = seen->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (value[middle] < x)
            low = middle + 1;
        else
            high = middle;
    }
    double below = low > 0 ? x - value[low - 1] : 0, above = low < seen->count ? value[low] - x : 0;
    if (low < seen->count && above == 0)
        return true;
    if (seen->count == VALUES || (below > seen->off && below < seen->close) ||
        (above > seen->off && above < seen->close))
        return false;
    memmove(value + low + 1, value + low, (seen->count - low) * sizeof *value);
    value[low] = x;
    seen->count++;
    return true;
}

double hg_grid_first(const struct hg_grid *grid)
{
    double first = grid->origin / grid->step, whole = nearbyint(first);
    return fabs(first - whole) <= 8 * DBL_EPSILON * fabs(first) ? whole : first;
}

/* Says whether values are as near to a grid as it asks for. */
static bool are_on(const struct hg_grid *grid, const double *value, size_t count)
{
    double first = hg_grid_first(grid);
    bool on = true;
    for (size_t k = 0; k < count; k++)
        on = on &&
             fabs((first + nearbyint((value[k] - grid->origin) / grid->step)) * grid->step - value[k]) <= grid->off;
    return on;
}

/* Finds the largest step of which all differences of values [count], which rise, are multiples, by Euclid's algorithm;
 * steps that are less than 1/255 of the range are none. A remainder may be off by 255 times what values are, twice.
 * Where 0 or -128 steps can be k = 0 they are: bytes have their own values for numbers, and examples that are to have
 * the same grid more room. */
static bool find_grid(const double *value, size_t count, enum grade grade, struct hg_grid *grid)
{
    *grid = (struct hg_grid){ 0 };
    if (count < 2)
        return false;
    double range = value[count - 1] - value[0], step = range;
    double off = 2 * VALUES * tolerance(value[0], value[count - 1], grade);
    if (!(range > VALUES * off) || !(range <= DBL_MAX / 4) || !(range > DBL_MIN * 1e6))
        return false;
    for (size_t k = 1; k < count; k++)
        for (double rest = value[k] - value[k - 1]; rest > off;) {
            double more = fmod(step, rest);
            step = rest;
            rest = more > step - off ? 0 : more;
            if (step * (VALUES - 0.5) < range)
                return false;
        }
    double steps = round(range / step);
    grid->step = range / steps;
    grid->origin = value[0];
    grid->most = (int)steps;
    grid->bits = steps == 1;
    grid->rough = grade != EXACT;
    grid->off = tolerance(value[0], value[count - 1], grade);
    double first = round(value[0] / grid->step);
    bool whole = !grid->bits && fabs(first * grid->step - value[0]) <= grid->off;
    if (whole && first >= 0 && first + steps < VALUES)
        grid->origin = 0, grid->most += (int)first;
    else if (whole && first >= -128 && first + steps < 128)
        grid->origin = -128 * grid->step, grid->most += (int)first + 128;
    return are_on(grid, value, count);
}

/* Says whether sums of d products fit 31 bits. */
static bool fits_sums(const struct hg_grid *grid, size_t d)
{
    return d > 0 && (double)grid->most * (double)grid->most * (double)d < 0x1p31;
}

/* ---- bytes as they lie ------------------------------------------------------------------------------------------- */

/* Says whether points are rows of bytes, and nothing is done to them. */
static bool are_bytes(const struct hg_points *points)
{
    const hinge_matrix *x = &points->x;
    return (x->type == HINGE_U8 || x->type == HINGE_I8) && hg_matrix_by_rows(x) && points->more == NULL &&
           points->factor == NULL && points->offset == NULL && points->origin == NULL;
}

struct bytes { /* which there are */
    const struct hg_points *points;
    uint8_t seen[VALUES]; /* atomic */
};

static void see_some(void *arg, int thread, size_t first, size_t end)
{
    struct bytes *b = arg;
    const hinge_matrix *x = &b->points->x;
    uint8_t seen[VALUES] = { 0 };
    (void)thread;
    for (size_t i = first; i < end; i++) {
        size_t row = b->points->order != NULL ? b->points->order[i] : i;
        const uint8_t *byte = (const uint8_t *)x->data + row * x->stride;
        for (size_t c = 0; c < x->cols; c++)
            seen[byte[c]] = 1;
    }
    for (int k = 0; k < VALUES; k++)
        if (seen[k])
            __atomic_store_n(&b->seen[k], 1, __ATOMIC_RELAXED);
}

/* Takes bytes for numbers where they lie: as they are (less -128, where they have signs), whatever their greatest
 * common divisor, or, of two values, one of them as a bit. given: the grid that they are to have; NULL: their own. */
static void take_bytes(struct hg_integers *n, const struct hg_points *points, const struct hg_grid *given, int threads)
{
    struct bytes bytes = { .points = points };
    double value[VALUES], origin = points->x.type == HINGE_I8 ? -128 : 0;
    size_t count = 0;
    struct hg_grid grid;
    hg_share(threads, points->n, POINTS, see_some, &bytes);
    for (int k = (int)origin; k < (int)origin + VALUES; k++)
        if (bytes.seen[(uint8_t)k])
            value[count++] = k;
    if (count == 0)
        return;
    if (given == NULL && !find_grid(value, count, EXACT, &grid))
        return;
    if (given != NULL)
        grid = *given;
    if (!grid.bits && given != NULL && (grid.step != 1 || grid.origin != origin))
        return;
    for (size_t k = 0; grid.bits && k < count; k++)
        if (value[k] != grid.origin && value[k] != grid.origin + grid.step)
            return;
    if (!grid.bits)
        grid = (struct hg_grid){ origin, 1, (int)(value[count - 1] - origin), false, false, 0 };
    if (!fits_sums(&grid, points->x.cols))
        return;
    n->grid = grid;
    n->code = points->x.data;
    n->stride = points->x.stride;
    n->order = points->order;
    n->flip = origin < 0 ? 128 : 0;
    n->one = (uint8_t)(int)(grid.origin + grid.step);
}

/* ---- copies ------------------------------------------------------------------------------------------------------ */

struct coding { /* of points, in work */
    const struct hg_points *points;
    struct hg_grid grid;
    uint8_t *to;       /* [n * d] */
    float *moved;      /* [n] or NULL */
    double *x;         /* [threads * d] */
    double most;       /* atomic: the largest k */
    double most_moved; /* atomic */
    double off, lost;  /* atomic: the most that a value is off its place by, and off a place at 0 */
    int strange;       /* atomic: a value is not on the grid */
};

/* Makes a row's numbers; false: some value has none. *moved: how far they are from its values, as a norm; *off, *lost
 * rise to how far one is, and one at 0. Both loops are vectorised, and say at their end what they saw. */
static bool code_row(const struct coding *c, const double *x, size_t d, uint8_t *to, int *largest, double *moved,
                     double *off, double *lost)
{
    const double origin = c->grid.origin, step = c->grid.step, inverse = 1 / step, first = hg_grid_first(&c->grid);
    double worst = *off, from_0 = *lost, least = 0, most = *largest, square[4] = { 0 };
    for (size_t f = 0; f < d; f++) {
        double k = nearbyint((x[f] - origin) * inverse), place = (first + k) * step, error = fabs(place - x[f]);
        square[f % 4] += error * error;
        worst = error > worst ? error : worst;
        from_0 = place == 0 && error > from_0 ? error : from_0;
        least = k < least ? k : least;
        most = k > most ? k : most;
        to[f] = (uint8_t)(int)(k < 0 ? 0 : k > VALUES - 1 ? VALUES - 1 : k);
    }
    *largest = (int)fmin(most, VALUES);
    *moved = sqrt(square[0] + square[1] + square[2] + square[3]);
    *off = worst;
    *lost = from_0;
    return worst <= c->grid.off && least >= 0 && most < VALUES;
}

static void code_some(void *arg, int thread, size_t first, size_t end)
{
    struct coding *c = arg;
    size_t d = c->points->x.cols;
    double *x = c->x + (size_t)thread * d;
    int largest = 0;
    double moved, most_moved = 0, off = 0, lost = 0;
    for (size_t i = first; i < end && __atomic_load_n(&c->strange, __ATOMIC_RELAXED) == 0; i++) {
        hg_points_given(c->points, i, 0, d, x);
        if (!code_row(c, x, d, c->to + i * d, &largest, &moved, &off, &lost))
            __atomic_store_n(&c->strange, 1, __ATOMIC_RELAXED);
        most_moved = HG_MAX(most_moved, moved);
        if (c->moved != NULL)
            c->moved[i] = (float)moved;
    }
    hg_raise(&c->most, (double)largest);
    hg_raise(&c->most_moved, most_moved);
    hg_raise(&c->off, off);
    hg_raise(&c->lost, lost);
}

/* Reads some rows, from all over the points, and finds the grid of their values, a rough one if need be: the one whose
 * values are nearest to their places. The first reading tells their range. A step of a grid is a 256th of it at least,
 * and find_grid lets values be off their places by next to nothing: so two values that are neither equal but for that,
 * nor a step apart, are on no grid, and real numbers show such a pair after some twenty values. */
static bool sample_grid(const struct hg_points *points, double *x, bool rough, struct hg_grid *grid)
{
    size_t d = points->x.cols, rows = HG_MIN(points->n, (size_t)SAMPLE);
    double least = INFINITY, most = -INFINITY;
    for (size_t r = 0; r < rows; r++) {
        hg_points_given(points, r * points->n / rows, 0, d, x);
        for (size_t f = 0; f < d; f++) {
            least = HG_MIN(least, x[f]);
            most = HG_MAX(most, x[f]);
        }
    }
    struct values seen = { .off = 2 * VALUES * tolerance(least, most, rough ? OF_TEXT : EXACT),
                           .close = (most - least) / (VALUES + 2) };
    for (size_t r = 0; r < rows; r++) {
        hg_points_given(points, r * points->n / rows, 0, d, x);
        for (size_t f = 0; f < d; f++)
            if ((f == 0 || x[f] != x[f - 1]) && !note_value(&seen, x[f]))
                return false;
    }
    for (int grade = EXACT; grade < (rough ? GRADES : OF_F32); grade++)
        if (find_grid(seen.value, seen.count, (enum grade)grade, grid))
            return true;
    return false;
}

/* Copies points' numbers. Rows that were not read first may have larger ones than those that were. */
static hinge_status copy_codes(struct hg_integers *n, const struct hg_points *points, const struct hg_grid *given,
                               bool rough, int threads, hinge_error *err)
{
    struct coding c = { .points = points };
    size_t d = points->x.cols;
    HG_TRY(HG_MAKE(err, "a row of values", HG_TABLE(c.x, (size_t)threads, d)));
    bool on = given != NULL || sample_grid(points, c.x, rough, &c.grid);
    if (given != NULL)
        c.grid = *given;
    if (!on || !fits_sums(&c.grid, d)) {
        hg_free(c.x);
        return HINGE_OK;
    }
    size_t marks = given == NULL && c.grid.rough ? points->n : 0;
    hinge_status status = HG_MAKE(err, "whole numbers", HG_TABLE(c.to, points->n, d), HG_ARRAY(c.moved, marks));
    if (status != HINGE_OK) {
        hg_free(c.x);
        return status;
    }
    c.moved = marks > 0 ? c.moved : NULL;
    hg_share(threads, points->n, POINTS, code_some, &c);
    hg_free(c.x);
    c.grid.most = HG_MAX((int)c.most, 1);
    c.grid.bits = given != NULL ? given->bits : c.grid.most == 1;
    if (c.strange != 0 || (c.grid.bits && c.grid.most > 1) || !fits_sums(&c.grid, d)) {
        hg_free(c.to);
        return HINGE_OK;
    }
    n->grid = c.grid;
    n->code = n->own = c.to;
    n->off = c.off;
    n->lost = c.lost;
    n->moved = c.moved;
    n->most_moved = c.moved != NULL ? c.most_moved : 0;
    n->stride = d;
    n->one = 1;
    return HINGE_OK;
}

static void sum_some(void *arg, int thread, size_t first, size_t end)
{
    const struct hg_integers *n = arg;
    (void)thread;
    for (size_t i = first; i < end; i++) {
        size_t row = n->order != NULL ? n->order[i] : i;
        const uint8_t *byte = n->code + row * n->stride;
        uint32_t sum = 0, square = 0;
        if (n->grid.bits)
            for (size_t f = 0; f < n->d; f++)
                sum += byte[f] == n->one;
        else
            for (size_t f = 0; f < n->d; f++) {
                uint32_t k = byte[f] ^ n->flip;
                sum += k;
                square += k * k;
            }
        n->sum[row] = sum;
        n->square[row] = n->grid.bits ? sum : square;
    }
}

/* Sums each row's numbers, once for all sides that have it. */
static hinge_status sum_rows(struct hg_integers *n, size_t rows, int threads, hinge_error *err)
{
    hinge_status status = HG_MAKE(err, "sums of rows", HG_ARRAY(n->square, rows), HG_ARRAY(n->sum, rows));
    if (status == HINGE_OK)
        hg_share(threads, n->n, POINTS, sum_some, n);
    return status;
}

static hinge_status take(struct hg_integers *n, const struct hg_points *points, const struct hg_grid *given, bool rough,
                         int level, int threads, hinge_error *err)
{
    *n = (struct hg_integers){ .n = points->n, .d = points->x.cols };
    if (n->n == 0 || n->d == 0)
        return HINGE_OK;
    if (are_bytes(points))
        take_bytes(n, points, given, threads);
    hinge_status status = HINGE_OK;
    if (n->grid.most == 0 && !(are_bytes(points) && given == NULL))
        status = copy_codes(n, points, given, rough, threads, err);
    if (status != HINGE_OK || n->grid.most == 0)
        return status;
    n->loop = hg_integer_loop(level, n->grid.bits);
    status = sum_rows(n, n->own != NULL ? n->n : points->x.rows, threads, err);
    if (status != HINGE_OK)
        hg_integers_free(n);
    return status;
}

hinge_status hg_integers_init(struct hg_integers *n, const struct hg_points *points, bool rough, int level, int threads,
                              hinge_error *err)
{
    return take(n, points, NULL, rough, level, threads, err);
}

hinge_status hg_integers_match(struct hg_integers *n, const struct hg_grid *grid, const struct hg_points *points,
                               int level, int threads, hinge_error *err)
{
    return take(n, points, grid, false, level, threads, err);
}

void hg_integers_free(struct hg_integers *n)
{
    hg_free(n->own);
    hg_free(n->square);
    *n = (struct hg_integers){ 0 };
}

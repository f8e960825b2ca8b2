/*
 * The cost model: figures of work, measured once, by which makers are chosen and rows are kept or made again. Two
 * questions are answered here. Which maker is fastest: lists or GEMM, by ns a value. What a value costs in reads of one
 * from memory: by that the solver keeps rows or makes them again (solver/smo/store.h), waits with shrinking, and
 * gathers K_WW or computes it (doc/solver.md, "Row cache", "Shrinking"). All figures are from counts that a run does
 * not change, so that no decision depends on clock or threads. maker.h says what is asked.
 */
#include "kernels/integers.h"
#include "kernels/maker.h"
#include "lib/base/team.h"

/* Compares 0.031 ns a non-zero with 0.018 a value of a dense row: the break-even is near 0.6 of the values. */
bool hg_lists_are_dense(double nonzeros, size_t d)
{
    return nonzeros > 0.6 * (double)d;
}

/* Features from which on dense rows are GEMM's at every level. By AVX-512 panels take 0.85 of GEMM's time for 128 rows
 * of 512 to 1,000 features, and as long from 512 rows or 2,000 features on (check_kernels --bench, one thread of an
 * Emerald Rapids), and whole trainings as long either way from 500 on: then a BLAS that is tuned to a processor is the
 * better choice for one that nobody here has measured. A BLAS that runs kernels without AVX-512 on such a processor
 * takes twice as long, and is not asked. */
enum { WIDE = 512 };

/* Returns ns a value by lists. Measured on Zen 4: 0.031 a non-zero (0.04 where a vector has several stretches); twice
 * that in f64, and for lists on vectors shorter than AVX's. With AVX-512 dense rows by panels take 0.018 a feature;
 * those of more than a stretch only in f32, as GEMM needs no copy of data that are f64. */
static double ns_of_lists(double nonzeros, size_t d, hinge_dtype type, int level)
{
    double lists = (d <= HG_STRETCH ? 0.031 : 0.04) * nonzeros;
    if (level >= 4 && type == HINGE_F32 && hg_lists_are_dense(nonzeros, d) &&
        (d < WIDE || hg_processor_info().blas_slow))
        lists = 0.018 * (double)d;
    return lists * (type == HINGE_F64 ? 2 : 1) * (level < 3 ? 3 : 1);
}

/* Returns ns a value by GEMM: 0.0255 a feature and 0.25 for its packing and one more pass over the tile; twice that a
 * feature in f64. */
static double ns_of_gemm(size_t d, hinge_dtype type)
{
    return 0.0255 * (double)d * (type == HINGE_F64 ? 2 : 1) + 0.25;
}

bool hg_lists_win(double nonzeros, size_t d, hinge_dtype type, int level)
{
    return d <= UINT32_MAX / HG_PANEL_BYTES && nonzeros > 0 &&
           ns_of_lists(nonzeros, d, type, level) <= ns_of_gemm(d, type);
}

/* Adds 0.15 for the pass from products to what the map takes. */
bool hg_integers_win(const hinge_kernel *kernel, const struct hg_integers *n, double nonzeros, hinge_dtype type,
                     int level)
{
    if (!hg_integers_serve(kernel, n))
        return false;
    if (hg_kernel_row(kernel->type)->source == HG_FROM_DIFFERENCES)
        return true;
    double integers = n->loop->ns * (double)n->d / (double)n->loop->group + 0.15, other = ns_of_gemm(n->d, type);
    if (nonzeros > 0)
        other = HG_MIN(other, ns_of_lists(nonzeros, n->d, type, level));
    return integers < other;
}

/* Tells costs in reads: ns an entry of GEMM or lists, and of the map, against 0.3 for reading 4 bytes; twice that each
 * in f64. */

struct hg_cost hg_cost_gemm(const struct hg_tiler *t, const struct hg_points *points)
{
    (void)points;
    return (struct hg_cost){ 1.2 + 0.1 * (0.8 * (double)t->d), (double)t->d };
}

struct hg_cost hg_cost_lists(const struct hg_tiler *t, const struct hg_points *points)
{
    double cost = 1.2 + 0.1 * points->nonzeros;
    if (t->dense)
        cost = 1.2 + 0.06 * (double)t->d;
    else if (t->d > 96) /* a panel and the lists do not both fit L1 */
        cost *= 1.4;
    return (struct hg_cost){ cost, points->nonzeros };
}

/* A difference takes three instructions where a multiply-add takes one, and a ratio a division. */
struct hg_cost hg_cost_differences(const struct hg_tiler *t, const struct hg_points *points)
{
    (void)points;
    static const double each[HG_DIFFERENCES] = { 0.2, 1, 0.3 };
    return (struct hg_cost){ 1.2 + each[hg_kernel_row(t->kernel.type)->difference] * (double)t->d, (double)t->d };
}

/* Takes 0.2 reads (0.3 in f64) for making and adding the value of a count, and 0.003 for each entry of the row's list.
 * No multiply-add counts as work. */
struct hg_cost hg_cost_counts(const struct hg_tiler *t, const struct hg_points *points)
{
    return (struct hg_cost){ (t->type == HINGE_F32 ? 0.2 : 0.3) + 0.003 * points->hamming->listed, 0 };
}

/* Takes a word's time for each of the words, and that of the map. */
struct hg_cost hg_cost_integers(const struct hg_tiler *t, const struct hg_points *points)
{
    const struct hg_integer_loop *loop = points->integers->loop;
    double words = (double)t->d / (double)loop->group;
    return (struct hg_cost){ 1.5 + loop->ns / 0.3 * words, (double)t->d };
}

/* Has rows kept wherever there is room: nobody knows what the user's function takes, and a matrix is looked up value by
 * value. */
struct hg_cost hg_cost_given(const struct hg_tiler *t, const struct hg_points *points)
{
    (void)t;
    (void)points;
    return (struct hg_cost){ 50, 0 };
}

/* Counts a value as its multiply-adds and ten more for the map. */
int hg_kernel_team(const hinge_kernel *kernel, int asked, double values, size_t d)
{
    int threads = hg_threads(asked);
    double each = 10 + (double)(kernel->type == HINGE_PRECOMPUTED ? 0 : d); /* d multiply-adds, and the map */
    return kernel->type == HINGE_USER ? threads : hg_team_size(threads, values * each);
}

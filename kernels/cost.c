/*
 * The cost model: figures of work, measured once, by which makers are chosen and rows are kept or made again. Two
 * questions are answered here. Which maker is fastest: lists or GEMM, by ns a value. What a value costs in reads of one
 * from memory: by that the solver keeps rows or makes them again (solver/smo/store.h), waits with shrinking, and
 * gathers K_WW or computes it (doc/solver.md, "Row cache", "Shrinking"). All figures are from counts that a run does
 * not change, so that no decision depends on clock or threads. maker.h says what is asked.
 */
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
 * better choice for one that nobody here has measured. */
enum { WIDE = 512 };

/* Measured on Zen 4 in ns an entry: lists 0.031 a non-zero (0.04 where a vector has several stretches), GEMM 0.0255 a
 * feature and 0.25 for its packing and one more pass over the tile; twice that each in f64, and for lists on vectors
 * shorter than AVX's. With AVX-512 dense rows by panels take 0.018 a feature; those of more than a stretch only in f32,
 * as GEMM needs no copy of data that are f64. */
bool hg_lists_win(double nonzeros, size_t d, hinge_dtype type, int level)
{
    double lists = (d <= HG_STRETCH ? 0.031 : 0.04) * nonzeros, gemm = 0.0255 * (double)d;
    if (level >= 4 && type == HINGE_F32 && d < WIDE && hg_lists_are_dense(nonzeros, d))
        lists = 0.018 * (double)d;
    if (type == HINGE_F64)
        lists *= 2, gemm *= 2;
    if (level < 3)
        lists *= 3;
    return d <= UINT32_MAX / HG_PANEL_BYTES && nonzeros > 0 && lists <= gemm + 0.25;
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

/* A difference takes three instructions where a multiply-add takes one. */
struct hg_cost hg_cost_differences(const struct hg_tiler *t, const struct hg_points *points)
{
    (void)points;
    return (struct hg_cost){ 1.2 + 0.2 * (double)t->d, (double)t->d };
}

/* Takes 0.2 reads (0.3 in f64) for making and adding the value of a count, and 0.003 for each entry of the row's list.
 * No multiply-add counts as work. */
struct hg_cost hg_cost_counts(const struct hg_tiler *t, const struct hg_points *points)
{
    return (struct hg_cost){ (t->type == HINGE_F32 ? 0.2 : 0.3) + 0.003 * points->hamming->listed, 0 };
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

/* The table of tile makers (maker.h): who makes the kernel values of given points. */
#include "kernels/maker.h"

/* Holds the table of makers, in the order in which they are asked: GEMM, the last of those for dot products, fits all
 * points. */
const struct hg_maker *hg_maker_for(const struct hg_tiler *tiler, const struct hg_points *points)
{
    static const struct hg_maker *const maker[] = { &hg_lookup,         &hg_user,     &hg_by_counts,
                                                    &hg_by_differences, &hg_by_lists, &hg_gemm };
    const enum hg_kernel_source source = hg_kernel_row(tiler->kernel.type)->source;
    size_t k = 0;
    while (maker[k]->source != source || (maker[k]->fits != NULL && !maker[k]->fits(tiler, points)))
        k++;
    return maker[k];
}

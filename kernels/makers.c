/* The table of tile makers (maker.h): who makes the kernel values of given points. */
#include "kernels/integers.h"
#include "kernels/maker.h"

#include <string.h>

/* In the order in which they are asked: GEMM, the last of those for dot products, fits all points. */
static const struct hg_maker *const MAKERS[] = { &hg_lookup,         &hg_user,      &hg_by_parts,    &hg_by_bits,
                                                 &hg_by_differences, &hg_by_counts, &hg_by_integers, &hg_by_panels,
                                                 &hg_by_lists,       &hg_gemm };

/* Says whether a maker is the one for these points: of those for dot products, the one asked for makes all that it can,
 * and GEMM the rest. */
static bool serves(const struct hg_maker *maker, const struct hg_tiler *t, const struct hg_points *points)
{
    if (maker->source != hg_kernel_row(t->kernel.type)->source)
        return false;
    if (t->asked == HINGE_MAKER_AUTO || maker->source != HG_FROM_DOTS)
        return maker->fits == NULL || maker->fits(t, points);
    return maker == &hg_gemm || (maker->asked == t->asked && maker->can(t, points));
}

void hg_tiler_choose(struct hg_tiler *t, const struct hg_points *points)
{
    size_t k = 0;
    t->dense =
        t->asked == HINGE_MAKER_PANELS || (t->asked != HINGE_MAKER_LISTS && hg_lists_are_dense(points->nonzeros, t->d));
    while (!serves(MAKERS[k], t, points))
        k++;
    t->maker = MAKERS[k];
}

/* Sums of whole numbers lose nothing. What a value is off its place by, it is so wherever it occurs. */
double hg_tiler_error(const struct hg_tiler *t, const struct hg_points *points, double norm, double *steady)
{
    double moved = t->maker == &hg_by_integers ? points->integers->most_moved : 0;
    double rest = moved > 0 ? hg_kernel_error_by(&t->kernel, t->type, 0, 0, norm)
                            : hg_kernel_error(&t->kernel, t->type, t->d, norm);
    double error = moved > 0 ? hg_kernel_error_by(&t->kernel, t->type, 0, moved, norm) : rest;
    if (steady != NULL)
        *steady = error - rest;
    return error;
}

const struct hg_maker *hg_maker_named(const char *name)
{
    for (size_t k = 0; k < sizeof MAKERS / sizeof *MAKERS; k++)
        if (strcmp(MAKERS[k]->name, name) == 0)
            return MAKERS[k];
    return NULL;
}

hinge_status hg_maker_check(const struct hg_tiler *tiler, const struct hg_points *points, hinge_error *err)
{
    struct hg_tiler t = *tiler;
    size_t k = 0;
    HG_TRY(hg_maker_check_kernel(t.asked, &t.kernel, err));
    hg_tiler_choose(&t, points);
    if (t.asked == HINGE_MAKER_AUTO || t.maker->asked == t.asked)
        return HINGE_OK;
    while (MAKERS[k]->asked != t.asked)
        k++;
    return hg_fail(err, HINGE_EINVAL, "maker: %s cannot make the kernel values of these data, but those of %s",
                   MAKERS[k]->name, MAKERS[k]->needs);
}

hinge_status hg_maker_check_kernel(hinge_maker asked, const hinge_kernel *kernel, hinge_error *err)
{
    const struct hg_kernel_row *row = hg_kernel_row(kernel->type);
    if (asked == HINGE_MAKER_AUTO || row->source == HG_FROM_DOTS)
        return HINGE_OK;
    return hg_fail(err, HINGE_EINVAL, "maker: a %s kernel's values are not made of dot products", row->told.keyword);
}

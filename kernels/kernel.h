/*
 * The kernel table: one const row of facts a kernel; what is told of it is public (hinge_kernel_info). Validation,
 * model files, the command and the tests walk it, and whoever has a faster or a more exact way for some kernels asks
 * for the fact that it needs, never for a kernel by name. A new built-in kernel is one row here and one map
 * (doc/add-a-kernel.md).
 */
#ifndef HG_KERNEL_H
#define HG_KERNEL_H

#include "kernels/map.h"
#include "lib/base/base.h"

/* Tells what values are made of: dot products by a map, differences of features by a map, the caller's matrix,
 * the caller's function, or values of other kernels. */
enum hg_kernel_source { HG_FROM_DOTS, HG_FROM_DIFFERENCES, HG_FROM_MATRIX, HG_FROM_USER, HG_FROM_PARTS };

/* What rounding does on the way to a value, for `error` below: vectors and products are rounded to a type. */
struct hg_rounding {
    double ulp, tiny; /* the type's: half a unit in the last place of 1; what is less may be lost */
    double norm;      /* largest squared norm */
    double dot;       /* error of a dot product, with that of its vectors' rounding */
    double moved;     /* how far vectors may be from their places beside, as a norm */
    double most;      /* largest |u| for u = gamma <x, z> + coef0, */
    double lost;      /* and its error */
};

struct hg_kernel_row {
    hinge_kernel_row told; /* keyword, type, and which parameters it uses */
    enum hg_kernel_source source;
    enum hg_difference difference; /* HG_FROM_DIFFERENCES */
    bool is_1_of_equal;            /* K(x, x) = 1 */
    /* A function k of t = gamma ||x - z||^2 alone, which falls from k(0) = 1 to 0, and whose slope falls as well; t - k
     * / slope and sqrt(t) - k / (2 sqrt(t) slope) rise where they are positive (lib/model/doubt.c). Its map takes
     * squared norms beside the dot product: points are centred, as that changes no value, and norms lose fewer digits.
     * Equal points are told to have 1, as norms and dot products do not show it; what is far can be left out
     * (hg_kernel_reach) and what is near is made of differences in f64 (hg_tiler_close). */
    bool of_distance;
    bool bounded;    /* |K| <= 1 */
    bool smooth;     /* its matrix may have a factor of few columns */
    bool indefinite; /* its matrix may have negative eigenvalues */
    int ulps;        /* that the map may take from a value that is not next to 0 */
    /* Functions k of t, which of_distance or HG_FROM_DIFFERENCES is gamma sum |x - z|; and -dk/dt; -d log k / dt is at
     * most slope(0). NULL where values are none of such a t. */
    double (*value)(double t), (*slope)(double t);
    double (*flat)(double slope); /* of_distance: t from which on the slope is at most this, which is below slope(0) */
    double (*most)(const hinge_kernel *kernel, double product); /* hg_kernel_most; NULL: 1 where bounded, or unknown */
    double (*error)(const hinge_kernel *kernel, const struct hg_rounding *r); /* hg_kernel_error; NULL: unknown */
};

/* Returns the row of a kernel; NULL: the type is none of hinge_kernel_type. */
const struct hg_kernel_row *hg_kernel_row(hinge_kernel_type type);

/* Says whether hinge makes the kernel's values of the features of two points, whatever else it is given. */
static inline bool hg_kernel_is_of_features(const struct hg_kernel_row *row)
{
    return row->source == HG_FROM_DOTS || row->source == HG_FROM_DIFFERENCES || row->source == HG_FROM_PARTS;
}

/* Returns part k of a combined kernel that hg_kernel_check has resolved, with nothing in it left to be decided. */
hinge_kernel_part hg_kernel_part(const hinge_kernel *kernel, size_t k);

/* Say whether |K| <= a bound that the kernel's parts or itself have whatever the points are, and whether its matrix may
 * have negative eigenvalues. */
bool hg_kernel_is_bounded(const hinge_kernel *kernel);
bool hg_kernel_is_indefinite(const hinge_kernel *kernel);

/* Resolves HINGE_GAMMA_AUTO by d, sets n_features to it, and checks every field the kernel uses. Parts stay as they
 * are, the caller's. */
hinge_status hg_kernel_check(const hinge_kernel *kernel, size_t d, hinge_kernel *resolved, hinge_error *err);

/* A kernel of the distance so narrow that dot products in f32 cannot tell a row from itself: their rounding of ||x -
 * x||^2 = 0 would change K(x, x) = 1 by about 1 % or more. Any kernel whose gamma, dot products or values are more,
 * or less, than f32 holds with room for what a solver makes of them. norm: the largest squared norm, or, of given
 * values, the largest of |K(x, x)|. */
bool hg_kernel_beyond_f32(const hinge_kernel *kernel, double norm);

/* Returns what rounding may take from the dot product of two vectors of d features, by GEMM or lists, as a share of the
 * product of their norms: observed for the worst, which is all features equal, with some to spare. */
double hg_dot_error(hinge_dtype type, size_t d);

/* A bound of how wrong a kernel value by GEMM or lists in `type` can be, over all pairs of vectors of d features
 * whose squared norms (of_distance: after centring) are at most `norm`: that of the dot product's rounding, of the
 * vectors' own to f32, and of the map. of_distance: at most 1, and never for equal vectors, whose value is 1.
 * Infinite where values overflow or no bound is known; 0 for values that are not computed but given. */
double hg_kernel_error(const hinge_kernel *kernel, hinge_dtype type, size_t d, double norm);
/* Returns the same where a dot product's rounding is at most `dot` of the product of the norms, and vectors are `moved`
 * from their places at most. */
double hg_kernel_error_by(const hinge_kernel *kernel, hinge_dtype type, double dot, double moved, double norm);

/* The largest |K| over pairs of vectors whose norms have at most this product; infinite where it is not known. */
double hg_kernel_most(const hinge_kernel *kernel, double product);

/* Returns the squared distance from which on the kernel's values are at most `share`; infinite where there is none. */
double hg_kernel_reach(const hinge_kernel *kernel, double share);
/* Returns the t from which on a kernel that is a function of it is at most `share`. */
double hg_kernel_far(const hinge_kernel *kernel, double share);

/* Returns the t = gamma ||x - z||^2 from which on the slope of a kernel of the distance is at most `slope`. */
double hg_kernel_flat(const hinge_kernel *kernel, double slope);

/* Returns K(x, z) from <x,z>, ||x||^2 and ||z||^2 in f64 (HG_FROM_DOTS). */
double hg_kernel_value(const hinge_kernel *kernel, double dot, double norm_x, double norm_z);

/* Returns how many threads so many kernel values of d features are worth (hg_team_size); asked: as in hg_threads. Of
 * the user's kernel nobody knows what it takes. */
int hg_kernel_team(const hinge_kernel *kernel, int asked, double values, size_t d);

#endif

/* Sets of whole numbers, and sets in each type of data. */
#ifndef HG_TEST_TYPED_H
#define HG_TEST_TYPED_H

#include "test/support.h"

enum { TYPES = 5 };
extern const hinge_dtype types[TYPES];

/* Values origin + k step of points, k below `levels`, at least one of each. */
struct set set_on_grid(uint64_t seed, size_t n, size_t d, double origin, double step, unsigned levels);
/* The values of a set in another type, by rows with a gap, or by columns. */
hinge_matrix set_typed(const struct set *set, hinge_dtype type, bool columns);

#endif

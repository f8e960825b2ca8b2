/*
 * Dot products of few vectors with many, as they lie (maker.h): what gemm.c takes where rows are few, since GEMM brings
 * all columns into a layout of its own for each call, which takes longer there than the products. Each vector is read
 * once for ROWS of the others, whose sums stay in registers.
 *
 * Buys: up to sixteen rows of 512 features and more take 0.4 to 0.9 of GEMM's time, and one as long (doc/tried.md).
 * params.maker = HINGE_MAKER_PANELS goes without.
 *
 * Compiled once a level with HG_LEVEL, as map.c is.
 */
#include "lib/base/level.h"
#include "kernels/maker.h"

#include <string.h>

enum { ROWS = 4, COLS = VECTOR == 64 ? 4 : 2, WIDE = 2 * COLS }; /* as many sums as there are registers for */

#define REAL float
#define BITS 32
#include "kernels/few_rows.h"

#define REAL double
#define BITS 64
#include "kernels/few_rows.h"

const struct hg_few GLUE(hg_few_, HG_LEVEL) = { .dots = { [HINGE_F32] = dots32, [HINGE_F64] = dots64 } };

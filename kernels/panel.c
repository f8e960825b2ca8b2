/*
 * The loops of panel.h, compiled once a level like map.c: a panel's columns in four registers of 64 bytes (or as many
 * smaller ones), one multiply-add each for every non-zero of a row.
 */
#include "kernels/panel.h"

#include <string.h>

typedef float wide32 __attribute__((vector_size(64), aligned(64), may_alias));
typedef double wide64 __attribute__((vector_size(64), aligned(64), may_alias));

#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)

#define NAME(x) x##_32
#define REAL    float
#define WIDE    wide32
#define ROW     hg_row32
#define BLOCKS  hg_blocks32
#define MAPS    blocks32
#define PREPARE prepare32
#define PANEL   JOIN(hg_panel32_, HG_LEVEL)
#include "kernels/panel_real.h"

#undef NAME
#undef REAL
#undef WIDE
#undef ROW
#undef BLOCKS
#undef MAPS
#undef PREPARE
#undef PANEL
#define NAME(x) x##_64
#define REAL    double
#define WIDE    wide64
#define ROW     hg_row64
#define BLOCKS  hg_blocks64
#define MAPS    blocks64
#define PREPARE prepare64
#define PANEL   JOIN(hg_panel64_, HG_LEVEL)
#include "kernels/panel_real.h"

/*
 * Sums over nodes of products that leave one factor out: what Shapley values of product kernels are made of. Like
 * kernels/map.c, the one source products.c is compiled plain and once an x86-64 level.
 */
#ifndef HG_PRODUCTS_H
#define HG_PRODUCTS_H

#include <stddef.h>

enum { HG_PRODUCT_LANES = 8, HG_PRODUCT_NODES = 4 }; /* pairs side by side; nodes go by so many */

/* Adds to sum[c] the sum over nodes of weight[k] times the product, over features l other than c, of low[l] + t[k]
 * rise[l]: [d * HG_PRODUCT_LANES] each, for as many pairs at once. nodes: a multiple of HG_PRODUCT_NODES. before: room
 * [d * HG_PRODUCT_NODES * HG_PRODUCT_LANES]. Arrays are 64-byte aligned. */
typedef void hg_products_fn(size_t d, size_t nodes, const double *t, const double *weight, const double *low,
                            const double *rise, double *before, double *sum);

/* Picks the function of a level, which is as hg_cpu_level returns it. */
hg_products_fn *hg_products(int level);

#endif

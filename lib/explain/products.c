/*
 * Products of all factors but one, for all of them: of those before, made going up, times those behind, going down.
 * Nothing is divided, so factors may be 0. Compiled once a level with HG_LEVEL, as kernels/map.c is. Read products.h
 * before.
 */
#include "lib/base/level.h"
#include "lib/explain/products.h"

#include "hg_config.h"

typedef double vector __attribute__((vector_size(VECTOR), aligned(VECTOR), may_alias));

enum { LANES = VECTOR / sizeof(double), SPAN = HG_PRODUCT_LANES / LANES, NODES = HG_PRODUCT_NODES };

hg_products_fn GLUE(hg_products_, HG_LEVEL);

/* Does some nodes for the lanes of one register, which are SPAN registers from one feature to the next: products of
 * NODES nodes are independent, and hide each other's latency. */
static void some(size_t d, const double *t, const double *weight, const vector *low, const vector *rise, vector *before,
                 vector *sum)
{
    vector run[NODES];
    for (int k = 0; k < NODES; k++)
        run[k] = (vector){ 0 } + 1;
    for (size_t c = 0; c < d; c++)
        for (int k = 0; k < NODES; k++) {
            before[c * NODES + k] = run[k];
            run[k] *= low[c * SPAN] + t[k] * rise[c * SPAN];
        }
    for (int k = 0; k < NODES; k++)
        run[k] = (vector){ 0 } + weight[k];
    for (size_t c = d; c-- > 0;) {
        vector add = { 0 };
        for (int k = 0; k < NODES; k++) {
            add += before[c * NODES + k] * run[k];
            run[k] *= low[c * SPAN] + t[k] * rise[c * SPAN];
        }
        sum[c * SPAN] += add;
    }
}

void GLUE(hg_products_, HG_LEVEL)(size_t d, size_t nodes, const double *t, const double *weight, const double *low,
                                  const double *rise, double *before, double *sum)
{
    for (size_t k = 0; k < nodes; k += NODES)
        for (size_t lane = 0; lane < HG_PRODUCT_LANES; lane += LANES)
            some(d, t + k, weight + k, (const vector *)(const void *)(low + lane),
                 (const vector *)(const void *)(rise + lane), (vector *)(void *)before, (vector *)(void *)(sum + lane));
}

#if NUMBER == 1

#if HG_X86_LEVELS
extern hg_products_fn hg_products_v2, hg_products_v3, hg_products_v4;
#endif

hg_products_fn *hg_products(int level)
{
#if HG_X86_LEVELS
    static hg_products_fn *const functions[] = { hg_products_plain, hg_products_v2, hg_products_v3, hg_products_v4 };
    return functions[level - 1];
#else
    (void)level;
    return hg_products_plain;
#endif
}

#endif

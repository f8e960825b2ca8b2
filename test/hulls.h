/*
 * The reduced hulls of nu-SVC's classes: how far a solution keeps them apart, by plain loops.
 */
#ifndef TEST_HULLS_H
#define TEST_HULLS_H

#include "test/support.h"

struct side {
    long double f;
    bool positive;
};

static int by_f(const void *a, const void *b)
{
    long double x = ((const struct side *)a)->f, y = ((const struct side *)b)->f;
    return (x > y) - (x < y);
}

/* How far w = X'beta keeps the reduced hulls apart, times the sum of a class: the least of sum alpha y <w, x> over all
 * alpha in [0, 1] of n nu / 2 in each class, which is to put it on the lowest of the one and the highest of the
 * other. */
static long double least_product(const struct set *set, const double *beta, double nu)
{
    long double least = 0, left[2] = { nu * (double)set->n / 2, nu * (double)set->n / 2 };
    struct side *side = get(set->n, sizeof *side);
    for (size_t i = 0; i < set->n; i++) {
        side[i].positive = set->y[i] > 0;
        for (size_t j = 0; j < set->n; j++)
            for (size_t c = 0; c < set->d; c++)
                side[i].f += (long double)beta[j] * set->x[j * set->d + c] * set->x[i * set->d + c];
    }
    qsort(side, set->n, sizeof *side, by_f);
    for (size_t k = 0; k < set->n; k++) {
        const struct side *low = side + k, *high = side + set->n - 1 - k;
        if (low->positive) {
            least += low->f * fminl(1, left[1]);
            left[1] -= fminl(1, left[1]);
        }
        if (!high->positive) {
            least -= high->f * fminl(1, left[0]);
            left[0] -= fminl(1, left[0]);
        }
    }
    return least;
}

#endif

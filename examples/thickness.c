/*
 * Fat hyperplanes shatter fewer points. Of the 2^n ways to label n points, how many can a line of a given thickness
 * tell apart? The widest line of each labelling is a quadratic program, min 1/2 ||w||^2 where y (<w, x> + b) >= 1, and
 * 1 / ||w|| is its margin, half its thickness; where there is none at all, hinge_qp_solve proves it. The bound on the
 * VC dimension, min(ceil(R^2 / margin^2), d) + 1, is beside it.
 */
#include <hinge/qp.h>
#include <hinge/theory.h>
#include <math.h>
#include <stdio.h>

enum { MOST = 4 };

/* The margin of the widest line that gives the points these labels; infinite where they are all the same, 0 where no
 * line does it. */
static double widest(const double (*points)[2], size_t n, unsigned labels)
{
    double q[9] = { [4] = 1, [8] = 1 }, a[3 * MOST], ones[MOST], u[3]; /* u = (b, w) */
    hinge_qp qp = { .n = 3, .q = q, .n_inequalities = n, .a = a, .c = ones };
    hinge_qp_result result = { .u = u };
    hinge_error err;
    for (size_t i = 0; i < n; i++) {
        double y = labels >> i & 1 ? 1 : -1;
        a[3 * i] = y;
        a[3 * i + 1] = y * points[i][0];
        a[3 * i + 2] = y * points[i][1];
        ones[i] = 1;
    }
    if (hinge_qp_solve(&qp, &result, &err) != HINGE_OK)
        return puts(err.text), NAN;
    double norm2 = u[1] * u[1] + u[2] * u[2];
    return result.outcome != HINGE_QP_SOLVED ? 0 : norm2 < 1e-12 ? INFINITY : hinge_margin(norm2);
}

static void count(const char *what, const double (*points)[2], size_t n)
{
    double radius = 0;
    for (size_t i = 0; i < n; i++)
        radius = fmax(radius, hypot(points[i][0], points[i][1]));
    printf("%s, R = %.2f\n", what, radius);
    for (int tenths = 1; tenths <= 10; tenths += 3) {
        double margin = tenths / 10.0;
        int can = 0;
        for (unsigned labels = 0; labels < 1u << n; labels++)
            can += widest(points, n, labels) >= margin;
        printf("  margin %.1f: %2d of %d labellings%s, VC dimension <= %g\n", margin, can, 1 << n,
               can == 1 << n ? ", shattered" : "", hinge_bound_vc_fat(radius, margin, 2));
    }
}

int main(void)
{
    const double triangle[3][2] = { { 0, 1 }, { -0.866, -0.5 }, { 0.866, -0.5 } };
    const double flat[3][2] = { { 0, 0.25 }, { -0.97, -0.25 }, { 0.97, -0.25 } };
    const double square[4][2] = { { 1, 0 }, { 0, 1 }, { -1, 0 }, { 0, -1 } };
    count("three points, apart", triangle, 3);
    count("three points, nearly on a line", flat, 3);
    count("four points", square, 4);
    return 0;
}

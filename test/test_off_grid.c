/*
 * Points that are off whole numbers of one step by what f32 rounds, or text of six digits (kernels/integers.h): values
 * just within what is allowed and just beyond; how far points are, values in f32 with their bound, certificates and
 * predictions, all by plain sums.
 */
#include "kernels/gram.h"
#include "kernels/integers.h"
#include "test/support.h"

#include <math.h>
#include <string.h>

/* Draws points of 16 levels from -1 to 1 and moves them off by `share` of what is allowed, which the largest value
 * tells: 0: each by half of it, to a side of its own, as the grid begins at the least value; 1: all of a row in seven
 * to one; 2: all of a level to one, as text has it; 3: a single value in the middle, which no sample sees. The first
 * row stays, which has all levels. */
static struct set moved_off(uint64_t seed, int kind, double share)
{
    struct set s = set_new(600, 16);
    for (size_t i = 0; i < s.n * s.d; i++)
        s.x[i] = (double)(i < 16 ? i : draw(&seed) % 16) * (2.0 / 15) - 1;
    for (size_t i = 0; i < s.n; i++) {
        double side = s.x[i * s.d] * s.x[i * s.d + 1] + s.x[i * s.d + 2] - s.x[i * s.d + 3];
        s.y[i] = side + 0.5 * draw_normal(&seed) > 0 ? 1 : -1;
    }
    for (size_t i = s.d; i < s.n * s.d; i++) {
        bool moves = kind == 0 || kind == 2 || (kind == 1 ? i / s.d % 7 == 3 : i == 301 * s.d + 5);
        double way = kind == 2 ? copysign(1, sin(100 * s.x[i])) : kind == 0 ? (draw(&seed) % 2 ? -0.5 : 0.5) : 1;
        s.x[i] += moves ? way * share * 0x1p-18 * (1 - 0x1p-18) : 0;
    }
    return s;
}

/* The point that is farthest off is the first whose sums are measured, of a kernel whose values do not grow. */
static void check_order(const struct hg_gram *gram, const struct hg_integers *integers)
{
    double *diagonal = get(gram->super.n, sizeof *diagonal), *size = get(gram->super.n, sizeof *size);
    size_t first = 0;
    assert_int_equal(hg_rows_diagonal(&gram->super, diagonal, size), HINGE_OK);
    for (size_t i = 0; i < gram->super.n; i++)
        first = size[i] > size[first] ? i : first;
    bool grows = !hg_kernel_is_bounded(&gram->tiler.kernel);
    assert_true(grows || integers->moved[first] >= integers->most_moved * (1 - 1e-6));
}

/* Holds every value of f32 against a plain sum in long double, by the bound that goes by how far points were found to
 * be from their numbers. */
static void check_values_off(const struct set *s, const struct hg_points *points)
{
    const hinge_kernel kernels[] = { hinge_kernel_rbf(0.06),       hinge_kernel_rbf(30),
                                     hinge_kernel_linear(),        hinge_kernel_polynomial(3, 0.1, 1),
                                     hinge_kernel_sigmoid(0.1, 0), hinge_kernel_matern32(0.5) };
    uint32_t rows[64];
    float value[64][64];
    void *out[64];
    double norm = 0;
    for (uint32_t r = 0; r < 64; r++) {
        rows[r] = r * 9;
        out[r] = value[r];
        norm = fmax(norm, plain_kernel(&kernels[2], s->x + rows[r] * s->d, s->x + rows[r] * s->d, s->d));
    }
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        struct hg_tiler tiler = { kernels[k], hg_maps(hg_cpu_level(0)), HINGE_F32, s->d, .maker = NULL };
        struct hg_gram gram;
        double steady;
        assert_int_equal(hg_gram_init(&gram, &tiler, points, NULL, s->n, NULL, NULL, 1, NULL), HINGE_OK);
        assert_string_equal(gram.tiler.maker->name, "integers");
        double bound = hg_tiler_error(&gram.tiler, points, norm, &steady);
        assert_true(steady > 0 && steady < bound);
        check_order(&gram, points->integers);
        struct hg_fetch f = { rows, 64, rows, 64, out, NULL, NULL, NULL, 0, false };
        assert_int_equal(gram.super.ops->fetch(&gram.super, &f), HINGE_OK);
        for (size_t r = 0; r < 64; r++)
            for (size_t c = 0; c < 64; c++)
                assert_near(value[r][c], plain_kernel(&kernels[k], s->x + rows[r] * s->d, s->x + rows[c] * s->d, s->d),
                            bound);
        hg_gram_free(&gram);
    }
}

/* Values off a grid by just less and just more than is allowed: how far they are is measured, and points that are
 * farthest off are told as those whose values are altered most. */
TEST(test_how_far_values_are_off)
{
    for (int kind = 0; kind < 4; kind++) {
        struct set s = moved_off(5820001 + (uint64_t)kind, kind, 0.999), more = moved_off(5820001, kind, 1.002);
        struct hg_points points = { .x = set_matrix(&s), .n = s.n, .nonzeros = 16 }, off = points;
        struct hg_integers n, none;
        off.x = set_matrix(&more);
        assert_int_equal(hg_integers_init(&none, &off, true, hg_cpu_level(0), 2, NULL), HINGE_OK);
        assert_true(none.grid.most == 0);
        assert_int_equal(hg_integers_init(&n, &points, true, hg_cpu_level(0), 2, NULL), HINGE_OK);
        assert_true(kind == 3 || (n.grid.most == 15 && n.grid.rough)); /* a sample that is nearer asks for more */
        double most = 0;
        for (size_t i = 0; i < s.n && n.grid.most > 0; i++) {
            long double square = 0;
            for (size_t f = 0; f < s.d; f++) {
                long double at = hg_grid_first(&n.grid) + n.code[i * s.d + f];
                square += (at * n.grid.step - s.x[i * s.d + f]) * (at * n.grid.step - s.x[i * s.d + f]);
            }
            assert_near(n.moved[i], (double)sqrtl(square), 1e-6 * n.most_moved + 1e-15);
            most = fmax(most, n.moved[i]);
        }
        points.integers = &n;
        if (n.grid.most > 0) {
            assert_close(n.most_moved, most, 1e-6);
            check_values_off(&s, &points);
        }
        hg_integers_free(&n);
    }
}

/* Trainings on values off a grid by just less and just more than is allowed are worth what they say by plain sums in
 * f64, and predict within what is promised. Where points are off by more than a copy in f32 would be, and the kernel is
 * so narrow that it shows, they go by the copy. */
TEST(test_trainings_off_the_grid)
{
    static const double gamma[] = { 0.06, 0.06, 4 }, cost[] = { 1, 1000, 10 };
    for (int k = 0; k < 12; k++) {
        struct set s = moved_off(5820010 + (uint64_t)k, k % 3, k < 6 ? 0.08 : k < 9 ? 0.999 : 1.001);
        hinge_params params = hinge_params_default(HINGE_C_SVC);
        hinge_report report;
        params.kernel = hinge_kernel_rbf(gamma[k % 3]);
        params.C = cost[k % 3];
        params.maker = k / 3 == 1 || k / 3 == 2 ? HINGE_MAKER_INTEGERS : HINGE_MAKER_AUTO;
        hinge_matrix x = set_matrix(&s);
        hinge_model *model = trained(&x, s.y, &params, &report);
        bool wide = hg_cpu_level(0) >= 4 && k < 3;
        assert_true(!wide || strstr(report.path, "integers f32") != NULL);
        assert_true(k < 9 || strstr(report.path, "integers") == NULL);
        assert_int_equal(report.outcome, HINGE_CONVERGED);
        struct plain_certificate c = plain_certify(model, &s, &params);
        assert_true(c.kkt <= 2 * params.eps * 1.01);
        assert_near(-report.objective, c.dual, 2 * (c.primal - c.dual) + 1e-6 * fabs(c.primal));
        double *ours = fit_decisions(model, &s, HINGE_PRECISION_AUTO), *plain = plain_decisions(model, &s);
        assert_true(largest_difference(ours, plain, s.n) <= 1e-4 * fmax(1, fabs(hinge_model_rho(model)[0])));
    }
}

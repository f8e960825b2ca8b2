/*
 * Kernels of differences on features of two values (hg_by_bits): which data are counted as bits; rows of Gram matrices
 * by the scalar definition, of every number of features around a word and of every level; trainings and predictions by
 * plain loops, also of examples that are no bits.
 */
#include "kernels/gram.h"
#include "kernels/integers.h"
#include "kernels/kernel.h"
#include "test/support.h"

enum { KERNELS = 3 };

static hinge_kernel kernel_of(int k, size_t d, double step)
{
    double gamma = 2 / ((double)d * step);
    return k == 0 ? hinge_kernel_laplacian(gamma) : k == 1 ? hinge_kernel_chi2(gamma) : hinge_kernel_tanimoto();
}

/* Points of the values `zero` and zero + step. Row 0 has zeros alone, row 1 ones, row 2 is row 3. Labels follow some
 * bits, and some are wrong. */
static struct set drawn(uint64_t seed, size_t n, size_t d, double zero, double step)
{
    struct set s = set_new(n, d);
    for (size_t i = 0; i < n; i++) {
        double side = 0;
        for (size_t f = 0; f < d; f++) {
            double bit = i < 2 ? (double)i : draw_unit(&seed) < 0.3;
            s.x[i * d + f] = zero + step * bit;
            side += f % 3 == 0 ? bit : f % 3 == 1 ? -bit : 0;
        }
        s.y[i] = side + draw_normal(&seed) > 0 ? 1 : -1;
    }
    memcpy(s.x + 3 * d, s.x + 2 * d, d * sizeof *s.x);
    return s;
}

/* Checks whole rows of a Gram source of the points at one level and type, and who makes them. */
static void check_gram(const struct set *s, const hinge_kernel *kernel, int level, hinge_dtype type, const char *maker)
{
    struct hg_integers bits;
    struct hg_points points = { .x = set_matrix(s), .n = s->n };
    assert_int_equal(hg_integers_init(&bits, &points, false, level, 2, NULL), HINGE_OK);
    points.integers = bits.grid.most > 0 ? &bits : NULL;
    struct hg_tiler tiler = { *kernel, hg_maps(level), type, s->d, .maker = NULL };
    struct hg_gram gram;
    assert_int_equal(hg_gram_init(&gram, &tiler, &points, NULL, s->n, NULL, NULL, 2, NULL), HINGE_OK);
    assert_string_equal(gram.tiler.maker->name, maker);
    uint32_t *rows = get(s->n, sizeof *rows);
    void **out = get(s->n, sizeof *out);
    for (uint32_t r = 0; r < s->n; r++) {
        rows[r] = r;
        out[r] = get(s->n, sizeof(double));
    }
    struct hg_fetch f = { rows, s->n, NULL, s->n, out, NULL, NULL, NULL, 0, false };
    assert_int_equal(gram.super.ops->fetch(&gram.super, &f), HINGE_OK);
    for (size_t i = 0; i < s->n; i += i < 3 ? 1 : 9)
        for (size_t j = 0; j < s->n; j++) {
            double value = type == HINGE_F32 ? (double)((float *)out[i])[j] : ((double *)out[i])[j];
            double truth = plain_kernel(kernel, s->x + i * s->d, s->x + j * s->d, s->d);
            assert_near(value, truth, type == HINGE_F32 ? 3e-7 : 4e-15);
            if (i == j)
                assert_true(value == 1);
        }
    hg_gram_free(&gram);
    hg_integers_free(&bits);
}

TEST(test_gram_of_bits)
{
    static const size_t features[] = { 1, 2, 31, 32, 33, 64, 167, 1024 };
    for (size_t at = 0; at < sizeof features / sizeof *features; at++)
        for (int k = 0; k < 4 * KERNELS * 2; k++) {
            size_t d = features[at], n = k % 2 ? 131 : 66;
            double step = k % 4 < 2 ? 1 : 0.75;
            struct set s = drawn(5830000 + at, n, d, 0, step);
            hinge_kernel kernel = kernel_of(k % KERNELS, d, step);
            int level = HG_MIN(1 + k / (2 * KERNELS), hg_cpu_level(0));
            check_gram(&s, &kernel, level, k / KERNELS % 2 ? HINGE_F32 : HINGE_F64, "bits");
        }
}

/* |x - z| is counted wherever the two values are; shares and ratios only where one of them is 0. What has three values
 * is made of differences, also where one is so large that the others are what it may be rounded by. */
TEST(test_which_are_bits)
{
    for (int k = 0; k < KERNELS; k++)
        for (int type = 0; type < 2; type++) {
            struct set off = drawn(5830010, 70, 40, 2, 0.5), three = drawn(5830011, 70, 40, 0, 1);
            struct set large = drawn(5830012, 70, 40, 0, 1);
            hinge_kernel kernel = kernel_of(k, 40, 1);
            three.x[5] = 2;
            for (size_t i = 0; i < large.n; i++)
                large.x[i * large.d] *= 1e17;
            check_gram(&off, &kernel, hg_cpu_level(0), type ? HINGE_F32 : HINGE_F64, k == 0 ? "bits" : "differences");
            check_gram(&three, &kernel, hg_cpu_level(0), type ? HINGE_F32 : HINGE_F64, "differences");
            check_gram(&large, &kernel, hg_cpu_level(0), type ? HINGE_F32 : HINGE_F64, "differences");
        }
}

/* Models of bits, trained and asked for in each precision; an example with another value has all predicted by
 * differences. */
TEST(test_trainings_on_bits)
{
    enum { TRAINED = 400, ASKED = 90, D = 166 };
    for (int k = 0; k < 2 * KERNELS; k++) {
        struct set s = drawn(5830020 + (uint64_t)k, TRAINED, D, 0, 1), t = drawn(5830030 + (uint64_t)k, ASKED, D, 0, 1);
        hinge_params params = hinge_params_default(k < KERNELS ? HINGE_C_SVC : HINGE_EPSILON_SVR);
        hinge_report report;
        params.kernel = kernel_of(k % KERNELS, D, 1);
        params.C = 3;
        params.eps = 1e-5;
        hinge_model *model = converged(&s, &params, &report);
        assert_says(report.path, "bits f");
        assert_true(plain_certify(model, &s, &params).kkt <= 2 * params.eps * 1.01);
        for (int off = 0; off < 2; off++) {
            double *plain = plain_decisions(model, &t);
            for (int precision = 0; precision < 3; precision++) {
                double *ours = fit_decisions(model, &t, (hinge_precision)precision);
                assert_true(largest_difference(ours, plain, t.n) < (precision == HINGE_PRECISION_F64 ? 1e-10 : 1e-4));
            }
            t.x[7 * D + 3] = 5;
        }
    }
}

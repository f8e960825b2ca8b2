/*
 * Cells (kernels/cells.h): that pairs called far are, by their own distance; that rows without far values differ from
 * whole rows by no more than such values; and that trainings which leave values out reach the optimum of the whole
 * kernel, by plain loops.
 */
#include "kernels/gram.h"
#include "lib/predict/nearby.h"
#include "test/support.h"

enum { N = 4200, D = 5 };

/* Twelve groups at the corners of a stretched grid, shuffled; labels by a wavy border within each. */
static struct set grouped(uint64_t seed, double spread)
{
    struct set s = set_new(N, D);
    for (size_t i = 0; i < N; i++) {
        size_t group = (size_t)(draw_unit(&seed) * 12);
        double *x = s.x + i * D;
        for (size_t c = 0; c < D; c++)
            x[c] = draw_unit(&seed);
        double side = x[0] + 0.3 * sin(9 * x[1]) - 0.5;
        s.y[i] = side + 0.1 * draw_normal(&seed) > 0 ? 1 : -1;
        x[2] += spread * (double)(group % 3);
        x[3] += spread * (double)(group / 3);
    }
    return s;
}

static double squared(const double *a, const double *b)
{
    double sum = 0;
    for (size_t c = 0; c < D; c++)
        sum += (a[c] - b[c]) * (a[c] - b[c]);
    return sum;
}

static struct hg_points points_of(const struct set *s)
{
    return (struct hg_points){ .x = set_matrix(s), .n = s->n, .nonzeros = D };
}

TEST(test_far_pairs_are_far)
{
    struct set s = grouped(1, 4);
    struct hg_points points = points_of(&s);
    for (double distance2 = 1; distance2 < 20; distance2 *= 4) {
        struct hg_cells cells;
        assert_int_equal(hg_cells_init(&cells, &points, distance2, 2, NULL), HINGE_OK);
        assert_true(cells.count > 1 && cells.near < 0.5);
        double near = 0;
        size_t truly_near = 0;
        for (size_t i = 0; i < N; i++)
            for (size_t j = 0; j < N; j++) {
                bool far = cells.far[cells.cell[i] * cells.count + cells.cell[j]] != 0;
                bool is_far = squared(s.x + i * D, s.x + j * D) >= distance2;
                assert_true(is_far || !far);
                near += !far;
                truly_near += !is_far;
            }
        assert_near(cells.near, near / ((double)N * N), 1e-12);
        assert_true(near < 6 * (double)truly_near); /* boxes are not tight, but not useless either */
        hg_cells_free(&cells);
    }
}

TEST(test_no_cells_where_they_do_not_pay)
{
    struct set s = grouped(2, 0);
    struct hg_points points = points_of(&s);
    struct hg_cells cells;
    assert_int_equal(hg_cells_init(&cells, &points, 3, 1, NULL), HINGE_OK); /* most pairs are nearer */
    assert_true(cells.count == 0 && cells.cell == NULL && cells.far == NULL);
    for (size_t at = 0; at < N * D; at++)
        s.x[at] = at < N * D / 2 ? 0 : 100; /* two places: leaves that cannot be split */
    assert_int_equal(hg_cells_init(&cells, &points, 3, 1, NULL), HINGE_OK);
    assert_true(cells.count == 0 || cells.count == 2);
    hg_cells_free(&cells);
}

struct seen {
    double *sum;  /* [N] of the rows that tile() saw */
    size_t first; /* tiles with row0 = 0 */
};

static void add_tile(void *arg, const struct hg_tile *tile)
{
    struct seen *seen = arg;
    if (tile->row0 == 0) {
#pragma omp atomic
        seen->first++;
    }
    for (size_t r = 0; r < tile->n_rows; r++)
        for (size_t c = 0; c < tile->n_cols; c++)
            seen->sum[tile->col0 + c] += ((const double *)tile->row[r])[c];
}

TEST(test_rows_without_far_values)
{
    enum { ROWS = 300 };
    struct set s = grouped(3, 6);
    struct hg_points points = points_of(&s);
    struct hg_cells cells;
    double gamma = 2, distance2 = 12, *norms = get(N, sizeof *norms);
    hg_points_norms(&points, HINGE_F64, norms, 1);
    assert_int_equal(hg_cells_init(&cells, &points, distance2, 1, NULL), HINGE_OK);
    assert_true(cells.count > 0);
    points.cells = &cells;
    hinge_kernel kernel = hinge_kernel_rbf(gamma);
    struct hg_tiler tiler = { kernel, hg_maps(hg_cpu_level(0)), HINGE_F64, D, .maker = NULL };
    struct hg_gram gram;
    assert_int_equal(hg_gram_init(&gram, &tiler, &points, NULL, N, NULL, norms, 2, NULL), HINGE_OK);
    uint32_t rows[ROWS];
    void *out[ROWS];
    double *kept = get(ROWS * N, sizeof *kept), *sum = get(N, sizeof *sum);
    for (size_t r = 0; r < ROWS; r++) {
        rows[r] = (uint32_t)(r * 37 % N);
        out[r] = r % 3 ? kept + r * N : NULL;
    }
    for (uint64_t number = 0; number < 3; number++) { /* panels kept and not; columns by cell */
        struct seen seen = { sum, 0 };
        struct hg_fetch fetch = { rows, ROWS, gram.super.order, N, out, add_tile, &seen, NULL, number, true };
        memset(sum, 0, N * sizeof *sum);
        memset(kept, 0xff, ROWS * N * sizeof *kept);
        uint64_t before = gram.super.values;
        assert_int_equal(gram.super.ops->fetch(&gram.super, &fetch), HINGE_OK);
        assert_true(gram.super.values - before < (uint64_t)ROWS * N / 2);
        size_t width = number != 0 ? gram.tile_cols : HG_MIN(gram.tile_cols, (size_t)(N / 8 / 64 * 64)); /* narrower */
        assert_int_equal(seen.first, (N + width - 1) / width);
        for (size_t c = 0; c < N; c++) {
            double whole = 0;
            for (size_t r = 0; r < ROWS; r++) {
                size_t point = gram.super.order[c];
                double k = plain_kernel(&kernel, s.x + rows[r] * D, s.x + point * D, D);
                whole += k;
                if (out[r] != NULL)
                    assert_near(kept[r * N + c], k, exp(-gamma * distance2) + 1e-13);
            }
            assert_near(sum[c], whole, ROWS * (exp(-gamma * distance2) + 1e-13));
        }
    }
    hg_gram_free(&gram);
    hg_cells_free(&cells);
}

TEST(test_trainings)
{
    static const hinge_task tasks[] = { HINGE_C_SVC, HINGE_EPSILON_SVR, HINGE_ONE_CLASS };
    struct set s = grouped(4, 8);
    for (size_t t = 0; t < 3; t++)
        for (int large = 0; large < 2; large++) {
            if (large != (int)(t % 2) && !in_full())
                continue;
            hinge_params params = hinge_params_default(tasks[t]);
            params.kernel = hinge_kernel_rbf(3);
            params.C = 20;
            params.nu = 0.05;
            params.p = 0.2;
            params.working_set = large ? 2048 : 64;
            params.precision = large ? HINGE_PRECISION_F64 : HINGE_PRECISION_AUTO;
            double *beta[2];
            hinge_model *model = NULL;
            for (int threads = 1; threads <= 2; threads++) {
                hinge_report report;
                params.threads = threads;
                model = converged(&s, &params, &report);
                assert_non_null(strstr(report.path, " near"));
                assert_true(report.kernel_values > 0 && report.rows_computed < report.rows_asked);
                beta[threads - 1] = fit_beta(model, N);
            }
            assert_memory_equal(beta[0], beta[1], N * sizeof(double));
            double violation = plain_certify(model, &s, &params).kkt;
            assert_true(violation > 0 && violation <= 2 * params.eps * 1.01);
        }
}

/* Share of (block, SV) pairs that prediction computes. */
static double nearby_share(const hinge_model *model, const struct set *s, hinge_dtype type)
{
    struct hg_points points = points_of(s), sv = hg_model_points(model, type);
    struct hg_nearby nearby;
    size_t computed = 0, blocks = (s->n + 255) / 256;
    points.shift = model->shift;
    assert_int_equal(hg_nearby_init(&nearby, model, &points, &sv, 256, type, 2, NULL), HINGE_OK);
    assert_non_null(nearby.sv);
    for (size_t b = 0; b < blocks; b++)
        for (size_t first = 0, end; hg_nearby_next(&nearby, b, 512, &first, &end); first = end) {
            assert_true(end > first && end - first <= 512 && first % HG_STRIP == 0);
            computed += end - first;
        }
    hg_nearby_free(&nearby);
    return (double)computed / (double)(blocks * model->n_sv);
}

/* Decision values of a large batch are the sums over all SVs, and those of its examples in small batches. */
TEST(test_predictions)
{
    struct set s = grouped(5, 8), asked = grouped(6, 8);
    for (size_t i = 0; i < N; i++) /* three classes, one of them rare */
        s.y[i] = i % 50 == 0 ? 7 : s.y[i];
    for (int task = 0; task < 2; task++)
        for (int f32 = 0; f32 < 2; f32++) {
            hinge_params params = hinge_params_default(task == 0 ? HINGE_C_SVC : HINGE_EPSILON_SVR);
            params.kernel = hinge_kernel_rbf(3);
            params.C = task == 0 ? 0.05 : 5;
            params.p = 0.01;
            hinge_model *model = fit(&s, &params, NULL);
            hinge_predict_options options = { .threads = 2,
                                              .precision = f32 ? HINGE_PRECISION_F32 : HINGE_PRECISION_F64 };
            size_t problems = task == 0 ? 3 : 1;
            assert_true(model->n_sv > 2048);
            assert_true(nearby_share(model, &asked, f32 ? HINGE_F32 : HINGE_F64) < 0.5);
            double *all = malloc(N * problems * sizeof *all), *few = malloc(N * problems * sizeof *few);
            double *labels[2] = { malloc(N * sizeof(double)), malloc(N * sizeof(double)) };
            assert_int_equal(hinge_predict(model, matrix_of(&asked), &options, labels[0], all, NULL), HINGE_OK);
            for (size_t first = 0; first < N; first += 600) {
                hinge_matrix part = hinge_matrix_f64(asked.x + first * D, HG_MIN((size_t)600, N - first), D);
                assert_int_equal(hinge_predict(model, &part, &options, labels[1] + first, few + first * problems, NULL),
                                 HINGE_OK);
            }
            double limit = f32 ? 1e-4 : 1e-9;
            for (size_t i = 0; i < N * problems; i++)
                assert_true(fabs(all[i] - few[i]) <= limit);
            for (size_t i = 0; i < N; i++) {
                bool clear = true;
                for (size_t p = 0; p < problems; p++)
                    clear = clear && fabs(few[i * problems + p]) > limit;
                assert_true(task == 1 ? fabs(labels[0][i] - labels[1][i]) <= limit
                                      : labels[0][i] == labels[1][i] || !clear);
            }
            for (size_t i = 0; task == 1 && i < N; i += 97) {
                double f = -model->rho[0];
                for (size_t k = 0; k < model->n_sv; k++)
                    f += model->coef[k] * exp(-3 * squared((double *)model->sv + k * D, asked.x + i * D));
                assert_true(fabs(f - all[i]) <= (f32 ? 5e-3 : limit));
            }
            free(all), free(few), free(labels[0]), free(labels[1]);
        }
}

/*
 * Gradients of decision values by features, by plain sums over support vectors. Read include/hinge/explain.h before.
 */
#include "lib/base/team.h"
#include "lib/base/teller.h"
#include "lib/data/params.h"
#include "lib/explain/explain.h"

#include <hinge/explain.h>
#include <math.h>
#include <string.h>

struct climbing {
    const hinge_model *m, *of; /* as the caller has it, which scales; as it predicts */
    struct hg_points points;
    double *room; /* [threads * 3 * d] */
    double *gradients;
};

/* Sets out [d] to the kernel's derivative by x. That of a kernel of <x,z> is a multiple of z, that of one of the
 * distance of x - z; the Laplacian's has signs for differences. */
static void derive(const hinge_kernel *kernel, const double *x, const double *z, size_t d, double *out)
{
    double gamma = kernel->gamma, dot = 0, d2 = 0, d1 = 0, by = 0;
    for (size_t c = 0; c < d; c++) {
        out[c] = x[c] - z[c];
        dot += x[c] * z[c];
        d2 += out[c] * out[c];
        d1 += fabs(out[c]);
    }
    double value = gamma * dot + kernel->coef0, r = sqrt(gamma * d2);
    switch (kernel->type) {
    case HINGE_LINEAR:
        by = 1;
        break;
    case HINGE_POLYNOMIAL:
        by = kernel->degree > 0 ? kernel->degree * gamma * pow(value, kernel->degree - 1) : 0;
        break;
    case HINGE_SIGMOID:
        by = gamma * (1 - tanh(value) * tanh(value));
        break;
    case HINGE_RBF:
        by = -2 * gamma * exp(-gamma * d2);
        break;
    case HINGE_MATERN32:
        by = -gamma * exp(-r);
        break;
    case HINGE_MATERN52:
        by = -gamma / 3 * (1 + r) * exp(-r);
        break;
    default: /* Laplacian */
        by = -gamma * exp(-gamma * d1);
        break;
    }
    bool dots = kernel->type == HINGE_LINEAR || kernel->type == HINGE_POLYNOMIAL || kernel->type == HINGE_SIGMOID;
    bool signs = kernel->type == HINGE_LAPLACIAN;
    for (size_t c = 0; c < d; c++)
        out[c] = by * (dots ? z[c] : signs ? (double)((out[c] > 0) - (out[c] < 0)) : out[c]);
}

/* Sets the gradients of one example's decision values; those of a model that scales by what it is given. */
static void climb(const struct climbing *g, size_t row, double *room)
{
    const hinge_model *m = g->of;
    size_t d = m->d, count = m->n_problems * d, last = m->n_sv;
    double *x = room, *slope = room + d, *out = g->gradients + row * count;
    hg_points_pack(&g->points, NULL, row, 1, HINGE_F64, x, d);
    hg_explain_scale(g->m, 1, x);
    memset(out, 0, count * sizeof *out);
    for (struct hg_coef c = { 0 }; hg_next_coef(m, &c);) {
        if (c.sv != last)
            derive(&m->kernel, x, hg_model_vectors(m, c.sv, 1, room + 2 * d), d, slope);
        last = c.sv;
        for (size_t k = 0; k < d; k++)
            out[c.problem * d + k] += c.value * slope[k];
    }
    for (size_t k = 0; k < count && g->m->scale_factor != NULL; k++)
        out[k] *= g->m->scale_factor[k % d];
}

static void climb_some(void *arg, int thread, size_t first, size_t end)
{
    const struct climbing *g = arg;
    for (size_t row = first; row < end; row++)
        climb(g, row, g->room + (size_t)thread * 3 * g->m->d);
}

enum { STEP = 256 }; /* rows from one look at the callback to the next */

static hinge_status climb_all(struct climbing *g, const hinge_predict_options *options, int threads, hinge_error *err)
{
    size_t rows = g->points.n, each = g->m->n_problems * g->m->d;
    int stop = 0;
    struct hg_teller teller = { options->progress, options->progress_arg, hg_now(), -INFINITY, &stop, NULL };
    hinge_matrix all = g->points.x;
    double *to = g->gradients;
    HG_TRY(HG_MAKE(err, "gradients", HG_TABLE(g->room, (size_t)threads * 3, g->m->d)));
    hinge_status status = HINGE_OK;
    for (size_t done = 0; done < rows && status == HINGE_OK;) {
        size_t count = HG_MIN((size_t)STEP, rows - done), at = done * (hg_matrix_by_rows(&all) ? all.stride : 1);
        g->points.x.data = (const char *)all.data + at * hg_size_of(all.type);
        g->gradients = to + done * each;
        hg_share(threads, count, 1, climb_some, g);
        done += count;
        if (hg_is_due(&teller) &&
            hg_tell(&teller, &(hinge_progress){ .n_problems = 1, .n = rows, .n_active = rows - done }))
            status = hg_fail(err, HINGE_ECALLBACK, "progress: the callback ended the gradients after %zu of %zu rows",
                             done, rows);
    }
    hg_free(g->room);
    return status == HINGE_OK ? hg_ok(err) : status;
}

hinge_status hinge_gradients(const hinge_model *m, const hinge_matrix *x, const hinge_predict_options *options,
                             double *gradients, hinge_error *err)
{
    static const hinge_predict_options none = { 0 };
    options = options != NULL ? options : &none;
    HG_NEED(err, m, "model");
    HG_TRY(hg_options_check(options, err));
    if (m->kernel.type == HINGE_PRECOMPUTED || m->kernel.type == HINGE_USER || m->kernel.type > HINGE_LAPLACIAN)
        return hg_fail(err, HINGE_EINVAL, "kernel: %s has no known gradient",
                       hinge_kernel_info(m->kernel.type)->keyword);
    HG_TRY(hg_explain_check(m, x, "x", options->threads, err));
    struct climbing g = { .m = m, .of = m->merged != NULL ? m->merged : m, .gradients = gradients };
    g.points = (struct hg_points){ .x = *x, .n = x->rows };
    double work = (double)x->rows * (double)m->n_sv * (double)m->d * (double)(4 + hg_model_coef_rows(m));
    int threads = hg_team_size(hg_threads(options->threads), work);
    hinge_status status = HINGE_OK;
    HG_TEAM(threads)
    status = climb_all(&g, options, threads, err);
    return status;
}

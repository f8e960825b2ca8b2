/*
 * Probabilities. Classification: a sigmoid over each two-class problem's decision values (Platt 2000; Lin, Lin, Weng
 * 2007); then coupling of the pairs (Wu, Lin, Weng 2004), or of classes against the rest by dividing by their sum
 * (Zadrozny, Elkan 2002). calibrate.c says what they are fitted on.
 *
 * The sigmoid's loss, gradient and Hessian cost one exponential an example, and one logarithm for 512 examples: fits
 * take a seventh to a ninth of the time that they would take with a logarithm each (doc/tried.md).
 */
#include "lib/folds/proba.h"
#include "lib/base/team.h"
#include "lib/data/params.h"
#include "lib/predict/predict.h"

#include <hinge/theory.h>
#include <math.h>
#include <string.h>

static const double LEAST = 1e-7; /* no two-class problem is surer than this */

/* ---- the sigmoid ----------------------------------------------------------------------------------------- */

/* Computes 1 / (1 + exp(z)), z = a f + b, by exp of a number <= 0 only: no overflow, and small probabilities keep their
 * digits. */
double hg_sigmoid(double decision, double a, double b)
{
    double z = decision * a + b; /* never 1 - p: that cancels */
    return z >= 0 ? exp(-z) / (1 + exp(-z)) : 1 / (1 + exp(z));
}

/* Holds a sigmoid to be fitted, of z = a f + b. decision is the caller's, first class first; f is made of it as it is
 * read, so that Newton's Hessian is well scaled whatever the unit of decision values. */
struct sigmoid {
    const double *decision;
    size_t n_first, n;
    double high, low;        /* targets: not 1 and 0, but the posterior means under a uniform prior */
    double middle, per_unit; /* f = (decision / 2 - middle) * per_unit: mean 0, mean size 1, however small C was */
};

/* Sets middle and per_unit, by which f has mean 0 and mean size 1. Halves of values do not overflow where they are
 * subtracted. Values that are all the same leave per_unit 0: f is 0, and b alone is fitted. */
static void choose_unit(struct sigmoid *s)
{
    double middle = 0, size = 0, n = (double)s->n;
    for (size_t i = 0; i < s->n; i++)
        middle += s->decision[i] / 2 / n;
    for (size_t i = 0; i < s->n; i++)
        size += fabs(s->decision[i] / 2 - middle) / n;
    s->middle = middle;
    s->per_unit = size > 1e-290 + 1e-12 * fabs(middle) ? 1 / size : 0; /* all the same, but for rounding */
}

/* Holds the objective and its derivatives at a, b. p = 1 / (1 + exp(z)) is the first class's probability, t its
 * target. */
struct fit {
    double loss;       /* -log likelihood = sum t z + log(1 + exp(-z)), z = a f + b; */
    double g[2], h[3]; /* its gradient, and its Hessian aa, ab, bb */
};

/* Looks at a, b by one exponential an example, e = exp(-|z|): with r = 1 / (1 + e), p is e r or r, p (1 - p) = e r^2,
 * and -log likelihood is t z + log(1 + exp(-z)), or (t - 1) z + log(1 + exp(z)) for z < 0. Logarithms are taken of
 * products, of few enough factors of at most 2 that none overflows. */
static struct fit look(const struct sigmoid *s, double a, double b)
{
    enum { FACTORS = 512 };
    struct fit fit = { .h = { 1e-12, 0, 1e-12 } }; /* positive definite also in floating point */
    for (size_t first = 0, end; first < s->n; first = end) {
        double product = 1;
        end = HG_MIN(s->n, first + FACTORS);
        for (size_t i = first; i < end; i++) {
            double f = (s->decision[i] / 2 - s->middle) * s->per_unit, z = f * a + b;
            double t = i < s->n_first ? s->high : s->low;
            double e = exp(-fabs(z)), r = 1 / (1 + e), rest = t - (z >= 0 ? e * r : r), pq = e * r * r;
            fit.loss += z >= 0 ? t * z : (t - 1) * z;
            product *= 1 + e;
            fit.g[0] += f * rest;
            fit.g[1] += rest;
            fit.h[0] += f * f * pq;
            fit.h[1] += f * pq;
            fit.h[2] += pq;
        }
        fit.loss += log(product);
    }
    return fit;
}

/* Minimises the loss from a, b by Newton's method with halved steps (Armijo's rule), at most 100 times, until both
 * derivatives are below 1e-5 (Lin, Lin, Weng 2007), or until the step gains less than the sums can tell. */
static void descend(const struct sigmoid *s, double *a, double *b)
{
    struct fit fit = look(s, *a, *b);
    for (int iteration = 0; iteration < 100; iteration++) {
        const double *g = fit.g, *h = fit.h;
        if (fabs(g[0]) < 1e-5 && fabs(g[1]) < 1e-5)
            return;
        double det = h[0] * h[2] - h[1] * h[1];
        double da = -(h[2] * g[0] - h[1] * g[1]) / det, db = -(h[0] * g[1] - h[1] * g[0]) / det;
        double slope = g[0] * da + g[1] * db, step = 1;
        if (-slope <= 1e-13 * fit.loss) { /* less than the sums can tell, and Newton's last step */
            *a += da;
            *b += db;
            return;
        }
        struct fit other = look(s, *a + da, *b + db);
        while (!(other.loss < fit.loss + 1e-4 * step * slope)) { /* Armijo */
            step /= 2;
            if (step < 1e-10)
                return; /* as good as the sums are */
            other = look(s, *a + step * da, *b + step * db);
        }
        *a += step * da;
        *b += step * db;
        fit = other;
    }
}

/* Platt's targets are (n+ + 1) / (n+ + 2) and 1 / (n- + 2); the start is a = 0 and the b of the classes' frequencies. a
 * and b come back in the unit of decision values: z = a f + b with f = (decision / 2 - middle) per_unit. */
void hg_fit_sigmoid(const double *decision, size_t n_first, size_t n, double *a, double *b)
{
    double first = (double)n_first, second = (double)(n - n_first);
    struct sigmoid s = { decision, n_first, n, (first + 1) / (first + 2), 1 / (second + 2), 0, 0 };
    choose_unit(&s);
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a and b are the caller's */
    *a = 0;
    *b = log((second + 1) / (first + 1));
    descend(&s, a, b);
    *b -= *a * s.per_unit * s.middle;
    *a *= s.per_unit / 2;
}

/* ---- coupling -------------------------------------------------------------------------------------------- */

/* Minimises the sum over i of (sum over j of r_ji p_i - r_ij p_j)^2 on the simplex: p'Qp with Q_ii = sum of r_ji^2,
 * Q_ij = -r_ji r_ij. One coordinate after the other is set to what Qp = (p'Qp) e asks of it, and p is scaled back; Qp
 * and p'Qp are kept up to date by k operations each. It ends where no (Qp)_i is off p'Qp by 0.005 / k, LIBSVM's limit,
 * or after max(k, 100) rounds. */
void hg_couple_pairs(size_t k, const double *r, double *p, double *work)
{
    double *q = work, *qp = work + k * k, limit = 0.005 / (double)k;
    for (size_t i = 0; i < k; i++) {
        p[i] = 1 / (double)k;
        q[i * k + i] = 0;
        for (size_t j = 0; j < k; j++)
            if (j != i) {
                q[i * k + i] += r[j * k + i] * r[j * k + i];
                q[i * k + j] = -r[j * k + i] * r[i * k + j];
            }
    }
    for (size_t round = 0; round < HG_MAX(k, (size_t)100); round++) {
        double pqp = 0, error = 0;
        for (size_t i = 0; i < k; i++) { /* anew each round, against drift */
            qp[i] = 0;
            for (size_t j = 0; j < k; j++)
                qp[i] += q[i * k + j] * p[j];
            pqp += p[i] * qp[i];
        }
        for (size_t i = 0; i < k; i++)
            error = fmax(error, fabs(qp[i] - pqp));
        if (error < limit)
            return;
        for (size_t i = 0; i < k; i++) {
            double move = (pqp - qp[i]) / q[i * k + i], scale = 1 / (1 + move);
            p[i] += move;
            pqp = (pqp + move * (move * q[i * k + i] + 2 * qp[i])) * scale * scale;
            for (size_t j = 0; j < k; j++) {
                qp[j] = (qp[j] + move * q[i * k + j]) * scale;
                p[j] *= scale;
            }
        }
    }
}

/* ---- prediction ------------------------------------------------------------------------------------------ */

int hinge_model_has_probability(const hinge_model *m)
{
    return m != NULL && (m->prob_a != NULL || m->density_marks != NULL);
}

hinge_status hinge_model_laplace(const hinge_model *m, double *sigma, hinge_error *err)
{
    if (m == NULL || sigma == NULL)
        return hg_fail(err, HINGE_EINVAL, "model or sigma: NULL");
    if (!hinge_task_info(m->task)->regresses)
        return hg_fail(err, HINGE_EINVAL, "model: not of a regression");
    if (m->prob_a == NULL)
        return hg_fail(err, HINGE_EINVAL, "model: not calibrated");
    *sigma = m->prob_a[0];
    return hg_ok(err);
}

/* Counts the marks below the decision value, in tenths; beyond all of them P is 0.001 or 0.999, as in LIBSVM. */
double hg_density(const double *marks, double decision)
{
    size_t i = 1;
    if (decision < marks[0])
        return 0.001;
    if (decision > marks[HG_MARKS - 1])
        return 0.999;
    while (i < HG_MARKS - 1 && decision >= marks[i])
        i++;
    return (double)i / HG_MARKS;
}

/* Returns the sigmoid, kept within [1e-7, 1 - 1e-7], as LIBSVM keeps it: coupling divides by sums of squares of
 * these. */
static double first_of_two(double decision, double a, double b)
{
    double s = hg_sigmoid(decision, a, b);
    return HG_MIN(HG_MAX(s, LEAST), 1 - LEAST);
}

/* Makes probabilities of each class against the rest, divided by their sum, which is above 0 as each is at least
 * 1e-7. */
static void rest_probabilities(const hinge_model *m, const double *decision, double *p)
{
    double sum = 0;
    for (size_t c = 0; c < m->n_classes; c++)
        sum += p[c] = first_of_two(decision[c], m->prob_a[c], m->prob_b[c]);
    for (size_t c = 0; c < m->n_classes; c++)
        p[c] /= sum;
}

/* Fills r with both sides of each pair, and couples them where there are three classes or more. work has r, then what
 * hg_couple_pairs needs. */
void hg_pair_probabilities(size_t k, const double *a_of, const double *b_of, const double *decision, double *p,
                           double *work)
{
    double *r = work;
    if (k == 1)
        p[0] = 1;
    for (size_t a = 0, pair = 0; a < k; a++)
        for (size_t b = a + 1; b < k; b++, pair++) {
            r[a * k + b] = first_of_two(decision[pair], a_of[pair], b_of[pair]);
            r[b * k + a] = 1 - r[a * k + b];
        }
    if (k == 2) {
        p[0] = r[1];
        p[1] = r[2];
    } else if (k > 2) {
        hg_couple_pairs(k, r, p, work + k * k);
    }
}

/* Fills p with the probabilities of one example's classes by the model's calibration, whatever it is, and returns the
 * label of the most probable one; of one-class that of the decision value's sign. work: hg_pair_probabilities'. */
static double row_probabilities(const hinge_model *m, const double *decision, double *p, double *work)
{
    if (m->density_marks != NULL) {
        p[0] = hg_density(m->density_marks, decision[0]);
        p[1] = 1 - p[0];
        return decision[0] > 0 ? 1 : -1;
    }
    if (m->multiclass == HINGE_ONE_VS_REST)
        rest_probabilities(m, decision, p);
    else
        hg_pair_probabilities(m->n_classes, m->prob_a, m->prob_b, decision, p, work);
    return m->labels[hinge_argmax(p, m->n_classes)];
}

static hinge_status check(const hinge_model *m, const hinge_matrix *x, const double *probabilities, hinge_error *err)
{
    if (m == NULL || x == NULL || probabilities == NULL)
        return hg_fail(err, HINGE_EINVAL, "model, x or probabilities: NULL");
    if (hinge_task_info(m->task)->regresses)
        return hg_fail(err, HINGE_EINVAL, "model: of a regression, whose probabilities hinge_model_laplace tells");
    if (!hinge_model_has_probability(m))
        return hg_fail(err, HINGE_EINVAL, "model: not calibrated (params.probability, or hinge_calibrate)");
    return HINGE_OK;
}

struct coupling { /* of the decision values of a chunk */
    const hinge_model *model;
    const double *decision;
    double *work, *p, *label;
    size_t work_size; /* of a thread */
};

static void couple_some(void *arg, int thread, size_t first, size_t end)
{
    const struct coupling *c = arg;
    const hinge_model *m = c->model;
    for (size_t r = first; r < end; r++) {
        double best = row_probabilities(m, c->decision + r * m->n_problems, c->p + r * m->n_classes,
                                        c->work + (size_t)thread * c->work_size);
        if (c->label != NULL)
            c->label[r] = best;
    }
}

/* Predicts chunk by chunk, of 4,096 examples or 16 MB of decision values, if that is more, so that examples without
 * number need no such memory. Where there are several chunks, outputs wait until the last has gone well. */
static hinge_status predict_probability(const hinge_model *m, const hinge_matrix *x,
                                        const hinge_predict_options *options, double *labels, double *probabilities,
                                        hinge_error *err)
{
    HG_TRY(check(m, x, probabilities, err));
    HG_TRY(hg_matrix_check(x, "x", err));
    HG_TRY(hg_matrix_check_finite(x, "x", 1, err)); /* all of it, before the first chunk is told */
    int asked = options != NULL ? options->threads : 0, threads = asked > 4096 ? 1 : hg_threads(asked);
    size_t k = m->n_classes, work_size = (2 * k * k + k + 7) / 8 * 8;
    size_t chunk = HG_MIN(HG_MAX((size_t)4096, ((size_t)2 << 20) / HG_MAX(m->n_problems, (size_t)1)), x->rows);
    size_t type = hg_size_of(x->type), kept = x->rows > chunk ? x->rows : 0;
    double *decision, *work, *p, *label; /* outputs of several chunks wait until the last has gone well */
    HG_TRY(HG_MAKE(err, "the probabilities of classes", HG_TABLE(decision, chunk, m->n_problems),
                   HG_TABLE(work, (size_t)threads, work_size), HG_TABLE(p, kept, k), HG_ARRAY(label, kept)));
    hinge_status status = HINGE_OK;
    hinge_predict_options each = options != NULL ? *options : (hinge_predict_options){ 0 };
    hinge_predict_report all = { 0 }, one;
    each.report = &one;
    if (kept == 0) {
        p = probabilities;
        label = labels;
    }
    for (size_t i = 0; status == HINGE_OK && (i == 0 || i < x->rows); i += HG_MAX(chunk, (size_t)1)) {
        hinge_matrix part = *x;
        part.rows = HG_MIN(chunk, x->rows - i);
        part.data = x->data != NULL ? (const char *)x->data + i * (hg_matrix_by_rows(x) ? x->stride : 1) * type : NULL;
        status = hinge_predict(m, &part, &each, NULL, decision, err);
        if (status == HINGE_OK)
            all = (hinge_predict_report){ all.rows + one.rows, all.rows_f64 + one.rows_f64,
                                          HG_MAX(all.bound, one.bound), one.promise };
        struct coupling job = { m, decision, work, p + i * k, label != NULL ? label + i : NULL, work_size };
        hg_share(threads, status == HINGE_OK ? part.rows : 0, 64, couple_some, &job);
    }
    if (status == HINGE_OK && kept > 0)
        memcpy(probabilities, p, x->rows * k * sizeof *p);
    if (status == HINGE_OK && kept > 0 && labels != NULL && label != NULL)
        memcpy(labels, label, x->rows * sizeof *label);
    if (status == HINGE_OK && options != NULL && options->report != NULL)
        *options->report = all;
    hg_free(decision);
    return status == HINGE_OK ? hg_ok(err) : status;
}

hinge_status hinge_predict_probability(const hinge_model *m, const hinge_matrix *x,
                                       const hinge_predict_options *options, double *labels, double *probabilities,
                                       hinge_error *err)
{
    hinge_status status = HINGE_OK;
    HG_TEAM(hg_predict_team(m, x, options))
    status = predict_probability(m, x, options, labels, probabilities, err);
    return status;
}

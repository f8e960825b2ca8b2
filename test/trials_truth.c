/* Plain loops: kernel values, sums, conditions of optimality in long double. See trials.h. */
#include "test/trials.h"

#include <float.h>

static const double ulp = DBL_EPSILON / 2; /* what a rounding to 53 bits may be off by, relative */

static bool same_row(const double *a, const double *b, size_t d)
{
    for (size_t c = 0; c < d; c++)
        if (a[c] != b[c])
            return false;
    return true;
}

static bool is_of_distance(hinge_kernel_type type)
{
    return type == HINGE_RBF || type == HINGE_MATERN32 || type == HINGE_MATERN52;
}

static long double laplacian(const struct trial *t, const double *a, const double *b, double *slack)
{
    long double sum = 0;
    for (size_t c = 0; c < t->d; c++)
        sum += fabsl((long double)a[c] - b[c]);
    long double x = t->params.kernel.gamma * sum, k = expl(-x);
    *slack = (double)k * expm1(fmin(ulp * (((double)t->d + 8) * (double)x + 8), 700));
    return k;
}

/* A value below 0 is as if it were a feature of its own. */
static long double of_ratios(const struct trial *t, const double *a, const double *b, double *slack)
{
    long double ratio = 0, least = 0, most = 0;
    for (size_t c = 0; c < t->d; c++) {
        long double x = fabsl(a[c]), z = fabsl(b[c]), by = (long double)a[c] - b[c];
        bool one_side = (a[c] > 0 && b[c] > 0) || (a[c] < 0 && b[c] < 0);
        ratio += x + z > 0 ? by / (x + z) * by : 0;
        least += one_side ? fminl(x, z) : 0;
        most += one_side ? fmaxl(x, z) : x + z;
    }
    *slack = 4 * ulp * ((double)t->d + 8);
    if (t->params.kernel.type == HINGE_TANIMOTO)
        return most > 0 ? least / most : 1;
    ratio *= t->params.kernel.gamma;
    long double k = expl(-ratio);
    *slack = (double)k * expm1(fmin(ulp * (((double)t->d + 8) * (double)ratio + 8), 700));
    return k;
}

/* Of x = gamma |a - b|^2. Matern's r is its root, whose rounding moves the value by r ulps of it. */
static long double of_distance(const struct trial *t, const double *a, const double *b, double norms, double *slack)
{
    long double square = 0;
    for (size_t c = 0; c < t->d; c++) {
        long double v = (long double)a[c] - b[c];
        square += v * v;
    }
    long double x = t->params.kernel.gamma * square;
    hinge_kernel_type type = t->params.kernel.type;
    long double r = type == HINGE_RBF ? x : sqrtl(x), k = t->n > 1000 ? (long double)exp(-(double)r) : expl(-r);
    k *= type == HINGE_RBF || isinf(r) ? 1 : type == HINGE_MATERN32 ? 1 + r : 1 + r + x / 3;
    /* by differences, or by norms, whose sum less a product cancels, where that moves K by some 1e-11 at most */
    double by_norms = same_row(a, b, t->d) ? 0 : 4 * t->params.kernel.gamma * norms;
    double of_root = type == HINGE_RBF ? 0 : 4 * (double)r;
    double own = ulp * (((double)t->d + 8) * (double)x + 8 + of_root);
    double lost = ulp * by_norms * (2 + (double)t->d / 8);
    *slack = (double)k * (own < 1e-3 ? 1.001 * own : expm1(fmin(own, 700)));
    *slack += fmin((double)k * expm1(fmin(lost, 700)), 2e-11);
    return k;
}

static long double power_of(long double base, int degree)
{
    long double p = 1;
    for (int i = 0; i < degree; i++)
        p *= base;
    return p;
}

static long double of_products(const struct trial *t, const double *a, const double *b, double *slack)
{
    long double dot = 0, absolute = 0;
    const hinge_kernel *k = &t->params.kernel;
    for (size_t c = 0; c < t->d; c++) {
        long double v = (long double)a[c] * b[c];
        dot += v;
        absolute += fabsl(v);
    }
    double terms = (double)t->d + 4;
    if (k->type == HINGE_LINEAR) {
        *slack = ulp * terms * (double)absolute;
        return dot;
    }
    long double base = k->gamma * dot + k->coef0;
    long double off = ulp * terms * (k->gamma * absolute + fabs(k->coef0)), size = fabsl(base) + off;
    if (k->type == HINGE_SIGMOID) {
        long double value = tanhl(base);
        *slack = (double)(off * (1 - value * value) + off * off) + 8 * ulp;
        return value;
    }
    *slack =
        (double)(k->degree * power_of(size, k->degree - 1) * off + 4 * k->degree * ulp * power_of(size, k->degree));
    return power_of(base, k->degree);
}

static long double of_user(const struct trial *t, const double *a, const double *b, double *slack)
{
    hinge_matrix u = hinge_matrix_f64(a, 1, t->d), v = hinge_matrix_f64(b, 1, t->d);
    double value = NAN;
    struct user_cookie cookie = t->user;
    trial_user_kernel(&cookie, &u, &v, &value, 1);
    *slack = 4 * ulp * fabs(value);
    return value;
}

/* K(row, example j) */
static long double kernel_value(const struct trial *t, const double *row, size_t j, double norms, double *slack)
{
    switch (t->params.kernel.type) {
    case HINGE_PRECOMPUTED:
        *slack = 0;
        return row[t->params.precomputed_index != NULL ? t->params.precomputed_index[j] : j];
    case HINGE_LAPLACIAN:
        return laplacian(t, row, t->x + j * t->d, slack);
    case HINGE_CHI2:
    case HINGE_TANIMOTO:
        return of_ratios(t, row, t->x + j * t->d, slack);
    case HINGE_RBF:
    case HINGE_MATERN32:
    case HINGE_MATERN52:
        return of_distance(t, row, t->x + j * t->d, norms, slack);
    case HINGE_USER:
        return of_user(t, row, t->x + j * t->d, slack);
    default:
        return of_products(t, row, t->x + j * t->d, slack);
    }
}

/* Support vectors of any problem, and the norms of all examples about their mean. */
static size_t *find_svs(size_t n, const double *beta, size_t problems, size_t *count)
{
    size_t *svs = get(n, sizeof *svs);
    *count = 0;
    for (size_t j = 0; j < n; j++) {
        bool is_sv = false;
        for (size_t p = 0; p < problems; p++)
            is_sv = is_sv || beta[p * n + j] != 0;
        if (is_sv)
            svs[(*count)++] = j;
    }
    return svs;
}

/* Where norms may be taken from: the mean of the examples, that of the support vectors (a model's), and the origin
 * where a mean would not make norms much less. */
struct frame {
    double *mean[2], *zero;
    bool origin;
};

static struct frame frame_of(const struct trial *t, const size_t *svs, size_t n_sv)
{
    struct frame f = { { get(t->d, sizeof(double)), get(t->d, sizeof(double)) }, get(t->d, sizeof(double)), false };
    for (size_t k = 0; k < 2; k++) {
        size_t n = k == 0 ? t->n : n_sv;
        double plain = 0, less = 0;
        for (size_t i = 0; i < n; i++)
            for (size_t c = 0; c < t->d; c++)
                f.mean[k][c] += t->x[(k == 0 ? i : svs[i]) * t->d + c] / (double)n;
        for (size_t i = 0; i < n; i++) {
            plain += plain_square(f.zero, t->x + (k == 0 ? i : svs[i]) * t->d, t->d);
            less += plain_square(f.mean[k], t->x + (k == 0 ? i : svs[i]) * t->d, t->d);
        }
        f.origin = f.origin || plain <= 4.1 * less;
    }
    return f;
}

static double norm_in(const struct frame *f, const double *row, size_t d)
{
    double norm = fmax(plain_square(f->mean[0], row, d), plain_square(f->mean[1], row, d));
    return f->origin ? fmax(norm, plain_square(f->zero, row, d)) : norm;
}

/* One row's kernel values go to all problems' sums. */
static void add_row(const struct trial *t, const double *beta, size_t problems, const size_t *svs, size_t n_sv,
                    const long double *k, const double *off, size_t row, struct sums *sums)
{
    for (size_t p = 0; p < problems; p++) {
        long double g = 0, absolute = 0, slack = 0;
        size_t terms = 0;
        for (size_t v = 0; v < n_sv; v++) {
            double b = beta[p * t->n + svs[v]];
            if (b == 0)
                continue;
            terms++;
            g += b * k[v];
            absolute += fabsl(b * k[v]);
            slack += fabs(b) * off[v];
        }
        sums->g[p * sums->rows + row] = g;
        sums->absolute[p * sums->rows + row] = (double)absolute;
        sums->slack[p * sums->rows + row] = (double)(slack + ((double)terms + 8) * ulp * absolute);
    }
}

struct sums truth_sums(const struct trial *t, const double *beta, size_t problems, const double *rows, size_t count)
{
    struct sums sums = { .rows = count,
                         .g = get(problems * count, sizeof(long double)),
                         .slack = get(problems * count, sizeof(double)),
                         .absolute = get(problems * count, sizeof(double)) };
    size_t n_sv, *svs = find_svs(t->n, beta, problems, &n_sv);
    bool by_norms = is_of_distance(t->params.kernel.type);
    struct frame frame = frame_of(t, svs, n_sv);
    double *norms = get(n_sv, sizeof *norms), *off = get(n_sv, sizeof *off);
    long double *k = get(n_sv, sizeof *k);
    for (size_t v = 0; by_norms && v < n_sv; v++)
        norms[v] = norm_in(&frame, t->x + svs[v] * t->d, t->d);
    for (size_t i = 0; i < count; i++) {
        double norm = by_norms ? norm_in(&frame, rows + i * t->d, t->d) : 0;
        for (size_t v = 0; v < n_sv; v++) {
            k[v] = kernel_value(t, rows + i * t->d, svs[v], norm + norms[v], off + v);
            sums.largest_kernel = fmax(sums.largest_kernel, (double)fabsl(k[v]));
            if (k[v] != k[v])
                sums.largest_kernel = INFINITY;
        }
        add_row(t, beta, problems, svs, n_sv, k, off, i, &sums);
    }
    return sums;
}

/* ---- Classes ----------------------------------------------------------------------------------------------------- */

/* In the order of hinge's: as they come, but -1 first, +1 second the other way round. */
size_t truth_classes(const struct trial *t, double labels[MAX_CLASSES])
{
    size_t k = 0;
    for (size_t i = 0; i < t->n; i++) {
        size_t j = 0;
        while (j < k && labels[j] != t->y[i])
            j++;
        if (j == k)
            labels[k++] = t->y[i];
    }
    if (k == 2 && labels[0] == -1 && labels[1] == 1) {
        labels[0] = 1;
        labels[1] = -1;
    }
    return k;
}

static bool is_classification(const struct trial *t)
{
    return hinge_task_info(t->params.task)->classifies;
}

/* The classes of problem p: the second is k where it is all the others. */
static void classes_of(const struct trial *t, size_t k, size_t p, size_t *first, size_t *second)
{
    *first = 0;
    *second = 1;
    if (k == 2)
        return;
    if (t->params.multiclass == HINGE_ONE_VS_REST) {
        *first = p;
        *second = k;
        return;
    }
    for (size_t i = 0; i < k; i++)
        for (size_t j = i + 1; j < k; j++)
            if (p-- == 0) {
                *first = i;
                *second = j;
                return;
            }
}

static double sign_among(const struct trial *t, const double *labels, size_t k, size_t p, size_t i)
{
    if (!is_classification(t))
        return 1;
    size_t first, second;
    classes_of(t, k, p, &first, &second);
    return t->y[i] == labels[first] ? 1 : second == k || t->y[i] == labels[second] ? -1 : 0;
}

double truth_sign(const struct trial *t, const hinge_model *model, size_t p, size_t i)
{
    return sign_among(t, hinge_model_labels(model), hinge_model_n_classes(model), p, i);
}

double truth_cap(const struct trial *t, size_t i)
{
    const hinge_params *p = &t->params;
    double cap = hinge_task_info(p->task)->uses_C ? p->C : 1;
    double weight = t->weights != NULL ? t->weights[i] : 1;
    for (size_t k = 0; k < p->n_class_weights; k++)
        if (p->class_labels[k] == t->y[i])
            weight *= p->class_weights[k];
    return weight == 0 ? 0 : cap * weight;
}

/* nu-SVC: nu / 2 of all weight is to be found in either class. */
static bool nu_is_feasible(const struct trial *t, const double *labels, size_t k)
{
    for (size_t a = 0; a < k; a++)
        for (size_t b = a + 1; b < k; b++) {
            double sums[2] = { 0, 0 };
            for (size_t i = 0; i < t->n; i++)
                if (t->y[i] == labels[a] || t->y[i] == labels[b])
                    sums[t->y[i] == labels[b]] += truth_cap(t, i);
            if (t->params.nu * (sums[0] + sums[1]) / 2 > fmin(sums[0], sums[1]))
                return false;
        }
    return true;
}

bool truth_valid(const struct trial *t, const char **why)
{
    const hinge_params *p = &t->params;
    double labels[MAX_CLASSES], weight = 0, least = INFINITY;
    size_t k = is_classification(t) ? truth_classes(t, labels) : 2;
    for (size_t i = 0; i < t->n; i++)
        weight += t->weights != NULL ? t->weights[i] : 1;
    for (size_t a = 0; is_classification(t) && a < k; a++) {
        double of_class = 0;
        for (size_t i = 0; i < t->n; i++)
            of_class += t->y[i] == labels[a] ? truth_cap(t, i) : 0;
        least = fmin(least, of_class);
    }
    bool hard = p->task == HINGE_C_SVC && isinf(p->C);
    *why = !(p->nu <= 1) && (p->task == HINGE_NU_SVC || p->task == HINGE_NU_SVR || p->task == HINGE_ONE_CLASS) ? "nu"
           : p->C > 1e300 && !hard                                             ? "bounds that overflow"
           : weight == 0                                                       ? "no example has a weight"
           : least == 0                                                        ? "a class without weight"
           : p->task == HINGE_NU_SVC && k > 1 && !nu_is_feasible(t, labels, k) ? "nu"
           : p->solver == HINGE_SOLVER_INTERIOR_POINT && p->precision == HINGE_PRECISION_F32
               ? "the interior point in f32"
           : hard && (p->solver == HINGE_SOLVER_SMO || p->precision == HINGE_PRECISION_F32 || p->max_iter > 0 ||
                      p->working_set > 0)
               ? "the hard margin is the interior point's"
           : p->solver == HINGE_SOLVER_SMO && p->rank > 0 ? "a rank is the interior point's"
                                                          : NULL;
    return *why == NULL;
}

/* ---- Conditions of optimality ------------------------------------------------------------------------------------ */

struct variable {
    double s, p, alpha, cap;
    int layer;
};

/* The variables of an example: one, or two for regression. */
static size_t variables_of(const struct trial *t, double sign, size_t i, double beta, struct variable v[2])
{
    double cap = truth_cap(t, i), y = t->y[i], tube = t->params.p, tau = t->params.tau;
    switch (t->params.task) {
    case HINGE_C_SVC:
        v[0] = (struct variable){ sign, -1, sign * beta, cap, 0 };
        return 1;
    case HINGE_NU_SVC:
        v[0] = (struct variable){ sign, 0, sign * beta, cap, sign < 0 };
        return 1;
    case HINGE_ONE_CLASS:
        v[0] = (struct variable){ 1, 0, beta, cap, 0 };
        return 1;
    case HINGE_EPSILON_SVR:
        v[0] = (struct variable){ 1, tube - y, fmax(beta, 0), cap, 0 };
        v[1] = (struct variable){ -1, tube + y, fmax(-beta, 0), cap, 0 };
        return 2;
    case HINGE_QUANTILE: /* without a tube, an example at 0 may move to either side at one price */
        v[0] = (struct variable){ 1, -y, fmax(beta, 0), cap * tau, 0 };
        v[1] = (struct variable){ -1, y, fmax(-beta, 0), cap * (1 - tau), 0 };
        return 2;
    default:
        v[0] = (struct variable){ 1, -y, fmax(beta, 0), cap, 0 };
        v[1] = (struct variable){ -1, y, fmax(-beta, 0), cap, 1 };
        return 2;
    }
}

/* Where one layer stands: least F that may rise, largest that may fall; as it is, and moved by slack. */
struct layer {
    long double up, down, up_low, down_low, up_high, down_high;
    long double free_low, free_high;
};

/* What is not above from, or not below to, is at a bound. */
static void look_at(struct layer *l, const struct variable *v, long double F, double slack, double from, double to)
{
    bool below = v->alpha<to, above = v->alpha> from;
    if (v->s > 0 ? below : above) {
        l->up = fminl(l->up, F);
        l->up_low = fminl(l->up_low, F + slack);
    }
    if (v->s > 0 ? v->alpha < v->cap : above) /* to be at a bound but for rounding is to be inside */
        l->up_high = fminl(l->up_high, F - slack);
    if (v->s > 0 ? above : below) {
        l->down = fmaxl(l->down, F);
        l->down_low = fmaxl(l->down_low, F - slack);
    }
    if (v->s > 0 ? above : v->alpha < v->cap)
        l->down_high = fmaxl(l->down_high, F + slack);
    if (above && below) {
        l->free_low = fminl(l->free_low, F);
        l->free_high = fmaxl(l->free_high, F);
    }
}

/* Where a problem stands: by layers, as one, and for the bias, with what is at its bound but for rounding there. */
struct stand {
    struct layer layers[2], both, bias;
    double rounding;
};

static void add_to(struct stand *st, const struct variable *v, long double F, double slack, double tolerance)
{
    look_at(&st->layers[v->layer], v, F, slack, 0, v->cap * (1 - tolerance));
    look_at(&st->both, v, F, slack, 0, v->cap * (1 - 1e-15));
    look_at(&st->bias, v, F, slack, st->rounding, v->cap - st->rounding);
}

static struct stand stand_of(double rounding)
{
    static const struct layer empty = { INFINITY, -INFINITY, INFINITY, -INFINITY,
                                        INFINITY, -INFINITY, INFINITY, -INFINITY };
    return (struct stand){ { empty, empty }, empty, empty, rounding };
}

/* What an ending in doubles may leave of a coefficient at its bound: the rounding of a sum of so many, which the last
 * one is to mend. Were it taken for one inside, it alone would tell the bias. */
static double left_of_sum(const struct trial *t, const hinge_model *model, size_t p, const double *beta, double r)
{
    double sum = 0, count = 0;
    for (size_t i = 0; i < t->n; i++)
        if (truth_sign(t, model, p, i) != 0 && beta[i] != 0) {
            sum += fabs(beta[i]) * r;
            count++;
        }
    return count * ulp * sum;
}

static void bound_bias(struct verdict *out, const struct layer *l)
{
    bool has_free = l->free_low <= l->free_high;
    out->rho_low = (double)(has_free ? l->free_low : fminl(l->up, l->down));
    out->rho_high = (double)(has_free ? l->free_high : fmaxl(l->up, l->down));
}

static void settle(struct verdict *out, const struct layer *layers, bool no_bias, bool one_layer)
{
    out->kkt = out->kkt_low = out->kkt_high = -INFINITY;
    for (int k = 0; k < (one_layer ? 1 : 2); k++) {
        const struct layer *l = layers + k;
        if (no_bias) {
            out->kkt = fmaxl(l->down, -l->up);
            out->kkt_low = fmaxl(l->down_low, -l->up_low);
            out->kkt_high = fmaxl(l->down_high, -l->up_high);
            continue;
        }
        out->kkt = fmaxl(out->kkt, l->down - l->up);
        out->kkt_low = fmaxl(out->kkt_low, l->down_low - l->up_low);
        out->kkt_high = fmaxl(out->kkt_high, l->down_high - l->up_high);
    }
    long double thresholds[2];
    long double ends[2];
    for (int k = 0; k < 2; k++) {
        const struct layer *l = layers + (one_layer ? 0 : k);
        bool inside = l->free_low <= l->free_high;
        thresholds[k] = inside ? (l->free_low + l->free_high) / 2 : (l->up + l->down) / 2;
        ends[k] = !isinf(thresholds[k]) ? thresholds[k] : isinf(l->up) ? l->down : l->up;
    }
    out->middle = (double)(thresholds[0] + thresholds[1]) / 2;
    out->margin = (double)(thresholds[0] - thresholds[1]) / 2;
    out->least_margin = (double)(ends[0] - ends[1]) / 2;
}

/* What one example adds to the gap: h(b) - min h over its box. */
static long double gap_of(const struct variable *v, size_t count, long double f)
{
    long double gap = 0;
    for (size_t k = 0; k < count; k++) {
        long double y = v[k].s * f + v[k].p; /* >= 0 where the constraint holds */
        gap += v[k].alpha * y + (y < 0 && !isinf(v[k].cap) ? -v[k].cap * y : 0);
    }
    return gap;
}

/* nu-SVC: coefficients were divided by r. The sum of alpha tells it, up to the rounding of steps; better does one that
 * is at its bound. */
static double divisor(const struct trial *t, const hinge_model *model, size_t p, const double *beta)
{
    double sum = 0, weight = 0, largest = 0;
    for (size_t i = 0; i < t->n; i++)
        if (truth_sign(t, model, p, i) != 0 && truth_cap(t, i) > 0) {
            sum += fabs(beta[i]);
            weight += truth_cap(t, i);
            largest = fmax(largest, fabs(beta[i]) / truth_cap(t, i));
        }
    double r = sum > 0 ? t->params.nu * weight / sum : 1;
    return fabs(r * largest - 1) <= 1e-10 ? 1 / largest : r;
}

/* The sums that are held: 0; nu times the weight; nu / 2 times it for either layer. */
static void judge_sums(const struct trial *t, struct verdict *out, const long double sums[2], long double weight)
{
    const hinge_params *p = &t->params;
    long double half = p->nu * weight / 2, off = 0;
    if (p->task == HINGE_ONE_CLASS)
        off = fabsl(sums[0] - 2 * half);
    else if (p->task == HINGE_NU_SVC)
        off = fmaxl(fabsl(sums[0] - half), fabsl(sums[1] - half));
    else if (p->task == HINGE_NU_SVR) /* both sides of an example may be in use where the tube is 0: only less shows */
        off = fmaxl(fabsl(sums[0] - sums[1]), fmaxl(sums[0], sums[1]) - half);
    else if (!p->no_bias)
        off = fabsl(sums[0] - sums[1]);
    out->sum = (double)off;
}

struct verdict truth_verdict(const struct trial *t, const hinge_model *model, size_t p, const double *beta,
                             const struct sums *sums, double rho, bool unscaled)
{
    const hinge_params *params = &t->params;
    bool nu_svc = params->task == HINGE_NU_SVC, two_layers = nu_svc || params->task == HINGE_NU_SVR;
    struct verdict out = { .r = nu_svc && !unscaled ? divisor(t, model, p, beta) : 1 };
    struct stand stand = stand_of(left_of_sum(t, model, p, beta, out.r));
    long double held[2] = { 0, 0 }, weight = 0, quadratic = 0;
    for (size_t i = 0; i < t->n; i++) {
        double sign = truth_sign(t, model, p, i), b = beta[i] * out.r;
        if (sign == 0 || truth_cap(t, i) == 0)
            continue;
        size_t at = p * sums->rows + i;
        long double g = sums->g[at] * out.r;
        double slack = sums->slack[at] * out.r;
        struct variable v[2];
        size_t count = variables_of(t, sign, i, b, v);
        for (size_t k = 0; k < count; k++) {
            double off = slack + 4 * ulp * (fabs((double)g) + fabs(v[k].p));
            add_to(&stand, &v[k], g + v[k].s * v[k].p, off, nu_svc ? 1e-12 : 1e-15);
            held[v[k].s < 0] += v[k].alpha;
            out.objective += v[k].p * v[k].alpha;
            out.absolute += fabs(v[k].p) * v[k].alpha;
            out.box = fmax(out.box, fmax(-v[k].alpha, v[k].alpha - v[k].cap) / (isinf(v[k].cap) ? 1 : v[k].cap));
            out.slack = fmax(out.slack, off);
        }
        weight += truth_cap(t, i);
        quadratic += b * g / 2;
        out.absolute += fabsl(b) * sums->absolute[at] * out.r / 2;
        out.sum_scale += fabs(b);
        v->p -= nu_svc ? out.r : 0; /* the margin, which is 1 after the division */
        out.gap += gap_of(v, count, g - rho * out.r);
        out.n++;
    }
    out.objective += quadratic;
    out.sum_caps = (double)weight;
    judge_sums(t, &out, held, weight);
    out.drift = out.sum * (fabs(rho) + 1) * out.r;
    settle(&out, stand.layers, params->no_bias, !two_layers);
    bound_bias(&out, &stand.bias);
    if (params->task == HINGE_NU_SVR && fmaxl(held[0], held[1]) < params->nu * weight / 2 * (1 - 1e-9L)) {
        /* a tube of 0: both sides of an example may be in use, and only their difference is told */
        settle(&out, &stand.both, false, true);
        out.kkt_low /= 2;
        out.middle = out.margin = out.least_margin = NAN;
    }
    out.primal = out.gap - out.objective;
    return out;
}

/* See support.h. */
#include "test/support.h"

#include <hinge/io.h>

#include <fcntl.h>
#include <unistd.h>

hinge_error err;

/* Memory that is given back at the end of a test, or what is ended by a call. */
static struct piece {
    struct piece *next;
    void (*end)(void *);
    void *what;
    max_align_t memory[];
} *pieces;

static struct piece *new_piece(size_t size)
{
    struct piece *piece = calloc(1, sizeof *piece + size);
    if (piece == NULL)
        abort();
    piece->next = pieces;
    pieces = piece;
    return piece;
}

void *get(size_t count, size_t size)
{
    return new_piece(count * size)->memory;
}

void *copy_of(const void *bytes, size_t size)
{
    return memcpy(get(1, size), bytes, size);
}

void at_end(void (*end)(void *), void *what)
{
    struct piece *piece = new_piece(0);
    piece->end = end;
    piece->what = what;
}

int give_back(void **state)
{
    for (struct piece *piece = pieces; piece != NULL; piece = piece->next) /* which may be in others' memory */
        if (piece->end != NULL)
            piece->end(piece->what);
    for (struct piece *next; pieces != NULL; pieces = next) {
        next = pieces->next;
        free(pieces);
    }
    return remove_folder();
}

/* ---- Data sets --------------------------------------------------------------------------------------------------- */

uint64_t draw(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

double draw_unit(uint64_t *state)
{
    return (double)(draw(state) >> 11) * 0x1p-53;
}

double draw_normal(uint64_t *state)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += draw_unit(state);
    return sum;
}

struct set set_new(size_t n, size_t d)
{
    return (struct set){ n, d, get(n * d, sizeof(double)), get(n, sizeof(double)) };
}

hinge_matrix set_matrix(const struct set *set)
{
    return hinge_matrix_f64(set->x, set->n, set->d);
}

const hinge_matrix *matrix_of(const struct set *set)
{
    hinge_matrix *x = get(1, sizeof *x);
    *x = set_matrix(set);
    return x;
}

struct set set_rows(const struct set *set, const size_t *rows, size_t n)
{
    struct set part = set_new(n, set->d);
    for (size_t i = 0; i < n; i++) {
        memcpy(part.x + i * set->d, set->x + rows[i] * set->d, set->d * sizeof(double));
        part.y[i] = set->y[rows[i]];
    }
    return part;
}

struct set set_join(const struct set *a, const struct set *b)
{
    struct set both = set_new(a->n + b->n, a->d);
    for (size_t i = 0; i < both.n; i++) {
        const struct set *from = i < a->n ? a : b;
        size_t row = i < a->n ? i : i - a->n;
        memcpy(both.x + i * a->d, from->x + row * a->d, a->d * sizeof(double));
        both.y[i] = from->y[row];
    }
    return both;
}

struct set set_blobs(uint64_t seed, size_t n, size_t d, size_t k, const double *labels, double noise)
{
    struct set set = set_new(n, d);
    double *centres = get(2 * k * d, sizeof(double));
    for (size_t i = 0; i < 2 * k * d; i++) /* two blobs a class */
        centres[i] = draw_normal(&seed);
    for (size_t i = 0; i < n; i++) {
        size_t blob = draw(&seed) % (2 * k);
        for (size_t c = 0; c < d; c++) {
            double v = centres[blob * d + c] + noise * draw_normal(&seed);
            set.x[i * d + c] = (double)(float)v; /* exact in f32 */
        }
        set.y[i] = labels != NULL ? labels[blob % k] : (double)(blob % k + 1);
    }
    return set;
}

struct set set_two_class(uint64_t seed, size_t n, size_t d, double noise)
{
    return set_blobs(seed, n, d, 2, (const double[]){ 1, -1 }, noise);
}

struct set set_regression(uint64_t seed, size_t n, size_t d)
{
    struct set set = set_new(n, d);
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t c = 0; c < d; c++) {
            set.x[i * d + c] = (double)(float)(2 * draw_unit(&seed) - 1);
            sum += sin(3 * set.x[i * d + c]) / (double)(c + 1);
        }
        set.y[i] = sum + 0.2 * draw_normal(&seed);
    }
    return set;
}

void set_scale(struct set *set)
{
    for (size_t c = 0; c < set->d; c++) {
        double low = INFINITY, high = -INFINITY;
        for (size_t i = 0; i < set->n; i++) {
            low = fmin(low, set->x[i * set->d + c]);
            high = fmax(high, set->x[i * set->d + c]);
        }
        for (size_t i = 0; i < set->n; i++) {
            double *v = set->x + i * set->d + c;
            *v = high > low ? 2 * (*v - low) / (high - low) - 1 : 0;
        }
    }
}

void set_multiply(struct set *set, double factor)
{
    for (size_t i = 0; i < set->n * set->d; i++)
        set->x[i] *= factor;
}

bool set_read(struct set *set, const char *path, size_t d, size_t first, size_t step, size_t n)
{
    if (access(path, R_OK) != 0)
        return false;
    char command[600];
    snprintf(command, sizeof command, "xz -dc '%s'", path);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    size_t room = n > 0 ? n : 1024, count = 0, capacity = 0;
    *set = set_new(room, d);
    char *line = NULL;
    for (size_t i = 0; (n == 0 || count < n) && getline(&line, &capacity, pipe) > 0; i++) {
        if (i < first || (i - first) % step != 0)
            continue;
        if (count == room) {
            struct set wide = set_new(2 * room, d);
            memcpy(wide.x, set->x, room * d * sizeof(double));
            memcpy(wide.y, set->y, room * sizeof(double));
            *set = wide;
            room *= 2;
        }
        char *at = line;
        set->y[count] = strtod(line, &at);
        for (char *end; *at != '\n' && *at != 0; at = end) {
            size_t column = strtoul(at, &end, 10);
            if (end == at || *end != ':')
                break;
            double value = strtod(end + 1, &end);
            if (column >= 1 && column <= d)
                set->x[count * d + column - 1] = value;
        }
        count++;
    }
    free(line);
    pclose(pipe);
    set->n = count;
    return count > 0;
}

struct set set_shipped(const char *name, const char *part, size_t d, size_t first, size_t step, size_t n)
{
    char source[256], path[400];
    const char *root = getenv("HINGE_SOURCE");
    if (root == NULL) { /* build/test/program */
        ssize_t length = readlink("/proc/self/exe", source, sizeof source - 1);
        source[length > 0 ? length : 0] = 0;
        for (int up = 0; up < 3; up++) {
            char *slash = strrchr(source, '/');
            if (slash != NULL)
                *slash = 0;
        }
        root = source;
    }
    struct set set = { 0 };
    snprintf(path, sizeof path, "%s/data/%s.%s.xz", root, name, part);
    if (!set_read(&set, path, d, first, step, n))
        fail_msg("cannot read %s: set HINGE_SOURCE to the source's folder", path);
    return set;
}

struct set set_shared(const char *name, const char *part, size_t d, size_t first, size_t step, size_t n)
{
    const char *root = getenv("HINGE_DATA");
    if (root == NULL || *root == 0)
        skip_because("no HINGE_DATA");
    struct set set = { 0 };
    char path[512];
    snprintf(path, sizeof path, "%s/%s.%s.xz", root, name, part);
    if (!set_read(&set, path, d, first, step, n))
        fail_msg("cannot read %s", path);
    return set;
}

/* ---- Plain loops ------------------------------------------------------------------------------------------------- */

/* The sum over products of parts, whose columns and gammas may be told or not. */
static double plain_parts(const hinge_kernel *kernel, const double *a, const double *b, size_t d)
{
    double sum = 0, product = 0;
    for (size_t k = 0; k < kernel->n_parts; k++) {
        const hinge_kernel_part *part = &kernel->parts[k];
        double value = plain_kernel(&part->kernel, a + part->first, b + part->first,
                                    part->count > 0 ? part->count : d - part->first);
        value *= part->factor > 0 ? part->factor : 1;
        bool times = k > 0 && part->times;
        sum += times ? 0 : product;
        product = times ? product * value : value;
    }
    return sum + product;
}

static double plain_dot(const double *a, const double *b, size_t d)
{
    double dot = 0;
    for (size_t c = 0; c < d; c++)
        dot += a[c] * b[c];
    return dot;
}

double plain_square(const double *a, const double *b, size_t d)
{
    double square = 0;
    for (size_t c = 0; c < d; c++)
        square += (a[c] - b[c]) * (a[c] - b[c]);
    return square;
}

/* The kernels of differences, feature by feature. */
static double plain_differences(const hinge_kernel *kernel, double gamma, const double *a, const double *b, size_t d)
{
    double absolute = 0, ratio = 0, least = 0, most = 0;
    for (size_t c = 0; c < d; c++) {
        double difference = a[c] - b[c], both = fabs(a[c]) + fabs(b[c]);
        double shared = a[c] * b[c] > 0 ? fmin(fabs(a[c]), fabs(b[c])) : 0;
        absolute += fabs(difference);
        ratio += both > 0 ? difference * difference / both : 0;
        least += shared;
        most += both - shared;
    }
    if (kernel->type == HINGE_TANIMOTO)
        return most > 0 ? least / most : 1;
    return exp(-gamma * (kernel->type == HINGE_CHI2 ? ratio : absolute));
}

double plain_kernel(const hinge_kernel *kernel, const double *a, const double *b, size_t d)
{
    double gamma = kernel->gamma == HINGE_GAMMA_AUTO ? 1.0 / (double)d : kernel->gamma, power = 1, r;
    switch (kernel->type) {
    case HINGE_LINEAR:
        return plain_dot(a, b, d);
    case HINGE_POLYNOMIAL:
        r = gamma * plain_dot(a, b, d) + kernel->coef0;
        for (int i = 0; i < kernel->degree; i++)
            power *= r;
        return power;
    case HINGE_RBF:
        return exp(-gamma * plain_square(a, b, d));
    case HINGE_SIGMOID:
        return tanh(gamma * plain_dot(a, b, d) + kernel->coef0);
    case HINGE_MATERN32:
        r = sqrt(gamma * plain_square(a, b, d));
        return (1 + r) * exp(-r);
    case HINGE_MATERN52:
        r = sqrt(gamma * plain_square(a, b, d));
        return (1 + r + r * r / 3) * exp(-r);
    case HINGE_LAPLACIAN:
    case HINGE_CHI2:
    case HINGE_TANIMOTO:
        return plain_differences(kernel, gamma, a, b, d);
    case HINGE_COMBINED:
        return plain_parts(kernel, a, b, d);
    default:
        abort();
    }
}

int plain_block(void *kernel, const hinge_matrix *a, const hinge_matrix *b, double *out, size_t ld)
{
    const double *x = a->data, *z = b->data;
    for (size_t i = 0; i < a->rows; i++)
        for (size_t j = 0; j < b->rows; j++)
            out[i * ld + j] = plain_kernel(kernel, x + i * a->stride, z + j * b->stride, a->cols);
    return 0;
}

double *plain_gram(const hinge_kernel *kernel, const struct set *a, const struct set *b)
{
    double *gram = get(a->n * b->n, sizeof(double));
    for (size_t i = 0; i < a->n; i++)
        for (size_t j = 0; j < b->n; j++)
            gram[i * b->n + j] = plain_kernel(kernel, a->x + i * a->d, b->x + j * b->d, a->d);
    return gram;
}

double *plain_decisions(const hinge_model *model, const struct set *set)
{
    size_t k = hinge_model_n_classes(model), problems = hinge_model_n_problems(model);
    struct set sv = set_new(hinge_model_n_sv(model), set->d);
    for (size_t i = 0; i < sv.n; i++)
        assert_int_equal(hinge_model_sv(model, i, sv.x + i * sv.d, NULL), HINGE_OK);
    hinge_kernel kernel = hinge_model_kernel(model);
    double *gram = plain_gram(&kernel, set, &sv), *f = get(set->n * problems, sizeof(double));
    const double *coef = hinge_model_coef(model), *rho = hinge_model_rho(model);
    const size_t *class_sv = hinge_model_class_sv(model);
    for (size_t r = 0; r < set->n; r++) {
        const double *row = gram + r * sv.n;
        double *out = f + r * problems;
        if (class_sv == NULL) {
            for (size_t v = 0; v < sv.n; v++)
                out[0] += coef[v] * row[v];
            out[0] -= rho[0];
            continue;
        }
        size_t p = 0, start_i = 0;
        for (size_t i = 0; i < k; start_i += class_sv[i++]) {
            size_t start_j = start_i + class_sv[i];
            for (size_t j = i + 1; j < k; start_j += class_sv[j++], p++) {
                for (size_t v = start_i; v < start_i + class_sv[i]; v++)
                    out[p] += coef[(j - 1) * sv.n + v] * row[v];
                for (size_t v = start_j; v < start_j + class_sv[j]; v++)
                    out[p] += coef[i * sv.n + v] * row[v];
                out[p] -= rho[p];
            }
        }
    }
    return f;
}

/* One variable of sign s and coefficient alpha at F: where the best pair stands. C is a product whose last bit
 * depends on its order. */
static void bound(double *up, double *down, double s, double alpha, double C, double F)
{
    if (s > 0 ? alpha < C * (1 - 1e-15) : alpha > 0)
        *up = fmin(*up, F);
    if (s > 0 ? alpha > 0 : alpha < C * (1 - 1e-15))
        *down = fmax(*down, F);
}

/* The upper bound of row i. */
static double bound_of(const hinge_params *params, double y, size_t i)
{
    double C = params->task == HINGE_ONE_CLASS ? 1 : params->C;
    C *= params->weights != NULL ? params->weights[i] : 1;
    for (size_t k = 0; k < params->n_class_weights; k++)
        C *= params->class_labels[k] == y ? params->class_weights[k] : 1;
    return C;
}

struct plain_certificate plain_certify(const hinge_model *model, const struct set *set, const hinge_params *params)
{
    struct plain_certificate r = { 0 };
    double *beta = fit_beta(model, set->n), rho = hinge_model_rho(model)[0];
    double quadratic = 0, linear = 0, loss = 0, up = INFINITY, down = -INFINITY;
    bool svr = params->task == HINGE_EPSILON_SVR, one = params->task == HINGE_ONE_CLASS;
    hinge_kernel kernel = hinge_model_kernel(model);
    for (size_t i = 0; i < set->n; i++) {
        double C = bound_of(params, set->y[i], i), g = 0;
        if (C == 0)
            continue;
        for (size_t j = 0; j < set->n; j++)
            if (beta[j] != 0)
                g += beta[j] * plain_kernel(&kernel, set->x + i * set->d, set->x + j * set->d, set->d);
        quadratic += beta[i] * g;
        r.sum += beta[i];
        r.bounds += C;
        double f = g - rho;
        for (int s = 1; s >= -1; s -= 2) {
            if (!svr && s != (one || set->y[i] == hinge_model_labels(model)[0] ? 1 : -1))
                continue;
            double alpha = svr ? fmax(s * beta[i], 0) : s * beta[i];
            double coefficient = svr ? params->p - s * set->y[i] : one ? 0 : -1; /* of alpha in the dual */
            double margin = s * f + coefficient; /* >= -xi where the constraint holds */
            double xi = fmax(0, -margin);
            linear += coefficient * alpha;
            loss += C * xi;
            bound(&up, &down, s, alpha, C, g + s * coefficient);
            r.slackness = fmax(r.slackness, fmax(alpha * (margin + xi), (C - alpha) * xi) / C);
            r.box = fmax(r.box, fmax(-alpha, alpha - C) / C);
        }
    }
    r.primal = quadratic / 2 + loss - (one ? rho * r.sum : 0);
    r.dual = -(quadratic / 2 + linear);
    r.kkt = down - up;
    r.sum = fabs(r.sum) / r.bounds;
    return r;
}

/* ---- hinge ------------------------------------------------------------------------------------------------------- */

hinge_params params_for(hinge_task task, hinge_kernel kernel, double C)
{
    hinge_params params = hinge_params_default(task);
    params.kernel = kernel;
    params.C = C;
    return params;
}

static void end_model(void *model)
{
    hinge_model_free(model);
}

hinge_model *given_back(hinge_model *model)
{
    at_end(end_model, model);
    return model;
}

static void end_selection(void *selection)
{
    hinge_selection_free(selection);
}

hinge_selection *selection_given_back(hinge_selection *selection)
{
    at_end(end_selection, selection);
    return selection;
}

hinge_model *trained(const hinge_matrix *x, const double *y, const hinge_params *params, hinge_report *report)
{
    hinge_model *model = NULL;
    assert_ok(hinge_train(&model, x, y, params, report, &err));
    assert_non_null(model);
    return given_back(model);
}

hinge_model *fit(const struct set *set, const hinge_params *params, hinge_report *report)
{
    return trained(matrix_of(set), set->y, params, report);
}

hinge_model *converged(const struct set *set, const hinge_params *params, hinge_report *report)
{
    hinge_report own, *told = report != NULL ? report : &own;
    hinge_model *model = fit(set, params, told);
    assert_int_equal(told->outcome, HINGE_CONVERGED);
    return model;
}

hinge_certificate certified(const hinge_model *model, const struct set *set, const hinge_params *params)
{
    hinge_certificate c;
    assert_ok(hinge_certify(model, matrix_of(set), set->y, params, &c, &err));
    return c;
}

double *fit_beta(const hinge_model *model, size_t n)
{
    double *beta = get(hinge_model_n_problems(model) * n, sizeof(double));
    assert_int_equal(hinge_model_beta(model, n, beta, NULL), HINGE_OK);
    return beta;
}

double *fit_labels(const hinge_model *model, const struct set *set)
{
    double *labels = get(set->n, sizeof(double));
    assert_ok(hinge_predict(model, matrix_of(set), NULL, labels, NULL, &err));
    return labels;
}

double *fit_decisions(const hinge_model *model, const struct set *set, hinge_precision precision)
{
    double *f = get(set->n * hinge_model_n_problems(model), sizeof(double));
    hinge_predict_options options = { .precision = precision };
    assert_ok(hinge_predict(model, matrix_of(set), &options, NULL, f, &err));
    return f;
}

struct text text_of(const hinge_model *model)
{
    struct text text;
    assert_ok(hinge_model_format(model, &text.bytes, &text.size, &err));
    at_end(hinge_free, text.bytes);
    return text;
}

bool same_text(struct text a, struct text b)
{
    return a.bytes != NULL && b.bytes != NULL && a.size == b.size && memcmp(a.bytes, b.bytes, a.size) == 0;
}

hinge_model *written_and_read(const hinge_model *model)
{
    struct text text = text_of(model);
    hinge_model *again = NULL;
    hinge_kernel kernel = hinge_model_kernel(model);
    assert_ok(hinge_model_parse(&again, "text", text.bytes, text.size, &kernel, &err));
    return given_back(again);
}

/* ---- LIBSVM ------------------------------------------------------------------------------------------------------ */

static double heard_objective, heard_rho;
static size_t heard_problems;

static void listen(const char *text)
{
    double objective, rho;
    if (sscanf(text, "obj = %lf, rho = %lf", &objective, &rho) == 2) {
        heard_objective += objective;
        heard_rho = rho;
        heard_problems++;
    }
}

/* Rows as LIBSVM wants them; a precomputed row starts with its serial number. */
static struct svm_node **make_rows(const struct set *set, bool precomputed)
{
    struct svm_node *at = get(set->n * (set->d + 2), sizeof *at), **rows = get(set->n, sizeof *rows);
    for (size_t i = 0; i < set->n; i++) {
        rows[i] = at;
        if (precomputed)
            *at++ = (struct svm_node){ 0, (double)(i + 1) };
        for (size_t c = 0; c < set->d; c++)
            if (precomputed || set->x[i * set->d + c] != 0)
                *at++ = (struct svm_node){ (int)c + 1, set->x[i * set->d + c] };
        *at++ = (struct svm_node){ -1, 0 };
    }
    return rows;
}

static void end_theirs(void *model)
{
    struct svm_model *theirs = model;
    svm_free_and_destroy_model(&theirs);
}

/* LIBSVM's problem and parameters, checked by it; it is told to tell nothing but to `listen`. */
static void their_question(const struct set *set, const hinge_params *params, struct svm_problem *problem,
                           struct svm_parameter *p)
{
    int *class_labels = get(params->n_class_weights, sizeof(int));
    for (size_t i = 0; i < params->n_class_weights; i++)
        class_labels[i] = (int)params->class_labels[i];
    *problem = (struct svm_problem){ (int)set->n, set->y, make_rows(set, params->kernel.type == HINGE_PRECOMPUTED) };
    *p = (struct svm_parameter){ .svm_type = (int)params->task,
                                 .kernel_type = (int)params->kernel.type,
                                 .degree = params->kernel.degree,
                                 .gamma = params->kernel.gamma,
                                 .coef0 = params->kernel.coef0,
                                 .cache_size = 400,
                                 .eps = params->eps,
                                 .C = params->C,
                                 .nr_weight = (int)params->n_class_weights,
                                 .weight_label = class_labels,
                                 .weight = (double *)(uintptr_t)params->class_weights,
                                 .nu = params->nu,
                                 .p = params->p,
                                 .shrinking = 1,
                                 .probability = params->probability };
    if (p->gamma == HINGE_GAMMA_AUTO)
        p->gamma = 1.0 / (double)set->d;
    svm_set_print_string_function(listen);
    const char *complaint = svm_check_parameter(problem, p);
    if (complaint != NULL)
        fail_msg("LIBSVM: %s", complaint);
}

struct oracle oracle_train(const struct set *set, const hinge_params *params)
{
    struct svm_problem problem;
    struct svm_parameter p;
    their_question(set, params, &problem, &p);
    heard_objective = heard_rho = 0;
    heard_problems = 0;
    struct oracle oracle = { .model = svm_train(&problem, &p) };
    at_end(end_theirs, oracle.model);
    oracle.objective = heard_objective;
    oracle.rho = heard_rho;
    oracle.n_problems = heard_problems;
    return oracle;
}

double *oracle_validate(const struct set *set, const hinge_params *params, int folds)
{
    struct svm_problem problem;
    struct svm_parameter p;
    double *labels = get(set->n, sizeof *labels);
    their_question(set, params, &problem, &p);
    svm_cross_validation(&problem, &p, folds, labels);
    return labels;
}

/* LIBSVM complains on standard error, and leaves a file open that it does not take: Windows would not remove that. */
static struct svm_model *their_load(const hinge_model *model)
{
    int errors = dup(STDERR_FILENO), null = open("/dev/null", O_WRONLY), next = dup(STDERR_FILENO);
    assert_ok(hinge_model_save(model, path_of("model"), &err));
    assert_true(errors >= 0 && null >= 0 && dup2(null, STDERR_FILENO) >= 0);
    close(next);
    struct svm_model *theirs = svm_load_model(path_of("model"));
    if (theirs == NULL)
        close(next);
    assert_true(dup2(errors, STDERR_FILENO) >= 0);
    close(errors);
    close(null);
    if (theirs != NULL)
        at_end(end_theirs, theirs);
    return theirs;
}

struct oracle oracle_read(const hinge_model *model)
{
    struct oracle oracle = { .model = their_load(model), .n_problems = hinge_model_n_problems(model) };
    assert_non_null(oracle.model);
    return oracle;
}

bool oracle_refuses(const hinge_model *model)
{
    return their_load(model) == NULL;
}

void oracle_predict(const struct oracle *oracle, const struct set *set, double *labels, double *decisions)
{
    struct svm_node **rows = make_rows(set, oracle->model->param.kernel_type == PRECOMPUTED);
    double *scratch = get(oracle->n_problems, sizeof(double));
    for (size_t i = 0; i < set->n; i++) {
        double *f = decisions == NULL ? scratch : decisions + i * oracle->n_problems;
        double label = svm_predict_values(oracle->model, rows[i], f);
        if (labels != NULL)
            labels[i] = label;
    }
}

double *oracle_probabilities(const struct oracle *oracle, const struct set *set)
{
    struct svm_node **rows = make_rows(set, false);
    size_t k = (size_t)svm_get_nr_class(oracle->model);
    double *p = get(set->n * k, sizeof *p);
    for (size_t i = 0; i < set->n; i++)
        svm_predict_probability(oracle->model, rows[i], p + i * k);
    return p;
}

/* ---- Assertions -------------------------------------------------------------------------------------------------- */

void status_or_fail(hinge_status found, hinge_status wanted, const char *words, const char *file, int line)
{
    if (found == wanted && err.status == wanted && strstr(err.text, words) != NULL)
        return;
    print_error("status %d, not %d that says '%s': %s\n", (int)found, (int)wanted, words, err.text);
    _fail(file, line);
}

void says_or_fail(const char *text, const char *words, const char *file, int line)
{
    if (strstr(text, words) != NULL)
        return;
    print_error("'%s' does not say '%s'\n", text, words);
    _fail(file, line);
}

void near_or_fail(double a, double b, double tolerance, const char *what, const char *file, int line)
{
    if (fabs(a - b) <= tolerance)
        return;
    print_error("%s: %.17g and %.17g differ by %g, more than %g\n", what, a, b, fabs(a - b), tolerance);
    _fail(file, line);
}

void close_or_fail(double a, double b, double tolerance, const char *what, const char *file, int line)
{
    near_or_fail(a, b, tolerance * fabs(b), what, file, line);
}

double largest_difference(const double *a, const double *b, size_t n)
{
    double largest = 0;
    for (size_t i = 0; i < n; i++) {
        double difference = fabs(a[i] - b[i]);
        if (isnan(difference))
            return difference;
        largest = fmax(largest, difference);
    }
    return largest;
}

double share_equal(const double *a, const double *b, size_t n)
{
    size_t equal = 0;
    for (size_t i = 0; i < n; i++)
        equal += a[i] == b[i];
    return (double)equal / (double)n;
}

/* Teams are had for calls of some microseconds, so that small tests have them. */
double __wrap_hg_team_work(void);
double __wrap_hg_team_work(void)
{
    return 1e5;
}

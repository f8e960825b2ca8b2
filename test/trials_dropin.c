/* The drop-in library of LIBSVM's name, loaded beside LIBSVM: what it makes of a model, values, labels and
 * probabilities, is what LIBSVM makes of the same model, in memory and from its file. See trials.h. */
#include "test/trials.h"

#include <dlfcn.h>

#ifdef HINGE_STAND_IN

/* The functions of one of both. */
struct library {
    struct svm_model *(*train)(const struct svm_problem *, const struct svm_parameter *);
    double (*predict_values)(const struct svm_model *, const struct svm_node *, double *);
    double (*predict_probability)(const struct svm_model *, const struct svm_node *, double *);
    double (*svr_probability)(const struct svm_model *);
    int (*check_probability)(const struct svm_model *);
    int (*save)(const char *, const struct svm_model *);
    struct svm_model *(*load)(const char *);
    void (*free)(struct svm_model **);
    void (*set_print)(void (*)(const char *));
};

static void find(void *library, const char *name, void *to)
{
    void *found = dlsym(library, name);
    memcpy(to, &found, sizeof found);
    if (found == NULL)
        finding("drop-in", "no %s", name);
}

static bool open_stand_in(struct library *l)
{
    void *library = dlopen(HINGE_STAND_IN, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        finding("drop-in", "%s", dlerror());
        return false;
    }
    find(library, "svm_train", &l->train);
    find(library, "svm_predict_values", &l->predict_values);
    find(library, "svm_predict_probability", &l->predict_probability);
    find(library, "svm_get_svr_probability", &l->svr_probability);
    find(library, "svm_check_probability_model", &l->check_probability);
    find(library, "svm_save_model", &l->save);
    find(library, "svm_load_model", &l->load);
    find(library, "svm_free_and_destroy_model", &l->free);
    find(library, "svm_set_print_string_function", &l->set_print);
    if (l->train == svm_train)
        finding("drop-in", "LIBSVM's own has been loaded");
    return l->train != svm_train;
}

static void say_nothing(const char *text)
{
    (void)text;
}

/* Rows as LIBSVM has them; 0 is left out at random. */
static struct svm_node **nodes_of(const double *x, size_t n, size_t d, uint64_t *s)
{
    struct svm_node **rows = get(n + 1, sizeof *rows);
    for (size_t i = 0; i < n; i++) {
        struct svm_node *node = rows[i] = get(d + 1, sizeof *node);
        for (size_t c = 0; c < d; c++)
            if (x[i * d + c] != 0 || chance(s, 0.1))
                *node++ = (struct svm_node){ (int)c + 1, x[i * d + c] };
        node->index = -1;
    }
    return rows;
}

/* One example by both: the same but for rounding. Where LIBSVM's coupling of many classes ends at another round, it is
 * off by what it is content with. */
static bool compare_row(const struct library *l, const struct svm_model *ours, const struct svm_model *theirs,
                        const struct svm_node *x, double size, const char *what)
{
    size_t k = (size_t)ours->nr_class, pairs = k * (k - 1) / 2 + 1;
    double *f = get(pairs, sizeof *f), *g = get(pairs, sizeof *g), *p = get(k + 1, sizeof *p);
    double *q = get(k + 1, sizeof *q), nearest = INFINITY, off = 0, worst = 0;
    bool classifies = ours->param.svm_type <= NU_SVC;
    double label = l->predict_values(ours, x, f), of_svm = svm_predict_values(theirs, x, g);
    for (size_t c = 0; c < (classifies ? k * (k - 1) / 2 : 1); c++) {
        off = fmax(off, fabs(f[c] - g[c]));
        nearest = fmin(nearest, fabs(g[c]));
    }
    if (!(off <= 1e-10 * size)) {
        finding(what, "decision values off by %g, allowed %g", off, 1e-10 * size);
        return false;
    }
    if (label != of_svm && (classifies || ours->param.svm_type == ONE_CLASS) && nearest > 1e-10 * size) {
        finding(what, "label %g, LIBSVM's %g", label, of_svm);
        return false;
    }
    label = l->predict_probability(ours, x, p);
    of_svm = svm_predict_probability(theirs, x, q);
    for (size_t c = 0; c < k && classifies; c++)
        worst = fmax(worst, fabs(p[c] - q[c]));
    double slope = 0;
    for (size_t c = 0; c < k * (k - 1) / 2 && classifies && theirs->probA != NULL; c++)
        slope = fmax(slope, fabs(theirs->probA[c]));
    double allowed = 1e-9 + slope * off + (k > 2 ? 1e-6 : 0);
    if (!(worst <= allowed)) {
        finding(what, "a probability is off by %g, allowed %g (%zu classes)", worst, allowed, k);
        return false;
    }
    double first = 0, second = 0;
    for (size_t c = 0; c < k && classifies; c++) {
        second = q[c] > first ? first : fmax(second, q[c]);
        first = fmax(first, q[c]);
    }
    if (classifies && label != of_svm && first - second > 2 * allowed) {
        finding(what, "label %g by probabilities, LIBSVM's %g", label, of_svm);
        return false;
    }
    return true;
}

/* What decision values are sums of. */
static double size_of_values(const struct svm_model *m, const double *largest)
{
    double size = 1;
    size_t classes = m->param.svm_type <= NU_SVC ? (size_t)m->nr_class : 2;
    for (size_t a = 0; a + 1 < classes; a++) {
        double sum = 0;
        for (int v = 0; v < m->l; v++)
            sum += fabs(m->sv_coef[a][v]) * *largest;
        size = fmax(size, sum);
    }
    for (size_t p = 0; p < classes * (classes - 1) / 2; p++)
        size = fmax(size, fabs(m->rho[p]));
    return size;
}

static void check_both(const struct library *l, const struct trial *t, struct svm_model *ours,
                       const struct svm_model *theirs, uint64_t *s, const char *what)
{
    struct svm_node **train = nodes_of(t->x, t->n, t->d, s), **test = nodes_of(t->test, t->m, t->d, s);
    double *beta = get(t->n, sizeof *beta);
    for (size_t i = 0; i < t->n; i++)
        beta[i] = 1;
    struct sums sums = truth_sums(t, beta, 1, t->x, t->n);
    double largest = sums.largest_kernel;
    if (t->m > 0)
        largest = fmax(largest, truth_sums(t, beta, 1, t->test, t->m).largest_kernel);
    if (!(largest < 1e100))
        return;
    double size = size_of_values(ours, &largest);
    phase(what);
    if (l->check_probability(ours) != svm_check_probability_model(theirs) || ours->nr_class != theirs->nr_class ||
        ours->l != theirs->l) {
        finding(what, "probabilities %d, %d classes, %d SVs; LIBSVM says %d, %d, %d", l->check_probability(ours),
                ours->nr_class, ours->l, svm_check_probability_model(theirs), theirs->nr_class, theirs->l);
        return;
    }
    if (ours->param.svm_type >= EPSILON_SVR && svm_check_probability_model(theirs) &&
        l->svr_probability(ours) != svm_get_svr_probability(theirs))
        finding(what, "sigma %g, LIBSVM's %g", l->svr_probability(ours), svm_get_svr_probability(theirs));
    for (size_t i = 0; i < t->n + t->m; i++)
        if (!compare_row(l, ours, theirs, i < t->n ? train[i] : test[i - t->n], size, what))
            return;
}

static struct svm_parameter parameters_of(const struct trial *t, uint64_t *s)
{
    const hinge_params *p = &t->params;
    return (struct svm_parameter){ .svm_type = (int)p->task,
                                   .kernel_type = (int)p->kernel.type,
                                   .degree = p->kernel.degree,
                                   .gamma = p->kernel.gamma,
                                   .coef0 = p->kernel.coef0,
                                   .cache_size = 100,
                                   .eps = fmax(p->eps, 1e-6),
                                   .C = fmin(p->C, 1e6),
                                   .nu = p->nu,
                                   .p = p->p,
                                   .shrinking = p->shrinking,
                                   .probability = chance(s, 0.85) };
}

void check_dropin(const struct trial *t, uint64_t *s)
{
    struct library l = { 0 };
    struct svm_parameter parameters = parameters_of(t, s);
    struct svm_problem problem = { (int)t->n, t->y, nodes_of(t->x, t->n, t->d, s) };
    if (!open_stand_in(&l) || t->params.task > HINGE_NU_SVR || t->params.kernel.type > HINGE_SIGMOID ||
        !t->integer_labels || svm_check_parameter(&problem, &parameters) != NULL)
        return;
    l.set_print(say_nothing);
    svm_set_print_string_function(say_nothing);
    phase("svm_train of the drop-in");
    struct svm_model *ours = l.train(&problem, &parameters);
    if (ours == NULL) {
        finding("drop-in", "no model");
        return;
    }
    check_both(&l, t, ours, ours, s, "drop-in"); /* LIBSVM reads what the drop-in holds */
    const char *name = path_of("model");
    if (l.save(name, ours) != 0)
        finding("drop-in", "its model is not saved");
    struct svm_model *theirs = svm_load_model(name), *again = l.load(name);
    remove_folder();
    if (theirs == NULL || again == NULL) {
        finding("drop-in", "its model's file is not read by %s", theirs == NULL ? "LIBSVM" : "itself");
        return;
    }
    check_both(&l, t, again, theirs, s, "drop-in, file");
    check_both(&l, t, ours, theirs, s, "drop-in, file of a model");
    l.free(&ours);
    l.free(&again);
    svm_free_and_destroy_model(&theirs);
}

#else

void check_dropin(const struct trial *t, uint64_t *s)
{
    (void)t;
    (void)s;
}

#endif

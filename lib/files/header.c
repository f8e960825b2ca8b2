/*
 * The lines of a model file before "SV" (body.h). Its text is LIBSVM's: a line a key, then "SV" and a line a support
 * vector:
 *
 *     svm_type c_svc
 *     kernel_type rbf
 *     gamma 0.5
 *     nr_class 2
 *     total_sv 2
 *     rho 0.25
 *     label 1 -1
 *     nr_sv 1 1
 *     SV
 *     1 1:0.5 3:-2
 *     -1 2:1
 *
 * What LIBSVM has no words for stands under keys of hinge's own, which it refuses: hinge_label, hinge_kernel (the name
 * of the caller's own, or what a combined one is made of, kernel_text.c), hinge_multiclass one_vs_rest (a coefficient
 * and a rho a class), hinge_targets (so many coefficients a vector, and rho), hinge_scale_factor and
 * hinge_scale_offset, with them hinge_scale_origin and hinge_scale_base or neither (a number a feature), hinge_training
 * (parameters). Of the line "SV" LIBSVM reads the first word only, so that more may stand in it: "SV hinge_features 5",
 * the number of features where no support vectors tell it; "SV hinge_tau 0.9", the level of a quantile regression,
 * which is an epsilon_svr to LIBSVM and predicts as one; "SV hinge_names 2 1 length width species", the names of two
 * features and of one target; last "SV hinge_words cat dog", the words that the labels 1 and 2 stand for. In these %20
 * is a blank and %25 a percent sign.
 */
#include "lib/model/model.h"
#include "lib/data/params.h"
#include "lib/files/body.h"
#include "lib/files/kernel_text.h"
#include "lib/files/number.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the table of keys --------------------------------------------------------------------------------- */

enum { N_MARKS = 10 };

enum key {
    SVM_TYPE,
    KERNEL_TYPE,
    KERNEL_NAME,
    DEGREE,
    GAMMA,
    COEF0,
    MULTICLASS,
    TARGETS,
    NR_CLASS,
    TOTAL_SV,
    RHO,
    LABEL,
    HINGE_LABEL,
    PROB_A,
    PROB_B,
    DENSITY_MARKS,
    NR_SV,
    SCALE_FACTOR,
    SCALE_OFFSET,
    SCALE_ORIGIN,
    SCALE_BASE,
    TRAINING,
    N_KEYS
};

static bool all_int(const double *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!(values[i] >= INT_MIN && values[i] <= INT_MAX && values[i] == floor(values[i])))
            return false;
    return true;
}

/* Decides which keys a model has. Labels that are not read yet may be of either kind. */
enum trait {
    ANY = 0,
    NAMED_KERNEL = 1, /* by more than its type */
    USES_DEGREE = 2,
    USES_GAMMA = 4,
    USES_COEF0 = 8,
    FEATURES = 16,
    CLASSES = 32,
    WHOLE_LABELS = 64,
    ODD_LABELS = 128,
    ONE_VS_REST = 256,
    HAS_WIDTH = 512,
    ONE_CLASS = 1024,
    MANY = 2048
};

/* Tells all traits of a model as far as it is read. */
static unsigned traits_of(const struct hinge_model *m)
{
    const hinge_kernel_row *kernel = hinge_kernel_info(m->kernel.type);
    const hinge_task_row *task = hinge_task_info(m->task);
    bool known = m->labels != NULL, whole = known && all_int(m->labels, m->n_classes);
    bool named = m->kernel.type == HINGE_USER || m->kernel.type == HINGE_COMBINED;
    return (named ? NAMED_KERNEL : ANY) | (kernel->uses_degree ? USES_DEGREE : ANY) |
           (kernel->uses_gamma ? USES_GAMMA : ANY) | (kernel->uses_coef0 ? USES_COEF0 : ANY) |
           (m->kernel.type != HINGE_PRECOMPUTED ? FEATURES : ANY) | (task->classifies ? CLASSES : ANY) |
           (task->classifies && (whole || !known) ? WHOLE_LABELS : ANY) |
           (task->classifies && !whole ? ODD_LABELS : ANY) | (m->multiclass == HINGE_ONE_VS_REST ? ONE_VS_REST : ANY) |
           (!task->one_class && !task->uses_tau ? HAS_WIDTH : ANY) | (task->one_class ? ONE_CLASS : ANY) |
           (m->n_targets > 0 ? MANY : ANY);
}

static bool has_trait(const struct hinge_model *m, unsigned trait)
{
    return (traits_of(m) & trait) == trait;
}

/* Says what stands behind a key: a word; one number; a number for each class, problem or feature. */
enum shape { WORD, COUNT, DEGREES, REAL, REALS, WHOLE_REALS, COUNTS };

/* Keys in the order in which they are written. at: where the model keeps the value, or the pointer to them; n: where it
 * says how many there are, 0: nowhere. */
static const struct key_row {
    const char *name;
    enum shape shape;
    enum trait in; /* models that have it */
    size_t at, n;
    const char *refusal; /* of it in other models */
} rows[N_KEYS] = {
#define AT(field) offsetof(struct hinge_model, field)
    [SVM_TYPE] = { "svm_type", WORD, ANY, 0, 0, NULL },
    [KERNEL_TYPE] = { "kernel_type", WORD, ANY, 0, 0, NULL },
    [KERNEL_NAME] = { "hinge_kernel", WORD, NAMED_KERNEL, 0, 0, NULL },
    [DEGREE] = { "degree", DEGREES, USES_DEGREE, AT(kernel.degree), 0, NULL },
    [GAMMA] = { "gamma", REAL, USES_GAMMA, AT(kernel.gamma), 0, NULL },
    [COEF0] = { "coef0", REAL, USES_COEF0, AT(kernel.coef0), 0, NULL },
    [MULTICLASS] = { "hinge_multiclass", WORD, ONE_VS_REST, 0, 0, NULL },
    [TARGETS] = { "hinge_targets", COUNT, MANY, AT(n_targets), 0, NULL },
    [NR_CLASS] = { "nr_class", COUNT, ANY, AT(n_classes), 0, NULL },
    [TOTAL_SV] = { "total_sv", COUNT, ANY, AT(n_sv), 0, NULL },
    [RHO] = { "rho", REALS, ANY, AT(rho), AT(n_problems), NULL },
    [LABEL] = { "label", WHOLE_REALS, WHOLE_LABELS, AT(labels), AT(n_classes), "of a task that has no classes" },
    [HINGE_LABEL] = { "hinge_label", REALS, ODD_LABELS, AT(labels), AT(n_classes), "beside label, or without classes" },
    [PROB_A] = { "probA", REALS, HAS_WIDTH, AT(prob_a), AT(n_problems), "of a model that has none" },
    [PROB_B] = { "probB", REALS, CLASSES, AT(prob_b), AT(n_problems), "of a model that has none" },
    [DENSITY_MARKS] = { "prob_density_marks", REALS, ONE_CLASS, AT(density_marks), 0, "of a model that has none" },
    [NR_SV] = { "nr_sv", COUNTS, CLASSES, AT(class_sv), AT(n_classes), "of a task that has no classes" },
    [SCALE_FACTOR] = { "hinge_scale_factor", REALS, FEATURES, AT(scale_factor), AT(d), "with a precomputed kernel" },
    [SCALE_OFFSET] = { "hinge_scale_offset", REALS, FEATURES, AT(scale_offset), AT(d), "with a precomputed kernel" },
    [SCALE_ORIGIN] = { "hinge_scale_origin", REALS, FEATURES, AT(scale_origin), AT(d), "with a precomputed kernel" },
    [SCALE_BASE] = { "hinge_scale_base", REALS, FEATURES, AT(scale_base), AT(d), "with a precomputed kernel" },
    [TRAINING] = { "hinge_training", REALS, ANY, AT(training), AT(n_training), NULL },
};

/* Returns how many values a list is to have: what the model says where its row says it does, or ten marks. */
static size_t values_due(const struct hinge_model *m, enum key key)
{
    return rows[key].n == 0 ? N_MARKS : *(const size_t *)(const void *)((const char *)m + rows[key].n);
}

/* ---- writing ------------------------------------------------------------------------------------------- */

static const char *word_of(const struct hinge_model *m, enum key key)
{
    if (key == SVM_TYPE)
        return hinge_task_info((hinge_task)hinge_task_info(m->task)->libsvm)->keyword;
    if (key == KERNEL_TYPE)
        return hinge_kernel_info(m->kernel.type)->keyword;
    return key == KERNEL_NAME ? m->kernel.name : "one_vs_rest";
}

/* Writes a line, unless the model has no such list. */
static void print_key(const struct hinge_model *m, enum key key, struct hg_text *text)
{
    const struct key_row *row = &rows[key];
    const void *at = (const char *)m + row->at;
    bool one = row->shape < REALS;
    const void *values = one ? at : *(void *const *)at;
    if (values == NULL)
        return;
    hg_text_print(text, "%s", row->name);
    for (size_t i = 0, n = one ? 1 : values_due(m, key); i < n; i++) {
        hg_text_add(text, " ", 1);
        if (key == KERNEL_NAME && m->kernel.type == HINGE_COMBINED)
            hg_kernel_print(&m->kernel, text);
        else if (row->shape == WORD)
            hg_text_print(text, "%.*s", (int)sizeof m->kernel.name - 1, word_of(m, key));
        else if (row->shape == DEGREES)
            hg_text_print(text, "%d", *(const int *)values);
        else if (row->shape == COUNT || row->shape == COUNTS)
            hg_text_print(text, "%zu", ((const size_t *)values)[i]);
        else
            hg_text_number(text, ((const double *)values)[i]);
    }
    hg_text_add(text, "\n", 1);
}

void hg_header_print(const struct hinge_model *model, struct hg_text *text)
{
    for (enum key key = 0; key < N_KEYS; key++)
        if (has_trait(model, rows[key].in))
            print_key(model, key, text);
}

/* ---- reading: the header ------------------------------------------------------------------------------- */

/* Holds a file as it is read. What is found goes into the model; each step returns whether all is well, and otherwise
 * leaves the failure in status and err. */
struct reader {
    const char *file;
    struct hinge_model *model;
    bool own; /* not LIBSVM's: more is refused */
    hinge_status status;
    hinge_error *err;
    struct hg_line lines[N_KEYS]; /* behind the key; number 0: not there */
    struct hg_body body;
};

static bool done(struct reader *r, hinge_status status)
{
    r->status = status;
    return status == HINGE_OK;
}

#define FAIL(status, line, ...) done(r, hg_fail_at(r->err, (status), r->file, (line), __VA_ARGS__))

static bool has(const struct reader *r, enum key key)
{
    return r->lines[key].number > 0;
}

static struct hg_excerpt value_of(const struct reader *r, enum key key)
{
    return hg_excerpt_all(r->lines[key].p, r->lines[key].end);
}

/* Fails with "file:line: key 'value' reason". */
static bool refuse(struct reader *r, enum key key, const char *reason)
{
    return FAIL(HINGE_EFORMAT, r->lines[key].number, "%s '%s' %s", rows[key].name, value_of(r, key).text, reason);
}

static bool require(struct reader *r, enum key key)
{
    return has(r, key) || FAIL(HINGE_EFORMAT, 0, "%s is missing", rows[key].name);
}

/* Files "key value ..." lines under their keys, up to the line "SV". */
static bool find_keys(struct reader *r, const char *p, const char *end)
{
    for (size_t number = 1; p < end; number++) {
        struct hg_line line = hg_next_line(r->file, number, &p, end);
        const char *stop = hg_word_end(line.p, line.end);
        enum key key = 0;
        if (hg_same_word(line.p, stop, "SV")) {
            line.p = stop;
            r->body = (struct hg_body){ .told = line, .text = p, .size = (size_t)(end - p) };
            return done(r, hg_told_read(&r->body, &r->model->tau, r->err));
        }
        while (key < N_KEYS && !hg_same_word(line.p, stop, rows[key].name))
            key++;
        if (key == N_KEYS)
            return FAIL(HINGE_EFORMAT, number, "'%s' is not a key of a model file", hg_excerpt_all(line.p, stop).text);
        if (has(r, key))
            return FAIL(HINGE_EFORMAT, number, "%s stands in line %zu already", rows[key].name, r->lines[key].number);
        line.p = hg_skip_blanks(stop, line.end);
        while (line.end > line.p && hg_is_blank(line.end[-1]))
            line.end--;
        r->lines[key] = line;
    }
    return FAIL(HINGE_EFORMAT, 0, "no line 'SV': not a model file, or its end is missing");
}

/* Finds the task by LIBSVM's keyword in the table of tasks. Quantile regression stands under the keyword of
 * epsilon_svr, and hinge_tau, which stands behind "SV", tells them apart. */
static bool read_task(struct reader *r)
{
    const struct hg_line *line = &r->lines[SVM_TYPE];
    const hinge_task_row *task = hinge_task_info(HINGE_C_SVC), *own = hinge_task_info(HINGE_QUANTILE);
    if (!require(r, SVM_TYPE))
        return false;
    while (task != NULL && !(task->libsvm == (int)task->task && hg_same_word(line->p, line->end, task->keyword)))
        task = hinge_task_info((hinge_task)(task->task + 1));
    if (task == NULL)
        return refuse(r, SVM_TYPE, "is not known");
    if (r->model->tau > 0 && own->libsvm != (int)task->task)
        return refuse(r, SVM_TYPE, "has no hinge_tau");
    r->model->task = r->model->tau > 0 ? own->task : task->task;
    return true;
}

/* Checks the caller's own kernel, which has to be the one the model was trained with. */
static bool read_user_kernel(struct reader *r, const hinge_kernel *user)
{
    const struct hg_line *line = &r->lines[KERNEL_NAME];
    if (!require(r, KERNEL_NAME))
        return false;
    if (user == NULL || user->type != HINGE_USER || user->user == NULL)
        return FAIL(HINGE_EINVAL, line->number, "the model needs the user kernel '%s', and none was given",
                    value_of(r, KERNEL_NAME).text);
    size_t length = strnlen(user->name, sizeof user->name);
    if (length != (size_t)(line->end - line->p) || memcmp(line->p, user->name, length) != 0)
        return FAIL(HINGE_EINVAL, line->number, "the model needs the user kernel '%s', not '%.31s'",
                    value_of(r, KERNEL_NAME).text, user->name);
    r->model->kernel = *user;
    return true;
}

/* Reads what a combined kernel is made of. Its columns are the least that the model has. */
static bool read_parts(struct reader *r)
{
    const struct hg_line *line = &r->lines[KERNEL_NAME];
    hinge_kernel_part *parts;
    hinge_kernel kernel;
    hinge_error why;
    if (!require(r, KERNEL_NAME))
        return false;
    hinge_status status = hg_kernel_read(line->p, line->end, &kernel, &parts, &why);
    if (status != HINGE_OK)
        return FAIL(status == HINGE_EINVAL ? HINGE_EFORMAT : status, line->number, "hinge_kernel: %.200s", why.text);
    r->model->kernel = kernel;
    for (size_t k = 0; k < kernel.n_parts; k++)
        r->model->d = HG_MAX(r->model->d, parts[k].first + HG_MAX(parts[k].count, (size_t)1));
    return r->model->d <= INT_MAX || refuse(r, KERNEL_NAME, "has too many columns");
}

/* Finds the kernel by its keyword in the table of kernels; parameters stay those of the linear kernel until they are
 * read. */
static bool read_kernel_type(struct reader *r, const hinge_kernel *user)
{
    const struct hg_line *line = &r->lines[KERNEL_TYPE];
    const hinge_kernel_row *row = hinge_kernel_info(HINGE_LINEAR);
    if (!require(r, KERNEL_TYPE))
        return false;
    while (row != NULL && !hg_same_word(line->p, line->end, row->keyword))
        row = hinge_kernel_info(row->kernel + 1);
    if (row == NULL)
        return refuse(r, KERNEL_TYPE, "is not known");
    r->model->kernel = hinge_kernel_linear();
    if (row->kernel == HINGE_COMBINED)
        return read_parts(r);
    r->model->kernel.type = row->kernel;
    return row->kernel != HINGE_USER || read_user_kernel(r, user);
}

/* Reads one number, of a key that the model must have. Counts go to INT_MAX. */
static bool read_one(struct reader *r, enum key key)
{
    const struct hg_line *line = &r->lines[key];
    void *at = (char *)r->model + rows[key].at;
    size_t count;
    if (!require(r, key))
        return false;
    if (rows[key].shape == REAL) {
        double *value = at;
        if (hg_parse_double(line->p, line->end, value) != line->end || !isfinite(*value))
            return refuse(r, key, "is not a finite number");
        return key != GAMMA || *value >= 0 || refuse(r, key, "is negative");
    }
    if (hg_parse_size(line->p, line->end, &count) != line->end || count > INT_MAX)
        return refuse(r, key, "is not a count");
    if (rows[key].shape == DEGREES)
        *(int *)at = (int)count;
    else
        *(size_t *)at = count;
    return true;
}

/* Reads counts and parameters, in the table's order. Numbers of problems and classes are believed only once as many
 * values stand there. One-vs-rest is told only where it is meant and makes a difference. */
static bool read_sizes(struct reader *r)
{
    struct hinge_model *m = r->model;
    const struct hg_line *line = &r->lines[MULTICLASS];
    if (has(r, TARGETS) && (has_trait(m, CLASSES) || has_trait(m, ONE_CLASS)))
        return refuse(r, TARGETS, "of a task that is no regression");
    m->n_targets = has(r, TARGETS); /* read below */
    for (enum key key = DEGREE; key <= TOTAL_SV; key++)
        if (rows[key].shape != WORD && has_trait(m, rows[key].in) && !read_one(r, key))
            return false;
    size_t k = m->n_classes; /* at most 2^31 */
    if (k == 0 || (!has_trait(m, CLASSES) && k != 2))
        return refuse(r, NR_CLASS, has_trait(m, CLASSES) ? "is too small" : "is not 2, as it is without classes");
    if (k == 1 && m->n_sv > 0)
        return refuse(r, TOTAL_SV, "with nr_class 1, which has none");
    if (has(r, MULTICLASS) && !hg_same_word(line->p, line->end, "one_vs_rest"))
        return refuse(r, MULTICLASS, "is not known");
    if (has(r, MULTICLASS) && (!has_trait(m, CLASSES) || k < 3))
        return refuse(r, MULTICLASS, "with less than three classes");
    m->multiclass = has(r, MULTICLASS) ? HINGE_ONE_VS_REST : HINGE_ONE_VS_ONE;
    if (has(r, TARGETS) && m->n_targets == 0)
        return refuse(r, TARGETS, "is too small");
    m->n_problems = has_trait(m, CLASSES) ? hg_count_problems(m->multiclass, k) : HG_MAX(m->n_targets, (size_t)1);
    return true;
}

/* ---- reading: lists of numbers ------------------------------------------------------------------------- */

static size_t count_values(const struct reader *r, enum key key)
{
    const struct hg_line *line = &r->lines[key];
    size_t words = 0;
    for (const char *p = line->p; p < line->end; p = hg_skip_blanks(hg_word_end(p, line->end), line->end))
        words++;
    return words;
}

/* Checks how many values a list has. hinge_scale_factor sets the number of features, and hinge_training that of its
 * own; all others are told by nr_class, or by the model's features. */
static bool check_count(struct reader *r, enum key key, size_t n)
{
    struct hinge_model *m = r->model;
    if (key == SCALE_FACTOR) {
        m->d = n;
        r->body.scale_line = r->lines[key].number;
    }
    if (key == TRAINING)
        m->n_training = n;
    if (key == TRAINING && (n < HG_TRAINING_FIELDS || (n - HG_TRAINING_FIELDS) % 2 != 0))
        return refuse(r, TRAINING, "has not as many values as it should");
    if (n == values_due(m, key))
        return true;
    if (key >= SCALE_OFFSET && key <= SCALE_BASE)
        return FAIL(HINGE_EFORMAT, r->lines[key].number, "%s has %zu values, and %s %zu", rows[key].name, n,
                    rows[SCALE_FACTOR].name, m->d);
    return FAIL(HINGE_EFORMAT, r->lines[key].number, "%s has %zu values, and nr_class %zu asks for %zu", rows[key].name,
                n, m->n_classes, values_due(m, key));
}

/* Reads a list's numbers into room for as many; nr_sv's are counts, whose sum is total_sv. */
static bool read_values(struct reader *r, enum key key, void *at)
{
    struct hg_line line = r->lines[key];
    bool counts = rows[key].shape == COUNTS;
    double *real = at;
    size_t *count = at, sum = 0;
    for (size_t i = 0; line.p < line.end; line.p = hg_skip_blanks(line.p, line.end), i++) {
        const char *stop = hg_word_end(line.p, line.end);
        if (counts && (hg_parse_size(line.p, stop, &count[i]) != stop || count[i] > INT_MAX))
            return refuse(r, key, "are not all counts");
        if (!counts && !done(r, hg_line_number(&line, rows[key].name, &real[i], r->err)))
            return false;
        if (rows[key].shape == WHOLE_REALS && !all_int(&real[i], 1))
            return refuse(r, key, "are not all integers");
        sum += counts ? count[i] : 0; /* at most line length * INT_MAX */
        line.p = stop;
    }
    return !counts || sum == r->model->n_sv ||
           FAIL(HINGE_EFORMAT, line.number, "%s '%s' sum to %zu, and total_sv is %zu", rows[key].name,
                value_of(r, key).text, sum, r->model->n_sv);
}

/* Reads a list into the model, which has room for it from then on; a second list for the same field is refused, as
 * label and hinge_label would be. */
static bool read_list(struct reader *r, enum key key)
{
    void **at = (void **)(void *)((char *)r->model + rows[key].at);
    size_t n = count_values(r, key);
    if (!has_trait(r->model, rows[key].in) || *at != NULL)
        return refuse(r, key, rows[key].refusal);
    if (!check_count(r, key, n))
        return false;
    return done(r, HG_MAKE(r->err, rows[key].name, HG_VALUES(*at, n, HG_MAX(sizeof(double), sizeof(size_t))))) &&
           read_values(r, key, *at);
}

/* Refuses one of two lists without the other. */
static bool both(struct reader *r, enum key a, enum key b)
{
    return has(r, a) == has(r, b) || (require(r, a) && require(r, b));
}

/* C, nu, p, eps, bias or not, weights of examples or not, then labels, which alone may be negative, and weights of
 * classes: lib/model/model.h. */
static bool check_training(struct reader *r)
{
    size_t n = r->model->n_training, weights = (HG_TRAINING_FIELDS + n) / 2;
    for (size_t i = 0; i < n; i++)
        if ((i < HG_TRAINING_FIELDS || i >= weights) && r->model->training[i] < 0)
            return refuse(r, TRAINING, "has a negative number");
    return true;
}

/* Says whether no label stands there twice. */
static bool labels_differ(const struct reader *r, bool *differ)
{
    const struct hinge_model *m = r->model;
    double *sorted = hg_alloc(m->n_classes, sizeof *sorted);
    *differ = true;
    if (sorted == NULL)
        return false;
    memcpy(sorted, m->labels, m->n_classes * sizeof *sorted);
    qsort(sorted, m->n_classes, sizeof *sorted, hg_by_value);
    for (size_t c = 1; c < m->n_classes; c++)
        *differ = *differ && sorted[c] != sorted[c - 1];
    hg_free(sorted);
    return true;
}

/* Asks first for lists that go together, then reads all that are there in the table's order: factors of scaling tell d
 * before offsets are counted. */
static bool read_lists(struct reader *r)
{
    const struct hinge_model *m = r->model;
    if (!require(r, RHO) || !both(r, SCALE_FACTOR, SCALE_OFFSET) || !both(r, SCALE_ORIGIN, SCALE_BASE) ||
        (has(r, SCALE_ORIGIN) && !require(r, SCALE_FACTOR)))
        return false;
    for (enum key key = RHO; key < N_KEYS; key++)
        if (has(r, key) && !read_list(r, key))
            return false;
    if (has_trait(m, CLASSES) &&
        ((m->labels == NULL && !require(r, LABEL)) || !require(r, NR_SV) || !both(r, PROB_A, PROB_B)))
        return false;
    bool differ = true;
    if (r->own && m->labels != NULL && !labels_differ(r, &differ))
        return FAIL(HINGE_ENOMEM, 0, "no memory for %zu labels", m->n_classes);
    if (!differ)
        return refuse(r, has(r, LABEL) ? LABEL : HINGE_LABEL, "names a class twice");
    if (!has_trait(m, CLASSES) && m->prob_a != NULL && m->prob_a[0] < 0)
        return refuse(r, PROB_A, "is a width, and negative");
    return check_training(r);
}

hinge_status hg_header_read(struct hinge_model *model, const char *name, const struct hg_bytes *bytes, bool own,
                            const hinge_kernel *user, struct hg_body *body, hinge_error *err)
{
    struct reader r = { .file = name, .err = err, .model = model, .own = own };
    bool ok = find_keys(&r, bytes->data, bytes->data + bytes->size) && read_task(&r) && read_kernel_type(&r, user) &&
              read_sizes(&r) && read_lists(&r);
    *body = r.body;
    return ok ? HINGE_OK : r.status;
}

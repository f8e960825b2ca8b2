/*
 * Model files: LIBSVM's text, a line a key, then "SV" and a line a support vector (doc of hinge's own:
 * lib/files/io_model.c). Written from and read into the public fields. Numbers in full, in the C locale of this
 * thread alone; counts are believed only once as many values stand there.
 */
#include "compat/own.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *task_name(int type)
{
    return hgc_task(type) != NULL ? hgc_task(type)->keyword : NULL;
}

/* LIBSVM has no kernel of the caller's own. */
static const char *kernel_name(int type)
{
    return type <= PRECOMPUTED ? hinge_kernel_keyword((hinge_kernel_type)type) : NULL;
}

bool hgc_locale_enter(struct hgc_locale *locale)
{
    locale->c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    locale->before = locale->c != (locale_t)0 ? uselocale(locale->c) : (locale_t)0;
    return locale->c != (locale_t)0;
}

void hgc_locale_leave(struct hgc_locale *locale)
{
    uselocale(locale->before);
    freelocale(locale->c);
}

static size_t n_pairs(const struct svm_model *m)
{
    return (size_t)m->nr_class * ((size_t)m->nr_class - 1) / 2;
}

static bool has_gamma(int kernel)
{
    return kernel == POLY || kernel == RBF || kernel == SIGMOID;
}

/* ---- writing --------------------------------------------------------------------------------------------- */

static void write_doubles(FILE *f, const char *key, const double *values, size_t n)
{
    if (values == NULL)
        return;
    fputs(key, f);
    for (size_t i = 0; i < n; i++)
        fprintf(f, " %.17g", values[i]);
    putc('\n', f);
}

static void write_ints(FILE *f, const char *key, const int *values, int n)
{
    if (values == NULL)
        return;
    fputs(key, f);
    for (int i = 0; i < n; i++)
        fprintf(f, " %d", values[i]);
    putc('\n', f);
}

static void write_header(FILE *f, const struct svm_model *m)
{
    const struct svm_parameter *p = &m->param;
    fprintf(f, "svm_type %s\nkernel_type %s\n", task_name(p->svm_type), kernel_name(p->kernel_type));
    if (p->kernel_type == POLY)
        fprintf(f, "degree %d\n", p->degree);
    if (has_gamma(p->kernel_type))
        write_doubles(f, "gamma", &p->gamma, 1);
    if (p->kernel_type == POLY || p->kernel_type == SIGMOID)
        write_doubles(f, "coef0", &p->coef0, 1);
    fprintf(f, "nr_class %d\ntotal_sv %d\n", m->nr_class, m->l);
    write_doubles(f, "rho", m->rho, n_pairs(m));
    write_ints(f, "label", m->label, m->nr_class);
    write_doubles(f, "probA", m->probA, hgc_regresses(p->svm_type) ? 1 : n_pairs(m));
    write_doubles(f, "probB", m->probB, n_pairs(m));
#ifndef HINGE_LIBSVM_324
    write_doubles(f, "prob_density_marks", m->prob_density_marks, HGC_MARKS);
#endif
    write_ints(f, "nr_sv", m->nSV, m->nr_class);
}

static void write_sv(FILE *f, const struct svm_model *m, int i)
{
    const struct svm_node *x = m->SV[i];
    for (int k = 0; k < m->nr_class - 1; k++)
        fprintf(f, "%.17g ", m->sv_coef[k][i]);
    if (m->param.kernel_type == PRECOMPUTED)
        fprintf(f, "0:%d ", (int)x->value);
    else
        for (; x->index != -1; x++)
            fprintf(f, "%d:%.17g ", x->index, x->value);
    putc('\n', f);
}

static bool can_be_written(const struct svm_model *m)
{
    const struct svm_parameter *p = &m->param;
    return hgc_task(p->svm_type) != NULL && p->kernel_type >= LINEAR &&
           p->kernel_type <= PRECOMPUTED && m->nr_class >= 1 && m->l >= 0 &&
           (m->l == 0 || (m->SV != NULL && m->sv_coef != NULL));
}

int svm_save_model(const char *model_file_name, const struct svm_model *model)
{
    struct hgc_locale locale;
    if (model_file_name == NULL || model == NULL || !can_be_written(model))
        return -1;
    FILE *f = fopen(model_file_name, "w");
    if (f == NULL)
        return -1;
    if (!hgc_locale_enter(&locale)) {
        fclose(f);
        return -1;
    }
    write_header(f, model);
    fputs("SV\n", f);
    for (int i = 0; i < model->l; i++)
        write_sv(f, model, i);
    hgc_locale_leave(&locale);
    bool failed = ferror(f) != 0;
    return fclose(f) != 0 || failed ? -1 : 0;
}

/* ---- reading: words -------------------------------------------------------------------------------------- */

/* A file's text, ended by 0, and where reading stands. */
struct reader {
    char *text, *p;
    size_t size;
};

static bool read_all(struct reader *r, const char *name)
{
    size_t room = 1 << 16, got;
    FILE *f = fopen(name, "rb");
    memset(r, 0, sizeof *r);
    if (f == NULL)
        return false;
    do {
        char *more = realloc(r->text, room + 1);
        if (more == NULL)
            break;
        r->text = more;
        got = fread(r->text + r->size, 1, room - r->size, f);
        r->size += got;
        room *= 2;
    } while (got > 0);
    bool whole = r->text != NULL && feof(f) && !ferror(f);
    fclose(f);
    if (whole)
        r->text[r->size] = 0;
    r->p = r->text;
    return whole;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

/* The next word of this line, cut off by a 0 where it ends if that is not the line's end; NULL: none left. */
static bool next_word(struct reader *r, char **word, char **end)
{
    while (is_blank(*r->p))
        r->p++;
    *word = r->p;
    while (*r->p != 0 && *r->p != '\n' && !is_blank(*r->p))
        r->p++;
    *end = r->p;
    return *end > *word;
}

/* True at the end of a line, which is passed over. */
static bool end_line(struct reader *r)
{
    char *word, *end;
    if (next_word(r, &word, &end))
        return false;
    r->p += *r->p == '\n';
    return true;
}

static bool read_double(struct reader *r, double *value)
{
    char *word, *end, *stop;
    if (!next_word(r, &word, &end))
        return false;
    *value = strtod(word, &stop);
    return stop == end;
}

static bool to_int(const char *word, const char *end, int *value)
{
    char *stop;
    errno = 0;
    long v = strtol(word, &stop, 10);
    *value = (int)v;
    return stop == end && end > word && errno == 0 && v >= INT_MIN && v <= INT_MAX;
}

static bool read_int(struct reader *r, int *value)
{
    char *word, *end;
    return next_word(r, &word, &end) && to_int(word, end, value);
}

static bool is(const char *word, const char *end, const char *key)
{
    return strlen(key) == (size_t)(end - word) && memcmp(word, key, (size_t)(end - word)) == 0;
}

static bool read_keyword(struct reader *r, const char *(*name)(int type), int *value)
{
    char *word, *end;
    if (!next_word(r, &word, &end))
        return false;
    for (*value = 0; name(*value) != NULL; ++*value)
        if (is(word, end, name(*value)))
            return true;
    return false;
}

/* n numbers; no more memory than the text could fill is asked for. */
static bool read_doubles(struct reader *r, size_t n, double **values)
{
    if (*values != NULL || n > r->size)
        return false;
    *values = malloc((n + 1) * sizeof **values);
    bool ok = *values != NULL;
    for (size_t i = 0; ok && i < n; i++)
        ok = read_double(r, *values + i);
    return ok;
}

static bool read_ints(struct reader *r, int n, int **values)
{
    if (*values != NULL || (size_t)n > r->size)
        return false;
    *values = malloc(((size_t)n + 1) * sizeof **values);
    bool ok = *values != NULL;
    for (int i = 0; ok && i < n; i++)
        ok = read_int(r, *values + i);
    return ok;
}

/* ---- reading: header and support vectors ----------------------------------------------------------------- */

/* In the layout of 3.24 there is no place for them. */
static bool read_marks(struct reader *r, struct svm_model *m)
{
#ifndef HINGE_LIBSVM_324
    return read_doubles(r, HGC_MARKS, &m->prob_density_marks);
#else
    double *marks = NULL;
    bool ok = read_doubles(r, HGC_MARKS, &marks);
    (void)m;
    free(marks);
    return ok;
#endif
}

/* One line behind its key. nr_class stands before the arrays. */
static bool read_value(struct reader *r, const char *key, const char *end, struct svm_model *m)
{
    size_t pairs = m->nr_class > 0 ? n_pairs(m) : 0;
    if (is(key, end, "svm_type"))
        return read_keyword(r, task_name, &m->param.svm_type);
    if (is(key, end, "kernel_type"))
        return read_keyword(r, kernel_name, &m->param.kernel_type);
    if (is(key, end, "degree"))
        return read_int(r, &m->param.degree);
    if (is(key, end, "gamma"))
        return read_double(r, &m->param.gamma);
    if (is(key, end, "coef0"))
        return read_double(r, &m->param.coef0);
    if (is(key, end, "nr_class"))
        return m->nr_class == 0 && read_int(r, &m->nr_class) && m->nr_class > 0 &&
               (size_t)m->nr_class < r->size;
    if (is(key, end, "total_sv"))
        return read_int(r, &m->l) && m->l >= 0 && (size_t)m->l < r->size;
    if (m->nr_class == 0)
        return false;
    if (is(key, end, "rho"))
        return read_doubles(r, pairs, &m->rho);
    if (is(key, end, "label"))
        return read_ints(r, m->nr_class, &m->label);
    if (is(key, end, "probA"))
        return read_doubles(r, pairs, &m->probA);
    if (is(key, end, "probB"))
        return read_doubles(r, pairs, &m->probB);
    if (is(key, end, "prob_density_marks"))
        return read_marks(r, m);
    return is(key, end, "nr_sv") && read_ints(r, m->nr_class, &m->nSV);
}

static bool read_header(struct reader *r, struct svm_model *m)
{
    char *word, *end;
    m->param.svm_type = m->param.kernel_type = m->l = -1;
    while (next_word(r, &word, &end)) {
        if (is(word, end, "SV")) { /* what hinge says behind it is not for LIBSVM */
            while (next_word(r, &word, &end))
                ;
            return end_line(r);
        }
        if (!read_value(r, word, end, m) || !end_line(r))
            return false;
    }
    return false;
}

/* The keys that prediction relies on are there, and agree. */
static bool header_is_whole(const struct svm_model *m)
{
    bool classes = hgc_classifies(m->param.svm_type);
    if (m->param.svm_type < 0 || m->param.kernel_type < 0 || m->nr_class < 1 || m->l < 0 || m->rho == NULL ||
        (classes ? m->label == NULL || m->nSV == NULL : m->nr_class != 2))
        return false;
    long long sum = 0;
    for (int c = 0; classes && c < m->nr_class; c++) {
        if (m->nSV[c] < 0)
            return false;
        sum += m->nSV[c];
    }
    return !classes || sum == m->l;
}

static bool make_room(struct svm_model *m, size_t nodes)
{
    size_t l = (size_t)m->l;
    m->SV = calloc(l + 1, sizeof *m->SV);
    m->sv_coef = calloc((size_t)m->nr_class, sizeof *m->sv_coef);
    bool ok = m->SV != NULL && m->sv_coef != NULL;
    for (int k = 0; ok && k < m->nr_class - 1; k++)
        ok = (m->sv_coef[k] = malloc((l + 1) * sizeof **m->sv_coef)) != NULL;
    if (ok && l > 0)
        ok = (m->SV[0] = malloc(nodes * sizeof **m->SV)) != NULL;
    return ok;
}

/* "index:value" words up to the line's end, and the node that ends them. */
static struct svm_node *read_nodes(struct reader *r, struct svm_node *node)
{
    char *word, *end, *stop;
    while (next_word(r, &word, &end)) {
        char *colon = memchr(word, ':', (size_t)(end - word));
        if (colon == NULL || !to_int(word, colon, &node->index) || node->index < 0)
            return NULL;
        node->value = strtod(colon + 1, &stop);
        if (stop != end || colon + 1 == end)
            return NULL;
        node++;
    }
    r->p += *r->p == '\n';
    *node = (struct svm_node){ -1, 0 };
    return node + 1;
}

static bool read_support_vectors(struct reader *r, struct svm_model *m)
{
    size_t nodes = (size_t)m->l;
    for (const char *p = r->p; p < r->text + r->size; p++)
        nodes += *p == ':';
    if (((size_t)m->nr_class - 1) * (size_t)m->l > r->size || !make_room(m, nodes))
        return false;
    struct svm_node *node = m->SV[0];
    for (int i = 0; i < m->l; i++) {
        m->SV[i] = node;
        for (int k = 0; k < m->nr_class - 1; k++)
            if (!read_double(r, &m->sv_coef[k][i]))
                return false;
        node = read_nodes(r, node);
        if (node == NULL ||
            (m->param.kernel_type == PRECOMPUTED && (m->SV[i]->index != 0 || m->SV[i]->value < 1)))
            return false;
    }
    while (r->p < r->text + r->size && end_line(r))
        ;
    return r->p == r->text + r->size;
}

struct svm_model *svm_load_model(const char *model_file_name)
{
    struct hgc_locale locale;
    struct reader r = { NULL, NULL, 0 };
    struct svm_model *m = calloc(1, sizeof *m);
    bool ok = false;
    if (m != NULL && model_file_name != NULL && hgc_locale_enter(&locale)) {
        m->free_sv = 1;
        ok = read_all(&r, model_file_name) && read_header(&r, m) && header_is_whole(m) &&
             read_support_vectors(&r, m);
        hgc_locale_leave(&locale);
    }
    free(r.text);
    if (!ok)
        svm_free_and_destroy_model(&m);
    return ok ? m : NULL;
}

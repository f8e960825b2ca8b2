/*
 * Model files: LIBSVM's text, a line a key, then "SV" and a line a support vector (doc of hinge's own:
 * lib/files/io_model.c). Written from and read into the public fields. Numbers in full, whatever the locale; counts are
 * believed only once as many values stand there.
 */
#include "compat/own.h"
#include "lib/files/bytes.h"
#include "lib/files/lines.h"
#include "lib/files/number.h"
#include "lib/proba.h"

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
    return type <= PRECOMPUTED ? hinge_kernel_info((hinge_kernel_type)type)->keyword : NULL;
}

/* Says what stands behind a key: one word or number; a number for each class or pair of classes; ten marks. */
enum shape { TASK, KERNEL, INT, REAL, INTS, REALS, MARKS };

/* Keys in the order in which they are written. at: where the model keeps the value, or the pointer to them; 0: nowhere.
 * uses: where the kernel table says whether it is written. */
static const struct key_row {
    const char *name;
    enum shape shape;
    size_t at, uses;
} keys[] = {
#define AT(field)   offsetof(struct svm_model, field)
#define USES(field) offsetof(hinge_kernel_row, field)
    { "svm_type", TASK, AT(param.svm_type), 0 },
    { "kernel_type", KERNEL, AT(param.kernel_type), 0 },
    { "degree", INT, AT(param.degree), USES(uses_degree) },
    { "gamma", REAL, AT(param.gamma), USES(uses_gamma) },
    { "coef0", REAL, AT(param.coef0), USES(uses_coef0) },
    { "nr_class", INT, AT(nr_class), 0 },
    { "total_sv", INT, AT(l), 0 },
    { "rho", REALS, AT(rho), 0 },
    { "label", INTS, AT(label), 0 },
    { "probA", REALS, AT(probA), 0 },
    { "probB", REALS, AT(probB), 0 },
#ifndef HINGE_LIBSVM_324
    { "prob_density_marks", MARKS, AT(prob_density_marks), 0 },
#else
    { "prob_density_marks", MARKS, 0, 0 },
#endif
    { "nr_sv", INTS, AT(nSV), 0 },
};
enum { N_KEYS = sizeof keys / sizeof *keys };

static size_t n_values(const struct svm_model *m, enum shape shape)
{
    return shape == INTS ? (size_t)m->nr_class : shape == REALS ? hgc_pairs(m) : shape == MARKS ? HG_MARKS : 1;
}

/* ---- writing --------------------------------------------------------------------------------------------- */

static void write_double(struct hg_text *text, double value)
{
    char *room = hg_text_room(text, HG_NUMBER_ROOM);
    if (room != NULL)
        text->size += hg_format_digits(room, value, 17);
}

static void write_key(struct hg_text *text, const struct svm_model *m, const struct key_row *row)
{
    const char *at = (const char *)m + row->at;
    const void *values = row->shape < INTS ? (const void *)at : *(void *const *)(const void *)at;
    const char *kernel = (const char *)hinge_kernel_info((hinge_kernel_type)m->param.kernel_type);
    const int *used = (const int *)(const void *)(kernel + row->uses);
    if (row->at == 0 ? row->shape != TASK : values == NULL || (row->uses > 0 && !*used))
        return;
    hg_text_print(text, "%s", row->name);
    for (size_t i = 0; i < n_values(m, row->shape); i++) {
        if (row->shape == TASK || row->shape == KERNEL)
            hg_text_print(text, " %s", (row->shape == TASK ? task_name : kernel_name)(*(const int *)values));
        else if (row->shape == INT || row->shape == INTS)
            hg_text_print(text, " %d", ((const int *)values)[i]);
        else {
            hg_text_add(text, " ", 1);
            write_double(text, ((const double *)values)[i]);
        }
    }
    hg_text_add(text, "\n", 1);
}

static void write_sv(struct hg_text *text, const struct svm_model *m, int i)
{
    const struct svm_node *x = m->SV[i];
    for (int k = 0; k < m->nr_class - 1; k++) {
        write_double(text, m->sv_coef[k][i]);
        hg_text_add(text, " ", 1);
    }
    if (m->param.kernel_type == PRECOMPUTED)
        hg_text_print(text, "0:%d ", (int)x->value);
    for (; m->param.kernel_type != PRECOMPUTED && x->index != -1; x++) {
        hg_text_print(text, "%d:", x->index);
        write_double(text, x->value);
        hg_text_add(text, " ", 1);
    }
    hg_text_add(text, "\n", 1);
}

static bool can_be_written(const struct svm_model *m)
{
    const struct svm_parameter *p = &m->param;
    return hgc_task(p->svm_type) != NULL && p->kernel_type >= LINEAR && p->kernel_type <= PRECOMPUTED &&
           m->nr_class >= 1 && m->l >= 0 && (m->l == 0 || (m->SV != NULL && m->sv_coef != NULL));
}

int svm_save_model(const char *model_file_name, const struct svm_model *model)
{
    enum { BATCH = 1 << 20 };
    struct hg_text text = { 0 };
    if (model_file_name == NULL || model == NULL || !can_be_written(model))
        return -1;
    FILE *f = fopen(model_file_name, "w");
    if (f == NULL)
        return -1;
    for (size_t k = 0; k < N_KEYS; k++)
        write_key(&text, model, &keys[k]);
    hg_text_add(&text, "SV\n", 3);
    for (int i = 0; i < model->l; i++) {
        write_sv(&text, model, i);
        if (text.size > BATCH) {
            fwrite(text.data, 1, text.size, f);
            text.size = 0;
        }
    }
    fwrite(text.data, 1, text.size, f);
    bool failed = ferror(f) != 0 || text.no_memory;
    hg_text_free(&text);
    return fclose(f) != 0 || failed ? -1 : 0;
}

/* ---- reading: words -------------------------------------------------------------------------------------- */

/* A file's text, and where reading stands. */
struct reader {
    struct hg_bytes bytes;
    const char *p, *end;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

/* Takes the next word of this line; false: none is left. */
static bool next_word(struct reader *r, const char **word, const char **end)
{
    while (r->p < r->end && is_blank(*r->p))
        r->p++;
    *word = r->p;
    while (r->p < r->end && *r->p != '\n' && !is_blank(*r->p))
        r->p++;
    *end = r->p;
    return *end > *word;
}

/* True at the end of a line, which is passed over. */
static bool end_line(struct reader *r)
{
    const char *word, *end;
    if (next_word(r, &word, &end))
        return false;
    r->p += r->p < r->end;
    return true;
}

static bool read_double(struct reader *r, double *value)
{
    const char *word, *end;
    return next_word(r, &word, &end) && hg_parse_double(word, end, value) == end;
}

static bool to_int(const char *word, const char *end, int *value)
{
    bool minus = word < end && *word == '-', sign = minus || (word < end && *word == '+');
    size_t size;
    if (hg_parse_size(word + sign, end, &size) != end || size > (size_t)INT_MAX + minus)
        return false;
    *value = (int)(minus ? -(long long)size : (long long)size);
    return true;
}

static bool read_int(struct reader *r, int *value)
{
    const char *word, *end;
    return next_word(r, &word, &end) && to_int(word, end, value);
}

static bool read_keyword(struct reader *r, const char *(*name)(int type), int *value)
{
    const char *word, *end;
    if (!next_word(r, &word, &end))
        return false;
    for (*value = 0; name(*value) != NULL; ++*value)
        if (hg_same_word(word, end, name(*value)))
            return true;
    return false;
}

/* ---- reading: header and support vectors ----------------------------------------------------------------- */

/* An array, once; no more memory than the text could fill is asked for. */
static bool read_list(struct reader *r, const struct svm_model *m, enum shape shape, void **at)
{
    size_t n = n_values(m, shape);
    if (m->nr_class == 0 || *at != NULL || n > r->bytes.size)
        return false;
    *at = malloc((n + 1) * sizeof(double));
    bool ok = *at != NULL;
    for (size_t i = 0; ok && i < n; i++)
        ok = shape == INTS ? read_int(r, (int *)*at + i) : read_double(r, (double *)*at + i);
    return ok;
}

/* Reads one line behind its key. nr_class stands before the arrays, and is told once. */
static bool read_value(struct reader *r, const char *key, const char *end, struct svm_model *m)
{
    const struct key_row *row = keys;
    int classes = m->nr_class;
    while (row < keys + N_KEYS && !hg_same_word(key, end, row->name))
        row++;
    if (row == keys + N_KEYS)
        return false;
    void *unused = NULL; /* the layout of 3.24 has no place for marks */
    void *at = row->shape == MARKS && row->at == 0 ? (void *)&unused : (char *)m + row->at;
    switch (row->shape) {
    case TASK:
        return read_keyword(r, task_name, at);
    case KERNEL:
        return read_keyword(r, kernel_name, at);
    case INT:
        return read_int(r, at) && (classes == 0 || at != &m->nr_class);
    case REAL:
        return read_double(r, at);
    default:
        break;
    }
    bool ok = read_list(r, m, row->shape, at);
    free(unused);
    return ok;
}

static bool read_header(struct reader *r, struct svm_model *m)
{
    const char *word, *end;
    m->param.svm_type = m->param.kernel_type = m->l = -1;
    while (next_word(r, &word, &end)) {
        if (hg_same_word(word, end, "SV")) { /* what hinge says behind it is not for LIBSVM */
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

/* Reads "index:value" words up to the line's end, and the node that ends them. */
static struct svm_node *read_nodes(struct reader *r, struct svm_node *node)
{
    const char *word, *end;
    while (next_word(r, &word, &end)) {
        const char *colon = memchr(word, ':', (size_t)(end - word));
        if (colon == NULL || !to_int(word, colon, &node->index) || node->index < 0 ||
            hg_parse_double(colon + 1, end, &node->value) != end)
            return NULL;
        node++;
    }
    r->p += r->p < r->end;
    *node = (struct svm_node){ -1, 0 };
    return node + 1;
}

static bool read_support_vectors(struct reader *r, struct svm_model *m)
{
    size_t nodes = (size_t)m->l;
    for (const char *p = r->p; p < r->end; p++)
        nodes += *p == ':';
    if ((size_t)m->l > r->bytes.size || ((size_t)m->nr_class - 1) * (size_t)m->l > r->bytes.size ||
        !make_room(m, nodes))
        return false;
    struct svm_node *node = m->SV[0];
    for (int i = 0; i < m->l; i++) {
        m->SV[i] = node;
        for (int k = 0; k < m->nr_class - 1; k++)
            if (!read_double(r, &m->sv_coef[k][i]))
                return false;
        node = read_nodes(r, node);
        if (node == NULL || (m->param.kernel_type == PRECOMPUTED && (m->SV[i]->index != 0 || m->SV[i]->value < 1)))
            return false;
    }
    while (r->p < r->end && end_line(r))
        ;
    return r->p == r->end;
}

struct svm_model *svm_load_model(const char *model_file_name)
{
    struct reader r = { { 0 }, NULL, NULL };
    struct svm_model *m = calloc(1, sizeof *m);
    bool ok = false;
    if (m != NULL && model_file_name != NULL && hg_bytes_read(&r.bytes, model_file_name, NULL) == HINGE_OK) {
        r.p = r.bytes.data;
        r.end = r.p + r.bytes.size;
        m->free_sv = 1;
        ok = read_header(&r, m) && header_is_whole(m) && read_support_vectors(&r, m);
    }
    hg_bytes_free(&r.bytes);
    if (!ok)
        svm_free_and_destroy_model(&m);
    return ok ? m : NULL;
}

/*
 * Model files: LIBSVM's text, written from and read into the public fields. The lines before "SV" are hinge's to write
 * and to read (lib/files/header.c), which tells what they say; support vectors stay the nodes that they are. Numbers
 * are written in full, whatever the locale.
 */
#include "compat/svm_own.h"
#include "lib/files/body.h"
#include "lib/files/number.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- writing --------------------------------------------------------------------------------------------- */

/* The model as hinge has it, but for support vectors; labels and class_sv: [nr_class] room. */
static hinge_model header_of(const struct svm_model *m, double *labels, size_t *class_sv)
{
    hinge_model h = { .task = hgc_task(m->param.svm_type)->task,
                      .kernel = hgc_kernel_of(&m->param),
                      .n_classes = (size_t)m->nr_class,
                      .n_problems = hgc_pairs(m),
                      .n_sv = (size_t)m->l,
                      .labels = m->label != NULL ? labels : NULL,
                      .class_sv = m->nSV != NULL ? class_sv : NULL,
                      .rho = m->rho,
                      .prob_a = m->probA,
                      .prob_b = m->probB };
#ifndef HINGE_LIBSVM_324
    h.density_marks = m->prob_density_marks;
#endif
    for (int c = 0; c < m->nr_class; c++) {
        labels[c] = m->label != NULL ? m->label[c] : 0;
        class_sv[c] = m->nSV != NULL ? (size_t)m->nSV[c] : 0;
    }
    return h;
}

static void write_sv(struct hg_text *text, const struct svm_model *m, int i)
{
    const struct svm_node *x = m->SV[i];
    for (int k = 0; k < m->nr_class - 1; k++) {
        hg_text_number(text, m->sv_coef[k][i]);
        hg_text_add(text, " ", 1);
    }
    if (m->param.kernel_type == PRECOMPUTED)
        hg_text_print(text, "0:%d ", (int)x->value);
    for (; m->param.kernel_type != PRECOMPUTED && x->index != -1; x++) {
        hg_text_pair(text, (size_t)x->index, x->value);
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
    struct hg_text text = { .in_full = true };
    double *labels;
    size_t *class_sv;
    if (model_file_name == NULL || model == NULL || !can_be_written(model) ||
        !HG_ROOM(HG_ARRAY(labels, (size_t)model->nr_class), HG_ARRAY(class_sv, (size_t)model->nr_class)))
        return -1;
    const hinge_model header = header_of(model, labels, class_sv);
    FILE *f = fopen(model_file_name, "w");
    if (f != NULL)
        hg_header_print(&header, &text);
    hg_free(labels);
    if (f == NULL)
        return -1;
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

/* ---- reading --------------------------------------------------------------------------------------------- */

/* Says whether LIBSVM has words for all that the header tells. */
static bool is_libsvms(const hinge_model *h)
{
    for (size_t c = 0; h->labels != NULL && c < h->n_classes; c++)
        if (!(h->labels[c] >= INT_MIN && h->labels[c] <= INT_MAX && h->labels[c] == (double)(int)h->labels[c]))
            return false;
    return h->kernel.type <= HINGE_PRECOMPUTED && h->multiclass == HINGE_ONE_VS_ONE && h->scale_factor == NULL &&
           h->training == NULL;
}

/* Reads "index:value" words up to the line's end, and adds the node that ends them. NULL: a word is none. */
static struct svm_node *read_nodes(const struct hg_line *line, struct svm_node *node)
{
    const char *end = line->end;
    for (const char *p = hg_skip_blanks(line->p, end); p < end; p = hg_skip_blanks(p, end), node++) {
        size_t index;
        const char *colon = hg_parse_size(p, end, &index);
        if (colon == NULL || colon == end || *colon != ':' || index > INT_MAX)
            return NULL;
        node->index = (int)index;
        p = hg_parse_double(colon + 1, end, &node->value);
        if (p == NULL || (p < end && !hg_is_blank(*p)))
            return NULL;
    }
    *node = (struct svm_node){ -1, 0 };
    return node + 1;
}

/* Room for as many nodes as there are colons, and one more a vector. */
static bool make_nodes(const struct hg_body *body, struct svm_model *m)
{
    size_t nodes = (size_t)m->l;
    for (const char *p = body->text; p < body->text + body->size; p++)
        nodes += *p == ':';
    if (m->l > 0)
        m->SV[0] = malloc(nodes * sizeof **m->SV);
    return m->l == 0 || m->SV[0] != NULL;
}

static bool read_support_vectors(const struct hg_body *body, struct svm_model *m)
{
    const char *p = body->text, *end = p + body->size;
    struct svm_node *node = m->SV[0];
    for (int i = 0; i < m->l; i++) {
        struct hg_line line = hg_next_line(body->told.file, 0, &p, end);
        m->SV[i] = node;
        for (int k = 0; k < m->nr_class - 1; k++) {
            line.p = hg_skip_blanks(line.p, line.end);
            if (hg_line_number(&line, "coefficient", &m->sv_coef[k][i], NULL) != HINGE_OK)
                return false;
        }
        node = read_nodes(&line, node);
        if (node == NULL || (m->param.kernel_type == PRECOMPUTED && (m->SV[i]->index != 0 || m->SV[i]->value < 1)))
            return false;
    }
    while (p < end && (hg_is_blank(*p) || *p == '\r' || *p == '\n'))
        p++;
    return p == end;
}

/* Counts are believed only once so many bytes stand there that they may be true. */
static struct svm_model *model_of(const hinge_model *h, const struct hg_body *body)
{
    size_t rows = h->n_classes - 1;
    if (!is_libsvms(h) || h->n_sv > body->size || (rows > 0 && h->n_sv > body->size / rows))
        return NULL;
    struct svm_model *m = hgc_model_new(h);
    if (m == NULL)
        return NULL;
    m->param.svm_type = hinge_task_info(h->task)->libsvm;
    m->param.kernel_type = (int)h->kernel.type;
    m->param.degree = h->kernel.degree;
    m->param.gamma = h->kernel.gamma;
    m->param.coef0 = h->kernel.coef0;
    m->free_sv = 1;
    if (!make_nodes(body, m) || !read_support_vectors(body, m))
        svm_free_and_destroy_model(&m);
    return m;
}

struct svm_model *svm_load_model(const char *model_file_name)
{
    struct hg_bytes bytes = { 0 };
    struct hg_body body;
    struct svm_model *m = NULL;
    hinge_model *h = hg_zalloc(1, sizeof *h);
    if (h != NULL && model_file_name != NULL && hg_bytes_read(&bytes, model_file_name, NULL) == HINGE_OK &&
        hg_header_read(h, model_file_name, &bytes, false, NULL, &body, NULL) == HINGE_OK)
        m = model_of(h, &body);
    hg_bytes_free(&bytes);
    hinge_model_free(h);
    return m;
}

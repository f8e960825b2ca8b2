/*
 * The part of a model file behind "SV" (body.h): writing; reading what that line tells, words of labels, support
 * vectors. Vectors are lines of data (lines.h) whose labels are coefficients, and are read by all threads.
 */
#include "lib/files/body.h"
#include "lib/base/team.h"
#include "lib/files/number.h"

#include <limits.h>
#include <math.h>
#include <string.h>

/* ---- writing ------------------------------------------------------------------------------------------- */

/* Writes words with blanks as %20 and percent signs as %25, which are all that a line cannot hold. */
static void print_words(const hinge_words *words, struct hg_text *text)
{
    for (size_t k = 0; k < words->count; k++) {
        hg_text_add(text, " ", 1);
        for (const char *p = words->word[k]; *p != '\0'; p++) {
            if (*p == ' ' || *p == '%')
                hg_text_print(text, "%%%02x", *p);
            else
                hg_text_add(text, p, 1);
        }
    }
}

/* Prints the line "SV" with what LIBSVM's keys do not tell: the number of features where neither vectors nor scaling
 * tell it, the level of a quantile, names of features and last, if there is one, of the target, and words, which go to
 * the line's end. */
void hg_told_print(const struct hinge_model *model, struct hg_text *text)
{
    hg_text_print(text, "SV");
    if (model->n_sv == 0 && model->d > 0 && model->scale_factor == NULL)
        hg_text_print(text, " hinge_features %zu", model->d);
    if (model->tau > 0) {
        hg_text_print(text, " hinge_tau ");
        hg_text_number(text, model->tau);
    }
    if (model->names.count + model->target.count > 0)
        hg_text_print(text, " hinge_names %zu %zu", model->names.count, model->target.count);
    print_words(&model->names, text);
    print_words(&model->target, text);
    if (model->words.count > 0)
        hg_text_print(text, " hinge_words");
    print_words(&model->words, text);
    hg_text_add(text, "\n", 1);
}

/* "coefficient coefficient ... index:value index:value ... ". Zeros are left out, but for the last feature of
 * the first vector: the number of features is thus in the file, and LIBSVM reads it as well. */
static hinge_status print_vector(const void *arg, size_t i, struct hg_text *text, hinge_error *err)
{
    const struct hinge_model *model = arg;
    size_t coef_rows = hg_model_coef_rows(model);
    (void)err;
    for (size_t m = 0; m < coef_rows; m++) {
        hg_text_number(text, model->coef[m * model->n_sv + i]);
        hg_text_add(text, " ", 1);
    }
    if (model->sv_serial != NULL)
        hg_text_print(text, "0:%zu ", model->sv_serial[i] + 1);
    size_t last = model->columns != NULL ? model->n_columns : model->d;
    for (size_t j = 0; model->sv != NULL && j < model->d; j++) {
        double value = hg_model_value(model, i, j);
        if (value == 0 && !signbit(value) && (i > 0 || j + 1 != last))
            continue;
        hg_text_pair(text, model->columns != NULL ? model->columns[j] : j + 1, value);
        hg_text_add(text, " ", 1);
    }
    hg_text_add(text, "\n", 1);
    return HINGE_OK;
}

hinge_status hg_vectors_print(const struct hinge_model *model, hg_text_sink sink, void *sink_arg, hinge_error *err)
{
    size_t width = hg_model_coef_rows(model) + model->d;
    return hg_print_rows(model->n_sv, width, print_vector, model, sink, sink_arg, err);
}

/* ---- reading: what stands behind "SV" ------------------------------------------------------------------ */

/* Moves line behind the names, whose numbers stand before them. */
static hinge_status find_names(struct hg_body *body, const char **rest, hinge_error *err)
{
    const struct hg_line *line = &body->told;
    const char *p = *rest;
    size_t counts[2] = { 0 }; /* of features, then of a target */
    for (size_t k = 0; k < 2; k++) {
        const char *stop = hg_word_end(p, line->end);
        if (hg_parse_size(p, stop, &counts[k]) != stop || counts[k] > (k == 0 ? INT_MAX : 1))
            return hg_fail_line(err, line, "hinge_names '%s' is not a count", hg_excerpt(p, line->end).text);
        p = hg_skip_blanks(stop, line->end);
    }
    body->names = *line;
    body->names.p = p;
    body->n_names = counts[0];
    for (size_t k = 0; k < counts[0] + counts[1]; k++) {
        if (p == line->end)
            return hg_fail_line(err, line, "hinge_names has fewer words than it says");
        body->names.end = hg_word_end(p, line->end);
        p = hg_skip_blanks(body->names.end, line->end);
    }
    *rest = p;
    return HINGE_OK;
}

/* Reads what stands behind "SV": the number of features of a model without support vectors, the level of a quantile
 * regression, names, and words, which are the rest of the line. */
hinge_status hg_told_read(struct hg_body *body, double *tau, hinge_error *err)
{
    const struct hg_line *line = &body->told;
    for (const char *name = hg_skip_blanks(line->p, line->end), *number; name < line->end;
         name = hg_skip_blanks(hg_word_end(number, line->end), line->end)) {
        const char *stop = hg_word_end(name, line->end);
        number = hg_skip_blanks(stop, line->end);
        if (hg_same_word(name, stop, "hinge_names")) {
            HG_TRY(find_names(body, &number, err));
            stop = hg_word_end(name = number, line->end);
            number = hg_skip_blanks(stop, line->end);
        }
        if (hg_same_word(name, stop, "hinge_words")) {
            body->words = *line;
            body->words.p = number;
            break;
        }
        if (hg_same_word(name, stop, "hinge_features") &&
            (hg_parse_size(number, line->end, &body->features) == NULL || body->features > INT_MAX))
            return hg_fail_line(err, line, "hinge_features '%s' is not a count",
                                hg_excerpt_all(number, line->end).text);
        if (hg_same_word(name, stop, "hinge_tau") &&
            (hg_parse_double(number, line->end, tau) == NULL || !(*tau > 0 && *tau < 1)))
            return hg_fail_line(err, line, "hinge_tau '%s' is not in (0, 1)", hg_excerpt_all(number, line->end).text);
    }
    return HINGE_OK;
}

/* ---- reading: words of labels -------------------------------------------------------------------------- */

static int hex_digit(char c)
{
    const char *digits = "0123456789abcdef", *at = c != '\0' ? strchr(digits, c) : NULL;
    return at != NULL ? (int)(at - digits) : -1;
}

/* Copies the next word in the line to out, its %xx undone; returns the place behind its 0. NULL: one is wrong. */
static char *undo_word(struct hg_line *line, char *out)
{
    const char *p = line->p, *stop = hg_word_end(p, line->end);
    for (; p < stop; p++) {
        int high = *p == '%' && stop - p > 2 ? hex_digit(p[1]) : -1, low = high >= 0 ? hex_digit(p[2]) : -1;
        if (*p == '%' && low < 0)
            return NULL;
        *out = *p;
        if (*p == '%') {
            *out = (char)(high << 4 | low);
            p += 2;
        }
        out++;
    }
    *out++ = '\0';
    line->p = hg_skip_blanks(stop, line->end);
    return out;
}

/* Makes a list of a line's words, in one block of memory. */
static hinge_status list_words(struct hg_line line, hinge_words *words, hinge_error *err)
{
    size_t room = (size_t)(line.end - line.p) + 1;
    char *memory = hg_alloc(room, 1 + sizeof(char *)), *out = memory == NULL ? NULL : memory + room * sizeof(char *);
    if (memory == NULL)
        return hg_fail_at(err, HINGE_ENOMEM, line.file, line.number, "no memory for words");
    *words = (hinge_words){ 0, (const char **)(void *)memory };
    while (line.p < line.end && out != NULL) {
        words->word[words->count++] = out;
        out = undo_word(&line, out);
    }
    if (out != NULL)
        return HINGE_OK;
    hg_free(memory);
    return hg_fail_line(err, &line, "'%s' is no word: %% must begin %%20 or %%25", hg_excerpt(line.p, line.end).text);
}

/* Gives the model what a list of words tells, which it checks: of labels, or names of features and a target. */
static hinge_status read_words(const struct hg_line *line, size_t n_names, struct hinge_model *model, hinge_error *err)
{
    hinge_words words;
    hinge_error own;
    bool labels = n_names == SIZE_MAX;
    if (line->number == 0 || (labels && model->labels == NULL))
        return HINGE_OK;
    HG_TRY(list_words(*line, &words, err));
    const hinge_words names = { HG_MIN(n_names, words.count), words.word };
    const char *target = words.count > n_names ? words.word[n_names] : NULL;
    hinge_status status =
        labels ? hinge_model_set_words(model, &words, &own) : hinge_model_set_names(model, &names, target, &own);
    hg_free(words.word);
    if (status == HINGE_OK)
        return HINGE_OK;
    for (char *p = own.text; *p != '\0'; p++) /* the word that is wrong may hold anything */
        if (*p < ' ' || *p > '~')
            *p = '?';
    return hg_fail_at(err, status == HINGE_EINVAL ? HINGE_EFORMAT : status, line->file, line->number, "hinge_%s%s",
                      labels ? "words" : "names", own.text + strcspn(own.text, ":"));
}

/* ---- reading: support vectors -------------------------------------------------------------------------- */

/* Is what lines of support vectors are read into. */
struct vectors {
    struct hinge_model *model;
    struct hg_columns columns;    /* that hold something; bits NULL: all are kept */
    struct hg_narrowed *narrowed; /* what was found of values that are kept as bytes; NULL: they are in f64 */
};

/* Reads a support vector into a row in f64 and makes bytes of it; nothing where one was no byte already. */
static hinge_status read_bytes(const struct vectors *vectors, struct hg_line *line, struct hg_row *row, size_t i,
                               size_t *nonzeros, hinge_error *err)
{
    const struct hinge_model *m = vectors->model;
    if (__atomic_load_n(&vectors->narrowed->strange, __ATOMIC_RELAXED) != 0)
        return HINGE_OK;
    row->data = hg_zalloc(m->d, sizeof(double));
    if (row->data == NULL)
        return hg_fail_at(err, HINGE_ENOMEM, line->file, line->number, "no memory for %zu features", m->d);
    hinge_status status = hg_line_pairs(line, row, NULL, nonzeros, err);
    if (status == HINGE_OK)
        hg_narrow(vectors->narrowed, row->data, m->d, (uint8_t *)m->sv + i * m->d);
    hg_free(row->data);
    return status;
}

/* Reads a support vector. Before there is room for coefficients, it is only looked which columns hold something. */
static hinge_status read_vector(const void *arg, const struct hg_line *given, size_t i, size_t *nonzeros,
                                hinge_error *err)
{
    const struct vectors *vectors = arg;
    const struct hinge_model *m = vectors->model;
    bool looks = m->coef == NULL;
    struct hg_columns columns = vectors->columns; /* its bits are shared */
    struct hg_line line = *given;
    bool narrow = vectors->narrowed != NULL;
    struct hg_row row = { .data = m->sv == NULL || narrow ? NULL : (double *)m->sv + i * m->d,
                          .type = HINGE_F64,
                          .cols = m->d,
                          .columns = !looks && columns.bits != NULL ? &columns : NULL,
                          .found = looks ? &columns : NULL };
    size_t coef_rows = hg_model_coef_rows(m), serial;
    double unused;
    hinge_status status = HINGE_OK;
    for (size_t k = 0; k < coef_rows && status == HINGE_OK; k++) {
        line.p = hg_skip_blanks(line.p, line.end);
        status = hg_line_number(&line, "coefficient", looks ? &unused : &m->coef[k * m->n_sv + i], err);
    }
    if (narrow)
        return status == HINGE_OK ? read_bytes(vectors, &line, &row, i, nonzeros, err) : status;
    HG_THEN(status, hg_line_pairs(&line, &row, m->sv_serial != NULL ? &serial : NULL, nonzeros, err));
    if (status != HINGE_OK || m->sv_serial == NULL)
        return status;
    if (serial == 0)
        return hg_fail_line(err, &line, "the serial number of a support vector is not an integer from 1 on");
    m->sv_serial[i] = serial - 1;
    return HINGE_OK;
}

/* Reads as many lines as total_sv, which are long enough for their coefficients. */
static hinge_status check_lines(const struct hg_body *body, const struct hg_lines *lines, const struct hinge_model *m,
                                hinge_error *err)
{
    size_t told = HG_MAX(lines->last_index, body->features), coef_rows = hg_model_coef_rows(m);
    if (m->scale_factor != NULL && m->d < told)
        return hg_fail_at(err, HINGE_EFORMAT, lines->file, body->scale_line,
                          "hinge_scale_factor has %zu values, and the support vectors %zu features", m->d, told);
    if (lines->n != m->n_sv)
        return hg_fail_at(err, HINGE_EFORMAT, lines->file, lines->first_number + HG_MIN(lines->n, m->n_sv),
                          "%zu support vectors, and total_sv is %zu", lines->n, m->n_sv);
    if (coef_rows > 0 && m->n_sv > lines->size / coef_rows)
        return hg_fail_at(err, HINGE_EFORMAT, lines->file, lines->first_number,
                          "%zu bytes cannot hold %zu x %zu coefficients", lines->size, coef_rows, m->n_sv);
    return HINGE_OK;
}

/* Finds the columns that hold something, where dense vectors of all would be mostly empty. */
static hinge_status choose_columns(struct vectors *vectors, struct hg_lines *lines, hinge_error *err)
{
    struct hinge_model *m = vectors->model;
    struct hg_wanted last = { &m->d, 1, m->d };        /* tells how many features there are, be it 0 in all vectors */
    size_t examples = HG_MAX(m->n_sv, 256);            /* which are as wide */
    bool by_number = m->kernel.type == HINGE_COMBINED; /* its parts name them */
    if (m->n_sv == 0 || m->scale_factor != NULL || by_number || !hg_columns_wasted(examples, m->d, lines->size))
        return HINGE_OK;
    HG_TRY(hg_lines_columns(lines, &last, read_vector, vectors, &vectors->columns, &m->columns, err));
    if (m->columns != NULL)
        m->d = m->n_columns = vectors->columns.count;
    return HINGE_OK;
}

/* Makes room for support vectors of a type. Refuses what this machine has no memory for, before it asks for it: a file
 * of a few bytes may tell of many. */
static hinge_status reserve(struct hinge_model *m, hinge_dtype type, const char *file, hinge_error *err)
{
    size_t values, bytes, size = hg_size_of(type);
    hg_free(m->sv);
    m->sv = NULL;
    if (!hg_mul(m->n_sv, m->d, &values) || !hg_mul(values, sizeof(double), &bytes))
        return hg_fail_at(err, HINGE_ESIZE, file, 0, "%zu x %zu support vectors are beyond all sizes", m->n_sv, m->d);
    if (values * size > hg_total_memory())
        return hg_fail_at(err, HINGE_ENOMEM, file, 0, "%zu x %zu support vectors take %zu bytes: no memory", m->n_sv,
                          m->d, values * size);
    m->sv_type = type;
    return m->kernel.type == HINGE_PRECOMPUTED
               ? HG_MAKE(err, "the serial numbers of support vectors", HG_ZEROS(m->sv_serial, m->n_sv))
               : HG_MAKE(err, "support vectors", { &m->sv, values, 1, size, true });
}

/* Reads support vectors: those of a large model as bytes, as it keeps them, until one turns out to be none; then all
 * of them again, in f64. */
static hinge_status read_all(struct vectors *vectors, struct hg_lines *lines, hinge_error *err)
{
    struct hinge_model *m = vectors->model;
    struct hg_narrowed narrowed = { 0 };
    bool numbers = m->kernel.type == HINGE_PRECOMPUTED;
    hinge_dtype type = numbers ? HINGE_F64 : hg_model_sv_type(m->n_sv, m->d, HINGE_U8);
    HG_TRY(reserve(m, type, lines->file, err));
    HG_TRY(HG_MAKE(err, "coefficients", HG_ZEROS(m->coef, hg_model_coef_rows(m) * m->n_sv))); /* fewer than bytes */
    vectors->narrowed = type != HINGE_F64 ? &narrowed : NULL;
    hinge_status status = hg_lines_read(lines, read_vector, vectors, err);
    vectors->narrowed = NULL;
    m->sv_type = type != HINGE_F64 ? hg_narrowed_type(&narrowed) : type;
    if (m->sv_type == type || (status != HINGE_OK && narrowed.strange == 0) || m->sv_type == HINGE_I8)
        return status;
    HG_TRY(reserve(m, HINGE_F64, lines->file, err)); /* the first line that is wrong may have been passed over */
    return hg_lines_read(lines, read_vector, vectors, err);
}

/* Reads in this order: words, the number of lines, which columns hold something, then vectors into their room. */
hinge_status hg_body_read(const struct hg_body *body, struct hinge_model *m, hinge_error *err)
{
    const char *file = body->told.file;
    struct vectors vectors = { .model = m };
    struct hg_lines lines;
    HG_TRY(read_words(&body->words, SIZE_MAX, m, err));
    hinge_status status = hg_lines_open(&lines, file, body->text, body->size, body->told.number + 1,
                                        m->kernel.type != HINGE_PRECOMPUTED, hg_threads(0), err);
    HG_THEN(status, check_lines(body, &lines, m, err));
    m->d = HG_MAX(HG_MAX(lines.last_index, body->features), m->d);
    HG_THEN(status, choose_columns(&vectors, &lines, err));
    HG_THEN(status, read_all(&vectors, &lines, err));
    for (size_t i = 0; status == HINGE_OK && m->sv_serial != NULL && i < m->n_sv; i++)
        m->d = HG_MAX(m->d, m->sv_serial[i] + 1); /* as many columns of a kernel matrix as its highest serial number */
    HG_THEN(status, read_words(&body->names, body->n_names, m, err));
    hg_columns_free(&vectors.columns);
    hg_lines_free(&lines);
    return status;
}

/*
 * Model files, LIBSVM's text: a line a key, then "SV" and a line a support vector:
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
 * What LIBSVM has no words for stands under keys of hinge's own, which it refuses: hinge_label, hinge_kernel,
 * hinge_multiclass one_vs_rest (a coefficient and a rho a class), hinge_scale_factor and hinge_scale_offset (a number a
 * feature), hinge_training (parameters). Of the line "SV" LIBSVM reads the first word only, so that more may stand in
 * it: "SV hinge_features 5", the number of features where no support vectors tell it; "SV hinge_tau 0.9", the level
 * of a quantile regression, which is an epsilon_svr to LIBSVM and predicts as one; last "SV hinge_words cat dog", the
 * words that the labels 1 and 2 stand for, in which %20 is a blank and %25 a percent sign.
 */
#include "lib/model.h"
#include "lib/files/bytes.h"
#include "lib/files/lines.h"
#include "lib/files/number.h"

#include <hinge/io.h>

#include <limits.h>
#include <math.h>
#include <string.h>

enum { N_MARKS = 10 };

static bool has_gamma(hinge_kernel_type type)
{
    return type == HINGE_POLYNOMIAL || type == HINGE_RBF || type == HINGE_SIGMOID;
}

static bool has_coef0(hinge_kernel_type type)
{
    return type == HINGE_POLYNOMIAL || type == HINGE_SIGMOID;
}

/* ---- writing ------------------------------------------------------------------------------------------- */

static void print_numbers(struct hg_text *text, const char *key, const double *values, size_t n)
{
    hg_text_print(text, "%s", key);
    for (size_t i = 0; i < n; i++) {
        hg_text_add(text, " ", 1);
        hg_text_number(text, values[i]);
    }
    hg_text_add(text, "\n", 1);
}

static bool all_int(const double *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!(values[i] >= INT_MIN && values[i] <= INT_MAX && values[i] == floor(values[i])))
            return false;
    return true;
}

static void print_labels(const struct hinge_model *model, struct hg_text *text)
{
    size_t n = model->n_classes;
    print_numbers(text, all_int(model->labels, n) ? "label" : "hinge_label", model->labels, n);
}

static void print_calibration(const struct hinge_model *model, struct hg_text *text)
{
    if (model->prob_a != NULL)
        print_numbers(text, "probA", model->prob_a, model->n_problems);
    if (model->prob_b != NULL)
        print_numbers(text, "probB", model->prob_b, model->n_problems);
    if (model->density_marks != NULL)
        print_numbers(text, "prob_density_marks", model->density_marks, N_MARKS);
}

static void print_class_sv(const struct hinge_model *model, struct hg_text *text)
{
    hg_text_print(text, "nr_sv");
    for (size_t i = 0; i < model->n_classes; i++)
        hg_text_print(text, " %zu", model->class_sv[i]);
    hg_text_add(text, "\n", 1);
}

/* " hinge_words cat dog", if labels are words. */
static void print_words(const hinge_words *words, struct hg_text *text)
{
    if (words->count > 0)
        hg_text_print(text, " hinge_words");
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

static void print_header(const struct hinge_model *model, struct hg_text *text)
{
    const hinge_kernel *kernel = &model->kernel;
    const hinge_task_row *task = hinge_task_info((hinge_task)hinge_task_info(model->task)->libsvm);
    hg_text_print(text, "svm_type %s\n", task->keyword);
    hg_text_print(text, "kernel_type %s\n", hinge_kernel_keyword(kernel->type));
    if (kernel->type == HINGE_USER)
        hg_text_print(text, "hinge_kernel %.*s\n", (int)sizeof kernel->name - 1, kernel->name);
    if (kernel->type == HINGE_POLYNOMIAL)
        hg_text_print(text, "degree %d\n", kernel->degree);
    if (has_gamma(kernel->type))
        print_numbers(text, "gamma", &kernel->gamma, 1);
    if (has_coef0(kernel->type))
        print_numbers(text, "coef0", &kernel->coef0, 1);
    if (model->multiclass == HINGE_ONE_VS_REST)
        hg_text_print(text, "hinge_multiclass one_vs_rest\n");
    hg_text_print(text, "nr_class %zu\ntotal_sv %zu\n", model->n_classes, model->n_sv);
    print_numbers(text, "rho", model->rho, model->n_problems);
    if (model->labels != NULL)
        print_labels(model, text);
    print_calibration(model, text);
    if (model->labels != NULL)
        print_class_sv(model, text);
    if (model->scale_factor != NULL) {
        print_numbers(text, "hinge_scale_factor", model->scale_factor, model->d);
        print_numbers(text, "hinge_scale_offset", model->scale_offset, model->d);
    }
    if (model->training != NULL)
        print_numbers(text, "hinge_training", model->training, model->n_training);
    hg_text_print(text, "SV");
    if (model->n_sv == 0 && model->d > 0 && model->scale_factor == NULL)
        hg_text_print(text, " hinge_features %zu", model->d);
    if (model->tau > 0) {
        hg_text_print(text, " hinge_tau ");
        hg_text_number(text, model->tau);
    }
    print_words(&model->words, text);
    hg_text_add(text, "\n", 1);
}

/* "coefficient coefficient ... index:value index:value ... ". Zeros are left out, but for the last feature of
 * the first vector: the number of features is thus in the file, and LIBSVM reads it as well. */
static hinge_status print_sv(const void *arg, size_t i, struct hg_text *text, hinge_error *err)
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
    for (size_t j = 0; model->sv != NULL && j < model->d; j++) {
        double value = model->sv[i * model->d + j];
        bool told = value != 0 || signbit(value) || (i == 0 && j + 1 == model->d && model->columns == NULL);
        char *room = !told ? NULL : hg_text_room(text, 2 * HG_NUMBER_ROOM), *out = room;
        if (room == NULL)
            continue;
        out += hg_format_size(out, model->columns != NULL ? model->columns[j] : j + 1);
        *out++ = ':';
        out += hg_format_double(out, value);
        *out++ = ' ';
        text->size += (size_t)(out - room);
    }
    hg_text_add(text, "\n", 1);
    return HINGE_OK;
}

static hinge_status print_model(const struct hinge_model *model, hg_text_sink sink, void *sink_arg,
                                hinge_error *err)
{
    struct hg_text header = { 0 };
    size_t width = hg_model_coef_rows(model) + model->d;
    print_header(model, &header);
    hinge_status status = header.no_memory ? hg_fail(err, HINGE_ENOMEM, "no memory for the model's text")
                                           : sink(sink_arg, header.data, header.size, err);
    hg_text_free(&header);
    if (status == HINGE_OK)
        status = hg_print_rows(model->n_sv, width, print_sv, model, sink, sink_arg, err);
    return status;
}

hinge_status hinge_model_save(const hinge_model *model, const char *path, hinge_error *err)
{
    struct hg_output output;
    if (model == NULL || path == NULL)
        return hg_fail(err, HINGE_EINVAL, "model or path: NULL");
    hinge_status status = hg_output_open(&output, path, err);
    if (status != HINGE_OK)
        return status;
    status = print_model(model, hg_output_write, &output, err);
    status = hg_output_close(&output, status, err);
    return status == HINGE_OK ? hg_ok(err) : status;
}

static hinge_status append(void *arg, const char *bytes, size_t size, hinge_error *err)
{
    struct hg_text *text = arg;
    hg_text_add(text, bytes, size);
    return text->no_memory ? hg_fail(err, HINGE_ENOMEM, "no memory for the model's text") : HINGE_OK;
}

hinge_status hinge_model_format(const hinge_model *model, char **bytes, size_t *size, hinge_error *err)
{
    struct hg_text text = { 0 };
    if (model == NULL || bytes == NULL || size == NULL)
        return hg_fail(err, HINGE_EINVAL, "model, bytes or size: NULL");
    hinge_status status = print_model(model, append, &text, err);
    if (status != HINGE_OK) {
        hg_text_free(&text);
        return status;
    }
    *bytes = text.data;
    *size = text.size;
    return hg_ok(err);
}

void hinge_free(void *memory)
{
    hg_free(memory);
}

/* ---- reading: the header ------------------------------------------------------------------------------- */

enum key {
    SVM_TYPE,
    KERNEL_TYPE,
    HINGE_KERNEL_NAME,
    DEGREE,
    GAMMA,
    COEF0,
    NR_CLASS,
    TOTAL_SV,
    RHO,
    LABEL,
    HINGE_LABEL,
    PROB_A,
    PROB_B,
    PROB_DENSITY_MARKS,
    NR_SV,
    MULTICLASS,
    SCALE_FACTOR,
    SCALE_OFFSET,
    TRAINING,
    N_KEYS
};

static const char *const keys[N_KEYS] = {
    "svm_type",         "kernel_type",        "hinge_kernel",      "degree", "gamma",       "coef0",
    "nr_class",         "total_sv",           "rho",               "label",  "hinge_label", "probA",
    "probB",            "prob_density_marks", "nr_sv",             "hinge_multiclass",
    "hinge_scale_factor", "hinge_scale_offset", "hinge_training"
};

/* The header's lines, then what they mean. Counts are believed only once as many values stand there. */
struct header {
    const char *file;
    struct hg_line lines[N_KEYS]; /* behind the key; number 0: not there */
    const char *body, *end;       /* the support vectors */
    size_t body_number;           /* line of the first one */
    const hinge_task_row *task;
    hinge_kernel kernel;
    hinge_multiclass multiclass;
    size_t n_classes, n_problems, n_sv;
    size_t n_scaled; /* features that are scaled; 0: not scaled */
    size_t n_told;   /* features that the line "SV" tells; 0: none */
    double tau;      /* likewise: the level of a quantile regression; 0: another task */
    struct hg_line words; /* the words that it tells; number 0: none */
};

static bool has(const struct header *header, enum key key)
{
    return header->lines[key].number > 0;
}

static struct hg_excerpt value_of(const struct header *header, enum key key)
{
    return hg_excerpt_all(header->lines[key].p, header->lines[key].end);
}

/* "file:line: key 'value' reason" */
static hinge_status refuse(const struct header *header, enum key key, const char *reason, hinge_error *err)
{
    return hg_fail_at(err, HINGE_EFORMAT, header->file, header->lines[key].number, "%s '%s' %s", keys[key],
                      value_of(header, key).text, reason);
}

static const char *word_end(const char *p, const char *end)
{
    while (p < end && !hg_is_blank(*p))
        p++;
    return p;
}

static bool is_word(const char *p, const char *end, const char *word)
{
    return (size_t)(end - p) == strlen(word) && memcmp(p, word, (size_t)(end - p)) == 0;
}

/* What stands behind "SV": the number of features of a model without support vectors, the level of a quantile
 * regression, and words, which are the rest of the line. */
static hinge_status read_told(struct header *header, const struct hg_line *line, const char *p, hinge_error *err)
{
    for (const char *name = hg_skip_blanks(p, line->end), *number; name < line->end;
         name = hg_skip_blanks(word_end(number, line->end), line->end)) {
        const char *stop = word_end(name, line->end);
        number = hg_skip_blanks(stop, line->end);
        if (is_word(name, stop, "hinge_words")) {
            header->words = *line;
            header->words.p = number;
            break;
        }
        if (is_word(name, stop, "hinge_features") &&
            (hg_parse_size(number, line->end, &header->n_told) == NULL || header->n_told > INT_MAX))
            return hg_fail_at(err, HINGE_EFORMAT, header->file, line->number, "hinge_features '%s' is not a count",
                              hg_excerpt_all(number, line->end).text);
        if (is_word(name, stop, "hinge_tau") &&
            (hg_parse_double(number, line->end, &header->tau) == NULL || !(header->tau > 0 && header->tau < 1)))
            return hg_fail_at(err, HINGE_EFORMAT, header->file, line->number, "hinge_tau '%s' is not in (0, 1)",
                              hg_excerpt_all(number, line->end).text);
    }
    return HINGE_OK;
}

static int hex_digit(char c)
{
    const char *digits = "0123456789abcdef", *at = c != '\0' ? strchr(digits, c) : NULL;
    return at != NULL ? (int)(at - digits) : -1;
}

/* The next word in the line, its %xx undone, at out; NULL: one is wrong. */
static char *undo_word(struct hg_line *line, char *out)
{
    const char *p = line->p, *stop = word_end(p, line->end);
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

/* The words of labels, which the model then checks. */
static hinge_status read_words(const struct header *header, struct hinge_model *model, hinge_error *err)
{
    struct hg_line line = header->words;
    size_t room = (size_t)(line.end - line.p) + 1, n = 0;
    if (line.number == 0)
        return HINGE_OK;
    char *memory = hg_alloc(room, 1 + sizeof(char *)), *out = memory == NULL ? NULL : memory + room * sizeof(char *);
    const char **word = (const char **)(void *)memory;
    hinge_status status = HINGE_OK;
    hinge_error own;
    if (memory == NULL)
        return hg_fail_at(err, HINGE_ENOMEM, header->file, line.number, "no memory for words");
    while (line.p < line.end && out != NULL) {
        word[n++] = out;
        out = undo_word(&line, out);
    }
    if (out == NULL)
        status = hg_fail(&own, HINGE_EFORMAT, "'%s' is no word: %% must begin %%20 or %%25",
                         hg_excerpt(line.p, line.end).text);
    else
        status = hinge_model_set_words(model, &(hinge_words){ n, word }, &own);
    hg_free(memory);
    if (status == HINGE_OK)
        return status;
    return hg_fail_at(err, status == HINGE_EINVAL ? HINGE_EFORMAT : status, header->file, line.number, "hinge_%s",
                      own.text);
}

/* Files "key value ..." lines under their keys, up to the line "SV". */
static hinge_status find_keys(struct header *header, const char *p, const char *end, hinge_error *err)
{
    for (size_t number = 1; p < end; number++) {
        struct hg_line line = hg_next_line(header->file, number, &p, end);
        const char *stop = word_end(line.p, line.end);
        size_t key = 0;
        if (is_word(line.p, stop, "SV")) {
            header->body = p;
            header->body_number = number + 1;
            return read_told(header, &line, stop, err);
        }
        while (key < N_KEYS && !is_word(line.p, stop, keys[key]))
            key++;
        if (key == N_KEYS)
            return hg_fail_at(err, HINGE_EFORMAT, header->file, number, "'%s' is not a key of a model file",
                              hg_excerpt_all(line.p, stop).text);
        if (has(header, (enum key)key))
            return hg_fail_at(err, HINGE_EFORMAT, header->file, number, "%s stands in line %zu already",
                              keys[key], header->lines[key].number);
        line.p = hg_skip_blanks(stop, line.end);
        while (line.end > line.p && hg_is_blank(line.end[-1]))
            line.end--;
        header->lines[key] = line;
    }
    return hg_fail_at(err, HINGE_EFORMAT, header->file, 0,
                      "no line 'SV': not a model file, or its end is missing");
}

static hinge_status require(const struct header *header, enum key key, hinge_error *err)
{
    return has(header, key) ? HINGE_OK
                            : hg_fail_at(err, HINGE_EFORMAT, header->file, 0, "%s is missing", keys[key]);
}

/* One integer from 0 to INT_MAX. */
static hinge_status read_count(const struct header *header, enum key key, size_t *count, hinge_error *err)
{
    const struct hg_line *line = &header->lines[key];
    hinge_status status = require(header, key, err);
    if (status != HINGE_OK)
        return status;
    if (hg_parse_size(line->p, line->end, count) != line->end || *count > INT_MAX)
        return refuse(header, key, "is not a count", err);
    return HINGE_OK;
}

/* One finite number. */
static hinge_status read_number(const struct header *header, enum key key, double *value, hinge_error *err)
{
    const struct hg_line *line = &header->lines[key];
    hinge_status status = require(header, key, err);
    if (status != HINGE_OK)
        return status;
    if (hg_parse_double(line->p, line->end, value) != line->end || !isfinite(*value))
        return refuse(header, key, "is not a finite number", err);
    return HINGE_OK;
}

static hinge_status read_task(struct header *header, hinge_error *err)
{
    const struct hg_line *line = &header->lines[SVM_TYPE];
    hinge_status status = require(header, SVM_TYPE, err);
    if (status != HINGE_OK)
        return status;
    const hinge_task_row *task = hinge_task_info(HINGE_C_SVC), *own = hinge_task_info(HINGE_QUANTILE);
    while (task != NULL && !(task->libsvm == (int)task->task && is_word(line->p, line->end, task->keyword)))
        task = hinge_task_info((hinge_task)(task->task + 1));
    if (task == NULL)
        return refuse(header, SVM_TYPE, "is not known", err);
    if (header->tau > 0 && own->libsvm != (int)task->task)
        return refuse(header, SVM_TYPE, "has no hinge_tau", err);
    header->task = header->tau > 0 ? own : task;
    return HINGE_OK;
}

/* The caller's own kernel has to be the one the model was trained with. */
static hinge_status read_user_kernel(struct header *header, const hinge_kernel *user, hinge_error *err)
{
    const struct hg_line *line = &header->lines[HINGE_KERNEL_NAME];
    hinge_status status = require(header, HINGE_KERNEL_NAME, err);
    if (status != HINGE_OK)
        return status;
    if (user == NULL || user->type != HINGE_USER || user->user == NULL)
        return hg_fail_at(err, HINGE_EINVAL, header->file, line->number,
                          "the model needs the user kernel '%s', and none was given",
                          value_of(header, HINGE_KERNEL_NAME).text);
    size_t length = strnlen(user->name, sizeof user->name);
    if (length != (size_t)(line->end - line->p) || memcmp(line->p, user->name, length) != 0)
        return hg_fail_at(err, HINGE_EINVAL, header->file, line->number,
                          "the model needs the user kernel '%s', not '%.31s'",
                          value_of(header, HINGE_KERNEL_NAME).text, user->name);
    header->kernel = *user;
    return HINGE_OK;
}

static hinge_status read_kernel(struct header *header, const hinge_kernel *user, hinge_error *err)
{
    const struct hg_line *line = &header->lines[KERNEL_TYPE];
    hinge_kernel *kernel = &header->kernel;
    int type = HINGE_LINEAR;
    size_t degree;
    hinge_status status = require(header, KERNEL_TYPE, err);
    if (status != HINGE_OK)
        return status;
    while (type <= HINGE_USER && !is_word(line->p, line->end, hinge_kernel_keyword((hinge_kernel_type)type)))
        type++;
    if (type > HINGE_USER)
        return refuse(header, KERNEL_TYPE, "is not known", err);
    *kernel = hinge_kernel_linear();
    kernel->type = (hinge_kernel_type)type;
    if (kernel->type == HINGE_USER)
        return read_user_kernel(header, user, err);
    if (kernel->type == HINGE_POLYNOMIAL) {
        status = read_count(header, DEGREE, &degree, err);
        if (status == HINGE_OK)
            kernel->degree = (int)degree;
    }
    if (status == HINGE_OK && has_gamma(kernel->type)) {
        status = read_number(header, GAMMA, &kernel->gamma, err);
        if (status == HINGE_OK && kernel->gamma < 0)
            status = refuse(header, GAMMA, "is negative", err);
    }
    if (status == HINGE_OK && has_coef0(kernel->type))
        status = read_number(header, COEF0, &kernel->coef0, err);
    return status;
}

static size_t count_values(const struct header *header, enum key key)
{
    const struct hg_line *line = &header->lines[key];
    size_t words = 0;
    for (const char *p = line->p; p < line->end; p = hg_skip_blanks(word_end(p, line->end), line->end))
        words++;
    return words;
}

/* The key is there and has exactly n values. */
static hinge_status check_values(const struct header *header, enum key key, size_t n, hinge_error *err)
{
    hinge_status status = require(header, key, err);
    if (status != HINGE_OK)
        return status;
    const struct hg_line *line = &header->lines[key];
    size_t words = count_values(header, key);
    if (words != n)
        return hg_fail_at(err, HINGE_EFORMAT, header->file, line->number,
                          "%s has %zu values, and nr_class %zu asks for %zu", keys[key], words,
                          header->n_classes, n);
    return HINGE_OK;
}

/* Sum of nr_sv and total_sv are the same. */
static hinge_status check_class_sv(const struct header *header, hinge_error *err)
{
    const struct hg_line *line = &header->lines[NR_SV];
    size_t sum = 0, count;
    for (const char *p = line->p; p < line->end; p = hg_skip_blanks(p, line->end)) {
        const char *stop = word_end(p, line->end);
        if (hg_parse_size(p, stop, &count) != stop || count > INT_MAX)
            return refuse(header, NR_SV, "are not all counts", err);
        sum += count; /* at most line length * INT_MAX */
        p = stop;
    }
    if (sum != header->n_sv)
        return hg_fail_at(err, HINGE_EFORMAT, header->file, line->number,
                          "nr_sv '%s' sum to %zu, and total_sv is %zu", value_of(header, NR_SV).text, sum,
                          header->n_sv);
    return HINGE_OK;
}

static hinge_status read_classes(struct header *header, hinge_error *err)
{
    enum key label = has(header, HINGE_LABEL) ? HINGE_LABEL : LABEL;
    if (has(header, HINGE_LABEL) && has(header, LABEL))
        return refuse(header, HINGE_LABEL, "beside label", err);
    if (header->n_classes == 1 && header->n_sv > 0)
        return refuse(header, TOTAL_SV, "with nr_class 1, which has none", err);
    hinge_status status = check_values(header, label, header->n_classes, err);
    if (status == HINGE_OK)
        status = check_values(header, NR_SV, header->n_classes, err);
    return status == HINGE_OK ? check_class_sv(header, err) : status;
}

/* One-vs-rest is told only where it is meant and makes a difference. */
static hinge_status read_multiclass(struct header *header, hinge_error *err)
{
    const struct hg_line *line = &header->lines[MULTICLASS];
    if (!has(header, MULTICLASS))
        return HINGE_OK;
    if (!is_word(line->p, line->end, "one_vs_rest"))
        return refuse(header, MULTICLASS, "is not known", err);
    if (!header->task->classifies || header->n_classes < 3)
        return refuse(header, MULTICLASS, "with less than three classes", err);
    header->multiclass = HINGE_ONE_VS_REST;
    return HINGE_OK;
}

/* Each task has keys of its own, with a value a problem, or ten marks. */
static hinge_status check_calibration(const struct header *header, hinge_error *err)
{
    bool classes = header->task->classifies, one = header->task->one_class;
    hinge_status status = HINGE_OK;
    if (has(header, PROB_A) && (one || header->task->uses_tau))
        return refuse(header, PROB_A, "of a model that has none", err);
    if (has(header, PROB_B) && !classes)
        return refuse(header, PROB_B, "of a model that has none", err);
    if (has(header, PROB_DENSITY_MARKS) && !one)
        return refuse(header, PROB_DENSITY_MARKS, "of a model that has none", err);
    if (has(header, PROB_A) || has(header, PROB_B))
        status = check_values(header, PROB_A, header->n_problems, err);
    if (status == HINGE_OK && classes && has(header, PROB_A))
        status = check_values(header, PROB_B, header->n_problems, err);
    if (status == HINGE_OK && has(header, PROB_DENSITY_MARKS))
        status = check_values(header, PROB_DENSITY_MARKS, N_MARKS, err);
    return status;
}

static hinge_status check_scaling(struct header *header, hinge_error *err)
{
    if (!has(header, SCALE_FACTOR) && !has(header, SCALE_OFFSET))
        return HINGE_OK;
    hinge_status status = require(header, SCALE_FACTOR, err);
    if (status == HINGE_OK)
        status = require(header, SCALE_OFFSET, err);
    if (status != HINGE_OK)
        return status;
    if (header->kernel.type == HINGE_PRECOMPUTED)
        return refuse(header, SCALE_FACTOR, "with a precomputed kernel", err);
    size_t factors = count_values(header, SCALE_FACTOR), offsets = count_values(header, SCALE_OFFSET);
    if (factors != offsets)
        return hg_fail_at(err, HINGE_EFORMAT, header->file, header->lines[SCALE_OFFSET].number,
                          "%s has %zu values, and %s %zu", keys[SCALE_OFFSET], offsets, keys[SCALE_FACTOR],
                          factors);
    header->n_scaled = factors;
    return HINGE_OK;
}

static hinge_status read_sizes(struct header *header, hinge_error *err)
{
    bool classes = header->task->classifies;
    hinge_status status = read_count(header, NR_CLASS, &header->n_classes, err);
    if (status == HINGE_OK)
        status = read_count(header, TOTAL_SV, &header->n_sv, err);
    if (status != HINGE_OK)
        return status;
    if (header->n_classes == 0 || (!classes && header->n_classes != 2))
        return refuse(header, NR_CLASS, classes ? "is too small" : "is not 2, as it is without classes", err);
    if (!classes && (has(header, LABEL) || has(header, HINGE_LABEL) || has(header, NR_SV)))
        return refuse(header, SVM_TYPE, "has no classes, and label or nr_sv is there", err);
    uint64_t k = header->n_classes; /* at most 2^31 */
    status = read_multiclass(header, err);
    if (status != HINGE_OK)
        return status;
    header->n_problems = !classes                                    ? 1
                         : header->multiclass == HINGE_ONE_VS_REST ? (size_t)k
                                                                     : (size_t)(k * (k - 1) / 2);
    status = check_values(header, RHO, header->n_problems, err);
    if (status == HINGE_OK && classes)
        status = read_classes(header, err);
    if (status == HINGE_OK)
        status = check_calibration(header, err);
    return status == HINGE_OK ? check_scaling(header, err) : status;
}

/* ---- reading: the arrays and the support vectors ------------------------------------------------------- */

static hinge_status read_numbers(const struct header *header, enum key key, bool integers, double *values,
                                 hinge_error *err)
{
    struct hg_line line = header->lines[key];
    for (size_t i = 0; line.p < line.end; i++) {
        hinge_status status = hg_line_number(&line, keys[key], &values[i], err);
        if (status != HINGE_OK)
            return status;
        if (integers && !all_int(&values[i], 1))
            return refuse(header, key, "are not all integers", err);
        line.p = hg_skip_blanks(line.p, line.end);
    }
    return HINGE_OK;
}

/* An array of n numbers that a model may do without. */
static hinge_status read_optional(const struct header *header, enum key key, size_t n, double **values,
                                  hinge_error *err)
{
    if (!has(header, key))
        return HINGE_OK;
    *values = hg_alloc(n, sizeof **values);
    if (*values == NULL)
        return hg_fail_at(err, HINGE_ENOMEM, header->file, header->lines[key].number,
                          "no memory for %zu numbers", n);
    return read_numbers(header, key, false, *values, err);
}

static hinge_status read_calibration(const struct header *header, struct hinge_model *model, hinge_error *err)
{
    hinge_status status = read_optional(header, PROB_A, model->n_problems, &model->prob_a, err);
    if (status == HINGE_OK)
        status = read_optional(header, PROB_B, model->n_problems, &model->prob_b, err);
    if (status == HINGE_OK)
        status = read_optional(header, PROB_DENSITY_MARKS, N_MARKS, &model->density_marks, err);
    if (status == HINGE_OK && model->prob_a != NULL && model->labels == NULL && model->prob_a[0] < 0)
        status = refuse(header, PROB_A, "is a width, and negative", err);
    return status;
}

/* C, nu, p, eps, bias or not, weights of examples or not, then labels and weights of classes: lib/model.h. */
static hinge_status read_training(const struct header *header, struct hinge_model *model, hinge_error *err)
{
    size_t n = has(header, TRAINING) ? count_values(header, TRAINING) : 0;
    if (has(header, TRAINING) && (n < HG_TRAINING_FIELDS || (n - HG_TRAINING_FIELDS) % 2 != 0))
        return refuse(header, TRAINING, "has not as many values as it should", err);
    model->n_training = n;
    hinge_status status = read_optional(header, TRAINING, n, &model->training, err);
    size_t labels = HG_TRAINING_FIELDS, weights = (labels + n) / 2;
    for (size_t i = 0; status == HINGE_OK && i < n; i++) {
        bool label = i >= labels && i < weights; /* labels alone may be negative */
        if (!label && model->training[i] < 0)
            status = refuse(header, TRAINING, "has a negative number", err);
    }
    return status;
}

/* The header is checked: as many values as the model's arrays take. */
static hinge_status read_arrays(const struct header *header, struct hinge_model *model, hinge_error *err)
{
    hinge_status status = read_numbers(header, RHO, false, model->rho, err);
    if (status == HINGE_OK)
        status = read_calibration(header, model, err);
    if (status == HINGE_OK)
        status = read_optional(header, SCALE_FACTOR, model->d, &model->scale_factor, err);
    if (status == HINGE_OK)
        status = read_optional(header, SCALE_OFFSET, model->d, &model->scale_offset, err);
    if (status == HINGE_OK)
        status = read_training(header, model, err);
    if (status != HINGE_OK || model->labels == NULL)
        return status;
    bool own = has(header, HINGE_LABEL);
    const char *p = header->lines[NR_SV].p, *end = header->lines[NR_SV].end;
    for (size_t i = 0; i < model->n_classes; i++)
        p = hg_skip_blanks(hg_parse_size(p, end, &model->class_sv[i]), end);
    status = read_numbers(header, own ? HINGE_LABEL : LABEL, !own, model->labels, err);
    return status == HINGE_OK ? read_words(header, model, err) : status;
}

/* Support vectors as they are read. */
struct vectors {
    struct hinge_model *model;
    struct hg_columns columns; /* that hold something; bits NULL: all are kept */
    size_t coef_rows;
};

/* Finds the columns that hold something. */
static hinge_status find_sv(const void *arg, const struct hg_line *given, size_t i, struct hg_tally *tally,
                            hinge_error *err)
{
    const struct vectors *vectors = arg;
    struct hg_columns columns = vectors->columns; /* its bits are shared */
    const struct hg_row row = { .type = HINGE_F64, .found = &columns };
    struct hg_line line = *given;
    hinge_status status = HINGE_OK;
    double coefficient;
    (void)i;
    for (size_t m = 0; m < vectors->coef_rows && status == HINGE_OK; m++) {
        line.p = hg_skip_blanks(line.p, line.end);
        status = hg_line_number(&line, "coefficient", &coefficient, err);
    }
    return status == HINGE_OK ? hg_line_pairs(&line, &row, NULL, tally, err) : status;
}

static hinge_status read_sv(const void *arg, const struct hg_line *given, size_t i, struct hg_tally *tally,
                            hinge_error *err)
{
    const struct vectors *vectors = arg;
    const struct hinge_model *model = vectors->model;
    struct hg_line line = *given;
    struct hg_row row = { .data = model->sv == NULL ? NULL : model->sv + i * model->d,
                          .type = HINGE_F64,
                          .cols = model->d,
                          .columns = vectors->columns.bits != NULL ? &vectors->columns : NULL };
    size_t coef_rows = hg_model_coef_rows(model), serial;
    hinge_status status;
    for (size_t m = 0; m < coef_rows; m++) {
        line.p = hg_skip_blanks(line.p, line.end);
        status = hg_line_number(&line, "coefficient", &model->coef[m * model->n_sv + i], err);
        if (status != HINGE_OK)
            return status;
    }
    status = hg_line_pairs(&line, &row, model->sv_serial != NULL ? &serial : NULL, tally, err);
    if (status != HINGE_OK || model->sv_serial == NULL)
        return status;
    if (serial == 0)
        return hg_fail_at(err, HINGE_EFORMAT, line.file, line.number,
                          "the serial number of a support vector is not an integer from 1 on");
    model->sv_serial[i] = serial - 1;
    return HINGE_OK;
}

/* As many lines as total_sv, and long enough for their coefficients. */
static hinge_status check_body(const struct header *header, const struct hg_lines *lines, size_t coef_rows,
                               hinge_error *err)
{
    size_t told = HG_MAX(lines->last_index, header->n_told);
    if (header->n_scaled > 0 && header->n_scaled < told)
        return hg_fail_at(err, HINGE_EFORMAT, header->file, header->lines[SCALE_FACTOR].number,
                          "%s has %zu values, and the support vectors %zu features", keys[SCALE_FACTOR],
                          header->n_scaled, told);
    if (lines->n != header->n_sv)
        return hg_fail_at(err, HINGE_EFORMAT, header->file,
                          header->body_number + HG_MIN(lines->n, header->n_sv),
                          "%zu support vectors, and total_sv is %zu", lines->n, header->n_sv);
    if (coef_rows > 0 && header->n_sv > lines->size / coef_rows)
        return hg_fail_at(err, HINGE_EFORMAT, header->file, header->body_number,
                          "%zu bytes cannot hold %zu x %zu coefficients", lines->size, coef_rows, header->n_sv);
    return HINGE_OK;
}

/* Finds how many columns the dense vectors take, and that there is room for them. */
static hinge_status measure_body(const struct header *header, struct hg_lines *lines, struct vectors *vectors,
                                 size_t *cols, hinge_error *err)
{
    size_t d = HG_MAX(HG_MAX(lines->last_index, header->n_told), header->n_scaled), bytes;
    struct hg_tally tally;
    size_t rows = HG_MAX(header->n_sv, 256); /* examples are as wide */
    if (header->n_sv > 0 && header->n_scaled == 0 && hg_columns_wasted(rows, d, lines->size)) {
        hinge_status status = hg_columns_open(&vectors->columns, header->file, d, err);
        if (status == HINGE_OK)
            status = hg_lines_read(lines, find_sv, vectors, &tally, err);
        if (status != HINGE_OK)
            return status;
        hg_columns_rank(&vectors->columns);
        if (hg_columns_worth(&vectors->columns))
            d = vectors->columns.count;
        else
            hg_columns_free(&vectors->columns);
    }
    *cols = d;
    if (!hg_mul(header->n_sv, d, &bytes) || !hg_mul(bytes, sizeof(double), &bytes))
        return hg_fail_at(err, HINGE_ESIZE, header->file, 0, "%zu x %zu support vectors are beyond all sizes",
                          header->n_sv, d);
    if (bytes > hg_total_memory())
        return hg_fail_at(err, HINGE_ENOMEM, header->file, 0,
                          "%zu x %zu support vectors take %zu bytes: no memory", header->n_sv, d, bytes);
    return HINGE_OK;
}

/* A precomputed kernel's model needs as many columns as its highest serial number. */
static void count_columns(struct hinge_model *model)
{
    for (size_t i = 0; model->sv_serial != NULL && i < model->n_sv; i++)
        model->d = HG_MAX(model->d, model->sv_serial[i] + 1);
}

static hinge_status read_body(const struct header *header, struct hinge_model **made, hinge_error *err)
{
    struct hg_lines lines;
    struct hg_tally tally = { 0 };
    struct vectors vectors = { .coef_rows = header->task->classifies ? header->n_classes - 1 : 1 };
    bool precomputed = header->kernel.type == HINGE_PRECOMPUTED;
    size_t cols;
    vectors.coef_rows += header->multiclass == HINGE_ONE_VS_REST;
    hinge_status status =
        hg_lines_open(&lines, header->file, header->body, (size_t)(header->end - header->body),
                      header->body_number, !precomputed, hg_threads(0), err);
    if (status == HINGE_OK)
        status = check_body(header, &lines, vectors.coef_rows, err);
    if (status == HINGE_OK)
        status = measure_body(header, &lines, &vectors, &cols, err);
    if (status == HINGE_OK) {
        *made = hg_model_new(header->task->task, header->kernel, header->multiclass, header->n_classes, header->n_sv,
                             cols);
        vectors.model = *made;
        if (*made != NULL)
            (*made)->tau = header->tau;
        else
            status = hg_fail_at(err, HINGE_ENOMEM, header->file, 0, "no memory for %zu support vectors",
                                header->n_sv);
    }
    if (status == HINGE_OK)
        status = read_arrays(header, *made, err);
    if (status == HINGE_OK)
        status = hg_lines_read(&lines, read_sv, &vectors, &tally, err);
    if (status == HINGE_OK)
        count_columns(*made);
    if (status == HINGE_OK && vectors.columns.bits != NULL) {
        (*made)->columns = hg_columns_list(&vectors.columns);
        (*made)->n_columns = cols;
        if ((*made)->columns == NULL)
            status = hg_fail_at(err, HINGE_ENOMEM, header->file, 0, "no memory for %zu columns", cols);
    }
    hg_columns_free(&vectors.columns);
    hg_lines_free(&lines);
    return status;
}

static hinge_status parse(hinge_model **model, const char *name, const struct hg_bytes *bytes,
                          const hinge_kernel *user, hinge_error *err)
{
    const char *end = bytes->data + bytes->size;
    struct header header = { .file = name, .end = end };
    struct hinge_model *made = NULL;
    hinge_status status = find_keys(&header, bytes->data, end, err);
    if (status == HINGE_OK)
        status = read_task(&header, err);
    if (status == HINGE_OK)
        status = read_kernel(&header, user, err);
    if (status == HINGE_OK)
        status = read_sizes(&header, err);
    if (status == HINGE_OK)
        status = read_body(&header, &made, err);
    if (status == HINGE_OK)
        status = hg_model_finish(made, err);
    if (status != HINGE_OK) {
        hinge_model_free(made);
        return status;
    }
    *model = made;
    return hg_ok(err);
}

hinge_status hinge_model_load(hinge_model **model, const char *path, const hinge_kernel *user, hinge_error *err)
{
    struct hg_bytes bytes = { 0 };
    if (model == NULL || path == NULL)
        return hg_fail(err, HINGE_EINVAL, "model or path: NULL");
    hinge_status status = hg_bytes_read(&bytes, path, err);
    if (status == HINGE_OK)
        status = parse(model, path, &bytes, user, err);
    hg_bytes_free(&bytes);
    return status;
}

hinge_status hinge_model_parse(hinge_model **model, const char *name, const void *memory, size_t size,
                               const hinge_kernel *user, hinge_error *err)
{
    struct hg_bytes bytes = { 0 };
    if (model == NULL || name == NULL || (memory == NULL && size > 0))
        return hg_fail(err, HINGE_EINVAL, "model, name or bytes: NULL");
    hinge_status status = hg_bytes_unpack(&bytes, name, memory, size, err);
    if (status == HINGE_OK)
        status = parse(model, name, &bytes, user, err);
    hg_bytes_free(&bytes);
    return status;
}

/*
 * Messages, files written whole, JSON, data and scores: see common.h.
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <hinge/theory.h>

#include "common.h"

/* ---- Messages ---- */

static void say(const char *mark, const char *format, va_list arguments)
{
    fflush(stdout);
    fprintf(stderr, "hinge: %s", mark);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
}

static int errors_in_json;

void die_in_json(void)
{
    errors_in_json = 1;
}

struct last_words last_words;

static void json_error(void)
{
    struct json j = { 0 };
    errors_in_json = 0; /* once, even if this fails */
    json_open(&j, NULL, '{');
    json_put(&j, "error %s, exit_status %d", last_words.text, last_words.code);
    json_close(&j, '}');
}

static const char *unfinished; /* a file being written beside the one that it becomes; or NULL */

void die(int code, const char *format, ...)
{
    va_list arguments;
    if (unfinished)
        file_remove(unfinished);
    va_start(arguments, format);
    say("", format, arguments);
    va_end(arguments);
    va_start(arguments, format);
    last_words.code = code;
    vsnprintf(last_words.text, sizeof last_words.text, format, arguments);
    va_end(arguments);
    if (errors_in_json)
        json_error();
    exit(code);
}

void warn(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say("warning: ", format, arguments);
    va_end(arguments);
}

hinge_error failure;

void check(hinge_status status)
{
    if (status != HINGE_OK)
        die(EXIT_DATA, "%s", failure.text[0] ? failure.text : hinge_status_text(status));
}

void finish_stdout(void)
{
    if (fflush(stdout) || ferror(stdout))
        die(EXIT_DATA, "cannot write to standard output: %s", strerror(errno));
}

/* ---- Small things ---- */

void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (!memory)
        die(EXIT_DATA, "no memory for %zu times %zu bytes", count, size);
    return memory;
}

void *grown(void *memory, size_t count, size_t size)
{
    void *longer = count && count <= SIZE_MAX / size ? realloc(memory, count * size) : NULL;
    if (!longer)
        die(EXIT_DATA, "no memory for %zu times %zu bytes", count, size);
    return longer;
}

int ends_in(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

char *join(const char *a, const char *b, const char *c)
{
    size_t size = strlen(a) + strlen(b) + strlen(c) + 1;
    char *text = allocate(size, 1);
    snprintf(text, size, "%s%s%s", a, b, c);
    return text;
}

/* Counts letters to change, leave out, add, or swap with the next, from a to b (Damerau 1964, of neighbours). */
static size_t distance(const char *a, const char *b)
{
    enum { MOST = 40 };
    size_t n = strlen(a), m = strlen(b), row[MOST + 1][MOST + 1];
    if (n > MOST || m > MOST)
        return SIZE_MAX;
    for (size_t i = 0; i <= n; i++)
        for (size_t k = 0; k <= m; k++) {
            size_t least = i + k;
            if (i && k)
                least = row[i - 1][k - 1] + (a[i - 1] != b[k - 1]);
            if (i && row[i - 1][k] + 1 < least)
                least = row[i - 1][k] + 1;
            if (k && row[i][k - 1] + 1 < least)
                least = row[i][k - 1] + 1;
            if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1] && row[i - 2][k - 2] + 1 < least)
                least = row[i - 2][k - 2] + 1;
            row[i][k] = least;
        }
    return row[n][m];
}

const char *nearest(const char *typed, const void *names, size_t count, size_t size)
{
    const char *best = NULL;
    size_t least = 1 + strlen(typed) / 3;
    for (size_t k = 0; k < count; k++) {
        const char *name = *(const char *const *)(const void *)((const char *)names + k * size);
        if (name && distance(typed, name) < least + !best) {
            best = name;
            least = distance(typed, name);
        }
    }
    return best;
}

int compare_reals(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

size_t read_line(FILE *file, char **line, size_t *room)
{
    size_t n = 0;
    int c = 0;
    while (c != '\n' && (c = getc(file)) != EOF) {
        if (n + 2 > *room) {
            *room = 2 * *room + 128;
            *line = grown(*line, *room, 1);
        }
        (*line)[n++] = (char)c;
    }
    if (n)
        (*line)[n] = '\0';
    return n;
}

FILE *open_file(const char *path, const char *mode)
{
    FILE *file = file_open(path, mode);
    if (!file)
        die(EXIT_DATA, "%s: cannot %s: %s", path, *mode == 'r' ? "read" : "write", strerror(errno));
    return file;
}

/* ---- Files written whole ---- */

int is_stdout(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

const char *input_name(const char *path)
{
    return strcmp(path, "-") == 0 ? "/dev/stdin" : path;
}

void output_open(struct output *out, const char *path)
{
    memset(out, 0, sizeof *out);
    if (is_stdout(path)) {
        out->file = stdout;
        return;
    }
    out->path = file_behind(path);
    if (path_kind(out->path) == PATH_NONE || path_kind(out->path) == PATH_FILE)
        out->file = file_beside(out->path, &out->temporary);
    else /* a pipe, a terminal, /dev/null */
        out->file = file_open(out->path, "wb");
    if (!out->file)
        die(EXIT_DATA, "%s: cannot write: %s", path, strerror(errno));
    unfinished = out->temporary;
}

void output_close(struct output *out)
{
    int failed;
    if (out->file == stdout) {
        finish_stdout();
        return;
    }
    unfinished = NULL;
    failed = ferror(out->file);
    failed |= fclose(out->file);
    if (!failed && out->temporary)
        failed = file_replace(out->temporary, out->path);
    if (failed) {
        int why = errno;
        if (out->temporary)
            file_remove(out->temporary);
        die(EXIT_DATA, "%s: cannot write: %s", out->path, strerror(why));
    }
    free(out->temporary);
    free(out->path);
}

const char *named_file(const char *path)
{
    return path + (path[0] == '@' && path[1]);
}

void check_writable(const char *path, const char *other)
{
    char *folder;
    if (!path || is_stdout(path))
        return;
    if (other && is_same_file(path, named_file(other)))
        die(EXIT_USAGE, "%s: cannot write: the command uses this file twice", path);
    if (path_kind(path) == PATH_FOLDER)
        die(EXIT_DATA, "%s: cannot write: it is a folder", path);
    if (path_kind(path) == PATH_OTHER)
        return;
    folder = join(path, "", "");
    folder[base_name(path) - path] = '\0';
    if (*folder && path_kind(folder) == PATH_NONE)
        die(EXIT_DATA, "%s: cannot write: there is no folder %s", path, folder);
    if (!may_write_in(*folder ? folder : "."))
        die(EXIT_DATA, "%s: cannot write: %s", path, strerror(errno));
    free(folder);
}

/* ---- JSON: held back until the outermost bracket closes, so that an error leaves no half of an object ---- */

static struct {
    char *text;
    size_t size, room;
} page;

static void page_grow(size_t more)
{
    if (page.room - page.size > more)
        return;
    page.room = 2 * page.room + more + 256;
    page.text = grown(page.text, page.room, 1);
}

static void page_add(const char *bytes, size_t length)
{
    page_grow(length);
    memcpy(page.text + page.size, bytes, length);
    page.size += length;
}

static void page_print(const char *format, ...) PRINTF_LIKE(1, 2);
static void page_print(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    int length = vsnprintf(NULL, 0, format, values);
    va_end(values);
    page_grow((size_t)length);
    va_start(values, format);
    page.size += (size_t)vsnprintf(page.text + page.size, page.room - page.size, format, values);
    va_end(values);
}

static void json_item(struct json *j, const char *key)
{
    if (j->depth == 0)
        page.size = 0;
    else
        page_print("%s\n%*s", j->first ? "" : ",", 2 * j->depth, "");
    j->first = 0;
    if (key)
        page_print("\"%s\": ", key);
}

void json_open(struct json *j, const char *key, char bracket)
{
    json_item(j, key);
    page_add(&bracket, 1);
    j->depth++;
    j->first = 1;
}

void json_close(struct json *j, char bracket)
{
    j->depth--;
    page_print("\n%*s%c", 2 * j->depth, "", bracket);
    j->first = 0;
    if (j->depth)
        return;
    page_add("\n", 1);
    fwrite(page.text, 1, page.size, stdout);
    free(page.text);
    memset(&page, 0, sizeof page);
    errors_in_json = 0; /* one object is all that standard output holds */
}

static void put_real(double value)
{
    if (isfinite(value))
        page_print("%.17g", value);
    else
        page_print("null");
}

void json_real(struct json *j, const char *key, double value)
{
    json_item(j, key);
    put_real(value);
}

void json_label(struct json *j, const char *key, const hinge_words *words, double label)
{
    const char *word = hinge_word(words, label, NULL);
    if (word)
        json_text(j, key, word);
    else
        json_real(j, key, label);
}

void json_labels(struct json *j, const char *key, const hinge_words *words, const double *labels, size_t count)
{
    if (!words) {
        json_reals(j, key, labels, count);
        return;
    }
    json_open(j, key, '[');
    for (size_t k = 0; k < count; k++)
        json_label(j, NULL, words, labels[k]);
    json_close(j, ']');
}

void json_names(struct json *j, const char *key, const hinge_words *names)
{
    if (!names || !names->count)
        return;
    json_open(j, key, '[');
    for (size_t k = 0; k < names->count; k++)
        json_text(j, NULL, names->word[k]);
    json_close(j, ']');
}

static void put_count(uint64_t value)
{
    page_print("%llu", (unsigned long long)value);
}

/* Returns the bytes of the UTF-8 character at s; 0: it is none. */
static size_t utf8_length(const unsigned char *s)
{
    size_t length = 1 + (s[0] >= 0xC0) + (s[0] >= 0xE0) + (s[0] >= 0xF0);
    if ((s[0] >= 0x80 && s[0] < 0xC2) || s[0] >= 0xF5)
        return 0;
    for (size_t k = 1; k < length; k++)
        if ((s[k] & 0xC0) != 0x80)
            return 0;
    if ((s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xED && s[1] >= 0xA0) || (s[0] == 0xF0 && s[1] < 0x90) ||
        (s[0] == 0xF4 && s[1] >= 0x90)) /* overlong, surrogates, beyond the last one */
        return 0;
    return length;
}

static void put_text(const char *value)
{
    const unsigned char *s = (const unsigned char *)value;
    page_add("\"", 1);
    while (*s) {
        size_t length = utf8_length(s);
        if (*s == '"' || *s == '\\')
            page_print("\\%c", *s);
        else if (*s < 0x20 || *s == 0x7f)
            page_print("\\u%04x", *s);
        else if (length)
            page_add((const char *)s, length);
        else
            page_print("%s", "\\ufffd");
        s += length ? length : 1;
    }
    page_add("\"", 1);
}

void json_text(struct json *j, const char *key, const char *value)
{
    json_item(j, key);
    put_text(value);
}

void json_put(struct json *j, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    while (*format) {
        char key[40];
        size_t length = strcspn(format, " ");
        snprintf(key, sizeof key, "%.*s", (int)length, format);
        format += length + 2; /* behind the % */
        json_item(j, key);
        if (*format == 'g')
            put_real(va_arg(values, double));
        else if (*format == 's')
            put_text(va_arg(values, const char *));
        else if (*format == 'i')
            page_print("%s", va_arg(values, int) ? "true" : "false");
        else if (*format == 'd')
            put_count((uint64_t)va_arg(values, int));
        else
            put_count(*format == 'z' ? (uint64_t)va_arg(values, size_t) : va_arg(values, uint64_t));
        format += strcspn(format, ",");
        format += strspn(format, ", ");
    }
    va_end(values);
}

/* Lists of one type, in one line. */
#define JSON_LIST(name, type, put) \
    void name(struct json *j, const char *key, const type *values, size_t count) \
    { \
        json_item(j, key); \
        page_add("[", 1); \
        for (size_t k = 0; k < count; k++) { \
            page_print("%s", k ? ", " : ""); \
            put(values[k]); \
        } \
        page_add("]", 1); \
    }
JSON_LIST(json_reals, double, put_real)
JSON_LIST(json_counts, size_t, put_count)

/* ---- Scores ---- */

void print_reals(const char *name, int column, const double *values, size_t count)
{
    enum { SHOWN = 12 };
    printf("%-*s", column - 1, name);
    for (size_t k = 0; k < count && k < SHOWN; k++)
        printf(" %.10g", values[k]);
    printf(count > SHOWN ? " ... (%zu in all)\n" : "\n", count);
}

void print_names(const char *what, int column, const hinge_words *names)
{
    enum { SHOWN = 12 };
    size_t count = names ? names->count : 0;
    if (count)
        printf("%-*s", column - 1, what);
    for (size_t k = 0; k < count && k < SHOWN; k++)
        printf("%s %s", k ? "," : "", names->word[k]);
    if (count)
        printf(count > SHOWN ? ", ... (%zu in all)\n" : "\n", count);
}

const char *kernel_words(const hinge_kernel *kernel)
{
    static char *text;
    hinge_free(text);
    text = NULL;
    if (kernel->type != HINGE_COMBINED)
        return hinge_kernel_info(kernel->type)->keyword;
    check(hinge_kernel_format(kernel, &text, &failure));
    return text;
}

void json_kernel(struct json *j, const hinge_kernel *kernel)
{
    const hinge_kernel_row *row = hinge_kernel_info(kernel->type);
    json_put(j, "kernel %s", row->keyword);
    if (kernel->type == HINGE_COMBINED)
        json_put(j, "parts %s", kernel_words(kernel));
    if (row->uses_degree)
        json_put(j, "degree %d", kernel->degree);
    if (row->uses_gamma)
        json_put(j, "gamma %g", kernel->gamma);
    if (row->uses_coef0)
        json_put(j, "coef0 %g", kernel->coef0);
}

/* Moments are taken about the first pair: sums of large targets would lose their digits. */
static void score_values(struct score *score, const double *predicted, const double *target)
{
    double n = (double)score->n, squares = 0, p = 0, t = 0, pp = 0, tt = 0, pt = 0;
    for (size_t i = 0; i < score->n; i++) {
        double a = predicted[i] - predicted[0], b = target[i] - target[0], e = predicted[i] - target[i];
        squares += e * e;
        p += a, t += b;
        pp += a * a, tt += b * b, pt += a * b;
    }
    score->mse = squares / n;
    score->r2 = fabs((n * pt - p * t) * (n * pt - p * t) / ((n * pp - p * p) * (n * tt - t * t))); /* nan: no sign */
}

static void score_quantiles(struct score *score, const double *predicted, const double *target)
{
    double sum = 0;
    score->correct = 0;
    for (size_t i = 0; i < score->n; i++) {
        sum += hinge_pinball(score->tau, target[i] - predicted[i]);
        score->correct += target[i] <= predicted[i];
    }
    score->pinball = sum / (double)score->n;
    score->coverage = (double)score->correct / (double)score->n * 100;
}

struct score score_predictions(hinge_task task, double tau, size_t n, const double *predicted, const double *target)
{
    const hinge_task_row *row = hinge_task_info(task);
    struct score score = { .regression = row->regresses, .n = n, .tau = row->uses_tau ? tau : 0 };
    for (size_t i = 0; i < n; i++)
        score.correct += predicted[i] == target[i];
    score.accuracy = (double)score.correct / (double)n * 100;
    if (score.tau > 0)
        score_quantiles(&score, predicted, target);
    else if (score.regression)
        score_values(&score, predicted, target);
    return score;
}

void print_score(FILE *file, const struct score *score, int cross)
{
    const char *head = cross ? "Cross Validation " : "";
    char of[40] = "", count[48] = "";
    if (!cross && score->tau > 0)
        snprintf(of, sizeof of, " (quantile %g)", score->tau);
    else if (!cross)
        snprintf(of, sizeof of, " (%s)", score->regression ? "regression" : "classification");
    if (!cross)
        snprintf(count, sizeof count, " (%zu/%zu)", score->correct, score->n);
    if (score->tau > 0)
        fprintf(file, "%sMean pinball loss = %g%s\n%sCoverage = %g%%%s%s\n", head, score->pinball, of, head,
                score->coverage, count, of);
    else if (score->regression)
        fprintf(file, "%sMean squared error = %g%s\n%sSquared correlation coefficient = %g%s\n", head, score->mse, of,
                head, score->r2, of);
    else
        fprintf(file, "%sAccuracy = %g%%%s%s\n", head, score->accuracy, count, of);
}

void json_score(struct json *j, const struct score *score)
{
    if (score->tau > 0)
        json_put(j, "tau %g, pinball %g, coverage %g", score->tau, score->pinball, score->coverage);
    else if (score->regression)
        json_put(j, "mse %g, squared_correlation %g", score->mse, score->r2);
    else
        json_put(j, "accuracy %g", score->accuracy);
}

void print_certificate(const hinge_certificate *c)
{
    printf("%-16s primal %.10g, dual %.10g, gap %.3g\n", "certificate", c->primal, c->dual, c->gap);
    printf("%-16s kkt %.3g, slackness %.3g, sum %.3g, box %.3g (%.3f s)\n", "", c->kkt, c->slackness, c->sum_residual,
           c->box_residual, c->seconds);
}

void json_certificate(struct json *j, const hinge_certificate *c)
{
    json_put(j, "primal %g, dual %g, gap %g, kkt %g, slackness %g", c->primal, c->dual, c->gap, c->kkt, c->slackness);
    json_put(j, "sum_residual %g, box_residual %g, seconds_certificate %g", c->sum_residual, c->box_residual,
             c->seconds);
}

double laplace_width(const hinge_model *model)
{
    double sigma;
    return hinge_model_laplace(model, &sigma, NULL) == HINGE_OK ? sigma : NAN;
}

/* Leaves what goes wrong to output_close, which looks at the file. */
static int put_bytes(void *file, const char *bytes, size_t size)
{
    fwrite(bytes, 1, size, file);
    return 0;
}

void save_model(const hinge_model *model, const char *path)
{
    struct output out;
    output_open(&out, path);
    check(hinge_model_write(model, put_bytes, out.file, &failure));
    output_close(&out);
}

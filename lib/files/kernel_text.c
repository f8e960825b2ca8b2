/*
 * Kernels as text (kernel_text.h): what the command's -t, model files and Python take. A sum of products of kernels,
 *
 *     rbf(1-10,gamma=0.1) + 2*linear(11-20)*tanimoto(21-)
 *
 * each of which names its columns, counted from 1 as files count features, and its parameters. What is not said is
 * decided as elsewhere: all columns, gamma 1 / their number, degree 3, coef0 0.
 */
#include "lib/files/kernel_text.h"
#include "lib/files/number.h"

#include <hinge/io.h>

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ----------------------------------------------------------------------------------------------------- */

struct scan {
    const char *p, *end;
    hinge_kernel_part *part; /* the one at hand */
    const hinge_kernel_row *row;
    hinge_error *err;
};

/* Fails, and shows where: the text from here on. */
static hinge_status refuse(const struct scan *s, const char *from, const char *reason)
{
    int length = (int)HG_MIN(s->end - from, (ptrdiff_t)40);
    return hg_fail(s->err, HINGE_EINVAL, "kernel: '%.*s' %s", length, from,
                   length > 0 ? reason : "is missing: it ends");
}

static bool is_one_of(char c, const char *set)
{
    return c != '\0' && strchr(set, c) != NULL;
}

static void skip(struct scan *s)
{
    while (s->p < s->end && is_one_of(*s->p, " \t\r\n"))
        s->p++;
}

/* Goes over a character and the blanks behind it, if it is the next one. */
static bool take(struct scan *s, char c)
{
    skip(s);
    bool there = s->p < s->end && *s->p == c;
    s->p += there;
    skip(s);
    return there;
}

static bool at_digit(const struct scan *s)
{
    return s->p < s->end && is_one_of(*s->p, "0123456789.");
}

/* Takes a word of small letters and digits; returns its length. */
static size_t take_word(struct scan *s)
{
    const char *from = s->p;
    while (s->p < s->end && is_one_of(*s->p, "abcdefghijklmnopqrstuvwxyz0123456789"))
        s->p++;
    return (size_t)(s->p - from);
}

static bool is_word(const char *word, size_t length, const char *wanted)
{
    return strlen(wanted) == length && memcmp(word, wanted, length) == 0;
}

/* Reads "3", "3-7" or "3-". */
static hinge_status read_columns(struct scan *s)
{
    const char *from = s->p, *stop = hg_parse_size(s->p, s->end, &s->part->first);
    size_t last = s->part->first;
    if (stop == NULL || s->part->first == 0)
        return refuse(s, from, "is no column, counted from 1");
    s->p = stop;
    bool open = take(s, '-');
    if (open && at_digit(s)) {
        stop = hg_parse_size(s->p, s->end, &last);
        if (stop == NULL || last < s->part->first)
            return refuse(s, from, "are no columns, from the first to the last");
        s->p = stop;
        open = false;
    }
    s->part->count = open ? 0 : last - s->part->first + 1;
    s->part->first--;
    return HINGE_OK;
}

/* Reads "gamma=0.5" and the like, which the kernel must use. */
static hinge_status read_parameter(struct scan *s)
{
    const char *from = s->p;
    hinge_kernel *kernel = &s->part->kernel;
    size_t length = take_word(s);
    bool is_gamma = is_word(from, length, "gamma"), is_degree = is_word(from, length, "degree");
    bool used = is_gamma                         ? s->row->uses_gamma
                : is_degree                      ? s->row->uses_degree
                : is_word(from, length, "coef0") ? s->row->uses_coef0
                                                 : false;
    double value;
    if (!used || !take(s, '='))
        return refuse(s, from, "is neither columns nor a parameter of this kernel");
    const char *number = s->p;
    if (is_gamma && take_word(s) == 4 && memcmp(number, "auto", 4) == 0)
        return HINGE_OK;
    s->p = hg_parse_double(number, s->end, &value);
    if (s->p == NULL || !isfinite(value))
        return refuse(s, number, "is not a finite number");
    if (is_gamma && value < 0)
        return refuse(s, number, "is negative");
    if (is_degree && !(value >= 0 && value <= INT_MAX && value == floor(value)))
        return refuse(s, number, "is not a degree");
    if (is_degree)
        kernel->degree = (int)value;
    else
        *(is_gamma ? &kernel->gamma : &kernel->coef0) = value;
    return HINGE_OK;
}

/* Reads a kernel's name, and what stands in parentheses behind it. */
static hinge_status read_part(struct scan *s)
{
    const char *from = s->p;
    size_t length = take_word(s);
    hinge_kernel_type type = HINGE_LINEAR;
    bool columns = false;
    while ((s->row = hinge_kernel_info(type)) != NULL && !is_word(from, length, s->row->keyword) &&
           !(type == HINGE_POLYNOMIAL && is_word(from, length, "poly")))
        type = (hinge_kernel_type)(type + 1);
    if (s->row == NULL || type == HINGE_PRECOMPUTED || type == HINGE_USER || type == HINGE_COMBINED)
        return refuse(s, from, "is no kernel of features");
    s->part->kernel = hinge_kernel_polynomial(3, HINGE_GAMMA_AUTO, 0);
    s->part->kernel.type = type;
    if (!take(s, '('))
        return HINGE_OK;
    do {
        const char *argument = s->p;
        if (at_digit(s) && columns)
            return refuse(s, argument, "are columns once more: a part has one range");
        columns = columns || at_digit(s);
        HG_TRY(at_digit(s) ? read_columns(s) : read_parameter(s));
    } while (take(s, ','));
    return take(s, ')') ? HINGE_OK : refuse(s, s->p, "stands where ')' should");
}

/* Reads a product: numbers and at least one kernel. A number is the factor of the kernel behind it, or of the last. */
static hinge_status read_product(struct scan *s)
{
    hinge_kernel_part *first = s->part;
    const char *from = s->p;
    double factor = 1, number;
    do {
        const char *at = s->p;
        if (!at_digit(s)) {
            s->part->times = s->part != first;
            HG_TRY(read_part(s));
            (s->part++)->factor = factor;
            factor = 1;
            continue;
        }
        s->p = hg_parse_double(s->p, s->end, &number);
        if (s->p == NULL || !(number > 0 && isfinite(number)))
            return refuse(s, at, "is not a finite number above 0");
        factor *= number;
    } while (take(s, '*'));
    if (s->part == first)
        return refuse(s, from, "multiplies no kernel");
    s->part[-1].factor *= factor;
    for (const hinge_kernel_part *part = first; part < s->part; part++)
        if (!(part->factor > 0 && isfinite(part->factor)))
            return refuse(s, from, "has a factor beyond all numbers");
    return HINGE_OK;
}

hinge_status hg_kernel_read(const char *text, const char *end, hinge_kernel *kernel, hinge_kernel_part **parts,
                            hinge_error *err)
{
    struct scan s = { .p = text, .end = end, .err = err };
    hinge_kernel_part *room;
    size_t most = 1;
    for (const char *p = text; p < end; p++)
        most += *p == '+' || *p == '*';
    HG_TRY(HG_MAKE(err, "the parts of a kernel", HG_ZEROS(room, most)));
    s.part = room;
    hinge_status status = HINGE_OK;
    skip(&s);
    do
        HG_THEN(status, read_product(&s));
    while (status == HINGE_OK && take(&s, '+'));
    if (status == HINGE_OK && s.p < s.end)
        status = refuse(&s, s.p, "is no '+' or '*' and what it joins");
    if (status != HINGE_OK) {
        hg_free(room);
        return status;
    }
    *kernel = hinge_kernel_combine(room, (size_t)(s.part - room));
    *parts = room;
    return HINGE_OK;
}

hinge_status hinge_kernel_parse(const char *text, hinge_kernel *kernel, hinge_kernel_part **parts, hinge_error *err)
{
    hinge_kernel_part *read;
    hinge_kernel found;
    HG_NEED(err, text, "text");
    HG_TRY(hg_kernel_read(text, text + strlen(text), &found, &read, err));
    bool plain = found.n_parts == 1 && read->first == 0 && read->count == 0 && read->factor == 1;
    *kernel = plain ? read->kernel : found;
    *parts = plain ? NULL : read;
    if (plain)
        hg_free(read);
    return hg_ok(err);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

struct list { /* in parentheses, which stand there only if something is in them */
    struct hg_text *text;
    bool begun;
};

static void next(struct list *list)
{
    hg_text_add(list->text, list->begun ? "," : "(", 1);
    list->begun = true;
}

static void print_real(struct list *list, const char *name, double value)
{
    next(list);
    hg_text_print(list->text, "%s=", name);
    hg_text_number(list->text, value);
}

/* Writes columns where they are not all, and parameters that are not left to be decided. */
static void print_part(const hinge_kernel_part *part, struct hg_text *text)
{
    const hinge_kernel *kernel = &part->kernel;
    const hinge_kernel_row *row = hinge_kernel_info(kernel->type);
    struct list list = { text, false };
    if (part->factor > 0 && part->factor != 1) {
        hg_text_number(text, part->factor);
        hg_text_add(text, "*", 1);
    }
    hg_text_print(text, "%s", row->keyword);
    if (part->count > 0 || part->first > 0) {
        next(&list);
        hg_text_print(text, "%zu", part->first + 1);
    }
    if (part->count > 1)
        hg_text_print(text, "-%zu", part->first + part->count);
    else if (part->count == 0 && part->first > 0)
        hg_text_add(text, "-", 1);
    if (row->uses_gamma && kernel->gamma != HINGE_GAMMA_AUTO)
        print_real(&list, "gamma", kernel->gamma);
    if (row->uses_coef0)
        print_real(&list, "coef0", kernel->coef0);
    if (row->uses_degree)
        print_real(&list, "degree", kernel->degree);
    if (list.begun)
        hg_text_add(text, ")", 1);
}

void hg_kernel_print(const hinge_kernel *kernel, struct hg_text *text)
{
    const hinge_kernel_part whole = { .kernel = *kernel };
    bool combined = kernel->type == HINGE_COMBINED;
    for (size_t k = 0; k < (combined ? kernel->n_parts : 1); k++) {
        const hinge_kernel_part *part = combined ? &kernel->parts[k] : &whole;
        if (k > 0)
            hg_text_add(text, part->times ? "*" : "+", 1);
        print_part(part, text);
    }
}

hinge_status hinge_kernel_format(const hinge_kernel *kernel, char **text, hinge_error *err)
{
    struct hg_text made = { 0 };
    HG_NEED(err, kernel, "kernel");
    if (hinge_kernel_info(kernel->type) == NULL)
        return hg_fail(err, HINGE_EINVAL, "kernel.type: %d is not a kernel", (int)kernel->type);
    hg_kernel_print(kernel, &made);
    hg_text_add(&made, "", 1); /* its 0 */
    if (made.no_memory) {
        hg_text_free(&made);
        return hg_fail(err, HINGE_ENOMEM, "no memory for the text of a kernel");
    }
    *text = made.data;
    return hg_ok(err);
}

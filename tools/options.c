/*
 * Command lines: a table of options drives getopt_long, the checks of values, and the help.
 */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"

const struct range range_any = { -INFINITY, INFINITY, 0 };
const struct range range_positive = { 0, INFINITY, 1 };
const struct range range_not_negative = { 0, INFINITY, 0 };
const struct range range_01 = { 0, 1, 1 };
const struct range range_inside_01 = { 0, 1, 2 };
const struct range range_level = { 0, 4, 0 };
const struct range range_folds = { 2, INFINITY, 0 };
const struct range range_tolerance = { 0, 0.49, 0 };

const struct choice choice_off_on[] = { { "0", 0 }, { "1", 1 }, { NULL, 0 } };
const struct choice choice_precision[] = {
    { "auto", HINGE_PRECISION_AUTO }, { "f32", HINGE_PRECISION_F32 }, { "f64", HINGE_PRECISION_F64 }, { NULL, 0 }
};
const struct choice choice_maker[] = { { "auto", HINGE_MAKER_AUTO },     { "gemm", HINGE_MAKER_GEMM },
                                       { "panels", HINGE_MAKER_PANELS }, { "lists", HINGE_MAKER_LISTS },
                                       { "counts", HINGE_MAKER_COUNTS },
                                       { "integers", HINGE_MAKER_INTEGERS }, { NULL, 0 } };
const struct choice choice_format[] = { { "auto", HINGE_FORMAT_AUTO }, { "libsvm", HINGE_FORMAT_LIBSVM },
                                        { "npy", HINGE_FORMAT_NPY }, { "csv", HINGE_FORMAT_CSV }, { NULL, 0 } };

/* ---- Values ---- */

static void check_range(const struct option_use *use, const struct range *range, double value)
{
    char most[40] = "";
    if (isfinite(range->low) && isfinite(range->high))
        snprintf(most, sizeof most, " and %s %g", range->open == 2 ? "below" : "at most", range->high);
    if (value < range->low || value > range->high || (range->open && value == range->low) ||
        (range->open == 2 && value == range->high))
        die(EXIT_USAGE, "%s: '%s' must be %s %g%s", use->shown, use->text, range->open ? "above" : "at least",
            range->low, most);
}

double real_value(const struct option_use *use, const struct range *range)
{
    char *end;
    double value = strtod(use->text, &end);
    if (end == use->text || *end || isnan(value))
        die(EXIT_USAGE, "%s: '%s' is not a number", use->shown, use->text);
    if (isinf(value))
        die(EXIT_USAGE, "%s: '%s' is not finite", use->shown, use->text);
    check_range(use, range, value);
    return value;
}

static long long integer_value(const struct option_use *use, const struct range *range, long long largest)
{
    char *end;
    long long value;
    errno = 0;
    value = strtoll(use->text, &end, 10);
    if (end == use->text || *end)
        die(EXIT_USAGE, "%s: '%s' is not a whole number", use->shown, use->text);
    if (errno || value > largest || value < -largest)
        die(EXIT_USAGE, "%s: '%s' is too large", use->shown, use->text);
    check_range(use, range, (double)value);
    return value;
}

/* Parsers that only set a field of some type. */
#define PARSER(name, type, value) \
    void name(const struct option_use *use, void *field) \
    { \
        (void)use; \
        *(type *)field = (type)(value); \
    }
PARSER(parse_flag, int, 1)
PARSER(parse_real, double, real_value(use, use->detail))
PARSER(parse_cost, double, strcmp(use->text, "inf") == 0 ? INFINITY : real_value(use, use->detail))
PARSER(parse_int, int, integer_value(use, use->detail, INT32_MAX))
PARSER(parse_count, uint64_t, integer_value(use, use->detail, INT64_MAX))
PARSER(parse_size, size_t, integer_value(use, use->detail, PTRDIFF_MAX))

void parse_column(const struct option_use *use, void *field)
{
    hinge_data_options *options = field;
    char *end;
    (void)strtol(use->text, &end, 10);
    options->label_name = *end ? use->text : NULL;
    if (*end)
        return;
    options->label_column = (long)integer_value(use, &range_any, INT32_MAX);
    if (options->label_column == 0)
        die(EXIT_USAGE, "%s: '%s' is none: columns count from 1, or from -1 for the last", use->shown, use->text);
}

void parse_columns(const struct option_use *use, void *field)
{
    const char **list = field;
    if (!*use->text)
        die(EXIT_USAGE, "%s: the value is empty", use->shown);
    *list = *list ? join(*list, ",", use->text) : use->text;
}

void parse_bytes(const struct option_use *use, void *field)
{
    static const char units[] = "KMGT";
    char *end;
    double value = strtod(use->text, &end);
    const char *unit = units + 1; /* MB, as svm-train's -m */
    if (end != use->text && *end) {
        unit = strchr(units, *end >= 'a' ? *end - 'a' + 'A' : *end);
        end += end[1] == 'B' || end[1] == 'b' ? 2 : 1;
    }
    if (end == use->text || !unit || *end || !isfinite(value))
        die(EXIT_USAGE, "%s: '%s' is not a size in MB, or with K, M, G or T", use->shown, use->text);
    value = ldexp(value, 10 * (int)(unit - units + 1));
    if (value < 1 || value >= ldexp(1, 62))
        die(EXIT_USAGE, "%s: '%s' must be above 0 and fit in memory", use->shown, use->text);
    *(size_t *)field = (size_t)value;
}

void parse_text(const struct option_use *use, void *field)
{
    if (!*use->text)
        die(EXIT_USAGE, "%s: the value is empty", use->shown);
    *(const char **)field = use->text;
}

static int same_word(const char *a, const char *b)
{
    size_t length = strlen(a);
    for (size_t k = 0; k < length; k++)
        if (b[k] != a[k] && !(a[k] == '-' && b[k] == '_'))
            return 0;
    return b[length] == '\0';
}

static _Noreturn void die_of_choice(const struct option_use *use, const struct choice *choices)
{
    char list[200] = "";
    for (const struct choice *c = choices; c->name; c++) {
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", c->name);
    }
    die(EXIT_USAGE, "%s: '%s' is none of %s", use->shown, use->text, list);
}

void parse_choice(const struct option_use *use, void *field)
{
    for (const struct choice *c = use->detail; c->name; c++)
        if (same_word(use->text, c->name)) {
            *(int *)field = c->value;
            return;
        }
    die_of_choice(use, use->detail);
}

const char *choice_name(const struct choice *choices, int value)
{
    while (choices->name && choices->value != value)
        choices++;
    return choices->name ? choices->name : "?";
}

/* One of the rows of a table by number or keyword, or by its other name. The keyword is NULL behind the last row, and
 * "" for a row that is not to be chosen. */
static void parse_row(const struct option_use *use, const char *(*keyword)(int), struct choice other, void *field)
{
    enum { MOST = 12 };
    static const char *const number[MOST] = { "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11" };
    struct choice choices[2 * MOST + 2] = { { NULL, 0 } }, *last = choices;
    for (int by_name = 0; by_name <= 1; by_name++)
        for (int k = 0; k < MOST && keyword(k); k++)
            if (*keyword(k))
                *last++ = (struct choice){ by_name ? keyword(k) : number[k], k };
    *last = other;
    parse_choice(&(struct option_use){ .shown = use->shown, .text = use->text, .detail = choices }, field);
}

static const char *task_keyword(int number)
{
    const hinge_task_row *row = hinge_task_info((hinge_task)number);
    return row ? row->keyword : NULL;
}

void parse_task(const struct option_use *use, void *field)
{
    parse_row(use, task_keyword, (struct choice){ NULL, 0 }, field);
}

static const char *kernel_keyword(int number)
{
    const hinge_kernel_row *row = hinge_kernel_info((hinge_kernel_type)number);
    return !row ? NULL : row->kernel == HINGE_USER || row->kernel == HINGE_COMBINED ? "" : row->keyword;
}

/* Reads sums and products, and a kernel with its parameters, by the library; the parts stay until the program ends. */
void parse_kernel(const struct option_use *use, void *field)
{
    static hinge_kernel_part *parts;
    hinge_kernel *kernel = field, read;
    int type = kernel->type;
    if (!strpbrk(use->text, "(+*")) {
        parse_row(use, kernel_keyword, (struct choice){ "poly", HINGE_POLYNOMIAL }, &type);
        kernel->type = (hinge_kernel_type)type;
        return;
    }
    hinge_free(parts);
    parts = NULL;
    if (hinge_kernel_parse(use->text, &read, &parts, &failure) != HINGE_OK)
        die(EXIT_USAGE, "%s: %s", use->shown, failure.text);
    if (read.type == HINGE_COMBINED) /* the others stay, for combined_has_no_more */
        kernel->type = read.type, kernel->parts = read.parts, kernel->n_parts = read.n_parts;
    else
        *kernel = read;
}

void combined_has_no_more(const hinge_kernel *kernel)
{
    if (kernel->type == HINGE_COMBINED &&
        ((!isnan(kernel->gamma) && kernel->gamma != HINGE_GAMMA_AUTO) || kernel->degree != 3 || kernel->coef0 != 0))
        die(EXIT_USAGE, "-g, -d, -r: parameters of a sum or product of kernels stand with its parts, as in "
                        "-t 'rbf(1-3,gamma=0.5)+linear'");
}

int numbers_with_commas(const char *text, double *numbers, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        char *end;
        numbers[k] = strtod(text, &end);
        if (end == text || *end != (k + 1 < count ? ',' : '\0'))
            return 0;
        text = end + 1;
    }
    return 1;
}

const char *option_next(const struct option_use *use)
{
    if (optind >= use->argc)
        die(EXIT_USAGE, "%s %s: a second value is missing", use->shown, use->text);
    return use->argv[optind++];
}

const char *option_peek(const struct option_use *use, int behind)
{
    return optind + behind < use->argc ? use->argv[optind] : "";
}

void parse_gamma(const struct option_use *use, void *field)
{
    double *gamma = field;
    *gamma = strcmp(use->text, "auto") == 0 ? 0 : real_value(use, use->detail);
    if (*gamma == 0)
        *gamma = HINGE_GAMMA_AUTO;
}

static void add_class_weight(struct class_weights *classes, char *name, double weight)
{
    size_t count = classes->count + 1;
    classes->names = grown(classes->names, count, sizeof *classes->names);
    classes->labels = grown(classes->labels, count, sizeof *classes->labels);
    classes->weights = grown(classes->weights, count, sizeof *classes->weights);
    classes->names[count - 1] = name;
    classes->labels[count - 1] = 0; /* found once there are data */
    classes->weights[count - 1] = weight;
    classes->count = count;
}

void parse_weight(const struct option_use *use, void *field)
{
    struct option_use weight = *use;
    char *text = join(use->text, "", ""), *equals = strrchr(text, '=');
    if (equals)
        *equals++ = '\0';
    else if (strncmp(use->shown, "--", 2) == 0)
        die(EXIT_USAGE, "%s: '%s' is not LABEL=WEIGHT", use->shown, use->text);
    weight.text = equals ? equals : option_next(use);
    add_class_weight(field, text, real_value(&weight, use->detail));
}

/* ---- Help ---- */

enum { HELP_COLUMN = 28 };

static void print_option(const struct tool_option *option)
{
    char left[80], name[48] = "";
    int used;
    if (option->name)
        snprintf(name, sizeof name, "--%s", option->name);
    if (option->letter)
        used = snprintf(left, sizeof left, "  -%c%s%s", option->letter, option->name ? ", " : "", name);
    else
        used = snprintf(left, sizeof left, "      %s", name);
    if (option->arg)
        used += snprintf(left + used, sizeof left - (size_t)used, " %s", option->arg);
    if (used < HELP_COLUMN - 1)
        printf("%-*s", HELP_COLUMN, left);
    else
        printf("%s\n%*s", left, HELP_COLUMN, "");
    for (const char *text = option->help; *text; text++) {
        putchar(*text);
        if (*text == '\n')
            printf("%*s", HELP_COLUMN, "");
    }
    putchar('\n');
}

static int is_left_out(const struct option_group *group, const struct tool_option *option)
{
    for (const char *const *name = group->without; name && *name; name++)
        if (option->name && strcmp(option->name, *name) == 0)
            return 1;
    return 0;
}

static const struct tool_option help_option = { 0, "help", NULL, parse_flag, 0, NULL, "print this text" };

static _Noreturn void print_help(const struct command_line *line)
{
    puts(line->usage);
    for (const struct option_group *group = line->groups; group->title; group++) {
        printf("\n%s\n", group->title);
        for (size_t k = 0; k < group->count; k++)
            if (group->options[k].help && !is_left_out(group, &group->options[k]))
                print_option(&group->options[k]);
    }
    print_option(&help_option);
    finish_stdout();
    exit(0);
}

/* ---- The command line ---- */

enum { MAX_OPTIONS = 100, LONG_OPTION = 256 }; /* getopt_long answers LONG_OPTION + row, or a letter */

/* All groups in one, and what getopt_long wants to know about them. */
struct option_list {
    const struct tool_option *options[MAX_OPTIONS];
    void *bases[MAX_OPTIONS];
    size_t count;
    struct option longs[MAX_OPTIONS + 1];
    char shorts[2 * MAX_OPTIONS + 3];
};

static void add_option(struct option_list *list, const struct tool_option *option, void *base)
{
    size_t row = list->count++, n_longs = 0, n_shorts = strlen(list->shorts);
    int needs = !option->arg ? no_argument : *option->arg == '[' ? optional_argument : required_argument;
    if (row >= MAX_OPTIONS)
        die(EXIT_DATA, "too many options in a table");
    list->options[row] = option;
    list->bases[row] = base;
    if (option->letter) {
        list->shorts[n_shorts++] = (char)option->letter;
        list->shorts[n_shorts] = option->arg ? ':' : '\0';
    }
    while (list->longs[n_longs].name)
        n_longs++;
    if (option->name)
        list->longs[n_longs] = (struct option){ option->name, needs, NULL, LONG_OPTION + (int)row };
}

static size_t find_option(const struct option_list *list, int answer)
{
    size_t row = 0;
    if (answer >= LONG_OPTION)
        return (size_t)(answer - LONG_OPTION);
    while (row < list->count && list->options[row]->letter != answer)
        row++;
    return row;
}

static void show_option(const struct option_list *list, int answer, char *shown, size_t size)
{
    if (answer >= LONG_OPTION)
        snprintf(shown, size, "--%s", list->options[answer - LONG_OPTION]->name);
    else
        snprintf(shown, size, "-%c", answer);
}

static _Noreturn void die_of_option(const struct option_list *list, int answer, char **argv)
{
    char shown[48];
    if (optopt)
        show_option(list, optopt, shown, sizeof shown);
    if (answer == ':')
        die(EXIT_USAGE, "%s: needs a value; see `%s %s --help`", shown, program_name(), argv[0]);
    if (optopt >= LONG_OPTION)
        die(EXIT_USAGE, "%s: takes no value", shown);
    if (optopt)
        die(EXIT_USAGE, "unknown option '%s'; see `%s %s --help`", shown, program_name(), argv[0]);
    const char *meant = nearest(argv[optind - 1] + 2, &list->longs[0].name, list->count, sizeof *list->longs);
    die(EXIT_USAGE, "unknown or ambiguous option '%s'%s%s%s; see `%s %s --help`", argv[optind - 1],
        meant ? ": did you mean --" : "", meant ? meant : "", meant ? "?" : "", program_name(), argv[0]);
}

int parse_options(int argc, char **argv, const struct command_line *line)
{
    struct option_list *list = allocate(1, sizeof *list);
    int answer, help = 0;
    for (int k = 1; k < argc; k++) /* before any of them can be wrong */
        if (strcmp(argv[k], "--json") == 0)
            die_in_json();
    list->shorts[0] = ':'; /* a missing value is told apart from an unknown option */
    for (const struct option_group *group = line->groups; group->title; group++)
        for (size_t k = 0; k < group->count; k++)
            if (!is_left_out(group, &group->options[k]))
                add_option(list, &group->options[k], group->base);
    add_option(list, &help_option, &help);
    opterr = 0;
    while ((answer = getopt_long(argc, argv, list->shorts, list->longs, NULL)) != -1) {
        struct option_use use = { NULL, optarg, NULL, argc, argv };
        char shown[48];
        size_t row;
        if (answer == '?' || answer == ':')
            die_of_option(list, answer, argv);
        row = find_option(list, answer);
        show_option(list, answer, shown, sizeof shown);
        use.shown = shown;
        use.detail = list->options[row]->detail;
        list->options[row]->parse(&use, (char *)list->bases[row] + list->options[row]->field);
        if (help)
            print_help(line);
    }
    free(list);
    return optind;
}

void parse_command(int argc, char **argv, const struct command_line *line)
{
    int first = parse_options(argc, argv, line), count = argc - first, most = 0;
    const char *too_many = line->too_many ? line->too_many : "too many file names";
    while ((size_t)most < COUNT_OF(line->place) && line->place[most])
        most++;
    if (count < line->least || count > most)
        die(EXIT_USAGE, "%s: %s; see `%s %s --help`", argv[0], count < line->least ? line->needed : too_many,
            program_name(), argv[0]);
    for (int k = 0; k < count; k++)
        *line->place[k] = k < line->least ? input_name(argv[first + k]) : argv[first + k];
}

/*
 * The layout of a table of text: see table.h. Line 1 tells delimiter, number of fields and, if it is a header, names;
 * options name columns by these or by number, and a model by its names. Where a header cannot be told the caller is
 * asked.
 */
#include "lib/files/table.h"
#include "lib/files/number.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { NAME_ROOM = 32 };

/* ---- fields -------------------------------------------------------------------------------------------- */

/* Goes over the blanks behind a field of a table that blanks separate, and stays at the last one. */
static const char *blanks_end(const char *p, const char *end)
{
    const char *next = hg_skip_blanks(p, end);
    return next == end ? end : next - 1;
}

/* A quote that does not close at the field's end is a character like others. */
const char *hg_table_field(const char *p, const char *end, char delimiter, const char **begin, const char **stop)
{
    const bool blanks = delimiter == ' ';
    while (p < end && (*p == ' ' || (blanks && *p == '\t')))
        p++;
    if (p < end && *p == '"') {
        const char *close = p + 1; /* two quotes stand for one, inside */
        while (close < end && (*close != '"' || (close + 1 < end && close[1] == '"')))
            close += *close == '"' ? 2 : 1;
        const char *next = close < end ? close + 1 : end;
        while (!blanks && next < end && *next == ' ')
            next++;
        if (close < end && (next == end || *next == delimiter || (blanks && *next == '\t'))) {
            *begin = p + 1;
            *stop = close;
            return blanks ? blanks_end(next, end) : next;
        }
    }
    const char *next = blanks ? hg_word_end(p, end) : memchr(p, delimiter, (size_t)(end - p));
    next = next == NULL ? end : next;
    *begin = p;
    *stop = next;
    while (*stop > p && (*stop)[-1] == ' ')
        --*stop;
    return blanks ? blanks_end(next, end) : next;
}

struct hg_fields hg_table_count(const struct hg_line *line, char delimiter, size_t label)
{
    struct hg_fields fields = { 0 };
    for (const char *p = line->p;; p++) {
        const char *begin, *stop;
        double value;
        p = hg_table_field(p, line->end, delimiter, &begin, &stop);
        if (fields.count++ == label) {
            fields.label = begin;
            fields.stop = stop;
        }
        if (begin < stop && hg_parse_double(begin, stop, &value) == stop) {
            fields.numbers++;
        } else if (!hg_is_missing(begin, stop) && fields.words++ == 0) {
            fields.word = fields.count;
            fields.text = hg_excerpt_all(begin, stop);
        }
        if (p == line->end)
            return fields;
    }
}

/* The last of tabs, semicolons and commas that is there goes before the others; blanks do where there is none. */
static char find_delimiter(const struct hg_line *line)
{
    char delimiter = '\0';
    size_t length = (size_t)(line->end - line->p);
    for (const char *each = "\t;,"; *each != '\0'; each++)
        if (memchr(line->p, *each, length) != NULL)
            delimiter = *each;
    if (delimiter != '\0')
        return delimiter;
    return hg_table_count(line, ' ', SIZE_MAX).count > 1 ? ' ' : ',';
}

bool hg_is_pair(const char *begin, const char *stop)
{
    const char *colon = memchr(begin, ':', (size_t)(stop - begin));
    double value;
    size_t index;
    return colon != NULL && hg_parse_size(begin, colon, &index) == colon &&
           hg_parse_double(colon + 1, stop, &value) == stop;
}

bool hg_is_missing(const char *begin, const char *stop)
{
    static const char *const words[] = { "", "na", "n/a", "nan", "null", "?" };
    if (begin < stop && *begin != '?' && (*begin | 0x20) != 'n') /* as numbers do not begin */
        return false;
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if (hg_same_letters(begin, stop, words[k]))
            return true;
    return false;
}

/* ---- names --------------------------------------------------------------------------------------------- */

const char *hg_table_asked(const struct hg_table *table, const char *option, const char *field)
{
    return table->source->options->as_command ? option : field;
}

struct hg_excerpt hg_table_place(const struct hg_table *table, size_t field)
{
    struct hg_excerpt place;
    const struct hg_word *name = &table->name[field];
    if (!table->header)
        snprintf(place.text, sizeof place.text, "column %zu", field + 1);
    else
        snprintf(place.text, sizeof place.text, "column %zu ('%.20s')", field + 1,
                 hg_excerpt_all(name->p, name->p + name->length).text);
    return place;
}

/* Takes names from line 1, if it is a header; a column without one is called by its number. */
static void find_names(struct hg_table *table, const struct hg_line *line)
{
    size_t missing = table->fields;
    for (const char *p = line->p; table->header && missing > 0 && p <= line->end; p++) {
        const char *begin, *stop;
        if (missing == table->fields && hg_table_count(line, table->delimiter, SIZE_MAX).count < missing)
            table->name[table->fields - missing--] = (struct hg_word){ line->p, 0 }; /* of rows' names, as R writes */
        p = hg_table_field(p, line->end, table->delimiter, &begin, &stop);
        table->name[table->fields - missing--] = (struct hg_word){ begin, (size_t)(stop - begin) };
    }
    for (size_t j = 0; j < table->fields; j++) {
        char *own = table->own_names + j * NAME_ROOM;
        if (hg_is_word(table->name[j].p, table->name[j].length))
            continue;
        table->name[j] = (struct hg_word){ own, (size_t)snprintf(own, NAME_ROOM, "column %zu", j + 1) };
    }
}

static bool is_named(const struct hg_word *name, const char *begin, const char *stop)
{
    return name->length == (size_t)(stop - begin) && memcmp(name->p, begin, name->length) == 0;
}

/* ---- lists of columns ---------------------------------------------------------------------------------- */

enum { IS_LABEL = 1, IS_TAKEN = 2, IS_OUT = 4, IS_CATEGORY = 8, N_LISTS = 4 };

/* What an option or field says of columns: names and numbers with commas between. */
struct list {
    const char *text, *option, *field;
    unsigned mark;
};

static void find_lists(const struct hg_table *table, struct list lists[N_LISTS])
{
    const hinge_data_options *o = table->source->options;
    lists[0] = (struct list){ o->no_labels ? NULL : o->label_name, "--label-column", "label_name", IS_LABEL };
    lists[1] = (struct list){ o->take, "--columns", "take", IS_TAKEN };
    lists[2] = (struct list){ o->leave_out, "--ignore", "leave_out", IS_OUT };
    lists[3] = (struct list){ o->names == NULL ? o->categories : NULL, "--categories", "categories", IS_CATEGORY };
}

/* Reads "3", "-1" or "2-5" as places from 0; false: it is none of these. */
static bool read_places(const struct hg_table *table, const char *begin, const char *stop, size_t *first, size_t *last)
{
    const bool back = begin < stop && *begin == '-';
    const char *next = hg_parse_size(begin + back, stop, first);
    *last = *first;
    if (next != NULL && next < stop && *next == '-' && !back)
        next = hg_parse_size(next + 1, stop, last);
    if (next != stop || next == NULL)
        return false;
    if (back && *first > 0 && *first <= table->fields)
        *first = *last = table->fields + 1 - *first;
    else if (back)
        *first = 0;
    --*first; /* 0 becomes SIZE_MAX, which is none */
    --*last;
    return true;
}

/* Tells whether a list has an item that is no number, so that line 1 must be a header. */
static bool has_names(const struct hg_table *table, const struct list *list)
{
    size_t first, last;
    if (list->text == NULL)
        return false;
    for (const char *p = list->text, *end = p + strlen(p);; p++) {
        const char *begin, *stop;
        p = hg_table_field(p, end, ',', &begin, &stop);
        if (begin < stop && !read_places(table, begin, stop, &first, &last))
            return true;
        if (p == end)
            return false;
    }
}

static hinge_status refuse_item(const struct hg_table *table, const struct list *list, const char *begin,
                                const char *stop, hinge_error *err)
{
    char names[120] = "";
    const char *option = hg_table_asked(table, list->option, list->field), *dots = "";
    struct hg_excerpt item = hg_excerpt_all(begin, stop);
    size_t first, last;
    for (size_t j = 0; table->header && j < table->fields && *dots == '\0'; j++) {
        size_t used = strlen(names);
        const struct hg_word *name = &table->name[j];
        if (used + name->length + 4 > sizeof names)
            dots = ", ...";
        else
            snprintf(names + used, sizeof names - used, "%s%.*s", j > 0 ? ", " : "", (int)name->length, name->p);
    }
    if (read_places(table, begin, stop, &first, &last))
        return hg_fail_at(err, HINGE_EINVAL, table->source->name, 0,
                          "%s: '%s': there are %zu columns, from 1, or from -1 for the last", option, item.text,
                          table->fields);
    if (!table->header)
        return hg_fail_at(err, HINGE_EINVAL, table->source->name, 0, "%s: '%s': line 1 is no header that has names",
                          option, item.text);
    return hg_fail_at(err, HINGE_EINVAL, table->source->name, 0, "%s: there is no column '%s', only %s%s", option,
                      item.text, names, dots);
}

/* Marks the columns of a list's items: one of that name goes before one of that number. */
static hinge_status mark_list(const struct hg_table *table, const struct list *list, unsigned *marks, hinge_error *err)
{
    for (const char *p = list->text, *end = p + strlen(p);; p++) {
        const char *begin, *stop;
        size_t found = 0, first = SIZE_MAX, last;
        p = hg_table_field(p, end, ',', &begin, &stop);
        for (size_t j = 0; table->header && j < table->fields; j++)
            if (is_named(&table->name[j], begin, stop)) {
                first = last = j;
                found++;
            }
        if (found > 1)
            return hg_fail_at(err, HINGE_EINVAL, table->source->name, 1, "%s: %zu columns are called '%s'",
                              hg_table_asked(table, list->option, list->field), found,
                              hg_excerpt_all(begin, stop).text);
        if (begin < stop && found == 0 &&
            (!read_places(table, begin, stop, &first, &last) || first > last || last >= table->fields))
            return refuse_item(table, list, begin, stop, err);
        for (size_t j = first; begin < stop && j <= last; j++)
            marks[j] |= list->mark;
        if (p == end)
            return HINGE_OK;
    }
}

/* ---- the label and roles ------------------------------------------------------------------------------- */

static size_t find_name(const struct hg_table *table, const char *name)
{
    size_t j = 0;
    while (j < table->fields && !is_named(&table->name[j], name, name + strlen(name)))
        j++;
    return j < table->fields ? j : SIZE_MAX;
}

size_t hg_name_place(const hinge_words *names, const struct hg_word *name)
{
    size_t k = 0;
    while (k < names->count && !is_named(name, names->word[k], names->word[k] + strlen(names->word[k])))
        k++;
    return k;
}

/* Finds the label where none is named: that of the model, by name; else the first column that nobody spoke for. */
static size_t usual_label(const struct hg_table *table, const unsigned *marks)
{
    const hinge_data_options *o = table->source->options;
    size_t j = 0;
    if (o->names != NULL && table->header && o->target != NULL)
        return find_name(table, o->target);
    while (j < table->fields && (marks[j] & (IS_TAKEN | IS_OUT)) != 0)
        j++;
    if (j == table->fields ||
        (o->names != NULL && table->header && hg_name_place(o->names, &table->name[j]) < o->names->count))
        return SIZE_MAX;
    return j;
}

static hinge_status find_label(struct hg_table *table, const unsigned *marks, hinge_error *err)
{
    const hinge_data_options *options = table->source->options;
    long column = options->label_column;
    size_t distance = column < 0 ? (size_t) - (column + 1) : (size_t)(column - 1); /* from either end */
    table->label = SIZE_MAX;
    if (options->no_labels)
        return HINGE_OK;
    if (options->label_name == NULL && column == 0) {
        table->label = usual_label(table, marks);
        return HINGE_OK;
    }
    if (options->label_name == NULL && distance >= table->fields)
        return hg_fail_at(err, HINGE_EINVAL, table->source->name, 0,
                          "%s %ld: there are %zu columns, from 1, or from -1 for the last",
                          hg_table_asked(table, "--label-column", "label_column"), column, table->fields);
    if (options->label_name == NULL)
        table->label = column < 0 ? table->fields - 1 - distance : distance;
    for (size_t j = 0; j < table->fields && options->label_name != NULL; j++)
        if (marks[j] & IS_LABEL && table->label != SIZE_MAX)
            return hg_fail_at(err, HINGE_EINVAL, table->source->name, 0, "%s '%s': there can be one label",
                              hg_table_asked(table, "--label-column", "label_name"), options->label_name);
        else if (marks[j] & IS_LABEL)
            table->label = j;
    if (table->label != SIZE_MAX && marks[table->label] & (IS_OUT | IS_CATEGORY))
        return hg_fail_at(err, HINGE_EINVAL, table->source->name, 0, "%s: %s is the label",
                          marks[table->label] & IS_OUT ? hg_table_asked(table, "--ignore", "leave_out")
                                                       : hg_table_asked(table, "--categories", "categories"),
                          hg_table_place(table, table->label).text);
    return HINGE_OK;
}

/* Finds what the options make of each column, but for the names of a model. */
static hinge_status find_roles(struct hg_table *table, hinge_error *err)
{
    struct list lists[N_LISTS];
    unsigned *marks;
    find_lists(table, lists);
    HG_TRY(HG_MAKE(err, "columns", HG_ZEROS(marks, table->fields)));
    hinge_status status = HINGE_OK;
    for (size_t k = 0; k < N_LISTS; k++)
        HG_THEN(status, lists[k].text == NULL ? HINGE_OK : mark_list(table, &lists[k], marks, err));
    HG_THEN(status, find_label(table, marks, err));
    for (size_t j = 0; j < table->fields; j++) {
        bool out = (marks[j] & IS_OUT) || (lists[1].text != NULL && !(marks[j] & IS_TAKEN));
        table->column[j].role = j == table->label          ? HG_LABEL
                                : out                      ? HG_LEFT_OUT
                                : (marks[j] & IS_CATEGORY) ? HG_CATEGORY
                                                           : HG_FEATURE;
    }
    hg_free(marks);
    return status;
}

/* ---- the header ---------------------------------------------------------------------------------------- */

hinge_status hg_table_refuse_first(const struct hg_table *table, const struct hg_fields *first, hinge_error *err)
{
    const char *label = hg_table_asked(table, "--label-column", "label_column or label_name");
    if (strchr(first->text.text, ';') != NULL) /* separates fields where there is no comma */
        return hg_fail_at(err, HINGE_EFORMAT, table->source->name, 1,
                          "column %zu: '%s' has a semicolon: decimal commas are not read", first->word,
                          first->text.text);
    if (hg_is_pair(first->text.text, first->text.text + strlen(first->text.text)))
        return hg_fail_at(err, HINGE_EFORMAT, table->source->name, 1,
                          "column %zu: '%s' is as in LIBSVM text: read it as such (%s)", first->word, first->text.text,
                          hg_table_asked(table, "--format libsvm", "HINGE_FORMAT_LIBSVM"));
    return hg_fail_at(
        err, HINGE_EFORMAT, table->source->name, 1,
        "column %zu: '%s' beside numbers: say whether this line is a header (%s) or an example (%s)%s%s%s", first->word,
        first->text.text, hg_table_asked(table, "--header", "header = 1"),
        hg_table_asked(table, "--no-header", "header = -1"),
        first->word == table->label + 1 ? "" : ", or that it is the label (",
        first->word == table->label + 1 ? "" : label, first->word == table->label + 1 ? "" : ")");
}

/* Decides whether line 1 is a header: one has no number in it. A line of which only some fields are numbers may be
 * either: the caller must say, unless the label alone is a word, as in line 2. */
static hinge_status find_header(struct hg_table *table, const struct hg_fields *fields, const struct hg_line *second,
                                hinge_error *err)
{
    const int given = table->source->options->header;
    struct list lists[N_LISTS];
    bool named = false;
    find_lists(table, lists);
    for (size_t k = 0; k < N_LISTS; k++)
        named |= has_names(table, &lists[k]);
    table->header = given > 0 || (given == 0 && (named || (fields->words > 0 && fields->numbers == 0)));
    if (given != 0 || named || fields->words == 0 || fields->numbers == 0)
        return HINGE_OK;
    const struct hg_fields next = hg_table_count(second, table->delimiter, table->label);
    double value;
    bool number = next.label != NULL && hg_parse_double(next.label, next.stop, &value) == next.stop;
    table->doubtful = fields->words == 1 && fields->word == table->label + 1 && !number;
    return table->doubtful ? HINGE_OK : hg_table_refuse_first(table, fields, err);
}

/* ---- opening ------------------------------------------------------------------------------------------- */

hinge_status hg_table_open(struct hg_table *table, const struct hg_source *source, struct hg_fields *first,
                           hinge_error *err)
{
    const char *text = source->data, *end = text + source->size;
    const hinge_words *names = source->options->names;
    const struct hg_line line = hg_next_line(source->name, 1, &text, end);
    const struct hg_line second = hg_next_line(source->name, 2, &text, end);
    *table = (struct hg_table){ .source = source, .delimiter = find_delimiter(&line) };
    *first = hg_table_count(&line, table->delimiter, SIZE_MAX);
    size_t next = hg_table_count(&second, table->delimiter, SIZE_MAX).count;
    bool one_more = first->numbers == 0 && next == first->count + 1 && first->words > 0; /* the names of R's rows */
    table->fields = first->count + one_more;
    HG_TRY(HG_MAKE(err, "the columns of a table", HG_ZEROS(table->column, table->fields),
                   HG_ZEROS(table->name, table->fields), HG_ZEROS(table->owned, table->fields),
                   HG_ARRAY(table->own_names, NAME_ROOM * table->fields)));
    find_names(table, &line);
    table->label = SIZE_MAX;
    struct list lists[N_LISTS];
    find_lists(table, lists);
    bool named = source->options->header > 0;
    for (size_t k = 0; k < N_LISTS; k++)
        named |= has_names(table, &lists[k]);
    if (!named)
        HG_TRY(find_roles(table, err));
    *first = hg_table_count(&line, table->delimiter, table->label);
    HG_TRY(find_header(table, first, &second, err));
    if (named && !table->header)
        for (size_t k = 0; k < N_LISTS; k++)
            if (has_names(table, &lists[k]))
                return hg_fail_at(err, HINGE_EINVAL, source->name, 0, "%s '%s': line 1 is no header that has names",
                                  hg_table_asked(table, lists[k].option, lists[k].field), lists[k].text);
    find_names(table, &line);
    HG_TRY(find_roles(table, err));
    HG_TRY(names != NULL ? hg_table_match(table, err) : HINGE_OK);
    return names != NULL && table->features == 0 ? find_roles(table, err) : HINGE_OK; /* it goes by its order */
}

void hg_table_close(struct hg_table *table)
{
    for (size_t j = 0; table->column != NULL && j < table->fields; j++) {
        hg_free((void *)table->column[j].word);
        hg_words_free(&table->owned[j]);
    }
    hg_free(table->column);
    *table = (struct hg_table){ 0 };
}

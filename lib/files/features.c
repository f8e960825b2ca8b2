/*
 * The columns of x that a table's become (table.h): words of categories, names, and those of a model.
 */
#include "lib/files/table.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_WORDS = 1000 };

/* ---- a model's names ----------------------------------------------------------------------------------- */

/* Collects the words of a column that a model's names "column=word" have. */
static hinge_status match_words(struct hg_column *column, const struct hg_word *name, const hinge_words *names,
                                hinge_error *err)
{
    HG_TRY(HG_MAKE(err, "categories", HG_ARRAY(column->word, names->count), HG_ARRAY(column->place, names->count)));
    for (size_t k = 0; k < names->count; k++) {
        const char *word = names->word[k];
        if (strncmp(word, name->p, name->length) != 0 || word[name->length] != '=')
            continue;
        column->word[column->n] = word + name->length + 1;
        column->place[column->n++] = k;
    }
    column->role = column->n > 0 ? HG_CATEGORY : HG_LEFT_OUT;
    return HINGE_OK;
}

/* Gives each column that a model knows its place there; others are left out. Without a header a table is matched by
 * "column 3" and the like, if these are the names, and otherwise by its order. */
hinge_status hg_table_match(struct hg_table *table, hinge_error *err)
{
    const hinge_words *names = table->source->options->names;
    size_t found = 0, missing = 0;
    char *known;
    HG_TRY(HG_MAKE(err, "the names of columns", HG_ZEROS(known, names->count)));
    hinge_status status = HINGE_OK;
    for (size_t j = 0; j < table->fields && status == HINGE_OK; j++) {
        struct hg_column *column = &table->column[j];
        size_t at = hg_name_place(names, &table->name[j]);
        if (column->role == HG_LABEL || column->role == HG_LEFT_OUT)
            continue;
        if (at < names->count && known[at])
            status =
                hg_fail_at(err, HINGE_EFORMAT, table->source->name, 1, "two columns are called '%s'", names->word[at]);
        if (at < names->count)
            *column = (struct hg_column){ .role = HG_FEATURE, .at = at };
        else
            status = match_words(column, &table->name[j], names, err);
        for (size_t k = 0; k < column->n; k++)
            known[column->place[k]] = 1;
        if (at < names->count)
            known[at] = 1;
    }
    for (size_t k = 0; k < names->count; k++)
        if (known[k])
            found++;
        else if (found == k)
            missing = k;
    if (status == HINGE_OK && found < names->count && table->header)
        status =
            hg_fail_at(err, HINGE_EFORMAT, table->source->name, 1,
                       "there is no column '%s', which the model has; rename the columns or, where they are in the "
                       "model's order, leave line 1 out",
                       names->word[missing]);
    hg_free(known);
    table->features = status == HINGE_OK && found == names->count ? found : 0;
    return status;
}

/* ---- categories, and the columns of x ------------------------------------------------------------------ */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

size_t hg_table_word(const struct hg_column *column, const char *begin, const char *stop)
{
    size_t k = 0;
    while (k < column->n && !hg_same_word(begin, stop, column->word[k]))
        k++;
    return k;
}

/* Lists the words that a column has in the whole file, in ascending order. */
static hinge_status collect_words(struct hg_table *table, size_t j, const char *text, size_t *next, hinge_error *err)
{
    const struct hg_source *source = table->source;
    const char *end = source->data + source->size;
    const hinge_words none = { 0 };
    struct hg_column *column = &table->column[j];
    struct hg_word *of;
    double *numbers;
    size_t lines = 1, n = 0;
    for (const char *p = text; p < end; p++)
        lines += *p == '\n';
    HG_TRY(HG_MAKE(err, "the words of a column", HG_ARRAY(of, lines), HG_ARRAY(numbers, lines)));
    while (text < end) {
        const struct hg_line line = hg_next_line(source->name, 0, &text, end);
        const struct hg_fields fields = hg_table_count(&line, table->delimiter, j);
        if (fields.label != NULL && !hg_is_missing(fields.label, fields.stop) &&
            hg_is_word(fields.label, (size_t)(fields.stop - fields.label)))
            of[n++] = (struct hg_word){ fields.label, (size_t)(fields.stop - fields.label) };
    }
    hinge_words *words = &table->owned[j];
    hinge_status status = hg_words_collect(&none, of, n, words, numbers, err);
    hg_free(of);
    HG_TRY(status);
    if (words->count > MOST_WORDS)
        return hg_fail_at(err, HINGE_EINVAL, source->name, 0, "%s: %s has %zu different words, %d at most",
                          hg_table_asked(table, "--categories", "categories"), hg_table_place(table, j).text,
                          words->count, MOST_WORDS);
    HG_TRY(HG_MAKE(err, "categories", HG_ARRAY(column->word, words->count), HG_ARRAY(column->place, words->count)));
    if (words->count > 0)
        memcpy(column->word, words->word, words->count * sizeof *words->word);
    qsort(column->word, words->count, sizeof *column->word, by_text);
    for (column->n = 0; column->n < words->count; column->n++)
        column->place[column->n] = (*next)++;
    return HINGE_OK;
}

static hinge_status refuse_names(const struct hg_table *table, hinge_error *err)
{
    return hg_fail_at(err, HINGE_EFORMAT, table->source->name, 1,
                      "two columns have the same name, and %s needs different ones",
                      hg_table_asked(table, "--categories", "categories"));
}

/* Tells whether another column that is taken is called as column j, even if one of both has no words. */
static bool has_namesake(const struct hg_table *table, size_t j)
{
    const struct hg_word *name = table->name;
    for (size_t k = 0; k < table->fields; k++)
        if (k != j && (table->column[k].role == HG_FEATURE || table->column[k].role == HG_CATEGORY) &&
            name[k].length == name[j].length && memcmp(name[k].p, name[j].p, name[j].length) == 0)
            return true;
    return false;
}

/* Gives data the names of the columns of x, those of categories as "column=word". Names that are not all different are
 * none, unless there are categories, which a model knows by them. */
static hinge_status name_features(const struct hg_table *table, bool categories, hinge_data *data, hinge_error *err)
{
    const hinge_words none = { 0 };
    struct hg_word *of;
    double *numbers;
    struct hg_text text = { 0 };
    size_t n = table->features, at = 0;
    HG_TRY(HG_MAKE(err, "names", HG_ARRAY(of, n), HG_ARRAY(numbers, n)));
    for (size_t j = 0; j < table->fields; j++) {
        const struct hg_column *column = &table->column[j];
        size_t parts = column->role == HG_CATEGORY ? column->n : column->role == HG_FEATURE;
        for (size_t k = 0; k < parts; k++) {
            size_t before = text.size;
            hg_text_add(&text, table->name[j].p, table->name[j].length);
            if (column->role == HG_CATEGORY) {
                hg_text_add(&text, "=", 1);
                hg_text_add(&text, column->word[k], strlen(column->word[k]));
            }
            of[column->role == HG_CATEGORY ? column->place[k] : column->at].length = text.size - before;
        }
    }
    hinge_status status = text.no_memory ? hg_fail(err, HINGE_ENOMEM, "no memory for names") : HINGE_OK;
    for (size_t k = 0; k < n && status == HINGE_OK; at += of[k++].length) /* places ascend, as columns do */
        of[k].p = text.data + at;
    HG_THEN(status, hg_words_collect(&none, of, n, &data->names, numbers, err));
    if (status == HINGE_OK && data->names.count < n) {
        hg_words_free(&data->names);
        if (categories)
            status = refuse_names(table, err);
    }
    hg_text_free(&text);
    hg_free(of);
    return status;
}

static hinge_status name_target(const struct hg_table *table, hinge_data *data, hinge_error *err)
{
    if (!table->header || table->label == SIZE_MAX)
        return HINGE_OK;
    const struct hg_word *name = &table->name[table->label];
    HG_TRY(HG_MAKE(err, "the label's name", HG_ZEROS(data->target, name->length + 1)));
    memcpy(data->target, name->p, name->length);
    return HINGE_OK;
}

hinge_status hg_table_number(struct hg_table *table, const char *text, hinge_data *data, hinge_error *err)
{
    const hinge_words *names = table->source->options->names;
    size_t next = 0;
    bool categories = false;
    HG_TRY(name_target(table, data, err));
    if (names != NULL && table->features > 0)
        return hg_words_collect(names, NULL, 0, &data->names, NULL, err);
    for (size_t j = 0; j < table->fields; j++) {
        struct hg_column *column = &table->column[j];
        if (column->role == HG_FEATURE)
            column->at = next++;
        if (column->role == HG_CATEGORY && has_namesake(table, j))
            return refuse_names(table, err);
        if (column->role == HG_CATEGORY)
            HG_TRY(collect_words(table, j, text, &next, err));
        categories |= column->role == HG_CATEGORY;
    }
    table->features = next;
    return (table->header || categories) && next > 0 ? name_features(table, categories, data, err) : HINGE_OK;
}

/*
 * The layout of a table of text: delimiter, header, names, and what each column is. Read io_data.h before.
 */
#ifndef HG_TABLE_H
#define HG_TABLE_H

#include "lib/files/io_data.h"

enum hg_role { HG_LEFT_OUT, HG_LABEL, HG_FEATURE, HG_CATEGORY };

/* What a column becomes: one column of x, or one of 0 and 1 for each of its words. */
struct hg_column {
    enum hg_role role;
    size_t at;         /* HG_FEATURE: the column of x */
    size_t n;          /* HG_CATEGORY: words, */
    const char **word; /* [n] ascending, */
    size_t *place;     /* [n] the column of x of each; in one block with the words' list */
};

struct hg_table {
    const struct hg_source *source;
    char delimiter;           /* ' ': any blanks */
    size_t fields;            /* a line */
    size_t label;             /* the field that holds the label, or SIZE_MAX */
    bool header;              /* line 1 is one */
    bool doubtful;            /* line 1 may be one: its label is a word, and the rest numbers */
    size_t features;          /* columns of x */
    struct hg_column *column; /* [fields] */
    struct hg_word *name;     /* [fields] as line 1 has them; where it has none, or no header is there, "column 3" */
    char *own_names;
    hinge_words *owned; /* [fields] words of categories that the table has */
};

/* Tells what the fields of a line are; missing values are neither numbers nor words, but for nan. */
struct hg_fields {
    size_t count, numbers, words; /* numbers of any kind, inf and nan too */
    size_t word;                  /* the first word's place, from 1 */
    struct hg_excerpt text;       /* and what it is */
    const char *label, *stop;     /* the text of the label's field; NULL: there is none */
};

/* Finds the field at p, without blanks and quotes around it, as [*begin, *stop); returns the delimiter behind it, or
 * the line's end. */
const char *hg_table_field(const char *p, const char *end, char delimiter, const char **begin, const char **stop);
/* Counts a line's fields, and which of them are numbers. */
struct hg_fields hg_table_count(const struct hg_line *line, char delimiter, size_t label);

/* Learns what the first lines tell, and what the options want of it; first: line 1. Ends with hg_table_close, also
 * where it fails. */
hinge_status hg_table_open(struct hg_table *table, const struct hg_source *source, struct hg_fields *first,
                           hinge_error *err);
void hg_table_close(struct hg_table *table);
/* Finds the words of categories, and numbers the columns of x; data gets their names. text: behind the header. */
hinge_status hg_table_number(struct hg_table *table, const char *text, hinge_data *data, hinge_error *err);
/* Says that line 1 may be a header or an example. */
hinge_status hg_table_refuse_first(const struct hg_table *table, const struct hg_fields *first, hinge_error *err);
/* Gives each column that the model of options.names knows its place there; others are left out. */
hinge_status hg_table_match(struct hg_table *table, hinge_error *err);
/* Returns the option or the field, by who is to read the message. */
const char *hg_table_asked(const struct hg_table *table, const char *option, const char *field);
/* Returns the place of a name in a list, or the list's count. */
size_t hg_name_place(const hinge_words *names, const struct hg_word *name);
/* Returns the place of a word among the column's, or n. */
size_t hg_table_word(const struct hg_column *column, const char *begin, const char *stop);

/* Returns "column 3" or "column 3 ('age')" for messages. */
struct hg_excerpt hg_table_place(const struct hg_table *table, size_t field);

/* Says whether a cell is "index:value". */
bool hg_is_pair(const char *begin, const char *stop);
/* Says whether a cell has no value: empty, NA, N/A, NaN, null, ?. */
bool hg_is_missing(const char *begin, const char *stop);

#endif

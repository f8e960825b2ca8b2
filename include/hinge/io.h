/*
 * Data and model files. The conventions and the notation are those of hinge.h.
 *
 * Data: LIBSVM text, .npy and CSV, each also compressed with xz or gz (told by content, not by name).
 *   LIBSVM  "<label> <index>:<value> ...", indices from 1 and ascending; what is left out is 0; "# ..." may end a line
 *   .npy    two dimensions of floats (2, 4, 8 bytes), integers or bools, in C's order or Fortran's; labels may have one
 *   CSV     fields separated by commas, or else semicolons, tabs or blanks, as line 1 tells; a field may be in quotes.
 *           Line 1 is a header, which names the columns, if no field of it is a number, or if options name columns.
 *           Where only some are, options.header must say what it is, unless only the label is no number and other lines
 *           have that word too. Where line 2 has a field more than the header, the first column is one of rows' names,
 *           as R writes it, called "column 1" as others that have no name. Fields are decimal numbers, or words where
 *           options.categories says so. Missing values (empty, NA, N/A, NaN, null, ?) are refused, or their rows
 *           dropped
 * Labels are numbers or, in all lines of LIBSVM text or CSV, words: see hinge_data.words.
 * Text may begin with a byte-order mark (UTF-8).
 * Numbers are read and written without regard to the locale. Model files are LIBSVM's; a model that LIBSVM
 * cannot represent is written with keys of hinge's own, which LIBSVM refuses.
 */
#ifndef HINGE_IO_H
#define HINGE_IO_H

#include <hinge/hinge.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hinge_format {
    HINGE_FORMAT_AUTO = 0, /* .npy by its first bytes, CSV by the name (.csv, .tsv, .csv.gz, ...), LIBSVM otherwise */
    HINGE_FORMAT_LIBSVM,
    HINGE_FORMAT_NPY,
    HINGE_FORMAT_CSV
} hinge_format;

typedef struct hinge_data_options {
    hinge_format format;
    hinge_dtype type;      /* of the matrix, HINGE_F32 or HINGE_F64; 0: HINGE_F64, for .npy what the file has (f2 as
                              * HINGE_F32, bytes as HINGE_U8 and HINGE_I8, integers of more bytes as HINGE_F64) */
    size_t min_cols;       /* least number of columns of x; features that the file has not are 0 */
    size_t max_cols;       /* LIBSVM: most columns of x; features beyond are left out; 0: no limit. .npy: 1 takes an
                              * array of one dimension as a column, which is refused otherwise */
    int drop_empty;        /* LIBSVM: 1: leave out empty columns where a dense matrix would be large and 15 of 16 are
                              * empty, see hinge_data.columns; min_cols is then ignored */
    const size_t *columns; /* LIBSVM: [n_columns] keep these features only, ascending from 1, as hinge_model_columns
                              * has them, and add a column that holds the norm of the others. Support vectors have 0
                              * there (hinge_model_widen), so kernel values are those of the whole example. NULL: all */
    size_t n_columns;
    int precomputed;   /* LIBSVM: 1: rows start with 0:serial, see hinge_data.serial */
    long label_column; /* CSV: from 1, or negative from the end (-1 the last); 0: the first. Elsewhere 0 */
    int no_labels;     /* CSV: 1: there is no label column, and y is all 0; .npy never has one, LIBSVM always */
    int header;        /* CSV: 1: line 1 is a header; -1: it is an example; 0: told by its fields, see above */
    /* CSV: columns, each by its name in line 1 or, if none is called so, its number as above, or from one to another:
     * "age,fare,5-7,-1"; in double quotes where a name holds a comma. NULL: none is named. */
    const char *label_name; /* the label's column, instead of label_column */
    const char *take;       /* columns that become features; NULL: all but the label. Without a label column named, the
                              * first one that is neither taken nor left out is the label */
    const char *leave_out;  /* columns that do not */
    const char *categories; /* columns whose words become a column of 0 and 1 each, in the order of strcmp, called
                              * "column=word"; at most 1000 a column */
    const hinge_words *names; /* CSV: the names of a model's features (hinge_model_names), by which a table that has a
                              * header is matched: its columns come in this order, others are left out, and one that
                              * lacks is EFORMAT, as is a word that is none of its categories. NULL: columns are as they
                              * are */
    const char *target;       /* the name of its label (hinge_model_target): without a label column named, this one is
                              * it, and a table that has none has no labels; with names only. NULL: not known */
    int drop_missing;         /* CSV: 1: leave out rows with missing values, of columns that are used */
    int as_command;           /* 1: errors name what to change as options of the command hinge are called, not as these
                              * fields are: --label-column, label_column */
    const hinge_words *words; /* the words of a model (hinge_model_words), which keep their numbers in y; other words
                               * get the numbers behind. NULL: words are numbered in the order in which they come */
    const char *labels_path;  /* .npy: name of a file of n labels; NULL: y is all 0 */
    int threads;              /* number of threads; 0: omp_get_max_threads() */
} hinge_data_options;

/* A dense matrix and its labels, which own their memory; free them with hinge_data_free. */
typedef struct hinge_data {
    hinge_matrix x;
    double *y;           /* [x.rows]; 0 where the file has no labels */
    hinge_words words;   /* of the labels in y, numbered from 1 as they appear; count 0: labels are numbers */
    size_t *serial;      /* [x.rows] the 0: entries, from 1, of a precomputed LIBSVM file; otherwise NULL */
    hinge_format format; /* the file's format, never HINGE_FORMAT_AUTO */
    int labelled;        /* 1: y is from the file, or from labels_path */
    size_t label_column; /* CSV: the column that y is from, from 1; 0: none */
    int header;          /* CSV: 1: line 1 was passed over */
    hinge_words names;   /* CSV with a header, or with categories: [file_cols] of the columns of x; count 0: they have
                          * none, or not each its own */
    char *target;        /* CSV with a header: the name of the label's column; NULL: none */
    size_t dropped;      /* rows that were left out for missing values */
    size_t file_cols;    /* highest feature of the file, even if left out of x */
    size_t *columns;     /* the feature, from 1, of each column of x, but for the norm that options.columns adds; NULL:
                         * column j is feature j + 1 */
    size_t nonzeros;     /* entries of x that are not 0 */
    void *memory;        /* what x.data points into; private */
} hinge_data;

/* Reads a whole file into *data, which is overwritten; options may be NULL. EFORMAT names file and line: anything that
 * is not a finite number (but for labels, if all are words), duplicate or descending indices, empty lines (but at the
 * end of CSV), rows of unequal length (CSV). EIO: the file cannot be read; ENOMEM, ESIZE.
 * A path "@list.txt" stands for the files that the manifest list.txt names, one a line, relative to its folder; blank
 * lines, and those that begin with #, name none. The rows of one come after those of the other. EFORMAT: one is not
 * there, as its line in the manifest tells, or they are not laid out alike: of one format, with one kind of labels,
 * tables of as many features, which have the same names (a header may stand in the first file alone).
 * options->labels_path is a manifest of as many files of labels then, and drop_empty is not looked at. */
HINGE_API hinge_status hinge_data_read(const char *path, const hinge_data_options *options, hinge_data *data,
                                       hinge_error *err);
/* Reads the same from bytes[size] in memory; name is used in messages and for HINGE_FORMAT_AUTO. */
HINGE_API hinge_status hinge_data_parse(const char *name, const void *bytes, size_t size,
                                        const hinge_data_options *options, hinge_data *data, hinge_error *err);
/* Frees what the data owns and clears it; an all-zero struct is fine. */
HINGE_API void hinge_data_free(hinge_data *data);
/* Writes x and y[x->rows] as LIBSVM text (zeros left out, but for -0; numbers read back exactly), to a temporary file
 * beside path that is then renamed. EIO: it cannot be written. */
HINGE_API hinge_status hinge_data_write(const char *path, const hinge_matrix *x, const double *y, hinge_error *err);

/* Reads a whole file as it is, or what is packed in it if it is xz or gz. *bytes, [*size], is the caller's, freed with
 * hinge_free; a 0 stands behind it. EIO: it cannot be read; EFORMAT: what is packed is damaged; ENOMEM. */
HINGE_API hinge_status hinge_file_read(const char *path, char **bytes, size_t *size, hinge_error *err);

/* Saves a model as LIBSVM's text; hinge_model_load reads files of hinge and LIBSVM, also compressed with xz or gz. Keys
 * of hinge's own: hinge_multiclass (one-vs-rest), hinge_scale_factor, _offset, _origin and _base, hinge_kernel (the
 * name of the caller's, or what a combined one is made of), hinge_label (labels that are no integers), hinge_training
 * (C, nu, p, eps, 1 without bias, 1 with weights of examples, labels of classes that have weights, their weights; C =
 * 0: the hard margin). Words of labels are in the line "SV", of which LIBSVM reads no more than that: "hinge_words" and
 * each of them, with %20 for a blank and %25 for %. Saving writes a temporary file beside path and renames it, so a
 * failure leaves an old file whole. A reloaded model predicts the same to the bit. */
HINGE_API hinge_status hinge_model_save(const hinge_model *model, const char *path, hinge_error *err);
/* Loads a model; *model is the caller's, freed with hinge_model_free. user is the kernel of a model whose kernel is the
 * caller's own, otherwise NULL. EFORMAT names the line; EIO, ENOMEM. */
HINGE_API hinge_status hinge_model_load(hinge_model **model, const char *path, const hinge_kernel *user,
                                        hinge_error *err);
/* Write and read a model in memory as in a file. *bytes, [*size], is the caller's, freed with hinge_free; it is not
 * 0-terminated. */
HINGE_API hinge_status hinge_model_format(const hinge_model *model, char **bytes, size_t *size, hinge_error *err);
/* Takes the next bytes [size] of a text; another value than 0 ends the call that hands them over. */
typedef int (*hinge_write_fn)(void *arg, const char *bytes, size_t size);
/* Writes a model as in a file, piece by piece, by a function of the caller's: the text of a large model takes several
 * times the model's memory, and is never there as a whole. ECALLBACK: the function ended the call. */
HINGE_API hinge_status hinge_model_write(const hinge_model *model, hinge_write_fn write, void *arg, hinge_error *err);
HINGE_API hinge_status hinge_model_parse(hinge_model **model, const char *name, const void *bytes, size_t size,
                                         const hinge_kernel *user, hinge_error *err);
/* Reads a kernel from text, as in model files and as the command's -t has it: a sum of products of kernels on groups of
 * columns, "rbf(1-10,gamma=0.1) + 2*linear(11-20)*tanimoto(21-)". Each is a name of hinge_kernel_row (poly is
 * polynomial too) and, in parentheses, what is not to be decided by hinge: one range of columns, counted from 1 (7,
 * 3-7, 3- to the last; all), and gamma=, degree=, coef0=. Numbers multiply; blanks count nowhere. One kernel of all
 * columns is itself, "rbf(gamma=0.5)". *parts, what a combined kernel borrows, is the caller's, freed with hinge_free;
 * it is NULL for another kernel. EINVAL says where the text is none; ENOMEM. */
HINGE_API hinge_status hinge_kernel_parse(const char *text, hinge_kernel *kernel, hinge_kernel_part **parts,
                                          hinge_error *err);
/* Writes such text, which reads back as the same kernel; *text is the caller's, freed with hinge_free. A kernel whose
 * values are given or are the caller's has its keyword alone. EINVAL: kernel.type; ENOMEM. */
HINGE_API hinge_status hinge_kernel_format(const hinge_kernel *kernel, char **text, hinge_error *err);
/* Frees memory that a call of this header gave; NULL is fine. */
HINGE_API void hinge_free(void *memory);

#ifdef __cplusplus
}
#endif
#endif

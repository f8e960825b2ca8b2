/*
 * hinge export: a model as one C99 file, const tables and a function, for programs that only predict.
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"

struct export_settings {
    int c, single;
    const char *name, *output, *model_path;
};

#define FIELD(name) offsetof(struct export_settings, name)
static const struct tool_option export_options[] = {
    OPTION_FLAG("c", c, "write C99, which C++ compiles too"),
    OPTION_FLAG("float", single, "put tables, examples and arithmetic in float (double)"),
    { 0, "name", "NAME", parse_text, FIELD(name), NULL,
      "call the function NAME, and begin the other names\nwith it (svm)" },
    { 'o', "output", "FILE", parse_text, FIELD(output), NULL, "write the C file to FILE (standard output)" },
};

static const char usage[] =
    "usage: hinge export --c [options] model_file\n\n"
    "Writes a model as a C file that needs nothing but <math.h> and <stddef.h>: tables, and a function that\n"
    "scales an example, if the model holds a scaling, and predicts it.";

static void read_options(int argc, char **argv, struct export_settings *s)
{
    const char *needed = "one model file is needed";
    const struct command_line line = { usage, { OPTION_GROUP("Options (default in parentheses):", export_options, s) },
                                       1, needed, { &s->model_path }, needed };
    s->name = "svm";
    s->output = "-";
    parse_command(argc, argv, &line);
    if (!s->c)
        die(EXIT_USAGE, "export: give --c, which writes a C file; there is no other form");
    for (const char *p = s->name; *p || p == s->name; p++)
        if (!(isalpha((unsigned char)*p) || *p == '_' || (p > s->name && isdigit((unsigned char)*p))))
            die(EXIT_USAGE, "export: --name '%s' is no name of C", s->name);
}

/* ---- What is written ---- */

struct writer {
    FILE *file;
    const hinge_model *model;
    const char *name, *real, *suffix; /* "double" and "", "float" and "f" */
    int single, scaled, moved, one_vs_rest;
    int linear; /* in the features, or in the values of a precomputed kernel */
    hinge_kernel kernel;
    const double *labels;   /* NULL: no classes */
    const size_t *class_sv; /* NULL: one sum of all */
    size_t d, n_problems, n_classes, n_sv, rows, sums;
};

/* Writes a literal that reads back as the same number. */
static void write_number(const struct writer *w, double value)
{
    char text[64];
    if (w->single && !isfinite((float)value))
        die(EXIT_DATA, "export: --float: %g is beyond float", value);
    snprintf(text, sizeof text, w->single ? "%.9g" : "%.17g", w->single ? (double)(float)value : value);
    fprintf(w->file, "%s%s%s", text, strpbrk(text, ".e") ? "" : ".0", w->suffix);
}

/* Writes what a letter behind $ stands for. */
static void write_value(const struct writer *w, char letter)
{
    static const char texts[] = "NRF", counts[] = "DPCVWSQ";
    const char *const text[] = { w->name, w->real, w->suffix };
    const size_t count[] = { w->d, w->n_problems, w->n_classes, w->n_sv, w->rows, w->sums, (size_t)w->kernel.degree };
    if (strchr(texts, letter))
        fputs(text[strchr(texts, letter) - texts], w->file);
    else if (strchr(counts, letter))
        fprintf(w->file, "%zu", count[strchr(counts, letter) - counts]);
    else
        write_number(w, letter == 'G' ? w->kernel.gamma : w->kernel.coef0);
}

/* Writes C in which $N is the function's name, $R double or float, $F the suffix of float's functions, $D the number of
 * features, $P of problems, $C of classes, $V of support vectors, $W of rows of coefficients, $S of sums of vectors, $G
 * gamma, $A coef0, and $Q the degree. */
static void emit(const struct writer *w, const char *text)
{
    for (const char *at; (at = strchr(text, '$')); text = at + 2) {
        fwrite(text, 1, (size_t)(at - text), w->file);
        write_value(w, at[1]);
    }
    fputs(text, w->file);
}

/* Writes a table; one without values gets an element, as C has no empty arrays. */
static void write_table(const struct writer *w, const char *what, const double *values, size_t count, size_t width)
{
    size_t columns = width > 8 || width == 0 ? 8 : width;
    emit(w, "static const $R $N_");
    fprintf(w->file, "%s[%zu] = {", what, count ? count : 1);
    for (size_t i = 0; i < count; i++) {
        fputs(i % columns ? ", " : i ? ",\n    " : "\n    ", w->file);
        write_number(w, values[i]);
    }
    fputs(count ? "\n};\n" : " 0 };\n", w->file);
}

/* Writes support vectors row by row or, where f is linear, w of each problem. */
static void write_vectors(const struct writer *w)
{
    size_t count = w->linear ? w->n_problems : w->n_sv;
    double *values = allocate(count * w->d + 1, sizeof *values);
    for (size_t i = 0; i < count; i++)
        check((w->linear ? hinge_model_weights : hinge_model_sv)(w->model, i, values + i * w->d, &failure));
    write_table(w, w->linear ? "weights" : "vectors", values, count * w->d, w->d);
    free(values);
}

static void write_tables(const struct writer *w)
{
    struct writer exact = *w;
    write_vectors(w);
    if (!w->linear) {
        write_table(w, "coefficients", hinge_model_coef(w->model), w->rows * w->n_sv, 0);
        emit(w, "static const size_t $N_count[$S] = { ");
        for (size_t c = 0; c < w->sums; c++)
            fprintf(w->file, "%s%zu", c ? ", " : "", w->class_sv ? w->class_sv[c] : w->n_sv);
        fputs(" }; /* support vectors of a class */\n", w->file);
    }
    write_table(w, "rho", hinge_model_rho(w->model), w->n_problems, 0);
    if (w->scaled) {
        write_table(w, "factor", hinge_model_scale_factor(w->model), w->d, 0);
        write_table(w, "offset", hinge_model_scale_base(w->model), w->d, 0);
        if (w->moved)
            write_table(w, "origin", hinge_model_scale_origin(w->model), w->d, 0);
    }
    exact.real = "double"; /* labels are doubles */
    exact.suffix = "";
    exact.single = 0;
    if (w->labels)
        write_table(&exact, "labels", w->labels, w->n_classes, 0);
}

/* Writes the kernel of an example and a row of the vectors; <x, w> where f is linear. */
static void write_kernel(const struct writer *w)
{
    const hinge_kernel_type type = w->kernel.type;
    int laplacian = type == HINGE_LAPLACIAN, matern = type == HINGE_MATERN32 || type == HINGE_MATERN52;
    int distance = type == HINGE_RBF || matern;
    emit(w, "\nstatic $R $N_kernel(const $R *x, const $R *z)\n{\n    $R sum = 0;\n    size_t k;\n\n"
            "    for (k = 0; k != $D; k++) {\n        const $R value = ");
    emit(w, w->moved    ? "(x[k] - $N_origin[k]) * $N_factor[k] + $N_offset[k];\n"
            : w->scaled ? "x[k] * $N_factor[k] + $N_offset[k];\n"
                        : "x[k];\n");
    emit(w, distance    ? "        sum += (value - z[k]) * (value - z[k]);\n    }\n"
            : laplacian ? "        sum += fabs$F(value - z[k]);\n    }\n"
                        : "        sum += value * z[k];\n    }\n");
    if (!w->linear && !distance && !laplacian) /* of a linear function of the product */
        emit(w, "    sum = $G * sum + $A;\n");
    if (matern) /* r */
        emit(w, "    sum = sqrt$F($G * sum);\n");
    emit(w, w->linear                           ? "    return sum;\n}\n"
            : type == HINGE_MATERN32            ? "    return (1 + sum) * exp$F(-sum);\n}\n"
            : type == HINGE_MATERN52            ? "    return (1 + sum + sum * sum / 3) * exp$F(-sum);\n}\n"
            : distance || laplacian             ? "    return exp$F(-$G * sum);\n}\n"
            : type == HINGE_SIGMOID ? "    return tanh$F(sum);\n}\n"
                                              : "    {\n        $R power = 1;\n        int q;\n\n"
                                                "        for (q = 0; q < $Q; q++)\n            power *= sum;\n"
                                                "        return power;\n    }\n}\n");
}

static void write_sums(const struct writer *w)
{
    emit(w, "    for (p = 0; p != $P; p++)\n        f[p] = ");
    if (w->linear) {
        emit(w, "$N_kernel(x, $N_weights + p * $D) - $N_rho[p];\n");
        return;
    }
    emit(w, "-$N_rho[p];\n    for (c = 0; c != $S; c++)\n        for (i = 0; i < $N_count[c]; i++, v++) {\n"
            "            const $R value = $N_kernel(x, $N_vectors + v * $D);\n\n"
            "            for (row = 0; row != $W; row++)");
    if (w->labels && !w->one_vs_rest) /* row: the other class, c itself left out */
        emit(w, " {\n                const size_t a = row < c ? row : c, b = row < c ? c : row + 1;\n\n"
                "                f[a * (2 * $C - a - 1) / 2 + b - a - 1] +=\n"
                "                    $N_coefficients[row * $V + v] * value;\n            }\n        }\n");
    else
        emit(w, "\n                f[row] += $N_coefficients[row * $V + v] * value;\n        }\n");
}

static void write_answer(const struct writer *w)
{
    emit(w, "    for (p = 0; decisions != NULL && p != $P; p++)\n        decisions[p] = f[p];\n");
    if (!w->labels)
        emit(w, hinge_model_task(w->model) == HINGE_ONE_CLASS ? "    return f[0] > 0 ? 1 : -1;\n}\n"
                                                              : "    return f[0];\n}\n");
    else if (w->one_vs_rest)
        emit(w, "    for (c = 1; c != $C; c++)\n        if (f[c] > f[best])\n            best = c;\n"
                "    return $N_labels[best];\n}\n");
    else
        emit(w, "    for (c = 0, p = 0; c != $C; c++)\n        for (i = c + 1; i != $C; i++, p++)\n"
                "            votes[f[p] > 0 ? c : i]++;\n"
                "    for (c = 1; c != $C; c++)\n        if (votes[c] > votes[best])\n            best = c;\n"
                "    return $N_labels[best];\n}\n");
}

static void write_function(const struct writer *w)
{
    int votes = w->labels && !w->one_vs_rest;
    emit(w, "\ndouble $N(const $R *x, $R *decisions)\n{\n");
    emit(w, w->n_problems ? "    $R f[$P];\n    size_t p" : "    $R f[1];\n    size_t p");
    emit(w, w->labels || !w->linear ? ", c" : "");
    emit(w, votes || !w->linear ? ", i" : "");
    emit(w, w->linear ? "" : ", row, v = 0");
    emit(w, w->labels ? ", best = 0" : "");
    emit(w, votes ? ", votes[$C] = { 0 };\n\n" : ";\n\n");
    write_sums(w);
    write_answer(w);
}

/* Writes names into a comment, which they must not end. */
static void write_names(const struct writer *w, const char *title, const hinge_words *names)
{
    if (names)
        fputs(title, w->file);
    for (size_t k = 0; names && k < names->count; k++) {
        fputs(k ? ",\n *     " : "\n *     ", w->file);
        for (const char *p = names->word[k]; *p; p++)
            fprintf(w->file, p[0] == '/' && p > names->word[k] && p[-1] == '*' ? " %c" : "%c", *p);
    }
}

static void write_head(const struct writer *w)
{
    fprintf(w->file, "/*\n * A model of hinge %s: %s, %s kernel", hinge_version(),
            hinge_task_info(hinge_model_task(w->model))->keyword, hinge_kernel_info(w->kernel.type)->keyword);
    emit(w, w->labels ? ", $C classes.\n *\n" : ".\n *\n");
    emit(w, " *     double $N(const $R x[$D], $R decisions[$P]);\n *\n * takes ");
    emit(w, w->kernel.type == HINGE_PRECOMPUTED ? "the kernel values" : "the features");
    emit(w, " of an example and returns ");
    emit(w, hinge_model_words(w->model) ? "the number of its class, as that of its word in the model file"
            : w->labels                 ? "the label of its class"
            : hinge_model_task(w->model) == HINGE_ONE_CLASS ? "1 or, outside, -1"
                                                            : "its value");
    emit(w, ". decisions gets the\n * decision values, or is NULL.");
    emit(w, w->scaled ? " Features are scaled here." : "");
    write_names(w, "\n *\n * The features, in their order:", hinge_model_names(w->model));
    write_names(w, "\n *\n * The classes, from 1 on:", hinge_model_words(w->model));
    emit(w, "\n */\n#include <math.h>\n#include <stddef.h>\n\ndouble $N(const $R *x, $R *decisions);\n\n");
}

static void write_model(const struct export_settings *s, const hinge_model *model)
{
    struct output out;
    struct writer w = { .model = model, .name = s->name, .single = s->single,
                        .real = s->single ? "float" : "double", .suffix = s->single ? "f" : "",
                        .scaled = hinge_model_scale_factor(model) != NULL,
                        .moved = hinge_model_scale_origin(model) != NULL,
                        .one_vs_rest = hinge_model_multiclass(model) == HINGE_ONE_VS_REST,
                        .kernel = hinge_model_kernel(model), .labels = hinge_model_labels(model),
                        .class_sv = hinge_model_class_sv(model), .d = hinge_model_n_features(model),
                        .n_problems = hinge_model_n_problems(model), .n_classes = hinge_model_n_classes(model),
                        .n_sv = hinge_model_n_sv(model) };
    w.linear = w.kernel.type == HINGE_LINEAR || w.kernel.type == HINGE_PRECOMPUTED;
    w.rows = w.labels ? w.n_classes - !w.one_vs_rest : 1;
    w.sums = w.class_sv ? w.n_classes : 1;
    output_open(&out, s->output);
    w.file = out.file;
    write_head(&w);
    write_tables(&w);
    write_kernel(&w);
    write_function(&w);
    output_close(&out);
}

int command_export(int argc, char **argv)
{
    struct export_settings s = { 0 };
    hinge_model *model = NULL;
    read_options(argc, argv, &s);
    model = load_model(s.model_path);
    hinge_kernel_type type = hinge_model_kernel(model).type;
    if (type == HINGE_USER || type > HINGE_LAPLACIAN)
        die(EXIT_FAILURE, "%s: no C is known for its kernel, %s", s.model_path,
            hinge_kernel_info(hinge_model_kernel(model).type)->keyword);
    if (hinge_model_n_targets(model) > 0)
        die(EXIT_FAILURE, "%s: a model of several targets is not written as C", s.model_path);
    write_model(&s, model);
    hinge_model_free(model);
    return 0;
}

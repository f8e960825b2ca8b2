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
    { 0, "c", NULL, parse_flag, FIELD(c), NULL, "write C99, which C++ compiles too" },
    { 0, "float", NULL, parse_flag, FIELD(single), NULL, "put tables, examples and arithmetic in float (double)" },
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
    const struct option_group groups[] = {
        { "Options (default in parentheses):", export_options, COUNT_OF(export_options), s },
    };
    int first;

    s->name = "svm";
    s->output = "-";
    first = parse_options(argc, argv, usage, groups, COUNT_OF(groups));
    if (argc - first != 1)
        die(EXIT_USAGE, "export: one model file is needed; see `hinge export --help`");
    if (!s->c)
        die(EXIT_USAGE, "export: give --c, which writes a C file; there is no other form");
    for (const char *p = s->name; *p || p == s->name; p++)
        if (!(isalpha((unsigned char)*p) || *p == '_' || (p > s->name && isdigit((unsigned char)*p))))
            die(EXIT_USAGE, "export: --name '%s' is no name of C", s->name);
    s->model_path = argv[first];
}

/* ---- What is written ---- */

struct writer {
    FILE *file;
    const hinge_model *model;
    const char *name, *real, *suffix; /* "double" and "", "float" and "f" */
    int single, linear;               /* linear: in the features, or in the values of a precomputed kernel */
    size_t d, n_problems, n_classes, n_sv, rows;
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

/* Writes a table; one without values gets an element, as C has no empty arrays. */
static void write_table(const struct writer *w, const char *what, const double *values, size_t count, size_t width)
{
    size_t columns = width > 8 || width == 0 ? 8 : width;

    fprintf(w->file, "static const %s %s_%s[%zu] = {", w->real, w->name, what, count ? count : 1);
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
    hinge_error err = { 0 };

    for (size_t i = 0; i < count; i++)
        check(w->linear ? hinge_model_weights(w->model, i, values + i * w->d, &err)
                        : hinge_model_sv(w->model, i, values + i * w->d, &err),
              &err);
    write_table(w, w->linear ? "weights" : "vectors", values, count * w->d, w->d);
    free(values);
}

static void write_tables(const struct writer *w)
{
    const double *labels = hinge_model_labels(w->model), *factor = hinge_model_scale_factor(w->model);
    const size_t *class_sv = hinge_model_class_sv(w->model);
    struct writer exact = *w;

    write_vectors(w);
    if (!w->linear) {
        write_table(w, "coefficients", hinge_model_coef(w->model), w->rows * w->n_sv, 0);
        fprintf(w->file, "static const size_t %s_count[%zu] = { ", w->name, class_sv ? w->n_classes : 1);
        for (size_t c = 0; c < (class_sv ? w->n_classes : 1); c++)
            fprintf(w->file, "%s%zu", c ? ", " : "", class_sv ? class_sv[c] : w->n_sv);
        fputs(" }; /* support vectors of a class */\n", w->file);
    }
    write_table(w, "rho", hinge_model_rho(w->model), w->n_problems, 0);
    if (factor) {
        write_table(w, "factor", factor, w->d, 0);
        write_table(w, "offset", hinge_model_scale_offset(w->model), w->d, 0);
    }
    if (labels) { /* labels are doubles */
        exact.real = "double";
        exact.suffix = "";
        exact.single = 0;
        write_table(&exact, "labels", labels, w->n_classes, 0);
    }
}

/* Writes the kernel of an example and a row of the vectors; <x, w> where f is linear. */
static void write_kernel(const struct writer *w)
{
    hinge_kernel kernel = hinge_model_kernel(w->model);
    int rbf = kernel.type == HINGE_RBF, scaled = hinge_model_scale_factor(w->model) != NULL;
    const char *n = w->name, *r = w->real;

    fprintf(w->file, "\nstatic %s %s_kernel(const %s *x, const %s *z)\n{\n", r, n, r, r);
    fprintf(w->file, "    %s sum = 0;\n    size_t k;\n\n", r);
    fprintf(w->file, "    for (k = 0; k != %zu; k++) {\n        const %s value = ", w->d, r);
    if (scaled)
        fprintf(w->file, "x[k] * %s_factor[k] + %s_offset[k];\n", n, n);
    else
        fputs("x[k];\n", w->file);
    fprintf(w->file, "        sum += %s;\n    }\n", rbf ? "(value - z[k]) * (value - z[k])" : "value * z[k]");
    if (w->linear) {
        fputs("    return sum;\n}\n", w->file);
    } else if (rbf) {
        fprintf(w->file, "    return exp%s(-", w->suffix);
        write_number(w, kernel.gamma);
        fputs(" * sum);\n}\n", w->file);
    } else { /* of a linear function of the product */
        fputs("    sum = ", w->file);
        write_number(w, kernel.gamma);
        fputs(" * sum + ", w->file);
        write_number(w, kernel.coef0);
        fputs(";\n", w->file);
        if (kernel.type == HINGE_SIGMOID)
            fprintf(w->file, "    return tanh%s(sum);\n}\n", w->suffix);
        else
            fprintf(w->file, "    {\n        %s power = 1;\n        int q;\n\n        for (q = 0; q < %d; q++)\n"
                             "            power *= sum;\n        return power;\n    }\n}\n", r, kernel.degree);
    }
}

static void write_sums(const struct writer *w)
{
    const char *n = w->name, *r = w->real;
    int pairs = hinge_model_labels(w->model) && hinge_model_multiclass(w->model) != HINGE_ONE_VS_REST;

    fprintf(w->file, "    for (p = 0; p != %zu; p++)\n        f[p] = ", w->n_problems);
    if (w->linear) {
        fprintf(w->file, "%s_kernel(x, %s_weights + p * %zu) - %s_rho[p];\n", n, n, w->d, n);
        return;
    }
    fprintf(w->file, "-%s_rho[p];\n", n);
    fprintf(w->file, "    for (c = 0; c != %zu; c++)\n", hinge_model_class_sv(w->model) ? w->n_classes : (size_t)1);
    fprintf(w->file, "        for (i = 0; i < %s_count[c]; i++, v++) {\n", n);
    fprintf(w->file, "            const %s value = %s_kernel(x, %s_vectors + v * %zu);\n\n", r, n, n, w->d);
    fprintf(w->file, "            for (row = 0; row != %zu; row++)", w->rows);
    if (pairs) /* row: the other class, c itself left out */
        fprintf(w->file, " {\n                const size_t a = row < c ? row : c, b = row < c ? c : row + 1;\n\n"
                         "                f[a * (2 * %zu - a - 1) / 2 + b - a - 1] +=\n"
                         "                    %s_coefficients[row * %zu + v] * value;\n            }\n        }\n",
                w->n_classes, n, w->n_sv);
    else
        fprintf(w->file, "\n                f[row] += %s_coefficients[row * %zu + v] * value;\n        }\n", n,
                w->n_sv);
}

static void write_answer(const struct writer *w)
{
    const char *n = w->name;
    int one_vs_rest = hinge_model_multiclass(w->model) == HINGE_ONE_VS_REST;

    fprintf(w->file, "    for (p = 0; decisions != NULL && p != %zu; p++)\n        decisions[p] = f[p];\n",
            w->n_problems);
    if (!hinge_model_labels(w->model)) {
        fprintf(w->file, "    return f[0]%s;\n}\n",
                hinge_model_task(w->model) == HINGE_ONE_CLASS ? " > 0 ? 1 : -1" : "");
        return;
    }
    if (one_vs_rest)
        fprintf(w->file, "    for (c = 1; c != %zu; c++)\n        if (f[c] > f[best])\n            best = c;\n",
                w->n_classes);
    else
        fprintf(w->file, "    for (c = 0, p = 0; c != %zu; c++)\n        for (i = c + 1; i != %zu; i++, p++)\n"
                         "            votes[f[p] > 0 ? c : i]++;\n"
                         "    for (c = 1; c != %zu; c++)\n        if (votes[c] > votes[best])\n            best = c;\n",
                w->n_classes, w->n_classes, w->n_classes);
    fprintf(w->file, "    return %s_labels[best];\n}\n", n);
}

static void write_function(const struct writer *w)
{
    int classes = hinge_model_labels(w->model) != NULL;
    int votes = classes && hinge_model_multiclass(w->model) != HINGE_ONE_VS_REST;

    fprintf(w->file, "\ndouble %s(const %s *x, %s *decisions)\n{\n", w->name, w->real, w->real);
    fprintf(w->file, "    %s f[%zu];\n    size_t p", w->real, w->n_problems ? w->n_problems : 1);
    if (classes || !w->linear)
        fputs(", c", w->file);
    if (votes || !w->linear)
        fputs(", i", w->file);
    fputs(w->linear ? "" : ", row, v = 0", w->file);
    fputs(classes ? ", best = 0" : "", w->file);
    if (votes)
        fprintf(w->file, ", votes[%zu] = { 0 }", w->n_classes);
    fputs(";\n\n", w->file);
    write_sums(w);
    write_answer(w);
}

static void write_head(const struct writer *w)
{
    const hinge_model *m = w->model;
    int classes = hinge_model_labels(m) != NULL, one_class = hinge_model_task(m) == HINGE_ONE_CLASS;

    fprintf(w->file, "/*\n * A model of hinge %s: %s, %s kernel", hinge_version(),
            hinge_task_info(hinge_model_task(m))->keyword,
            hinge_kernel_info(hinge_model_kernel(m).type)->keyword);
    if (classes)
        fprintf(w->file, ", %zu classes", w->n_classes);
    fprintf(w->file, ".\n *\n *     double %s(const %s x[%zu], %s decisions[%zu]);\n *\n", w->name, w->real, w->d,
            w->real, w->n_problems);
    fprintf(w->file, " * takes %s of an example and returns %s. decisions gets the\n"
                     " * decision values, or is NULL.%s\n */\n#include <math.h>\n#include <stddef.h>\n\n",
            hinge_model_kernel(m).type == HINGE_PRECOMPUTED ? "the kernel values" : "the features",
            hinge_model_words(m) ? "the number of its class, as that of its word in the model file"
            : classes ? "the label of its class" : one_class ? "1 or, outside, -1" : "its value",
            hinge_model_scale_factor(m) ? " Features are scaled here." : "");
    fprintf(w->file, "double %s(const %s *x, %s *decisions);\n\n", w->name, w->real, w->real);
}

static void write_model(const struct export_settings *s, const hinge_model *model)
{
    hinge_kernel_type type = hinge_model_kernel(model).type;
    struct output out;
    struct writer w = { .model = model, .name = s->name, .single = s->single,
                        .real = s->single ? "float" : "double", .suffix = s->single ? "f" : "",
                        .linear = type == HINGE_LINEAR || type == HINGE_PRECOMPUTED,
                        .d = hinge_model_n_features(model), .n_problems = hinge_model_n_problems(model),
                        .n_classes = hinge_model_n_classes(model), .n_sv = hinge_model_n_sv(model), .rows = 1 };

    if (hinge_model_labels(model))
        w.rows = w.n_classes - (hinge_model_multiclass(model) != HINGE_ONE_VS_REST);
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
    hinge_error err = { 0 };

    read_options(argc, argv, &s);
    check(hinge_model_load(&model, s.model_path, NULL, &err), &err);
    if (hinge_model_kernel(model).type > HINGE_PRECOMPUTED)
        die(EXIT_FAILURE, "%s: no C is known for its kernel, %s", s.model_path,
            hinge_kernel_info(hinge_model_kernel(model).type)->keyword);
    write_model(&s, model);
    hinge_model_free(model);
    return 0;
}

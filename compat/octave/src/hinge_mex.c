/*
 * hinge for Octave: what the functions of inst/ call, as hinge_mex(VERB, ...). A matrix of instances is dense and taken
 * as it lies; p is a structure of svm-train's options by their letters (inst/private/hinge_options.m). Models are
 * LIBSVM's structures, told to hinge as text of a model file. What fails ends in an Octave error, in hinge's words.
 */
#include <hinge/io.h>
#include <mex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MARKS = 10 }; /* of a one-class model's densities */

static _Noreturn void fail(const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    mexErrMsgIdAndTxt("hinge:error", "%s", text);
    abort(); /* does not come here: Octave has left the call */
}

/* ---- from Octave ----------------------------------------------------------------------------------------- */

static const mxArray *field(const mxArray *s, const char *name)
{
    const mxArray *value = mxGetField(s, 0, name);
    if (value == NULL || mxIsSparse(value) || !mxIsDouble(value))
        fail("the model has no field %s of full double numbers", name);
    return value;
}

static double number(const mxArray *s, const char *name)
{
    return mxGetScalar(field(s, name));
}

/* A view of a full matrix. */
static hinge_matrix matrix_of(const mxArray *x)
{
    static const struct {
        mxClassID theirs;
        hinge_dtype ours;
    } types[] = { { mxDOUBLE_CLASS, HINGE_F64 },
                  { mxSINGLE_CLASS, HINGE_F32 },
                  { mxUINT8_CLASS, HINGE_U8 },
                  { mxINT8_CLASS, HINGE_I8 } };
    hinge_matrix m = { .data = mxGetData(x), .rows = mxGetM(x), .cols = mxGetN(x), .order = HINGE_COLUMN_MAJOR };
    for (size_t k = 0; k < sizeof types / sizeof *types; k++)
        if (mxGetClassID(x) == types[k].theirs && !mxIsSparse(x) && !mxIsComplex(x))
            m.type = types[k].ours;
    if (m.type == 0)
        fail("instances are of class %s: real double, single, uint8 or int8 are taken", mxGetClassName(x));
    m.stride = m.rows;
    return m;
}

/* Rows counted from 1, as counted from 0; memory of Octave's, which ends with the call. */
static size_t *rows_of(const mxArray *from_1)
{
    size_t n = mxGetNumberOfElements(from_1), *rows = mxMalloc((n + 1) * sizeof *rows);
    for (size_t i = 0; i < n; i++)
        rows[i] = (size_t)mxGetPr(from_1)[i] - 1;
    return n > 0 ? rows : NULL;
}

/* p.w: [2 * k] labels and, in the second column, weights of classes; weights: of examples, or empty. */
static hinge_params params_of(const mxArray *p, const mxArray *weights)
{
    const mxArray *w = field(p, "w");
    hinge_params q = hinge_params_default((hinge_task)number(p, "s"));
    q.kernel = (hinge_kernel){ .type = (hinge_kernel_type)number(p, "t"),
                               .degree = (int)number(p, "d"),
                               .gamma = number(p, "g"),
                               .coef0 = number(p, "r") };
    q.C = number(p, "c");
    q.nu = number(p, "n");
    q.p = number(p, "p");
    q.eps = number(p, "e");
    q.cache_bytes = (size_t)(number(p, "m") * 1048576);
    q.shrinking = number(p, "h") != 0;
    q.probability = number(p, "b") != 0;
    q.precomputed_index = rows_of(field(p, "serial"));
    q.n_class_weights = mxGetM(w);
    q.class_labels = mxGetPr(w);
    q.class_weights = mxGetPr(w) + mxGetM(w);
    q.weights = mxIsEmpty(weights) ? NULL : mxGetPr(weights);
    return q;
}

/* ---- to Octave ------------------------------------------------------------------------------------------- */

/* A matrix of doubles by columns; empty where there are no values. */
static mxArray *doubles(const double *values, size_t rows, size_t cols)
{
    mxArray *a = mxCreateDoubleMatrix(values != NULL ? (mwSize)rows : 0, values != NULL ? (mwSize)cols : 0, mxREAL);
    if (values != NULL && rows * cols > 0)
        memcpy(mxGetPr(a), values, rows * cols * sizeof *values);
    return a;
}

static mxArray *sizes(const size_t *values, size_t n, size_t more)
{
    mxArray *a = mxCreateDoubleMatrix(values != NULL ? (mwSize)n : 0, values != NULL, mxREAL);
    for (size_t i = 0; values != NULL && i < n; i++)
        mxGetPr(a)[i] = (double)(values[i] + more);
    return a;
}

/* The numbers behind a key of a model file's header; empty where it is not there. */
static mxArray *numbers_behind(const char *text, size_t size, const char *key, size_t n)
{
    double *values = mxMalloc((n + 1) * sizeof *values);
    const char *end = text + size, *line = text;
    size_t length = strlen(key);
    while (line != NULL && (size_t)(end - line) > length && strncmp(line, "SV", 2) != 0) {
        if (strncmp(line, key, length) == 0 && line[length] == ' ') {
            char *p = (char *)line + length; /* a line break ends the last number */
            for (size_t i = 0; i < n; i++)
                values[i] = strtod(p, &p);
            return doubles(values, n, 1);
        }
        line = memchr(line, '\n', (size_t)(end - line));
        line += line != NULL;
    }
    return doubles(NULL, 0, 0);
}

/* All fields that LIBSVM's structure has, but for the support vectors and the parameters. */
static mxArray *fields_of(const hinge_model *m, const hinge_report *r, const char *text, size_t size)
{
    static const char *names[] = { "gamma", "rho",     "Label",   "sv_indices", "ProbA", "ProbB",  "Prob_density_marks",
                                   "nSV",   "sv_coef", "outcome", "objective",  "nBSV",  "seconds" };
    size_t problems = hinge_model_n_problems(m), classes = hinge_model_n_classes(m), n = hinge_model_n_sv(m);
    mxArray *values[] = {
        mxCreateDoubleScalar(hinge_model_kernel(m).gamma),
        doubles(hinge_model_rho(m), problems, 1),
        doubles(hinge_model_labels(m), classes, 1),
        sizes(hinge_model_sv_index(m), n, 1),
        numbers_behind(text, size, "probA", problems),
        numbers_behind(text, size, "probB", problems),
        numbers_behind(text, size, "prob_density_marks", MARKS),
        sizes(hinge_model_class_sv(m), classes, 0),
        doubles(hinge_model_coef(m), n, classes - 1),
        mxCreateString(hinge_outcome_text(r->outcome)),
        mxCreateDoubleScalar(r->objective),
        mxCreateDoubleScalar((double)r->n_bsv),
        mxCreateDoubleScalar(r->seconds),
    };
    mxArray *s = mxCreateStructMatrix(1, 1, sizeof names / sizeof *names, names);
    for (int k = 0; k < (int)(sizeof names / sizeof *names); k++)
        mxSetFieldByNumber(s, 0, k, values[k]);
    return s;
}

/* ---- a model of its structure ---------------------------------------------------------------------------- */

struct text {
    char *data;
    size_t size, room;
};

static void add(struct text *t, const char *format, ...)
{
    va_list arguments;
    if (t->room - t->size < 512) {
        t->room = 2 * t->room + 4096;
        t->data = mxRealloc(t->data, t->room);
    }
    va_start(arguments, format);
    t->size += (size_t)vsnprintf(t->data + t->size, t->room - t->size, format, arguments);
    va_end(arguments);
}

static void add_line(struct text *t, const char *key, const mxArray *values)
{
    size_t n = mxGetNumberOfElements(values);
    if (n > 0)
        add(t, "%s", key);
    for (size_t i = 0; i < n; i++)
        add(t, " %.17g", mxGetPr(values)[i]);
    if (n > 0)
        add(t, "\n");
}

static void add_header(struct text *t, const mxArray *m)
{
    const mxArray *parameters = field(m, "Parameters");
    const double *p = mxGetPr(parameters);
    bool whole = mxGetNumberOfElements(parameters) == 5;
    const hinge_task_row *task = whole ? hinge_task_info((hinge_task)p[0]) : NULL;
    const hinge_kernel_row *kernel = whole ? hinge_kernel_info((hinge_kernel_type)p[1]) : NULL;
    if (task == NULL || kernel == NULL)
        fail("Parameters of the model are not svm_type, kernel_type, degree, gamma, coef0");
    add(t, "svm_type %s\nkernel_type %s\n", task->keyword, kernel->keyword);
    if (kernel->uses_degree)
        add(t, "degree %d\n", (int)p[2]);
    if (kernel->uses_gamma)
        add(t, "gamma %.17g\n", p[3]);
    if (kernel->uses_coef0)
        add(t, "coef0 %.17g\n", p[4]);
    add_line(t, "nr_class", field(m, "nr_class"));
    add_line(t, "total_sv", field(m, "totalSV"));
    add_line(t, "rho", field(m, "rho"));
    if (mxIsEmpty(field(m, "rho"))) /* one class */
        add(t, "rho\n");
    add_line(t, "label", field(m, "Label"));
    add_line(t, "probA", field(m, "ProbA"));
    add_line(t, "probB", field(m, "ProbB"));
    if (mxGetField(m, 0, "Prob_density_marks") != NULL) /* LIBSVM has it since 3.30 */
        add_line(t, "prob_density_marks", field(m, "Prob_density_marks"));
    add_line(t, "nr_sv", field(m, "nSV"));
    add(t, "SV\n");
}

/* vectors: the support vectors as columns of a sparse matrix, or a row of serial numbers. */
static hinge_model *model_of(const mxArray *m, const mxArray *vectors, size_t n_features)
{
    struct text t = { NULL, 0, 0 };
    hinge_model *model = NULL;
    hinge_error err;
    const mxArray *coef = field(m, "sv_coef");
    size_t n = mxGetN(vectors), rows = mxGetN(coef);
    bool precomputed = !mxIsSparse(vectors);
    add_header(&t, m);
    if (mxGetM(coef) != n)
        fail("sv_coef of the model has %zu rows, and SVs %zu", mxGetM(coef), n);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < rows; k++)
            add(&t, "%.17g ", mxGetPr(coef)[k * n + i]);
        if (precomputed)
            add(&t, "0:%.0f", mxGetPr(vectors)[i]);
        for (mwIndex j = precomputed ? 0 : mxGetJc(vectors)[i]; !precomputed && j < mxGetJc(vectors)[i + 1]; j++)
            add(&t, "%zu:%.17g ", (size_t)mxGetIr(vectors)[j] + 1, mxGetPr(vectors)[j]);
        add(&t, "\n");
    }
    if (hinge_model_parse(&model, "the model", t.data, t.size, NULL, &err) != HINGE_OK)
        fail("%s", err.text);
    if (hinge_model_n_features(model) < n_features && hinge_model_widen(model, n_features, &err) != HINGE_OK) {
        hinge_model_free(model);
        fail("%s", err.text);
    }
    mxFree(t.data);
    return model;
}

/* ---- the verbs ------------------------------------------------------------------------------------------- */

/* fields = hinge_mex('train', y, x, p, weights) */
static void train(mxArray *out[], const mxArray *in[])
{
    hinge_matrix x = matrix_of(in[1]);
    hinge_params params = params_of(in[2], in[3]);
    hinge_model *model = NULL;
    hinge_report report;
    hinge_error err;
    char *text = NULL;
    size_t size = 0;
    if (hinge_train(&model, &x, mxGetPr(in[0]), &params, &report, &err) == HINGE_OK &&
        (!hinge_model_has_probability(model) || hinge_model_format(model, &text, &size, &err) == HINGE_OK))
        out[0] = fields_of(model, &report, text, size);
    hinge_free(text);
    hinge_model_free(model);
    if (out[0] == NULL)
        fail("%s", err.text);
}

/* predictions = hinge_mex('validate', y, x, p, weights): by p.v folds */
static void validate(mxArray *out[], const mxArray *in[])
{
    hinge_matrix x = matrix_of(in[1]);
    hinge_params params = params_of(in[2], in[3]);
    double folds = number(in[2], "v");
    hinge_error err;
    out[0] = mxCreateDoubleMatrix((mwSize)x.rows, 1, mxREAL);
    if (hinge_cross_validate(&x, mxGetPr(in[0]), &params, folds > 0 ? (size_t)folds : 0, mxGetPr(out[0]), NULL, &err) !=
        HINGE_OK)
        fail("%s", err.text);
}

/* [labels, values] = hinge_mex('predict', x, model, vectors, probability): an instance's decision values or
 * probabilities are a column */
static void predict(mxArray *out[], const mxArray *in[])
{
    hinge_matrix x = matrix_of(in[0]);
    hinge_model *model = model_of(in[1], in[2], x.cols);
    bool probability = mxGetScalar(in[3]) != 0;
    hinge_error err;
    size_t columns = probability ? hinge_model_n_classes(model) : hinge_model_n_problems(model);
    out[0] = mxCreateDoubleMatrix((mwSize)x.rows, 1, mxREAL);
    out[1] = mxCreateDoubleMatrix((mwSize)columns, (mwSize)x.rows, mxREAL);
    double *labels = mxGetPr(out[0]), *values = mxGetPr(out[1]);
    hinge_status status = probability ? hinge_predict_probability(model, &x, NULL, labels, values, &err)
                                      : hinge_predict(model, &x, NULL, labels, values, &err);
    hinge_model_free(model);
    if (status != HINGE_OK)
        fail("%s", err.text);
}

/* [labels, x', columns] = hinge_mex('read', name): columns is empty where x has all of them */
static void read_data(mxArray *out[], const mxArray *in[])
{
    const hinge_data_options options = { .format = HINGE_FORMAT_LIBSVM, .type = HINGE_F64, .drop_empty = 1 };
    char *name = mxArrayToString(in[0]);
    hinge_data data;
    hinge_error err;
    if (name == NULL || hinge_data_read(name, &options, &data, &err) != HINGE_OK)
        fail("%s", err.text);
    bool words = data.words.count > 0;
    out[0] = doubles(data.y, data.x.rows, 1);
    out[1] = doubles(data.x.data, data.x.cols, data.x.rows);
    out[2] = sizes(data.columns, data.x.cols, 0);
    hinge_data_free(&data);
    if (words)
        fail("%s: labels are words, where numbers are needed", name);
}

/* hinge_mex('write', name, labels, x) */
static void write_data(mxArray *out[], const mxArray *in[])
{
    hinge_matrix x = matrix_of(in[2]);
    hinge_error err;
    (void)out;
    if (hinge_data_write(mxArrayToString(in[0]), &x, mxGetPr(in[1]), &err) != HINGE_OK)
        fail("%s", err.text);
}

void mexFunction(int n_out, mxArray *out[], int n_in, const mxArray *in[])
{
    static const struct {
        const char *name;
        int n_in, n_out;
        void (*call)(mxArray *out[], const mxArray *in[]);
    } verbs[] = { { "train", 4, 1, train },
                  { "validate", 4, 1, validate },
                  { "predict", 4, 2, predict },
                  { "read", 1, 3, read_data },
                  { "write", 3, 0, write_data } };
    char *verb = n_in > 0 ? mxArrayToString(in[0]) : NULL;
    for (size_t k = 0; verb != NULL && k < sizeof verbs / sizeof *verbs; k++)
        if (strcmp(verb, verbs[k].name) == 0 && n_in == verbs[k].n_in + 1 && n_out == verbs[k].n_out) {
            verbs[k].call(out, in + 1);
            return;
        }
    fail("hinge_mex is for svmtrain, svmpredict, libsvmread and libsvmwrite");
}

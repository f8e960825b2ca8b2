/*
 * hinge for R: what the functions of R/hinge.R call. x is a matrix of doubles, which is taken as it lies; p a list of
 * parameters by their names; a model is a raw vector that holds the text of its file, so that R can save it. What fails
 * ends in an R error, in hinge's words.
 */
#include <hinge/io.h>
#include <hinge/scaling.h>
#include <R.h>
#include <Rinternals.h>
#include <R_ext/Rdynload.h>
#include <stdbool.h>
#include <string.h>

static _Thread_local int here; /* its address tells R's own thread from others */

/* ---- from R ---------------------------------------------------------------------------------------------- */

static SEXP element(SEXP list, const char *name)
{
    SEXP names = Rf_getAttrib(list, R_NamesSymbol);
    for (R_xlen_t k = 0; k < XLENGTH(list); k++)
        if (strcmp(CHAR(STRING_ELT(names, k)), name) == 0)
            return VECTOR_ELT(list, k);
    return R_NilValue;
}

static double number(SEXP list, const char *name)
{
    return Rf_asReal(element(list, name));
}

static const double *reals(SEXP values)
{
    return values != R_NilValue ? REAL(values) : NULL;
}

static hinge_matrix matrix_of(SEXP x)
{
    size_t rows = (size_t)Rf_nrows(x), cols = (size_t)Rf_ncols(x);
    return (hinge_matrix){ REAL(x), HINGE_F64, rows, cols, rows, HINGE_COLUMN_MAJOR };
}

static void ask_R(void *unused)
{
    (void)unused;
    R_CheckUserInterrupt();
}

/* arg: &here of the thread that called, which alone may call R. */
static int on_progress(void *arg, const hinge_progress *progress)
{
    (void)progress;
    return arg == &here && !R_ToplevelExec(ask_R, NULL);
}

/* Keywords of tasks and kernels are R/hinge.R's to check. */
static hinge_params params_of(SEXP p)
{
    hinge_task task = HINGE_C_SVC;
    hinge_kernel_type kernel = HINGE_LINEAR;
    while (hinge_task_info(task) != NULL &&
           strcmp(hinge_task_info(task)->keyword, CHAR(Rf_asChar(element(p, "task")))) != 0)
        task++;
    while (hinge_kernel_info(kernel) != NULL &&
           strcmp(hinge_kernel_info(kernel)->keyword, CHAR(Rf_asChar(element(p, "kernel")))) != 0)
        kernel++;
    hinge_params q = hinge_params_default(task);
    q.kernel = (hinge_kernel){ .type = kernel,
                               .degree = Rf_asInteger(element(p, "degree")),
                               .gamma = number(p, "gamma"),
                               .coef0 = number(p, "coef0") };
    q.C = number(p, "cost");
    q.nu = number(p, "nu");
    q.p = number(p, "epsilon");
    q.tau = number(p, "tau");
    q.eps = number(p, "tolerance");
    q.shrinking = Rf_asLogical(element(p, "shrinking")) == 1;
    q.probability = Rf_asLogical(element(p, "probability")) == 1;
    q.multiclass = Rf_asLogical(element(p, "one.vs.rest")) == 1 ? HINGE_ONE_VS_REST : HINGE_ONE_VS_ONE;
    q.cache_bytes = (size_t)(number(p, "cachesize") * 1048576);
    q.threads = Rf_asInteger(element(p, "threads"));
    q.seed = (uint64_t)number(p, "seed");
    q.class_weights = reals(element(p, "class.weights"));
    q.n_class_weights = q.class_weights != NULL ? (size_t)XLENGTH(element(p, "class.weights")) : 0;
    q.class_labels = reals(element(p, "class.codes"));
    q.weights = reals(element(p, "weights"));
    q.progress = on_progress;
    q.progress_arg = &here;
    return q;
}

/* ---- models, which R frees whatever happens -------------------------------------------------------------- */

static void free_model(SEXP holder)
{
    hinge_model_free(R_ExternalPtrAddr(holder));
    R_ClearExternalPtr(holder);
}

/* An empty holder, protected by the caller. */
static SEXP holder_new(void)
{
    SEXP holder = PROTECT(R_MakeExternalPtr(NULL, R_NilValue, R_NilValue));
    R_RegisterCFinalizerEx(holder, free_model, TRUE);
    UNPROTECT(1);
    return holder;
}

static hinge_model *model_of(SEXP raw, SEXP holder, size_t n_features)
{
    hinge_model *model = NULL;
    hinge_error err;
    if (hinge_model_parse(&model, "the model", RAW(raw), (size_t)XLENGTH(raw), NULL, &err) != HINGE_OK)
        Rf_error("%s", err.text);
    R_SetExternalPtrAddr(holder, model);
    if (hinge_model_n_features(model) < n_features && hinge_model_widen(model, n_features, &err) != HINGE_OK)
        Rf_error("%s", err.text);
    return model;
}

/* ---- to R ------------------------------------------------------------------------------------------------ */

static SEXP real_matrix(const double *values, size_t rows, size_t cols)
{
    SEXP m = Rf_allocMatrix(REALSXP, (int)rows, (int)cols);
    if (values != NULL && rows * cols > 0)
        memcpy(REAL(m), values, rows * cols * sizeof *values);
    return m;
}

/* NULL where there are no values. */
static SEXP real_vector(const double *values, size_t n)
{
    SEXP v = values != NULL ? Rf_allocVector(REALSXP, (R_xlen_t)n) : R_NilValue;
    if (values != NULL && n > 0)
        memcpy(REAL(v), values, n * sizeof *values);
    return v;
}

/* Whole numbers, counted from `more`; NULL where there are none. */
static SEXP integers(const size_t *values, size_t n, size_t more)
{
    if (values == NULL)
        return R_NilValue;
    SEXP m = Rf_allocVector(INTSXP, (R_xlen_t)n);
    for (size_t i = 0; i < n; i++)
        INTEGER(m)[i] = (int)(values[i] + more);
    return m;
}

static SEXP raw_of(const hinge_model *model)
{
    char *bytes;
    size_t size;
    hinge_error err;
    if (hinge_model_format(model, &bytes, &size, &err) != HINGE_OK)
        Rf_error("%s", err.text);
    SEXP raw = Rf_allocVector(RAWSXP, (R_xlen_t)size);
    memcpy(RAW(raw), bytes, size);
    hinge_free(bytes);
    return raw;
}

static SEXP result_of(const hinge_model *m, const hinge_report *r)
{
    const char *names[] = { "model",   "index",     "coefs",      "rho",     "labels", "nSV", "sigma",
                            "outcome", "objective", "iterations", "seconds", "path",   "" };
    size_t problems = hinge_model_n_problems(m), classes = hinge_model_n_classes(m), n = hinge_model_n_sv(m);
    size_t columns = hinge_model_multiclass(m) == HINGE_ONE_VS_REST ? problems : classes - 1;
    double sigma;
    SEXP list = PROTECT(Rf_mkNamed(VECSXP, names));
    SET_VECTOR_ELT(list, 0, raw_of(m));
    SET_VECTOR_ELT(list, 1, integers(hinge_model_sv_index(m), n, 1));
    SET_VECTOR_ELT(list, 2, real_matrix(hinge_model_coef(m), n, columns));
    SET_VECTOR_ELT(list, 3, real_vector(hinge_model_rho(m), problems));
    SET_VECTOR_ELT(list, 4, real_vector(hinge_model_labels(m), classes));
    SET_VECTOR_ELT(list, 5, integers(hinge_model_class_sv(m), classes, 0));
    SET_VECTOR_ELT(list, 6, hinge_model_laplace(m, &sigma, NULL) == HINGE_OK ? Rf_ScalarReal(sigma) : R_NilValue);
    SET_VECTOR_ELT(list, 7, Rf_mkString(hinge_outcome_text(r->outcome)));
    SET_VECTOR_ELT(list, 8, Rf_ScalarReal(r->objective));
    SET_VECTOR_ELT(list, 9, Rf_ScalarReal((double)r->iterations));
    SET_VECTOR_ELT(list, 10, Rf_ScalarReal(r->seconds));
    SET_VECTOR_ELT(list, 11, Rf_mkString(r->path));
    UNPROTECT(1);
    return list;
}

/* ---- what R calls ---------------------------------------------------------------------------------------- */

static SEXP R_hinge_train(SEXP x, SEXP y, SEXP p)
{
    hinge_matrix matrix = matrix_of(x);
    hinge_params params = params_of(p);
    hinge_model *model = NULL;
    hinge_report report;
    hinge_error err;
    SEXP holder = PROTECT(holder_new());
    hinge_status status = hinge_train(&model, &matrix, reals(y), &params, &report, &err);
    R_SetExternalPtrAddr(holder, model);
    if (status == HINGE_OK && params.kernel.type != HINGE_PRECOMPUTED)
        status = hinge_model_set_scaling(model, reals(element(p, "factor")), reals(element(p, "offset")), &err);
    if (status != HINGE_OK)
        Rf_error("%s", err.text);
    SEXP result = PROTECT(result_of(model, &report));
    free_model(holder);
    UNPROTECT(2);
    return result;
}

static SEXP R_hinge_validate(SEXP x, SEXP y, SEXP p, SEXP folds)
{
    hinge_matrix matrix = matrix_of(x);
    hinge_params params = params_of(p);
    hinge_error err;
    SEXP predicted = PROTECT(Rf_allocVector(REALSXP, Rf_nrows(x)));
    if (hinge_cross_validate(&matrix, reals(y), &params, (size_t)Rf_asInteger(folds), REAL(predicted), NULL, &err) !=
        HINGE_OK)
        Rf_error("%s", err.text);
    UNPROTECT(1);
    return predicted;
}

/* list(labels, values): an example's decision values, or its probabilities, are a column of values. */
static SEXP R_hinge_predict(SEXP raw, SEXP x, SEXP probability, SEXP threads)
{
    const hinge_predict_options options = { .threads = Rf_asInteger(threads),
                                            .progress = on_progress,
                                            .progress_arg = &here };
    const char *names[] = { "labels", "values", "" };
    hinge_matrix matrix = matrix_of(x);
    hinge_error err;
    SEXP holder = PROTECT(holder_new()), list = PROTECT(Rf_mkNamed(VECSXP, names));
    const hinge_model *model = model_of(raw, holder, matrix.cols);
    bool wants = Rf_asLogical(probability) == 1;
    size_t columns = wants ? hinge_model_n_classes(model) : hinge_model_n_problems(model);
    SET_VECTOR_ELT(list, 0, Rf_allocVector(REALSXP, Rf_nrows(x)));
    SET_VECTOR_ELT(list, 1, real_matrix(NULL, columns, matrix.rows));
    double *labels = REAL(VECTOR_ELT(list, 0)), *values = REAL(VECTOR_ELT(list, 1));
    if ((wants ? hinge_predict_probability(model, &matrix, &options, labels, values, &err)
               : hinge_predict(model, &matrix, &options, labels, values, &err)) != HINGE_OK)
        Rf_error("%s", err.text);
    free_model(holder);
    UNPROTECT(2);
    return list;
}

/* The weights of a linear kernel, a column for each two-class problem; of scaled features. */
static SEXP R_hinge_weights(SEXP raw, SEXP n_features)
{
    hinge_error err;
    size_t d = (size_t)Rf_asInteger(n_features);
    SEXP holder = PROTECT(holder_new());
    const hinge_model *model = model_of(raw, holder, d);
    SEXP w = PROTECT(real_matrix(NULL, d, hinge_model_n_problems(model)));
    for (size_t k = 0; k < hinge_model_n_problems(model); k++)
        if (hinge_model_weights(model, k, REAL(w) + k * d, &err) != HINGE_OK)
            Rf_error("%s", err.text);
    free_model(holder);
    UNPROTECT(2);
    return w;
}

void R_init_hinge(DllInfo *info);

void R_init_hinge(DllInfo *info)
{
    static const R_CallMethodDef calls[] = { { "hinge_train_", (DL_FUNC)R_hinge_train, 3 },
                                             { "hinge_validate_", (DL_FUNC)R_hinge_validate, 4 },
                                             { "hinge_predict_", (DL_FUNC)R_hinge_predict, 4 },
                                             { "hinge_weights_", (DL_FUNC)R_hinge_weights, 2 },
                                             { NULL, NULL, 0 } };
    R_registerRoutines(info, NULL, calls, NULL, NULL);
    R_useDynamicSymbols(info, FALSE);
}

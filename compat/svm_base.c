/*
 * The four things the compat library remembers for the process: where it prints, how many threads it may use, how often
 * hinge trained, and in which process it first did. And what frees and reads models.
 */
#include "compat/svm_own.h"

#include <omp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int libsvm_version = LIBSVM_VERSION;

static void print_to_stdout(const char *text)
{
    fputs(text, stdout);
    fflush(stdout);
}

static void (*print_string)(const char *) = print_to_stdout;
static atomic_int n_threads;
static atomic_ulong n_trainings;
static atomic_int trainer; /* the process's number; 0: none has trained */

void svm_set_print_string_function(void (*print_func)(const char *))
{
    print_string = print_func != NULL ? print_func : print_to_stdout;
}

void hgc_print(const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    print_string(text);
}

void hgc_warn(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
}

void svm_set_num_threads(int threads)
{
    atomic_store(&n_threads, threads < 0 ? 0 : threads > 4096 ? 4096 : threads);
}

int hgc_threads(void)
{
    return hgc_is_child() ? 1 : atomic_load(&n_threads);
}

bool hgc_is_child(void)
{
    int process = atomic_load(&trainer);
    return process != 0 && process != (int)hg_process();
}

int svm_get_max_threads(void)
{
    int threads = hgc_threads();
    return threads > 0 ? threads : omp_get_max_threads();
}

void hgc_count_training(void)
{
    int none = 0;
    atomic_compare_exchange_strong(&trainer, &none, (int)hg_process());
    atomic_fetch_add(&n_trainings, 1);
}

unsigned long hinge_svm_train_count(void)
{
    return atomic_load(&n_trainings);
}

/* ---- reading models -------------------------------------------------------------------------------------- */

int svm_get_svm_type(const struct svm_model *model)
{
    return model != NULL ? model->param.svm_type : -1;
}

int svm_get_nr_class(const struct svm_model *model)
{
    return model != NULL ? model->nr_class : 0;
}

int svm_get_nr_sv(const struct svm_model *model)
{
    return model != NULL ? model->l : 0;
}

void svm_get_labels(const struct svm_model *model, int *label)
{
    for (int i = 0; model != NULL && model->label != NULL && label != NULL && i < model->nr_class; i++)
        label[i] = model->label[i];
}

void svm_get_sv_indices(const struct svm_model *model, int *sv_indices)
{
    for (int i = 0; model != NULL && model->sv_indices != NULL && sv_indices != NULL && i < model->l; i++)
        sv_indices[i] = model->sv_indices[i];
}

double svm_get_svr_probability(const struct svm_model *model)
{
    if (model != NULL && hgc_regresses(model->param.svm_type) && model->probA != NULL)
        return model->probA[0];
    hgc_warn("the model was not trained with probability 1 for regression: it has no Laplace width\n");
    return 0;
}

int svm_check_probability_model(const struct svm_model *model)
{
    if (model == NULL)
        return 0;
    if (hgc_classifies(model->param.svm_type))
        return model->probA != NULL && model->probB != NULL;
#ifndef HINGE_LIBSVM_324
    if (model->param.svm_type == ONE_CLASS)
        return model->prob_density_marks != NULL;
#endif
    return hgc_regresses(model->param.svm_type) && model->probA != NULL;
}

/* ---- freeing --------------------------------------------------------------------------------------------- */

void svm_free_model_content(struct svm_model *model)
{
    if (model == NULL)
        return;
    if (model->free_sv && model->l > 0 && model->SV != NULL)
        free(model->SV[0]);
    for (int i = 0; model->sv_coef != NULL && i < model->nr_class - 1; i++)
        free(model->sv_coef[i]);
    free(model->SV);
    free(model->sv_coef);
    free(model->rho);
    free(model->probA);
    free(model->probB);
#ifndef HINGE_LIBSVM_324
    free(model->prob_density_marks);
    model->prob_density_marks = NULL;
#endif
    free(model->sv_indices);
    free(model->label);
    free(model->nSV);
    model->SV = NULL;
    model->sv_coef = NULL;
    model->rho = model->probA = model->probB = NULL;
    model->sv_indices = model->label = model->nSV = NULL;
}

void svm_free_and_destroy_model(struct svm_model **model)
{
    if (model == NULL || *model == NULL)
        return;
    svm_free_model_content(*model);
    free(*model);
    *model = NULL;
}

void svm_destroy_param(struct svm_parameter *param)
{
    if (param == NULL)
        return;
    free(param->weight_label);
    free(param->weight);
}

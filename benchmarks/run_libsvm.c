/* One training and prediction by the LIBSVM that is installed (Debian's libsvm-dev); "run_libsvm about" tells its
 * version. */
#include "benchmarks/job.h"

#include <libsvm/svm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* LIBSVM tells the objective only in what it prints: "obj = %f, rho = %f", once a pair of classes. */
static double objective;

static void listen(const char *text)
{
    const char *found = strstr(text, "obj = ");
    if (found)
        objective += strtod(found + strlen("obj = "), NULL);
}

/* Rows as LIBSVM takes them, nodes of what is not 0: nodes[0 ... n-1] point into *memory. */
static struct svm_node **make_nodes(const double *x, size_t n, size_t d, struct svm_node **memory)
{
    size_t entries = n; /* each row ends with a node of index -1 */
    for (size_t i = 0; i < n * d; i++)
        entries += x[i] != 0;
    struct svm_node *node = *memory = job_allocate(entries, sizeof *node);
    struct svm_node **nodes = job_allocate(n, sizeof(struct svm_node *));
    for (size_t i = 0; i < n; i++) {
        nodes[i] = node;
        for (size_t j = 0; j < d; j++)
            if (x[i * d + j] != 0)
                *node++ = (struct svm_node){ (int)j + 1, x[i * d + j] };
        *node++ = (struct svm_node){ -1, 0 };
    }
    return nodes;
}

static struct svm_node **load_nodes(const struct job *job, const char *name, size_t n, struct svm_node **memory)
{
    double *x = job_load_part(job, name, n * job->d);
    struct svm_node **nodes = make_nodes(x, n, job->d, memory);
    free(x);
    return nodes;
}

static struct svm_parameter parameter_of(const struct job *job)
{
    return (struct svm_parameter){
        .svm_type = job->task,
        .kernel_type = RBF,
        .gamma = job->gamma,
        .cache_size = job->cache_mb,
        .eps = job->eps,
        .C = job->C,
        .p = job->p,
        .nu = job->p,
        .shrinking = 1,
    };
}

static void save_model(const struct job *job, const struct svm_model *model)
{
    size_t n_sv = (size_t)model->l, n_coef = (size_t)model->nr_class - 1;
    double *rows = job_allocate(n_sv * (1 + n_coef), sizeof *rows), *row = rows;
    for (size_t i = 0; i < n_sv; i++) {
        *row++ = model->sv_indices[i] - 1;
        for (size_t m = 0; m < n_coef; m++)
            *row++ = model->sv_coef[m][i];
    }
    job_save_model(job, n_sv, n_coef, rows);
    free(rows);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "about") == 0) {
        printf("{\"version\": \"%d.%02d\"}\n", libsvm_version / 100, libsvm_version % 100);
        return 0;
    }
    struct job job = job_read(argc, argv);
    struct svm_node *train_memory, *test_memory;
    struct svm_node **train = load_nodes(&job, "x_train.f64", job.n, &train_memory);
    struct svm_node **test = load_nodes(&job, "x_test.f64", job.n_test, &test_memory);
    double *y = job_load_part(&job, "y_train.f64", job.n), *predicted = job_allocate(job.n_test, sizeof *predicted);
    struct svm_problem problem = { (int)job.n, y, train };
    struct svm_parameter parameter = parameter_of(&job);
    const char *complaint = svm_check_parameter(&problem, &parameter);
    if (complaint)
        job_fail("LIBSVM", complaint);
    struct svm_model *model = NULL;
    svm_set_print_string_function(listen);

    job_start(&job);
    for (int k = 0; k < job.times; k++) {
        svm_free_and_destroy_model(&model);
        objective = 0;
        model = svm_train(&problem, &parameter);
    }
    job_stop("train");
    job_start(&job);
    for (size_t i = 0; i < job.n_test; i++)
        predicted[i] = svm_predict(model, test[i]);
    job_stop("predict");
    job_print_memory();

    printf("{\"objective_said\": %.12g}\n", objective);
    save_model(&job, model);
    job_save_predicted(&job, predicted);
    svm_free_and_destroy_model(&model);
    free(predicted);
    free(y);
    free(test);
    free(test_memory);
    free(train);
    free(train_memory);
    return 0;
}

/* One training and prediction by hinge; "run_hinge about" tells version, BLAS and OpenMP threads. */
#include "benchmarks/job.h"
#include "benchmarks/teams.h"

#include <hinge/hinge.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void about(void)
{
    hinge_machine machine = hinge_machine_info();
    printf("{\"version\": \"%s\", \"blas\": \"%s\", \"blas_slow\": %d}\n", hinge_version(), machine.blas,
           machine.blas_slow);
}

static hinge_params params_of(const struct job *job)
{
    hinge_params params = hinge_params_default((hinge_task)job->task);
    params.kernel = hinge_kernel_rbf(job->gamma);
    params.C = job->C;
    params.p = params.nu = job->p;
    params.eps = job->eps;
    params.threads = job->threads;
    params.cache_bytes = (size_t)(job->cache_mb * 1048576);
    return params;
}

static void print_report(const hinge_report *r)
{
    printf("{\"outcome\": \"%s\", \"objective_said\": %.12g, \"violation\": %.3g, \"error\": %.3g, ",
           hinge_outcome_text(r->outcome), r->objective, r->violation, r->error);
    printf("\"rows_per_sv\": %.4g, \"gflops\": %.4g, \"rounds\": %zu, \"steps\": %zu, ",
           r->n_sv ? (double)r->rows_computed / (double)r->n_sv : 0, r->gflop / r->seconds, (size_t)r->rounds,
           (size_t)r->iterations);
    printf("\"rows_s\": %.4g, \"select_s\": %.4g, \"block_s\": %.4g, \"subproblem_s\": %.4g, \"certificate_s\": %.4g, ",
           r->phase.rows, r->phase.select, r->phase.block, r->phase.subproblem, r->phase.certificate);
    printf("\"path\": \"%s\", \"blas\": \"%s\"}\n", r->path, r->blas);
}

static void save_model(const struct job *job, const hinge_model *model)
{
    size_t n_sv = hinge_model_n_sv(model), n_coef = hinge_model_n_classes(model) - 1;
    const size_t *index = hinge_model_sv_index(model);
    const double *coef = hinge_model_coef(model);
    double *rows = job_allocate(n_sv * (1 + n_coef), sizeof *rows), *row = rows;
    for (size_t i = 0; i < n_sv; i++) {
        *row++ = (double)index[i];
        for (size_t m = 0; m < n_coef; m++)
            *row++ = coef[m * n_sv + i];
    }
    job_save_model(job, n_sv, n_coef, rows);
    free(rows);
}

/* A training of 40 made-up rows, so that the threads are there, as peers.py does for its contestants. */
static void start_up(const hinge_params *params)
{
    double x[40], y[40];
    for (int i = 0; i < 40; i++) {
        x[i] = i * 7 % 11;
        y[i] = i % 2 ? 1 : -1;
    }
    hinge_matrix rows = hinge_matrix_f64(x, 40, 1);
    hinge_model *model = NULL;
    hinge_error err;
    if (hinge_train(&model, &rows, y, params, NULL, &err) != HINGE_OK)
        job_fail("hinge_train", err.text);
    hinge_model_free(model);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "about") == 0) {
        about();
        return 0;
    }
    struct job job = job_read(argc, argv);
    double *x = job_load_part(&job, "x_train.f64", job.n * job.d), *y = job_load_part(&job, "y_train.f64", job.n);
    double *x_test = job_load_part(&job, "x_test.f64", job.n_test * job.d);
    double *predicted = job_allocate(job.n_test, sizeof *predicted);
    hinge_matrix train = hinge_matrix_f64(x, job.n, job.d), test = hinge_matrix_f64(x_test, job.n_test, job.d);
    hinge_params params = params_of(&job);
    hinge_predict_options options = { .threads = job.threads };
    hinge_model *model = NULL;
    hinge_report report;
    hinge_error err;
    start_up(&params);

    job_start(&job);
    if (job.teams)
        teams_start();
    for (int k = 0; k < job.times; k++) {
        hinge_model_free(model);
        if (hinge_train(&model, &train, y, &params, &report, &err) != HINGE_OK)
            job_fail("hinge_train", err.text);
    }
    job_stop("train");
    if (job.teams)
        teams_stop();
    job_start(&job);
    if (hinge_predict(model, &test, &options, predicted, NULL, &err) != HINGE_OK)
        job_fail("hinge_predict", err.text);
    job_stop("predict");
    job_print_memory();

    print_report(&report);
    save_model(&job, model);
    job_save_predicted(&job, predicted);
    hinge_model_free(model);
    free(predicted);
    free(x_test);
    free(y);
    free(x);
    return 0;
}

/*
 * What cross-validation, calibration and leave-one-out share (folds.h, which is to be read before): trainings that
 * belong together, and predictions of the rows held out. A job is one training: hg_jobs_run runs all of them, each
 * calls hg_jobs_hold_out, and that trains and predicts here, or has others (ranks of MPI) do it.
 */
#include "lib/folds/folds.h"
#include "lib/base/team.h"
#include "lib/rows/peers.h"

#include <math.h>
#include <string.h>

/* ---- trainings that belong together ---------------------------------------------------------------------- */

/* Counts the jobs of this process. */
static size_t own_jobs(const struct hg_jobs *jobs)
{
    const struct hg_peers *peers = jobs->peers;
    return peers == NULL                ? jobs->n_jobs
           : peers->rank < jobs->n_jobs ? (jobs->n_jobs - peers->rank - 1) / peers->count + 1
                                        : 0;
}

/* Returns the budget of each job's kernel rows; 0: that of any training. */
static size_t budget_of(const struct hg_jobs *jobs)
{
    return jobs->params.cache_bytes > 0 || jobs->peers == NULL ? jobs->params.cache_bytes : jobs->peers->memory;
}

/* Says whether jobs run side by side: where `threads` of the largest problems fit the cache budget whole, and hardly a
 * thread would have nothing to do: of jobs of 2,048 examples and more, the last round must not leave more than a
 * quarter of all threads' turns empty. Jobs of other ranks go in turn. */
static bool side_by_side(const struct hg_jobs *jobs, int threads)
{
    size_t n = jobs->largest + 64, t = (size_t)threads, bytes;
    size_t budget = budget_of(jobs) > 0 ? budget_of(jobs) : hg_total_memory() / 2, own = own_jobs(jobs);
    size_t rounds = (own + t - 1) / t;
    if (threads < 2 || own < 2 || jobs->others != NULL)
        return false;
    if (!hg_mul(n, n * sizeof(double), &bytes) || !hg_mul(bytes, t, &bytes) || bytes > budget)
        return false;
    return jobs->largest < 2048 || 4 * own >= 3 * rounds * t;
}

static hinge_status run_own(void *arg, int thread, size_t k, int threads, hinge_error *err)
{
    const struct hg_jobs *jobs = arg;
    size_t number = jobs->peers != NULL ? k * jobs->peers->count + jobs->peers->rank : k;
    return jobs->job(jobs->arg, thread, number, threads, err);
}

hinge_status hg_jobs_run(struct hg_jobs *jobs, bool *by_side, hinge_error *err)
{
    int threads = hg_threads(jobs->params.threads);
    bool together = side_by_side(jobs, threads);
    pthread_mutex_init(&jobs->lock, NULL);
    hinge_status status = hg_each(own_jobs(jobs), together, threads, run_own, jobs, err);
    pthread_mutex_destroy(&jobs->lock);
    if (by_side != NULL)
        *by_side = together;
    return status;
}

hinge_status hg_jobs_collect(struct hg_jobs *jobs, hinge_status status, const void *mine, size_t bytes, void **all,
                             size_t *total, const hinge_error *err)
{
    struct hg_peers *peers = jobs->peers;
    uint64_t none = 0;
    if (status != HINGE_OK && err != NULL && peers->failed == HINGE_OK)
        peers->err = *err;
    HG_TRY(peers->bring(peers, status, NULL, &none, NULL, 0, 1));
    return peers->collect(peers, mine, bytes, all, total);
}

/* Looks at the clock and the flag, no more: it may be asked by any thread. */
hinge_outcome hg_jobs_ended(const struct hg_jobs *jobs)
{
    if (__atomic_load_n(&jobs->stopped, __ATOMIC_RELAXED))
        return HINGE_STOPPED;
    bool late = jobs->params.time_limit > 0 && hg_now() - jobs->begin >= jobs->params.time_limit;
    return late ? HINGE_TIME_LIMIT : HINGE_CONVERGED;
}

/* Is what the progress callback of one job's training is called with. */
struct ticket {
    size_t number, n_jobs;
    struct hg_teller teller;
};

/* Tells the caller's callback of all jobs as one work: problems are counted over all of them, seconds from the jobs'
 * begin. A stop of one is a stop of all. */
static int on_progress(void *arg, const hinge_progress *progress)
{
    struct ticket *ticket = arg;
    hinge_progress p = *progress;
    p.problem += ticket->number * p.n_problems;
    p.n_problems *= ticket->n_jobs;
    return hg_tell(&ticket->teller, &p);
}

/* Trains on all rows with a weight of 0 for those that are held out: no row is copied, and points are the rows of
 * weight above 0. */
static hinge_status train_by_weights(const struct hg_jobs *jobs, struct hg_job *job, hinge_params *p,
                                     hinge_model **model, hinge_error *err)
{
    double *weights;
    HG_TRY(HG_MAKE(err, "the weights of rows", HG_ZEROS(weights, jobs->x->rows)));
    for (size_t i = 0; i < job->n_train; i++)
        weights[job->train[i]] = p->weights != NULL ? p->weights[job->train[i]] : 1;
    p->weights = weights;
    hinge_status status = hinge_train(model, jobs->x, job->y, p, &job->report, err);
    hg_free(weights);
    return status;
}

/* Trains on a copy of the job's rows, as a training on them alone would; train_by_weights leaves the others where they
 * are, and gives them a weight of 0. */
static hinge_status train_on_copy(const struct hg_jobs *jobs, struct hg_job *job, hinge_params *p, hinge_model **model,
                                  hinge_error *err)
{
    hinge_matrix x = *jobs->x;
    size_t n = job->n_train, *index;
    char *data;
    double *y, *weights;
    HG_TRY(HG_MAKE(err, "a copy of rows to train on", HG_TABLE(data, n, x.cols * hg_size_of(x.type)), HG_ARRAY(y, n),
                   HG_ARRAY(weights, n), HG_ARRAY(index, n)));
    hg_gather_rows(jobs->x, job->train, n, data);
    for (size_t i = 0; i < n; i++) {
        uint32_t row = job->train[i];
        y[i] = job->y != NULL ? job->y[row] : 0;
        weights[i] = p->weights != NULL ? p->weights[row] : 1;
        index[i] = p->precomputed_index != NULL ? p->precomputed_index[row] : row;
    }
    x = (hinge_matrix){ data, x.type, n, x.cols, x.cols };
    p->weights = weights;
    p->precomputed_index = p->kernel.type == HINGE_PRECOMPUTED ? index : NULL;
    p->beta0 = p->positive_class = NULL; /* its rows are not those of x, nor need the positive class be there */
    hinge_status status = hinge_train(model, &x, y, p, &job->report, err);
    hg_free(data);
    return status;
}

/* Predicts the rows held out, gathered a chunk of 64 MB at a time; most probable classes where the job's params ask for
 * them. The model's columns are those of x, scaled or not, since a model of a scaled training scales for itself. */
static hinge_status predict_held(const struct hg_jobs *jobs, const struct hg_job *job, const hinge_model *model,
                                 hinge_error *err)
{
    const hinge_predict_options options = { .threads = job->threads, .cpu_level = job->params.cpu_level };
    const hinge_matrix *x = jobs->x;
    bool probable = job->params.probability && hinge_model_has_probability(model);
    size_t bytes = HG_MAX(x->cols * hg_size_of(x->type), (size_t)1), n = job->n_held;
    size_t classes = probable ? hinge_model_n_classes(model) : 0, problems = hinge_model_n_problems(model);
    /* 64 MB; long chunks, since each of them may sort the support vectors (lib/predict/nearby.h) */
    size_t chunk = HG_MIN(n, HG_MAX((size_t)256, ((size_t)64 << 20) / (bytes + classes * sizeof(double))));
    char *data;
    double *probability;
    hinge_status status = HINGE_OK;
    HG_TRY(
        HG_MAKE(err, "a copy of rows held out", HG_TABLE(data, chunk, bytes), HG_TABLE(probability, chunk, classes)));
    for (size_t i = 0; i < n && status == HINGE_OK; i += chunk) {
        hinge_matrix part = { data, x->type, HG_MIN(chunk, n - i), x->cols, x->cols };
        double *label = job->labels != NULL ? job->labels + i : NULL;
        double *decision = job->decisions != NULL ? job->decisions + i * problems : NULL;
        hg_gather_rows(x, job->held + i, part.rows, data);
        if (probable)
            status = hinge_predict_probability(model, &part, &options, label, probability, err);
        else
            status = hinge_predict(model, &part, &options, label, decision, err);
    }
    hg_free(data);
    return status;
}

/* Trains unless the job has a model, and predicts unless the training was ended early, as such a model tells
 * nothing. */
static hinge_status hold_out(const struct hg_jobs *jobs, struct hg_job *job, hinge_params *p, hinge_model **model,
                             hinge_error *err)
{
    if (*model == NULL)
        HG_TRY((job->copy ? train_on_copy : train_by_weights)(jobs, job, p, model, err));
    return hg_ended_early(job->report.outcome) ? HINGE_OK : predict_held(jobs, job, *model, err);
}

/* Gives the training what is left of the jobs' time limit, and a ticket in place of the caller's callback. A job that
 * begins after the end does nothing but say so in its report. */
static hinge_status run_job(struct hg_jobs *jobs, struct hg_job *job, hinge_error *err)
{
    const hinge_params *all = &jobs->params;
    struct ticket ticket = { job->number,
                             jobs->n_jobs,
                             { all->progress, all->progress_arg, jobs->begin, jobs->begin, &jobs->stopped,
                               &jobs->lock } };
    hinge_params p = job->params;
    hinge_model *model = job->model;
    if (model == NULL)
        job->report.outcome = hg_jobs_ended(jobs);
    if (job->report.outcome != HINGE_CONVERGED)
        return HINGE_OK;
    p.threads = job->threads;
    p.cache_bytes = budget_of(jobs);
    if (p.time_limit > 0) /* what is left of it */
        p.time_limit = fmax(p.time_limit - (hg_now() - jobs->begin), 1e-9);
    if (p.progress != NULL) {
        p.progress = on_progress;
        p.progress_arg = &ticket;
    }
    hinge_status status = jobs->others != NULL ? jobs->others->hold_out(jobs->others, job, &p, &model, err)
                                               : hold_out(jobs, job, &p, &model, err);
    if (job->report.outcome == HINGE_STOPPED) /* by any of the others */
        __atomic_store_n(&jobs->stopped, 1, __ATOMIC_RELAXED);
    if (status == HINGE_OK)
        job->first = hinge_model_labels(model) != NULL ? hinge_model_labels(model)[0] : NAN;
    if (job->model == NULL)
        hinge_model_free(model);
    return status;
}

/* Lists the rows of one fold and of the others, in the order of the split, and brings what is predicted back there. */
hinge_status hg_jobs_hold_out(struct hg_jobs *jobs, struct hg_job *job, const struct hg_split *split, size_t fold,
                              bool labels, double *out, hinge_error *err)
{
    uint32_t *train, *held;
    double *told;
    HG_TRY(HG_MAKE(err, "the rows of a fold", HG_ARRAY(train, split->n), HG_ARRAY(held, split->n),
                   HG_ARRAY(told, split->n)));
    for (size_t i = 0; i < split->n; i++) {
        uint32_t row = split->row != NULL ? split->row[i] : (uint32_t)i;
        if (split->fold[i] == fold) {
            held[job->n_held++] = row;
            job->copy = job->copy || (split->alone != NULL && split->alone[row]);
        } else if (split->used == NULL || split->used[row])
            train[job->n_train++] = row;
    }
    job->train = train;
    job->held = held;
    *(labels ? &job->labels : &job->decisions) = told;
    hinge_status status = job->n_held > 0 ? run_job(jobs, job, err) : HINGE_OK;
    for (size_t i = 0; i < split->n && status == HINGE_OK && !hg_ended_early(job->report.outcome); i++)
        if (split->fold[i] == fold)
            out[i] = *told++;
    hg_free(train);
    return status;
}

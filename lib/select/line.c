/*
 * A line: points that differ in C or nu alone. Each fold's problem starts from what it had at the point before, scaled
 * to the new box and mended to be feasible, and all folds of a point are solved side by side. Read select.h and
 * solver/smo/many.h before. In order: parts, their starts, predictions from their gradients, the folds of a point.
 *
 * Folds take a quarter of the steps of separate trainings to eps = 0.001, by their starts and the coarser eps together;
 * other starts were tried too (doc/tried.md). A test has folds trained from nothing by a grid of one point, and to an
 * eps of its own by options.eps.
 */
#include "lib/folds/folds.h"
#include "lib/base/team.h"
#include "lib/model/model.h"
#include "lib/select/select.h"
#include "lib/train/training.h"

#include <math.h>
#include <string.h>

double hg_select_most_nu(const struct hg_selecting *s, size_t f, double *class_weight)
{
    const int *fold = f != SIZE_MAX ? s->out->fold + hg_repeat_of(s, f) : NULL;
    bool any = s->problem.params.task != HINGE_NU_SVC;
    return any ? 1 : hg_folds_most_nu(&s->problem, (const uint32_t *)fold, f, class_weight);
}

/* ---- parts ------------------------------------------------------------------------------------------------------- */

/* Lists the points that each fold holds out, as ranges: a field's points are sorted so that these are few. */
static hinge_status find_held(struct hg_selecting *s, hinge_error *err)
{
    size_t all = 0;
    HG_TRY(HG_MAKE(err, "the rows of folds", HG_ARRAY(s->held, s->out->repeats * s->rows),
                   HG_ARRAY(s->held_from, s->out->n_folds + 1)));
    for (size_t f = 0; f < s->out->n_folds; f++) {
        const struct hg_problem *pr = &hg_field_of(s, f)->problem;
        const int *fold = s->out->fold + hg_repeat_of(s, f);
        size_t count = 0;
        s->held_from[f] = all;
        for (size_t i = 0; i < pr->data.n; i++)
            if (fold[pr->order[i]] == (int)f)
                count = hg_add_to_ranges(s->held + all, count, i);
        all += count;
    }
    s->held_from[s->out->n_folds] = all;
    return HINGE_OK;
}

/* Makes a part for each fold and two-class problem. Its points are the same for all folds, those held out among them
 * with boxes of width 0; coefficients, gradient and working set are its own. */
hinge_status hg_parts_init(struct hg_selecting *s, hinge_error *err)
{
    const struct hg_problem *pr = &s->field[0].problem;
    size_t count = s->out->n_folds * s->n_problems, all = 0;
    for (size_t p = 0; p < s->n_problems; p++)
        all += hg_problem_size(pr, p);
    HG_TRY(HG_MAKE(err, "the problems of folds", HG_ZEROS(s->part, count), HG_ARRAY(s->subset, all),
                   HG_TABLE(s->values, all, 2 * s->out->n_folds), HG_ARRAY(s->batch, count),
                   HG_ARRAY(s->solving, count)));
    hinge_status status = find_held(s, err);
    double *values = s->values;
    for (size_t f = 0; f < s->out->n_folds; f++)
        for (size_t p = 0, at = 0; p < s->n_problems; p++) {
            struct hg_part *part = &s->part[f * s->n_problems + p];
            if (f == 0)
                hg_problem_points(pr, p, s->subset + at);
            part->n = hg_problem_size(pr, p);
            part->point = s->subset + at;
            part->g = values;
            part->moved = values + part->n;
            values += 2 * part->n;
            at += part->n;
            part->many.range = part->range;
            for (size_t k = 0; k < part->n; k++)
                part->many.n_ranges = hg_add_to_ranges(part->range, part->many.n_ranges, part->point[k]);
            if (status == HINGE_OK) {
                part->many.elsewhere = s->held + s->held_from[f];
                part->many.n_elsewhere = s->held_from[f + 1] - s->held_from[f];
            }
        }
    return status;
}

void hg_parts_forget(struct hg_selecting *s, bool with_lanes)
{
    for (size_t k = 0; s->part != NULL && k < s->out->n_folds * s->n_problems; k++) {
        hg_qp_free(&s->part[k].qp);
        s->part[k].begun = false;
        if (with_lanes)
            hg_many_forget(&hg_part_field(s, &s->part[k])->many, &s->part[k].many);
    }
}

/* ---- starts ------------------------------------------------------------------------------------------------------ */

/* Returns how much larger bounds and sums are than those that the part was solved with. */
static double growth(const struct hg_selecting *s, const struct hg_part *part, double C, double nu)
{
    const hinge_task_row *task = s->problem.task;
    return (task->uses_C ? C / part->C : 1) * (task->uses_nu ? nu / part->nu : 1);
}

/* Says whether larger bounds change nothing: none holds a coefficient. */
static bool is_free(const struct hg_qp *qp)
{
    for (size_t k = 0; k < qp->n; k++) {
        double b = qp->beta[0][k];
        if (b != 0 && (b >= qp->hi[0][k] || b <= qp->lo[0][k]))
            return false;
    }
    return true;
}

/* Returns how much of point k's coefficient is shared with equal points of the other class, by what each side of its
 * equals has: that is a multiple of C, and moves no gradient. */
static double shared_part(const struct hg_part *part, const uint32_t *equal, double (*side)[2], size_t k)
{
    const double *sides = side[equal[part->point[k]]], own = sides[part->qp.beta[0][k] > 0];
    return own > 0 ? HG_MIN(sides[0], sides[1]) / own : 0;
}

/* Fills side[first of equal points][side]; returns the sum of what they share, of both sides. */
static double find_shared(const struct hg_part *part, const uint32_t *equal, double (*side)[2])
{
    double sum = 0;
    for (size_t k = 0; k < part->n; k++)
        side[equal[part->point[k]]][0] = side[equal[part->point[k]]][1] = 0;
    for (size_t k = 0; k < part->n; k++)
        side[equal[part->point[k]]][part->qp.beta[0][k] > 0] += fabs(part->qp.beta[0][k]);
    for (size_t k = 0; k < part->n; k++)
        sum += shared_part(part, equal, side, k) * fabs(part->qp.beta[0][k]);
    return sum;
}

/* Takes the solution so far as a start of the next one's. With t the growth, b the coefficients and g = K b, objectives
 * are compared: b'g / 2 + off'b + kink |b| for b as it is, t^2 b'g / 2 + t (off'b + kink |b|) for t b. Where bounds
 * alone have grown, and the dual objective is no higher then, coefficients stay as they are, but for what examples
 * share that contradict each other; otherwise all grow: at small C most coefficients are at their bound and stay there,
 * at large C few are. */
static hinge_status start_from(const struct hg_selecting *s, const struct hg_problem *pr, struct hg_part *part,
                               struct hg_qp *next, double grown, hinge_error *err)
{
    const struct hg_qp *qp = &part->qp;
    double square = 0, linear = 0, shared = 0, (*side)[2] = NULL;
    bool may_stay = !s->problem.task->uses_nu && grown >= 1;
    if (may_stay && pr->classifies && pr->data.equal != NULL) {
        HG_TRY(HG_MAKE(err, "the start of a fold", HG_ARRAY(side, pr->data.n)));
        shared = find_shared(part, pr->data.equal, side);
    }
    for (size_t k = 0; k < qp->n && may_stay; k++) {
        double b = qp->beta[0][k];
        square += b * part->g[k] / 2;
        linear += b * qp->off[0][k] + qp->kink * fabs(b);
    }
    double stay = square + linear - (grown - 1) * shared, all = grown * (grown * square + linear);
    bool stays = may_stay && (is_free(qp) || stay <= all);
    for (int l = 0; l < qp->layers; l++)
        for (size_t k = 0; k < qp->n; k++) {
            double b = qp->beta[l][k], part_of_it = 0;
            if (!stays)
                part_of_it = 1;
            else if (shared > 0)
                part_of_it = shared_part(part, pr->data.equal, side, k);
            next->beta[l][k] =
                part_of_it == 0 ? b
                                : hg_qp_snap(b + (grown - 1) * part_of_it * b, next->lo[l][k], next->hi[l][k], 1e-10);
        }
    for (size_t k = 0; k < qp->n && !stays; k++)
        part->g[k] *= grown;
    part->many.reach *= stays ? 1 : grown;
    part->many.unseen *= stays ? 1 : grown;
    hg_free(side);
    return HINGE_OK;
}

/* Reaches the sums again (hg_qp_project), and writes into moved what that changed, of which g does not know; false: no
 * feasible point was found. */
static bool make_feasible(struct hg_part *part, struct hg_qp *next, const double *sums)
{
    double size = 0;
    bool moves = false;
    for (size_t k = 0; k < next->n; k++) {
        part->moved[k] = -hg_qp_beta(next, k);
        size = HG_MAX(size, fabs(part->moved[k]));
    }
    bool reached = hg_qp_project(next, sums);
    for (size_t k = 0; k < next->n; k++) {
        part->moved[k] += hg_qp_beta(next, k);
        if (fabs(part->moved[k]) <= 1e-13 * size) /* rounding */
            part->moved[k] = 0;
        moves = moves || part->moved[k] != 0;
    }
    part->many.moved = moves ? part->moved : NULL;
    return reached;
}

/* Begins a problem of a fold at a point: its boxes and sums, and a start from its solution at the last point of the
 * line, scaled as C has grown. moved is what g does not know of yet; of a first problem it is the whole start. */
static hinge_status begin_part(const struct hg_selecting *s, const struct hg_boxes *boxes, struct hg_part *part,
                               size_t p, hinge_error *err)
{
    const struct hg_problem *pr = &hg_part_field(s, part)->problem;
    double *sums = part->sums, C = boxes->params->C, nu = boxes->params->nu;
    bool moves = false;
    struct hg_qp next = { 0 };
    hinge_status status = HINGE_OK;
    HG_TRY(hg_problem_qp(pr, boxes, p, part->point, part->n, &next, sums, err));
    part->many.moved = NULL;
    if (part->begun) {
        status = start_from(s, pr, part, &next, growth(s, part, C, nu), err);
        if (status == HINGE_OK && s->problem.task->uses_nu && !make_feasible(part, &next, sums))
            status = hg_fail(err, HINGE_EINTERNAL, "no feasible start for problem %zu", p);
    }
    if (!part->begun || part->g_is_coarse) {
        memset(part->g, 0, part->n * sizeof *part->g);
        part->many.reach = part->many.unseen = 0;
        for (size_t k = 0; k < part->n; k++) {
            part->moved[k] = hg_qp_beta(&next, k);
            moves = moves || part->moved[k] != 0;
        }
        part->many.moved = moves ? part->moved : NULL;
    }
    hg_qp_free(&part->qp);
    part->qp = next;
    part->begun = true;
    part->g_is_coarse = part->undivided = false;
    part->C = C;
    part->nu = nu;
    part->eps = s->out->eps;
    part->many.qp = &part->qp;
    part->many.g = part->g;
    part->many.report.error = NAN;
    part->many.coarse = false;
    part->many.point = part->point;
    return status;
}

/* Says whether a problem is absent: a class without a row in the training part has none. */
static bool is_absent(const struct hg_problem *pr, const double *class_weight, size_t p)
{
    size_t a, b;
    double rest = 0;
    hg_problem_pair(pr, p, &a, &b);
    if (!pr->classifies)
        return false;
    for (size_t c = 0; c < pr->n_classes; c++)
        rest += c == b || (b == SIZE_MAX && c != a) ? class_weight[c] : 0;
    return !(class_weight[a] > 0 && rest > 0);
}

struct folds { /* that are in work together */
    struct hg_selecting *s;
    size_t first;
};

/* Begins a fold's problems at a point. A fold is a mask of weights over the rows, 0 for rows held out: points, kernel
 * rows and their numbers are the same for all folds. A job of hg_each. */
static hinge_status begin_fold(void *arg, int thread, size_t k, int threads, hinge_error *err)
{
    const struct folds *folds = arg;
    const struct hg_selecting *s = folds->s;
    size_t f = folds->first + k;
    (void)thread;
    (void)threads;
    const struct hg_problem *pr = &hg_field_of(s, f)->problem;
    hinge_params params = pr->params;
    const int *fold = s->out->fold + hg_repeat_of(s, f);
    double *mask, *class_weight;
    hinge_status status = HINGE_OK;
    HG_TRY(HG_MAKE(err, "the weights of rows", HG_ARRAY(mask, pr->data.n), HG_ARRAY(class_weight, pr->n_classes + 1)));
    params.nu = HG_MIN(params.nu, hg_select_most_nu(s, f, class_weight));
    memset(class_weight, 0, (pr->n_classes + 1) * sizeof *class_weight);
    for (size_t i = 0; i < pr->data.n; i++) {
        size_t row = pr->order[i];
        bool trains = s->used[row] && fold[row] != (int)f;
        mask[i] = trains ? pr->weight[i] * (s->given->weights != NULL ? s->given->weights[row] : 1) : 0;
        class_weight[pr->classifies ? s->class_of[row] : 0] += mask[i];
    }
    for (size_t p = 0; p < s->n_problems && status == HINGE_OK; p++) {
        struct hg_part *part = &s->part[f * s->n_problems + p];
        part->absent = is_absent(pr, class_weight, p);
        if (!part->absent)
            status = begin_part(s, &(struct hg_boxes){ &params, mask }, part, p, err);
    }
    hg_free(mask);
    return status;
}

/* Begins the problems of these folds, which become the batch. */
static hinge_status begin_folds(struct hg_selecting *s, size_t first, size_t count, hinge_error *err)
{
    hinge_status status = hg_each(count, true, s->field[0].many.threads, begin_fold, &(struct folds){ s, first }, err);
    s->n_batch = 0;
    for (size_t k = first * s->n_problems; k < (first + count) * s->n_problems; k++)
        if (!s->part[k].absent)
            s->batch[s->n_batch++] = &s->part[k];
    return status;
}

/* ---- predictions ------------------------------------------------------------------------------------------------- */

/* Decides rows by g of a problem, f = (g + bias) factor: at its points, or (elsewhere) at those that its fold holds
 * out. */
void hg_decide_held(const struct hg_selecting *s, const struct hg_part *part, const double *g, bool elsewhere)
{
    const struct hg_many_problem *many = &part->many;
    size_t fold = hg_fold_of(s, part), at = hg_repeat_of(s, fold), problem = (size_t)(part - s->part) % s->n_problems;
    const struct hg_problem *pr = &hg_field_of(s, fold)->problem;
    const struct hg_range *range = elsewhere ? many->elsewhere : many->range;
    const struct hg_range *end = range + (elsewhere ? many->n_elsewhere : many->n_ranges);
    double bias, factor;
    hg_part_bias(pr, part, &bias, &factor);
    for (; range < end; g += range++->count)
        for (size_t k = 0; k < range->count; k++) {
            size_t row = pr->order[range->first + k];
            if (s->out->fold[at + row] == (int)fold)
                s->decisions[(at + row) * s->n_problems + problem] = (g[k] + bias) * factor;
        }
}

/* Decides held-out rows, also those of classes that are not the problem's (hg_many_apply's tell). */
static void decide_all(void *arg, size_t k, const double *g)
{
    const struct hg_selecting *s = arg;
    hg_decide_held(s, s->batch[s->first_of_batch + k], g, true);
}

/* Returns which of k classes of these labels the votes of pairs choose, by the rules of ties that go by labels. vote,
 * sum: [k] for work */
static size_t vote_by_label(size_t k, const double *label, const double *decision, bool by_values, size_t *vote,
                            double *sum)
{
    size_t best = 0;
    memset(vote, 0, k * sizeof *vote);
    memset(sum, 0, k * sizeof *sum);
    for (size_t a = 0; a < k; a++)
        for (size_t b = a + 1; b < k; b++) {
            double value = label[a] < label[b] ? *decision++ : -*decision++; /* > 0: the least of both */
            size_t least = label[a] < label[b] ? a : b, other = a + b - least;
            vote[value > 0 || (by_values && value == 0) ? least : other]++;
            sum[least] += value;
            sum[other] -= value;
        }
    for (size_t c = 1; c < k; c++) {
        bool ties = vote[c] == vote[best], by_sum = ties && by_values && sum[c] != sum[best];
        best = (by_sum ? sum[c] > sum[best] : ties ? label[c] < label[best] : vote[c] > vote[best]) ? c : best;
    }
    return best;
}

hinge_status hg_predict_fold(const struct hg_selecting *s, size_t f, hinge_error *err)
{
    const struct hg_problem *pr = &s->problem;
    size_t at = hg_repeat_of(s, f), k = 0, *vote;
    const int *fold = s->out->fold + at;
    const struct hg_part *part = s->part + f * s->n_problems;
    bool *trained;             /* a class has rows that the fold was trained on; labels [k] of those that have */
    double *label, *own, *sum; /* [k]; decision values of its problems; [k] for work */
    bool by_label = s->options.ties != HINGE_TIES_APPEARANCE && !pr->one_vs_rest;
    HG_TRY(HG_MAKE(err, "the votes of classes", HG_ARRAY(vote, pr->n_classes + 1), HG_ZEROS(trained, pr->n_classes + 1),
                   HG_ARRAY(own, s->n_problems), HG_ARRAY(label, pr->n_classes + 1), HG_ARRAY(sum, pr->n_classes + 1)));
    for (size_t i = 0; i < pr->data.n && pr->classifies; i++)
        if (fold[pr->order[i]] != (int)f && pr->weight[i] > 0)
            trained[s->class_of[pr->order[i]]] = true;
    for (uint32_t c = 0; c < pr->n_classes && pr->classifies; c++)
        if (trained[c])
            label[k++] = pr->labels[c];
    for (size_t i = 0; i < s->rows; i++) {
        const double *decision = s->decisions + (at + i) * s->n_problems;
        if (fold[i] != (int)f)
            continue;
        for (size_t p = 0, there = 0; p < s->n_problems; p++)
            if (!part[p].absent)
                own[there++] = decision[p];
        if (pr->classifies)
            s->predictions[at + i] =
                label[by_label ? vote_by_label(k, label, own, s->options.ties == HINGE_TIES_VALUES, vote, sum)
                               : hg_vote(k, pr->one_vs_rest, own, NULL, vote)];
        else
            s->predictions[at + i] = !pr->task->one_class ? decision[0] : decision[0] > 0 ? 1 : -1;
    }
    hg_free(vote);
    return HINGE_OK;
}

/* A job of hg_each. */
static hinge_status predict_fold(void *arg, int thread, size_t number, int threads, hinge_error *err)
{
    const struct folds *folds = arg;
    (void)thread;
    (void)threads;
    return hg_predict_fold(folds->s, folds->first + number, err);
}

/* Returns the end of the run of problems, from `first`, whose folds share one field. */
static size_t end_of_field(const struct hg_selecting *s, struct hg_part *const *some, size_t first, size_t count)
{
    size_t end = first + 1;
    while (end < count && hg_part_field(s, some[end]) == hg_part_field(s, some[first]))
        end++;
    return end;
}

enum {
    SAMPLE = 32,  /* of held-out rows */
    ONE_VALUE = 4 /* times value_error, the share that counts of many values' errors, is what one may be off by */
};

static double largest_beta(const struct hg_qp *qp)
{
    double largest = 0;
    for (size_t k = 0; k < qp->n; k++)
        largest = HG_MAX(largest, fabs(hg_qp_beta(qp, k)));
    return largest;
}

/* Decides those of some held-out rows of a part anew, by sums in f64, that one value of the kernel may decide by more
 * than eps wrongly, and, where many values may be too coarse, a sample of 32. *wrong: errors of the others, taken for
 * twice as large as the sample's, may be more than half of eps. */
static hinge_status look_at_held(const struct hg_selecting *s, const struct hg_part *part, const uint32_t *point,
                                 size_t count, bool *wrong, hinge_error *err)
{
    size_t fold = hg_fold_of(s, part), problem = (size_t)(part - s->part) % s->n_problems, near = 0;
    size_t few = hg_field_doubts(s, part, hg_qp_length(&part->qp), part->eps / 2) ? HG_MIN(count, (size_t)SAMPLE) : 0;
    struct hg_field *field = hg_field_of(s, fold);
    const struct hg_problem *pr = &field->problem;
    double bias, factor, largest = largest_beta(&part->qp), *g;
    uint32_t *look;
    HG_TRY(HG_MAKE(err, "the rows of folds", HG_ARRAY(look, count + few), HG_ARRAY(g, count + few)));
    hg_part_bias(pr, part, &bias, &factor);
    for (size_t k = 0; k < count && field->many.pool.rows->error_near > 0; k++)
        if (largest * field->many.size[point[k]] > part->eps)
            look[near++] = point[k];
    for (size_t k = 0; k < few; k++)
        look[near + k] = point[k * count / few];
    hinge_status status = near + few > 0 ? hg_field_exact(field, part, look, near + few, g, err) : HINGE_OK;
    for (size_t k = 0; k < near + few && status == HINGE_OK; k++) {
        double *told = &s->decisions[(hg_repeat_of(s, fold) + pr->order[look[k]]) * s->n_problems + problem];
        double value = (g[k] + bias) * factor;
        *wrong = *wrong || (k >= near && !(4 * fabs(*told - value) <= part->eps * factor));
        *told = value;
    }
    hg_free(look);
    return status;
}

/* Decides held-out rows of a part by sums in f64 where those over rows in f32 are too coarse for that. */
static hinge_status decide_again(const struct hg_selecting *s, const struct hg_part *part, hinge_error *err)
{
    const struct hg_many_problem *many = &part->many;
    uint32_t *point;
    double *g;
    size_t count = 0, all = 0;
    bool wrong = false;
    if (!hg_field_doubts(s, part, hg_qp_length(&part->qp), part->eps / 2) &&
        !hg_field_doubts(s, part, ONE_VALUE * largest_beta(&part->qp), part->eps))
        return HINGE_OK;
    for (size_t r = 0; r < many->n_elsewhere; r++)
        all += many->elsewhere[r].count;
    HG_TRY(HG_MAKE(err, "the rows of folds", HG_ARRAY(point, all), HG_ARRAY(g, all)));
    for (size_t r = 0; r < many->n_elsewhere; r++)
        for (uint32_t k = 0; k < many->elsewhere[r].count; k++)
            point[count++] = many->elsewhere[r].first + k;
    hinge_status status = count > 0 ? look_at_held(s, part, point, count, &wrong, err) : HINGE_OK;
    if (status == HINGE_OK && wrong)
        status = hg_field_exact(hg_part_field(s, part), part, point, count, g, err);
    if (status == HINGE_OK && wrong)
        hg_decide_held(s, part, g, true);
    hg_free(point);
    return status;
}

/* Makes decision values of rows held out. Where each problem has all rows of its fold as points, g is there already;
 * pairs have to look at rows of other classes, field by field, as each has its own kernel rows. */
static hinge_status predict(struct hg_selecting *s, size_t first, size_t count, hinge_error *err)
{
    bool elsewhere = s->n_problems > 1 && !s->problem.one_vs_rest;
    hinge_status status = HINGE_OK;
    for (size_t b = 0; b < s->n_batch && !elsewhere; b++)
        hg_decide_held(s, s->batch[b], s->batch[b]->g, false);
    for (size_t b = 0, end; b < s->n_batch && status == HINGE_OK && elsewhere; b = end) {
        end = end_of_field(s, s->batch, b, s->n_batch);
        s->first_of_batch = b;
        status = hg_many_apply(&hg_part_field(s, s->batch[b])->many, s->solving + b, end - b, decide_all, s, err);
    }
    for (size_t b = 0; b < s->n_batch && status == HINGE_OK && elsewhere; b++)
        status = decide_again(s, s->batch[b], err);
    if (status == HINGE_OK)
        status = hg_each(count, true, s->field[0].many.threads, predict_fold, &(struct folds){ s, first }, err);
    return status;
}

/* ---- folds of a point -------------------------------------------------------------------------------------------- */

/* Solves some parts field by field, as each field has rows of its own. What moved is in g afterwards. */
hinge_status hg_solve_some(struct hg_selecting *s, struct hg_part *const *some, size_t count, uint64_t most,
                           hinge_error *err)
{
    hinge_status status = HINGE_OK;
    for (size_t k = 0; k < count; k++)
        s->solving[k] = &some[k]->many;
    for (size_t first = 0, end; first < count && status == HINGE_OK; first = end) {
        struct hg_field *field = hg_part_field(s, some[first]);
        end = end_of_field(s, some, first, count);
        status = hg_many_solve(&field->many, s->solving + first, end - first, some[0]->eps, most, &s->halt, err);
    }
    for (size_t k = 0; k < count; k++) {
        some[k]->steps += some[k]->many.report.iterations;
        some[k]->many.before = some[k]->steps;
        some[k]->work += some[k]->many.work;
        some[k]->many.moved = NULL;
    }
    return status;
}

/* Solves the batch to some eps by SMO, then by what else may finish it. */
hinge_status hg_solve_to(struct hg_selecting *s, double eps, hinge_error *err)
{
    hinge_status status = HINGE_OK;
    for (size_t b = 0; b < s->n_batch; b++) {
        s->batch[b]->eps = eps;
        s->batch[b]->trace_error = INFINITY;
    }
    if (!hg_select_asks_inside(s))
        status = hg_solve_some(s, s->batch, s->n_batch, hg_select_steps(s), err);
    HG_THEN(status, hg_select_finish(s, err));
    return status;
}

/* Solves the batch, and adds up what it took and how it ended. */
static hinge_status solve_batch(struct hg_selecting *s, hinge_grid_point *point, hinge_error *err)
{
    for (size_t b = 0; b < s->n_batch; b++) {
        s->batch[b]->steps = s->batch[b]->many.before = 0;
        s->batch[b]->work = 0;
    }
    hinge_status status = hg_look_ahead(s, err);
    HG_THEN(status, hg_solve_to(s, s->out->eps, err));
    HG_THEN(status, hg_refine(s, err));
    for (size_t b = 0; b < s->n_batch && status == HINGE_OK; b++) {
        const struct hg_part *solved = s->batch[b];
        s->solving[b] = &s->batch[b]->many;
        point->outcome = hg_worse_outcome(point->outcome, solved->many.report.outcome);
        point->iterations += solved->steps;
        s->out->iterations += solved->steps;
        s->out->trainings++;
    }
    return status;
}

/* Looks whether rows in f32 are too coarse for some of the coefficients. If they are, *again is set and the kernel is
 * opened again with rows in f64; the caller solves these folds again by them, with gradients made anew. A look that
 * comes before the folds are solved, at their starts, spares regression at a large C most of its time (doc/tried.md).
 * With HINGE_PRECISION_F32 rows stay as they are, and gradients alone are made anew. */
static hinge_status widen(struct hg_selecting *s, hinge_grid_point *point, bool *again, hinge_error *err)
{
    hinge_status status = HINGE_OK;
    *again = false;
    for (size_t b = 0; b < s->n_batch && status == HINGE_OK; b++) {
        bool widens;
        status = hg_field_looks(s, s->batch[b], &widens, err);
        *again = *again || widens;
    }
    if (status != HINGE_OK || !*again)
        return status;
    for (size_t k = 0; k < s->out->n_folds * s->n_problems; k++) {
        hg_many_forget(&hg_part_field(s, &s->part[k])->many, &s->part[k].many);
        s->part[k].g_is_coarse = true;
    }
    return hg_fields_take(s, point, true, err);
}

/* Trains folds of a point: starts, SMO side by side and what ends it, once more by rows in f64 where those in f32 show,
 * what has stalled by itself, predictions. A run that is ended early predicts nothing. */
hinge_status hg_train_folds(struct hg_selecting *s, hinge_grid_point *point, size_t first, size_t count,
                            hinge_error *err)
{
    hinge_status status = HINGE_OK;
    hinge_outcome before = point->outcome;
    bool again = true;
    for (size_t f = 0; f < s->n_fields; f++)
        hg_point_take(point, &s->field[f].problem.params);
    while (again && status == HINGE_OK && !hg_ended_early(point->outcome)) {
        status = begin_folds(s, first, count, err);
        HG_THEN(status, widen(s, point, &again, err)); /* by what the starts have: it will not be less */
        if (status == HINGE_OK && again)
            continue;
        HG_THEN(status, solve_batch(s, point, err));
        HG_THEN(status, widen(s, point, &again, err));
        if (again && !hg_ended_early(point->outcome))
            point->outcome = before;
    }
    if (status == HINGE_OK && !hg_ended_early(point->outcome))
        status = hg_select_alone(s, point, before, err);
    HG_THEN(status, hg_select_margins(s, point, err));
    if (status == HINGE_OK && !hg_ended_early(point->outcome))
        status = predict(s, first, count, err);
    return status;
}

/*
 * Folds: the caller's own, or rows dealt at random, so that each fold gets its share of each class, and rows of a group
 * stay together. Read select.h before. In out->fold a row has the number of the fold that holds it out, -1 where none
 * does; the folds of repeat r have the numbers r folds, r folds + 1, ... What is drawn depends on params.seed alone.
 */
#include "lib/folds/folds.h"
#include "lib/select/select.h"

#include <stdlib.h>
#include <string.h>

/* ---- the caller's folds ------------------------------------------------------------------------------------------ */

/* Takes the caller's folds, as many as the highest number says. */
static hinge_status take_folds(struct hg_selecting *s, hinge_error *err)
{
    const int *fold = s->options.fold;
    int most = -1;
    for (size_t i = 0; i < s->rows; i++) {
        if (fold[i] < -1 || (fold[i] >= 0 && (size_t)fold[i] >= s->rows))
            return hg_fail(err, HINGE_EINVAL, "fold: row %zu is in fold %d; of %zu rows, folds are -1 .. %zu", i,
                           fold[i], s->rows, s->rows - 1);
        most = HG_MAX(most, fold[i]);
    }
    if (most < 0)
        return hg_fail(err, HINGE_EINVAL, "fold: no row is ever held out");
    s->folds = (size_t)most + 1;
    memcpy(s->out->fold, fold, s->rows * sizeof *fold);
    return HINGE_OK;
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

struct group {
    size_t first, size; /* among the rows in the order of groups; how many they are */
    uint64_t lot;
};

/* Large groups first, equal ones by lot. */
static int by_size(const void *a, const void *b)
{
    const struct group *p = a, *q = b;
    if (p->size != q->size)
        return p->size > q->size ? -1 : 1;
    return p->lot < q->lot ? -1 : p->lot > q->lot;
}

/* Deals groups, the largest first, each to the fold that has fewest rows so far: the greedy rule by which folds end
 * about as large as groups allow (Graham 1969). Rows of a group are found by sorting them by group. */
static hinge_status deal_groups(struct hg_selecting *s, uint64_t *state, int *fold, hinge_error *err)
{
    struct hg_numbered *row; /* by group */
    struct group *group;
    size_t *filled, groups = 0;
    HG_TRY(HG_MAKE(err, "the groups of rows", HG_ARRAY(row, s->rows), HG_ARRAY(group, s->rows),
                   HG_ZEROS(filled, s->folds)));
    for (size_t i = 0; i < s->rows; i++)
        row[i] = (struct hg_numbered){ s->options.group[i], (uint32_t)i };
    qsort(row, s->rows, sizeof *row, hg_by_value_and_number);
    for (size_t i = 0; i < s->rows; i++) {
        if (i == 0 || row[i].value != row[i - 1].value)
            group[groups++] = (struct group){ i, 0, hg_random(state) };
        group[groups - 1].size++;
    }
    qsort(group, groups, sizeof *group, by_size);
    for (size_t g = 0; g < groups; g++) {
        size_t least = 0;
        for (size_t f = 1; f < s->folds; f++)
            least = filled[f] < filled[least] ? f : least;
        filled[least] += group[g].size;
        for (size_t i = group[g].first; i < group[g].first + group[g].size; i++)
            fold[row[i].number] = (int)least;
    }
    hg_free(row);
    return groups >= s->folds
               ? HINGE_OK
               : hg_fail(err, HINGE_EINVAL, "group: %zu groups cannot be dealt to %zu folds", groups, s->folds);
}

/* Checks that each fold leaves rows to train on. fold: of the rows, from 0. */
static hinge_status check_folds(const struct hg_selecting *s, const int *fold, hinge_error *err)
{
    size_t used = 0, full = s->folds, *held;
    HG_TRY(HG_MAKE(err, "the sizes of folds", HG_ZEROS(held, s->folds)));
    for (size_t i = 0; i < s->rows; i++) {
        used += s->used[i];
        if (s->used[i] && fold[i] >= 0)
            held[fold[i]]++;
    }
    for (size_t f = s->folds; f-- > 0;)
        full = held[f] == used ? f : full;
    hg_free(held);
    return full == s->folds
               ? HINGE_OK
               : hg_fail(err, HINGE_EINVAL,
                         "%s: fold %zu holds out all %zu rows of weight > 0, and leaves none to train on",
                         s->options.fold == NULL && s->options.group != NULL ? "group" : "fold", full, used);
}

/* Makes folds for each repeat, one random state for all; the caller's folds are not repeated. */
hinge_status hg_deal(struct hg_selecting *s, hinge_error *err)
{
    const hinge_select_options *o = &s->options;
    size_t repeats = o->fold != NULL || o->repeats == 0 ? 1 : o->repeats;
    uint64_t state = s->params.seed;
    hinge_status status = HINGE_OK;
    s->folds = o->folds > 0 ? o->folds : 5;
    if (o->fold == NULL && (s->folds < 2 || s->folds > s->rows))
        return hg_fail(err, HINGE_EINVAL, "folds: %zu is not in 2 .. %zu rows", s->folds, s->rows);
    if (repeats > 1000)
        return hg_fail(err, HINGE_EINVAL, "repeats: %zu is more than 1000", repeats);
    HG_TRY(HG_MAKE(err, "the folds of rows", HG_TABLE(s->out->fold, repeats, s->rows)));
    for (size_t r = 0; r < repeats && status == HINGE_OK; r++) {
        int *fold = s->out->fold + r * s->rows;
        status = o->fold != NULL    ? take_folds(s, err)
                 : o->group != NULL ? deal_groups(s, &state, fold, err)
                                    : hg_folds_draw(&s->problem, &state, s->folds, (uint32_t *)fold, err);
        HG_THEN(status, check_folds(s, fold, err));
        for (size_t i = 0; i < s->rows && status == HINGE_OK; i++)
            fold[i] += fold[i] >= 0 ? (int)(r * s->folds) : 0;
    }
    s->out->rows = s->rows;
    s->out->repeats = repeats;
    s->out->n_folds = repeats * s->folds;
    return status;
}

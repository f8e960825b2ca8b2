/* How a model was trained, as far as it tells: see recall.h. */
#include <math.h>

#include "recall.h"

/* The coefficients of a class, or of all where there are none, divided by their weights: several that are equal, and
 * larger than all others, are at C. */
struct pile {
    double value; /* of the largest */
    size_t count;
};

enum { ALL = -1 }; /* classes */

static double weight_of_class(const hinge_params *p, double label)
{
    double weight = 1;
    for (size_t k = 0; k < p->n_class_weights; k++)
        if (p->class_labels[k] == label)
            weight *= p->class_weights[k];
    return weight;
}

static struct pile find_pile(const hinge_model *model, const hinge_params *p, int group)
{
    const size_t *index = hinge_model_sv_index(model), *class_sv = hinge_model_class_sv(model);
    size_t n_sv = hinge_model_n_sv(model), rows = 1;
    struct pile pile = { 0 };
    int class = 0;
    if (class_sv)
        rows = hinge_model_n_classes(model) - (hinge_model_multiclass(model) != HINGE_ONE_VS_REST);
    for (size_t sv = 0, end = class_sv ? class_sv[0] : n_sv; sv < n_sv; sv++) {
        while (sv == end)
            end += class_sv[++class];
        if (group != ALL && class != group)
            continue;
        double weight = p->weights ? p->weights[index[sv]] : 1;
        weight *= class_sv ? weight_of_class(p, hinge_model_labels(model)[class]) : 1;
        for (size_t row = 0; row < rows; row++) {
            double value = weight > 0 ? fabs(hinge_model_coef(model)[row * n_sv + sv]) / weight : 0;
            if (value > pile.value * (1 + 1e-12))
                pile = (struct pile){ value, 1 };
            else if (value > 0 && value >= pile.value * (1 - 1e-12))
                pile.count++;
        }
    }
    return pile;
}

const char *recall_params(const hinge_model *model, hinge_params *p, struct recall *recall)
{
    const hinge_task_row *task = hinge_task_info(p->task);
    hinge_params trained = *p;
    int weighted;
    if (hinge_model_training(model, &trained, &weighted)) {
        if (weighted && !p->weights)
            return "it was trained with weights of examples: give --weights";
        p->C = p->C > 0 ? p->C : trained.C;
        p->nu = p->nu > 0 ? p->nu : trained.nu;
        p->p = isnan(p->p) ? trained.p : p->p;
        p->no_bias |= trained.no_bias;
        if (p->n_class_weights == 0) {
            p->n_class_weights = trained.n_class_weights;
            p->class_labels = trained.class_labels;
            p->class_weights = trained.class_weights;
        }
    }
    if (p->task == HINGE_C_SVC && !(p->C > 0)) {
        struct pile pile = find_pile(model, p, ALL);
        if (pile.count < 2)
            return "a model file does not hold C, and no two coefficients are at a common bound: give -c";
        p->C = pile.value;
        recall->C_of_coefficients = 1;
    }
    if ((!task->uses_C || p->C > 0) && (!task->uses_nu || p->nu > 0) && (!task->uses_p || !isnan(p->p)))
        return NULL;
    return task->uses_p    ? "a model file does not hold C and the tube: give -c and -p"
           : !task->uses_C ? "a model file does not hold nu: give -n"
           : task->uses_nu ? "a model file does not hold C and nu: give -c and -n"
                           : "a model file does not hold C: give -c";
}

/* Coefficients above their bounds, or a pile of them below although the conditions of optimality do not hold. */
static void check_C(const hinge_model *model, const hinge_params *p, double slackness, struct recall *recall)
{
    double highest = find_pile(model, p, ALL).value;
    if (highest > p->C * (1 + 1e-6)) {
        snprintf(recall->misfit, sizeof recall->misfit,
                 "coefficients reach %.10g, above C = %.10g: it was trained with another C, or with weights", highest,
                 p->C);
        return;
    }
    int groups = hinge_model_class_sv(model) ? (int)hinge_model_n_classes(model) : 1;
    for (int g = 0; g < groups && slackness > 0.02; g++) {
        struct pile pile = find_pile(model, p, g);
        char of[300] = "", room[LABEL_ROOM];
        if (pile.count < 2 || pile.value > p->C * (1 - 1e-6))
            continue;
        if (hinge_model_class_sv(model))
            snprintf(of, sizeof of, " of class %s",
                     label_text(hinge_model_words(model), hinge_model_labels(model)[g], 10, room));
        snprintf(recall->misfit, sizeof recall->misfit,
                 "%zu coefficients%s are at %.10g, below C = %.10g, though their slack is not 0: %s", pile.count, of,
                 pile.value, p->C,
                 pile.value < highest * (1 - 1e-6) ? "give the weights it was trained with, -w or --weights"
                                                   : "it was trained with another C, or with weights");
        return;
    }
}

void recall_check(const hinge_model *model, const hinge_params *p, const hinge_certificate *c, struct recall *recall)
{
    enum { SIZE = sizeof recall->misfit };
    if (hinge_task_info(p->task)->uses_C && !hinge_task_info(p->task)->uses_tau) /* whose bounds are shares of C */
        check_C(model, p, c->slackness, recall);
    if (recall->misfit[0])
        return;
    if (c->box_residual > 1e-6)
        snprintf(recall->misfit, SIZE, "coefficients are outside their bounds by %.3g of C: it was trained with other "
                 "parameters or weights", c->box_residual);
    else if (c->sum_residual > 1e-6)
        snprintf(recall->misfit, SIZE, "the sum of the coefficients is off by %.3g: it was trained with other "
                 "parameters or weights", c->sum_residual);
    else if (c->slackness > 0.1)
        snprintf(recall->misfit, SIZE, "the conditions of optimality do not hold (slackness %.3g): it was trained with "
                 "other parameters or weights, or the training was ended early", c->slackness);
}

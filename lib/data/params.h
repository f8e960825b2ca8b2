/*
 * Checks of what a caller hands over, and what parameters ask of the choice of a solver. Every failure names the field,
 * its value and what is allowed. Read include/hinge/hinge.h before.
 */
#ifndef HG_PARAMS_H
#define HG_PARAMS_H

#include "lib/base/base.h"

/* Checks shape, stride and type; name is what the message calls the matrix. */
hinge_status hg_matrix_check(const hinge_matrix *x, const char *name, hinge_error *err);
/* Checks that all values are finite. */
hinge_status hg_matrix_check_finite(const hinge_matrix *x, const char *name, int threads, hinge_error *err);
/* Checks that all of v[n] are finite; what: "w: weight", which stands before the number of the one that is not. */
hinge_status hg_check_finite(const double *v, size_t n, const char *what, hinge_error *err);
/* Checks every field that the task uses; *resolved gets the defaults filled in. n rows, d features. */
hinge_status hg_params_check(const hinge_params *params, size_t n, size_t d, hinge_params *resolved, hinge_error *err);

/* Returns the threads of a team for so many trainings, or for something else that makes kernel values of all pairs of
 * rows; what is not valid is refused by the call itself. */
int hg_params_team(const hinge_params *params, const hinge_matrix *x, const double *y, size_t trainings);
/* Checks the options of predictions: threads, precision, cpu_level, maker. */
hinge_status hg_options_check(const hinge_predict_options *options, hinge_error *err);

/* Says whether parameters ask for what SMO has not: the hard margin, or a factor of a given rank. */
bool hg_params_need_interior(const hinge_params *params);

/* Says whether parameters ask for nothing that SMO alone has: the interior point may go on for it. */
bool hg_params_leave_solver(const hinge_params *params);

/* Says whether the margin is hard: C-SVC without a bound. Infinity has a meaning there. */
bool hg_params_hard(const hinge_params *params);

/* Says whether the tube is hard: epsilon-SVR whose C, resolved, stands for infinity. A coefficient that comes to it
 * tells that nothing keeps to the tube. */
#define HG_HARD_TUBE 1e10
bool hg_params_hard_tube(const hinge_params *params);

/* Counts the two-class problems of so many classes: each against the rest where that is asked for and there are more
 * than two. */
size_t hg_count_problems(hinge_multiclass multiclass, size_t n_classes);

#endif

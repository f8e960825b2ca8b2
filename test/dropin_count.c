/*
 * A program for Debian's LIBSVM 3.24, in its struct layout, that knows whether hinge ran: trains one model, and
 * prints how many trainings the library counts. The real libsvm.so.3 has no such counter, and the program would
 * not start.
 */
#define HINGE_LIBSVM_324
#include <hinge/compat/svm.h>

#include <stddef.h>
#include <stdio.h>

int main(void)
{
    struct svm_node nodes[] = { { 1, 1 }, { -1, 0 }, { 1, -1 }, { -1, 0 } }, *x[] = { nodes, nodes + 2 };
    double y[] = { 1, -1 };
    struct svm_problem prob = { 2, y, x };
    struct svm_parameter p = { C_SVC, LINEAR, 3, 0, 0, 100, 1e-3, 1, 0, NULL, NULL, 0.5, 0.1, 1, 0 };
    if (sizeof(void *) == 8 && (sizeof(struct svm_model) != 184 || offsetof(struct svm_model, sv_indices) != 152))
        return 2;
    struct svm_model *m = svm_train(&prob, &p);
    if (m == NULL || m->l != 2 || m->sv_indices[1] != 2 || m->label[0] != 1 || m->free_sv != 0 ||
        svm_predict(m, x[0]) != 1 || svm_predict(m, x[1]) != -1 || libsvm_version != 324)
        return 1;
    svm_free_and_destroy_model(&m);
    printf("%lu\n", hinge_svm_train_count());
    return hinge_svm_train_count() == 1 ? 0 : 3;
}

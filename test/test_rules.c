/*
 * The rules by which all runs of SMO are judged (solver/smo/judge.c), on runs that are made up: a list of violations,
 * and what each verb answers. What must come out is known by hand.
 */
#include "test/tests.h"
#include "solver/smo/rules.h"
#include "solver/turns.h"

struct made {
    struct hg_course course;
    hinge_report report;
    hinge_outcome halt;
    bool known, enough, proves;
    uint64_t patience;
    double error, corrected; /* what prove finds; the violation after a correction */
    double fall;             /* of the objective at each look back, */
    double rescued;          /* and at the last resort */
    double work;
    int proofs, looks, resorts;
};

static hinge_outcome halt(const void *run)
{
    return ((const struct made *)run)->halt;
}

static bool has_worked_enough(const void *run)
{
    return ((const struct made *)run)->enough;
}

static double work(const void *run)
{
    return ((const struct made *)run)->work;
}

static uint64_t patience(const void *run)
{
    return ((const struct made *)run)->patience;
}

/* Patience as runs have it, where a look back is work of 1. */
static uint64_t patience_by_work(const void *run)
{
    const struct made *m = run;
    return hg_patience(false, 1000, 100, m->work - m->course.best_work, 1);
}

static bool is_known(const void *run)
{
    return ((const struct made *)run)->known;
}

static hinge_status prove(void *run, bool *proven)
{
    struct made *m = run;
    m->proofs++;
    m->report.error = m->error;
    *proven = m->proves;
    return HINGE_OK;
}

static hinge_status correct(void *run)
{
    struct made *m = run;
    m->report.corrections++;
    m->report.violation = m->corrected;
    return HINGE_OK;
}

static hinge_status recompute(void *run)
{
    struct made *m = run;
    m->looks++;
    m->course.objective -= m->fall;
    m->course.last_objective = m->course.objective;
    m->course.noise = 0.5 / HG_CERTAIN;
    return HINGE_OK;
}

static hinge_status resort(void *run, bool *tried)
{
    struct made *m = run;
    m->resorts++;
    m->course.best_round = m->report.rounds; /* its steps are none of patience's */
    m->course.objective -= m->rescued;
    *tried = true;
    return HINGE_OK;
}

static const struct hg_verbs own = { .halt = halt,
                                     .has_worked_enough = has_worked_enough,
                                     .work = work,
                                     .patience = patience,
                                     .is_known = is_known,
                                     .prove = prove,
                                     .correct = correct,
                                     .recompute = recompute,
                                     .resort = resort };
static const struct hg_verbs lane = { .halt = halt,
                                      .has_worked_enough = has_worked_enough,
                                      .work = work,
                                      .patience = patience,
                                      .is_known = is_known,
                                      .prove = prove,
                                      .correct = correct };

static void begin(struct made *m, const struct hg_verbs *verbs)
{
    *m = (struct made){ .course = { .verbs = verbs, .run = m, .report = &m->report }, .patience = 5 };
    hg_course_begin(&m->course, 1e-3, 0);
}

/* Makes a round that leaves this violation; true: the run has ended. */
static bool judge(struct made *m, double violation)
{
    m->report.rounds++;
    m->report.violation = violation;
    assert_int_equal(hg_judge(&m->course, NULL), HINGE_OK);
    return m->course.phase == HG_ENDED;
}

TEST(test_a_small_violation_is_proven)
{
    struct made m;
    begin(&m, &own);
    assert_false(judge(&m, 2e-3));
    assert_int_equal(m.proofs, 0);
    m.proves = true;
    assert_true(judge(&m, 9e-4));
    assert_int_equal(m.proofs, 1);
    assert_int_equal(m.report.outcome, HINGE_CONVERGED);
    begin(&m, &lane);
    m.known = true; /* in f64: nothing is to be proven */
    assert_true(judge(&m, 9e-4));
    assert_int_equal(m.proofs, 0);
    assert_int_equal(m.report.outcome, HINGE_CONVERGED);
}

TEST(test_an_error_lowers_the_goal_and_then_corrects)
{
    struct made m;
    begin(&m, &own);
    m.error = 1e-4;
    m.corrected = 5e-2;
    assert_false(judge(&m, 9e-4));
    assert_true(fabs(m.course.target - (1e-3 - HG_ERROR_SHARE * 1e-4)) < 1e-15);
    assert_int_equal(m.report.corrections, 0);
    assert_false(judge(&m, 7e-4)); /* the same goal was tried already */
    assert_int_equal(m.report.corrections, 1);
    assert_false(judge(&m, 7e-4));
    assert_int_equal(m.report.corrections, 2);
    assert_true(judge(&m, 7e-4)); /* no more than HG_MAX_CORRECTIONS */
    assert_int_equal(m.report.outcome, HINGE_STALLED);
    assert_true(m.course.coarse);
}

TEST(test_a_stall_is_told_by_the_objective)
{
    struct made m;
    begin(&m, &own);
    m.fall = 1;
    assert_false(judge(&m, 1));
    for (int round = 0; round < 100; round++)
        assert_false(judge(&m, 1)); /* the objective falls by more than its noise */
    assert_in_range(m.looks, 100 / 6 - 1, 100 / 6 + 1);
    m.fall = 0.1; /* more than the noise, but not certainly so */
    m.rescued = 1;
    for (int round = 0; round < 6; round++)
        assert_false(judge(&m, 1));
    assert_int_equal(m.resorts, 1); /* the last resort gains, once */
    for (int round = 0; round < 100 && !judge(&m, 1); round++)
        ;
    assert_int_equal(m.resorts, 1);
    assert_int_equal(m.report.outcome, HINGE_STALLED);
    assert_true(m.course.coarse);
}

/* A last resort that gains nothing is the end. */
TEST(test_a_resort_in_vain)
{
    struct made m;
    begin(&m, &own);
    m.fall = m.rescued = 0.1;
    for (int round = 0; round < 6; round++)
        assert_false(judge(&m, 1));
    assert_int_equal(m.resorts, 0);
    assert_true(judge(&m, 1));
    assert_int_equal(m.resorts, 1);
    assert_int_equal(m.report.outcome, HINGE_STALLED);
}

/* Rounds that are as much work as a look back are looked at after HG_STALL_WHOLE of them, others after many. */
TEST(test_patience_is_work_too)
{
    for (int dear = 0; dear < 2; dear++) {
        struct hg_verbs verbs = own;
        struct made m;
        verbs.patience = patience_by_work;
        begin(&m, &verbs);
        m.work = 1e6; /* before the best violation: of no account */
        assert_false(judge(&m, 1));
        int rounds = 0;
        for (; m.looks == 0; rounds++) {
            m.work += dear ? 3 : 0.01;
            judge(&m, 1);
        }
        assert_int_equal(rounds, dear ? HG_STALL_WHOLE + 1 : HG_STALL_ROUNDS + 10 + 1);
    }
}

/* Where nothing is computed anew, a fall counts by the rounds' own objective since the last mark. */
TEST(test_a_stall_among_many)
{
    struct made m;
    begin(&m, &lane);
    assert_false(judge(&m, 1));
    for (int round = 0; round < 60; round++) {
        m.course.objective -= 1;
        assert_false(judge(&m, 1));
    }
    int rounds = 0;
    while (!judge(&m, 1))
        rounds++;
    assert_in_range(rounds, 1, 2 * 6);
    assert_int_equal(m.report.outcome, HINGE_STALLED);
    begin(&m, &lane);
    m.enough = true;
    assert_true(judge(&m, 1));
    assert_int_equal(m.report.outcome, HINGE_STALLED);
}

TEST(test_what_ends_a_run_comes_first)
{
    struct made m;
    begin(&m, &own);
    m.halt = HINGE_TIME_LIMIT;
    m.known = true;
    assert_true(judge(&m, 1e-9));
    assert_int_equal(m.report.outcome, HINGE_TIME_LIMIT);
    begin(&m, &own);
    assert_true(judge(&m, NAN));
    assert_int_equal(m.report.outcome, HINGE_NONFINITE);
    begin(&m, &own);
    m.course.max_iter = 10;
    m.report.iterations = 10;
    assert_true(judge(&m, 1));
    assert_int_equal(m.report.outcome, HINGE_MAX_ITER);
    m.known = true; /* solved all the same */
    m.course.phase = HG_NEAR;
    assert_true(judge(&m, 1e-4));
    assert_int_equal(m.report.outcome, HINGE_CONVERGED);
}

/* SMO in its turn: after work 1 a violation of 1 has become `then`, and the objective has halved below 0. */
static double look_at(double eps, double then)
{
    struct hg_turns turns = { .eps = eps, .objective = -1, .look = { 1, -1, 1, 0 } };
    return hg_turns_look(&turns, &(struct hg_way){ .work = 1, .violation = then, .objective = -2 });
}

/* A solver that gains goes on for as much again, but only where eps is in sight: twice the work so far. */
TEST(test_a_turn_goes_on_where_eps_is_in_sight)
{
    assert_true(look_at(0, 1.5) == 2);
    assert_true(look_at(1e-5, 0.021) == 2); /* a third of the way in logarithms */
    assert_true(look_at(1e-5, 0.022) == 0);
    assert_true(look_at(1e-5, 1.5) == 0);
    struct hg_turns turns = { .eps = 1e-4, .objective = -1, .look = { 1, -1, 1, 0 } };
    assert_true(hg_turns_look(&turns, &(struct hg_way){ 1, 1e-2, -2, 0 }) == 2);
    assert_true(hg_turns_look(&turns, &(struct hg_way){ 2, 1e-3, -3, 0 }) == 4);
    assert_true(hg_turns_look(&turns, &(struct hg_way){ 4, 0.99e-3, -4, 0 }) == 0); /* by the last factor */
    turns = (struct hg_turns){ .eps = 1e-5, .work = 1, .objective = -1, .look = { 1, -1, 1, 0 } };
    assert_true(hg_turns_look(&turns, &(struct hg_way){ 1, 0.09, -2, 0 }) == 2); /* of the work before it too */
    turns.look = (struct hg_look){ 1, -1, 1, 0 };
    assert_true(hg_turns_look(&turns, &(struct hg_way){ 1, 0.11, -2, 0 }) == 0);
}

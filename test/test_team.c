/*
 * Teams of threads by themselves: every item of a job is made once, by a thread that may, whatever is nested, posted or
 * late; nobody is waited for who has drawn nothing; nobody sleeps through a job. test/sanitize.sh runs this program
 * under ThreadSanitizer as well.
 *
 * Pieces make no assertions, which cmocka wants in the main thread: they count what they saw. What would be a lost call
 * or a needless wait never ends, and the test's time limit tells.
 */
#include "test/tests.h"
#include "lib/base/team.h"

#include <omp.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 1000 };

struct job {
    int made[MOST]; /* atomic: how often each item was made */
    int wrong;      /* atomic: pieces that are not as asked for, threads that may not */
    size_t grain, count;
    int threads;
};

static void add(int *to)
{
    __atomic_fetch_add(to, 1, __ATOMIC_RELAXED);
}

static void make(void *arg, int thread, size_t first, size_t end)
{
    struct job *job = arg;
    bool whole = end - first == job->grain || end == job->count;
    if (!whole || first % job->grain != 0 || thread < 0 || thread >= job->threads)
        add(&job->wrong);
    for (size_t i = first; i < end; i++)
        add(&job->made[i]);
}

/* Says whether all items were made once, and no other. */
static bool is_made(const struct job *job)
{
    bool right = job->wrong == 0;
    for (size_t i = 0; i < MOST; i++)
        right = right && job->made[i] == (i < job->count);
    return right;
}

static bool share(int threads, size_t count, size_t grain)
{
    struct job job = { .grain = grain, .count = count, .threads = threads };
    hg_share(threads, count, grain, make, &job);
    return is_made(&job);
}

TEST(each_item_is_made_once)
{
    for (int threads = 1; threads <= 5; threads++)
        for (size_t count = 0; count < MOST; count = count * 2 + 1)
            for (size_t grain = 1; grain < 300; grain *= 7)
                assert_true(share(threads, count, grain)); /* a team of its own */
}

TEST(a_team_makes_many_jobs)
{
    int wrong = 0;
    HG_TEAM(4)
    for (size_t k = 0; k < 3000; k++)
        wrong += !share(1 + (int)(k % 6), k % MOST, 1 + k % 11); /* of fewer threads, and more, than there are */
    assert_int_equal(wrong, 0);
}

/* Gaps of all sizes, so that threads that wait spin, are about to sleep, and sleep. */
TEST(nobody_sleeps_through_a_job)
{
    int wrong = 0;
    uint64_t random = 7;
    HG_TEAM(3)
    for (int k = 0; k < 400; k++) {
        double until = hg_now() + 1e-6 * (double)hg_random_below(&random, 300);
        while (k % 20 > 0 && hg_now() < until)
            ;
        if (k % 20 == 0)
            usleep(2000);
        wrong += !share(3, 40, 1);
    }
    assert_int_equal(wrong, 0);
}

/* ---- jobs within jobs -------------------------------------------------------------------------------------------- */

struct outer {
    int wrong;
    int depth;
};

static void make_inner(void *arg, int thread, size_t first, size_t end)
{
    struct outer *outer = arg;
    struct outer inner = { 0, outer->depth - 1 };
    (void)thread;
    if (!share(4, 10 + first % 50, 1 + end % 3))
        add(&outer->wrong);
    if (outer->depth > 0) {
        hg_share(4, 5, 2, make_inner, &inner);
        __atomic_fetch_add(&outer->wrong, inner.wrong, __ATOMIC_RELAXED);
    }
}

TEST(jobs_nest)
{
    for (int threads = 1; threads <= 4; threads++) {
        struct outer outer = { 0, 2 };
        HG_TEAM(threads)
        for (int k = 0; k < 20; k++)
            hg_share(4, 9, 1, make_inner, &outer);
        assert_int_equal(outer.wrong, 0);
    }
}

/* The next two posted jobs are open while others are shared, and are joined in the other order. */
TEST(jobs_are_posted_and_joined_later)
{
    int wrong = 0;
    HG_TEAM(3)
    for (int k = 0; k < 300; k++) {
        struct job a = { .grain = 3, .count = 100, .threads = 3 }, b = { .grain = 1, .count = 7, .threads = 2 };
        struct hg_work first = { .piece = make, .arg = &a, .count = 100, .grain = 3, .threads = 3 };
        struct hg_work second = { .piece = make, .arg = &b, .count = 7, .grain = 1, .threads = 2 };
        hg_post(&first);
        hg_post(&second);
        wrong += !share(3, 64, 1);
        if (k % 2 == 0)
            hg_join(&first);
        hg_join(&second);
        if (k % 2 == 1)
            hg_join(&first);
        wrong += !is_made(&a) + !is_made(&b);
    }
    assert_int_equal(wrong, 0);
}

struct block {
    int began, may_end;
};

/* Holds the thread that draws it for as long as the test wants. */
static void hold(void *arg, int thread, size_t first, size_t end)
{
    struct block *block = arg;
    (void)thread;
    (void)first;
    (void)end;
    add(&block->began);
    while (__atomic_load_n(&block->may_end, __ATOMIC_ACQUIRE) == 0)
        usleep(100);
}

/* A thread that is busy elsewhere, as one that the system keeps off its core, has drawn nothing of what is shared. */
TEST(who_has_drawn_nothing_is_not_waited_for)
{
    int wrong = 0, team = 0;
    struct block block = { 0 };
    HG_TEAM(2)
    {
        struct hg_work held = { .piece = hold, .arg = &block, .count = 2, .grain = 1, .threads = 2 };
        team = omp_get_num_threads();
        hg_post(&held);
        while (team > 1 && __atomic_load_n(&block.began, __ATOMIC_RELAXED) == 0)
            usleep(100);
        for (int k = 0; k < 50; k++)
            wrong += !share(2, 30, 1);
        __atomic_store_n(&block.may_end, 1, __ATOMIC_RELEASE);
        hg_join(&held);
    }
    assert_int_equal(wrong, 0);
    assert_int_equal(block.began, 2);
}

/* ---- callers ----------------------------------------------------------------------------------------------------- */

static void *call(void *arg)
{
    int *wrong = arg;
    for (int k = 0; k < 100; k++)
        HG_TEAM(1 + k % 3)
    *wrong += !share(3, 100, 7);
    return NULL;
}

TEST(several_threads_call)
{
    enum { CALLERS = 4 };
    pthread_t thread[CALLERS];
    int wrong[CALLERS] = { 0 };
    for (int k = 0; k < CALLERS; k++)
        assert_int_equal(pthread_create(&thread[k], NULL, call, &wrong[k]), 0);
    for (int k = 0; k < CALLERS; k++) {
        pthread_join(thread[k], NULL);
        assert_int_equal(wrong[k], 0);
    }
}

TEST(calls_come_from_parallel_regions)
{
    int wrong = 0;
#pragma omp parallel num_threads(3) reduction(+ : wrong)
    call(&wrong);
    assert_int_equal(wrong, 0);
}

/* A call within a call has the same team, and leaves it as it was. */
TEST(calls_come_from_calls)
{
    int wrong = 0;
    HG_TEAM(3)
    {
        call(&wrong);
        wrong += !share(3, 100, 7);
    }
    assert_int_equal(wrong, 0);
}

TEST(settings_are_the_callers)
{
    int before = omp_get_max_threads(), inside = 0;
    HG_TEAM(2)
    inside = hg_threads(0);
    assert_int_equal(inside, before);
    assert_int_equal(omp_get_max_threads(), before);
    assert_int_equal(hg_threads(7), 7);
    assert_true(hg_leads());
}

/* OpenMP's threads do not outlive a fork: a child is safe with one thread, as doc/threads.md says. */
TEST(a_child_goes_on_with_one_thread)
{
    int status = -1;
    assert_true(share(2, 100, 1));
    pid_t child = fork();
    if (child == 0) {
        bool made = false;
        HG_TEAM(1)
        made = share(2, 100, 1);
        _exit(!made);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* ---- jobs side by side ------------------------------------------------------------------------------------------- */

static hinge_status fail_some(void *arg, int thread, size_t number, int threads, hinge_error *err)
{
    int *began = arg;
    (void)thread;
    (void)threads;
    add(&began[number]);
    return number % 10 == 7 ? hg_fail(err, HINGE_EINVAL, "job %zu", number) : HINGE_OK;
}

/* The failure told is that of the first by number, and all before it were made, for any number of threads. */
TEST(the_first_failure_is_told)
{
    for (int threads = 1; threads <= 4; threads++)
        for (int k = 0; k < 50; k++) {
            int began[40] = { 0 };
            hinge_error err;
            assert_int_equal(hg_each(40, threads > 1, threads, fail_some, began, &err), HINGE_EINVAL);
            assert_string_equal(err.text, "job 7");
            for (int j = 0; j < 8; j++)
                assert_int_equal(began[j], 1);
        }
}

static hinge_status count_threads(void *arg, int thread, size_t number, int threads, hinge_error *err)
{
    (void)thread;
    (void)err;
    ((int *)arg)[number] = threads;
    return HINGE_OK;
}

/* The last jobs share their loops with threads that find no job left. */
TEST(the_last_jobs_share)
{
    int threads[9];
    assert_int_equal(hg_each(9, true, 3, count_threads, threads, NULL), HINGE_OK);
    for (int j = 0; j < 9; j++)
        assert_int_equal(threads[j], j < 6 ? 1 : 3);
}

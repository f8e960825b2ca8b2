/*
 * A team of threads (team.h). Read team.h before.
 *
 * The parts: where a thread is; beds, in which threads sleep that have found nothing to do for a while; drawing pieces;
 * posting and joining; the team's begin and end.
 *
 * How a job ends: the poster draws pieces too; when none is left it takes the job off the list, so that nobody enters
 * it any more, and waits until `inside` is 0. How nobody sleeps through a job: who goes to bed counts itself (asleep)
 * and then looks once more for what it waits for, who posts or finishes changes that and then looks whether anybody is
 * asleep; these four are sequentially consistent, so that one of the two sees the other.
 */
#include "lib/base/team.h"

#include <omp.h>

/* Of this thread: the team that it is in, its number there, and how many jobs it is inside of. */
static _Thread_local struct {
    struct hg_team *team;
    int number, level;
} here;

bool hg_leads(void)
{
    return here.number == 0;
}

int hg_threads(int asked)
{
    int threads = asked > 0 ? asked : here.team != NULL ? here.team->usual : omp_get_max_threads();
    return HG_MAX(threads, 1);
}

/* A job costs a microsecond, where threads are awake. */
int hg_team_size(int threads, double work)
{
    return work < (here.team != NULL ? 1e6 : hg_team_work()) ? 1 : threads;
}

/* ---- waiting ----------------------------------------------------------------------------------------------------- */

/* A thread spins for so long, twice of what it costs to wake it (doc/tried.md, "waiting in a team"), and looks at the
 * clock every so many turns. */
static const double SPIN = 30e-6;
enum { TURNS = 32, AT_ONCE = 2 }; /* how many threads one wakes */

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Takes the list of jobs. Its owner may be off its core, which is rare: then this thread gives its own way. */
static void lock(struct hg_team *team)
{
    for (int turn = 1; __atomic_exchange_n(&team->lock, 1, __ATOMIC_ACQUIRE) != 0; turn++)
        while (__atomic_load_n(&team->lock, __ATOMIC_RELAXED) != 0)
            if (turn++ % 1024 == 0)
                hg_yield();
            else
                relax();
}

static void unlock(struct hg_team *team)
{
    __atomic_store_n(&team->lock, 0, __ATOMIC_RELEASE);
}

struct hg_bed { /* of a thread that sleeps */
    pthread_cond_t call;
    bool called;
    int level;         /* it may serve jobs nested in so many others at least, */
    const int *inside; /* or waits until this is 0; NULL: it does not */
    struct hg_bed *next;
};

/* Says whether there is a reason to get up: jobs are no longer as they were when `seen` of them were posted, the team
 * is over, or the job that is waited for is done. */
static bool is_news(const struct hg_team *team, unsigned seen, const int *inside)
{
    return __atomic_load_n(&team->posted, __ATOMIC_SEQ_CST) != seen || __atomic_load_n(&team->over, __ATOMIC_SEQ_CST) ||
           (inside != NULL && __atomic_load_n(inside, __ATOMIC_SEQ_CST) == 0);
}

static bool spin(const struct hg_team *team, unsigned seen, const int *inside)
{
    double end = 0, now = 0;
    for (int turn = 0; end == 0 || now < end; turn++) {
        if (is_news(team, seen, inside))
            return true;
        relax();
        if (turn % TURNS == TURNS - 1) {
            now = hg_now();
            end = end == 0 ? now + SPIN : end;
        }
    }
    return false;
}

/* Spins, and then sleeps until somebody calls. */
static void rest(struct hg_team *team, int level, unsigned seen, const int *inside)
{
    if (spin(team, seen, inside))
        return;
    struct hg_bed bed = { .level = level, .inside = inside };
    pthread_cond_init(&bed.call, NULL);
    pthread_mutex_lock(&team->bedroom);
    bed.next = team->bed;
    team->bed = &bed;
    __atomic_fetch_add(&team->asleep, 1, __ATOMIC_SEQ_CST);
    if (is_news(team, seen, inside)) { /* it is the first in the list still */
        team->bed = bed.next;
        __atomic_fetch_sub(&team->asleep, 1, __ATOMIC_SEQ_CST);
        bed.called = true;
    }
    while (!bed.called)
        pthread_cond_wait(&bed.call, &team->bedroom);
    pthread_mutex_unlock(&team->bedroom);
    pthread_cond_destroy(&bed.call);
}

/* Calls threads that sleep: up to `most` of those that may serve a job of this level, and all whose job is done. */
static void call(struct hg_team *team, int level, int most)
{
    if (__atomic_load_n(&team->asleep, __ATOMIC_SEQ_CST) == 0)
        return;
    pthread_mutex_lock(&team->bedroom);
    for (struct hg_bed **at = &team->bed, *bed; (bed = *at) != NULL;) {
        bool done = bed->inside != NULL && __atomic_load_n(bed->inside, __ATOMIC_SEQ_CST) == 0;
        bool serves = !done && most > 0 && bed->level <= level;
        if (!done && !serves) {
            at = &bed->next;
            continue;
        }
        most -= serves;
        *at = bed->next;
        __atomic_fetch_sub(&team->asleep, 1, __ATOMIC_SEQ_CST);
        bed->called = true;
        pthread_cond_signal(&bed->call);
    }
    pthread_mutex_unlock(&team->bedroom);
}

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

static bool has_pieces(const struct hg_work *job)
{
    return __atomic_load_n(&job->next, __ATOMIC_RELAXED) < job->count;
}

/* Makes a piece as thread number `thread` of the job; false: none is left. */
static bool draw(struct hg_work *job, int thread)
{
    if (!has_pieces(job))
        return false;
    size_t first = __atomic_fetch_add(&job->next, job->grain, __ATOMIC_RELAXED);
    if (first >= job->count)
        return false;
    int level = here.level;
    here.level = job->level + 1;
    job->piece(job->arg, thread, first, HG_MIN(job->grain, job->count - first) + first);
    here.level = level;
    return true;
}

/* Enters the first job of that level, or more deeply nested, that has pieces for this thread; NULL: there is none. */
static struct hg_work *enter_job(struct hg_team *team, int level)
{
    lock(team);
    struct hg_work *job = team->first;
    while (job != NULL && !(job->level >= level && here.number < job->threads && has_pieces(job)))
        job = job->after;
    if (job != NULL)
        __atomic_fetch_add(&job->inside, 1, __ATOMIC_RELAXED);
    unlock(team);
    return job;
}

/* Helps with one job; false: there is none. A thread that comes calls others in turn, so that who posts has not to call
 * all of them. What the job holds may be gone as soon as nobody is inside. */
static bool help(struct hg_team *team, int level)
{
    struct hg_work *job = enter_job(team, level);
    if (job == NULL)
        return false;
    if (has_pieces(job))
        call(team, job->level, AT_ONCE);
    while (draw(job, here.number))
        ;
    if (__atomic_sub_fetch(&job->inside, 1, __ATOMIC_SEQ_CST) == 0)
        call(team, 0, 0);
    return true;
}

/* ---- jobs -------------------------------------------------------------------------------------------------------- */

/* Puts a job on the list, behind those that it may be nested in, and calls for help. */
static void open_job(struct hg_team *team, struct hg_work *job)
{
    job->is_open = true;
    job->after = NULL;
    lock(team);
    struct hg_work **last = &team->first;
    while (*last != NULL)
        last = &(*last)->after;
    *last = job;
    __atomic_fetch_add(&team->posted, 1, __ATOMIC_SEQ_CST);
    unlock(team);
    call(team, job->level, AT_ONCE);
}

/* Says whether thread 0 is better off alone for the moment (tell_time). Its jobs within others' pieces are left out. */
static bool is_alone(const struct hg_team *team, const struct hg_work *job)
{
    return job->level == 0 && team->alone_until > 0 && hg_now() < team->alone_until;
}

void hg_post(struct hg_work *job)
{
    struct hg_team *team = here.team;
    job->next = 0;
    job->inside = 0;
    job->level = here.level;
    job->is_open = false;
    job->may_open =
        team != NULL && team->threads > 1 && job->threads > here.number && job->threads > 1 && job->count > job->grain;
    if (team != NULL && job->may_open && !is_alone(team, job))
        open_job(team, job);
}

/* Takes a job off the list, so that nobody enters it any more. */
static void close_job(struct hg_team *team, struct hg_work *job)
{
    lock(team);
    struct hg_work **at = &team->first;
    while (*at != job)
        at = &(*at)->after;
    *at = job->after;
    unlock(team);
}

/* Compares how long jobs took with the processor time that thread 0 would have worked on all of their pieces. Where
 * they took half as long again, thread 0 shares its core with a thread of its own team, or waits for one that was put
 * off its core in the middle of a piece. Then it works alone for 5 ms, and twice as long each time that this happens
 * again within ten spells, up to 0.2 s. Sums fade by a tenth a job. Beside busy programs trainings so take little
 * longer than by one thread, where they would now and then take more than twice as long (doc/tried.md). */
static void tell_time(struct hg_team *team, double took, double alone)
{
    static const double SHORT = 5e-3, LONG = 0.2;
    team->took = 0.9 * team->took + took;
    team->alone = 0.9 * team->alone + alone;
    if (team->took <= 1.5 * team->alone || team->took < 1e-3)
        return;
    double now = hg_now();
    bool soon = team->alone_until > 0 && now < team->alone_until + 10 * team->spell;
    team->spell = soon ? HG_MIN(2 * team->spell, LONG) : SHORT;
    team->alone_until = now + team->spell;
    team->took = team->alone = 0;
}

/* Waits for the pieces that others are in; helps meanwhile with what these have posted, whose pieces are smaller. */
static void wait_for(struct hg_team *team, struct hg_work *job)
{
    while (__atomic_load_n(&job->inside, __ATOMIC_SEQ_CST) != 0) {
        unsigned seen = __atomic_load_n(&team->posted, __ATOMIC_SEQ_CST);
        if (!help(team, job->level + 1))
            rest(team, job->level + 1, seen, &job->inside);
    }
}

/* A job that thread 0 began alone is opened as soon as its spell is over. */
void hg_join(struct hg_work *job)
{
    struct hg_team *team = here.team;
    size_t mine = 0, pieces = (job->count + job->grain - 1) / job->grain;
    bool tells = job->is_open && here.number == 0 && job->level == 0;
    double begin = tells ? hg_now() : 0, worked = tells ? hg_processor_time() : 0;
    for (; draw(job, job->may_open ? here.number : 0); mine++)
        if (team != NULL && job->may_open && !job->is_open && !is_alone(team, job))
            open_job(team, job);
    if (team == NULL || !job->is_open)
        return;
    worked = tells ? hg_processor_time() - worked : 0;
    close_job(team, job);
    wait_for(team, job);
    if (tells && mine > 0)
        tell_time(team, hg_now() - begin, worked / (double)mine * (double)pieces);
}

void hg_share(int threads, size_t count, size_t grain, hg_piece_fn *piece, void *arg)
{
    struct hg_work job = { .piece = piece, .arg = arg, .count = count, .grain = grain, .threads = threads };
    if (here.team != NULL) {
        hg_post(&job);
        hg_join(&job);
        return;
    }
    HG_TEAM(count > grain ? threads : 1)
    {
        hg_post(&job);
        hg_join(&job);
    }
}

/* ---- a team ------------------------------------------------------------------------------------------------------ */

struct hg_team *hg_team_open(struct hg_team *team, int threads)
{
    if (here.team != NULL) {
        team->threads = 1;
        team->is_new = false;
        return team;
    }
    *team = (struct hg_team){ .threads = threads, .usual = omp_get_max_threads(), .is_new = true };
    pthread_mutex_init(&team->bedroom, NULL);
    return team;
}

/* Sets one thread for regions nested in this one, for this implicit task alone, so that OpenBLAS's OpenMP build starts
 * none of its own. The region may have fewer threads than were asked for, which thread 0 notes before it posts; the
 * others count on it only where they find a job. */
bool hg_team_enter(struct hg_team *team)
{
    if (!team->is_new)
        return true;
    omp_set_num_threads(1);
    here.team = team;
    here.number = omp_get_thread_num();
    here.level = 0;
    if (here.number == 0) {
        team->threads = omp_get_num_threads();
        return true;
    }
    for (;;) {
        unsigned seen = __atomic_load_n(&team->posted, __ATOMIC_SEQ_CST);
        if (help(team, 0))
            continue;
        if (__atomic_load_n(&team->over, __ATOMIC_SEQ_CST))
            break;
        rest(team, 0, seen, NULL);
    }
    here.team = NULL;
    here.number = 0;
    return false;
}

bool hg_team_leave(struct hg_team *team)
{
    if (!team->is_new)
        return false;
    __atomic_store_n(&team->over, true, __ATOMIC_SEQ_CST);
    call(team, 0, team->threads);
    here.team = NULL;
    return false;
}

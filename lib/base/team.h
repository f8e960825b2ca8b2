/*
 * Threads: one team a call of the library, and jobs that it shares.
 *
 * A function of the interface that computes opens a team (HG_TEAM), one OpenMP region that lasts as long as the call.
 * Thread 0 goes its way through the code alone; where a loop is worth sharing it posts a job, whose pieces are drawn by
 * whoever is free, thread 0 among them. Nobody waits for a thread that has drawn nothing, so one that another program
 * keeps off its core costs nothing; who waits spins for some microseconds and then sleeps. Jobs nest: what a piece
 * shares is open to threads that find no piece of an outer job left.
 *
 * Which thread makes a piece must not show in its results. A piece's work space goes by the number that it is given.
 */
#ifndef HG_TEAM_H
#define HG_TEAM_H

#include "lib/base/base.h"

/* Makes items [first, end) of a job. thread: whose work space to take, below the job's `threads`. */
typedef void hg_piece_fn(void *arg, int thread, size_t first, size_t end);

struct hg_work { /* its memory is the poster's, until hg_join has returned */
    hg_piece_fn *piece;
    void *arg;
    size_t count, grain; /* items in all, at least 1 in a piece; */
    int threads;         /* only threads of lower numbers make pieces; below 2: the thread that joins it, alone */
    size_t next;         /* atomic: the first item that nobody has drawn */
    int inside, level;   /* atomic: threads that are in it; how many jobs it is nested in */
    bool is_open;        /* the team knows of it; */
    bool may_open;       /* it does not yet, but may */
    struct hg_work *after;
};

/* Shares items 0 .. count - 1 in pieces of `grain`, and returns when all are made. Pieces do not depend on the number
 * of threads. Outside of a team it opens one for the job alone. */
void hg_share(int threads, size_t count, size_t grain, hg_piece_fn *piece, void *arg);

/* Opens a job for whoever is free, while the poster goes on. The caller has set it up to `threads`. */
void hg_post(struct hg_work *job);
/* Makes what is left of it, and waits for the pieces that others are in. */
void hg_join(struct hg_work *job);

struct hg_bed;
struct hg_team {
    int threads;           /* that the region has */
    int usual;             /* omp_get_max_threads() outside of it */
    bool is_new;           /* false: the call is one within another, whose team serves it */
    int lock;              /* of the jobs, for some ten instructions: a thread that waits for it does not sleep */
    struct hg_work *first; /* open ones, as they were posted: outer ones before inner ones */
    unsigned posted;       /* atomic: jobs so far */
    bool over;             /* atomic */
    double took, alone;    /* seconds of thread 0's jobs, and what it would have worked on them alone; fading */
    double alone_until;    /* on hg_now's clock: until then it works alone, */
    double spell;          /* for so many seconds at last */
    int asleep;            /* atomic: threads in bed, which `bedroom` guards */
    struct hg_bed *bed;
    pthread_mutex_t bedroom;
};

/* Opens a team of so many threads for the statement that follows, which must not be left by return, break or goto.
 * Within a team the statement is that one's. In it BLAS, where it is OpenBLAS's OpenMP build, has one thread a call. */
#define HG_TEAM(n) \
    for (struct hg_team team_, *open_ = hg_team_open(&team_, (n)); open_ != NULL; open_ = NULL) \
        HG_TEAM_REGION \
    for (bool leads_ = hg_team_enter(open_); leads_; leads_ = hg_team_leave(open_))
#define HG_TEAM_REGION _Pragma("omp parallel num_threads(open_->threads) if (open_->is_new)")

struct hg_team *hg_team_open(struct hg_team *team, int threads);
bool hg_team_enter(struct hg_team *team); /* true for thread 0; others serve until it leaves, and return false */
bool hg_team_leave(struct hg_team *team); /* false */

/* Returns threads for a call that asks for so many; 0: omp_get_max_threads(), as it was when the team was opened. */
int hg_threads(int asked);
/* Returns 1 where so many multiply-adds are not worth the beginning and end of a team, or within a team of a job;
 * otherwise threads. */
int hg_team_size(int threads, double work);
/* The least multiply-adds that are worth a team. */
double hg_team_work(void);
/* Says whether this is the thread that began the call, which alone may ask its caller. */
bool hg_leads(void);

/* Jobs 0 .. count - 1, each by one thread where they are side by side, but for the last ones, as many as there are
 * threads, whose loops idle threads share; or in turn. None begins after one of a lower number failed; the status and
 * the error are those of the first that did, by number. */
hinge_status hg_each(size_t count, bool side_by_side, int threads,
                     hinge_status (*job)(void *arg, int thread, size_t number, int threads, hinge_error *err),
                     void *arg, hinge_error *err);

#endif

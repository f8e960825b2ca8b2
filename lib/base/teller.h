/*
 * Tells a caller's progress callback how far a call is: by one thread at a time, and no more once the caller has asked
 * for an end.
 */
#ifndef HG_TELLER_H
#define HG_TELLER_H

#include "lib/base/base.h"

/* Seconds from one telling to the next, where nothing is new in between. */
#define HG_ASK_EVERY 0.1

/* Holds a callback and when it was called. What it points to is the owner's and must stay. */
struct hg_teller {
    hinge_progress_fn progress; /* NULL: nobody wants to know */
    void *arg;
    double begin;          /* of the call, on hg_now's clock, */
    double told;           /* and when the callback was called last; -INFINITY: it is due at once */
    int *stop;             /* atomic, or NULL; where it is not 0 the work is to end, and nobody is told any more */
    pthread_mutex_t *lock; /* of all tellers of a call; NULL: one thread tells */
};

/* Says whether there is a callback that has not been called for HG_ASK_EVERY. */
bool hg_is_due(const struct hg_teller *teller);

/* Calls the callback, and sets *stop to 2 where it asks for an end and there is no reason yet. progress: all fields but
 * seconds. Returns whether the work is to end. */
bool hg_tell(struct hg_teller *teller, hinge_progress *progress);

#endif

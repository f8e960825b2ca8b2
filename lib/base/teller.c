#include "lib/base/teller.h"

bool hg_is_due(const struct hg_teller *t)
{
    return t->progress != NULL && hg_now() - t->told >= HG_ASK_EVERY;
}

bool hg_tell(struct hg_teller *t, hinge_progress *progress)
{
    struct hg_halt halt = { .stop = t->stop };
    if (t->lock != NULL)
        pthread_mutex_lock(t->lock);
    t->told = hg_now();
    progress->seconds = t->told - t->begin;
    bool stops = (t->stop != NULL && hg_halted(&halt)) || t->progress(t->arg, progress) != 0;
    if (stops && t->stop != NULL)
        hg_request_halt(&halt, 2);
    if (t->lock != NULL)
        pthread_mutex_unlock(t->lock);
    return stops;
}

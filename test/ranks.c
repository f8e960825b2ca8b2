#include "test/ranks.h"
#include "test/support.h"

#include <dirent.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

struct world {
    int ranks, arrived;
    uint64_t generation;
    pthread_mutex_t baton;
    pthread_cond_t *here; /* [ranks] each wakes the next, so that few wait for the baton at once */
    const void **send;    /* [ranks] */
    const void **more;    /* [ranks] */
    struct hm_sum total;
    struct traffic *traffic; /* [ranks] */
    void (*job)(const struct hm_net *net, void *arg);
    void *arg;
};

static struct world *world_of(const struct hm_net *net)
{
    return net->arg;
}

/* Waits for all; the last to come calls `last` before the others go on. */
static void meet(struct world *w, int rank, void (*last)(struct world *w))
{
    uint64_t mine = w->generation;
    if (++w->arrived == w->ranks) {
        if (last != NULL)
            last(w);
        w->arrived = 0;
        w->generation++;
        pthread_cond_signal(&w->here[0]);
    }
    while (w->generation == mine)
        pthread_cond_wait(&w->here[rank], &w->baton);
    if (rank + 1 < w->ranks)
        pthread_cond_signal(&w->here[rank + 1]);
}

static void add_all(struct world *w)
{
    memset(&w->total, 0, sizeof w->total);
    for (int r = w->ranks - 1; r >= 0; r--) /* any order will do */
        hm_add_sum(&w->total, w->send[r]);
}

static void sum_up(const struct hm_net *net, struct hm_sum *sum)
{
    struct world *w = world_of(net);
    w->traffic[net->rank].sums++;
    w->send[net->rank] = sum;
    meet(w, net->rank, add_all);
    *sum = w->total;
}

static void gather(const struct hm_net *net, const void *send, const uint64_t *counts, void *recv)
{
    struct world *w = world_of(net);
    size_t total = 0, at = 0;
    for (int r = 0; r < w->ranks; r++)
        total += counts[r];
    char *room = malloc(total + 1); /* recv may be counts */
    w->traffic[net->rank].gathers++;
    w->traffic[net->rank].gathered += total;
    w->send[net->rank] = send;
    meet(w, net->rank, NULL);
    for (int r = 0; r < w->ranks; at += counts[r++])
        if (counts[r] > 0)
            memcpy(room + at, w->send[r], counts[r]);
    meet(w, net->rank, NULL);
    memcpy(recv, room, total);
    free(room);
}

static void exchange(const struct hm_net *net, const void *send, const uint64_t *out, void *recv, const uint64_t *in)
{
    struct world *w = world_of(net);
    char *to = recv;
    w->send[net->rank] = send;
    w->more[net->rank] = out;
    meet(w, net->rank, NULL);
    for (int r = 0; r < w->ranks; to += in[r++]) {
        const uint64_t *theirs = w->more[r];
        const char *from = w->send[r];
        for (int k = 0; k < net->rank; k++)
            from += theirs[k];
        if (in[r] > 0)
            memcpy(to, from, in[r]);
    }
    meet(w, net->rank, NULL);
}

static void broadcast(const struct hm_net *net, void *data, size_t bytes, int root)
{
    struct world *w = world_of(net);
    w->traffic[net->rank].broadcasts++;
    if (net->rank == root)
        w->send[root] = data;
    meet(w, net->rank, NULL);
    if (net->rank != root && bytes > 0)
        memcpy(data, w->send[root], bytes);
    meet(w, net->rank, NULL);
}

static void *run_rank(void *arg)
{
    struct hm_net *net = arg;
    struct world *w = world_of(net);
    pthread_mutex_lock(&w->baton);
    w->job(net, w->arg);
    pthread_mutex_unlock(&w->baton);
    return NULL;
}

struct traffic run_ranks(int ranks, void (*job)(const struct hm_net *net, void *arg), void *arg)
{
    size_t n = (size_t)ranks;
    struct world w = { .ranks = ranks, .job = job, .arg = arg };
    struct hm_net *net = calloc(n, sizeof *net);
    pthread_t *thread = calloc(n, sizeof *thread);
    w.send = calloc(n, sizeof *w.send);
    w.more = calloc(n, sizeof *w.more);
    w.traffic = calloc(n, sizeof *w.traffic);
    pthread_mutex_init(&w.baton, NULL);
    w.here = calloc(n, sizeof *w.here);
    for (int r = 0; r < ranks; r++)
        pthread_cond_init(&w.here[r], NULL);
    for (int r = 0; r < ranks; r++) {
        uint64_t *sizes = calloc(3 * n, sizeof *sizes);
        net[r] = (struct hm_net){ r,         ranks,         r == 0, NULL,   &w,       sizes,
                                  sizes + n, sizes + 2 * n, sum_up, gather, exchange, broadcast };
        if (pthread_create(&thread[r], NULL, run_rank, &net[r]) != 0)
            abort();
    }
    for (int r = 0; r < ranks; r++)
        pthread_join(thread[r], NULL);
    struct traffic traffic = w.traffic[0];
    for (int r = 0; r < ranks; r++)
        pthread_cond_destroy(&w.here[r]);
    for (int r = 0; r < ranks; r++)
        free(net[r].sizes);
    free(w.here);
    pthread_mutex_destroy(&w.baton);
    free(net);
    free(thread);
    free(w.send);
    free(w.more);
    free(w.traffic);
    return traffic;
}

/* ---- checkpoints ------------------------------------------------------------------------------------------------- */

size_t count_files(const char *begin, const char **name)
{
    size_t n = 0;
    DIR *dir = opendir(folder());
    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir)) != NULL;)
        if (strncmp(e->d_name, begin, strlen(begin)) == 0) {
            n++;
            *name = path_of(e->d_name);
        }
    closedir(dir);
    return n;
}

void empty_folder(void)
{
    const char *name = NULL;
    while (count_files("problem-", &name) > 0)
        assert_int_equal(remove(name), 0);
}

void spoil(const char *path, bool cut)
{
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    fseek(file, -1, SEEK_END);
    long at = ftell(file);
    int c = fgetc(file);
    fseek(file, at, SEEK_SET);
    if (cut)
        assert_int_equal(ftruncate(fileno(file), at), 0);
    else
        fputc(c ^ 1, file);
    fclose(file);
}

/* What hinge._core adds to the library: a progress callback that ends a call on Ctrl-C, and only where Python has a
 * callback too takes the GIL. */
typedef struct hinge_py_watch {
    void *callback;       /* a handle of Python's object, or NULL */
    uint64_t *iterations; /* [n_iterations] of each problem so far, or NULL */
    size_t n_iterations;
    int looks; /* 1: the call is between hinge_py_look and hinge_py_done */
} hinge_py_watch;

/* Looks out for Ctrl-C from now on, instead of Python's handler. For the main thread alone; may be nested. */
void hinge_py_look(void);
/* Ends that. 1: Ctrl-C was pressed in the meantime. */
int hinge_py_done(void);
/* A hinge_progress_fn, arg a hinge_py_watch. */
int hinge_py_progress(void *arg, const hinge_progress *progress);
/* One thread from now on, in a process forked from one that had used several. */
void hinge_py_alone(void);

/* ---- not for Python --------------------------------------------------------------------------------------------- */

#include <omp.h>
#include <signal.h>

static int hinge_py_called(void *, const hinge_progress *);

static volatile sig_atomic_t pressed;
static int watchers; /* the main thread's */

#ifdef SA_RESETHAND
static struct sigaction before;

static void on_interrupt(int number)
{
    (void)number;
    pressed = 1;
}

static void take_interrupt(void)
{
    struct sigaction action = { .sa_handler = on_interrupt };
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, &before);
}

static void give_back_interrupt(void)
{
    sigaction(SIGINT, &before, NULL);
}
#else /* C's alone, which lets go of a handler as it calls it */
static void (*before)(int);

static void on_interrupt(int number)
{
    signal(number, on_interrupt);
    pressed = 1;
}

static void take_interrupt(void)
{
    before = signal(SIGINT, on_interrupt);
}

static void give_back_interrupt(void)
{
    signal(SIGINT, before);
}
#endif

void hinge_py_look(void)
{
    if (watchers++ > 0)
        return;
    pressed = 0;
    take_interrupt();
}

int hinge_py_done(void)
{
    if (--watchers == 0)
        give_back_interrupt();
    return pressed;
}

int hinge_py_progress(void *arg, const hinge_progress *progress)
{
    const hinge_py_watch *watch = arg;
    if (progress->problem < watch->n_iterations)
        watch->iterations[progress->problem] = progress->iterations;
    if (watch->looks && pressed)
        return 1;
    return watch->callback != NULL ? hinge_py_called(watch->callback, progress) : 0;
}

void hinge_py_alone(void)
{
    omp_set_num_threads(1);
}

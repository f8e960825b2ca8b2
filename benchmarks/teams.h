/* What is done alone and what in jobs that a team shares between start and stop, by processor time; and what it comes
 * to by more threads. */
#ifndef BENCHMARKS_TEAMS_H
#define BENCHMARKS_TEAMS_H

void teams_start(void);
/* {"alone_s": of the calling thread outside of jobs, "shared_s": of all threads in jobs, "serial": the share, "jobs":
 * how many, "times_N": as fast as one thread, with N of them, by the pieces that were drawn} */
void teams_stop(void);

#endif

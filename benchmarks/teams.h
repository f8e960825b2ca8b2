/* What is done alone and what in teams of threads between start and stop, by processor time; and what it comes to by
 * more threads. */
#ifndef BENCHMARKS_TEAMS_H
#define BENCHMARKS_TEAMS_H

void teams_start(void);
/* {"alone_s": of the calling thread outside of regions, "shared_s": of all threads in regions, "serial": the share,
 * "teams": how many regions, "times_N": as fast as one thread, with N of them, by the tiles that were dealt} */
void teams_stop(void);

#endif

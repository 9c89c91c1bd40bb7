/* Measures a program that knows the values of the variables: the time until its filter is installed without the two system
 * calls that install it, and the time of these. */
#ifndef TIMED_H
#define TIMED_H

#include <stdint.h>

/* The monotonic clock, in nanoseconds. */
int64_t timed_now(void);

/* The nanoseconds in prctl(PR_SET_NO_NEW_PRIVS) and in the seccomp(2) that installs a filter. */
int64_t timed_excluded(void);

/* Writes the nanoseconds after this clock without the two system calls, those of the two, and those since the parent's
 * clock. Then it reads standard input to its end, so that the parent can look at the process. */
int timed_report(int64_t start, const char *parent);

#endif

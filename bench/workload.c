/*
 * Calls getpgid(0) at a steady rate, or as fast as it can, and says how often.
 *
 *     workload RATE SECONDS     RATE 0: full speed
 *
 * Prints the number of calls and the seconds they took. The clock is read
 * through the vDSO, so the loop makes no other system call.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { BURST = 16 };

static double
now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec * 1e-9;
}

int
main(int argc, char **argv)
{
	double rate, seconds, begin, passed = 0;
	long calls = 0;

	if (argc != 3) {
		fprintf(stderr, "usage: workload RATE SECONDS\n");
		return 2;
	}
	rate = atof(argv[1]);
	seconds = atof(argv[2]);
	begin = now();
	while (passed < seconds) {
		if (rate == 0 || calls < passed * rate) {
			for (int i = 0; i < BURST; i++)
				syscall(SYS_getpgid, 0);
			calls += BURST;
		}
		passed = now() - begin;
	}
	printf("%ld %.3f\n", calls, passed);
	return 0;
}

/* Threads that call one function: called THREADS CALLS FORKS BRIEF SIGNALS
 *
 * Each thread calls step() CALLS times. If FORKS is not 0 it forks at each FORKS-th call, and the child calls step() ten
 * times. If BRIEF is not 0 it starts a thread at each BRIEF-th call, which calls step() once. With SIGNALS a signal comes
 * each millisecond. It prints a sum that depends on all calls, and returns 7.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int ticks;
static int calls, forks, brief;

__attribute__((noinline)) long step(long a, long b)
{
	__asm__ volatile("");
	return a * 31 + b;
}

static void tick(int number)
{
	(void)number;
	ticks++;
}

static void *once(void *number)
{
	return (void *)step((long)number, 1);
}

static long by_thread(void)
{
	pthread_t thread;
	void *result;
	if (pthread_create(&thread, NULL, once, (void *)1L) || pthread_join(thread, &result))
		abort();
	return (long)result;
}

static long by_child(void)
{
	pid_t child = fork();
	if (!child) {
		long sum = 0;
		for (int i = 0; i < 10; i++)
			sum = step(sum, i);
		_exit(sum & 63);
	}
	int status;
	while (waitpid(child, &status, 0) < 0)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000000;
}

static void *work(void *start)
{
	long sum = (long)start;
	for (int i = 0; i < calls; i++) {
		sum = step(sum, i);
		if (brief && i % brief == 0)
			sum += by_thread();
		if (forks && i % forks == 0)
			sum += by_child();
	}
	return (void *)sum;
}

int main(int count, char **words)
{
	(void)count;
	int threads = atoi(words[1]);
	calls = atoi(words[2]);
	forks = atoi(words[3]);
	brief = atoi(words[4]);
	if (atoi(words[5])) {
		struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};
		struct itimerval each = {{0, 1000}, {0, 1000}};
		sigaction(SIGALRM, &action, NULL);
		setitimer(ITIMER_REAL, &each, NULL);
	}
	pthread_t started[64];
	long sum = 0;
	puts("begin");
	fflush(stdout);
	for (long i = 0; i < threads; i++)
		pthread_create(&started[i], NULL, work, (void *)i);
	for (int i = 0; i < threads; i++) {
		void *result;
		pthread_join(started[i], &result);
		sum ^= (long)result;
	}
	printf("%ld\n", sum);
	return 7;
}

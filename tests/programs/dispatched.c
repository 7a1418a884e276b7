/* Calls that are turned into SIGSYS (syscall user dispatch, prctl(2)) around calls of a function: outside of a range of
 * addresses, or with a second word in one, by whose number the program waits for that many lines first.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

static volatile char selector;
static volatile long turned, strange;
extern char __executable_start[], etext[];

__attribute__((noinline)) long step(long a) { __asm__ volatile("" : "+r"(a)); return a + 1; }

static void handler(int number, siginfo_t *told, void *context)
{
	greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
	selector = 0;
	turned++;
	strange += told->si_syscall != SYS_getppid;
	registers[REG_RAX] = 4242;
}

int main(int count, char **words)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	int is_inside = !strcmp(words[1], "inside");
	unsigned long start = is_inside ? 1UL << 32 : (unsigned long)__executable_start;
	unsigned long length = is_inside ? (1UL << 47) - (1UL << 33) : (unsigned long)etext - start;
	long sum = 0;
	sigaction(SIGSYS, &action, NULL);
	signal(SIGTRAP, SIG_IGN);
	if (prctl(59, is_inside ? 2 : 1, start, length, &selector)) {
		perror("prctl");
		return 77;
	}
	puts("ready");
	fflush(stdout);
	if (count > 2) getchar();
	for (int i = 0; i < 7; i++) {
		selector = 1;
		sum += step(i);
		sum += syscall(SYS_getppid);
	}
	printf("%ld %ld %ld\n", sum, turned, strange);
	return 0;
}

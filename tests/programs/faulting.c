/* Functions whose first instruction faults: the handlers see where, and have it go on; then what is read of its own code.
 * With FILTERED the process has a seccomp filter.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <ucontext.h>
#include <unistd.h>

extern char load[], divide[], illegal[], behind[];
__asm__(".text\n.globl load, divide, illegal, behind\n"
	".type load,@function\nload: mov (%rdi), %rax\nret\n.size load, .-load\n"
	".type divide,@function\ndivide: div %rsi\nret\n.size divide, .-divide\n"
	".type illegal,@function\nillegal: ud2\nret\n.size illegal, .-illegal\n"
	"behind: nop\n");

static volatile long good = 42, faults, wrong;

static void handler(int number, siginfo_t *information, void *context)
{
	greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
	char *counter = (char *)registers[REG_RIP];
	faults++;
	if (number == SIGSEGV) {
		wrong += counter != load || information->si_addr != (void *)8;
		registers[REG_RDI] = (greg_t)&good;
	} else if (number == SIGFPE) {
		wrong += counter != divide || information->si_addr != divide;
		registers[REG_RSI] = 7;
	} else {
		wrong += counter != illegal || information->si_addr != illegal;
		registers[REG_RIP] += 2;
	}
}

int main(void)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	long sum = 0;
	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGFPE, &action, NULL);
	sigaction(SIGILL, &action, NULL);
#ifdef FILTERED
	struct sock_filter allows = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
	struct sock_fprog filter = {1, &allows};
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
#endif
	for (int i = 0; i < 5; i++) {
		sum += ((long (*)(long *))load)((long *)8);
		sum += ((long (*)(long, long, long))divide)(0, 0, 0) * 0;
		((void (*)(void))illegal)();
	}
	printf("%ld %ld %ld\n", sum, faults, wrong);
	return 0;
}

/* step() called with a handler of SIGTRAP, with that signal blocked and pending, and ignored. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
__attribute__((noinline)) long step(long a) { __asm__ volatile(""); return a + 1; }
static volatile int seen;
static void handler(int number) { seen++; }
static void show(const char *what, long n) {
	struct sigaction a;
	sigset_t set;
	sigaction(SIGTRAP, NULL, &a);
	sigprocmask(SIG_BLOCK, NULL, &set);
	printf("%s %ld: %s, %d, %d\n", what, n,
	       a.sa_handler == handler ? "handler" : a.sa_handler == SIG_IGN ? "ignored" : "default",
	       sigismember(&set, SIGTRAP), seen);
	fflush(stdout);
}
int main(void) {
	sigset_t all, one;
	sigfillset(&all);
	sigemptyset(&one);
	sigaddset(&one, SIGTRAP);
	sigprocmask(SIG_BLOCK, &all, NULL);
	show("default, all blocked", step(0));
	sigprocmask(SIG_UNBLOCK, &all, NULL);
	signal(SIGTRAP, handler);
	show("handled", step(1));
	raise(SIGTRAP);
	show("raised", step(2));
	sigprocmask(SIG_BLOCK, &all, NULL);
	show("all blocked", step(3));
	kill(getpid(), SIGTRAP);
	show("pending", step(4));
	sigprocmask(SIG_UNBLOCK, &all, NULL);
	show("unblocked", step(5));
	sigprocmask(SIG_BLOCK, &one, NULL);
	show("blocked", step(6));
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	signal(SIGTRAP, SIG_IGN);
	show("ignored", step(7));
	raise(SIGTRAP);
	show("raised", step(8));
}

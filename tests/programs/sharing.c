/* A process that another shares its memory with: "vfork", "nested" with a process in between, "clone" by CLONE_VM, or
 * that of "fork", which has a copy. It tells its number, waits for a line, and calls a function; then the first one does.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) long step(long a) { __asm__ volatile("" : "+r"(a)); return a + 1; }

static char stack[1 << 16] __attribute__((aligned(16)));

static int made(void *nothing)
{
	char text[20];
	long sum = 0;
	write(1, text, sprintf(text, "%d\n", getpid()));
	read(0, text, 1);
	for (int i = 0; i < 3; i++) sum += step(i);
	_exit(sum - 1);
}

int main(int count, char **words)
{
	int status, nested, process;
	if (!strcmp(words[1], "clone"))
		process = clone(made, stack + sizeof stack, CLONE_VM | SIGCHLD, NULL);
	else if (!strcmp(words[1], "fork"))
		process = fork();
	else
		process = vfork();
	if (!process && !strcmp(words[1], "nested")) {
		nested = vfork();
		if (!nested) made(NULL);
		waitpid(nested, &status, 0);
		_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 99);
	}
	if (!process) made(NULL);
	waitpid(process, &status, 0);
	printf("status %d signal %d\n", WEXITSTATUS(status), WTERMSIG(status));
	for (int i = 0; i < 4; i++) step(i);
	return 0;
}

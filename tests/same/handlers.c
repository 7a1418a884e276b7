/* Signal handlers on a stack of their own, within functions; some are left by siglongjmp. */
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>

static sigjmp_buf kept;
static volatile int handled, left;

__attribute__((noinline)) long inner(long a)
{
	__asm__ volatile("");
	return a * 2;
}

__attribute__((noinline)) int away(int a)
{
	__asm__ volatile("");
	return a >= 0;
}

__attribute__((noinline)) long outer(long a)
{
	raise(SIGUSR1);
	return inner(a) + 1;
}

static void handle(int number)
{
	handled++;
	inner(number);
	if (handled % 3 == 0)
		siglongjmp(kept, 1);
}

int main(void)
{
	stack_t own = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
	struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK | SA_NODEFER};

	sigaltstack(&own, NULL);
	sigaction(SIGUSR1, &action, NULL);
	for (volatile int i = 0; i < 11; i++) {
		if (sigsetjmp(kept, 1))
			left += away(i);
		else
			outer(i);
	}
	return left;
}

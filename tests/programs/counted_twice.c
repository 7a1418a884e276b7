/* What the programs of tests/kernel/bt_twins.py count: calls of functions and of the system, the same each time. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct item { int id; short kind; unsigned char flags; char name[16]; struct item *next; long sum; };

enum { ROUNDS = 37 };
static const char *words[] = {"one", "two", "three", "seventeen letters", ""};
volatile long kept;

__attribute__((noinline)) long take(int n, unsigned u, long l, const char *text)
{
	kept += n + u;
	return l - n + (long)strlen(text);
}

__attribute__((noinline)) int level(int depth)
{
	if (depth <= 0)
		return 1;
	int below = level(depth - 1);
	kept += below;
	return below + depth;
}

__attribute__((noinline)) void visit(struct item *item, int *numbers)
{
	kept += item->id + numbers[2];
}

__attribute__((noinline)) int judge(int n)
{
	kept++;
	return n % 3 == 0 ? -n : n;
}

int main(void)
{
	struct item last = {-7, -3, 0x81, "last", 0, 1L << 40}, first = {5, 11, 0x12, "first", &last, -13};
	static char buffer[1 << 16];
	int null = open("/dev/null", O_WRONLY), zero = open("/dev/zero", O_RDONLY);
	for (int round = 0; round < ROUNDS; round++) {
		int numbers[4] = {round, 2 * round, 3 * round, -round};
		take(round - 11, 7u * round, 1L << (round % 40), words[round % 5]);
		if (round % 7 == 0)
			level(round % 5);
		first.id = round;
		last.kind = -round;
		visit(round % 2 ? &first : &last, numbers);
		judge(round);
		read(zero, buffer, 1 << (round % 16));
		write(null, buffer, 3 * round);
		lseek(zero, round * 11, SEEK_SET);
		if (round % 5 == 0)
			close(open(round % 2 ? "/etc/passwd" : "/dev/null", O_RDONLY | O_CLOEXEC));
		if (round % 6 == 0)
			open("/no/such/file", O_RDWR);
		if (round % 4 == 0)
			access(words[round % 5], R_OK);
		if (round % 9 == 0)
			close(1000 + round);
	}
	return 0;
}

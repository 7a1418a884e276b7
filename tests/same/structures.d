/*
 * A structure copied from the process, and one of the program's own.
 *
 * Command: calls
 * Shows: 0 1000003
 */

struct moment {
	long seconds;
	long nanoseconds;
};
struct pair {
	int number;
	char name[12];
	long large;
};
syscall::clock_nanosleep:entry
/pid == $target/
{
	this->moment = (struct moment *)copyin(arg2, sizeof (struct moment));
	printf("%d %d\n", this->moment->seconds, this->moment->nanoseconds);
}

syscall::pwrite64:entry
/pid == $target/
{
	this->pair = (struct pair *)copyin(arg1, sizeof (struct pair));
	printf("%d %s %d\n", this->pair->number, stringof(this->pair->name), this->pair->large);
	print(*this->pair);
	tracemem(this->pair, 16);
}

/*
 * Types, constants and functions that scripts for other systems use, and more keys than they may have there.
 *
 * Command: calls
 * Shows: 1 1 8 write
 */

syscall::write:entry
/pid == $target && arg0 > 2 && !shown/
{
	this->is = (boolean_t)arg2;
	seen[pid, 1, 2, 3, 4, 5, 6, 7, "eight", this->is == B_TRUE] = probefunc;
	printf("%d %d %d ", (boolean_t)1 == B_TRUE, B_FALSE == 0, TH_PUSH);
	printf("%s\n", seen[pid, 1, 2, 3, 4, 5, 6, 7, "eight", this->is == B_TRUE]);
	shown = 1;
	@[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, "eleven", 12] = count();
	@stacks[jstack(1)] = count();
}

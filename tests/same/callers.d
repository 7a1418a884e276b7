/*
 * The callers of user functions, by name.
 *
 * Command: stacks
 * Shows: stacks`deep +stacks`deep +1\n +stacks`other +stacks`other +2\n +stacks`middle +stacks`middle +3\n
 */

syscall::getpgid:entry
/pid == $target/
{
	@[usym(ucaller), ufunc(ucaller)] = count();
}

/*
 * Stacks of user functions, by name.
 *
 * Command: stacks
 * Shows: stacks`middle
 */

syscall::getpgid:entry
/pid == $target/
{
	ustack(5);
	printf("%d\n", arg0);
}

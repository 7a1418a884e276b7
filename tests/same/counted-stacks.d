/*
 * Stacks of user functions as keys.
 *
 * Command: stacks
 * Shows: stacks`other
 */

syscall::getpgid:entry
/pid == $target/
{
	@[ustack()] = count();
	@short[ustack(2), arg0 > 1] = count();
	@depth[ustackdepth > 3] = count();
}

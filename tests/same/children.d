/*
 * What a parent is told of its children, also while it does not listen, and what returns from a signal's handler.
 *
 * Command: children
 * Shows: signal-send +6
 */

proc:::signal-send
/(pid == $target || progenyof($target)) && args[2] == SIGCHLD && args[1]->pr_pid == $target/
{
	@[probename] = count();
}

proc:::signal-discard
/progenyof($target) && args[1]->pr_pid == $target/
{
	@[probename] = count();
}

syscall::rt_sigreturn:
/pid == $target/
{
	@[probename] = count();
}

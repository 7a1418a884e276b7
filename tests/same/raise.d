/*
 * A signal sent to the process by the program.
 *
 * Command: calls
 * Options: -q -w
 * Shows: 0 0
 */

syscall::getppid:entry
/pid == $target && ++n == 5/
{
	raise(SIGKILL);
}

syscall::close:entry
/pid == $target/
{
	calls++;
}

proc:::exit
/pid == $target/
{
	printf("%d %d\n", args[0] == CLD_KILLED, args[0]);
}

END
{
	printf("%d %d\n", calls, n - 5);
}

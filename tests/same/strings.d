/*
 * Strings of the process, good and bad ones.
 *
 * Command: calls
 * Shows: relative/../and
 */

syscall::mkdir:entry
/pid == $target/
{
	printf("[%s] %o\n", copyinstr(arg0), arg1);
}

syscall::mkdir:entry
/pid == $target/
{
	printf("[%S]\n", copyinstr(arg0, 12));
}

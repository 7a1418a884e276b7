/*
 * What is done about addresses that are not there.
 *
 * Command: calls
 * Shows: 1, 1
 */

syscall::mkdir:entry
/pid == $target/
{
	trace(copyinstr(arg0, 4));
	printf(" done\n");
}

syscall::setpriority:entry
/pid == $target/
{
	trace(100 / ((int)arg1 + 1));
}

syscall::getpgid:entry
/pid == $target/
{
	copyin(8, 16);
	trace("not reached");
}

ERROR
{
	printf("fault %d at %x, %d, %d\n", arg4, arg5, arg4 == DTRACEFLT_BADADDR, arg4 == DTRACEFLT_DIVZERO);
	@[arg4] = count();
}

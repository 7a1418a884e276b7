/*
 * Several aggregations side by side, and options of their order.
 *
 * Command: calls
 * Shows: write
 */

#pragma D option aggsortkey
#pragma D option aggsortrev
syscall::write:entry,
syscall::lseek:entry,
syscall::close:entry
/pid == $target/
{
	@calls[probefunc] = count();
	@fds[probefunc] = max(arg0);
}

END
{
	printa("%10s %@5d %@5d\n", @calls, @fds);
}

/*
 * Keys of several parts, sorted.
 *
 * Command: calls
 * Shows: write +4 +sized
 */

syscall::write:entry,
syscall::lseek:entry,
syscall::setpriority:entry
/pid == $target && arg0 > 2/
{
	@[probefunc, (int)(probefunc == "write" ? arg2 : arg1) % 7, arg2 > 1000 ? "large" : "sized"] = count();
}

END
{
	printa("%-12s %3d %6s %@4d\n", @);
}

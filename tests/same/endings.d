/*
 * How processes end.
 *
 * Command: family
 * Shows: CLD_EXITED
 */

proc:::exit
/pid == $target || progenyof($target)/
{
	@[args[0] == CLD_EXITED ? "CLD_EXITED" : args[0] == CLD_KILLED ? "CLD_KILLED" : "CLD_DUMPED"] = count();
}

syscall::exit_group:entry
/pid == $target || progenyof($target)/
{
	@statuses[(int)arg0] = count();
}

syscall::wait4:return
/pid == $target || progenyof($target)/
{
	@waited[arg0 > 0, pid == $target] = count();
}

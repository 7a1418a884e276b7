/*
 * Threads made and ended.
 *
 * Command: threads
 * Shows: lwp-create +1 +5
 */

proc:::lwp-create,
proc:::lwp-start,
proc:::lwp-exit,
proc:::create,
proc:::start
/pid == $target/
{
	@[probename, pid == $target] = count();
}

proc:::exit
/pid == $target/
{
	@[probename, args[0] == CLD_EXITED] = count();
}

syscall::exit:entry
/pid == $target/
{
	@status[arg0] = count();
}

syscall::clone*:return
/pid == $target/
{
	@new[arg0 > 0, tid == pid] = count();
}

/*
 * Processes made, by generation.
 *
 * Command: family
 * Shows: again +7 +1 +1
 */

proc:::create
/pid == $target || progenyof($target)/
{
	@made[pid == $target, args[0]->pr_ppid == pid] = count();
}

proc:::start
/progenyof($target)/
{
	@started[ppid == $target] = count();
}

proc:::exec-success
/progenyof($target)/
{
	@became[execname, ppid == $target] = count();
}

proc:::exec
/pid == $target || progenyof($target)/
{
	@wanted[basename(args[0])] = count();
}

proc:::exec-failure
/progenyof($target)/
{
	@failed[args[0]] = count();
}

syscall::getpgid:entry
/pid == $target || progenyof($target)/
{
	@calls[arg0, pid == $target, ppid == $target] = count();
}

syscall::getsid:entry
/progenyof($target)/
{
	@again["again", arg0, ppid == $target] = count();
}

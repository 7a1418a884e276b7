/*
 * Children that crash, and a process that gives its turn away.
 *
 * Command: crashes
 * Shows: fault +6 +11 +1
 */

proc:::fault
/ppid == $target/
{
	@[probename, args[0], args[1]->si_signo] = count();
}

proc:::signal-handle
/ppid == $target/
{
	@taken[args[0], args[1]->si_signo] = count();
}

proc:::exit
/ppid == $target/
{
	@ended[args[0] == CLD_KILLED] = count();
}

sched:::surrender
/pid == $target/
{
	@yields[args[0]->pr_lwpid == tid] = count();
}

/*
 * What is known of the process, its parent and its arguments.
 *
 * Command: sh -c "/bin/echo one two; exit 5"
 * Shows: /bin/echo one two
 */

proc:::exec-success
/progenyof($target)/
{
	printf("%s [%s] %d %d\n", curpsinfo->pr_fname, curpsinfo->pr_psargs, curpsinfo->pr_ppid == ppid,
	    curpsinfo->pr_pid == pid);
}

proc:::create
/pid == $target/
{
	@made[args[0]->pr_ppid == pid, args[0]->pr_uid == uid] = count();
}

syscall::exit_group:entry
/pid == $target || progenyof($target)/
{
	printf("%s %d %d\n", execname, arg0, curlwpsinfo->pr_lwpid == tid);
}

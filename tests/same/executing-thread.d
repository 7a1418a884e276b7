/*
 * A thread that executes another program and so becomes the first of its process: what is kept of it stays, what is
 * kept of the other threads goes.
 *
 * Command: executor
 * Shows: becomes 1: second 1 first 1 alone 1
 */

syscall::getpgid:entry
/pid == $target/
{
	self->mark = arg0 + 1;
	self->number = tid;
}

syscall::execve:entry
/pid == $target && self->mark/
{
	self->ts = timestamp;
	self->name = copyinstr(arg0);
}

syscall::execve:return
/pid == $target && self->ts/
{
	printf("returns: mark %d name %s later %d\n", self->mark, self->name, timestamp > self->ts);
}

proc:::exec-success
/pid == $target && self->ts/
{
	printf("becomes %d: second %d first %d alone %d\n", self->mark == 3, self->number != tid,
	    tid == pid && curlwpsinfo->pr_lwpid == pid, curpsinfo->pr_nlwp == 1);
}

syscall::getsid:entry
/pid == $target/
{
	printf("again: mark %d name %s\n", self->mark, self->name);
}

syscall::getsid:entry
/pid != $target && progenyof($target)/
{
	@["child", self->mark, ppid == $target, curpsinfo->pr_ppid == $target] = count();
}

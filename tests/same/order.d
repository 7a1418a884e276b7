/*
 * What happens to a child, in its order.
 *
 * Command: family
 * Shows: start exec
 */

proc:::start
/progenyof($target) && ppid == $target/
{
	self->history = "";
}

proc:::start,
proc:::exec,
proc:::exec-failure,
proc:::exec-success,
proc:::exit
/progenyof($target) && ppid == $target/
{
	self->history = strjoin(strjoin(self->history, " "), probename);
}

proc:::exit
/progenyof($target) && ppid == $target/
{
	printf("%s: %s\n", execname, self->history);
}

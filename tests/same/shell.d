/*
 * What a shell and its children do.
 *
 * Command: sh -c "/bin/echo one; (/bin/echo two); /bin/true | /bin/cat"
 * Shows: echo
 */

proc:::exec-success
/pid == $target || progenyof($target)/
{
	@[execname] = count();
}

syscall::write:entry
/progenyof($target) && execname == "echo"/
{
	@text[stringof(copyin(arg1, arg2 - 1))] = count();
}

proc:::exit
/pid == $target || progenyof($target)/
{
	@ended[args[0]] = count();
}

/*
 * Calls of all generations, by program and name.
 *
 * Command: family
 * Shows: echo +write +1
 */

syscall:::entry
/pid == $target || progenyof($target)/
{
	@[execname, probefunc] = count();
}

/*
 * Strings longer than strsize are cut, and longer strsizes cut less.
 *
 * Command: calls
 * Options: -q -xstrsize=300
 * Shows: x{290}
 */

syscall::mkdir:entry
/pid == $target && arg0 > 1/
{
	trace(strlen(copyinstr(arg0)));
	trace(copyinstr(arg0));
	printf("\n");
}

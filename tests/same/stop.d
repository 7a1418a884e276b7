/*
 * A process that the program stops, until somebody lets it go on.
 *
 * Command: stops
 * Options: -q -w
 * Shows: 3 7
 */

syscall::getppid:entry
/progenyof($target) && calls++ == 1/
{
	stop();
}

proc:::exit
/pid != $target && progenyof($target)/
{
	printf("%d %d\n", calls, curpsinfo->pr_wstat >> 8);
}

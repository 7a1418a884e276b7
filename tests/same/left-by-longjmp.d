/*
 * Functions that longjmp leaves, so that they do not return.
 *
 * Command: market
 * Shows: leave entry 3
 */

pid$target:a.out:leave:entry, pid$target:a.out:leave:return, pid$target:a.out:main:return
{
	printf("%s %s %d\n", probefunc, probename, probename == "entry" ? arg0 : -1);
}

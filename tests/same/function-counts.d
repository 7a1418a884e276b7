/*
 * How often each function was called, with wildcards, and functions of libraries.
 *
 * Command: market
 * Shows: fibonacci +41
 */

pid$target:a.out:[fps]*:entry
{
	@calls[probefunc] = count();
}

pid$target:libc:strlen:entry, pid$target:libc:qsort:entry, pid$target:libc:longjmp:entry
{
	@library[probefunc] = count();
}

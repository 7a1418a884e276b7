/*
 * Strings and memory behind the arguments of functions.
 *
 * Command: market
 * Shows: MARKET
 */

pid$target:libc:getenv:entry
{
	printf("%s\n", copyinstr(arg0));
}

pid$target:a.out:price:entry
{
	tracemem(copyin(arg0, 20), 20);
	trace(*(int *)copyin(arg0 + 12, 4));
	printf("\n");
}

/*
 * Entries and returns of functions, with their arguments and results.
 *
 * Command: market
 * Shows: price -> 141
 */

pid$target:a.out:price:entry, pid$target:a.out:six:entry
{
	printf("%s %d\n", probefunc, (int)arg1);
}

pid$target:a.out:fibonacci:entry
{
	printf("%d ", arg0);
}

pid$target:a.out:price:return, pid$target:a.out:six:return, pid$target:a.out:areas:return
{
	printf("%s -> %d\n", probefunc, arg1);
}

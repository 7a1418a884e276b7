/*
 * Local variables at a line of the source.
 *
 * Command: market
 * Shows: i 0 each -10 total 0
 */

pid$target:a.out:market.c@41:
{
	printf("i %d each %d total %d of %s\n", locals->i, locals->each, locals->total, stringof(locals->fruit->name));
	@rounds[locals->count] = count();
	@most = max(locals->total);
}

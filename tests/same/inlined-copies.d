/*
 * Variables of two inlined copies of a function, by its line.
 *
 * Command: market
 * Shows: side 4 of 4 and 5
 */

pid$target:a.out:market.c@58:
{
	printf("side %d of %d and %d\n", locals->side, locals->a, locals->b);
}

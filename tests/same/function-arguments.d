/*
 * Arguments of functions by their names and types.
 *
 * Command: market
 * Shows: pear 1 Bob -1
 */

pid$target:a.out:price:entry
{
	printf("%s %d %s %d\n", stringof(args->fruit->name), args->count, stringof(args->fruit->seller), args->fruit->at.x);
}

pid$target:a.out:six:entry
{
	printf("%d %d %d %d %u %d %d\n", args->a, args->b, args->c, args->d, args->e, args->g, args->h);
}

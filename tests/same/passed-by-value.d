/*
 * Structures that are passed by value, in a register and on the stack.
 *
 * Command: market
 * Shows: 6 7 2
 */

pid$target:a.out:grown:entry
{
	printf("%d %d %d\n", args->by.x, args->by.y, *(long *)copyin(uregs[R_RSP] + 16, 8));
}

pid$target:a.out:grown:return
{
	printf("%d\n", *(long *)copyin(arg1 + 8, 8));
}

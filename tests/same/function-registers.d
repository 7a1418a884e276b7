/*
 * Registers at functions, and where they were called from.
 *
 * Command: market
 * Shows: called from market
 */

pid$target:a.out:price:entry
{
	printf("%d %d\n", (int)uregs[R_RSI] == args->count, uregs[R_RDI] == (uintptr_t)args->fruit);
	printf("called from %A\n", ucaller);
}

pid$target:a.out:price:return
{
	printf("%d %d\n", uregs[R_RAX] == arg1, uregs[R_RIP] > 0);
}

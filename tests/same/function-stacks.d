/*
 * Stacks at functions, recorded and counted.
 *
 * Command: market
 * Shows: market.sells
 */

pid$target:a.out:sells:entry
{
	ustack(4);
	printf("%d %d\n", ustackdepth > 3, arg1);
}

pid$target:a.out:descending:entry
{
	@[ustack(3)] = count();
}

pid$target:a.out:fibonacci:entry
/arg0 == 1/
{
	@deep[ustack(20)] = count();
}

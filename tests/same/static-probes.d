/*
 * Static probes with their arguments, one of them with a semaphore.
 *
 * Command: market
 * Shows: sale 4 apple
 */

market$target:::sale
{
	printf("%s %d %s\n", probename, arg0, copyinstr(arg1));
}

market$target:::any
{
	printf("%s %d %s\n", probename, args[0], copyinstr(args[1]));
	@[probefunc] = count();
}

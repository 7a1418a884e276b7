/*
 * Aggregations normalized, truncated and cleared.
 *
 * Command: calls
 * Shows: 10
 */

syscall::write:entry
/pid == $target && arg0 > 2/
{
	@total = sum(arg2);
	@each[arg2] = count();
	@gone[arg2] = count();
}

END
{
	normalize(@total, 100);
	printa(@total);
	denormalize(@total);
	printa(@total);
	trunc(@each, 3);
	printa("%d %@d\n", @each);
	clear(@gone);
}

/*
 * An aggregation whose total is zero is shown once it has been used, and one
 * that never was is not.
 *
 * Command: true
 * Shows: errors: 0\n(.*\n)*.* 0 \|
 */

BEGIN
{
	@errors = sum(0);
	printa("errors: %@d\n", @errors);
	@balance = sum(7);
	@balance = sum(-7);
	@none = quantize(5, 0);
	@few = lquantize(5, 0, 10, 5, 1);
	@few = lquantize(5, 0, 10, 5, -1);
	@many = llquantize(50, 10, 0, 3, 10, 0);
	@smallest = min(0);
	@largest = max(0);
	@mean = avg(0);
	@spread = stddev(0);
	@keyed[1] = sum(0);
	@cleared = sum(3);
	clear(@cleared);
	@gone = sum(0);
	trunc(@gone);
	@again = sum(0);
	trunc(@again);
	@again = sum(0);
}

tick-1
/0 != 0/
{
	@never = sum(0);
	@at_all = quantize(0);
	@ever[1] = sum(0);
}

END
{
	printa("balance %@d\n", @balance);
	printa("gone %@d, again %@d\n", @gone, @again);
	printa("never %@d%@d\n", @never, @at_all);
}

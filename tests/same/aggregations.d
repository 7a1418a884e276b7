/*
 * Every function of aggregations.
 *
 * Command: calls
 * Shows: 2048\n362
 */

syscall::write:entry
/pid == $target && arg0 > 2/
{
	@count = count();
	@sum = sum(arg2);
	@min = min(arg2);
	@max = max(arg2);
	@avg = avg(arg2);
	@deviation = stddev(arg2);
	@negative = sum(-(int64_t)arg2);
	@lowest = min(-(int64_t)arg2);
}

END
{
	printa("%@d\n", @count);
	printa("%@d\n", @sum);
	printa("%@d\n", @min);
	printa("%@d\n", @max);
	printa("%@d\n", @avg);
	printa("%@d\n", @deviation);
	printa("%@d %@d\n", @negative, @lowest);
}

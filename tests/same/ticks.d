/*
 * Timers and no end but exit().
 *
 * Command: sleep 100
 * Shows: tick 3
 */

BEGIN
{
	printf("begin\n");
}

tick-20ms
{
	printf("tick %d\n", ++n);
}

tick-20ms
/n == 3/
{
	exit(0);
}

END
{
	printf("end\n");
}

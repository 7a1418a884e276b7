/*
 * How often each call is made, from the entry point to the end.
 *
 * Command: calls
 * Shows: getppid +13
 */

syscall:::entry
/pid == $target/
{
	@[probefunc] = count();
}

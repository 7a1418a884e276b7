/*
 * Stacks at static probes, beside functions and system calls.
 *
 * Command: market
 * Shows: market.sells
 */

market$target:::sale
{
	ustack(3);
	self->sale = 1;
}

pid$target:a.out:sells:return
/self->sale/
{
	@["sold", arg1] = count();
	self->sale = 0;
}

syscall::exit_group:entry
/pid == $target/
{
	@end = count();
}

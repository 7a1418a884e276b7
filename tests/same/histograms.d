/*
 * Histograms of every kind.
 *
 * Command: calls
 * Shows: 1024 \|@
 */

syscall::write:entry
/pid == $target && arg0 > 2/
{
	@powers = quantize(arg2);
	@signed = quantize(700 - (int)arg2);
	@linear = lquantize(arg2, 0, 1000, 150);
	@logarithmic = llquantize(arg2, 10, 0, 3, 10);
	@weighted = quantize(arg2, arg2);
}

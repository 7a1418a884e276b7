/*
 * Distributions in a line each, and sums as bars.
 *
 * Command: calls
 * Options: -q -xaggpack -xagghist -xaggzoom
 * Shows: write +[0-9]+ :.*\| [0-9]+
 */

syscall::write:entry
/pid == $target && arg0 > 2/
{
	@sizes[probefunc] = quantize(arg2);
	@sums[probefunc, arg2 > 100] = sum(arg2);
}

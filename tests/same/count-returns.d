/*
 * Entries and returns; what ends the process does not return.
 *
 * Command: calls
 * Shows: exit_group +entry +1
 */

syscall:::
/pid == $target/
{
	@[probefunc, probename] = count();
}

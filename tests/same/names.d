/*
 * The names of probes.
 *
 * Command: calls
 * Shows: syscall +vmlinux +lseek +return +5
 */

syscall::lseek:,
syscall::getpp*:
/pid == $target/
{
	@[probeprov, probemod, probefunc, probename] = count();
}

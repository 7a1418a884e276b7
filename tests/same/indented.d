/*
 * Entries and returns, indented.
 *
 * Command: calls
 * Options: -F
 * Shows: => lseek
 */

syscall::lseek:,
syscall::setpriority:
/pid == $target/
{
	trace((int)arg1);
}

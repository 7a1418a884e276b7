/*
 * What is shown without -q.
 *
 * Command: calls
 * Options: -Z
 * Shows: lseek:return
 */

syscall::lseek:return
/pid == $target/
{
	trace(arg0);
	trace("text");
}

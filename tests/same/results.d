/*
 * What calls return.
 *
 * Command: calls
 * Shows: lseek 4007 4007 0
 */

syscall::lseek:return,
syscall::write:return,
syscall::pwrite64:return,
syscall::writev:return
/pid == $target/
{
	printf("%s %d %d %d\n", probefunc, arg0, arg1, errno);
}

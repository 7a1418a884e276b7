/*
 * Calls that fail, with their errors.
 *
 * Command: calls
 * Shows: rmdir 2 -2
 */

syscall:::return
/pid == $target && errno/
{
	printf("%s %d %d\n", probefunc, errno, (int)arg0);
	@[errno == ENOENT ? "missing" : errno == EBADF ? "closed" : "other"] = count();
}

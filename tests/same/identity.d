/*
 * Who one is.
 *
 * Command: calls
 * Shows: calls +1 +1 +1 +1 +1 +13
 */

syscall::getppid:entry
/pid == $target/
{
	@[execname, pid == tid, ppid == $pid, uid == $uid, gid == $gid, pid == $target] = count();
}

/*
 * Calls that a signal interrupts: what the kernel has returned before it makes
 * EINTR of it, or makes the call again.
 *
 * Command: interrupted
 * Shows: ^read( -512){2} 4\npause( -514){2} 4\n(\w+( -516){2} 4\n){3}epoll_wait( -4){2} 4\nread( -512){2} 4\nread 1 1 0\n
 */

syscall::read:return,
syscall::pause:return,
syscall::poll:return,
syscall::nanosleep:return,
syscall::futex:return,
syscall::epoll_wait:return,
syscall::restart_syscall:return
/pid == $target && (errno || arg0 == 1 || probefunc == "restart_syscall")/
{
	printf("%s %d %d %d\n", probefunc, arg0, arg1, errno);
}

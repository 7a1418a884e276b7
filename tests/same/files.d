/*
 * Which files a command opens.
 *
 * Command: cat /etc/passwd
 * Shows: /etc/passwd
 */

syscall::openat:entry
/pid == $target/
{
	self->path = arg1;
}

syscall::openat:return
/self->path/
{
	printf("%s %s %d\n", execname, copyinstr(self->path), errno);
	self->path = 0;
}

/*
 * Numbers and memory shown by names: flags as keys, words of a command, text, buffers, structures.
 *
 * Command: sh -c '/bin/ls /nowhere "a b" 2>/dev/null; exec /bin/cat /dev/null'
 * Shows: \["/bin/ls", "/nowhere", "a b"\]
 */

syscall::execve:entry
/pid == $target || progenyof($target)/
{
	@words[memstr("path", arg0), memstr("argv", arg1)] = count();
	@cut[memstr("argv", arg1, 0, 2), memstr("string", arg0, 0, 4)] = count();
}

syscall::openat:entry
/pid == $target || progenyof($target)/
{
	self->path = arg1;
	@flags[flagstr("open", arg2)] = count();
}

syscall::openat:return
/self->path/
{
	@opened[memstr("path", self->path), flagstr("result", errno ? -errno : 0)] = count();
	@named[flagstr("errno", errno), flagstr("strerror", errno)] = count();
	self->path = 0;
}

syscall::write:entry
/pid == $target || progenyof($target)/
{
	@text[memstr("data", arg1, arg2), memstr("data", arg1, arg2, 3)] = count();
}

syscall::newfstatat:entry, syscall::fstat:entry
/pid == $target || progenyof($target)/
{
	self->state = probefunc == "fstat" ? arg1 : arg2;
}

syscall::newfstatat:return, syscall::fstat:return
/self->state/
{
	@states[memstr("stat", self->state, arg0)] = count();
	self->state = 0;
}

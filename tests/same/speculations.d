/*
 * Records that are kept or thrown away later.
 *
 * Command: calls
 * Shows: mkdir\(1c0\)\nmkdir 2
 */

#pragma D option nspec=64

syscall::mkdir:entry,
syscall::close:entry,
syscall::lseek:entry
/pid == $target/
{
	self->spec = speculation();
	speculate(self->spec);
	printf("%s(%x)\n", probefunc, probefunc == "mkdir" ? arg1 : arg0 == 777);
}

syscall::mkdir:return,
syscall::close:return,
syscall::lseek:return
/self->spec && errno/
{
	speculate(self->spec);
	printf("%s %d\n", probefunc, errno);
}

syscall::mkdir:return,
syscall::close:return,
syscall::lseek:return
/self->spec && errno/
{
	commit(self->spec);
	self->spec = 0;
}

syscall::lseek:return
/self->spec/
{
	discard(self->spec);
	self->spec = 0;
}

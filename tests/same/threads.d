/*
 * What each thread does, by its name.
 *
 * Command: threads
 * Shows: worker-3 +40
 */

syscall::getpgid:entry
/pid == $target/
{
	self->calls++;
	@[execname] = count();
	@most[execname] = max(self->calls);
	@sum = sum(arg0);
	@main[pid == tid] = count();
}

/*
 * Clocks that go forward.
 *
 * Command: calls
 * Shows: 1 1 1 1
 */

syscall::clock_nanosleep:entry
/pid == $target/
{
	self->time = timestamp;
	self->wall = walltimestamp;
}

syscall::clock_nanosleep:return
/self->time/
{
	printf("%d %d %d %d\n", timestamp - self->time > 1000000, walltimestamp - self->wall > 1000000,
	    timestamp - self->time < 1000000000000, walltimestamp > 1700000000000000000);
}

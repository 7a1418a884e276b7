/*
 * Branches that a constant chooses, and variables that are asked for before they are set.
 *
 * Command: calls
 * Shows: first 1 4 -0 0
 */

inline int OPT_counts = 1;
inline int OPT_zones = 0;

syscall::write:entry
/pid == $target && !self->size && arg0 > 2/
{
	printf("first %d %d -%d %d\n", !seen[arg2], sizeof (int), -self->size, !this->none ? 0 : 1);
}

syscall::write:entry
/pid == $target && arg0 > 2/
{
	self->size = arg2;
	seen[arg2]++;
	OPT_counts ? @[self->size, OPT_zones ? zonename : execname] = count() : 1;
	OPT_zones ? printf("%s", zonename) : OPT_counts ? 1 : trace(0);
}

syscall::write:return
/pid == $target && self->size/
{
	self->size = 0;
}

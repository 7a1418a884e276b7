/*
 * Variables of a thread and of a clause.
 *
 * Command: calls
 * Shows: lseek 7
 */

syscall::lseek:entry,
syscall::write:entry
/pid == $target/
{
	self->offset = arg1;
	self->size = arg2;
	self->name = probefunc;
	self->count[probefunc]++;
	this->half = arg2 / 2;
}

syscall::lseek:return
/self->name == "lseek"/
{
	printf("%s %d %d\n", self->name, self->offset, self->count["lseek"]);
	self->name = 0;
}

syscall::write:return
/self->size > 1000/
{
	this->quarter = self->size / 4;
	printf("%d %d %d %s\n", this->quarter, this->half, self->count["write"], self->name);
	self->size = 0;
}

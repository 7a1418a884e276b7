/*
 * Bytes copied where the program wants them.
 *
 * Command: calls
 * Shows: a pair
 */

syscall::pwrite64:entry
/pid == $target/
{
	this->bytes = (char *)alloca(32);
	copyinto(arg1 + 4, 7, this->bytes);
	printf("%s\n", stringof(this->bytes));
}

/*
 * Arguments as they were given, signed and unsigned.
 *
 * Command: calls
 * Shows: 99 -3 200000005
 */

syscall::setpriority:entry
/pid == $target/
{
	printf("%d %d %x %d %u\n", arg0, (int)arg1, arg2, args[0], (uint32_t)arg1);
}

syscall::pwrite64:entry
/pid == $target/
{
	printf("%x %d %x\n", arg0 != 0, arg2, arg3);
}

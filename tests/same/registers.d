/*
 * The registers of a process in a system call.
 *
 * Command: stacks
 * Shows: 121 1
 */

syscall::getpgid:entry
/pid == $target/
{
	printf("%d %d %d\n", 121, uregs[R_RDI] == arg0, uregs[R_RSP] > 0x1000);
}

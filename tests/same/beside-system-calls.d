/*
 * Functions, system calls and processes in one program, in their order.
 *
 * Command: market 7
 * Shows: spin
 */

pid$target:a.out:main:entry, pid$target:a.out:spin:entry, pid$target:a.out:sells:entry
{
	printf("%s\n", probefunc);
	self->inside = 1;
}

pid$target:a.out:sells:return, pid$target:a.out:spin:return
{
	printf("%s returns\n", probefunc);
}

syscall::exit_group:entry
/pid == $target && self->inside/
{
	printf("exit_group %d\n", arg0);
}

proc:::exit
/pid == $target/
{
	printf("exit %d\n", args[0]);
}

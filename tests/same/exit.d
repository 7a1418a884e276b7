/*
 * exit() with a status, and what comes after it.
 *
 * Command: calls
 * Status: 3
 * Shows: after
 */

syscall::getppid:entry
/pid == $target && ++n == 5/
{
	printf("%d\n", n);
	exit(3);
	printf("after\n");
}

syscall::getppid:entry
/pid == $target && n > 5/
{
	printf("never\n");
}

END
{
	printf("end %d\n", n);
}

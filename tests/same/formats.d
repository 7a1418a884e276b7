/*
 * Conversions of printf.
 *
 * Command: calls
 * Shows: setpriority\|
 */

syscall::setpriority:entry
/pid == $target/
{
	printf("%d|%5d|%-5d|%05d|%+d|%i|%u|%o|%x|%X|%#x|%#o|%c|%hd|%hd|%ld|%lld\n", (int)arg1, (int)arg1, (int)arg1,
	    (int)arg1, (int)arg1, (int)arg1, (int)arg1, arg0, arg2, arg2, arg2, arg2, 'a' + (int)arg1, (short)arg2,
	    (short)arg2, arg2, arg2);
	printf("%s|%10s|%-10s|%.3s|%%|%p|%*d\n", probefunc, probename, probename, probefunc, arg2, 7, (int)arg1);
}

/*
 * A system call by its own name and by that of its function, in descriptions and in comparisons: both mean it.
 *
 * Command: uname
 * Shows: entry newuname own 1 function 1 turned 1 other 0
 */

syscall::uname:entry, syscall::newuname:return, syscall::uname:return
/pid == $target && probefunc == "uname"/
{
	printf("%s %s own %d function %d turned %d other %d\n", probename, probefunc, probefunc == "uname",
	    probefunc == "newuname", "uname" == probefunc, probefunc == "stat");
}

syscall:::entry
/pid == $target && (probefunc == "uname" || probefunc == "newfstatat" || probefunc == "fstat")/
{
	@[probefunc, probefunc != "uname"] = count();
}

syscall::uname:entry
/probefunc != "uname" || probefunc != "newuname"/
{
	printf("never\n");
}

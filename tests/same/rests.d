/*
 * A string and a number are the string from there on.
 *
 * Command: true
 * Shows: cdef cdef bcdef\|\|5 yz 1 ef ab\nfaults 2
 */

BEGIN
{
	s = "abcdef";
	i = 4;
	self->t = "xyz";
	part = s + i;
	printf("%s %s %s|%s|%d %s %d %s ", s + 2, 9 + s - 7, s + i - 3, s + 6, strlen(1 + s), self->t + 1, s + 5 == "f",
	    part);
	part = s + 100 - 100;
	printf("%s\n", substr(part, 0, 2));
	@[s + 3, strjoin(part, "z") + 5] = count();
}

BEGIN { trace(s - 1); }
BEGIN { trace(s + i + 100000); }
ERROR { n++; }
END { printf("faults %d\n", n); }

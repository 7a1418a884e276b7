/*
 * Scratch memory that this-> variables point to, and what strtok() goes on
 * with, reach the next clauses of the firing.
 *
 * Command: calls
 * Shows: file: \[one\]\[two\] pair 16 1 x
 */

syscall::pwrite64:entry
/pid == $target/
{
	this->copy = (char *)copyin(arg1, 16);
	this->none = (char *)alloca(0);
	this->word = strtok("file: one two", ": ");
}

syscall::pwrite64:entry
/pid == $target && this->copy[0] == -41/
{
	this->bytes = (char *)alloca(16);
	bcopy(this->copy + 6, this->bytes, 4);
	printf("%s: [%s]", this->word, strtok(NULL, ": "));
}

syscall::pwrite64:entry
/pid == $target/
{
	for (this->i = 0; this->i < 1; this->i++) {
		this->other = (char *)alloca(8);
		this->other[0] = 'x';
		printf("[%s]", strtok(NULL, ": "));
	}
}

syscall::pwrite64:entry
/pid == $target/
{
	printf(" %s %d %d %c\n", stringof(this->bytes), this->bytes - this->copy,
	    strtok(NULL, ": ") == NULL, this->other[0]);
}

/*
 * An array of structures in the process, gone through in a loop.
 *
 * Command: calls
 * Shows: 10 20 30
 */

struct part {
	uintptr_t base;
	size_t length;
};
syscall::writev:entry
/pid == $target/
{
	this->parts = (struct part *)copyin(arg1, arg2 * sizeof (struct part));
	this->sum = 0;
	for (this->n = 0; this->n < arg2; this->n++) {
		printf("%d ", this->parts[this->n].length);
		this->sum += this->parts[this->n].length;
	}
	printf("= %d\n", this->sum);
}

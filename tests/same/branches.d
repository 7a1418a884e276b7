/*
 * if, else and loops.
 *
 * Command: calls
 * Shows: small +1 +1
 */

syscall::write:entry
/pid == $target && arg0 > 2/
{
	if (arg2 < 10) {
		this->size = "small";
	} else if (arg2 < 500) {
		this->size = "middle";
	} else {
		this->size = "large";
	}
	this->bits = 0;
	while (arg2 >> this->bits) {
		this->bits++;
		if (this->bits > 9)
			break;
	}
	@[this->size, this->bits] = count();
}

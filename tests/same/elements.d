/*
 * Small structures as elements of arrays, byte by byte.
 *
 * Command: calls
 * Shows: 4 set ab
 */

union small {
	int number;
	char letters[2];
};

struct odd {
	char letters[3];
};

union small small[int];
struct odd odd[string, int];

syscall::lseek:entry
/pid == $target/
{
	this->s = (union small *)alloca(sizeof (union small));
	this->s->number = arg1 / 1000;
	small[arg1 / 1000] = *this->s;
	this->o = (struct odd *)alloca(sizeof (struct odd));
	this->o->letters[0] = 'a';
	this->o->letters[1] = 'b';
	odd["set", arg1 / 1000] = *this->o;
}

syscall::lseek:return
/pid == $target/
{
	printf("%d set %s\n", small[arg0 / 1000].number, stringof(odd["set", arg0 / 1000].letters));
}

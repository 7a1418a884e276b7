/*
 * Details of values that scripts compare: escapes in octal, addresses of links
 * in small letters, random numbers of 32 bits, a clock that goes on within a
 * clause where timestamp stands still.
 *
 * Command: true
 * Shows: a\\001b\\3771\\n \\310 00:5e:00:ab:0c:ff -1 1 1 0 1970
 */

long now;
int bits, negative, i;
char *link;

BEGIN
{
	link = (char *)alloca(8);
	link[1] = 0x5e;
	link[3] = 0xab;
	link[4] = 12;
	link[5] = -1;
	printf("%S %C %s ", "a\001b\3771\n", 200, link_ntop(1, link));
	for (i = 0; i < 300; i++) {
		this->n = rand();
		bits |= this->n;
		negative = negative || this->n < 0;
	}
	this->wall = walltimestamp;
	this->time = timestamp;
	now = walltimestamp;
	printf("%d %d %d %d %.4s\n", bits, negative, now > this->wall, timestamp - this->time, "1970");
}

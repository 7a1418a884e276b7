/*
 * Functions over the strings of a process.
 *
 * Command: calls
 * Shows: file.c
 */

syscall::mkdir:entry
/pid == $target && arg0 > 1/
{
	this->path = copyinstr(arg0, 100);
	printf("%s|%s|%s|%s|%d|%d|%s|%s\n", basename(this->path), dirname(this->path), cleanpath(this->path),
	    substr(this->path, 3, 8), index(this->path, "to"), rindex(this->path, "e"), strtok(this->path, "/"),
	    strtok(NULL, "/"));
}

syscall::setpriority:entry
/pid == $target/
{
	printf("%s %s %d %x %d\n", lltostr((int)arg1), lltostr(arg2), strlen("0x1f"), htonl(arg2), strlen(lltostr(arg2)));
}

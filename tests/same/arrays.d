/*
 * Arrays with keys of every kind.
 *
 * Command: calls
 * Shows: 2048 1 write large
 */

syscall::write:entry
/pid == $target && arg0 > 2/
{
	seen[arg2]++;
	seen[arg2] == 1 ? different++ : 0;
	last["size", arg0 > 2] = arg2;
	text[probefunc] = strjoin(probefunc, arg2 > 500 ? " large" : " small");
}

syscall::write:return
/pid == $target && seen[arg0] == 1 && different > 3/
{
	printf("%d %d %s\n", arg0, seen[arg0], text["write"]);
	seen[arg0] = 0;
}

END
{
	printf("%d %d [%s] %d\n", different, last["size", 1], text["none"] == NULL ? "null" : "set", seen[4096]);
}

/*
 * Signals that are ignored, and those that are waited for.
 *
 * Command: signals
 * Shows: signal-discard +12 +5
 */

proc:::signal-discard
/pid == $target && args[2] != SIGCHLD/
{
	@[probename, args[2]] = count();
}

proc:::signal-clear
/pid == $target/
{
	@[probename, args[0]] = count();
}

proc:::signal-handle
/pid == $target && args[0] != SIGCHLD/
{
	@handler[args[0]] = count();
}

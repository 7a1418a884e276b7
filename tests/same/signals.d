/*
 * Signals sent, handled and ignored.
 *
 * Command: signals
 * Shows: signal-handle +10 +7
 */

proc:::signal-send
/pid == $target && args[2] != SIGCHLD/
{
	@[probename, args[2]] = count();
}

proc:::signal-handle
/pid == $target && args[0] != SIGCHLD/
{
	@[probename, args[0]] = count();
}

syscall::kill:entry
/pid == $target/
{
	@["kill", arg1] = count();
}

/*
 * Addresses of user functions, by name.
 *
 * Command: stacks
 * Shows: stacks`inner
 */

syscall::getpgid:entry
/pid == $target/
{
	@where[usym(uregs[R_RIP]), umod(uregs[R_RIP]), uaddr(uregs[R_RIP])] = count();
	@caller[ufunc(ucaller)] = count();
}

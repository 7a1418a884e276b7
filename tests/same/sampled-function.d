/*
 * Samples of a function that takes its time: where they are, by its address.
 *
 * Command: market 400000000
 * Shows: sampled
 */

pid$target:a.out:spin:entry
{
	start = uregs[R_RIP];
}

profile-499
/pid == $target && start && arg1 >= start && arg1 < start + 64/
{
	hits++;
}

pid$target:a.out:spin:return
{
	printf("%s %d\n", hits > 3 ? "sampled" : "missed", arg1);
}

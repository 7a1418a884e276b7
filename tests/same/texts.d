/*
 * Texts changed and looked through.
 *
 * Command: calls
 * Shows: WRITE +write +31 +0x1f
 */

BEGIN
{
	answer = "{ \"user\": { \"name\": \"x\\\"y\", \"ids\": [ 7, -1.5e3, [ true ] ] }, \"last\": null }";
}

syscall::write:entry
/pid == $target && arg0 > 2/
{
	@[toupper(probefunc), tolower("WRITE"), strtoll(" 0x1F", 16), lltostr(31, 16)] = count();
	@sizes[lltostr(arg2, 2), lltostr(-(int64_t)arg2, 10), lltostr(arg2, 8), strtoll(lltostr(-arg2))] = count();
}

END
{
	printf("%s %s %s %s\n", json(answer, "user.name"), json(answer, "user.ids[1]"), json(answer, "user.ids[2][0]"),
	    json(answer, "user.ids"));
	printf("%d %d\n", json(answer, "user.ids[3]") == NULL, json(answer, "user.age") == NULL);
}

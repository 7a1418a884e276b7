/*
 * Inline values and a translator.
 *
 * Command: calls
 * Shows: 5 7 odd
 */

inline int LIMIT = 4;
inline string kind[int n] = n & 1 ? "odd" : "even";
typedef struct raw { int64_t offset; int64_t whence; } raw_t;
typedef struct shown { int64_t s_twice; string s_kind; } shown_t;
translator shown_t < raw_t *R > {
	s_twice = R->offset * 2;
	s_kind = R->whence ? "other" : "set";
};
syscall::lseek:entry
/pid == $target/
{
	this->raw = (raw_t *)alloca(sizeof (raw_t));
	this->raw->offset = arg1;
	this->raw->whence = arg2;
	printf("%d %s %d %s\n", xlate <shown_t *>(this->raw)->s_twice, xlate <shown_t *>(this->raw)->s_kind,
	    LIMIT, kind[arg1]);
}

syscall::lseek:entry
/pid == $target && ++n == LIMIT + 1/
{
	printf("%d %d %s\n", n, 7, kind[arg1]);
}

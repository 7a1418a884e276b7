/*
 * Types that programs for other systems name (sys/types.h of Solaris and its descendants).
 */

enum boolean { B_FALSE = 0, B_TRUE = 1 };
typedef enum boolean boolean_t;
typedef int64_t hrtime_t;

/* Installs the same filter with libseccomp, which makes it when the program starts. */
#include "timed.h"

#include <seccomp.h>

int main(int argc, char **argv)
{
	static const int allowed[] = {
		SCMP_SYS(read), SCMP_SYS(close), SCMP_SYS(lseek), SCMP_SYS(munmap),
		SCMP_SYS(brk), SCMP_SYS(futex), SCMP_SYS(rt_sigreturn), SCMP_SYS(exit_group),
	};
	uint64_t limit = argc == 3 ? strtoull(argv[2], NULL, 10) : 0;
	int64_t start = now();
	scmp_filter_ctx filter;

	if (limit == 0)
		return 1;
	filter = seccomp_init(SCMP_ACT_ERRNO(1));
	if (filter == NULL || seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1) != 0)
		return 1;
	for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++) {
		if (seccomp_rule_add(filter, SCMP_ACT_ALLOW, allowed[i], 0) != 0)
			return 1;
	}
	if (seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(write), 1, SCMP_A0_32(SCMP_CMP_EQ, 1)) != 0 ||
	    seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
			     SCMP_A1_64(SCMP_CMP_LE, limit)) != 0 ||
	    seccomp_load(filter) != 0)
		return 1;
	return report(start, argv[1]);
}

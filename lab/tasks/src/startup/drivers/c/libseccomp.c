/* Builds and installs the filter with libseccomp when the program starts. */
#include <stdlib.h>

#include "timed.h"

/* counted: policy */
#include <seccomp.h>

static int install_filter(uint32_t output, uint64_t limit)
{
	static const int allowed[] = {
		SCMP_SYS(read), SCMP_SYS(futex), SCMP_SYS(nanosleep), SCMP_SYS(clone), SCMP_SYS(rseq),
		SCMP_SYS(sigaltstack), SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn), SCMP_SYS(exit_group),
	};
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(1));

	if (filter == NULL || seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1) != 0)
		return -1;
	for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++) {
		if (seccomp_rule_add(filter, SCMP_ACT_ALLOW, allowed[i], 0) != 0)
			return -1;
	}
	if (seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(write), 1,
			     SCMP_A0_64(SCMP_CMP_MASKED_EQ, UINT32_MAX, output)) != 0 ||
	    seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
			     SCMP_A1_64(SCMP_CMP_LE, limit)) != 0)
		return -1;
	return seccomp_load(filter);
}
/* counted: end */

int main(int argc, char **argv)
{
	uint64_t limit = argc == 3 ? strtoull(argv[2], NULL, 10) : 0;
	int64_t start = timed_now();

	/* counted: start */
	if (install_filter(1, limit) != 0)
		return 1;
	/* counted: end */
	return timed_report(start, argv[1]);
}

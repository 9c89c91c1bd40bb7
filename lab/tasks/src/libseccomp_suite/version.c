/* Prints the version of the library. */
#include <seccomp.h>
#include <stdio.h>

int main(void)
{
	const struct scmp_version *version = seccomp_version();

	if (version == NULL)
		return 1;
	printf("%u.%u.%u\n", version->major, version->minor, version->micro);
	return 0;
}

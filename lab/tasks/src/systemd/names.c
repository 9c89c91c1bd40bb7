/* Prints those of the names on standard input that libseccomp does not know, or that an architecture lacks. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

int seccomp_syscall_resolve_name_arch(uint32_t arch, const char *name);

int main(void)
{
	/* x32 has the token of x86_64 without the bit for 64 bits. */
	static const uint32_t tokens[] = { 0xc000003e, 0x40000003, 0x4000003e };
	char name[256];

	while (fgets(name, sizeof(name), stdin)) {
		name[strcspn(name, "\n")] = 0;
		for (int arch = 0; arch < 3; arch++) {
			int number = seccomp_syscall_resolve_name_arch(tokens[arch], name);
			if (number < 0)
				printf("%d %d %s\n", arch, number, name);
		}
	}
	return 0;
}

/* Prints those of the names on standard input that libseccomp does not know. */
#include <stdio.h>
#include <string.h>

int seccomp_syscall_resolve_name(const char *name);

int main(void)
{
	char name[256];
	while (fgets(name, sizeof(name), stdin)) {
		name[strcspn(name, "\n")] = 0;
		if (seccomp_syscall_resolve_name(name) == -1)
			puts(name);
	}
	return 0;
}

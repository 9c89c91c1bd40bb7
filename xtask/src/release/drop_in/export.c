/* Writes a filter for aarch64 to standard output, and the path of the library that made it to standard error. */

#include <errno.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int add_rules(scmp_filter_ctx ctx)
{
	static const char *const allowed[] = { "read", "write", "openat", "close", "fstat", "mmap", "munmap", "brk", "exit_group" };
	int rc = 0;

	/* The numbers are those of the machine that this runs on, also for another one. */
	for (size_t i = 0; !rc && i < sizeof(allowed) / sizeof(*allowed); i++)
		rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, seccomp_syscall_resolve_name(allowed[i]), 0);
	for (unsigned int family = AF_UNIX; !rc && family <= AF_INET; family++)
		rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(socket), 1, SCMP_A0(SCMP_CMP_EQ, family));
	if (!rc)
		rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(personality), 1, SCMP_A0(SCMP_CMP_MASKED_EQ, 0xfffdfff7, 0));
	return rc;
}

static void print_library(void)
{
	char line[1024];
	FILE *maps = fopen("/proc/self/maps", "r");

	while (maps && fgets(line, sizeof(line), maps)) {
		char *path = strchr(line, '/');

		if (path && strstr(path, "libseccomp.so")) {
			fputs(path, stderr);
			break;
		}
	}
	if (maps)
		fclose(maps);
}

int main(void)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int rc = ctx ? 0 : -ENOMEM;

	print_library();
	if (!rc && seccomp_arch_native() != SCMP_ARCH_AARCH64) {
		rc = seccomp_arch_add(ctx, SCMP_ARCH_AARCH64);
		if (!rc)
			rc = seccomp_arch_remove(ctx, SCMP_ARCH_NATIVE);
	}
	if (!rc)
		rc = add_rules(ctx);
	if (!rc)
		rc = seccomp_export_bpf(ctx, STDOUT_FILENO);
	if (rc)
		fprintf(stderr, "export: %s\n", strerror(-rc));
	seccomp_release(ctx);
	return rc ? 1 : 0;
}

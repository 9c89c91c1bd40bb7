/* Reads a seccomp profile with LXC's own parser, and writes the program that LXC would install to standard output.
 * Built together with src/lxc/seccomp.c and src/lxc/string_utils.c of LXC. */
#include "config.h"

#include <seccomp.h>
#include <stdio.h>

#include "conf.h"
#include "log.h"
#include "lxcseccomp.h"

static int append(const struct lxc_log_appender *appender, struct lxc_log_event *event)
{
	(void)appender;
	vfprintf(stderr, event->fmt, *event->vap);
	fputc('\n', stderr);
	return 0;
}

static struct lxc_log_appender to_stderr = { .name = "stderr", .append = append };

/* What LXC's log expects of the rest of LXC. */
struct lxc_log_category lxc_log_category_lxc = { "lxc", LXC_LOG_LEVEL_ERROR, &to_stderr, NULL };
bool lxc_log_use_global_fd;
thread_local struct lxc_conf *current_config;

int main(int argc, char **argv)
{
	static struct lxc_conf conf;

	if (argc != 2)
		return 2;
	/* Read the profile even if this process has a filter. */
	conf.seccomp.allow_nesting = 1;
	conf.seccomp.seccomp = argv[1];
	if (lxc_read_seccomp_config(&conf) != 0)
		return 1;
	return seccomp_export_bpf(conf.seccomp.seccomp_ctx, 1) == 0 ? 0 : 2;
}

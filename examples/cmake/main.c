/* A program that may write to the descriptor of its controller only. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sandbox.h"

static void print(int fd, const char *text)
{
	if (write(fd, text, strlen(text)) < 0)
		_exit(1);
}

int main(void)
{
	const char *text = "to standard output: written\n";
	int controller = dup(1);

	if (controller < 0 || install_sandbox((uint32_t)controller) != 0) {
		perror("cannot install the filter");
		return 1;
	}
	if (write(1, "not printed\n", 12) < 0 && errno == EPERM)
		text = "to standard output: EPERM\n";
	print(controller, "to the controller: written\n");
	print(controller, text);
	return 0;
}

/* Installs the filter that Callgate emitted as C. */
#include <stdlib.h>

#include "timed.h"

/* counted: start */
#include "emitted.h"
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

/* Installs no filter: the cost of a process. */
#include <stdlib.h>

#include "timed.h"

int main(int argc, char **argv)
{
	uint64_t limit = argc == 3 ? strtoull(argv[2], NULL, 10) : 0;
	int64_t start = timed_now();

	if (limit == 0)
		return 1;
	return timed_report(start, argv[1]);
}

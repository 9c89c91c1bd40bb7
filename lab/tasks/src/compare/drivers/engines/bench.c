/* Measures filter() on inputs: main PROGRAM INPUTS
 *
 * PROGRAM is an array of sock_filter, for interpreters. INPUTS are little-endian words: the number of
 * inputs, then the length and the bytes of each; the first one is hot, the others are cold. Prints the
 * nanoseconds for the hot input, the mean for the cold ones, and a hash of all returned values. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

uint32_t filter(const uint8_t *input, uint32_t len);
int prepare(const uint8_t *program, size_t len);

struct input {
	const uint8_t *bytes;
	uint32_t len;
};

static uint8_t *read_all(const char *name, size_t *len)
{
	FILE *file = fopen(name, "rb");
	uint8_t *bytes;

	if (!file || fseek(file, 0, SEEK_END))
		exit(2);
	*len = ftell(file);
	rewind(file);
	bytes = malloc(*len + 1);
	if (!bytes || fread(bytes, 1, *len, file) != *len)
		exit(2);
	fclose(file);
	return bytes;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1e9 + time.tv_nsec;
}

/* The best of seven rounds of at least four milliseconds, as in callgate-measure. */
static double best(const struct input *inputs, uint32_t count)
{
	double least = 1e30;
	uint64_t turns = 1;

	for (int round = 0; round < 7;) {
		double start = now(), taken;

		for (uint64_t turn = 0; turn < turns; turn++) {
			for (uint32_t i = 0; i < count; i++) {
				uint32_t value = filter(inputs[i].bytes, inputs[i].len);

				__asm__ volatile("" : : "r"(value) : "memory");
			}
		}
		taken = now() - start;
		if (taken < 4e6) {
			turns *= 2;
			continue;
		}
		round++;
		if (taken / turns / count < least)
			least = taken / turns / count;
	}
	return least;
}

int main(int argc, char **argv)
{
	uint64_t hash = 0xcbf29ce484222325;
	size_t len, at = 4;
	uint32_t count;
	struct input *inputs;
	const uint8_t *all;

	if (argc != 3)
		return 2;
	all = read_all(argv[1], &len);
	if (prepare(all, len))
		return 3;
	all = read_all(argv[2], &len);
	memcpy(&count, all, 4);
	inputs = calloc(count, sizeof(*inputs));
	for (uint32_t i = 0; i < count; i++) {
		memcpy(&inputs[i].len, all + at, 4);
		inputs[i].bytes = all + at + 4;
		at += 4 + inputs[i].len;
		hash = (hash ^ filter(inputs[i].bytes, inputs[i].len)) * 0x100000001b3;
	}
	printf("%.3f %.3f %llu\n", best(inputs, 1), best(inputs + 1, count - 1),
	       (unsigned long long)hash);
	return 0;
}

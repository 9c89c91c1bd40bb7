/* Runs the compiled programs of a file on the inputs of that file, and writes the returned values.
 *
 * All numbers are little-endian words. The file contains the number of sets of inputs; for each set the
 * number of inputs, and for each input its length and its bytes; then for each program the index of its
 * set, whether it is for packets, the offsets of the network header and of the link layer header (64 bits
 * each; -1: none), the length of its code, and the code. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct input {
	uint32_t len;
	const uint8_t *bytes;
};

struct set {
	uint32_t count;
	struct input *inputs;
};

struct context {
	uint64_t (*answer)(const struct context *, uint32_t, uint32_t, uint32_t, uint32_t);
	struct input packet;
	uint64_t network, link;
};

static const uint64_t END = 1ull << 63;

static uint32_t rotl(uint32_t value, int by)
{
	return value << by | value >> (32 - by);
}

static uint64_t answer(const struct context *c, uint32_t offset, uint32_t kind, uint32_t a, uint32_t x)
{
	uint64_t start, value = 0;

	/* The callee may change all caller-saved registers. */
	__asm__ volatile("movi v16.16b, #0x55\n movi v17.16b, #0x55\n movi v18.16b, #0x55\n"
			 "movi v19.16b, #0x55\n movi v20.16b, #0x55\n movi v21.16b, #0x55\n"
			 "movi v22.16b, #0x55\n movi v23.16b, #0x55\n"
			 "mov x5, #0x55\n mov x6, #0x55\n mov x7, #0x55\n mov x8, #0x55\n"
			 "mov x9, #0x55\n mov x10, #0x55\n mov x11, #0x55\n mov x12, #0x55\n"
			 "mov x13, #0x55\n mov x14, #0x55\n mov x15, #0x55\n"
			 ::: "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "x5", "x6", "x7",
			 "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15");
	if (kind == 0)
		return offset ^ rotl(a, 7) ^ rotl(x, 19) ^ c->packet.len;
	if (!(offset >> 31))
		start = offset;
	else if (offset >= 0xfff00000 && !__builtin_add_overflow(c->network, offset - 0xfff00000, &start))
		;
	else if (offset >= 0xffe00000 && offset < 0xfff00000 && c->link != UINT64_MAX &&
		 !__builtin_add_overflow(c->link, offset - 0xffe00000, &start))
		;
	else
		return END;
	if (start > c->packet.len || c->packet.len - start < kind)
		return END;
	for (uint32_t at = 0; at < kind; at++)
		value = value << 8 | c->packet.bytes[start + at];
	return value;
}

static const uint8_t *at, *end;

static const uint8_t *take(uint64_t len)
{
	const uint8_t *here = at;

	if ((uint64_t)(end - at) < len)
		exit(3);
	at += len;
	return here;
}

static uint32_t word(void)
{
	uint32_t value;

	memcpy(&value, take(4), 4);
	return value;
}

static uint64_t two_words(void)
{
	uint64_t low = word();

	return low | (uint64_t)word() << 32;
}

/* Library calls are slow in emulation. */
static uint32_t values[1 << 16];
static size_t given;

static void flush(void)
{
	if (fwrite(values, sizeof(*values), given, stdout) != given || fflush(stdout))
		exit(5);
	given = 0;
}

struct program {
	uint32_t set, packets, size;
	uint64_t network, link;
	const uint8_t *code;
};

static struct program next(void)
{
	struct program program;

	program.set = word();
	program.packets = word();
	program.network = two_words();
	program.link = two_words();
	program.size = word();
	program.code = take(program.size);
	return program;
}

/* Aligns functions like compilers. */
static size_t room(uint32_t size)
{
	return ((size_t)size + 15) / 16 * 16;
}

static void run(const void *code, const struct program *program, const struct set *set)
{
	for (uint32_t i = 0; i < set->count; i++) {
		struct input input = set->inputs[i];
		struct context context = { answer, input, program->network, program->link };
		uint32_t value;

		if (program->packets) {
			uint32_t (*f)(const uint8_t *, uint64_t, const struct context *) = (void *)code;
			value = f(input.bytes, input.len, &context);
		} else {
			uint32_t (*f)(const uint8_t *) = (void *)code;
			value = f(input.bytes);
		}
		if (given == sizeof(values) / sizeof(*values))
			flush();
		values[given++] = value;
	}
}

int main(int argc, char **argv)
{
	FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
	char *memory;
	const uint8_t *programs;
	struct set *sets;
	size_t size, used;
	uint32_t count;
	uint8_t *all;
	long len;

	if (!file || fseek(file, 0, SEEK_END) || (len = ftell(file)) < 0)
		return 2;
	rewind(file);
	all = malloc(len);
	if (!all || fread(all, 1, len, file) != (size_t)len)
		return 2;
	at = all;
	end = all + len;
	count = word();
	sets = calloc(count, sizeof(*sets));
	for (uint32_t i = 0; i < count; i++) {
		sets[i].count = word();
		sets[i].inputs = calloc(sets[i].count, sizeof(struct input));
		for (uint32_t j = 0; j < sets[i].count; j++) {
			sets[i].inputs[j].len = word();
			sets[i].inputs[j].bytes = take(sets[i].inputs[j].len);
		}
	}
	/* All code is mapped at once, because an emulator discards translated code when protections change. */
	programs = at;
	size = 0;
	while (at < end)
		size += room(next().size);
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return 4;
	for (at = programs, used = 0; at < end;) {
		struct program program = next();

		memcpy(memory + used, program.code, program.size);
		used += room(program.size);
	}
	if (mprotect(memory, size, PROT_READ | PROT_EXEC))
		return 4;
	__builtin___clear_cache(memory, memory + size);
	for (at = programs, used = 0; at < end;) {
		struct program program = next();

		run(memory + used, &program, &sets[program.set]);
		used += room(program.size);
	}
	flush();
	return 0;
}

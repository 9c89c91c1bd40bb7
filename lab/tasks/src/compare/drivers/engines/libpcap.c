/* filter() by libpcap's interpreter. */
#include <pcap/pcap.h>
#include <stdint.h>
#include <stdio.h>

static const struct bpf_insn *insns;

int prepare(const uint8_t *program, size_t len)
{
	insns = (const struct bpf_insn *)program;
	fprintf(stderr, "%s\n", pcap_lib_version());
	return !bpf_validate(insns, len / sizeof(*insns));
}

uint32_t filter(const uint8_t *input, uint32_t len)
{
	return bpf_filter(insns, input, len, len);
}

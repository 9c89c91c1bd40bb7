// Example filters.

/** The examples: a title, the name of the file, and the text. */
export const examples = (about) => [
  { title: "container profile", name: "container-default.json", text: about.example },
  { title: "systemd unit", name: "example.service", text: UNIT },
  { title: "Kafel policy", name: "example.kafel", text: KAFEL },
  { title: "BPF program", name: "example.asm", text: PROGRAM },
];

const UNIT = `[Unit]
Description=An example

[Service]
ExecStart=/usr/bin/example
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources
SystemCallErrorNumber=EPERM
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6
MemoryDenyWriteExecute=yes
`;

const KAFEL = `// A worker that computes and answers over sockets.
POLICY files { ALLOW { read, write, close, fstat, lseek } }
POLICY memory { ALLOW { brk, munmap, mmap(addr, len, prot) { (prot & PROT_EXEC) == 0 } } }
POLICY network { ALLOW { socket(family, type) { family == AF_UNIX || family == AF_INET } } }
POLICY end { ALLOW { exit, exit_group, rt_sigreturn } }
USE files, memory, network, end
DEFAULT KILL
`;

const PROGRAM = `; Denies ptrace with EPERM, and allows all other syscalls.
  ld [4]
  jeq #0xc000003e, native, bad
native:
  ld [0]
  jge #0x40000000, bad, known
known:
  jeq #101, deny, good
deny:
  ret #0x00050001
good:
  ret #0x7fff0000
bad:
  ret #0x80000000
`;

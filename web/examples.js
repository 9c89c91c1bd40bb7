// Examples that teach: each is a state of the page, with what to see in the answer.

/** The examples: a title, what it shows, and what the controls contain. The first one is shown to whoever comes first. */
export const EXAMPLES = [
  {
    title: "Container profile",
    lesson: "A profile for a web server with two mistakes: it lets a process trace others and change mounts. The first sentences and the list of dangerous syscalls say so, and a test fails.",
    state: { view: "explanation", name: "web.json", tests: `# What must stay true, whoever edits the profile.
openat = allow
socket(AF_INET) = allow
socket(AF_ALG) = deny
ptrace = EPERM
`, text: `{
  "defaultAction": "SCMP_ACT_ERRNO",
  "defaultErrnoRet": 1,
  "architectures": ["SCMP_ARCH_X86_64"],
  "syscalls": [
    {
      "names": [
        "accept4", "bind", "brk", "clock_nanosleep", "close", "connect", "dup", "epoll_create1", "epoll_ctl",
        "epoll_pwait", "exit", "exit_group", "fcntl", "fstat", "futex", "getdents64", "getpid", "getrandom",
        "listen", "lseek", "madvise", "mmap", "mprotect", "munmap", "newfstatat", "openat", "pipe2", "prctl",
        "pread64", "read", "readv", "recvfrom", "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sendfile",
        "sendto", "set_robust_list", "setsockopt", "shutdown", "sigaltstack", "write", "writev"
      ],
      "action": "SCMP_ACT_ALLOW"
    },
    {
      "names": ["socket"],
      "action": "SCMP_ACT_ALLOW",
      "args": [{ "index": 0, "value": 2, "op": "SCMP_CMP_EQ" }]
    },
    {
      "names": ["mount", "ptrace"],
      "action": "SCMP_ACT_ALLOW"
    }
  ]
}
` },
  },
  {
    title: "Blocked service",
    lesson: "A unit, and the line of the kernel's log after the service was killed. The answer names the rule, and Apply allows this syscall and nothing else, with a proof.",
    state: { view: "denied", name: "worker.service", text: `[Unit]
Description=A worker

[Service]
ExecStart=/usr/bin/worker
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources
`, log: `audit: type=1326 audit(1764500000.123:42): auid=4294967295 uid=992 gid=992 ses=4294967295 subj=unconfined pid=1234 comm="worker" exe="/usr/bin/worker" sig=31 arch=c000003e syscall=203 compat=0 ip=0x7f3a1c2d4e5f code=0x80000000
` },
  },
  {
    title: "Docker's default",
    lesson: "A name in place of a text: the profile that Docker has built in. So are containerd-default, podman-default, crio-default, flatpak-default and snapd-default, and versions such as docker-default@28. Compare takes names as well.",
    state: { view: "explanation", name: "", text: "docker-default\n" },
  },
  {
    title: "Policy with a mistake",
    lesson: "The policy keeps out ioctl(TIOCSTI), which types for others, but compares 64 bits where the kernel reads 32: with a higher bit set, the call passes. Check shows such a call and the place. Another finding has a change to apply.",
    state: { view: "findings", name: "terminal.policy", tests: "ioctl(_, TIOCSTI) = deny\nioctl(_, TCGETS) = allow\n", text: `# A program in a terminal.
read: 1
write: 1
close: 1
ioctl: arg1 != TIOCSTI
exit: 1
exit_group: 1
rt_sigreturn: 1
` },
  },
  {
    title: "Slow program",
    lesson: "A program that compares numbers one after the other. Optimize shows the same function as a search tree: fewer instructions for each syscall, proved equal.",
    state: { view: "program", name: "slow.asm", text: `; Allows what a small program needs, and answers EPERM to the rest.
  ld [4]
  jeq #0xc000003e, native, bad
native:
  ld [0]
  jge #0x40000000, bad, known
known:
  jeq #0, good      ; read
  jeq #1, good      ; write
  jeq #3, good      ; close
  jeq #5, good      ; fstat
  jeq #8, good      ; lseek
  jeq #9, good      ; mmap
  jeq #10, good     ; mprotect
  jeq #11, good     ; munmap
  jeq #12, good     ; brk
  jeq #13, good     ; rt_sigaction
  jeq #15, good     ; rt_sigreturn
  jeq #60, good     ; exit
  jeq #202, good    ; futex
  jeq #231, good    ; exit_group
  jeq #257, good    ; openat
  jeq #318, good    ; getrandom
  ret #0x00050001
good:
  ret #0x7fff0000
bad:
  ret #0x80000000
` },
  },
  {
    title: "Two versions",
    lesson: "A change that looks harmless. Compare says which syscalls it adds, and which of them a reviewer must look at first.",
    state: { view: "compare", name: "after.kafel", beforeName: "before.kafel", before: `ALLOW {
  read, write, close, exit_group, openat,
  socket(family) { family == AF_UNIX }
}
DEFAULT ERRNO(1)
`, text: `ALLOW {
  read, write, close, exit_group, openat,
  socket, bpf
}
DEFAULT ERRNO(1)
` },
  },
];

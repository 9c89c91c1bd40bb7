"""Profiles for tests."""

SMALL = """{
  "defaultAction": "SCMP_ACT_ERRNO",
  "syscalls": [
    {"names": ["read", "write"], "action": "SCMP_ACT_ALLOW"},
    {"names": ["personality"], "action": "SCMP_ACT_ALLOW", "args": [{"index": 0, "value": 8, "op": "SCMP_CMP_EQ"}]}
  ]
}"""

# Allows everything except getppid, which fails with EXDEV.
DENY_GETPPID = """{"defaultAction": "SCMP_ACT_ALLOW",
  "syscalls": [{"names": ["getppid"], "action": "SCMP_ACT_ERRNO", "errnoRet": 18}]}"""

# With a syscall that lint warns about.
WITH_PTRACE = SMALL.replace('"read"', '"read", "ptrace"')

# A program that loads the number twice.
LONG = [(0x20, 0, 0, 0), (0x15, 2, 0, 39), (0x20, 0, 0, 0), (0x15, 0, 1, 40), (6, 0, 0, 0x7FFF0000), (6, 0, 0, 0)]

# Makes tests independent of the machine.
HERE = {"machine": "x86_64", "kernel": "6.12"}

// What the page is asked first: the functions that answer it are in the first part of the module, see split.mjs.

import { readFileSync } from "node:fs";
import { EXAMPLES } from "./examples.js";
import { requestOf, setNewest } from "./request.js";

/** The controls of a page that is new. */
const NEW = {
  text: "", before: "", log: "", tests: "", format: "", machine: "x86_64", arches: "", kernel: "", systemd: "", caps: "", runtime: "",
  libseccomp: "", enosys: "", minijail: "", set: "", to: "", call: "", "call-arch": "", closest: false, view: "explanation",
};

/** A long profile with conditions. */
const LONG = readFileSync(new URL("../crates/callgate-formats/profiles/container-default.json", import.meta.url), "utf8");

const PROFILE = `# A profile.
defaultAction: SCMP_ACT_ERRNO
archMap:
  - architecture: SCMP_ARCH_X86_64
    subArchitectures: [SCMP_ARCH_X86, SCMP_ARCH_X32]
syscalls:
  - names: [read, write, exit_group, futex]
    action: SCMP_ACT_ALLOW
  - names: [clone]
    action: SCMP_ACT_ALLOW
    args: [{index: 0, value: 2114060288, valueTwo: 0, op: SCMP_CMP_MASKED_EQ}]
    excludes: {caps: [CAP_SYS_ADMIN]}
`;

const UNIT = `# A service.
[Unit]
Description=A worker

[Service]
Type=notify
ExecStart=/usr/bin/worker
SystemCallFilter=@system-service
SystemCallFilter=~@resources @privileged ptrace
SystemCallErrorNumber=EPERM
RestrictAddressFamilies=AF_UNIX AF_INET
MemoryDenyWriteExecute=yes
RestrictRealtime=yes
RestrictNamespaces=yes
LockPersonality=yes
`;

const CONTAINER = `"ociVersion": "1.1.0", "process": {"args": ["/a"]}, "linux": {"seccomp": {"defaultAction": "SCMP_ACT_ERRNO",
  "architectures": ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86"], "flags": ["SECCOMP_FILTER_FLAG_LOG"], "syscalls": [
    {"names": ["read", "clone3", "mount"], "action": "SCMP_ACT_ALLOW"},
    {"names": ["kill"], "action": "SCMP_ACT_ERRNO", "errnoRet": 38},
    {"names": ["personality"], "action": "SCMP_ACT_ALLOW", "args": [{"index": 0, "value": 8, "op": "SCMP_CMP_NE"}]}]}}`;

const POD = `apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  securityContext:
    seccompProfile:
      type: Localhost
      localhostProfile: profiles/a.json
  containers:
    - name: b
      securityContext:
        seccompProfile: {type: RuntimeDefault}
`;

/** Texts that people paste, in the first field. Programs in C and what calls libseccomp wait for the second part. */
const TEXTS = [
  LONG,
  PROFILE,
  UNIT,
  `{${CONTAINER}}`,
  POD,
  '[{"Id": "3f2c9be1f0d2", "Name": "/a", "HostConfig": {"CapAdd": ["SYS_ADMIN"], "SecurityOpt": null}}]',
  '[{"Id": "3f2c9be1f0d2", "HostConfig": {"SecurityOpt": ["seccomp={\\"defaultAction\\":\\"SCMP_ACT_ALLOW\\"}"]}}]',
  "services:\n  a:\n    image: b\n    security_opt:\n      - seccomp:./a.json\n",
  "docker run --security-opt seccomp=unconfined a\n",
  "Name:\ta\nPid:\t7\nSeccomp:\t2\n",
  "// A sandbox.\n#define FD 2\nPOLICY a {\n  ALLOW { read, write(fd) { (fd & 3) == FD || fd > 4 } },\n  KILL { execve }\n}\nUSE a DEFAULT ERRNO(1)\n",
  "read: 1\nsocket: arg0 == AF_UNIX || arg0 == AF_INET; return 1\n",
  "00000000  20 00 00 00 04 00 00 00  15 00 00 01 3e 00 00 c0  |............>...|\n00000010  06 00 00 00 00 00 ff 7f  06 00 00 00 00 00 00 00  |................|\n00000020\n",
  " line  CODE  JT   JF      K\n=================================\n 0000: 0x20 0x00 0x00 0x00000000  A = sys_number\n 0001: 0x15 0x00 0x01 0x0000003b  if (A != execve) goto 0003\n 0002: 0x06 0x00 0x00 0x00000000  return KILL\n 0003: 0x06 0x00 0x00 0x7fff0000  return ALLOW\n",
  // What is wrong while somebody types.
  '{ "defaultAction": "SCMP_ACT_ERRN", "syscalls": [',
  '{ "defaultAction": "SCMP_ACT_ERRNO", "syscalls": [{"names": ["raed"], "action": "SCMP_ACT_ALLOW"}]}',
  "ALLOW { raed }",
  "[Service]\nSystemCallFilter=@system-servic raed\n",
  "docker-default",
  "podman-default@5.8",
];

/** Texts that are no filters, in the first field and in that of logs. */
const LOGS = [
  'type=SECCOMP msg=audit(1.2:3): auid=0 uid=0 gid=0 ses=1 pid=7 comm="a" exe="/a" sig=31 arch=c000003e syscall=165 compat=0 ip=0x7f code=0x0\n',
  'Nov 30 22:14:09 a kernel: audit: type=1326 audit(1.5:1): auid=1 uid=1 gid=1 ses=4 pid=8 comm="a" exe="/a" sig=0 arch=40000003 syscall=135 compat=1 ip=0x7f code=0x50000\n',
  '7 unshare(CLONE_NEWUSER) = -1 EPERM (Operation not permitted)\n7 openat(AT_FDCWD, "/a", O_RDONLY) = 3\n7 --- SIGSYS {si_signo=SIGSYS, si_code=SYS_SECCOMP, si_call_addr=0x7f, si_syscall=__NR_mount, si_arch=AUDIT_ARCH_X86_64} ---\n7 +++ killed by SIGSYS +++\n',
  "a.service: Main process exited, code=killed, status=31/SYS\n",
  "a[7]: pthread_create: Operation not permitted\n",
  "mount: /mnt: permission denied.\n",
  "why is it blocked?\n",
];

const states = [
  ...EXAMPLES.map(({ state }) => ({ ...state, view: "explanation" })),
  ...TEXTS.map((text) => ({ text })),
  ...LOGS.flatMap((log) => [{ text: log }, { log, view: "denied" }]),
];

/** Requests, as the page makes them; `systemd` is the newest version that the module knows. */
export function usual(systemd) {
  setNewest(systemd);
  return states.map((state) => {
    const { missing, ...request } = requestOf({ ...NEW, name: "", beforeName: "", ...state });
    return JSON.stringify(request);
  });
}

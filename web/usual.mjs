// What the page is asked first: the functions that answer it are in the first part of the module, see split.mjs.

import { EXAMPLES } from "./examples.js";
import { requestOf } from "./request.js";

/** The controls of a page that is new. */
const NEW = {
  text: "", before: "", log: "", tests: "", format: "", machine: "x86_64", arches: "", kernel: "", systemd: "", caps: "", runtime: "",
  libseccomp: "", enosys: "", minijail: "", set: "", to: "", call: "", "call-arch": "", closest: false, view: "explanation",
};

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

/** Texts that people paste, in the first field. */
const TEXTS = [
  PROFILE,
  "[Service]\nSystemCallFilter=@system-service\nSystemCallFilter=~@resources\nSystemCallErrorNumber=EPERM\nRestrictAddressFamilies=AF_UNIX\n",
  "POLICY a {\n  ALLOW { read, write { (fd & 3) == 1 } }\n}\nUSE a DEFAULT ERRNO(1)\n",
  "read: 1\nsocket: arg0 == AF_UNIX || arg0 == AF_INET; return 1\n",
  "00000000  20 00 00 00 04 00 00 00  06 00 00 00 00 00 ff 7f  |................|\n",
  // What is wrong while somebody types.
  '{ "defaultAction": "SCMP_ACT_ERRN", "syscalls": [',
  "ALLOW { raed }",
  "hello",
  "docker-default",
];

const LOGS = [
  'type=SECCOMP msg=audit(1.2:3): auid=0 uid=0 gid=0 ses=1 pid=7 comm="a" exe="/a" sig=31 arch=c000003e syscall=165 compat=0 ip=0x7f code=0x0\n',
  "7 unshare(CLONE_NEWUSER) = -1 EPERM (Operation not permitted)\n7 getpid() = 7\n",
];

const states = [
  ...EXAMPLES.flatMap(({ state }) => [state, { ...state, view: "explanation" }, { ...state, view: "findings" }]),
  ...TEXTS.map((text) => ({ text })),
  ...LOGS.flatMap((log) => [{ text: log }, { log, view: "denied" }]),
];

/** Requests, as the page makes them. */
export const USUAL = states.map((state) => {
  const { missing, ...request } = requestOf({ ...NEW, name: "", beforeName: "", ...state });
  return JSON.stringify(request);
});

# The configuration of a container from that of `runc spec`: with a profile in Docker's form ($profile[0]) for $architecture, in
# the words of Debian and Docker, and with Docker's capabilities. The program of the container tries what only an argument
# tells from what is allowed: a new user namespace.

["AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "NET_RAW", "SETFCAP",
  "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"] as $short
| ($short | map("CAP_" + .)) as $capabilities
| {
    amd64: ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"],
    arm64: ["SCMP_ARCH_AARCH64", "SCMP_ARCH_ARM"]
  } as $architectures
| def applies:
    ((.includes.caps // []) - $capabilities == [])
    and ((.includes.arches // [$architecture]) | index($architecture) != null)
    and ((.excludes.caps // []) - ((.excludes.caps // []) - $capabilities) == [])
    and ((.excludes.arches // []) | index($architecture) == null);
.process.terminal = false
| .process.args = ["/bin/sh", "-c",
    "exec 2>&1; grep Seccomp: /proc/self/status; unshare -U true; unshare true && echo ended"]
| .process.capabilities |= with_entries(.value = $capabilities)
| .root.path = "rootfs"
| del(.linux.resources)
| .linux.seccomp = {
    defaultAction: $profile[0].defaultAction,
    defaultErrnoRet: $profile[0].defaultErrnoRet,
    architectures: ($architectures[$architecture] // error("\($architecture): unknown architecture")),
    syscalls: [$profile[0].syscalls[] | select(applies)
      | {names, action} + (if .args then {args} else {} end) + (if .errnoRet then {errnoRet} else {} end)]
  }

//! The guests: Debian kernels and emulated machines.
//!
//! These machine types boot the kernels reliably; x86's `microvm` hangs occasionally. Unnecessary devices are
//! disabled.

use callgate::Arch;
use callgate_bpf::syscalls::KernelVersion;

/// An emulated machine.
#[derive(Debug)]
pub(super) struct Machine {
    /// Debian's name for the architecture.
    pub(super) name: &'static str,
    pub(super) arch: Arch,
    /// A second ABI of its kernel: i386 on x86-64.
    pub(super) other: Option<Arch>,
    pub(super) compiler: &'static str,
    /// The packages of the compiler and the C library.
    pub(super) compiler_packages: &'static str,
    pub(super) emulator: &'static str,
    pub(super) emulator_package: &'static str,
    pub(super) options: &'static [&'static str],
    /// The kernel's command line.
    pub(super) command_line: &'static str,
    /// Whether to unpack the kernel, because the emulator starts an ELF file faster.
    pub(super) unpacks: bool,
}

/// A kernel on a machine.
#[derive(Debug)]
pub(super) struct Guest {
    pub(super) version: KernelVersion,
    /// Debian's release.
    pub(super) suite: &'static str,
    /// The metapackage that depends on the newest kernel.
    pub(super) package: &'static str,
    pub(super) machine: &'static Machine,
    /// Whether the kernel has a JIT compiler.
    pub(super) has_jit: bool,
}

static AMD64: Machine = Machine {
    name: "amd64",
    arch: Arch::X86_64,
    other: Some(Arch::X86),
    compiler: "x86_64-linux-gnu-gcc",
    compiler_packages: "gcc libc6-dev",
    emulator: "qemu-system-x86_64",
    emulator_package: "qemu-system-x86",
    options: &["-M", "pc", "-cpu", "max", "-serial", "stdio"],
    command_line: "console=ttyS0 reboot=t tsc=reliable",
    unpacks: true,
};

static ARM64: Machine = Machine {
    name: "arm64",
    arch: Arch::Aarch64,
    other: None,
    compiler: "aarch64-linux-gnu-gcc",
    compiler_packages: "gcc-aarch64-linux-gnu libc6-dev-arm64-cross",
    emulator: "qemu-system-aarch64",
    emulator_package: "qemu-system-arm",
    options: &["-M", "virt,gic-version=3", "-cpu", "max,pauth-impdef=on", "-serial", "stdio"],
    command_line: "console=ttyAMA0",
    unpacks: false,
};

static S390X: Machine = Machine {
    name: "s390x",
    arch: Arch::S390x,
    other: None,
    compiler: "s390x-linux-gnu-gcc",
    compiler_packages: "gcc-s390x-linux-gnu libc6-dev-s390x-cross",
    emulator: "qemu-system-s390x",
    emulator_package: "qemu-system-misc",
    options: &["-cpu", "max", "-chardev", "stdio,id=c", "-device", "sclpconsole,chardev=c"],
    command_line: "",
    unpacks: false,
};

/// All guests, in the order of the tables.
pub(super) static GUESTS: [Guest; 6] = [
    Guest {
        version: KernelVersion { major: 5, minor: 10 },
        suite: "bullseye",
        package: "linux-image-cloud-amd64",
        machine: &AMD64,
        has_jit: true,
    },
    Guest {
        version: KernelVersion { major: 6, minor: 1 },
        suite: "bookworm",
        package: "linux-image-cloud-amd64",
        machine: &AMD64,
        has_jit: true,
    },
    Guest {
        version: KernelVersion { major: 6, minor: 12 },
        suite: "trixie",
        package: "linux-image-cloud-amd64",
        machine: &AMD64,
        has_jit: true,
    },
    Guest {
        version: KernelVersion { major: 6, minor: 12 },
        suite: "trixie",
        package: "linux-image-cloud-arm64",
        machine: &ARM64,
        has_jit: true,
    },
    Guest {
        version: KernelVersion { major: 6, minor: 1 },
        suite: "bookworm",
        package: "linux-image-s390x",
        machine: &S390X,
        has_jit: false,
    },
    Guest {
        version: KernelVersion { major: 6, minor: 12 },
        suite: "trixie",
        package: "linux-image-s390x",
        machine: &S390X,
        has_jit: false,
    },
];

impl Guest {
    /// Its name in the tables.
    pub(super) fn name(&self) -> String {
        format!("{} {}", self.version, self.machine.name)
    }

    /// Its name with the mode of running programs.
    pub(super) fn name_with(&self, jit: bool) -> String {
        let how = if jit { "" } else { ", interpreter" };
        self.name() + how
    }

    /// The modes to measure: with the JIT compiler, without it, or both.
    pub(super) fn modes(&self) -> &'static [bool] {
        if self.has_jit { &[true, false] } else { &[false] }
    }

    /// Whether the kernel caches the verdicts of always-allowed syscalls (since Linux 5.11).
    pub(super) fn has_cache(&self) -> bool {
        self.version >= KernelVersion { major: 5, minor: 11 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guests_are_told_apart_by_their_names() {
        let mut names: Vec<String> = GUESTS.iter().map(Guest::name).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), GUESTS.len());
    }

    #[test]
    fn the_cache_is_newer_than_5_10() {
        let without = GUESTS.iter().filter(|guest| !guest.has_cache()).map(Guest::name);
        assert_eq!(without.collect::<Vec<_>>(), ["5.10 amd64"]);
    }
}

//! Random structured profiles by seed, biased towards what programs read differently.
//!
//! A profile is a JSON tree, so that the text can have equal keys and keys in another case, and
//! [`crate::shrink`] can remove parts. It may be invalid.

use crate::json::Json;
use crate::machine::{Machine, known_names, multiplexed_names};
use crate::rng::{OneOf, Rng};
use crate::runtime::{Dialect, Host, Runc};

/// A profile, and the host that installs it.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The host.
    pub host: Host,
    /// The profile.
    pub profile: Json,
}

/// Architectures that one machine supports, the native one first.
#[rustfmt::skip]
const FAMILIES: [(&str, &[&[Machine]]); 6] = [
    ("x86", &[&[Machine::X86_64, Machine::X86, Machine::X32], &[Machine::X86]]),
    ("arm", &[&[Machine::Aarch64, Machine::Arm], &[Machine::Arm]]),
    ("mips", &[
        &[Machine::Mips64, Machine::Mips, Machine::Mips64n32],
        &[Machine::Mipsel64, Machine::Mipsel, Machine::Mipsel64n32],
        &[Machine::Mips], &[Machine::Mipsel],
    ]),
    ("s390", &[&[Machine::S390x, Machine::S390], &[Machine::S390]]),
    ("power", &[&[Machine::Ppc64le], &[Machine::Ppc64, Machine::Ppc], &[Machine::Ppc]]),
    ("riscv and loongarch", &[&[Machine::Riscv64], &[Machine::Loongarch64]]),
];

const ACTIONS: [&str; 9] = [
    "SCMP_ACT_ALLOW",
    "SCMP_ACT_ERRNO",
    "SCMP_ACT_KILL",
    "SCMP_ACT_KILL_PROCESS",
    "SCMP_ACT_KILL_THREAD",
    "SCMP_ACT_LOG",
    "SCMP_ACT_NOTIFY",
    "SCMP_ACT_TRACE",
    "SCMP_ACT_TRAP",
];
const OPS: [&str; 7] = [
    "SCMP_CMP_EQ",
    "SCMP_CMP_GE",
    "SCMP_CMP_GT",
    "SCMP_CMP_LE",
    "SCMP_CMP_LT",
    "SCMP_CMP_MASKED_EQ",
    "SCMP_CMP_NE",
];
const FLAGS: [&str; 3] = [
    "SECCOMP_FILTER_FLAG_LOG",
    "SECCOMP_FILTER_FLAG_SPEC_ALLOW",
    "SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV",
];
const CAPS: [&str; 6] =
    ["CAP_SYS_ADMIN", "CAP_BPF", "CAP_CHOWN", "CAP_NET_RAW", "CAP_SYS_PTRACE", "CAP_SYS_CHROOT"];
const KERNELS: [(u16, u16); 6] = [(3, 10), (4, 8), (4, 19), (5, 9), (5, 10), (6, 18)];
const ERRNOS: [u64; 12] = [0, 1, 1, 2, 13, 22, 38, 89, 4094, 4095, 65535, 65574];
const ERRNO_NAMES: [&str; 8] =
    ["EPERM", "ENOENT", "EINVAL", "ENOSYS", "13", "65574", "", "ENOTANERRNO"];
const NAMES: [&str; 12] = [
    "clone",
    "ioctl",
    "personality",
    "socket",
    "prctl",
    "clock_gettime64",
    "read",
    "arm_fadvise64_64",
    "semop",
    "execve",
    "openat2",
    "getuid32",
];

/// The case with this number.
pub fn case(seed: u64, number: u64) -> Case {
    let mut rng = Rng::new(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ number);
    let dialect = rng.one_of(&Dialect::ALL);
    let groups = rng.one_of(&FAMILIES).1;
    let group = rng.one_of(groups);
    case_for(&mut rng, dialect, group)
}

/// The family of architectures that a machine belongs to.
pub fn family(machine: Machine) -> &'static str {
    let of =
        |(_, groups): &&(&str, &[&[Machine]])| groups.iter().any(|group| group.contains(&machine));
    FAMILIES.iter().find(of).map_or("none", |(name, _)| name)
}

/// The architectures that a machine supports, the native one first.
pub fn group(native: Machine) -> &'static [Machine] {
    let groups = FAMILIES.into_iter().flat_map(|(_, groups)| groups);
    groups.copied().find(|group| group.first() == Some(&native)).unwrap_or(&[Machine::X86_64])
}

/// A case for these architectures, the native one first.
pub fn case_for(rng: &mut Rng, dialect: Dialect, group: &[Machine]) -> Case {
    let caps = CAPS.into_iter().filter(|_| rng.one_in(2)).collect();
    let host = Host {
        dialect,
        native: group[0],
        caps,
        kernel: rng.one_of(&KERNELS),
        runc: if rng.one_in(3) { Runc::Listed } else { Runc::All },
    };
    let mut generator =
        Generator { odd: rng.one_in(8), rng, group, dialect, pool: Vec::new(), values: Vec::new() };
    generator.prepare();
    let profile = generator.profile();
    Case { host, profile }
}

struct Generator<'a> {
    rng: &'a mut Rng,
    group: &'a [Machine],
    dialect: Dialect,
    /// Whether the text may have equal keys, keys in another case, and `null`.
    odd: bool,
    /// Few names and values, so that entries interact.
    pool: Vec<String>,
    values: Vec<u64>,
}

type Members = Vec<(String, Json)>;

fn add(members: &mut Members, key: &str, value: Json) {
    members.push((key.to_owned(), value));
}

impl Generator<'_> {
    fn prepare(&mut self) {
        let all: Vec<&str> = known_names().iter().copied().collect();
        let multiplexed: Vec<&str> = multiplexed_names().collect();
        for _ in 0..1 + self.rng.below(8) {
            let machine = self.rng.one_of(self.group);
            let name = match self.rng.below(12) {
                0..=4 => self.rng.one_of(machine.table()).0,
                5 | 6 => self.rng.one_of(&multiplexed),
                7 | 8 => self.rng.one_of(&NAMES),
                9 => self.rng.one_of(&["socketcall", "ipc"]),
                10 => self.rng.one_of(&all),
                _ => self.rng.one_of(&["no_such_call", "Read", "openat3"]),
            };
            self.pool.push(name.to_owned());
        }
        for _ in 0..1 + self.rng.below(5) {
            let value = self.value();
            self.values.push(value);
        }
    }

    fn value(&mut self) -> u64 {
        let small = self.rng.below(12) as u64;
        let rng = &mut *self.rng;
        match rng.below(10) {
            0..=4 => small,
            5 => 1 << rng.below(64),
            6 => small << 32 | rng.below(4) as u64,
            7 => (1u64 << rng.below(63)).wrapping_sub(1 + rng.below(2) as u64),
            8 => rng.one_of(&[
                u64::MAX,
                0xffff_ffff,
                0x1_0000_0000,
                0x7fff_ffff,
                0x8000_0000,
                1 << 63,
            ]),
            _ => rng.next(),
        }
    }

    fn profile(&mut self) -> Json {
        let mut members = Members::new();
        let default = match self.rng.below(8) {
            0..=3 => "SCMP_ACT_ERRNO",
            4 | 5 => self.rng.one_of(&["SCMP_ACT_ALLOW", "SCMP_ACT_LOG", "SCMP_ACT_KILL"]),
            6 => self.rng.one_of(&ACTIONS),
            _ => "SCMP_ACT_KILL_PROCESS",
        };
        if !(self.odd && self.rng.one_in(40)) {
            add(&mut members, "defaultAction", Json::string(default));
        }
        let takes_errno = matches!(default, "SCMP_ACT_ERRNO" | "SCMP_ACT_TRACE");
        if self.rng.one_in(if takes_errno { 3 } else { 20 }) {
            self.errno(&mut members, "defaultErrnoRet", "defaultErrno");
        }
        self.architectures(&mut members);
        if self.rng.one_in(8) {
            add(
                &mut members,
                "flags",
                Json::strings(FLAGS.into_iter().filter(|_| self.rng.one_in(2))),
            );
        }
        if !self.rng.one_in(40) {
            let count = self.rng.below(7);
            let entries: Vec<Json> = (0..count).map(|_| self.entry(default)).collect();
            add(&mut members, "syscalls", Json::Array(entries));
        }
        add(&mut members, "listenerPath", Json::string("/run/agent.sock"));
        self.disturb(&mut members);
        Json::Object(members)
    }

    fn errno(&mut self, members: &mut Members, number: &str, name: &str) {
        if self.dialect == Dialect::Podman && self.rng.one_in(2) {
            add(members, name, Json::string(self.rng.one_of(&ERRNO_NAMES)));
            if self.rng.one_in(2) {
                return;
            }
        }
        let value =
            if self.rng.one_in(3) { self.rng.one_of(&ERRNOS) } else { self.rng.below(40) as u64 };
        add(members, number, Json::Number(value));
    }

    fn architectures(&mut self, members: &mut Members) {
        let mut names: Vec<String> = Vec::new();
        for machine in self.group {
            if self.rng.one_in(2) {
                names.push(machine.oci_name());
            }
        }
        if self.rng.one_in(3) {
            names.reverse();
        }
        if self.rng.one_in(60) {
            let strange = [
                String::new(),
                "SCMP_ARCH_VAX".to_owned(),
                self.rng.one_of(&Machine::ALL).oci_name(),
            ];
            names.push(self.rng.one_of(&strange));
        }
        let list = Json::strings(names.iter().map(String::as_str));
        let with_map =
            matches!(self.dialect, Dialect::Docker | Dialect::Podman) && self.rng.one_in(2);
        if with_map {
            let mut rows = Vec::new();
            let others = [Machine::X86_64, Machine::Aarch64, Machine::S390x, Machine::Ppc64le];
            for machine in others.iter().chain(self.group.first()) {
                if self.rng.one_in(4) && *machine != self.group[0] || self.rng.one_in(2) {
                    let own = if *machine == self.group[0] {
                        list.clone()
                    } else {
                        Json::strings(["SCMP_ARCH_ARM"])
                    };
                    rows.push(Json::Object(vec![
                        ("architecture".to_owned(), Json::string(&machine.oci_name())),
                        ("subArchitectures".to_owned(), own),
                    ]));
                }
            }
            add(members, "archMap", Json::Array(rows));
        }
        if self.rng.one_in(if with_map { 20 } else { 2 }) {
            add(members, "architectures", list);
        }
    }

    fn entry(&mut self, default: &str) -> Json {
        let mut members = Members::new();
        let old_form =
            matches!(self.dialect, Dialect::Docker | Dialect::Podman) && self.rng.one_in(8);
        if old_form {
            add(&mut members, "name", Json::string(&self.rng.one_of(&self.pool)));
        }
        if !old_form || self.rng.one_in(10) {
            let count = if self.rng.one_in(40) { 0 } else { 1 + self.rng.below(3) };
            let names: Vec<String> = (0..count).map(|_| self.rng.one_of(&self.pool)).collect();
            add(&mut members, "names", Json::strings(names.iter().map(String::as_str)));
        }
        let action = match self.rng.below(6) {
            0 => default,
            1..=3 => "SCMP_ACT_ALLOW",
            4 if self.rng.one_in(40) => "SCMP_ACT_NONE",
            _ => self.rng.one_of(&ACTIONS),
        };
        add(&mut members, "action", Json::string(action));
        let takes_errno = matches!(action, "SCMP_ACT_ERRNO" | "SCMP_ACT_TRACE");
        if self.rng.one_in(if takes_errno { 2 } else { 40 }) {
            self.errno(&mut members, "errnoRet", "errno");
        }
        if self.rng.below(10) < 7 {
            let count = match self.rng.below(20) {
                0 => 0,
                1 => 4 + self.rng.below(5),
                _ => 1 + self.rng.below(3),
            };
            let repeat = self.rng.one_in(4);
            let mut free: Vec<u64> = (0..6).collect();
            let args = (0..count).map(|_| {
                let index = match (repeat, self.rng.one_in(300)) {
                    (_, true) => 6,
                    (false, _) if !free.is_empty() => {
                        let few = free.len().min(if self.rng.one_in(4) { 6 } else { 3 });
                        free.remove(self.rng.below(few))
                    }
                    _ => self.rng.below(3) as u64,
                };
                self.arg(index)
            });
            let args = args.collect();
            add(&mut members, "args", Json::Array(args));
        }
        if matches!(self.dialect, Dialect::Docker | Dialect::Podman) {
            for key in ["includes", "excludes"] {
                if self.rng.one_in(4) {
                    let filter = self.filter();
                    add(&mut members, key, filter);
                }
            }
            if self.rng.one_in(4) {
                add(&mut members, "comment", Json::string("a comment"));
            }
        }
        self.disturb(&mut members);
        Json::Object(members)
    }

    fn arg(&mut self, index: u64) -> Json {
        let mut members = Members::new();
        add(&mut members, "index", Json::Number(index));
        let value = if self.rng.one_in(6) { self.value() } else { self.rng.one_of(&self.values) };
        let op = if self.rng.one_in(3) { "SCMP_CMP_EQ" } else { self.rng.one_of(&OPS) };
        let op = if self.rng.one_in(400) { "SCMP_CMP_LIKE" } else { op };
        add(&mut members, "value", Json::Number(value));
        if self.rng.one_in(if op == "SCMP_CMP_MASKED_EQ" { 2 } else { 4 }) {
            // Half of the data are within the mask.
            let two = if self.rng.one_in(2) {
                self.value() & value
            } else {
                self.rng.one_of(&self.values)
            };
            add(&mut members, "valueTwo", Json::Number(two));
        }
        add(&mut members, "op", Json::string(op));
        self.disturb(&mut members);
        Json::Object(members)
    }

    fn filter(&mut self) -> Json {
        let mut members = Members::new();
        if self.rng.one_in(2) {
            let caps = CAPS.into_iter().chain(["CAP_OF_NOTHING"]).filter(|_| self.rng.one_in(5));
            add(&mut members, "caps", Json::strings(caps));
        }
        if self.rng.one_in(3) {
            let mut arches = Vec::new();
            for machine in [self.group[0], self.rng.one_of(&Machine::ALL)] {
                let name =
                    if self.rng.one_in(8) { machine.podman_name() } else { machine.docker_name() };
                if self.rng.one_in(2) && !name.is_empty() {
                    arches.push(name);
                }
            }
            add(&mut members, "arches", Json::strings(arches));
        }
        if self.dialect == Dialect::Docker && self.rng.one_in(4) {
            let version =
                self.rng.one_of(&["4.8", "5.9", "5.10", "6.18", "3.10", "4.19", "4.20", ""]);
            add(&mut members, "minKernel", Json::string(version));
        }
        Json::Object(members)
    }

    /// Occasionally adds a member twice, in another case, or without a value.
    fn disturb(&mut self, members: &mut Members) {
        if !self.odd || members.is_empty() || !self.rng.one_in(4) {
            return;
        }
        let at = self.rng.below(members.len());
        let (key, value) = members[at].clone();
        match self.rng.below(4) {
            0 => {
                let key = match self.rng.below(3) {
                    0 => key.to_uppercase(),
                    1 => key.replacen('s', "\u{17f}", 1),
                    _ => key.replacen('k', "\u{212a}", 1),
                };
                members[at].0 = key;
            }
            1 => members.push((key, value)),
            2 => {
                let optional =
                    ["valueTwo", "args", "errnoRet", "architectures", "flags", "defaultErrnoRet"];
                let absent: Vec<&&str> = optional
                    .iter()
                    .filter(|key| members.iter().any(|member| member.0 == ***key))
                    .collect();
                if let Some(key) = absent.first() {
                    for member in members.iter_mut().filter(|member| member.0 == ***key) {
                        member.1 = Json::Null;
                    }
                }
            }
            _ => members.push(("x-other".to_owned(), Json::Number(1))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_always_gives_the_same_profile() {
        assert_eq!(case(1, 7), case(1, 7));
        assert_ne!(case(1, 7), case(2, 7));
        assert_ne!(case(1, 7), case(1, 8));
    }

    #[test]
    fn all_dialects_and_families_come_up() {
        let cases: Vec<Case> = (0..500).map(|number| case(1, number)).collect();
        for dialect in Dialect::ALL {
            assert!(cases.iter().any(|case| case.host.dialect == dialect));
        }
        for (name, groups) in FAMILIES {
            for group in groups {
                assert!(cases.iter().any(|case| case.host.native == group[0]), "{name}");
            }
        }
    }
}

//! What makes a syscall dangerous to allow, and with which arguments. [`danger_list`](super::danger_list) says which ones are.

use callgate_codegen::query;
use callgate_core::diagram::{Func, Store};
use callgate_core::{Arch, Verdict, Word};

/// How much an attacker gains with a dangerous syscall, if nothing else prevents it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// More of the kernel's code, or a setting or fact of the machine.
    Moderate,
    /// Other processes, new namespaces, or what is outside of the sandbox.
    High,
    /// The kernel or the hardware.
    Critical,
}

/// Why a syscall is dangerous to allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Danger {
    /// The syscall.
    pub syscall: &'static str,
    /// The reason in one line, as a sentence without subject and full stop: "loads code into the kernel".
    pub reason: &'static str,
    /// How much an attacker gains.
    pub severity: Severity,
    /// The values that are dangerous, each one alone; empty if all arguments are.
    pub values: &'static [DangerousValue],
    /// What it does that makes the denial of other syscalls pointless, if it does.
    pub power: Option<Power>,
}

/// What dangerous syscalls do that makes the denial of others pointless: what a filter denies, a process without the filter does, or
/// the kernel itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Power {
    /// Control of other processes.
    OverProcesses,
    /// Code in the kernel.
    KernelCode,
    /// A view of the kernel's work for other processes, or a part in it.
    KernelWork,
    /// Files without their paths.
    AnyFile,
    /// Time in the middle of the kernel's work.
    Races,
}

/// A value of an argument that makes a syscall dangerous.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DangerousValue {
    /// The index of the argument. With `clone` on s390 and s390x, it is the other one of the first two.
    pub arg: u8,
    /// The bits that matter, of the low half.
    pub mask: u32,
    /// Their values.
    pub bits: u32,
}

impl Danger {
    /// Whether a filter permits the syscall with dangerous arguments. `func` is what the filter does with the syscall.
    pub fn is_permitted(&self, store: &Store, func: Func, arch: Arch) -> bool {
        if self.values.is_empty() {
            return store.verdicts(func).into_iter().any(Verdict::permits);
        }
        self.values.iter().any(|value| self.permits_value(value, store, func, arch))
    }

    /// The dangerous values with which one filter permits the syscall and the other one does not. The functions are what they do
    /// with it.
    pub fn further_values(
        &self,
        store: &Store,
        [own, others]: [Func; 2],
        arch: Arch,
    ) -> Vec<&'static DangerousValue> {
        let permits = |func, value| self.permits_value(value, store, func, arch);
        self.values.iter().filter(|value| permits(own, value) && !permits(others, value)).collect()
    }

    /// The index of the argument with a dangerous value on this architecture.
    pub fn argument(&self, value: &DangerousValue, arch: Arch) -> u8 {
        let is_swapped = self.syscall == "clone" && matches!(arch, Arch::S390 | Arch::S390x);
        if is_swapped { value.arg ^ 1 } else { value.arg }
    }

    /// Whether a call with these arguments is dangerous; `None` if one decides that is not known.
    pub fn is_given(&self, args: &[Option<u64>; 6], arch: Arch) -> Option<bool> {
        if self.values.is_empty() {
            return Some(true);
        }
        let mut is_known = true;
        for value in self.values {
            let arg = args.get(usize::from(self.argument(value, arch))).copied().flatten();
            match arg {
                Some(arg) if arg as u32 & value.mask == value.bits => return Some(true),
                Some(_) => {}
                None => is_known = false,
            }
        }
        is_known.then_some(false)
    }

    /// Whether a filter permits the syscall with one of its dangerous values.
    fn permits_value(&self, value: &DangerousValue, store: &Store, func: Func, arch: Arch) -> bool {
        Word::arg_low(self.argument(value, arch)).is_some_and(|word| {
            query::can_return(store, func, (word, value.mask, value.bits), Verdict::permits)
        })
    }
}

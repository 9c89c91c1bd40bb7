//! The weights of syscalls in the expected cost, including those of syscalls without a weight.

use super::Model;
use super::weights::WeightedSyscall;

/// The total weight of all always-allowed syscalls without a weight (of further architectures, or missing in the
/// recording), relative to that of all syscalls with a weight.
const UNSEEN: f64 = 0.1;

/// The same for syscalls that are not always allowed: enough to decide between programs of otherwise equal cost.
const UNLIKELY: f64 = 0.01;

/// The weights of syscalls in the expected cost: those of all syscalls with a weight are 1 together.
pub(super) fn shares(syscalls: &[WeightedSyscall], model: Model) -> impl Iterator<Item = f64> {
    let total: f64 = syscalls.iter().map(|syscall| model.weigh(syscall)).sum();
    let scale = if total > 0.0 { 1.0 / total } else { 0.0 };
    let without = |always_allowed| {
        let is = |s: &&WeightedSyscall| s.weight == 0.0 && s.always_allowed == always_allowed;
        syscalls.iter().filter(is).count().max(1) as f64
    };
    let (unseen, unlikely) = (UNSEEN / without(true), UNLIKELY / without(false));
    syscalls.iter().map(move |syscall| match syscall {
        WeightedSyscall { weight, .. } if *weight > 0.0 => model.weigh(syscall) * scale,
        WeightedSyscall { always_allowed: true, .. } => unseen,
        _ => unlikely,
    })
}

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
    let (mut total, mut without) = (0.0, [0u32; 2]);
    for syscall in syscalls {
        match syscall.weight > 0.0 {
            true => total += model.weigh(syscall),
            false => without[usize::from(syscall.always_allowed)] += 1,
        }
    }
    let scale = if total > 0.0 { 1.0 / total } else { 0.0 };
    let [unlikely, unseen] = without.map(|number| f64::from(number.max(1)));
    let (unseen, unlikely) = (UNSEEN / unseen, UNLIKELY / unlikely);
    syscalls.iter().map(move |syscall| match syscall {
        WeightedSyscall { weight, .. } if *weight > 0.0 => model.weigh(syscall) * scale,
        WeightedSyscall { always_allowed: true, .. } => unseen,
        _ => unlikely,
    })
}

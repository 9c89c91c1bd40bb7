//! The weights of syscalls in the expected cost, including those of syscalls without a weight.

use super::Model;
use super::weights::WeightedSyscall;
use callgate_core::X32_SYSCALL_BIT;

/// The total weight of all always-allowed syscalls of architectures without any weight, relative to that of all syscalls
/// with a weight.
const OTHER_ARCHES: f64 = 0.07;

/// The same for always-allowed syscalls without a weight of the other architectures: those missing in a recording.
const UNSEEN: f64 = 0.02;

/// The same for syscalls that are not always allowed: enough to decide between programs of otherwise equal cost.
const UNLIKELY: f64 = 0.01;

/// The weights of syscalls in the expected cost: those of all syscalls with a weight are 1 together. Syscalls of the same
/// architecture follow each other.
pub(super) fn shares(syscalls: &[WeightedSyscall], model: Model) -> Vec<f64> {
    shares_of_alike(syscalls, |_| 1, model)
}

/// As [`shares`], where each element stands for a number of syscalls.
pub(super) fn shares_of_alike(
    syscalls: &[WeightedSyscall],
    count: impl Fn(usize) -> u32,
    model: Model,
) -> Vec<f64> {
    // x32 has the token of x86_64.
    let arch = |syscall: &WeightedSyscall| (syscall.token, syscall.nr & X32_SYSCALL_BIT);
    let arches = || syscalls.chunk_by(|a, b| arch(a) == arch(b));
    let is_seen = |arch: &[WeightedSyscall]| arch.iter().any(|syscall| syscall.weight > 0.0);
    let (mut total, mut without, mut at) = (0.0, [0u32; 3], 0);
    for arch in arches() {
        let unseen = Group::of(is_seen(arch));
        for syscall in arch {
            match (syscall.weight > 0.0, syscall.always_allowed) {
                (true, _) => total += model.weigh(syscall),
                (false, true) => without[unseen as usize] += count(at),
                (false, false) => without[Group::Unlikely as usize] += count(at),
            }
            at += 1;
        }
    }
    let scale = if total > 0.0 { 1.0 / total } else { 0.0 };
    let share = |group: Group| group.total() / f64::from(without[group as usize].max(1));
    let unlikely = share(Group::Unlikely);
    let mut shares = Vec::with_capacity(syscalls.len());
    for arch in arches() {
        let unseen = share(Group::of(is_seen(arch)));
        let start = shares.len();
        shares.extend(arch.iter().enumerate().map(|(at, syscall)| {
            match (syscall.weight > 0.0, syscall.always_allowed) {
                (true, _) => model.weigh(syscall) * scale,
                (false, true) => unseen * f64::from(count(start + at)),
                (false, false) => unlikely * f64::from(count(start + at)),
            }
        }));
    }
    shares
}

/// Syscalls without a weight, which share the weight of their group.
#[derive(Clone, Copy)]
enum Group {
    OtherArches,
    Unseen,
    Unlikely,
}

impl Group {
    /// The group of always-allowed syscalls.
    fn of(arch_is_seen: bool) -> Group {
        if arch_is_seen { Group::Unseen } else { Group::OtherArches }
    }

    fn total(self) -> f64 {
        match self {
            Group::OtherArches => OTHER_ARCHES,
            Group::Unseen => UNSEEN,
            Group::Unlikely => UNLIKELY,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syscalls_without_a_weight_share_that_of_their_group() {
        let x32 = X32_SYSCALL_BIT;
        let syscall = |token, nr, weight, always_allowed| WeightedSyscall {
            token,
            nr,
            weight,
            always_allowed,
        };
        let syscalls = [
            syscall(1, 0, 3.0, true),
            syscall(1, 1, 0.0, true),
            syscall(1, 2, 1.0, false),
            syscall(1, 3, 0.0, false),
            syscall(1, 4, 0.0, true),
            syscall(1, x32, 0.0, true),
            syscall(2, 0, 0.0, true),
            syscall(2, 1, 0.0, false),
        ];
        let shares = shares(&syscalls, Model::Uncached);
        let [other, unseen, unlikely] = [OTHER_ARCHES / 2.0, UNSEEN / 2.0, UNLIKELY / 2.0];
        assert_eq!(shares, [0.75, unseen, 0.25, unlikely, unseen, other, other, unlikely]);
    }
}

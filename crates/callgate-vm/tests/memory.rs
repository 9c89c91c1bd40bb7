//! The memory of native code. A process of its own, because engines of other tests would use the same memory.
#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]

use callgate_bpf::{Endian, Insn, Op, Program, SeccompData, Verdict};
use callgate_vm::{Jit, SeccompEngine};

/// A filter with this number of comparisons, which returns `verdict` for number 0.
fn filter(verdict: u32, tests: u32) -> Program {
    let mut insns = vec![Insn::new(Op::LdWordAbs, 0)];
    // Masks do not become a table.
    insns.extend((0..tests).map(|_| Insn::branch(Op::JsetK, u32::MAX, 0, 0)));
    insns.extend([
        Insn::branch(Op::JsetK, 3, 0, 1),
        Insn::new(Op::RetK, Verdict::KILL_PROCESS.0),
        Insn::new(Op::RetK, verdict),
    ]);
    Program::new(insns).unwrap()
}

fn run(jit: &Jit) -> [u32; 2] {
    [0, 1].map(|nr| jit.verdict(&SeccompData { nr, ..SeccompData::default() }).0)
}

/// The permissions of the mapping at an address, as in proc_pid_maps(5).
fn permissions(address: usize) -> Option<String> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    maps.lines().find_map(|line| {
        let (range, rest) = line.split_once(' ')?;
        let (start, end) = range.split_once('-')?;
        let bound = |text| usize::from_str_radix(text, 16).unwrap();
        (bound(start)..bound(end)).contains(&address).then(|| rest[..4].to_owned())
    })
}

#[test]
fn dropped_code_cannot_be_executed_and_its_memory_is_used_again() {
    let long = Jit::new(&filter(7, 0), Endian::NATIVE).unwrap();
    let address = long.code().as_ptr() as usize;
    assert_eq!(permissions(address).as_deref(), Some("r-xp"));
    assert_eq!(run(&long), [7, Verdict::KILL_PROCESS.0]);
    drop(long);
    assert_eq!(permissions(address).as_deref(), Some("rw-p"));

    let again = Jit::new(&filter(8, 0), Endian::NATIVE).unwrap();
    assert_eq!(again.code().as_ptr() as usize, address);
    assert_eq!(permissions(address).as_deref(), Some("r-xp"));
    // Memory that is in use is not given to others.
    let other = Jit::new(&filter(9, 0), Endian::NATIVE).unwrap();
    assert_ne!(other.code().as_ptr() as usize, address);
    assert_eq!(run(&again), [8, Verdict::KILL_PROCESS.0]);
    assert_eq!(run(&other), [9, Verdict::KILL_PROCESS.0]);
    let addresses = [address, other.code().as_ptr() as usize];
    drop((again, other));
    // One of them is kept.
    let kept = addresses.map(|address| permissions(address).as_deref() == Some("rw-p"));
    assert_eq!(kept, [false, true]);

    // Threads that make, run and drop engines at once.
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || {
                for round in 0..500 {
                    let verdict = 1 + 4 * round + thread;
                    let jit = Jit::new(&filter(verdict, round % 40), Endian::NATIVE).unwrap();
                    assert_eq!(run(&jit), [verdict, Verdict::KILL_PROCESS.0]);
                }
            });
        }
    });
}

//! What is compiled means what was described, syscall by syscall: beside the proof that every compilation makes, and
//! without the diagram.

use callgate::Description;
use callgate::compile::{Options, compile_template};
use callgate::stack::Stack;
use callgate::{Arch, Endian};
use callgate_core::diagram::{Budget, Store};
use callgate_core::template::Variable;
use callgate_formats::kafel;

use crate::bytes::Bytes;

const ARCHES: [Arch; 2] = [Arch::X86_64, Arch::X86];

/// How many syscalls are compared.
const SYSCALLS: usize = 40;

/// A policy, compiled, for both aims.
pub fn compile(input: &[u8]) {
    let mut bytes = Bytes::new(input);
    let mut options = Options::default();
    if bytes.byte() % 2 == 1 {
        options.aim = callgate_codegen::Aim::Size;
    }
    let policy = bytes.policy(&ARCHES);
    let Ok(compiled) = callgate::compile::compile(&policy, &options).map_err(|error| {
        assert!(!error.to_string().contains("defect"), "{error}");
    }) else {
        return;
    };
    for _ in 0..SYSCALLS {
        let syscall = bytes.syscall(&ARCHES);
        let verdict = compiled.program.run(&syscall, Endian::Little).verdict;
        assert_eq!(verdict, policy.evaluate(&syscall), "{syscall:x?}\n{policy:?}");
        if bytes.is_empty() {
            break;
        }
    }
}

/// A Kafel policy after 24 bytes for values of its variables: the patched program means what the policy with these values
/// says.
pub fn template(input: &[u8]) {
    let Some((values, text)) = input.split_first_chunk::<24>() else { return };
    let values = values.as_chunks::<8>().0;
    let options = kafel::ReadOptions::new(Arch::X86_64);
    let Ok(profile) = kafel::read(&String::from_utf8_lossy(text), &options) else { return };
    let policy = &profile.policy;
    let budget = Budget { nodes: 20_000, steps: 200_000 };
    let options = Options { budget, ..Options::default() };
    let template = match compile_template(policy, &options) {
        Ok(compiled) => compiled.template,
        Err(error) => {
            assert!(!error.to_string().contains("defect"), "{error}");
            return;
        }
    };
    let fitting = |(at, variable): (usize, &Variable)| {
        let value = u64::from_le_bytes(values[at % values.len()]);
        if variable.is_wide() { value } else { value & 0xffff_ffff }
    };
    let values: Vec<u64> = template.variables().iter().enumerate().map(fitting).collect();
    let program = template.instantiate(&values).expect("the values fit");
    let given = policy.given(&values).expect("the values fit");
    let mut store = Store::new(budget);
    let meant = callgate::compile::diagram(&mut store, &given);
    let made = store.program(&program.into(), Endian::Little);
    if let (Ok(meant), Ok(made)) = (meant, made) {
        assert_eq!(meant, made, "{values:x?}");
    }
}

/// Two or three programs, merged: the kernel takes the verdict of highest precedence, of the newest filter where
/// several have it.
pub fn merge(input: &[u8]) {
    let mut bytes = Bytes::new(input);
    let count = 2 + bytes.below(2);
    let programs: Option<Vec<_>> = (0..count).map(|_| Some(bytes.program()?.into())).collect();
    let Some(programs) = programs else { return };
    let filters =
        programs.iter().map(|program| Description::program(program, Endian::Little)).collect();
    let stack = Stack::new(filters).expect("filters without flags");
    let merged = match callgate::stack::merge(&stack, &ARCHES, &Options::default()) {
        Ok(merged) => merged,
        Err(error) => {
            assert!(!error.to_string().contains("defect"), "{error}");
            return;
        }
    };
    for _ in 0..SYSCALLS {
        let syscall = bytes.syscall(&ARCHES);
        let verdicts = programs.iter().map(|program| program.run(&syscall, Endian::Little).verdict);
        // kernel/seccomp.c, seccomp_run_filters: from the newest on, a smaller action as a signed number wins.
        let expected = verdicts
            .rev()
            .reduce(|kept, next| {
                let action = |verdict: callgate::Verdict| (verdict.0 & 0xffff_0000) as i32;
                if action(next) < action(kept) { next } else { kept }
            })
            .expect("two or three programs");
        let verdict = merged.compiled.program.run(&syscall, Endian::Little).verdict;
        assert_eq!(verdict.action(), expected.action(), "{syscall:x?}\n{programs:?}");
        if bytes.is_empty() {
            break;
        }
    }
}

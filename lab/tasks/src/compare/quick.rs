//! Programs of the quicker plan beside those of libseccomp, for the project's own rule sets.

use std::path::PathBuf;

use callgate::compile::{Options, compile, expected_insns};
use callgate::{Endian, Program};
use callgate_codegen::{Aim, Model, Weights};
use callgate_core::diagram::Store;

use super::peers::Peer;
use super::rules::Rules;
use super::sets::own;
use super::workloads;
use crate::libseccomp_program::of_machine;

/// The mean number of instructions that a program executes under a workload; `None` without syscalls to count.
fn mean(rules: &Rules, program: &Program, weights: &Weights) -> Option<f64> {
    let policy = rules.to_policy().unwrap();
    let mut store = Store::default();
    let root = store.policy(&policy).unwrap();
    let arches: Vec<_> = policy.arches().collect();
    let syscalls = weights.resolve(&store, root, &arches);
    expected_insns(&store, root, program, &syscalls, Endian::Little)
}

#[test]
fn programs_of_the_quicker_plan_are_smaller_and_faster_than_those_of_libseccomp() {
    let options = Options { model: Model::Uncached, aim: Aim::Quick, ..Options::default() };
    let mut compared = 0;
    let libseccomp = of_machine();
    if libseccomp.identity().unwrap().is_ours {
        eprintln!("not run: the libseccomp.so.2 of this machine is Callgate's drop-in");
        return;
    }
    for set in own().unwrap() {
        let rules = set.rules.with_edges(Peer::LibseccompLinear.edges(&set.rules));
        let policy = rules.to_policy().unwrap();
        // libseccomp cannot express some rules.
        let programs: Vec<Program> = [libseccomp.list(&policy), libseccomp.tree(&policy)]
            .into_iter()
            .filter_map(Result::ok)
            .collect();
        for workload in workloads::all(&[] as &[PathBuf]).unwrap() {
            let weights = workload.weights;
            let options = Options { weights: weights.clone(), ..options.clone() };
            let ours = compile(&policy, &options).unwrap().program;
            let ours = (ours.len(), mean(&rules, &ours, &weights));
            println!("{}, {}: {ours:.2?}", set.name, workload.name);
            for theirs in &programs {
                let theirs = (theirs.len(), mean(&rules, theirs, &weights));
                println!("  libseccomp: {theirs:.2?}");
                // With weights, frequent syscalls may be worth instructions of their own. A list that tests one value
                // after the other may be shorter, by a sixth, than a tree that is ten times as fast.
                if workload.name == "uniform" {
                    let is_list = theirs.1 > ours.1.map(|mean| 10.0 * mean);
                    let further = if is_list { theirs.0 / 6 } else { 0 };
                    assert!(ours.0 < theirs.0 + further, "{}: {ours:?}, {theirs:?}", set.name);
                }
                assert!(ours.1 < theirs.1, "{}: {ours:?}, {theirs:?}", set.name);
                compared += 1;
            }
        }
    }
    assert!(compared >= 40, "{compared}");
}

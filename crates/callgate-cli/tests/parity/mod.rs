//! The command and the bindings answer alike: hundreds of inputs of all kinds through the built command, and as requests
//! through the function that all bindings call. Verdicts, programs, figures, differences and findings must be equal, and so
//! must the warnings and errors with their places; only what they advise differs, because it names options or settings.
//!
//! The inputs ([`inputs`]) are the files of `sessions/`, and tables of programs, presets and policies with damaged ones.
//! `CALLGATE_PARITY=WORD cargo test -p callgate-cli --test integration -- parity` asks all questions about those whose title contains a word;
//! with an empty word, about all inputs.

mod asked;
mod inputs;
mod tables;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use callgate_testing::TestResult;

use asked::{Asked, differences};
use inputs::{Input, inputs};

/// The number of inputs that the test must have at least.
const LEAST: usize = 500;

/// How many differences are shown.
const SHOWN: usize = 40;

/// The tests of this module.
pub(crate) fn trials() -> Vec<callgate_testing::Trial> {
    callgate_testing::trials![the_command_and_the_bindings_answer_alike]
}

fn the_command_and_the_bindings_answer_alike() -> TestResult {
    let only = std::env::var("CALLGATE_PARITY").ok();
    let mut all = inputs();
    match &only {
        Some(word) => all.retain(|input| input.title.contains(word.as_str())),
        None => assert!(all.len() >= LEAST, "only {} inputs", all.len()),
    }
    let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let asked: Mutex<BTreeMap<&'static str, [usize; 2]>> = Mutex::default();
    let compare = || {
        while let Some((number, input)) = {
            let number = next.fetch_add(1, Ordering::Relaxed);
            all.get(number).map(|input| (number, input))
        } {
            for question in Asked::of(number, only.is_some()) {
                let (differences, is_answer) = differences(input, question);
                asked.lock().unwrap().entry(question.name()).or_default()
                    [usize::from(is_answer)] += 1;
                let mut found = found.lock().unwrap();
                found.extend(differences.into_iter().map(|one| (number, question, one)));
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(compare);
        }
    });
    if only.is_some() {
        println!(
            "{} inputs; errors and answers by request: {:?}",
            all.len(),
            asked.lock().unwrap()
        );
    }
    let mut found = found.into_inner().unwrap();
    found.sort();
    let shown = |(number, question, difference): &(usize, Asked, String)| {
        let Input { title, argument, .. } = &all[*number];
        format!("{title}: {} {argument}: {difference}", question.name())
    };
    let lines: Vec<String> = found.iter().take(SHOWN).map(shown).collect();
    assert!(found.is_empty(), "{} differences:\n{}", found.len(), lines.join("\n"));
    Ok(())
}

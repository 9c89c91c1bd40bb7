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
use std::sync::LazyLock;

use callgate_testing::{TestResult, Trial, name_in, test};

use asked::{Asked, differences};
use inputs::{Input, inputs};

/// The number of inputs that the test must have at least.
const LEAST: usize = 500;

/// How many differences are shown.
const SHOWN: usize = 40;

/// The inputs are divided among so many tests, which run at the same time and end in time on a busy machine, too.
const PARTS: usize = 8;

/// The tests of this module.
pub(crate) fn trials() -> Vec<Trial> {
    let trial = |part: usize| {
        let name = format!("the_command_and_the_bindings_answer_alike::part_{}", part + 1);
        test(name_in(module_path!(), &name), move || {
            the_command_and_the_bindings_answer_alike(part)
        })
    };
    (0..PARTS).map(trial).collect()
}

fn the_command_and_the_bindings_answer_alike(part: usize) -> TestResult {
    let only = std::env::var("CALLGATE_PARITY").ok();
    // All parts share the directories of the inputs.
    static ALL: LazyLock<Vec<Input>> = LazyLock::new(inputs);
    assert!(ALL.len() >= LEAST, "only {} inputs", ALL.len());
    let mut found = Vec::new();
    let mut asked: BTreeMap<&'static str, [usize; 2]> = BTreeMap::new();
    for (number, input) in ALL.iter().enumerate().skip(part).step_by(PARTS) {
        if only.as_ref().is_some_and(|word| !input.title.contains(word.as_str())) {
            continue;
        }
        for question in Asked::of(number, only.is_some()) {
            let (differences, is_answer) = differences(input, question);
            asked.entry(question.name()).or_default()[usize::from(is_answer)] += 1;
            found.extend(differences.into_iter().map(|one| (number, question, one)));
        }
    }
    if only.is_some() {
        println!("errors and answers by request: {asked:?}");
    }
    let shown = |(number, question, difference): &(usize, Asked, String)| {
        let Input { title, argument, .. } = &ALL[*number];
        format!("{title}: {} {argument}: {difference}", question.name())
    };
    let lines: Vec<String> = found.iter().take(SHOWN).map(shown).collect();
    assert!(found.is_empty(), "{} differences:\n{}", found.len(), lines.join("\n"));
    Ok(())
}

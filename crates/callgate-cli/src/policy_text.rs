//! Policy texts of sources: what a filter must do, for reviewers and for the checker that is proved in Coq.

use std::path::PathBuf;

use callgate_core::policy::Policy;
use callgate_formats::policy_text;
use clap::ValueHint;

use crate::help::CHECKING;
use crate::output;
use crate::report::{Failure, Result};
use crate::source::{SourceFilter, SourceStack};
use crate::text::shell_word;

/// The file for the policy, if any.
#[derive(Debug, clap::Args)]
pub(crate) struct PolicyOption {
    /// Also write the policy that the program was proved to have, as a text (see docs/reference/languages/policy-text.md)
    #[arg(long = "policy", value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = CHECKING)]
    policy_text: Option<PathBuf>,
}

impl PolicyOption {
    /// Whether a text is requested.
    pub(crate) fn is_given(&self) -> bool {
        self.policy_text.is_some()
    }

    /// Writes the text, if requested.
    pub(crate) fn write(&self, text: &str) -> Result<()> {
        match &self.policy_text {
            Some(file) if file.as_os_str() == "-" => {
                Err(Failure::new("--policy cannot write to standard output, which has the result")
                    .help(
                        "give a file name, or use `callgate policy`; for a file named -, write ./-",
                    ))
            }
            Some(file) => output::write_file(file, text.as_bytes()),
            None => Ok(()),
        }
    }
}

/// The policy text of filters on top of each other. `conditions` are the options that decide which rules of a profile hold.
pub(crate) fn text_of(stack: &SourceStack, conditions: &str) -> Result<String> {
    let policy = |filter: &SourceFilter| match filter.policy() {
        Some(policy) => Ok(policy.clone()),
        None => Err(Failure::about(&filter.name, "this is a program, which has no rules").help(
            "`callgate explain` lists what it does; `callgate diff` compares it with a policy text",
        )),
    };
    let policies = stack.filters.iter().map(policy).collect::<Result<Vec<Policy>>>()?;
    let words = std::env::args_os().skip(1).map(|word| shell_word(&word.to_string_lossy()));
    let mut header = vec![
        format!("The policy of {}", stack.name),
        format!(
            "Written by callgate {}: callgate {}",
            env!("CARGO_PKG_VERSION"),
            words.collect::<Vec<_>>().join(" ")
        ),
    ];
    if stack.filters.iter().any(|filter| filter.conditional_names().next().is_some()) {
        header.push(format!("With the profile's conditions as for {conditions}"));
    }
    policy_text::write(&policies, policies.len() > 1, &header)
        .map_err(|error| Failure::about(&stack.name, error.to_string()))
}

//! The forms of a filter that must agree.

use callgate::fuzz::{Subject, plain_program};
use callgate_codegen::{Aim, Model};
use callgate_core::Program;

use super::outcome::{FilterForm, Omission, Reproduction};
use crate::commands::simulate::EvaluatedForm;
use crate::options::CompileOptions;
use crate::report::Result;
use crate::source::{Compile, FilterContent, SourceFilter};

/// Returns the forms of a filter, the reference first, and the programs among them.
pub(super) fn forms(
    filter: &SourceFilter,
    options: &CompileOptions,
    omissions: &mut Vec<Omission>,
) -> Result<(Vec<FilterForm>, Vec<Subject>)> {
    let by = |by: EvaluatedForm| vec!["--by".to_owned(), by.name().to_owned()];
    let (mut forms, mut programs) = (Vec::new(), Vec::new());
    let mut add = |name: &str, arguments, program: Option<Program>| {
        forms.push(FilterForm { name: name.to_owned(), by: Reproduction::Simulate(arguments) });
        programs.extend(program.map(|program| Subject::new(name, program)));
    };
    match &filter.content {
        FilterContent::Policy(policy) => {
            add("rules", by(EvaluatedForm::Rules), None);
            match plain_program(policy) {
                Ok(program) => add("plain", by(EvaluatedForm::Plain), Some(program)),
                Err(error) => omissions.push(Omission {
                    name: "plain".to_owned(),
                    why: error.to_string(),
                    help: String::new(),
                    is_error: false,
                }),
            }
        }
        FilterContent::Program(program, _) => {
            add("given", by(EvaluatedForm::Program), Some(filter.for_the_kernel(program)?));
        }
    }
    // Several models often lead to the same program.
    let mut compiled: Vec<(Aim, Vec<Model>, Program)> = Vec::new();
    let all = options.read_all(&filter.arches, filter.strict)?;
    for options in &all {
        let program = match filter.compile_observed(options, &mut |_| ()) {
            Ok(compiled) => compiled.program,
            Err(error) => {
                // A filter that is too complex for one model is too complex for all.
                omissions.push(Omission {
                    name: "optimized".to_owned(),
                    why: error.to_string(),
                    help: error.help().unwrap_or(
                        "compare the forms for single syscalls with `callgate simulate --by`"
                            .to_owned(),
                    ),
                    is_error: true,
                });
                break;
            }
        };
        match compiled.iter_mut().find(|(aim, _, other)| *aim == options.aim && program == *other) {
            Some((_, models, _)) => models.push(options.model),
            None => compiled.push((options.aim, vec![options.model], program.into())),
        }
    }
    for (aim, models, program) in compiled {
        let names: Vec<&str> = models.iter().map(|model| model.name()).collect();
        let name = if models.len() == Model::ALL.len() {
            format!("{}, all models", aim.name())
        } else {
            format!("{} {}", aim.name(), names.join("/"))
        };
        let mut arguments = by(EvaluatedForm::Optimized);
        arguments.extend(names.first().map(|model| format!("--model={model}")));
        arguments.push(format!("--optimize={}", aim.name()));
        arguments.extend(options.other_arguments());
        add(&name, arguments, Some(program));
    }
    Ok((forms, programs))
}

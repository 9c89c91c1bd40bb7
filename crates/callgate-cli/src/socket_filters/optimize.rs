//! A better socket filter, with figures.

use callgate::socket_filters::{self, Optimized};

use crate::emit::Figures;
use crate::generating::GeneratingOptions;
use crate::options::PROMPT;
use crate::report::{self, Result};
use crate::source::{NOT_COMPILED, SocketFilter};
use crate::text::printable;

/// Optimizes a socket filter and writes the result; the given one if its function is not known. Returns the exit status.
pub(crate) fn optimize(options: &GeneratingOptions, filter: &SocketFilter) -> Result<u8> {
    let SocketFilter { name, program, endian } = filter;
    options.compiling().warn_about_given(name, NOT_COMPILED, "omit it");
    let mut figures = Figures::default();
    figures.text.push(("source", printable(name).to_string()));
    let better = match socket_filters::optimize(program, PROMPT) {
        Ok(optimized) => {
            if optimized.is_cut {
                report::warn_about(
                    name,
                    "the search for shorter programs was ended by its limit",
                    match optimized.steps {
                        0 => "the output is the given program",
                        _ => "optimize the output again, to search on from it",
                    },
                );
            }
            add(&mut figures, &optimized);
            optimized.program.into_program()
        }
        Err(error) => {
            report::warn_about(
                name,
                format!("not optimized: {error}"),
                "the output is the given program",
            );
            figures.add("insns", program.len(), "instructions", program.len().to_string());
            figures.add(
                "optimized",
                false,
                "optimized",
                "no, the output is the given program".to_owned(),
            );
            figures.add("reason", error.to_string(), "reason", error.to_string());
            figures.json.push(("proved", false.into()));
            program.clone()
        }
    };
    let better = SocketFilter { name: name.clone(), program: better, endian: *endian };
    options.emitting.deliver_socket(&better, &figures)
}

/// The figures before and after.
fn add(figures: &mut Figures, optimized: &Optimized) {
    let (before, after) = (optimized.before, optimized.after);
    let is_new = optimized.steps > 0;
    let change = |before: usize, after: usize| match is_new {
        true => format!("{before} -> {after}"),
        false => after.to_string(),
    };
    figures.add("insns", after.insns, "instructions", change(before.insns, after.insns));
    let longest = format!("{} at most", change(before.longest, after.longest));
    figures.add("longest", after.longest, "executed", longest);
    figures.add(
        "optimized",
        is_new,
        "optimized",
        match is_new {
            true if optimized.steps == 1 => "yes, in 1 step".to_owned(),
            true => format!("yes, in {} steps", optimized.steps),
            false if optimized.is_cut => "no, nothing was found within the limit".to_owned(),
            false => "no, nothing can be left out".to_owned(),
        },
    );
    if is_new {
        let proof = "the program returns the same as the given one for every packet";
        figures.text.push(("proved", proof.to_owned()));
    }
    // As for seccomp filters: whether the output is a new program, all of which are proved.
    figures.json.push(("proved", is_new.into()));
}

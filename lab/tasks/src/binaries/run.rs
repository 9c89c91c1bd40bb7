//! Measures all programs.

use std::fs;

use super::measure::measure;
use super::options::Options;
use super::{built, report, uses};
use crate::recording;
use callgate_tasks::files::{make, write};
use callgate_tasks::{Result, workspace};

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let options = Options::parse(arguments)?;
    let callgate = match &options.callgate {
        Some(path) => path.clone(),
        None => recording::build()?,
    };
    let directory = workspace().join("target/binaries");
    make(&directory)?;
    let (mut measured, mut left_out) = (Vec::new(), Vec::new());
    let (built, reasons) = built::all(&options.only)?;
    left_out.extend(reasons);
    for one in uses::all()?.into_iter().chain(built) {
        let name = one.name();
        if !options.only.is_empty() && !options.only.contains(&name) {
            continue;
        }
        if !one.program.exists() {
            left_out.push(format!("{name} is not installed"));
            continue;
        }
        let directory = directory.join(&name);
        make(&directory)?;
        match measure(&callgate, &directory, &one) {
            Ok(one) => {
                eprintln!("{name}: {:.3} {:.2}", one.score.recall(), one.score.f1());
                if options.details {
                    eprintln!("  only recorded: {}", one.score.only_recorded.join(" "));
                    eprintln!("  only static: {}", one.score.only_static.join(" "));
                }
                measured.push(one);
            }
            Err(why) => {
                eprintln!("{name}: {why}");
                left_out.push(format!("{name}: {why}"));
            }
        }
    }
    let text = report::markdown(&measured, &left_out);
    print!("{text}");
    if !options.update {
        return Ok(());
    }
    let path = workspace().join("lab/results/binaries.md");
    let page = fs::read_to_string(&path).map_err(|why| format!("{}: {why}", path.display()))?;
    write(&path, report::replaced(&page, &text)?)
}

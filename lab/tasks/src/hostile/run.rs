//! Writes each input, and runs each command on it.

use super::inputs::{Input, Reader, readers};
use super::measure::{End, measure};
use crate::machine;
use crate::recording::build;
use crate::table::Table;
use callgate_tasks::files::{make, remove};
use callgate_tasks::{Result, workspace};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Duration;

pub(crate) const HELP: &str = "\
usage: cargo lab hostile [OPTION]... [WORD]...

Writes 16 MiB inputs that are designed to take long or much memory, for each reader of
user input. Runs a command on each, and prints its exit status, its time (user and
system, and elapsed) and its maximum resident memory as a table in Markdown, as in lab/results/hostile.md.
Logs are also written with 1 GiB. With WORDs, only rows that contain all of them.

  --size MIB    the size of inputs (default 16)
  --log MIB     the size of long logs (default 1024); 0 omits them
";

/// The time limit of a command.
const PATIENCE: Duration = Duration::from_secs(120);

/// Runs the task.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let (mut size, mut log) = (16, 1024);
    let mut words = Vec::new();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let mut number = || {
            let number = arguments.next().and_then(|number| number.parse::<u64>().ok());
            number.ok_or(format!("missing or invalid value: {argument} MIB"))
        };
        match argument.as_str() {
            "--size" => size = number()?,
            "--log" => log = number()?,
            option if option.starts_with('-') => {
                return Err(format!("unknown option {option}; see cargo lab hostile --help"));
            }
            word => words.push(word),
        }
    }
    let directory = workspace().join("target/hostile");
    remove(&directory)?;
    make(&directory)?;
    let callgate = build()?;
    let mut table = Table::new(["input", "MiB", "command", "end", "s", "s elapsed", "MiB at most"]);
    for reader in readers() {
        for input in reader.inputs {
            let sizes: &[u64] = if reader.is_log && log > 0 { &[size, log] } else { &[size] };
            let is_wanted = |words: &[&str]| {
                let row = format!("{} {}", reader.name, input.name);
                words.iter().all(|word| row.contains(word))
            };
            if !is_wanted(&words) {
                continue;
            }
            for size in sizes {
                let size = reader.most.map_or(*size << 10, |most| most.min(*size << 10));
                measured(reader, input, size, &callgate, &directory, &mut table)?;
            }
        }
    }
    for line in machine::lines() {
        println!("{line}");
    }
    println!("\n{}", table.markdown());
    remove(&directory)
}

/// Adds a row for each command on an input of this size in KiB.
fn measured(
    reader: &Reader,
    input: &Input,
    size: u64,
    callgate: &Path,
    directory: &Path,
    table: &mut Table,
) -> Result<()> {
    let path = directory.join(reader.file);
    write(&path, input, size << 10).map_err(|error| format!("{}: {error}", path.display()))?;
    for (name, text) in reader.beside {
        callgate_tasks::files::write(&directory.join(name), text)?;
    }
    for command in reader.commands {
        eprintln!("hostile: {} MiB: {}, {}: {command}", size >> 10, reader.name, input.name);
        let cost = measure(callgate, command, directory, PATIENCE)?;
        let end = match cost.end {
            End::Status(status) => format!("exit status {status}"),
            End::Signal(signal) => format!("signal {signal}"),
            End::Late => format!("not within {} s", PATIENCE.as_secs()),
        };
        table.row([
            format!("{}: {}", reader.name, input.name),
            (size >> 10).to_string(),
            format!("`callgate {command}`"),
            end,
            format!("{:.2}", cost.time.as_secs_f64()),
            format!("{:.2}", cost.elapsed.as_secs_f64()),
            (cost.memory >> 20).to_string(),
        ]);
        eprintln!(
            "hostile:   {:.2} s, {:.2} s elapsed, {} MiB: {}",
            cost.time.as_secs_f64(),
            cost.elapsed.as_secs_f64(),
            cost.memory >> 20,
            cost.message
        );
    }
    remove_file(&path)
}

fn remove_file(path: &Path) -> Result<()> {
    std::fs::remove_file(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Writes an input of at most this size in bytes.
fn write(path: &Path, input: &Input, size: u64) -> std::io::Result<()> {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    file.write_all(input.head)?;
    let mut written = (input.head.len() + input.tail.len()) as u64;
    let (mut unit, mut number) = (Vec::new(), 0);
    loop {
        unit.clear();
        (input.unit)(number, &mut unit);
        if written + unit.len() as u64 > size || number == input.units {
            break;
        }
        file.write_all(&unit)?;
        written += unit.len() as u64;
        number += 1;
    }
    file.write_all(input.tail)?;
    file.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_have_the_size_that_is_asked_for() {
        let directory =
            std::env::temp_dir().join(format!("callgate-hostile-{}", std::process::id()));
        make(&directory).unwrap();
        for input in readers().flat_map(|reader| reader.inputs) {
            let least = if input.units == u64::MAX { 39_000 } else { 0 };
            let path = directory.join("input");
            write(&path, input, 40_000).unwrap();
            let size = std::fs::metadata(&path).unwrap().len();
            assert!((least..=40_000).contains(&size), "{}: {size}", input.name);
        }
        remove(&directory).unwrap();
    }
}

//! The page.

use super::compare::{Best, Comparison};
use super::generator::Measured;
use super::instances::{Instance, Kind};
use super::options::Options;
use super::summary::Summary;
use crate::table::Table;
use callgate_codegen::Aim;

const INTRODUCTION: &str = "\
# The distance from the optimum

How far the programs of the code generator are from the best ones, for functions of one word that are small enough to find
the best program by search. `cargo lab optimum` finds it by branch and bound (`lab/tasks/src/optimum`); this page is written by

    ";

const DEFINITIONS: &str = "
## What optimal means

The functions depend on the low six bits of a word, and on whether any higher bit is set. The best program is the best of all
programs of this class:

- It loads the word, and reaches one return per verdict. Only what is between is counted.
- Its instructions are `jeq`, `jgt`, `jge` and `jset` with any constant, `and` with any constant, loads of the word, `ja`, and
  *bitset tests*: `sub #base`, `tax`, `ld #bits`, `rsh x`, `jset #1` (without `sub` if the base is 0), after which only
  returns follow.
- Branches may join: an instruction may have several predecessors. Each instruction that reads A finds the same bits of the
  word there on all paths, as in `and #m` on every path or on none.

Not in the class are other arithmetic, the scratch memory, and programs that find different parts of the word in A at the same
instruction. The word has 32 bits, but nothing is lost by six and one: `lab/tasks/src/optimum/function.rs` has the argument. For
programs of at most three instructions, a test compares the search with an enumeration of all programs for words of three bits.

- **Size** (`--optimize size`): the number of instructions.
- **Speed** (`--optimize speed`): the expected number of executed instructions, plus the generator's price of an instruction in
  the program: 0.02 for syscall numbers, 1 for arguments. One value of each interval has a weight; all weights are equal, except
  for the skewed ones, where the n-th has 1/n of the first.

Each best program is accepted by `Program::new` and proved equal to the function, as the generated one is.

## Results

*Best* is the share of the generated programs that no program of the class improves; *mean* and *worst* are the differences from
the best, in instructions for size and in executed instructions (with the price of size) for speed. They refer to the functions
whose search was finished; *open* are the others. Those are the harder ones, so the true means may be larger.

";

const KINDS: &str = "
- *Intervals of numbers*: 2 to 8 intervals of syscall numbers with 2 or 3 verdicts, any bounds.
- *Values of an argument*: 1 to 6 values below 64; all others have another verdict.
- *Products of bits*: the values with `value & mask == wanted` for 1 to 3 pairs of masks and values of six bits. In half of the
  functions, values with higher bits are excluded.
- *Sets of 4-bit values*: any of the 65,535 sets of values below 16.

Dense sets of 6-bit values (32 of 64 values without a pattern) are not among them: their best programs have more instructions
than the search can exclude.

## The worst functions

";

/// The page in Markdown.
pub(super) fn page(all: &[(Kind, Aim, Summary)], options: &Options) -> String {
    let mut page = INTRODUCTION.to_owned();
    page += &format!(
        "cargo lab optimum --instances {} --seed {} --budget {} --update\n",
        options.instances, options.seed, options.budget
    );
    page += DEFINITIONS;
    page += &results(all).markdown();
    page += KINDS;
    page += "Each with the generated and the best program; in parentheses the weights.\n\n";
    for (kind, aim, summary) in all {
        for (gap, instance, comparison) in &summary.worst {
            page += &worst(*kind, *aim, *gap, instance, comparison);
        }
    }
    page
}

fn results(all: &[(Kind, Aim, Summary)]) -> Table {
    let mut table = Table::new([
        "functions",
        "aim",
        "number",
        "open",
        "best",
        "mean cost",
        "mean",
        "mean %",
        "worst",
    ]);
    for (kind, aim, summary) in all {
        let decided = summary.decided.max(1) as f64;
        let gap = (summary.generated - summary.best) / decided;
        let share = 100.0 * summary.optimal as f64 / decided;
        let percent = 100.0 * (summary.generated / summary.best.max(f64::MIN_POSITIVE) - 1.0);
        let largest = summary.worst.first().map_or(0.0, |(gap, ..)| *gap);
        table.row([
            kind.name().to_owned(),
            aim.name().to_owned(),
            summary.instances.to_string(),
            (summary.instances - summary.decided).to_string(),
            format!("{share:.1} %"),
            format!("{:.2}", summary.generated / decided),
            format!("{gap:.3}"),
            format!("{percent:.1} %"),
            format!("{largest:.2}"),
        ]);
    }
    table
}

fn worst(kind: Kind, aim: Aim, gap: f64, instance: &Instance, comparison: &Comparison) -> String {
    let unit = instance.unit(Aim::Speed);
    let shown = |measured: Measured| {
        format!("{} / {:.2}", measured.insns, f64::from(measured.executed) / unit)
    };
    let best = match comparison.best {
        Best::Other(best) => shown(best),
        Best::Generated | Best::Unknown(_) => String::new(),
    };
    format!(
        "- {}, {}: {gap:.2}; instructions / executed {}, best {best}: {}\n",
        kind.name(),
        aim.name(),
        shown(comparison.generated),
        instance.describe()
    )
}

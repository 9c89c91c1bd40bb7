//! The table of the costs of instructions, for the report.

use callgate_codegen::native::{Constant, Kernel, Next};

use super::measured::KERNELS;
use crate::table::Table;

/// The captions and tables: kernels with a JIT compiler, and those that interpret programs.
pub(super) fn tables() -> Vec<(String, Table)> {
    let of = |kernel: &&Kernel| kernel.name.ends_with(INTERPRETER);
    let (interpreters, with_jit): (Vec<&Kernel>, Vec<&Kernel>) = KERNELS.iter().partition(of);
    let captions = ["with the JIT compiler", "interpreter"].map(str::to_owned);
    captions.into_iter().zip([with_jit, interpreters].map(|kernels| table(&kernels))).collect()
}

/// How the names of kernels without a JIT compiler end.
const INTERPRETER: &str = ", interpreter";

fn table(kernels: &[&Kernel]) -> Table {
    let names = kernels.iter().map(|kernel| kernel.name.trim_end_matches(INTERPRETER));
    let mut table = Table::new(std::iter::once("form").chain(names));
    let mut row = |name: &str, cell: &dyn Fn(&Kernel) -> String| {
        let cells = kernels.iter().map(|kernel| cell(kernel));
        table.row(std::iter::once(name.to_owned()).chain(cells));
    };
    for (word, name) in ["arch", "nr", "args[0].low", "args[0].high"].into_iter().enumerate() {
        row(&format!("`ld {name}`"), &|kernel| kernel.loads[word].to_string());
    }
    row("`and #k`", &|kernel| kernel.ands[0].to_string());
    row("`and #k` from 0x80000000 on", &|kernel| kernel.ands[1].to_string());
    row("`sub #k`", &|kernel| kernel.sub.to_string());
    row("`tax`", &|kernel| kernel.tax.to_string());
    row("`ld #k`", &|kernel| kernel.constant.to_string());
    row("`rsh x`", &|kernel| kernel.shift.to_string());
    row("`ja`, also to a `ja`", &|kernel| kernel.ja.to_string());
    for (place, name) in ["first of several", "in between", "last"].into_iter().enumerate() {
        row(&format!("`ret`, {name}"), &|kernel| format!("+{}", kernel.returns[place]));
    }
    for (kind, names) in ["`jeq`, `jgt`, `jge`", "`jset`"].into_iter().enumerate() {
        for constant in Constant::ALL {
            for next in Next::ALL {
                let name = format!("{names} {}, {}", class(constant), side(next));
                row(&name, &|kernel| {
                    let [when, otherwise] = kernel.jumps[kind][constant as usize][next as usize];
                    format!("{when} / {otherwise}")
                });
            }
        }
    }
    table
}

fn class(constant: Constant) -> &'static str {
    match constant {
        Constant::Short => "12 bits",
        Constant::Half => "16 bits",
        Constant::Long => "31 bits",
        Constant::High => "from 0x80000000 on",
    }
}

fn side(next: Next) -> &'static str {
    match next {
        Next::True => "true side next",
        Next::False => "false side next",
        Next::Neither => "neither next",
    }
}

#[cfg(test)]
mod tests {
    use callgate_core::Op;

    use super::*;

    /// What the code of the kernel says.
    #[test]
    fn the_measured_costs_agree_with_the_translation_to_ebpf() {
        for kernel in &KERNELS {
            for op in Kernel::JUMPS {
                for k in [5, 0x1235, 0x1234_5678] {
                    let of = |next| kernel.jump(op, k, next);
                    let (near, far) = (of(Next::False), of(Next::Neither));
                    assert_eq!(near[0], far[0], "{}", kernel.name);
                    // `ja` for the false side.
                    assert_eq!(near[1] + kernel.ja, far[1], "{}", kernel.name);
                    if !kernel.name.ends_with(INTERPRETER) {
                        let with_ja = if op == Op::JsetK { kernel.ja } else { 0 };
                        let [when, otherwise] = of(Next::True);
                        assert_eq!(otherwise, when + with_ja, "{}", kernel.name);
                    }
                }
            }
        }
    }

    #[test]
    fn the_code_generator_has_the_newest_kernels_with_a_jit_compiler() {
        for known in &callgate_codegen::native::KERNELS {
            assert!(KERNELS.contains(known), "{}", known.name);
        }
    }

    #[test]
    fn every_kernel_has_a_column() {
        let tables = tables();
        let columns: usize = tables
            .iter()
            .map(|(_, table)| {
                let text = table.markdown();
                text.lines().next().unwrap_or_default().matches('|').count() - 2
            })
            .sum();
        assert_eq!(columns, KERNELS.len());
        let (caption, with_jit) = &tables[0];
        assert_eq!(caption, "with the JIT compiler");
        assert!(with_jit.markdown().contains("\n| `jset` from 0x80000000 on, neither next"));
    }
}

//! Comparisons of arguments: `[INDEX,VALUE,OP]` and `[INDEX,VALUE,OP,MASK]`.

use super::scan::{Base, integer, unsigned};
use crate::diagnostics::quote::shorten;
use crate::ruleset::{Comparison, Op};
use crate::syntax::reader::Reader;

/// The number of comparisons that LXC reads from a line.
const MAX_PER_RULE: usize = 6;

/// The number of characters that LXC keeps of a value or a mask, and of an operator.
const MAX_NUMBER: usize = 23;
const MAX_OPERATOR: usize = 30;

/// The operators, as constants of libseccomp and as signs.
const OPERATORS: [(&str, &str); 7] = [
    ("SCMP_CMP_NE", "!="),
    ("SCMP_CMP_LT", "<"),
    ("SCMP_CMP_LE", "<="),
    ("SCMP_CMP_EQ", "=="),
    ("SCMP_CMP_GE", ">="),
    ("SCMP_CMP_GT", ">"),
    ("SCMP_CMP_MASKED_EQ", "&="),
];

/// The comparisons of a line with `[`; `None` after an error was reported. As in LXC, each `]` ends one.
pub(super) fn arguments(reader: &mut Reader<'_>, line: &str, at: usize) -> Option<Vec<Comparison>> {
    let mut comparisons: Vec<Comparison> = Vec::new();
    let mut offset = at;
    let mut count = 0;
    for part in line.split(']') {
        let part_at = offset;
        offset += part.len() + 1;
        // `strtok` skips empty parts.
        if part.is_empty() {
            continue;
        }
        if count == MAX_PER_RULE {
            let message = format!("LXC ignores comparisons after the first {MAX_PER_RULE}");
            reader.warn(part_at, message).help = "remove what follows".to_owned();
            break;
        }
        let Some(open) = part.find('[') else {
            let message = format!("`{}` after the arguments", shorten(part));
            reader.error(part_at, message).help =
                "LXC refuses anything after the last ], even blanks and comments; remove it"
                    .to_owned();
            return None;
        };
        count += 1;
        let inside = part.get(open + 1..).unwrap_or("");
        let comparison = comparison(reader, inside, part_at + open)?;
        if let Some(same) = comparisons.iter().find(|one| one.arg() == comparison.arg()) {
            let message = format!("a second comparison of argument {}", same.arg());
            reader.error(part_at + open, message).help =
                "libseccomp rejects it, so the container would not start; write two rules if one comparison is enough"
                    .to_owned();
            return None;
        }
        comparisons.push(comparison);
    }
    Some(comparisons)
}

/// The comparison between two brackets.
fn comparison(reader: &mut Reader<'_>, text: &str, at: usize) -> Option<Comparison> {
    let mut fail = |what: String, help: &str| {
        reader.error(at, what).help = help.to_owned();
        None
    };
    const FORM: &str = "the form is [INDEX,VALUE,OP] or [INDEX,VALUE,OP,MASK], such as [0,0x10000000,&=,0x10000000]; \
                        LXC also reads a [ in a comment";
    let malformed = || format!("`[{}]` is not a comparison of LXC", shorten(text));
    let Some((index, rest)) = integer(text, Base::Detected) else {
        return fail(malformed(), FORM);
    };
    // LXC keeps 32 bits of the index.
    let Some(index) = u8::try_from(index as u32).ok().filter(|index| *index < 6) else {
        return fail(format!("argument {index} does not exist"), "arguments are 0 to 5");
    };
    let Some((value, rest)) = rest.strip_prefix(',').and_then(|rest| rest.split_once(',')) else {
        return fail(malformed(), FORM);
    };
    let operator_end = |c: char| c.is_ascii_digit() || matches!(c, '^' | ',');
    let (operator, rest) = rest.split_at(rest.find(operator_end).unwrap_or(rest.len()));
    if value.is_empty()
        || value.len() > MAX_NUMBER
        || operator.is_empty()
        || operator.len() > MAX_OPERATOR
    {
        return fail(malformed(), FORM);
    }
    let Some(value) = unsigned(value) else {
        let what = format!("`{}` is not a 64-bit number", shorten(value));
        return fail(what, "write decimal, 0x… or 0… without blanks after it");
    };
    let mask = rest.strip_prefix(',').map(|rest| rest.split(',').next().unwrap_or(rest));
    let mask = mask.filter(|mask| !mask.is_empty());
    let kept: Option<String> = mask.map(|mask| mask.chars().take(MAX_NUMBER).collect());
    let number = match &kept {
        Some(mask) => unsigned(mask),
        None => Some(0),
    };
    let Some(number) = number else {
        let what = format!("the mask `{}` is not a 64-bit number", shorten(mask.unwrap_or("")));
        return fail(what, "write decimal, 0x… or 0… without blanks around it");
    };
    let known = OPERATORS.iter().find(|(name, sign)| operator == *name || operator == *sign);
    let Some((_, sign)) = known else {
        let what = format!("`{}` is not an operator of LXC", shorten(operator));
        return fail(
            what,
            "the operators are ==, !=, <, <=, >, >= and &=, without blanks around them",
        );
    };
    let op = match *sign {
        "!=" => Op::Ne,
        "<" => Op::Lt,
        "<=" => Op::Le,
        "==" => Op::Eq,
        ">=" => Op::Ge,
        ">" => Op::Gt,
        _ => Op::MaskedEq(number),
    };
    match (op, mask) {
        (Op::MaskedEq(0), _) => {
            reader.warn(at, "a comparison with &= and without a mask always holds").help =
                "write the mask after the operator".to_owned();
        }
        (Op::MaskedEq(mask), _) if value & !mask != 0 => {
            let message = format!(
                "{value:#x} has bits outside of the mask {mask:#x}; libseccomp compares only those inside"
            );
            reader.warn(at, message).help = "the form is [INDEX,VALUE,&=,MASK]".to_owned();
        }
        (Op::MaskedEq(_), _) => {}
        (_, Some(_)) => {
            reader.warn(at, format!("LXC ignores the mask, because the operator is {sign}")).help =
                "write &=, or remove the mask".to_owned();
        }
        _ if !rest.is_empty() => {
            let message = format!("LXC ignores `{}` after the operator", shorten(rest));
            reader.warn(at, message).help = "remove it".to_owned();
        }
        _ => {}
    }
    Comparison::new(index, op, value)
}

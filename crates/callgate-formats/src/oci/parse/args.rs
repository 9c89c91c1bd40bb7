//! Reader of `args`: the conditions of an entry as comparisons of arguments.

use crate::diagnostics::quote::shorten;
use crate::oci::dialect::Dialect;
use crate::ruleset::{Comparison, Op};
use crate::syntax::reader::{Fields, Reader, key};
use crate::syntax::tree::Node;
use callgate_bpf::diagnostic::Topic;

#[rustfmt::skip]
const OPERATORS: [&str; 7] = [
    "SCMP_CMP_NE", "SCMP_CMP_LT", "SCMP_CMP_LE", "SCMP_CMP_EQ", "SCMP_CMP_GE", "SCMP_CMP_GT",
    "SCMP_CMP_MASKED_EQ",
];

/// The largest integer of a resource. Kubernetes reads a larger one as a floating-point number, which loses digits.
const MAX_IN_RESOURCE: u64 = i64::MAX as u64;

/// One condition of `args`.
struct Arg {
    at: usize,
    comparison: Comparison,
    /// Whether it never holds, because the datum has bits outside the mask.
    never: bool,
}

/// The conditions of an entry in disjunctive normal form: all comparisons of at least one of the lists must hold.
/// `None` only after an error was reported.
pub(super) fn alternatives(
    reader: &mut Reader<'_>,
    node: &Node<'_>,
    dialect: Dialect,
    is_in_resource: bool,
) -> Option<Vec<Vec<Comparison>>> {
    let nodes = reader.list(node, "`args`")?;
    let read = |node| arg(reader, node, dialect, is_in_resource);
    let args: Vec<Arg> = nodes.iter().filter_map(read).collect();
    if args.len() != nodes.len() {
        return None;
    }
    let args = used(reader, args, dialect);
    let same = |a: &Arg, b: &Arg| a.comparison.arg() == b.comparison.arg();
    let repeated = args
        .iter()
        .enumerate()
        .find(|(i, arg)| args.iter().take(*i).any(|earlier| same(earlier, arg)))
        .map(|(_, arg)| arg);
    if let Some(arg) = repeated {
        let index = arg.comparison.arg();
        let message = match dialect {
            Dialect::Oci => format!(
                "argument {index} is compared more than once in this entry: by the specification all \
                 conditions must hold, but runc and crun turn each condition of the entry into a \
                 separate rule"
            ),
            _ => format!(
                "argument {index} is compared more than once in this entry, so each condition of the \
                 entry becomes a separate rule: one condition that holds is enough"
            ),
        };
        let warning = reader.warn(arg.at, message);
        warning.topic = Some(Topic::OrConditions);
        warning.help =
            "to match any of several conditions, write one entry for each; no runtime can require \
             several conditions on one argument"
                .to_owned();
    }
    if repeated.is_some() && dialect != Dialect::Oci {
        let held = args.iter().filter(|arg| !arg.never);
        return Some(held.map(|arg| vec![arg.comparison]).collect());
    }
    if args.iter().any(|arg| arg.never) {
        return Some(Vec::new());
    }
    Some(vec![args.iter().map(|arg| arg.comparison).collect()])
}

/// Number of conditions of an entry that crun uses.
const CRUN_ARGS: usize = 6;

/// The conditions that the dialect uses.
fn used(reader: &mut Reader<'_>, mut args: Vec<Arg>, dialect: Dialect) -> Vec<Arg> {
    let is_crun = matches!(dialect, Dialect::Crun | Dialect::Podman);
    if let (Some(arg), true) = (args.get(CRUN_ARGS), is_crun) {
        let message = format!(
            "this entry has {} conditions, but crun uses only the first {CRUN_ARGS}",
            args.len()
        );
        reader.warn(arg.at, message).help =
            format!("write at most {CRUN_ARGS} conditions per entry");
        args.truncate(CRUN_ARGS);
    }
    args
}

fn arg(
    reader: &mut Reader<'_>,
    node: &Node<'_>,
    dialect: Dialect,
    is_in_resource: bool,
) -> Option<Arg> {
    let known = [key("index"), key("value"), key("valueTwo"), key("op")];
    let fields = reader.fields(node, "an item of `args`", &known)?;
    let mut required = |key: &str| {
        if fields.get(key).is_none() {
            reader.error(fields.at, format!("missing `{key}` in an item of `args`")).help =
                "give `index`, `op` and `value`".to_owned();
        }
        fields.get(key)
    };
    let (index, op) = (required("index"), required("op"));
    // In a resource, `value` is optional.
    let value = match is_in_resource {
        true => fields.get("value").ok_or(0),
        false => Ok(required("value")?),
    };
    let index = index.and_then(|node| reader.integer(node, "`index`", 5));
    let max = if is_in_resource { MAX_IN_RESOURCE } else { u64::MAX };
    let value = match value {
        Ok(node) => reader.integer(node, "`value`", max),
        Err(default) => Some(default),
    };
    let value_two = match fields.get("valueTwo") {
        Some(node) => (node.at, reader.integer(node, "`valueTwo`", max)?),
        None => (fields.at, 0),
    };
    let op = op?;
    let name = reader.text(op, "`op`")?;
    let Some(name) = OPERATORS.into_iter().find(|known| *known == name) else {
        let message = format!("`op` is \"{}\", which is not a comparison operator", shorten(name));
        let near = reader.nearest(name, OPERATORS);
        reader.error(op.at, message).help = match near {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => {
                "the operators are SCMP_CMP_NE, _LT, _LE, _EQ, _GE, _GT and _MASKED_EQ".to_owned()
            }
        };
        return None;
    };
    let (index, value) = (u8::try_from(index?).ok()?, value?);
    let mut never = false;
    let (op, value) = match name {
        "SCMP_CMP_NE" => (Op::Ne, value),
        "SCMP_CMP_LT" => (Op::Lt, value),
        "SCMP_CMP_LE" => (Op::Le, value),
        "SCMP_CMP_GE" => (Op::Ge, value),
        "SCMP_CMP_GT" => (Op::Gt, value),
        "SCMP_CMP_MASKED_EQ" => {
            never = outside_mask(reader, &fields, value, value_two, dialect);
            (Op::MaskedEq(value), value_two.1)
        }
        _ => (Op::Eq, value),
    };
    if !matches!(op, Op::MaskedEq(_)) && value_two.1 != 0 {
        let message = format!("`valueTwo` is {}, but {name} does not use it", value_two.1);
        reader.warn(value_two.0, message).help =
            "remove it, or use SCMP_CMP_MASKED_EQ, where `value` is the mask".to_owned();
    }
    Some(Arg { at: fields.at, comparison: Comparison::new(index, op, value)?, never })
}

/// Warns about a masked comparison that is always or never true as written. Returns whether it never holds.
fn outside_mask(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    mask: u64,
    (at, datum): (usize, u64),
    dialect: Dialect,
) -> bool {
    let outside = datum & !mask;
    if outside != 0 {
        let message =
            format!("`valueTwo` {datum:#x} has bits outside the mask {mask:#x}: {outside:#x}");
        let (message, help) = match dialect {
            Dialect::Oci => (
                format!("{message}; the comparison never holds"),
                "`value` is the mask, `valueTwo` the value to compare with; libseccomp ignores these bits",
            ),
            _ => (
                format!("{message}; libseccomp ignores them"),
                "`value` is the mask, `valueTwo` the value to compare with; by the specification the \
                 comparison never holds",
            ),
        };
        let warning = reader.warn(at, message);
        warning.topic = Some(Topic::NeverMatches);
        warning.help = help.to_owned();
    } else if mask == 0 {
        reader.warn(fields.at, "the mask is 0: the comparison holds for every value").help =
            "`value` is the mask, `valueTwo` the value to compare with".to_owned();
    }
    outside != 0 && dialect == Dialect::Oci
}

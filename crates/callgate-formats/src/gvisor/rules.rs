//! The rules of one list.

use callgate_bpf::diagnostic::{Diagnostic, Position};
use callgate_core::Arch;
use callgate_core::policy::{Cmp, Condition, Field, Test};
use rustc_hash::FxHashSet as HashSet;

use super::cursor::Cursor;
use super::expression::{syscall, value};
use super::lexer::Kind;

/// How deep rules may nest.
const MAX_DEPTH: usize = 16;

/// The most rules of a list; an architecture has fewer syscalls.
const MAX_ENTRIES: usize = 4096;

/// A rule of the list.
pub(super) struct Entry {
    pub(super) position: Position,
    pub(super) name: String,
    pub(super) nr: u32,
    pub(super) when: Condition,
}

/// The rules of a list, at whose beginning the cursor is.
pub(super) fn list(cursor: &mut Cursor<'_, '_>, arch: Arch) -> Result<Vec<Entry>, Diagnostic> {
    let start = cursor.at();
    cursor.take_all(&["seccomp", "."]);
    let mut entries = Vec::new();
    if cursor.take_all(&["NewSyscallRules", "(", ")"]) {
    } else if cursor.take_all(&["MakeSyscallRules", "("]) {
        let at = cursor.at();
        let is_map = cursor.take_all(&["map", "[", "uintptr", "]"]);
        cursor.take_all(&["seccomp", "."]);
        if !is_map || !cursor.take_all(&["SyscallRule", "{"]) {
            return Err(
                cursor.computed(at, "the argument of MakeSyscallRules is not a literal map")
            );
        }
        members(cursor, arch, &mut entries)?;
        cursor.take(",");
        cursor.expect(")")?;
    } else {
        cursor.expect("SyscallRules")?;
        cursor.expect("{")?;
        members(cursor, arch, &mut entries)?;
    }
    while cursor.take(".") {
        let at = cursor.at();
        if !cursor.take_all(&["Add", "("]) {
            let name = cursor.next().map_or("", |token| token.text);
            return Err(cursor.computed(at, &format!("`{name}` changes the list")));
        }
        let entry = entry(cursor, arch, ",")?;
        cursor.take(",");
        cursor.expect(")")?;
        add(cursor, at, entry, &mut entries)?;
    }
    if entries.is_empty() {
        return Err(cursor.computed(start, "the list is empty, so it is filled elsewhere"));
    }
    Ok(entries)
}

fn add(
    cursor: &Cursor<'_, '_>,
    at: usize,
    entry: Entry,
    entries: &mut Vec<Entry>,
) -> Result<(), Diagnostic> {
    if entries.len() == MAX_ENTRIES {
        return Err(cursor.error(at, format!("a list has more than {MAX_ENTRIES} rules")));
    }
    entries.push(entry);
    Ok(())
}

/// The members of a map up to its end.
fn members(
    cursor: &mut Cursor<'_, '_>,
    arch: Arch,
    entries: &mut Vec<Entry>,
) -> Result<(), Diagnostic> {
    let mut numbers: HashSet<u32> = entries.iter().map(|entry| entry.nr).collect();
    while !cursor.take("}") {
        let at = cursor.at();
        let entry = entry(cursor, arch, ":")?;
        if !numbers.insert(entry.nr) {
            let message =
                format!("`{}` is twice in this list, which Go does not allow", entry.name);
            return Err(Diagnostic::error(Some(entry.position), message).help("join them with Or"));
        }
        add(cursor, at, entry, entries)?;
        if !cursor.take(",") {
            cursor.expect("}")?;
            return Ok(());
        }
    }
    Ok(())
}

fn entry(cursor: &mut Cursor<'_, '_>, arch: Arch, between: &str) -> Result<Entry, Diagnostic> {
    let at = cursor.at();
    let (name, nr) = syscall(cursor, arch)?;
    cursor.expect(between)?;
    let when = rule(cursor, arch, 0)?;
    Ok(Entry { position: cursor.position(at), name, nr, when })
}

/// A rule: when it matches.
fn rule(cursor: &mut Cursor<'_, '_>, arch: Arch, depth: usize) -> Result<Condition, Diagnostic> {
    let at = cursor.at();
    if depth > MAX_DEPTH {
        return Err(cursor.error(at, format!("rules nest deeper than {MAX_DEPTH}")));
    }
    cursor.take_all(&["seccomp", "."]);
    if cursor.take_all(&["MatchAll", "{", "}"]) {
        return Ok(Condition::always());
    }
    if cursor.take_all(&["Or", "{"]) || cursor.take_all(&["[", "]", "Rule", "{"]) {
        return Ok(Condition::any(parts(cursor, arch, depth, at)?));
    }
    if cursor.take_all(&["[", "]", "seccomp", ".", "Rule", "{"]) {
        return Ok(Condition::any(parts(cursor, arch, depth, at)?));
    }
    if cursor.take_all(&["And", "{"]) {
        return Ok(Condition::all(parts(cursor, arch, depth, at)?));
    }
    if cursor.take_all(&["PerArg", "{"]) || cursor.take_all(&["Rule", "{"]) || cursor.take("{") {
        return arguments(cursor, arch);
    }
    let name = cursor.next().map_or("the end of the text", |token| token.text);
    Err(cursor.computed(at, &format!("`{name}` is not a rule such as PerArg, Or, And or MatchAll")))
}

/// Rules up to the end of a list, at least one.
fn parts(
    cursor: &mut Cursor<'_, '_>,
    arch: Arch,
    depth: usize,
    at: usize,
) -> Result<Vec<Condition>, Diagnostic> {
    let mut parts = Vec::new();
    while !cursor.take("}") {
        parts.push(rule(cursor, arch, depth + 1)?);
        if !cursor.take(",") {
            cursor.expect("}")?;
            break;
        }
    }
    match parts.is_empty() {
        true => Err(cursor.error(at, "a rule list is empty, which gVisor refuses".to_owned())),
        false => Ok(parts),
    }
}

/// The matchers of arguments up to the end.
fn arguments(cursor: &mut Cursor<'_, '_>, arch: Arch) -> Result<Condition, Diagnostic> {
    let mut conditions = Vec::new();
    let mut index = 0;
    while !cursor.take("}") {
        let at = cursor.at();
        conditions.push(matcher(cursor, arch, index, at)?);
        index += 1;
        if !cursor.take(",") {
            cursor.expect("}")?;
            break;
        }
    }
    Ok(Condition::all(conditions))
}

/// A matcher of the argument with this index.
fn matcher(
    cursor: &mut Cursor<'_, '_>,
    arch: Arch,
    index: u8,
    at: usize,
) -> Result<Condition, Diagnostic> {
    cursor.take_all(&["seccomp", "."]);
    if cursor.take_all(&["AnyValue", "{", "}"]) || cursor.take("nil") {
        return match index {
            0..=6 => Ok(Condition::always()),
            _ => Err(cursor.error(at, "PerArg has at most 7 values".to_owned())),
        };
    }
    let field = if index == 6 { Some(Field::instruction_pointer()) } else { Field::arg(index) };
    let Some(field) = field else {
        return Err(cursor.error(at, "PerArg has at most 7 values".to_owned()));
    };
    if cursor.take_all(&["NonNegativeFD", "{", "}"]) {
        return Ok(Condition::test(Test::new(field, Cmp::Lt, 1 << 31)));
    }
    let token = cursor.next();
    let name = token.map_or("", |token| token.text);
    let is_call = token.is_some_and(|token| token.kind == Kind::Word) && cursor.take("(");
    let comparison = match name {
        "EqualTo" => Some(Cmp::Eq),
        "NotEqual" => Some(Cmp::Ne),
        "GreaterThan" => Some(Cmp::Gt),
        "GreaterThanOrEqual" => Some(Cmp::Ge),
        "LessThan" => Some(Cmp::Lt),
        "LessThanOrEqual" => Some(Cmp::Le),
        _ => None,
    };
    let condition = match (comparison, name) {
        _ if !is_call => None,
        (Some(cmp), _) => Some(Test::new(field, cmp, value(cursor, arch)?)),
        (None, "MaskedEqual") => {
            let mask = value(cursor, arch)?;
            cursor.expect(",")?;
            let wanted = value(cursor, arch)?;
            // Bits outside of the mask never match.
            if wanted & !mask != 0 {
                cursor.take(",");
                cursor.expect(")")?;
                return Ok(Condition::never());
            }
            Some(Test::masked_eq(field, mask, wanted))
        }
        (None, "BitsAllowlist") => Some(Test::masked_eq(field, !value(cursor, arch)?, 0)),
        _ => None,
    };
    let Some(test) = condition else {
        return Err(cursor.computed(at, &format!("`{name}` is not a matcher that is known")));
    };
    cursor.take(",");
    cursor.expect(")")?;
    Ok(Condition::test(test))
}

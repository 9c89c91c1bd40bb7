//! Instructions as `golang.org/x/net/bpf` declares them.

use super::field::Fields;
use crate::cursor::{Cursor, Result};
use crate::diagnostic::{Position, error};
use crate::token::quote;
use callgate_core::{RawInsn, SKF_AD_OFF};

/// The types of instructions and their fields.
const TYPES: &[(&str, &[&str])] = &[
    ("LoadConstant", &["Dst", "Val"]),
    ("LoadScratch", &["Dst", "N"]),
    ("LoadAbsolute", &["Off", "Size"]),
    ("LoadIndirect", &["Off", "Size"]),
    ("LoadMemShift", &["Off"]),
    ("LoadExtension", &["Num"]),
    ("StoreScratch", &["Src", "N"]),
    ("ALUOpConstant", &["Op", "Val"]),
    ("ALUOpX", &["Op"]),
    ("NegateA", &[]),
    ("Jump", &["Skip"]),
    ("JumpIf", &["Cond", "Val", "SkipTrue", "SkipFalse"]),
    ("JumpIfX", &["Cond", "SkipTrue", "SkipFalse"]),
    ("RetA", &[]),
    ("RetConstant", &["Val"]),
    ("TXA", &[]),
    ("TAX", &[]),
];

/// The type of an instruction, by its name.
pub(super) fn type_of(name: &str) -> Option<&'static (&'static str, &'static [&'static str])> {
    TYPES.iter().find(|(known, _)| *known == name)
}

/// Reads the fields after the brace.
pub(super) fn instruction<'t, 'a>(
    cursor: &mut Cursor<'t, 'a>,
    values: &mut Fields<'_, 't, 'a>,
    (name, fields): (&str, &[&str]),
) -> Result<RawInsn> {
    let start = cursor.position();
    let place_of = |cursor: &mut Cursor<'t, 'a>| {
        let [field, colon, ..] = cursor.rest() else { return Ok(None) };
        if !colon.is(':') {
            return Ok(None);
        }
        let Some(place) = fields.iter().position(|known| *known == field.text) else {
            let message = format!("{name} has no field {}", quote(field.text));
            return Err(error(field.position, message));
        };
        cursor.skip(2);
        Ok(Some(place))
    };
    let (given, _) = values.list(cursor, name, fields, place_of)?;
    let field = |name: &str| {
        let place = fields.iter().position(|known| *known == name);
        place.and_then(|place| given.get(place).copied().flatten()).unwrap_or(0)
    };
    encode(name, start, field)
}

fn encode(name: &str, start: Position, field: impl Fn(&str) -> u32) -> Result<RawInsn> {
    let plain = |code: u32, k: u32| Ok(RawInsn { code: code as u16, jt: 0, jf: 0, k });
    let wrong = |what: &str, given: u32| error(start, format!("{given} is not {what}"));
    // The class of the destination, `BPF_LD` or `BPF_LDX`.
    let register = |name| match field(name) {
        register @ 0..=1 => Ok(register),
        other => Err(wrong("a register, RegA or RegX", other)),
    };
    let size = || match field("Size") {
        4 => Ok(0x00),
        2 => Ok(0x08),
        1 => Ok(0x10),
        other => Err(wrong("a size of a load: 1, 2 or 4", other)),
    };
    let operation = || match field("Op") {
        op if op & !0xf0 == 0 => Ok(0x04 | op),
        other => Err(wrong("an operation such as ALUOpAnd", other)),
    };
    let branch = |source: u32, k: u32| {
        let condition = field("Cond");
        let Some(code) = CONDITIONS.get(condition as usize) else {
            return Err(wrong("a condition such as JumpEqual", condition));
        };
        let (holds, fails) = (field("SkipTrue") as u8, field("SkipFalse") as u8);
        // Those with odd numbers hold where the comparison fails.
        let (jt, jf) = if condition % 2 == 1 { (fails, holds) } else { (holds, fails) };
        Ok(RawInsn { code: (0x05 | code | source) as u16, jt, jf, k })
    };
    match name {
        "LoadConstant" => plain(register("Dst")?, field("Val")),
        "LoadScratch" => plain(0x60 | register("Dst")?, field("N")),
        "LoadAbsolute" => plain(0x20 | size()?, field("Off")),
        "LoadIndirect" => plain(0x40 | size()?, field("Off")),
        "LoadMemShift" => plain(0xb1, field("Off")),
        // The package counts the length among its extensions (`ExtLen`); it is not an ancillary word.
        "LoadExtension" if field("Num") == 1 => plain(0x80, 0),
        "LoadExtension" => plain(0x20, SKF_AD_OFF.wrapping_add(field("Num"))),
        "StoreScratch" => plain(0x02 | register("Src")?, field("N")),
        "ALUOpConstant" => plain(operation()?, field("Val")),
        "ALUOpX" => plain(operation()? | 0x08, 0),
        "NegateA" => plain(0x84, 0),
        "Jump" => plain(0x05, field("Skip")),
        "JumpIf" => branch(0x00, field("Val")),
        "JumpIfX" => branch(0x08, 0),
        "RetA" => plain(0x16, 0),
        "RetConstant" => plain(0x06, field("Val")),
        "TAX" => plain(0x07, 0),
        _ => plain(0x87, 0),
    }
}

/// The comparison of each `JumpTest`, in their order.
const CONDITIONS: [u32; 8] = [0x10, 0x10, 0x20, 0x30, 0x30, 0x20, 0x40, 0x40];

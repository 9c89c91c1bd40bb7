//! What aarch64 code refers to.
//!
//! Addresses are computed by two instructions: ADRP for a page of 4 KiB, then ADD, LDR or STR with the rest. The second
//! one usually follows the first one, but may be in another block; then all pages of the register in the function count.

use super::aarch64_form::{Access, Form, form, words};
use super::aarch64_insn::written;
use super::insn::{End, Reference, ReferenceKind as Kind};
use crate::image::Image;

/// Pages of a register in one function. The first ones are kept.
const MAX_PAGES: usize = 64;

/// Decodes code from an address on, and passes on all references. `fresh` gets the addresses to which the previous
/// instruction does not continue.
pub(super) fn scan(
    image: &Image,
    start: u64,
    bytes: &[u8],
    mut fresh: Option<&mut Vec<u64>>,
    mut add: impl FnMut(Reference),
) -> End {
    // The pages of all registers, and the address that each register has now.
    let mut pages: [Vec<u64>; 32] = Default::default();
    let mut known: [Option<u64>; 32] = [None; 32];
    let mut end = End::Continues;
    // Words that were loaded into registers: if the next use is a call, only the call counts.
    let mut loaded: [Option<Reference>; 32] = [None; 32];
    for (at, word) in words(bytes, start) {
        let form = form(word, at);
        if let Some(fresh) = fresh.as_mut().filter(|_| end == End::Stops) {
            fresh.push(at);
        }
        end = match form {
            Form::Branch(_) | Form::BranchRegister(_) | Form::Return | Form::Trap => End::Stops,
            Form::Call(_) | Form::CallRegister(_) => End::Calls,
            Form::Nop => end,
            _ => End::Continues,
        };
        let written = written(&form, word);
        // A call of a loaded word.
        let register = match form {
            Form::BranchRegister(register) | Form::CallRegister(register) => Some(register),
            _ => None,
        };
        let called = register.and_then(|register| loaded.get_mut(usize::from(register))?.take());
        for (register, load) in loaded.iter_mut().enumerate() {
            let is_stored = matches!(
                form,
                Form::Store { from, second, .. }
                    if usize::from(from) == register || second.map(usize::from) == Some(register)
            );
            let is_moved = matches!(form, Form::Move { from, .. } if usize::from(from) == register);
            if (written >> register & 1 != 0 || is_stored || is_moved)
                && let Some(load) = load.take()
            {
                add(load);
            }
        }
        let mut refer = |kind, target, size| add(Reference { target, at, kind, size });
        match form {
            Form::Branch(target) | Form::BranchIf(target) => refer(Kind::Jump, target, 0),
            Form::Call(target) => refer(Kind::Call, target, 0),
            Form::BranchRegister(_) => match called {
                Some(load) => refer(Kind::JumpThrough, load.target, 8),
                None => refer(Kind::IndirectJump, 0, 0),
            },
            Form::CallRegister(_) => {
                if let Some(load) = called {
                    refer(Kind::CallThrough, load.target, 8);
                }
            }
            Form::Syscall => refer(Kind::Syscall, 0, 0),
            Form::Page { to, page } => {
                if let Some(all) = pages.get_mut(usize::from(to))
                    && all.len() < MAX_PAGES
                    && !all.contains(&page)
                {
                    all.push(page);
                }
                set(&mut known, to, Some(page));
                continue;
            }
            Form::Address { to, address } => {
                refer(Kind::Address, address, 0);
                set(&mut known, to, Some(address));
                continue;
            }
            Form::AddImmediate { to, from, value, wide: true } => {
                for base in bases(&pages, &known, from) {
                    refer(Kind::Address, base.wrapping_add(value), 0);
                }
                let sum = get(&known, from).map(|base| base.wrapping_add(value));
                set(&mut known, to, sum);
                continue;
            }
            Form::Load {
                to,
                access: Access { base, offset, size: 8, writeback: false, .. },
                ..
            } if get(&known, base).is_some() && to < 31 => {
                let base = get(&known, base).unwrap_or_default();
                let target = base.wrapping_add(offset as u64);
                set(&mut known, to, None);
                if let Some(load) = loaded.get_mut(usize::from(to)) {
                    *load = Some(Reference { target, at, kind: Kind::Memory, size: 8 });
                }
                continue;
            }
            Form::Load { access, .. }
            | Form::LoadPair { access, .. }
            | Form::Store { access, .. }
                if !access.writeback =>
            {
                let is_pair =
                    matches!(form, Form::LoadPair { .. } | Form::Store { second: Some(_), .. });
                let size = if is_pair { 2 * access.size } else { access.size };
                for base in bases(&pages, &known, access.base) {
                    let target = base.wrapping_add(access.offset as u64);
                    refer(Kind::Memory, target, size);
                }
            }
            Form::LoadLiteral { address, .. } => {
                refer(Kind::Memory, address, 8);
                let value = image.layout.u64(address).filter(|_| image.is_fixed);
                if let Some(value) = value.filter(|value| image.layout.is_mapped(*value)) {
                    refer(Kind::Address, value, 0);
                }
            }
            _ => {}
        }
        for register in 0..32_u8 {
            if written >> register & 1 != 0 {
                set(&mut known, register, None);
            }
        }
    }
    loaded.into_iter().flatten().for_each(add);
    end
}

fn get(known: &[Option<u64>; 32], register: u8) -> Option<u64> {
    known.get(usize::from(register)).copied().flatten()
}

fn set(known: &mut [Option<u64>; 32], register: u8, value: Option<u64>) {
    if let Some(known) = known.get_mut(usize::from(register)) {
        *known = value;
    }
}

/// The addresses that a register may have: that of the last instruction that set it, or all pages.
fn bases(pages: &[Vec<u64>; 32], known: &[Option<u64>; 32], register: u8) -> Vec<u64> {
    match get(known, register) {
        Some(base) => vec![base],
        None => pages.get(usize::from(register)).cloned().unwrap_or_default(),
    }
}

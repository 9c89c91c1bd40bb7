//! `serde` for policies. Deserialization uses the constructors, so that its result is valid and in normal form.
//!
//! A [`Policy`](super::Policy) is `{sections, bad_arch}`, a section `{arches, rules, default}`, a rule
//! `{syscalls, when, verdict}`; a condition is `{all: […]}`, `{any: […]}` or `{test: {field, mask, cmp,
//! value}}` or `{fields: {left, relation, right}}`, and a field `{arg, bits}`, with `arg: null` for the instruction pointer. Deserialization recurses
//! once per level of a condition, so the nesting limit of the format applies (128 in `serde_json`).

use serde::ser::Error;
use serde::{Deserialize, Serialize, Serializer};

use super::comparison::Field;
use super::condition::{Condition, Shape};
use super::error::PolicyError;
use super::rules::Policy;
use super::section::{Rule, Section};
use crate::{Arch, Layout, Verdict, Word};

/// A field by its argument and width.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FieldForm {
    arg: Option<u8>,
    bits: u8,
}

impl Serialize for Field {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.layout() != Layout::Seccomp {
            return Err(S::Error::custom("only fields of seccomp filters have a serialized form"));
        }
        let arg = (0..6).find(|index| Word::arg_low(*index) == Some(self.low_word()));
        FieldForm { arg, bits: self.bits() as u8 }.serialize(serializer)
    }
}

impl TryFrom<FieldForm> for Field {
    type Error = String;

    fn try_from(form: FieldForm) -> Result<Field, String> {
        let field = match form.arg {
            None => Field::instruction_pointer(),
            Some(index) => Field::arg(index).ok_or_else(|| {
                format!("argument {index} does not exist; a syscall has arguments 0 to 5")
            })?,
        };
        match form.bits {
            64 => Ok(field),
            32 => Ok(field.low32()),
            bits => Err(format!("a field has 32 or 64 bits, not {bits}")),
        }
    }
}

impl From<Shape> for Condition {
    fn from(shape: Shape) -> Condition {
        match shape {
            Shape::All(parts) => Condition::all(parts),
            Shape::Any(parts) => Condition::any(parts),
            Shape::Test(test) => Condition::test(test),
            Shape::Variable(test) => Condition::variable(test),
            Shape::Fields(test) => Condition::fields(test),
        }
    }
}

impl From<Condition> for Shape {
    fn from(condition: Condition) -> Shape {
        condition.shape().clone()
    }
}

/// A section with its architectures as a list.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SectionForm {
    arches: Vec<Arch>,
    rules: Vec<Rule>,
    default: Verdict,
}

impl From<Section> for SectionForm {
    fn from(section: Section) -> SectionForm {
        let arches = section.arches().collect();
        SectionForm { arches, rules: section.rules, default: section.default }
    }
}

impl TryFrom<SectionForm> for Section {
    type Error = String;

    fn try_from(form: SectionForm) -> Result<Section, String> {
        let Some((first, others)) = form.arches.split_first() else {
            return Err("a section has no architectures; give at least one".to_owned());
        };
        let section = Section::new(*first, form.rules, form.default);
        let mut others = others.iter();
        others.try_fold(section, |all, arch| all.and_arch(*arch)).map_err(|error| error.to_string())
    }
}

/// A policy by its parts.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PolicyForm {
    sections: Vec<Section>,
    bad_arch: Verdict,
}

impl From<Policy> for PolicyForm {
    fn from(policy: Policy) -> PolicyForm {
        PolicyForm { sections: policy.sections().to_vec(), bad_arch: policy.bad_arch() }
    }
}

impl TryFrom<PolicyForm> for Policy {
    type Error = PolicyError;

    fn try_from(form: PolicyForm) -> Result<Policy, PolicyError> {
        Policy::new(form.sections, form.bad_arch)
    }
}

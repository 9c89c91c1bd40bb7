//! Parsers of values on the command line.

use std::ffi::OsStr;

use callgate::Arch;
use callgate_requests::arch_named;
use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command, Error};

use crate::text::did_you_mean;

/// Parses a number without a sign, at most `max`.
fn parse_at_most(text: &str, max: u64) -> std::result::Result<u64, String> {
    let is_digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|number| is_digits && *number <= max);
    number.ok_or_else(|| format!("expected a number from 0 to {max}"))
}

/// [`parse_at_most`] for options that take any 64-bit number.
pub(crate) fn parse_u64(text: &str) -> std::result::Result<u64, String> {
    parse_at_most(text, u64::MAX)
}

/// [`parse_at_most`] for a number of seconds or the like.
pub(crate) fn parse_u32(text: &str) -> std::result::Result<u32, String> {
    parse_at_most(text, u32::MAX.into()).map(|number| number as u32)
}

/// Parser of architectures, whose names shells complete.
#[derive(Clone, Debug)]
pub(crate) struct ArchParser;

impl TypedValueParser for ArchParser {
    type Value = Arch;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<Arch, Error> {
        let parser = StringValueParser::new().try_map(|text| parse_arch(&text));
        parser.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(Arch::ALL.iter().map(|arch| PossibleValue::new(arch.name()))))
    }
}

/// Parses the name of an architecture, also as other tools spell it.
fn parse_arch(name: &str) -> std::result::Result<Arch, String> {
    arch_named(name).ok_or_else(|| {
        let names: Vec<&str> = Arch::ALL.iter().map(|arch| arch.name()).collect();
        format!("the architectures are {}{}", names.join(", "), did_you_mean(name, &names))
    })
}

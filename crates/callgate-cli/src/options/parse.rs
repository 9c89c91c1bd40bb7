//! Parsers of values on the command line.

use callgate::Arch;

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

pub(crate) fn parse_arch(name: &str) -> std::result::Result<Arch, String> {
    Arch::from_name(name).ok_or_else(|| {
        let names: Vec<&str> = Arch::ALL.iter().map(|arch| arch.name()).collect();
        format!("the architectures are {}", names.join(", "))
    })
}

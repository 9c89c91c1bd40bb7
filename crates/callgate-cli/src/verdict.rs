//! Verdicts on the command line.

use callgate::Verdict;
use callgate_core::{errno_name, errno_number};

use crate::text::did_you_mean;

/// The largest error number that the kernel returns (`MAX_ERRNO` in `include/linux/err.h`).
const MAX_ERRNO: u16 = 4095;

/// Parses a verdict that denies a syscall: an action, or the name or the number of an error.
pub(crate) fn parse_denial(word: &str) -> Result<Verdict, String> {
    let number = || word.parse::<u16>().ok().filter(|number| (1..=MAX_ERRNO).contains(number));
    match word {
        // `kill` as in units of systemd.
        "KILL_PROCESS" | "kill" => Ok(Verdict::KILL_PROCESS),
        "KILL_THREAD" => Ok(Verdict::KILL_THREAD),
        "TRAP" => Ok(Verdict::trap(0)),
        _ => errno_number(word).or_else(number).map(Verdict::errno).ok_or_else(|| {
            let errors = (1..=MAX_ERRNO).filter_map(errno_name);
            let known: Vec<&str> = ["KILL_PROCESS", "KILL_THREAD", "TRAP"].into_iter().chain(errors).collect();
            format!(
                "expected KILL_PROCESS, KILL_THREAD, TRAP, the name of an error such as EPERM, or its number \
                 from 1 to {MAX_ERRNO}{}",
                did_you_mean(word, &known)
            )
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn denials_are_actions_and_errors() {
        assert_eq!(parse_denial("EPERM"), Ok(Verdict::errno(1)));
        assert_eq!(parse_denial("38"), Ok(Verdict::errno(38)));
        assert_eq!(parse_denial("4095"), Ok(Verdict::errno(4095)));
        assert_eq!(parse_denial("KILL_THREAD"), Ok(Verdict::KILL_THREAD));
        assert_eq!(parse_denial("kill"), Ok(Verdict::KILL_PROCESS));
        for wrong in ["", "0", "4096", "-1", "ALLOW", "EPERMM", "LOG"] {
            assert!(parse_denial(wrong).is_err(), "{wrong}");
        }
    }
}

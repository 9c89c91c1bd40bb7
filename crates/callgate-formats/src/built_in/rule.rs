//! The title of a section of a [table](super::table): what happens to syscalls, and when.

/// What happens to syscalls, and when.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Rule<'t> {
    /// The error number; `None` allows.
    errno: Option<u16>,
    with: Vec<&'t str>,
    without: Vec<&'t str>,
    on: Vec<&'t str>,
    not_on: Vec<&'t str>,
    from_kernel: Option<&'t str>,
    before_kernel: Option<&'t str>,
    comparisons: Vec<Comparison>,
}

/// A comparison of an argument.
#[derive(Debug, PartialEq, Eq)]
struct Comparison {
    arg: u8,
    /// The name in a profile.
    op: &'static str,
    value: u64,
    value_two: u64,
}

/// `allow`, or `errno` and the error.
pub(super) fn verdict(words: &[&str]) -> Result<Option<u16>, String> {
    match words {
        ["allow"] => Ok(None),
        ["errno", "EPERM"] => Ok(Some(1)),
        ["errno", "EINVAL"] => Ok(Some(22)),
        ["errno", "ENOSYS"] => Ok(Some(38)),
        ["errno", "EAFNOSUPPORT"] => Ok(Some(97)),
        ["errno", number] => {
            number.parse().map(Some).map_err(|_| format!("unknown error \"{number}\""))
        }
        _ => Err(format!("unknown verdict \"{}\"", words.join(" "))),
    }
}

impl<'t> Rule<'t> {
    pub(super) fn parse(words: &[&'t str]) -> Result<Rule<'t>, String> {
        let length = if words.first() == Some(&"errno") { 2 } else { 1 };
        let (own, mut rest) = words.split_at_checked(length).ok_or("it has no error number")?;
        let mut rule = Rule {
            errno: verdict(own)?,
            with: Vec::new(),
            without: Vec::new(),
            on: Vec::new(),
            not_on: Vec::new(),
            from_kernel: None,
            before_kernel: None,
            comparisons: Vec::new(),
        };
        while let [word, value, after @ ..] = rest {
            let list = || value.split(',').collect();
            match *word {
                "with" => rule.with = list(),
                "without" => rule.without = list(),
                "on" => rule.on = list(),
                "not-on" => rule.not_on = list(),
                "from-kernel" => rule.from_kernel = Some(value),
                "before-kernel" => rule.before_kernel = Some(value),
                "if" => {
                    let comparisons = rest[1..].split(|word| *word == "and");
                    rule.comparisons =
                        comparisons.map(Comparison::parse).collect::<Result<_, _>>()?;
                    return Ok(rule);
                }
                other => return Err(format!("unknown word \"{other}\"")),
            }
            rest = after;
        }
        rest.first().map_or(Ok(rule), |word| Err(format!("\"{word}\" has no value")))
    }

    /// An entry of `syscalls`.
    pub(super) fn entry(&self, names: &[&str]) -> String {
        let names: Vec<String> = names.iter().map(|name| format!("        \"{name}\"")).collect();
        let action = if self.errno.is_some() { "SCMP_ACT_ERRNO" } else { "SCMP_ACT_ALLOW" };
        let mut members = vec![
            format!("\"names\": [\n{}\n      ]", names.join(",\n")),
            format!("\"action\": \"{action}\""),
        ];
        members.extend(self.errno.map(|errno| format!("\"errnoRet\": {errno}")));
        if !self.comparisons.is_empty() {
            let args: Vec<String> = self.comparisons.iter().map(Comparison::member).collect();
            members.push(format!("\"args\": [\n        {}\n      ]", args.join(",\n        ")));
        }
        let gates = [
            ("includes", &self.with, &self.on, self.from_kernel),
            ("excludes", &self.without, &self.not_on, self.before_kernel),
        ];
        for (name, caps, arches, kernel) in gates {
            let caps: Vec<String> = caps.iter().map(|cap| format!("\"CAP_{cap}\"")).collect();
            let arches: Vec<String> = arches.iter().map(|arch| format!("\"{arch}\"")).collect();
            let list = |key: &str, values: Vec<String>| {
                (!values.is_empty()).then(|| format!("\"{key}\": [{}]", values.join(", ")))
            };
            let kernel = kernel.map(|kernel| format!("\"minKernel\": \"{kernel}\""));
            let of = [list("caps", caps), list("arches", arches), kernel];
            let of: Vec<String> = of.into_iter().flatten().collect();
            if !of.is_empty() {
                members.push(format!("\"{name}\": {{{}}}", of.join(", ")));
            }
        }
        format!("    {{\n      {}\n    }}", members.join(",\n      "))
    }
}

impl Comparison {
    /// `arg0 == 1`, or `arg0 & 2 == 0`.
    fn parse(words: &[&str]) -> Result<Comparison, String> {
        let (arg, op, value, value_two) = match words {
            [arg, "&", mask, "==", value] => {
                (arg, "SCMP_CMP_MASKED_EQ", number(mask)?, number(value)?)
            }
            [arg, op, value] => {
                let op = match *op {
                    "==" => "SCMP_CMP_EQ",
                    "!=" => "SCMP_CMP_NE",
                    "<" => "SCMP_CMP_LT",
                    "<=" => "SCMP_CMP_LE",
                    ">" => "SCMP_CMP_GT",
                    ">=" => "SCMP_CMP_GE",
                    _ => return Err(format!("unknown comparison \"{op}\"")),
                };
                (arg, op, number(value)?, 0)
            }
            _ => return Err(format!("\"{}\" is not a comparison", words.join(" "))),
        };
        let index = arg.strip_prefix("arg").and_then(|index| index.parse().ok());
        let arg = index.ok_or_else(|| format!("\"{arg}\" is not an argument"))?;
        Ok(Comparison { arg, op, value, value_two })
    }

    /// An element of `args`.
    fn member(&self) -> String {
        let Comparison { arg, op, value, value_two } = self;
        format!(
            "{{\"index\": {arg}, \"value\": {value}, \"valueTwo\": {value_two}, \"op\": \"{op}\"}}"
        )
    }
}

/// A number, decimal or after `0x`.
fn number(text: &str) -> Result<u64, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| format!("\"{text}\" is not a number"))
}

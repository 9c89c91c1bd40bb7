//! A small evaluator for scripts: it reads the text as a solver would, and evaluates every definition for one
//! syscall. It shares nothing with the translation.

use std::collections::HashMap;

use callgate_core::SeccompData;

/// A value of the logic.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Value {
    Bool(bool),
    Bits { width: u32, value: u64 },
}

#[derive(Clone, Debug)]
enum Expr {
    Atom(String),
    List(Vec<Expr>),
}

/// The result of a script for a syscall.
#[derive(Debug, PartialEq)]
pub(super) struct Answer {
    pub(super) verdict_a: u32,
    pub(super) verdict_b: u32,
    /// Whether the last assertion holds: the syscall is a counterexample.
    pub(super) differs: bool,
}

/// A parsed script.
pub(super) struct Script(Vec<Expr>);

impl Script {
    pub(super) fn read(text: &str) -> Script {
        let mut open = vec![Vec::new()];
        for line in text.lines() {
            let code = line.split(';').next().unwrap();
            for token in code.replace('(', " ( ").replace(')', " ) ").split_whitespace() {
                match token {
                    "(" => open.push(Vec::new()),
                    ")" => {
                        let list = open.pop().unwrap();
                        open.last_mut().unwrap().push(Expr::List(list));
                    }
                    atom => open.last_mut().unwrap().push(Expr::Atom(atom.to_owned())),
                }
            }
        }
        assert_eq!(open.len(), 1, "parentheses match");
        Script(open.pop().unwrap())
    }

    pub(super) fn run(&self, data: &SeccompData) -> Answer {
        let mut known = HashMap::new();
        let mut declare = |name: &str, width, value| {
            known.insert(name.to_owned(), Value::Bits { width, value });
        };
        declare("nr", 32, data.nr.into());
        declare("arch", 32, data.arch.into());
        declare("instruction_pointer", 64, data.instruction_pointer);
        for (number, arg) in data.args.iter().enumerate() {
            declare(&format!("arg{number}"), 64, *arg);
        }
        let mut differs = None;
        let mut checked = false;
        for command in &self.0 {
            let Expr::List(parts) = command else { panic!("{command:?}") };
            assert!(!checked, "check-sat is the last command");
            match (atom(&parts[0]), &parts[1..]) {
                ("set-option" | "set-logic", _) => {}
                ("declare-const", [name, _]) => {
                    let name = atom(name);
                    assert!(known.contains_key(name) || name.starts_with("verdict_"), "{name}");
                }
                ("define-fun", [name, Expr::List(parameters), sort, term]) => {
                    assert!(parameters.is_empty());
                    let value = evaluate(term, &known);
                    assert_eq!(sort_of(value), show(sort), "{name:?}");
                    let old = known.insert(atom(name).to_owned(), value);
                    assert_eq!(old, None, "{name:?} is defined once");
                }
                ("assert", [Expr::List(equality)])
                    if atom(&equality[0]) == "=" && atom(&equality[1]).starts_with("verdict_") =>
                {
                    let value = evaluate(&equality[2], &known);
                    assert_eq!(known.insert(atom(&equality[1]).to_owned(), value), None);
                }
                ("assert", [term]) => {
                    assert_eq!(differs, None);
                    differs = Some(truth(evaluate(term, &known)));
                }
                ("check-sat", []) => checked = true,
                _ => panic!("{parts:?}"),
            }
        }
        assert!(checked);
        let verdict = |name: &str| match known[name] {
            Value::Bits { width: 32, value } => value as u32,
            other => panic!("{other:?}"),
        };
        Answer {
            verdict_a: verdict("verdict_a"),
            verdict_b: verdict("verdict_b"),
            differs: differs.unwrap(),
        }
    }
}

fn atom(expr: &Expr) -> &str {
    match expr {
        Expr::Atom(atom) => atom,
        Expr::List(_) => panic!("{expr:?}"),
    }
}

fn show(expr: &Expr) -> String {
    match expr {
        Expr::Atom(atom) => atom.clone(),
        Expr::List(parts) => {
            format!("({})", parts.iter().map(show).collect::<Vec<_>>().join(" "))
        }
    }
}

fn sort_of(value: Value) -> String {
    match value {
        Value::Bool(_) => "Bool".to_owned(),
        Value::Bits { width, .. } => format!("(_ BitVec {width})"),
    }
}

fn truth(value: Value) -> bool {
    match value {
        Value::Bool(value) => value,
        Value::Bits { .. } => panic!("{value:?} is not a truth value"),
    }
}

fn bits(value: Value) -> (u32, u64) {
    match value {
        Value::Bits { width, value } => (width, value),
        Value::Bool(_) => panic!("{value:?} is not a bit vector"),
    }
}

fn evaluate(expr: &Expr, known: &HashMap<String, Value>) -> Value {
    let parts = match expr {
        Expr::Atom(atom) => {
            return match (atom.as_str(), atom.strip_prefix("#x")) {
                ("true", _) => Value::Bool(true),
                ("false", _) => Value::Bool(false),
                (_, Some(digits)) => Value::Bits {
                    width: digits.len() as u32 * 4,
                    value: u64::from_str_radix(digits, 16).unwrap(),
                },
                (name, None) => *known.get(name).unwrap_or_else(|| panic!("{name} is unknown")),
            };
        }
        Expr::List(parts) => parts,
    };
    if let Expr::List(_) = &parts[0] {
        let (width, value) = bits(evaluate(&parts[1], known));
        assert_eq!((parts.len(), width), (2, 64));
        let value = match show(&parts[0]).as_str() {
            "(_ extract 31 0)" => value & 0xffff_ffff,
            "(_ extract 63 32)" => value >> 32,
            other => panic!("{other}"),
        };
        return Value::Bits { width: 32, value };
    }
    let operator = atom(&parts[0]);
    let values: Vec<Value> = parts[1..].iter().map(|part| evaluate(part, known)).collect();
    match (operator, values.as_slice()) {
        ("not", [a]) => return Value::Bool(!truth(*a)),
        ("and", [_, _, ..]) => return Value::Bool(values.iter().all(|value| truth(*value))),
        ("or", [_, _, ..]) => return Value::Bool(values.iter().any(|value| truth(*value))),
        ("ite", [condition, then, otherwise]) => {
            assert_eq!(sort_of(*then), sort_of(*otherwise));
            return if truth(*condition) { *then } else { *otherwise };
        }
        _ => {}
    }
    if let ("bvneg", [a]) = (operator, values.as_slice()) {
        let (width, a) = bits(*a);
        return Value::Bits { width, value: a.wrapping_neg() & (u64::MAX >> (64 - width)) };
    }
    let [a, b] = values.as_slice() else { panic!("{operator} {values:?}") };
    let ((width, a), (other, b)) = (bits(*a), bits(*b));
    assert_eq!(width, other, "{}", show(expr));
    let signed = |value: u64| ((value << (64 - width)) as i64) >> (64 - width);
    let all = u64::MAX >> (64 - width);
    let value = match operator {
        "=" => return Value::Bool(a == b),
        "bvult" => return Value::Bool(a < b),
        "bvule" => return Value::Bool(a <= b),
        "bvugt" => return Value::Bool(a > b),
        "bvuge" => return Value::Bool(a >= b),
        "bvslt" => return Value::Bool(signed(a) < signed(b)),
        "bvadd" => a.wrapping_add(b),
        "bvsub" => a.wrapping_sub(b),
        "bvmul" => a.wrapping_mul(b),
        "bvudiv" => a.checked_div(b).unwrap_or(all),
        "bvurem" => a.checked_rem(b).unwrap_or(a),
        "bvor" => a | b,
        "bvand" => a & b,
        "bvxor" => a ^ b,
        "bvshl" if b < u64::from(width) => a << b,
        "bvlshr" if b < u64::from(width) => a >> b,
        "bvshl" | "bvlshr" => 0,
        _ => panic!("{operator}"),
    };
    Value::Bits { width, value: value & all }
}

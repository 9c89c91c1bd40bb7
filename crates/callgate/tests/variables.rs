//! Programs with variables, proved for all values, against the compilation of the values.

use callgate::compile::{Options, compile, compile_template};
use callgate::{Arch, Endian, Filter, Verdict, arg, var};
use callgate_bpf::random::Rng;
use callgate_codegen::{Aim, Instructions};
use callgate_core::diagram::{Budget, MAX_COMPARISONS, Store};
use callgate_core::policy::{
    Cmp, Condition, Field, Policy, Rule, Section, VariableRelation, VariableTest,
};
use callgate_core::template::{Patch, Symbol, Template, Variable};
use callgate_core::{FilterSpec, Meaning, Op, Spec, SyscallSet};

use callgate_testing::random::variables::{policy, syscall, values};

/// The number of random policies, and of sets of values for each.
const POLICIES: u64 = 200;
const VALUES: usize = 50;

/// 10,000 sets of values.
#[test]
fn a_patched_program_equals_the_compilation_of_the_values() {
    let mut patches = 0;
    for seed in 0..POLICIES {
        let mut rng = Rng::new(seed);
        let policy = policy(&mut rng);
        let aim = if seed % 2 == 0 { Aim::Speed } else { Aim::Size };
        let options = Options { aim, ..Options::default() };
        let template = compile_template(&policy, &options).unwrap().template;
        patches += template.patches().len();
        for _ in 0..VALUES {
            let values = values(&mut rng, policy.variables());
            let patched = template.instantiate(&values).unwrap();
            let given = policy.given(&values).unwrap();
            let mut store = Store::default();
            let expected = store.policy(&given).unwrap();
            let found = store.program(&patched, Endian::Little).unwrap();
            assert_eq!(found, expected, "seed {seed}, values {values:x?}: {policy:#x?}");
            for _ in 0..5 {
                let data = syscall(&mut rng, &values);
                let verdict = patched.run(&data, Endian::Little).verdict;
                assert_eq!(verdict, given.evaluate(&data), "seed {seed}: {values:x?} {data:x?}");
            }
        }
    }
    assert!(patches > POLICIES as usize, "only {patches} patches");
}

#[test]
fn the_function_of_a_policy_evaluates_to_its_verdicts_for_all_values() {
    for seed in 0..POLICIES {
        let mut rng = Rng::new(seed);
        let policy = policy(&mut rng);
        let mut store = Store::with_variables(Budget::default(), policy.variables().to_vec());
        let func = store.policy(&policy).unwrap();
        for _ in 0..VALUES {
            let values = values(&mut rng, policy.variables());
            let given = policy.given(&values).unwrap();
            let data = syscall(&mut rng, &values);
            let verdict = store.evaluate_given(func, &data, &values).unwrap();
            assert_eq!(verdict, given.evaluate(&data), "seed {seed}: {values:x?} {data:x?}");
        }
    }
}

/// Each change of a patch or of an instruction that changes a verdict is refused.
#[test]
fn broken_templates_are_refused() {
    let mut refused = 0;
    for seed in 0..POLICIES {
        let mut rng = Rng::new(seed);
        let policy = policy(&mut rng);
        let mut meaning =
            Meaning::of_policy_with_variables(&policy, Budget::default(), &mut |_| ()).unwrap();
        let good = compile_template(&policy, &Options::default()).unwrap().template;
        assert!(meaning.prove_template(&good, &[]).is_ok());
        let mut broken = Vec::new();
        let (program, variables, patches) = good.clone().into_program().into_parts();
        for (index, patch) in patches.iter().enumerate() {
            let mut change = |patch: Option<Patch>| {
                let mut patches = patches.clone();
                match patch {
                    Some(patch) => patches[index] = patch,
                    None => drop(patches.remove(index)),
                }
                broken.extend(Template::new(program.clone(), variables.clone(), patches));
            };
            change(None);
            change(Some(Patch { symbol: patch.symbol.plus(1), ..*patch }));
            change(Some(Patch { symbol: patch.symbol.complement(), ..*patch }));
            let half = match patch.half {
                callgate_core::template::Half::Low => callgate_core::template::Half::High,
                callgate_core::template::Half::High => callgate_core::template::Half::Low,
            };
            change(Some(Patch { half, ..*patch }));
            change(Some(Patch { insn: patch.insn + 1, ..*patch }));
        }
        for broken in broken {
            let is_wrong = |rng: &mut Rng| {
                let values = values(rng, &variables);
                let program = broken.instantiate(&values).unwrap();
                let given = policy.given(&values).unwrap();
                let data = syscall(rng, &values);
                program.run(&data, Endian::Little).verdict != given.evaluate(&data)
            };
            if (0..100).any(|_| is_wrong(&mut rng)) {
                assert!(meaning.prove_template(&broken, &[]).is_err(), "seed {seed}: {broken:?}");
                refused += 1;
            }
        }
    }
    assert!(refused > 1000, "only {refused} templates were wrong");
}

/// The high half of a variable of 32 bits is 0 in the proof, which would be wrong for larger values.
#[test]
fn a_template_with_wider_variables_is_refused() {
    let filter = |wide: bool| {
        let fd = if wide { arg("fd").u64() } else { arg("fd") };
        let builder = Filter::builder(Arch::X86_64);
        builder.allow_if("read", fd.eq(var("fd"))).unwrap().build().unwrap()
    };
    let narrow = filter(false);
    let mut meaning =
        Meaning::of_policy_with_variables(narrow.policy(), Budget::default(), &mut |_| ()).unwrap();
    let good = narrow.compile_template().unwrap();
    assert!(meaning.prove_template(&good, &[]).is_ok());
    let seventh = narrow.policy().given(&[7]).unwrap();
    let instance = good.instantiate(&[7]).unwrap();
    assert_eq!(instance.spec(), &Spec::Filter(FilterSpec::Policy(seventh)));
    assert!(good.instantiate(&[1 << 32]).is_err() && good.instantiate(&[]).is_err());
    let (program, variables, patches) = good.into_program().into_parts();
    assert!(!variables[0].is_wide() && filter(true).policy().variables()[0].is_wide());
    let wide = vec![Variable::u64("fd").unwrap()];
    let wider = Template::new(program, wide, patches).unwrap();
    assert!(meaning.prove_template(&wider, &[]).is_err());
}

/// The proof takes comparisons with variables as independent of each other, so the program is refused, but it does not
/// differ for any syscall.
#[test]
fn an_equivalent_program_with_other_comparisons_is_not_said_to_differ() {
    let policy = |parts: &[Cmp]| {
        let field = Field::arg_low(0).unwrap();
        let test =
            |cmp: &Cmp| VariableTest::new(field, VariableRelation::Cmp(*cmp), Symbol::new(0));
        let when = Condition::any(parts.iter().map(|cmp| Condition::variable(test(cmp))));
        let rule = Rule { syscalls: SyscallSet::one(0), when, verdict: Verdict::ALLOW };
        let section = Section::new(Arch::X86_64, vec![rule], Verdict::errno(1));
        let variables = vec![Variable::u32("x").unwrap()];
        Policy::with_variables(vec![section], Verdict::KILL_PROCESS, variables).unwrap()
    };
    let template = |policy| compile_template(policy, &Options::default()).unwrap().template;
    let (two, one) = (policy(&[Cmp::Gt, Cmp::Eq]), policy(&[Cmp::Ge]));
    let mut meaning =
        Meaning::of_policy_with_variables(&two, Budget::default(), &mut |_| ()).unwrap();
    let error = meaning.prove_template(&template(&one), &[]).unwrap_err();
    assert_eq!(error.witness(), None, "{error}");
    assert!(error.to_string().contains("independent of each other"), "{error}");

    // Where no variable decides, there is still a witness.
    let open =
        Policy::with_variables(one.sections().to_vec(), Verdict::ALLOW, one.variables().to_vec());
    let error = meaning.prove_template(&template(&open.unwrap()), &[]).unwrap_err();
    assert!(error.witness().is_some_and(|data| data.arch != Arch::X86_64.token()), "{error}");
}

/// Threads of Rust have a stack of 2 MiB by default. Each comparison is one recursion deeper, and loads another word.
#[test]
fn as_many_comparisons_as_the_limit_fit_the_stack_of_a_thread() {
    const VARIABLES: usize = MAX_COMPARISONS / 4;
    let compile = || {
        let equal = |variable: usize, argument: u8| {
            let field = Field::arg_low(argument).unwrap();
            let relation = VariableRelation::Cmp(Cmp::Eq);
            let test = VariableTest::new(field, relation, Symbol::new(variable as u8));
            Condition::variable(test)
        };
        let each = (0..VARIABLES)
            .flat_map(|variable| (0..4).map(move |argument| equal(variable, argument)));
        let when = Condition::any(each);
        let rule = Rule { syscalls: SyscallSet::one(0), when, verdict: Verdict::ALLOW };
        let section = Section::new(Arch::X86_64, vec![rule], Verdict::errno(1));
        let names = (0..VARIABLES).map(|index| Variable::u32(format!("v{index}")).unwrap());
        let policy = Policy::with_variables(vec![section], Verdict::KILL_PROCESS, names.collect());
        compile_template(&policy.unwrap(), &Options::default()).unwrap().template.patches().len()
    };
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(compile).unwrap();
    assert!(thread.join().unwrap() >= MAX_COMPARISONS);
}

#[test]
fn shared_bits_need_all_instructions() {
    let builder = Filter::builder(Arch::X86_64);
    let filter = builder.allow_if("mprotect", arg("prot").bits_within(var("allowed")));
    let filter = filter.unwrap().build().unwrap();
    let options = Options { instructions: Instructions::Basic, ..Options::default() };
    let error = compile_template(filter.policy(), &options).unwrap_err();
    assert!(error.to_string().contains("shares bits with a variable"), "{error}");
    assert!(compile_template(filter.policy(), &Options::default()).is_ok());
}

#[test]
fn a_filter_with_variables_is_no_filter_without_values() {
    let policy = policy(&mut Rng::new(1));
    let error = compile(&policy, &Options::default()).unwrap_err();
    assert!(error.to_string().contains("variables"), "{error}");
    let template = compile_template(&policy, &Options::default()).unwrap().template;
    assert!(template.instantiate(&[]).unwrap_err().to_string().contains("give one for each"));
}

#[test]
fn only_comparisons_have_patches() {
    for seed in 0..50 {
        let policy = policy(&mut Rng::new(seed));
        let template = compile_template(&policy, &Options::default()).unwrap().template;
        for (pc, insn) in template.program().insns().iter().enumerate() {
            let compares = matches!(insn.op, Op::JeqK | Op::JgtK | Op::JgeK | Op::JsetK);
            assert!(compares || template.patch_at(pc).is_none(), "{pc}: {insn:?}");
        }
    }
}

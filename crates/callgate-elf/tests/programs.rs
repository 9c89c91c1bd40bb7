//! Small programs, compiled by gcc for both architectures, with the syscalls that their code can make.

use callgate_testing::{TestResult, Trial, name_in, test};

use crate::compiled::{self, Compiler, START, analyze, numbers};

/// The tests of this module, for each compiler.
pub(crate) fn trials() -> Vec<Trial> {
    let mut tests = Vec::new();
    for compiler in Compiler::ALL {
        let mut add = |name: &str, run: fn(Compiler) -> TestResult| {
            let name = format!("{name}_{}", compiler.name());
            tests.push(test(name_in(module_path!(), &name), move || run(compiler)));
        };
        add("numbers_are_those_of_the_code", numbers_are_those_of_the_code);
        add("unreachable_functions_do_not_count", unreachable_functions_do_not_count);
        add("wrappers_get_numbers_from_callers", wrappers_get_numbers_from_callers);
        add("conditions_give_both_numbers", conditions_give_both_numbers);
        add("numbers_pass_the_stack", numbers_pass_the_stack);
        add("a_changed_stack_slot_is_unknown", a_changed_stack_slot_is_unknown);
        add("tables_of_functions_are_followed", tables_of_functions_are_followed);
        add("a_table_that_nothing_uses_is_not", a_table_that_nothing_uses_is_not);
        add("tail_calls_are_followed", tail_calls_are_followed);
        add("switches_have_all_cases", switches_have_all_cases);
        add("unknown_numbers_are_listed", unknown_numbers_are_listed);
        add("wrappers_behind_pointers_are_listed", wrappers_behind_pointers_are_listed);
        add("calls_through_known_pointers_have_numbers", calls_through_known_pointers_have_numbers);
        add("callbacks_get_numbers_from_their_context", callbacks_get_numbers_from_their_context);
        add("rarely_executed_parts_have_their_numbers", rarely_executed_parts_have_their_numbers);
        add("structures_carry_numbers", structures_carry_numbers);
        add("a_shared_structure_may_change", a_shared_structure_may_change);
        add("what_returns_twice_finds_other_values", what_returns_twice_finds_other_values);
        add("loops_keep_constants", loops_keep_constants);
        add("initializers_are_reachable", initializers_are_reachable);
        add("stripped_programs_are_the_same", stripped_programs_are_the_same);
        add("unoptimized_programs_are_the_same", unoptimized_programs_are_the_same);
        add("libraries_are_bound_by_symbols", libraries_are_bound_by_symbols);
        add("lookups_by_name_use_strings", lookups_by_name_use_strings);
        add("executable_memory_is_remarked", executable_memory_is_remarked);
    }
    tests
}

fn numbers_are_those_of_the_code(gcc: Compiler) -> TestResult {
    let code = format!("{START} void start(void) {{ call(700, 1); call(701, 2); }}");
    let analysis = analyze(gcc, &code, &["-O2"])?;
    assert_eq!(numbers(&analysis), [700, 701]);
    assert!(analysis.unresolved.is_empty(), "{analysis:?}");
    let site = &analysis.calls[&700][0];
    assert_eq!((site.file.as_str(), site.via.len()), ("program", 1));
    Ok(())
}

fn unreachable_functions_do_not_count(gcc: Compiler) -> TestResult {
    let code = format!(
        "{START} NOINLINE USED void other(void) {{ call(702, 0); }}
         NOINLINE void reached(void) {{ call(701, 0); }}
         void start(void) {{ call(700, 1); reached(); }}"
    );
    assert_eq!(numbers(&analyze(gcc, &code, &["-O2"])?), [700, 701]);
    Ok(())
}

fn wrappers_get_numbers_from_callers(gcc: Compiler) -> TestResult {
    let code = format!(
        "{START} NOINLINE long inner(long a, long nr) {{ return call(nr, a); }}
         NOINLINE long outer(long x, long y, long nr) {{ sink = x; return inner(y, nr) + 1; }}
         NOINLINE long eighth(long a, long b, long c, long d, long e, long f, long g, long h, long nr) {{
           sink = a + b + c + d + e + f + g + h; return call(nr, a) + 1; }}
         void start(void) {{ inner(1, 700); sink = outer(1, 2, 701) + eighth(1, 2, 3, 4, 5, 6, 7, 8, 702); }}"
    );
    for options in [["-O2"], ["-O0"], ["-Os"]] {
        let analysis = analyze(gcc, &code, &options)?;
        assert_eq!(numbers(&analysis), [700, 701, 702], "{options:?} {analysis:?}");
        assert!(analysis.unresolved.is_empty(), "{options:?} {analysis:?}");
    }
    Ok(())
}

fn conditions_give_both_numbers(gcc: Compiler) -> TestResult {
    let code = format!(
        "{START} void start(void) {{ call(sink ? 700 : 704, 1); call(sink > 2 ? 705 : 706, 1);
           call(sink == 7 ? 720 : 750, 1); }}"
    );
    let analysis = analyze(gcc, &code, &["-O2"])?;
    assert_eq!(numbers(&analysis), [700, 704, 705, 706, 720, 750], "{analysis:?}");
    assert!(analysis.unresolved.is_empty(), "{analysis:?}");
    Ok(())
}

fn numbers_pass_the_stack(gcc: Compiler) -> TestResult {
    let code = format!(
        "{START} NOINLINE void other(void) {{ sink++; }}
         void start(void) {{ volatile long nr = 700; other(); long same = nr; call(same, 1); }}"
    );
    let analysis = analyze(gcc, &code, &["-O0"])?;
    assert_eq!(numbers(&analysis), [700]);
    assert!(analysis.unresolved.is_empty(), "{analysis:?}");
    Ok(())
}

fn a_changed_stack_slot_is_unknown(gcc: Compiler) -> TestResult {
    let code = format!(
        "{START} NOINLINE void change(long *nr) {{ *nr = sink; }}
         void start(void) {{ long nr = 700; change(&nr); call(nr, 1); }}"
    );
    let analysis = analyze(gcc, &code, &["-O0"])?;
    assert_eq!(analysis.unresolved.len(), 1, "{analysis:?}");
    Ok(())
}

const TABLE: &str = "
    NOINLINE void a(void) { call(700, 0); }
    NOINLINE void b(void) { call(701, 0); }
    NOINLINE void c(void) { call(702, 0); }
    struct row { void (*run)(void); const char *name; };
    static struct row rows[] = {{a, \"a\"}, {b, \"b\"}};
    struct rows { struct row *all; long count; };
    struct rows used = {rows, 2};
    struct row other[] = {{c, \"c\"}};
    struct rows *volatile chosen = &used;
";

fn tables_of_functions_are_followed(gcc: Compiler) -> TestResult {
    let code = format!(
        "{START} {TABLE} void start(void) {{ for (long i = 0; i < chosen->count; i++) chosen->all[i].run(); }}"
    );
    for options in [&["-O2"][..], &["-O2", "-fPIE", "-pie"], &["-O0"]] {
        assert_eq!(numbers(&analyze(gcc, &code, options)?), [700, 701], "{options:?}");
    }
    Ok(())
}

fn a_table_that_nothing_uses_is_not(gcc: Compiler) -> TestResult {
    let code = format!("{START} {TABLE} void start(void) {{ call(710, 0); }}");
    assert_eq!(numbers(&analyze(gcc, &code, &["-O2", "-fPIE", "-pie"])?), [710]);
    Ok(())
}

fn tail_calls_are_followed(gcc: Compiler) -> TestResult {
    let code = format!(
        "{START} NOINLINE long last(long a, long nr) {{ return call(nr, a); }}
         NOINLINE long middle(long a) {{ sink = a; return last(a, 700); }}
         void start(void) {{ middle(1); }}"
    );
    let analysis = analyze(gcc, &code, &["-O2"])?;
    assert_eq!(numbers(&analysis), [700]);
    assert!(analysis.unresolved.is_empty(), "{analysis:?}");
    Ok(())
}

fn switches_have_all_cases(gcc: Compiler) -> TestResult {
    let code = format!(
        "{START} NOINLINE void f(long i) {{ switch (i) {{
           case 0: call(700, 1); break; case 1: call(701, 2); break; case 2: sink = 3; call(702, 9); break;
           case 3: call(703, 4); sink = 8; break; case 4: call(704, 5); break; case 5: sink = 1; break;
           case 6: call(706, 5); __builtin_trap(); case 7: call(707, 0); break; }} }}
         void start(void) {{ f(sink); }}"
    );
    let analysis = analyze(gcc, &code, &["-O2"])?;
    assert_eq!(numbers(&analysis), [700, 701, 702, 703, 704, 706, 707], "{analysis:?}");
    assert!(analysis.unresolved.is_empty(), "{analysis:?}");
    Ok(())
}

fn unknown_numbers_are_listed(gcc: Compiler) -> TestResult {
    let code = format!("{START} void start(void) {{ call(700, 1); call(sink, 1); }}");
    let analysis = analyze(gcc, &code, &["-O2"])?;
    assert_eq!(numbers(&analysis), [700]);
    assert_eq!(analysis.unresolved.len(), 1, "{analysis:?}");
    assert!(analysis.unresolved[0].why.contains("memory"));
    Ok(())
}

fn wrappers_behind_pointers_are_listed(gcc: Compiler) -> TestResult {
    let code = format!(
        "{START} NOINLINE long wrapper(long nr) {{ return call(nr, 1); }}
         static long (*volatile pointer)(long);
         NOINLINE void set(void) {{ pointer = wrapper; }}
         void start(void) {{ wrapper(700); set(); pointer(701); }}"
    );
    for options in [&["-O2"][..], &["-O2", "-fPIE", "-pie"], &["-O0"]] {
        let analysis = analyze(gcc, &code, options)?;
        assert!(numbers(&analysis).contains(&700), "{options:?} {analysis:?}");
        assert_eq!(analysis.unresolved.len(), 1, "{options:?} {analysis:?}");
        assert!(analysis.unresolved[0].why.contains("pointer"), "{options:?} {analysis:?}");
    }
    Ok(())
}

fn calls_through_known_pointers_have_numbers(gcc: Compiler) -> TestResult {
    let code = format!(
        "{START} NOINLINE long wrapper(long nr) {{ return call(nr, 1); }}
         long (*volatile pointer)(long) = wrapper;
         NOINLINE long compares(void *at) {{ return at == (void *)wrapper; }}
         NOINLINE long twice(long (*volatile own)(long)) {{ long (*f)(long) = own ? wrapper : 0;
           for (long i = 0; i < sink; i++) f(702); return f(703); }}
         void start(void) {{ wrapper(700); pointer(701); compares((void *)sink); twice(0); }}"
    );
    for options in [&["-O2"][..], &["-O2", "-fPIE", "-pie"]] {
        let analysis = analyze(gcc, &code, options)?;
        assert_eq!(numbers(&analysis), [700, 701, 702, 703], "{options:?} {analysis:?}");
        assert!(analysis.unresolved.is_empty(), "{options:?} {analysis:?}");
    }
    Ok(())
}

fn callbacks_get_numbers_from_their_context(gcc: Compiler) -> TestResult {
    let code = format!(
        "{START} struct context {{ long a; int nr; }};
         NOINLINE void callback(void *context) {{ struct context *c = context; call(c->nr, c->a); }}
         NOINLINE void other(void *context) {{ sink = (long)context; }}
         static void (*volatile run)(void *); static void *volatile with;
         NOINLINE void all(void (*f)(void *), void *context) {{ run = f; with = context; f(context); }}
         void start(void) {{ struct context c = {{sink, 700}}; all(callback, &c); all(other, 0); }}"
    );
    let analysis = analyze(gcc, &code, &["-O2"])?;
    assert_eq!(numbers(&analysis), [700], "{analysis:?}");
    assert!(analysis.unresolved.is_empty(), "{analysis:?}");
    Ok(())
}

fn rarely_executed_parts_have_their_numbers(gcc: Compiler) -> TestResult {
    let code = format!(
        "{START} NOINLINE __attribute__((cold)) void rare(void) {{ sink = 5; }}
         void start(void) {{ long nr = 700; if (sink == 9) {{ rare(); nr = 701; sink = 1; }} call(nr, sink); }}"
    );
    for options in [&["-O2"][..], &["-O2", "-s"]] {
        let analysis = analyze(gcc, &code, options)?;
        assert_eq!(numbers(&analysis), [700, 701], "{options:?} {analysis:?}");
        assert!(analysis.unresolved.is_empty(), "{options:?} {analysis:?}");
    }
    Ok(())
}

fn structures_carry_numbers(gcc: Compiler) -> TestResult {
    let code = format!(
        "{START} struct command {{ long a; int nr; }};
         NOINLINE long run(struct command *c) {{ return call(c->nr, c->a); }}
         static struct command *volatile shared;
         NOINLINE void handler(void) {{ call(shared->nr, 1); }}
         NOINLINE void all(struct command *c) {{ shared = c; handler(); shared = 0; }}
         void start(void) {{ struct command c = {{sink, 700}}; run(&c); struct command d = {{sink, 701}}; all(&d); }}"
    );
    let analysis = analyze(gcc, &code, &["-O2"])?;
    assert_eq!(numbers(&analysis), [700, 701], "{analysis:?}");
    // Who finds the address in `shared` may change the number; it is stored in `all`, and removed there.
    let functions: Vec<&str> =
        analysis.unresolved.iter().map(|one| one.site.function.as_str()).collect();
    assert_eq!(functions, ["all"], "{analysis:?}");
    Ok(())
}

fn a_shared_structure_may_change(gcc: Compiler) -> TestResult {
    let stores =
        "void start(void) { volatile struct command c; c.nr = 700; shared = (struct command *)&c;
                    c.nr = 701; handler(); }";
    let takes = "NOINLINE void set(struct command *volatile *to, struct command *c) { *to = c; }
                 void start(void) { struct command c = {sink, 701}; set(&shared, &c); handler(); }";
    let nothing = "void start(void) { handler(); }";
    for (code, unknown) in [(stores, true), (takes, true), (nothing, false)] {
        let code = format!(
            "{START} struct command {{ long a; int nr; }}; static struct command *volatile shared;
             NOINLINE void handler(void) {{ call(shared->nr, 1); }} {code}"
        );
        let analysis = analyze(gcc, &code, &["-O2"])?;
        assert_eq!(!analysis.unresolved.is_empty(), unknown, "{code} {analysis:?}");
    }
    // Any element may be the one that is read.
    let code = format!(
        "{START} struct command {{ long a; int nr; }}; static struct command *volatile shared[2];
         NOINLINE void handler(void) {{ call(shared[1]->nr, 1); }}
         void start(void) {{ struct command c = {{sink, 701}}; shared[sink & 1] = &c; handler(); }}"
    );
    for options in ["-O2", "-O0"] {
        let analysis = analyze(gcc, &code, &[options])?;
        assert!(!analysis.unresolved.is_empty(), "{options} {analysis:?}");
    }
    // A store whose address is that of the word and an index; then nothing holds the address.
    let code = format!(
        "{START}
        #ifdef __x86_64__
        #define STORE \"mov %1, (%0,%2); xor %0, %0\"
        #else
        #define STORE \"str %1, [%0, %2]; mov %0, #0\"
        #endif
         struct command {{ long a; int nr; }}; static struct command *volatile shared;
         NOINLINE void handler(void) {{ call(shared->nr, 1); }}
         void start(void) {{ struct command c = {{sink, 701}};
           struct command *volatile *at = &shared;
           __asm__ volatile(STORE : \"+r\"(at) : \"r\"(&c), \"r\"(sink)); handler(); }}"
    );
    let analysis = analyze(gcc, &code, &["-O2"])?;
    assert!(!analysis.unresolved.is_empty(), "{analysis:?}");
    Ok(())
}

fn what_returns_twice_finds_other_values(gcc: Compiler) -> TestResult {
    for name in ["setjmp", "_setjmp", "__sigsetjmp", "vfork", "getcontext"] {
        let code = format!(
            "{START} NOINLINE __attribute__((returns_twice)) int {name}(void) {{ return sink; }}
             NOINLINE void back(void) {{ sink = 1; }}
             void start(void) {{ volatile long nr = 700; if ({name}()) {{ call(nr, 1); return; }} nr = 701; back(); }}"
        );
        let analysis = analyze(gcc, &code, &["-O1", "-fno-builtin"])?;
        assert_eq!(analysis.unresolved.len(), 1, "{name} {analysis:?}");
    }
    Ok(())
}

fn loops_keep_constants(gcc: Compiler) -> TestResult {
    let code = format!(
        "{START} NOINLINE __attribute__((noreturn)) void stop(void) {{ for (;;) call(701, 0); }}
         void start(void) {{ for (long i = 0; i < sink; i++) {{ if (sink == 99) stop(); call(700, i); }} }}"
    );
    let analysis = analyze(gcc, &code, &["-O2"])?;
    assert_eq!(numbers(&analysis), [700, 701]);
    assert!(analysis.unresolved.is_empty(), "{analysis:?}");
    Ok(())
}

fn initializers_are_reachable(gcc: Compiler) -> TestResult {
    let code = format!(
        "{START} __attribute__((constructor)) USED static void before(void) {{ call(701, 0); }}
         __attribute__((destructor)) USED static void after(void) {{ call(702, 0); }}
         void start(void) {{ call(700, 0); }}"
    );
    for options in [&["-O2"][..], &["-O2", "-fPIE", "-pie"]] {
        assert_eq!(numbers(&analyze(gcc, &code, options)?), [700, 701, 702], "{options:?}");
    }
    Ok(())
}

fn stripped_programs_are_the_same(gcc: Compiler) -> TestResult {
    let code = format!(
        "{START} {TABLE} NOINLINE long wrapper(long a, long nr) {{ return call(nr, a); }}
         void start(void) {{ chosen->all[sink].run(); wrapper(1, 705); }}"
    );
    for options in [
        &["-O2", "-s"][..],
        &["-O2", "-s", "-fPIE", "-pie"],
        &["-O2", "-s", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables"],
    ] {
        let analysis = analyze(gcc, &code, options)?;
        let found = numbers(&analysis);
        assert!(
            [700, 701, 705].iter().all(|number| found.contains(number)),
            "{options:?} {found:?}"
        );
        assert!(analysis.unresolved.is_empty(), "{options:?} {analysis:?}");
    }
    Ok(())
}

fn unoptimized_programs_are_the_same(gcc: Compiler) -> TestResult {
    let code = format!(
        "{START} NOINLINE long wrapper(long a, long nr) {{ long copy = nr; return call(copy, a); }}
         void start(void) {{ long nr = 700; wrapper(1, nr); wrapper(2, 701); }}"
    );
    let analysis = analyze(gcc, &code, &["-O0"])?;
    assert_eq!(numbers(&analysis), [700, 701]);
    assert!(analysis.unresolved.is_empty(), "{analysis:?}");
    Ok(())
}

const LIBRARY: &str = "
    long wrapper(long nr, long a) { return call(nr, a); }
    void used(void) { call(701, 0); }
    void unused(void) { call(702, 0); }
    void looked_up(void) { call(703, 0); }
    long mprotect(void *at, long size, int protection) { return call(704, protection); }
    void *dlsym(void *handle, const char *name) { return sink ? handle : (void *)name; }
";

fn libraries_are_bound_by_symbols(gcc: Compiler) -> TestResult {
    let program = format!(
        "{START} extern long wrapper(long, long); extern void used(void); extern void unused(void);
         NOINLINE USED void other(void) {{ unused(); }}
         void start(void) {{ wrapper(700, 1); used(); }}"
    );
    let library = format!("{START} {LIBRARY}");
    for options in [&["-O2", "-fPIE", "-pie"][..], &["-O2", "-fno-plt"], &["-O2", "-Wl,-z,now"]] {
        let analysis = compiled::with_library(gcc, &program, &library, options)?;
        assert_eq!(numbers(&analysis), [700, 701], "{options:?} {analysis:?}");
        assert!(analysis.unresolved.is_empty(), "{options:?} {analysis:?}");
    }
    Ok(())
}

fn lookups_by_name_use_strings(gcc: Compiler) -> TestResult {
    let program = format!(
        "{START} extern void *dlsym(void *, const char *);
         void start(void) {{ void (*f)(void) = dlsym(0, \"looked_up\"); f(); }}"
    );
    let analysis = compiled::with_library(gcc, &program, &format!("{START} {LIBRARY}"), &["-O2"])?;
    assert_eq!(numbers(&analysis), [703]);
    assert!(format!("{:?}", analysis.remarks).contains("LooksUpNames"), "{analysis:?}");
    Ok(())
}

fn executable_memory_is_remarked(gcc: Compiler) -> TestResult {
    let program = |protection: u32| {
        format!(
            "{START} extern long mprotect(void *, long, int);
             void start(void) {{ mprotect(0, 4096, {protection}); }}"
        )
    };
    let library = format!("{START} {LIBRARY}");
    for (protection, expected) in [(3, false), (5, true)] {
        let analysis = compiled::with_library(gcc, &program(protection), &library, &["-O2"])?;
        let text = format!("{:?}", analysis.remarks);
        assert_eq!(text.contains("ExecutableMemory"), expected, "{text}");
    }
    Ok(())
}

//! A build of 50 small C files with `make`, of the shape of a library build: many short processes, headers and objects.
//! Without a server: `make` and the compiler run under the filter.

use super::definition::Workload;
use super::error::WorkloadError;
use super::place::Place;
use super::recipe::{Done, Load, Recipe, Step, number_behind};
use super::tools::{Need, Tools};

pub(super) const WORKLOAD: Workload = Workload {
    name: "build",
    about: "make builds 50 small C files",
    loads: &[],
    needs: &[
        Need::new(&["sh"], "dash"),
        Need::new(&["make", "gmake"], "make"),
        Need::new(&["cc", "gcc", "clang"], "gcc"),
        Need::new(&["ar"], "binutils"),
    ],
    recipe,
};

const FILES: usize = 50;

/// Files per second of a typical machine, from which the number of builds of a run is derived.
const USUAL_RATE: u32 = 50;

/// Builds this number of times; prints the elapsed time, and then, with `times`, the CPU time of the children.
const SCRIPT: &str = r#"make=$1 cc=$2 ar=$3 turns=$4 parts=$5
start=$(date +%s%N)
turn=0
while [ "$turn" -lt "$turns" ]; do
    "$make" -s clean all CC="$cc" AR="$ar" PARTS="$parts" || exit 1
    turn=$((turn + 1))
done
echo "elapsed=$(($(date +%s%N) - start))"
times
"#;

fn recipe(tools: &Tools, place: &Place, load: &Load) -> Result<Recipe, WorkloadError> {
    let failed = |why| WorkloadError::place(&why);
    for number in 0..FILES {
        place.write(&format!("part{number}.c"), &part(number)).map_err(failed)?;
    }
    place.write("parts.h", &header()).map_err(failed)?;
    place.write("Makefile", MAKEFILE).map_err(failed)?;
    let script = place.write("build.sh", SCRIPT).map_err(failed)?;
    let (turns, parts) = work(load);
    let (turns, parts) = (turns.to_string(), parts.to_string());
    let client = Step::new(tools.get(0), [])
        .and("", &script)
        .and("", tools.get(1))
        .and("", tools.get(2))
        .and("", tools.get(3))
        .and(&turns, "".as_ref())
        .and(&parts, "".as_ref());
    Ok(Recipe {
        prepare: Vec::new(),
        server: None,
        fill: Vec::new(),
        client,
        measures: vec!["compiling"],
        unit: "files",
        read: |text, load| {
            let (turns, parts) = work(load);
            read(text, f64::from(turns * parts))
        },
    })
}

/// The number of builds, and of files in each; a short run builds fewer files.
fn work(load: &Load) -> (u32, u32) {
    let files = load.count(USUAL_RATE);
    let turns = (files / FILES as u32).max(1);
    (turns, (files / turns).clamp(1, FILES as u32))
}

const MAKEFILE: &str = "OBJECTS := $(wordlist 1,$(PARTS),$(sort $(patsubst %.c,%.o,$(wildcard part*.c))))\n\
    all: libparts.a\n\
    libparts.a: $(OBJECTS)\n\t$(AR) rc $@ $(OBJECTS)\n\
    %.o: %.c parts.h\n\t$(CC) -O1 -c -o $@ $<\n\
    clean:\n\trm -f libparts.a $(OBJECTS)\n\
    .PHONY: all clean\n";

/// The declarations of all files.
fn header() -> String {
    let declarations = (0..FILES).map(|number| format!("int part{number}(int value);\n"));
    format!("#include <stddef.h>\n{}", declarations.collect::<String>())
}

fn part(number: usize) -> String {
    let next = (number + 1) % FILES;
    format!(
        "#include \"parts.h\"\n\
         static const int table[] = {{ {number}, {next}, 7 }};\n\
         int part{number}(int value) {{\n\
         \x20   size_t i;\n\
         \x20   for (i = 0; i < sizeof table / sizeof *table; i++)\n\
         \x20       value = value * 31 + table[i];\n\
         \x20   return value > 0 ? value : part{next}(value + {number});\n}}\n"
    )
}

/// The elapsed nanoseconds, and the second line of `times`: user and system time of the children.
fn read(text: &str, files: f64) -> Result<Done, String> {
    let seconds = number_behind(text, "elapsed=")? / 1e9;
    let children = text.lines().rfind(|line| !line.trim().is_empty());
    let times = children.unwrap_or_default().split_ascii_whitespace().map(|time| {
        let (minutes, rest) = time.split_once('m')?;
        let seconds: f64 = rest.strip_suffix('s')?.parse().ok()?;
        Some(minutes.parse::<f64>().ok()? * 60.0 + seconds)
    });
    let processor: f64 = times.sum::<Option<f64>>().ok_or("missing output of times")?;
    Ok(Done { rates: vec![files / seconds], count: files, processor: Some(processor) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_runs_build_fewer_files() {
        let of = |millis| {
            work(&Load { time: std::time::Duration::from_millis(millis), name: None, threads: 1 })
        };
        assert_eq!([of(3000), of(1000), of(200), of(0)], [(3, 50), (1, 50), (1, 10), (1, 1)]);
    }

    #[test]
    fn files_are_counted_over_the_time_that_passed() {
        let text = "elapsed=2000000000\n0m0.004000s 0m0.002000s\n0m1.250000s 1m0.500000s\n";
        let done = Done { rates: vec![50.0], count: 100.0, processor: Some(61.75) };
        assert_eq!(read(text, 100.0), Ok(done));
        assert!(read("elapsed=2000000000\n", 100.0).is_err());
        assert!(read("cc: error\n", 100.0).is_err());
    }
}

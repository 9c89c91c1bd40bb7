//! The test suites.

use super::suite::{Origin, Suite, Tests};

/// How the tests of GNU's text tools are run: `init.sh` creates a directory for each.
const GNU: &str = "srcdir=$SOURCE/tests abs_top_srcdir=$SOURCE sh $TEST";
const GNU_TESTS: Tests = Tests::Containing("init.sh\"; path_prepend_");

pub(super) const SUITES: &[Suite] = &[
    Suite {
        program: "bash",
        origin: Origin::Source("bash"),
        directory: "tests",
        tests: Tests::Named("run-", ""),
        prepare: "",
        command: "export THIS_SH=/usr/bin/bash BASH_TSTOUT=$PWD/out BUILD_DIR=$PWD; \
                  cd $SOURCE/tests && PATH=$PATH:. sh $TEST",
    },
    Suite {
        program: "diff",
        origin: Origin::Source("diffutils"),
        directory: "tests",
        tests: GNU_TESTS,
        prepare: "",
        command: GNU,
    },
    Suite {
        program: "gawk",
        origin: Origin::Source("gawk"),
        directory: "test",
        tests: Tests::Named("", ".awk"),
        prepare: "",
        command: "in=$SOURCE/test/$NAME.in; [ -e $in ] || in=/dev/null; gawk -f $TEST <$in",
    },
    Suite {
        program: "grep",
        origin: Origin::Source("grep"),
        directory: "tests",
        tests: GNU_TESTS,
        prepare: "",
        command: GNU,
    },
    Suite {
        program: "gzip",
        origin: Origin::Source("gzip"),
        directory: "tests",
        tests: GNU_TESTS,
        prepare: "",
        command: GNU,
    },
    Suite {
        program: "m4",
        origin: Origin::Source("m4"),
        directory: "checks",
        tests: Tests::Numbered,
        prepare: "",
        command: "sh $SOURCE/checks/check-them -m m4 -I $SOURCE/checks $TEST",
    },
    Suite {
        program: "make",
        origin: Origin::Source("make-dfsg"),
        directory: "tests/all",
        tests: Tests::Named("", ""),
        // The tests are in directories of categories.
        prepare: "sed 's/@[A-Z_]*@//' tests/config-flags.pm.in >tests/config-flags.pm; mkdir -p tests/all; \
                  for test in tests/scripts/*/*; do \
                  category=${test%/*}; cp $test tests/all/${category##*/}:${test##*/}; done",
        command: "cp -r $SOURCE/tests tests && cd tests && \
                  perl run_make_tests.pl -make /usr/bin/make ${NAME%%:*}/${NAME#*:}",
    },
    Suite {
        program: "python3.11",
        origin: Origin::Installed("/usr/lib/python3.11/test"),
        directory: "",
        tests: Tests::Named("test_", ".py"),
        prepare: "",
        command: "/usr/bin/python3.11 -m test $NAME",
    },
    Suite {
        program: "redis-server",
        origin: Origin::Source("redis"),
        directory: "tests/all",
        tests: Tests::Named("", ".tcl"),
        prepare: "ln -sf /usr/bin/redis-server /usr/bin/redis-cli /usr/bin/redis-benchmark src/; mkdir -p tests/all; \
                  for test in tests/unit/*.tcl tests/unit/type/*.tcl tests/integration/*.tcl; do \
                  path=${test#tests/}; cp $test tests/all/$(echo ${path%.tcl} | tr / :).tcl; done",
        command: "cd $SOURCE && ./runtest --single $(echo $NAME | tr : /)",
    },
    Suite {
        program: "sed",
        origin: Origin::Source("sed"),
        directory: "testsuite",
        tests: Tests::Named("", ".sh"),
        prepare: "",
        command: "srcdir=$SOURCE abs_top_srcdir=$SOURCE sh $TEST",
    },
    Suite {
        program: "tclsh8.6",
        origin: Origin::Source("tcl8.6"),
        directory: "tests",
        tests: Tests::Named("", ".test"),
        prepare: "",
        command: "tclsh8.6 $TEST",
    },
    Suite {
        program: "zsh",
        origin: Origin::Source("zsh"),
        directory: "Test",
        tests: Tests::Named("", ".ztst"),
        prepare: "",
        command: "cd $SOURCE/Test && ZTST_srcdir=. ZTST_exe=/usr/bin/zsh /usr/bin/zsh +Z -f ztst.zsh $TEST",
    },
];

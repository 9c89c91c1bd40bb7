//! Expressions: operators, precedence, width, arguments by name.

use crate::kafel::support::{allowed, errors, read, syscall};

const VALUES: &[u64] =
    &[0, 1, 2, 3, 4, 5, 7, 8, 0xffff_ffff, 0x1_0000_0000, 0x1_0000_0001, u64::MAX];

#[test]
fn comparisons_are_unsigned() {
    assert_eq!(allowed("count == 4", 2, VALUES), [4]);
    assert_eq!(allowed("count != 4", 2, &[3, 4, 5]), [3, 5]);
    assert_eq!(allowed("count < 2", 2, VALUES), [0, 1]);
    assert_eq!(allowed("count <= 2", 2, VALUES), [0, 1, 2]);
    assert_eq!(allowed("count > 0xffffffff", 2, VALUES), [0x1_0000_0000, 0x1_0000_0001, u64::MAX]);
    assert_eq!(allowed("count >= -1", 2, VALUES), [u64::MAX]);
    assert_eq!(allowed("4 > count", 2, VALUES), [0, 1, 2, 3]);
    assert_eq!(allowed("7 <= count && count < 010", 2, VALUES), [7]);
}

#[test]
fn operators_bind_as_in_kafel() {
    // `&` binds more tightly than `|`, both than comparisons, `!` than `&&`.
    assert_eq!(allowed("count & 6 == 4", 2, &[0, 2, 4, 5, 6]), [4, 5]);
    assert_eq!(allowed("count | 2 & 3 == 3", 2, &[0, 1, 2, 3]), [1, 3]);
    assert_eq!(allowed("!count == 1 && count < 3", 2, &[0, 1, 2, 3]), [0, 2]);
    assert_eq!(allowed("count == 1 || count == 2 && count == 3", 2, &[1, 2, 3]), [1]);
    assert_eq!(allowed("count == 1, count == 2 && count < 2, count == 3", 2, &[1, 2, 3]), [1, 3]);
    assert_eq!(allowed("(count == 1, count == 2) && count > 1", 2, &[1, 2, 3]), [2]);
    assert_eq!(allowed("!(count == 1 || !(count < 3))", 2, &[0, 1, 2, 3]), [0, 2]);
    assert_eq!(allowed("((count) & ((3)|4)) == 7", 2, &[3, 7, 15]), [7, 15]);
}

/// A comparison of 32-bit arguments with small numbers ignores the high half; every other one compares 64 bits.
#[test]
fn the_width_is_that_of_kafel() {
    let high = 5 << 32;
    assert_eq!(allowed("fd == 1", 0, &[1, high | 1]), [1, high | 1]);
    assert_eq!(allowed("count == 1", 2, &[1, high | 1]), [1]);
    assert_eq!(allowed("fd == 0x500000001", 0, &[1, high | 1]), [high | 1]);
    assert_eq!(allowed("fd <= 1", 0, &[1, high | 1, 2]), [1, high | 1]);
    assert_eq!(allowed("fd & 0xffffffffffffffff == 1", 0, &[1, high | 1]), [1, high | 1]);
    assert_eq!(allowed("fd & 0xff000000ff == 1", 0, &[1, high | 1]), [1]);
    let own = read("ALLOW { write(a, b, c) { a == 1 } } DEFAULT KILL");
    assert_eq!(syscall(&own, "write", &[1]), "ALLOW");
    assert_eq!(syscall(&own, "write", &[high | 1]), "KILL_THREAD");
}

#[test]
fn arguments_have_names() {
    let profile = read(
        "ALLOW { openat { dfd == 1 && flags == O_RDWR|O_CLOEXEC }, socket(domain) { domain == AF_UNIX },
                 getrandom { count == 8 && flags == GRND_NONBLOCK }, SYSCALL[3](fd) { fd == 7 } } DEFAULT KILL",
    );
    assert_eq!(syscall(&profile, "openat", &[1, 0, 0o2_000_002]), "ALLOW");
    assert_eq!(syscall(&profile, "openat", &[1, 0, 2]), "KILL_THREAD");
    assert_eq!(syscall(&profile, "socket", &[1]), "ALLOW");
    assert_eq!(syscall(&profile, "getrandom", &[0, 8, 1]), "ALLOW");
    assert_eq!(syscall(&profile, "close", &[7]), "ALLOW");
    assert_eq!(syscall(&profile, "close", &[8]), "KILL_THREAD");
}

#[test]
fn several_arguments_are_compared_in_a_few_bits() {
    let profile = read(
        "ALLOW { read { (count | 2) & (fd | 3) & 15 == 2 && fd & 7 == count & 7 },
                 write { count & 3 < fd & 3 }, close(a, b) { a | b == 0 } } DEFAULT KILL",
    );
    for (fd, count) in (0..8).flat_map(|fd| (0..8).map(move |count| (fd, count))) {
        let expected = |holds| if holds { "ALLOW" } else { "KILL_THREAD" };
        let read = (count | 2) & (fd | 3) & 15 == 2 && fd & 7 == count & 7;
        assert_eq!(syscall(&profile, "read", &[fd, 0, count]), expected(read), "{fd} {count}");
        assert_eq!(syscall(&profile, "write", &[fd, 0, count]), expected(count & 3 < fd & 3));
        assert_eq!(syscall(&profile, "close", &[fd, count]), expected(fd | count == 0));
    }
    assert_eq!(
        errors("ALLOW { read { fd & 0xffffff == count } }"),
        "1:30: this comparison depends on 24 bits of several arguments at once, the maximum is 16 \
         (compare whole arguments (`a == b`), each with numbers, or only a few bits (`a & 7 == b & 7`))"
    );
}

/// All bits of two arguments: 64 if one has 64 bits.
#[test]
fn two_arguments_are_compared() {
    let profile = read(
        "ALLOW { mmap(a, len) { a == len }, read { fd < count }, dup2 { oldfd != newfd },
                 mprotect(a, b, c) { a & b == 0 && c >= b }, madvise(a, b) { (a & b) != 0 || a > b } } DEFAULT KILL",
    );
    let values = [0, 1, 2, 3, 0xffff_ffff, 0x1_0000_0000, 0x1_0000_0001, 0x2_0000_0001, u64::MAX];
    for (a, b) in values.iter().flat_map(|a| values.iter().map(move |b| (*a, *b))) {
        let check = |name: &str, args: &[u64], holds: bool| {
            let expected = if holds { "ALLOW" } else { "KILL_THREAD" };
            assert_eq!(syscall(&profile, name, args), expected, "{name} {a:#x} {b:#x}");
        };
        check("mmap", &[a, b], a == b);
        check("read", &[a, 0, b], a < b);
        check("dup2", &[a, b], a as u32 != b as u32);
        check("mprotect", &[a, b, 2], a & b == 0 && 2 >= b);
        check("madvise", &[a, b], a & b != 0 || a > b);
    }
}

/// A condition and its negation divide all syscalls.
#[test]
fn negation_is_exact() {
    for condition in
        ["count == 4", "count < 4", "count & 5 == 4", "count == 1 || count == 2", "count | 4 <= 6"]
    {
        let holds = allowed(condition, 2, VALUES);
        let rest = allowed(&format!("!({condition})"), 2, VALUES);
        let twice = allowed(&format!("!(!({condition}))"), 2, VALUES);
        assert_eq!(holds, twice, "{condition}");
        assert_eq!(holds.len() + rest.len(), VALUES.len(), "{condition}");
        assert!(holds.iter().all(|value| !rest.contains(value)), "{condition}");
    }
}

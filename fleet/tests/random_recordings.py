"""Random recordings of a fleet, one per line: the format with everything that it has, and hostile names.

    python3 random_recordings.py SEED COUNT [--without-ids] > recordings.ndjson

Every run has an `id`; with --without-ids, every third one has none.
"""

import json
import random
import sys

# Architecture, name, number, and the number of arguments that a recording keeps.
SYSCALLS = [
    ("x86_64", "read", 0, 3), ("x86_64", "write", 1, 3), ("x86_64", "open", 2, 3), ("x86_64", "close", 3, 1),
    ("x86_64", "mmap", 9, 6), ("x86_64", "mprotect", 10, 3), ("x86_64", "brk", 12, 1), ("x86_64", "ioctl", 16, 3),
    ("x86_64", "getpid", 39, 0), ("x86_64", "socket", 41, 3), ("x86_64", "clone", 56, 5), ("x86_64", "fcntl", 72, 3),
    ("x86_64", "prctl", 157, 5), ("x86_64", "mount", 165, 5), ("x86_64", "futex", 202, 6),
    ("x86_64", "openat", 257, 4), ("x86_64", "bpf", 321, 3), ("x86_64", None, 9999, 6),
    ("x86", "exit", 1, 6), ("x86", "socketcall", 102, 6), ("x86", "ipc", 117, 6), ("x86", None, 4000, 6),
    ("x32", "read", 0x40000000, 3), ("aarch64", "openat", 56, 4), ("aarch64", "socket", 198, 3),
]

HOSTILE = [
    "nginx", "app:7", "", " ", "it's", 'quo"te', "back\\slash", "new\nline", "tab\t", "\x1b[2J\x1b[31m", "\x7f",
    "';DROP TABLE runs;--", "${HOME}$(id)`id`", "%s%n", "\u202eevil", "日本", "😀", "{\"callgate\": 1}",
    "null", "\ufeff", "a" * 300, "../../etc/passwd", "</script>", "0x7fffffffffffffff", "\u2028",
]

VALUES = [0, 1, 2, 3, 9, 10, 16, 0x5401, 0xFFFFFF9C, 2**31, 2**32 - 1, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1]


def value(random):
    return random.choice(VALUES) if random.random() < 0.9 else random.getrandbits(64)


def argument(random, count):
    kind = random.random()
    if kind < 0.15:
        return None
    if kind < 0.25:
        values = [random.getrandbits(64) >> random.randrange(64) for _ in range(40)]
        ever = always = values[0]
        for one in values:
            ever, always = ever | one, always & one
        bounds = {"min": min(values), "max": max(values), "ever": ever, "always": always}
        item = {key: hex(number) for key, number in bounds.items()}
    else:
        few = random.choice([1, 1, 1, 2, 3, 12])
        values = sorted({value(random) for _ in range(few)})
        # Integers are read as well; a quarter of them are written so.
        item = {"values": [one if random.random() < 0.25 else hex(one) for one in values]}
    if random.random() < 0.2:
        item["observed"] = random.randint(1, count)
    return item


def entry(random, syscall):
    arch, name, nr, arity = syscall
    count = random.choice([1, 2, 7, 1000, 2**62, random.randint(1, 2**40)])
    item = {"arch": arch, "name": name, "nr": nr, "count": count}
    if name is None:
        del item["name"]
    if arity and random.random() < 0.8:
        item["args"] = [argument(random, count) for _ in range(random.randint(1, arity))]
    return item


def recording(random, has_id):
    word = lambda: random.choice(HOSTILE)
    run = {"how": random.choice(["tracepoint", "ptrace", "strace", "audit", "counts", "unknown"])}
    if random.random() < 0.9:
        run["command"] = [word() for _ in range(random.randint(1, 3))]
    if random.random() < 0.7:
        run["from"] = "execve"
    for key, largest in [("processes", 99), ("threads", 99), ("lost", 2), ("status", 255)]:
        if random.random() < 0.6:
            run[key] = random.randint(0, largest)
    if random.random() < 0.5:
        run["kernel"] = word()
    if random.random() < 0.5:
        run["recorder"] = "0.1.0"
    if has_id:
        run["id"] = f"{random.getrandbits(64):016x}"
    if random.random() < 0.9:
        run["labels"] = {"image": "app:7", "node": random.choice(["a", "b", "c"]), "zone": "z"}
        if random.random() < 0.2:
            run["labels"][word()] = word()
    if random.random() < 0.3:
        effect = random.choice(["excerpt", "altered", "excess"])
        run["caveats"] = [{"id": "attached", "effect": effect, "text": word()}]
        if random.random() < 0.5:
            run["caveats"][0]["count"] = random.randint(0, 2**63)
    common = [syscall for syscall in SYSCALLS if random.random() < 0.5]
    # Rare syscalls: most recordings do not have them.
    rare = [("x86_64", None, 5000 + random.randrange(60), 6)] if random.random() < 0.3 else []
    calls = [entry(random, syscall) for syscall in common + rare]
    # Together as many values as are listed at most, some fewer and some more.
    for most in range(29, 37):
        if random.random() < 0.3:
            values = random.sample(range(most), random.randint(1, 12))
            arg = {"values": [hex(one) for one in sorted(values)]}
            calls.append({"arch": "x86_64", "nr": 7000 + most, "count": 20, "args": [arg]})
    if random.random() < 0.1 and calls:
        # Entries of the same syscall add up; a count of 0 is no entry.
        calls.append(entry(random, common[0]) if common else calls[0])
        calls.append({"arch": "x86_64", "name": "ptrace", "nr": 101, "count": 0})
    random.shuffle(calls)
    return {"callgate": "recording", "version": 1, "future": {"key": [1]}, "runs": [run], "calls": calls}


def recordings(seed, count, without_ids=False):
    source = random.Random(seed)
    return [recording(source, not without_ids or index % 3 != 0) for index in range(count)]


def main():
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    for one in recordings(seed, count, "--without-ids" in sys.argv):
        print(json.dumps(one))


if __name__ == "__main__":
    main()

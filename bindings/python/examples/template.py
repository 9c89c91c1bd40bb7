"""Compiles a policy once, and sets the number of a file descriptor later."""

import callgate

POLICY = "ALLOW { write { fd == $log }, exit_group } DEFAULT ERRNO(1)"

template = callgate.compile_template(POLICY, name="worker.kafel")
print(template)
program = template.instantiate(log=7)
for fd in (7, 8):
    print(f"write to {fd}: {program.simulate('write', fd).verdict}")

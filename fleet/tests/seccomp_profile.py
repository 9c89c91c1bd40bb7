"""Generates SeccompProfile resources from random recordings, and checks them as the Kubernetes API server would.

    python3 seccomp_profile.py CALLGATE [CRD]

CRD is the file `deploy/base-crds/crds/seccompprofile.yaml` of the Security Profiles Operator. Without it, the facts below are
checked, which are those of its versions v1 and v1beta1.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

import yaml

import random_recordings

SIGNED = {"type": "integer", "minimum": 0, "maximum": 2**63 - 1}
ACTIONS = ["KILL", "KILL_PROCESS", "KILL_THREAD", "TRAP", "ERRNO", "TRACE", "ALLOW", "LOG", "NOTIFY"]
ARCHES = (
    "NATIVE X86 X86_64 X32 ARM AARCH64 MIPS MIPS64 MIPS64N32 MIPSEL MIPSEL64 MIPSEL64N32 PPC PPC64 PPC64LE S390 S390X "
    "PARISC PARISC64 RISCV64"
).split()
ARG = {
    "type": "object",
    "required": ["index", "op"],
    "properties": {
        "index": {"type": "integer", "minimum": 0, "maximum": 5},
        "op": {"enum": [f"SCMP_CMP_{op}" for op in ["NE", "LT", "LE", "EQ", "GE", "GT", "MASKED_EQ"]]},
        "value": SIGNED,
        "valueTwo": SIGNED,
    },
}
SYSCALL = {
    "type": "object",
    "required": ["action", "names"],
    "properties": {
        "action": {"enum": [f"SCMP_ACT_{action}" for action in ACTIONS]},
        "errnoRet": {"type": "integer", "minimum": 0, "maximum": 2**31 - 1},
        "names": {"type": "array", "items": {"type": "string"}},
        "args": {"type": "array", "maxItems": 6, "items": ARG},
    },
}
SPEC = {
    "type": "object",
    "required": ["defaultAction"],
    "properties": {
        "defaultAction": SYSCALL["properties"]["action"],
        "architectures": {"type": "array", "items": {"enum": [f"SCMP_ARCH_{arch}" for arch in ARCHES]}},
        "syscalls": {"type": "array", "items": SYSCALL},
    },
}
GROUP, VERSIONS = "security-profiles-operator.x-k8s.io", ["v1", "v1beta1"]
TYPES = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool}


def mismatch(schema, value, place):
    """Why a value does not match a schema, for the keywords that such schemas use."""
    if "type" in schema and (not isinstance(value, TYPES[schema["type"]]) or value is True and schema["type"] == "integer"):
        return f"{place}: not of type {schema['type']}: {value!r}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{place}: not one of {schema['enum']}: {value!r}"
    if "pattern" in schema and not re.search(schema["pattern"], value):
        return f"{place}: does not match {schema['pattern']}: {value!r}"
    limits = {"int32": 2**31 - 1, "int64": 2**63 - 1}
    most = schema.get("maximum", limits.get(schema.get("format"), float("inf")))
    if isinstance(value, int) and not schema.get("minimum", float("-inf")) <= value <= most:
        return f"{place}: out of range: {value!r}"
    if isinstance(value, list):
        if len(value) > schema.get("maxItems", len(value)):
            return f"{place}: {len(value)} items"
        if schema.get("x-kubernetes-list-type") == "set" and len(set(value)) < len(value):
            return f"{place}: repeated items"
        found = (mismatch(schema["items"], item, f"{place}[{index}]") for index, item in enumerate(value))
        return next(filter(None, found), None)
    if isinstance(value, dict):
        for key in schema.get("required", []):
            if key not in value:
                return f"{place}: missing {key}"
        for key, item in value.items():
            if key not in schema["properties"]:
                return f"{place}: unknown key {key}"
            found = mismatch(schema["properties"][key], item, f"{place}.{key}")
            if found:
                return found
    return None


def check(text, name, schemas):
    documents = list(yaml.safe_load_all(text))
    if len(documents) != 1 or set(documents[0]) != {"apiVersion", "kind", "metadata", "spec"}:
        raise SystemExit(f"not one resource: {text[:400]}")
    resource = documents[0]
    group, version = resource["apiVersion"].split("/")
    if (group, resource["kind"], resource["metadata"]) != (GROUP, "SeccompProfile", {"name": name}) or version not in VERSIONS:
        raise SystemExit(f"wrong head: {text[:400]}")
    for schema in schemas:
        found = mismatch(schema, resource["spec"], "spec")
        if found:
            raise SystemExit(f"{found}\n{text[:2000]}")
    return resource


def main(callgate, crd):
    schemas = [SPEC]
    if crd is not None:
        definition = yaml.safe_load(pathlib.Path(crd).read_text())["spec"]
        served = {version["name"]: version for version in definition["versions"] if version["served"]}
        if definition["group"] != GROUP or not set(VERSIONS) <= set(served):
            raise SystemExit(f"the definition serves {definition['group']} {sorted(served)}")
        properties = lambda version: version["schema"]["openAPIV3Schema"]["properties"]["spec"]
        schemas += [properties(served[version]) for version in VERSIONS]
    for bad in [{}, {"defaultAction": "ALLOW"}, {"defaultAction": "SCMP_ACT_LOG", "x": 1},
                {"defaultAction": "SCMP_ACT_LOG", "syscalls": [{"action": "SCMP_ACT_LOG", "names": ["a"], "errnoRet": -1}]}]:
        if not all(mismatch(schema, bad, "spec") for schema in schemas):
            raise SystemExit(f"a schema accepts {bad}")
    count = 0
    with tempfile.TemporaryDirectory() as scratch:
        directory = pathlib.Path(scratch)
        for seed, one in enumerate(random_recordings.recordings(5, 20)):
            path, output = directory / "T.json", directory / f"profile-{seed}.yaml"
            path.write_text(json.dumps(one))
            deny = ["enosys", "eperm", "kill", "log"][seed % 4]
            arch = ["--arch", "x86_64"] if seed % 2 else []
            command = [callgate, "generate", path, "--partial", "--to", "k8s", "--deny", deny, "-o", output, *arch]
            done = subprocess.run(command, capture_output=True)
            said = done.stderr.decode()
            if done.returncode == 2 and "cannot express" in said or "no syscalls were recorded" in said:
                continue
            if done.returncode != 0:
                raise SystemExit(f"{command}: status {done.returncode}: {said}")
            resource = check(output.read_text(), f"profile-{seed}", schemas)
            names = {name for entry in resource["spec"]["syscalls"] for name in entry["names"]}
            granted = {call["name"] for call in one["calls"] if call["arch"] == "x86_64" and call["count"] and "name" in call}
            granted.discard("clone3")  # it fails with ENOSYS, and libraries use clone
            if not granted <= names:
                raise SystemExit(f"{granted - names} were recorded, but are not in the resource")
            count += 1
    if count < 15:
        raise SystemExit(f"only {count} resources were written")
    print(f"{count} resources match {'the definition of the operator' if crd else 'the facts about its definition'}")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]).resolve(), sys.argv[2] if len(sys.argv) > 2 else None)

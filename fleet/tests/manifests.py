"""Checks the manifests of fleet/kubernetes: their schemas, and that the recorder works as its pod would.

    python3 manifests.py CALLGATE

The schemas are those of the API server, for the oldest and the newest version of the package kubernetes-validate that know all
fields. As root, with runc, the DaemonSet's container is started with its arguments, capabilities, mounts and namespaces, under
a profile as that of a runtime. Its node is made here: cgroups as containerd names them, links as kubelet makes them.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import kubernetes_validate
import yaml

FLEET = pathlib.Path(__file__).resolve().parent.parent
KUSTOMIZE = "sigs.k8s.io/kustomize/kustomize/v5@v5.5.0"

# appArmorProfile is a field since 1.30.
VERSIONS = ["1.30", "1.37"]


def build(directory):
    """The resources of a kustomization."""
    command = ["kubectl", "kustomize"] if shutil.which("kubectl") else ["go", "run", KUSTOMIZE, "build"]
    text = subprocess.run([*command, str(directory)], check=True, stdout=subprocess.PIPE, text=True).stdout
    return list(yaml.safe_load_all(text))


def check_schemas(resources):
    for version in VERSIONS:
        for resource in resources:
            kubernetes_validate.validate(resource, version, strict=True)
    # The check finds what the API server would refuse.
    broken = json.loads(json.dumps(next(one for one in resources if one["kind"] == "DaemonSet")))
    broken["spec"]["template"]["spec"]["containers"][0]["securityContext"]["capabilites"] = {}
    try:
        kubernetes_validate.validate(broken, VERSIONS[-1], strict=True)
    except kubernetes_validate.ValidationError:
        return
    raise SystemExit("a misspelled field passes the schema")


def check_references(resources):
    """What the API server does not check: names that refer to others."""
    by_kind = {one["kind"]: one for one in resources}
    pod = by_kind["DaemonSet"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    mounts = {mount["name"] for mount in container["volumeMounts"]}
    volumes = {volume["name"] for volume in pod["volumes"]}
    (values,) = container["envFrom"]
    if mounts != volumes or values["configMapRef"]["name"] != by_kind["ConfigMap"]["metadata"]["name"]:
        raise SystemExit("the pod mounts other volumes than it has, or takes values of another ConfigMap")
    known = set(by_kind["ConfigMap"]["data"]) | {one["name"] for one in container["env"]}
    used = set(re.findall(r"\$\((\w+)\)", " ".join(container["args"])))
    if used != known:
        raise SystemExit(f"arguments use {sorted(used)}, and the values are {sorted(known)}")
    writable = [mount["name"] for mount in container["volumeMounts"] if not mount.get("readOnly")]
    if writable != ["recordings"] or not pod["hostPID"]:
        raise SystemExit("more than the recordings is writable, or the pod is not in the initial PID namespace")
    if re.fullmatch(r"ghcr\.io/[a-z0-9-]+/callgate:\d+\.\d+\.\d+", container["image"]) is None:
        raise SystemExit(f"the image is not one of a release: {container['image']}")


def wait_for(condition, what, messages=lambda: ""):
    for _ in range(600):
        if condition():
            return
        time.sleep(0.1)
    raise SystemExit(f"not within 60 seconds: {what}\n{messages()}")


def hierarchy():
    """Where cgroup v2 is mounted."""
    for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
        if " - cgroup2 " in line:
            return pathlib.Path(line.split()[4])
    return None


class Node:
    """A node with containers, which have a process each."""

    def __init__(self, scratch):
        self.logs, self.recordings = scratch / "logs", scratch / "recordings"
        self.logs.mkdir()
        self.recordings.mkdir()
        self.cgroup = hierarchy() / f"callgate-manifests-{os.getpid()}"
        self.cgroup.mkdir()
        self.processes = []

    def start(self, pod, number):
        container = f"{os.getpid():08x}{number:056x}"
        cgroup = self.cgroup / f"cri-containerd-{container}.scope"
        cgroup.mkdir()
        script = 'echo $$ >"$0/cgroup.procs" && while :; do read line </proc/uptime; sleep 0.01; done'
        self.processes.append(subprocess.Popen(["sh", "-c", script, str(cgroup)]))
        wait_for(lambda: (cgroup / "cgroup.procs").read_text(), "the start of a container")
        link = self.logs / f"{pod}_default_app-{container}.log"
        link.symlink_to(f"/var/log/pods/default_{pod}_uid/app/0.log")

    def end(self):
        for process in self.processes:
            process.kill()
            process.wait()
        for cgroup in sorted(self.cgroup.iterdir(), reverse=True):
            if cgroup.is_dir():
                wait_for(lambda cgroup=cgroup: removed(cgroup), "the end of a cgroup")
        wait_for(lambda: removed(self.cgroup), "the end of a cgroup")


def removed(cgroup):
    # Children of a shell that was killed.
    for process in (cgroup / "cgroup.procs").read_text().split():
        os.kill(int(process), signal.SIGKILL)
    try:
        cgroup.rmdir()
    except OSError:
        return False
    return True


def bundle(scratch, callgate, node, pod, values):
    """The bundle of the pod's container for runc."""
    (container,) = pod["containers"]
    security = container["securityContext"]
    capabilities = [f"CAP_{name}" for name in security["capabilities"]["add"]]
    if security["capabilities"]["drop"] != ["ALL"] or security["seccompProfile"] != {"type": "RuntimeDefault"}:
        raise SystemExit("the container has further capabilities, or another profile than the runtime's")
    paths = {
        "/var/lib/callgate/recordings": node.recordings,
        "/var/log/containers": node.logs,
        "/sys/fs/cgroup": hierarchy(),
    }
    volumes = {volume["name"]: paths[volume["hostPath"]["path"]] for volume in pod["volumes"]}
    mounts = [
        {"destination": "/proc", "type": "proc", "source": "proc"},
        {"destination": "/sys", "type": "sysfs", "source": "sysfs", "options": ["nosuid", "noexec", "nodev", "ro"]},
    ]
    # The command may be linked with the system's C library.
    for library in ["/lib", "/lib64", "/usr/lib"]:
        if pathlib.Path(library).is_dir():
            mounts.append({"destination": library, "type": "bind", "source": library, "options": ["rbind", "ro"]})
    for mount in container["volumeMounts"]:
        mounts.append(
            {
                "destination": mount["mountPath"],
                "type": "bind",
                "source": str(volumes[mount["name"]]),
                "options": ["rbind", "ro" if mount.get("readOnly") else "rw"],
            }
        )
    profile = scratch / "default.json"
    convert = [callgate, "convert", "container-default", "--caps", ",".join(capabilities), "--to", "oci", "-o", str(profile)]
    # It warns that the profile is for these capabilities only.
    converted = subprocess.run(convert, check=False, stderr=subprocess.PIPE, text=True)
    if converted.returncode != 0:
        raise SystemExit(converted.stderr)
    arguments = [re.sub(r"\$\((\w+)\)", lambda found: values[found[1]], one) for one in container["args"]]
    root = scratch / "bundle" / "rootfs"
    (root / "usr").mkdir(parents=True)
    shutil.copy(callgate, root / "callgate")
    config = {
        "ociVersion": "1.0.2",
        "process": {
            "user": {"uid": security["runAsUser"], "gid": security["runAsGroup"]},
            "args": ["/callgate", *arguments],
            "cwd": "/",
            "noNewPrivileges": not security["allowPrivilegeEscalation"],
            "capabilities": {name: capabilities for name in ["bounding", "effective", "permitted"]},
        },
        "root": {"path": "rootfs", "readonly": security["readOnlyRootFilesystem"]},
        "hostname": "recorder",
        "mounts": mounts,
        # Without "pid": that of the host.
        "linux": {
            "cgroupsPath": f"/callgate-manifests-{os.getpid()}/recorder",
            "namespaces": [{"type": kind} for kind in ["mount", "cgroup", "ipc", "uts", "network"]],
            "seccomp": json.loads(profile.read_text()),
        },
    }
    # runc makes the places of mounts only while the root is writable.
    for mount in mounts:
        (root / mount["destination"].lstrip("/")).mkdir(parents=True, exist_ok=True)
    (root.parent / "config.json").write_text(json.dumps(config))
    return root.parent


def check_recorder(callgate, resources):
    by_kind = {one["kind"]: one for one in resources}
    pod = by_kind["DaemonSet"]["spec"]["template"]["spec"]
    values = {**by_kind["ConfigMap"]["data"], "NODE_NAME": "node-1"}
    with tempfile.TemporaryDirectory() as directory:
        scratch = pathlib.Path(directory)
        node = Node(scratch)
        name = f"callgate-manifests-{os.getpid()}"
        runc = ["runc", "--root", str(scratch / "state")]
        messages = scratch / "messages"
        try:
            node.start("web-1", 1)
            node.start("db-1", 2)
            command = [*runc, "run", "--bundle", str(bundle(scratch, callgate, node, pod, values)), name]
            with messages.open("w") as output:
                running = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
            try:
                for pod_name, number in [("web-1", None), ("web-2", 3)]:
                    if number is not None:
                        node.start(pod_name, number)
                    attached = f"attached to default/{pod_name}/app"
                    wait_for(lambda: attached in messages.read_text() or running.poll() is not None, attached, messages.read_text)
                # A loop of the container takes 10 ms.
                time.sleep(1)
                subprocess.run([*runc, "kill", name, "TERM"], check=True)
                status = running.wait(timeout=60)
            finally:
                subprocess.run([*runc, "delete", "--force", name], check=False, stderr=subprocess.DEVNULL)
                running.kill()
                running.wait()
        finally:
            node.end()
        said = messages.read_text()
        # The time of the manifest is not over.
        warnings = [line for line in said.splitlines() if "warning" in line and "a signal ended the recording" not in line]
        if status != 0 or warnings or "db-1" in said:
            raise SystemExit(f"status {status}: {said}")
        recordings = [json.loads(path.read_text()) for path in sorted(node.recordings.glob("*.json"))]
        labels = [recording["runs"][0]["labels"] for recording in recordings]
        expected = [
            {"node": "node-1", "namespace": "default", "pod": pod, "container": "app"} for pod in ["web-1", "web-2"]
        ]
        if labels != expected:
            raise SystemExit(f"other recordings: {labels}")
        for recording in recordings:
            names = {syscall["name"] for syscall in recording["calls"]}
            if not names >= {"execve", "clock_nanosleep", "openat", "read"}:
                raise SystemExit(f"syscalls are missing: {sorted(names)}")
    print("the recorder's container records the chosen pods with the privileges of its manifest")


def main():
    callgate = str(pathlib.Path(sys.argv[1]).resolve())
    for directory in ["kubernetes", "kubernetes-example"]:
        resources = build(FLEET / directory)
        check_schemas(resources)
        check_references(resources)
    print(f"the manifests have the schemas of Kubernetes {' and '.join(VERSIONS)}")
    if os.geteuid() != 0 or not shutil.which("runc") or hierarchy() is None:
        if "root" in os.environ.get("CALLGATE_REQUIRE", "").split(","):
            raise SystemExit("not run: the recorder's container needs root, runc and cgroup v2, and CALLGATE_REQUIRE names root")
        print("not run: the recorder's container (needs root, runc and cgroup v2)")
        return
    check_recorder(callgate, resources)


if __name__ == "__main__":
    main()

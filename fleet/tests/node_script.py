"""Runs the script of fleet/kubernetes/recorder.yaml with stand-ins for crictl and callgate.

    python3 node_script.py
"""

import os
import pathlib
import signal
import subprocess
import tempfile
import time

import yaml

FLEET = pathlib.Path(__file__).resolve().parent.parent

CRICTL = r"""#!/bin/sh
case "$*" in
  "pods -q --state ready --label callgate-record=true") echo p1; echo p2 ;;
  "ps -q --state running --pod p1") echo c1; echo done1 ;;
  "ps -q --state running --pod p2") echo c2; echo fails ;;
  *"{{.status.image.image}}"*) printf 'registry.example/web:7"; touch evil; $(touch evil)\n' ;;
  *"{{index .status.labels \"io.kubernetes.pod.namespace\"}}"*) echo default ;;
  *"{{index .status.labels \"io.kubernetes.pod.name\"}}"*) echo "web-1" ;;
  *"{{.status.metadata.name}}"*) ;;
  *) echo "unexpected: $*" >&2; exit 1 ;;
esac
"""

# Records until it is ended, as callgate does.
CALLGATE = r"""#!/bin/sh
printf '%s\n' "$*" >> "$LOG"
case "$*" in *fails*) exit 2 ;; esac
trap 'echo "{}" > "$3.json" || :; : > "$CALLS/ended.$3"; exit 0' TERM
while :; do sleep 0.1; done
"""


def wait_for(condition, what):
    for _ in range(100):
        if condition():
            return
        time.sleep(0.1)
    raise SystemExit(f"not within 10 seconds: {what}")


def main():
    documents = list(yaml.safe_load_all((FLEET / "kubernetes" / "recorder.yaml").read_text()))
    by_kind = {document["kind"]: document for document in documents}
    script = by_kind["ConfigMap"]["data"]["record-node.sh"]
    pod = by_kind["DaemonSet"]["spec"]["template"]["spec"]
    mounts = {mount["name"] for mount in pod["containers"][0]["volumeMounts"]}
    if not pod["hostPID"] or mounts != {volume["name"] for volume in pod["volumes"]}:
        raise SystemExit("the DaemonSet is not in the initial PID namespace, or its volumes are not those that it mounts")
    with tempfile.TemporaryDirectory() as scratch:
        directory = pathlib.Path(scratch)
        tools, recordings = directory / "bin", directory / "recordings"
        tools.mkdir()
        recordings.mkdir()
        (recordings / "done1.json").write_text("{}")
        for name, text in [("crictl", CRICTL), ("callgate", CALLGATE)]:
            (tools / name).write_text(text)
            (tools / name).chmod(0o755)
        path = directory / "record-node.sh"
        path.write_text(script)
        log = directory / "log"
        environment = {
            "PATH": f"{tools}:{os.environ['PATH']}", "NODE_NAME": "node-1", "RECORDINGS": str(recordings),
            "LOG": str(log), "CALLS": str(directory),
        }
        running = subprocess.Popen(["sh", str(path)], env=environment)
        try:
            wait_for(lambda: log.exists() and len(log.read_text().splitlines()) == 3, "three recorders")
            wait_for(lambda: not (recordings / ".fails.started").exists(), "a recorder that failed may start again")
            started = sorted(one.name for one in recordings.iterdir() if one.name.startswith("."))
            labels = (
                "--label node=node-1 --label image=registry.example/web:7toucheviltouchevil --label namespace=default "
                "--label pod=web-1 --label container=unknown"
            )
            expected = sorted(f"record --container {id} --for 1h -o {id}.json {labels}" for id in ["c1", "c2", "fails"])
            if sorted(log.read_text().splitlines()) != expected:
                raise SystemExit(f"other command lines: {log.read_text()}")
            if started != [".c1.started", ".c2.started"] or (recordings / "evil").exists():
                raise SystemExit(f"other files: {started}")
        finally:
            running.send_signal(signal.SIGTERM)
            try:
                status = running.wait(timeout=20)
            except subprocess.TimeoutExpired:
                running.kill()
                raise
        ended = sorted(one.name for one in directory.iterdir() if one.name.startswith("ended."))
        if status != 0 or ended != ["ended.c1", "ended.c2"]:
            raise SystemExit(f"status {status}, recorders that ended: {ended}")
    print("the script of the DaemonSet records each container once, with labels, and ends its recorders")


if __name__ == "__main__":
    main()

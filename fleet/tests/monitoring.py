"""Reads the metrics of callgate with the parsers of Prometheus and of OpenTelemetry.

    python3 monitoring.py CALLGATE

Programs with hostile names, among them all bytes, are denied in a log. Both parsers must find the same denials in it.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

from google.protobuf import json_format
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from prometheus_client.parser import text_string_to_metric_families

PROFILE = {
    "defaultAction": "SCMP_ACT_ERRNO",
    "architectures": ["SCMP_ARCH_X86_64"],
    "syscalls": [{"names": ["read"], "action": "SCMP_ACT_ALLOW"}],
}
NAMES = [
    b"nginx", b"new\nline", b'quo"te', b"back\\slash", b"\\n", b'a"} 7 #', b"\x1b[2J", b"\xff\xfe", b"\xe2\x80\xae",
    b"# HELP x", b"{a=\"b\"}", b"a,b=c", b"\xf0\x9f\x98\x80", b" ", b"\t", b"%s", b"${x}", b"\\", b"\\\\\"", b"\r\n",
    *(bytes([byte, 0x61]) for byte in range(1, 256)),
]


def callgate(*arguments, statuses=(0, 1)):
    done = subprocess.run([str(one) for one in arguments], capture_output=True)
    if done.returncode not in statuses:
        raise SystemExit(f"{arguments}: status {done.returncode}: {done.stderr.decode()}")
    text = done.stdout.decode("utf-8")
    control = [character for character in text if ord(character) < 32 and character != "\n" or 127 <= ord(character) < 160]
    if control:
        raise SystemExit(f"{arguments}: control characters in the output: {control}")
    return text


def of_prometheus(text):
    """Each counter: labels -> value."""
    families = {family.name: family for family in text_string_to_metric_families(text)}
    if any(family.type != "counter" for family in families.values()):
        raise SystemExit("a metric is not a counter")
    series = {}
    for family in families.values():
        for sample in family.samples:
            key = (sample.name.removesuffix("_total"), frozenset(sample.labels.items()))
            if key in series:
                raise SystemExit(f"two samples of one series: {key}")
            series[key] = int(sample.value)
    return series


def of_otlp(text):
    """The same of OTLP."""
    request = json_format.Parse(text, ExportMetricsServiceRequest())
    series = {}
    for metric in request.resource_metrics[0].scope_metrics[0].metrics:
        if not (metric.sum.is_monotonic and metric.sum.aggregation_temporality == 2):
            raise SystemExit(f"{metric.name} is not a cumulative counter")
        for point in metric.sum.data_points:
            if point.time_unix_nano < 1_700_000_000 * 10**9:
                raise SystemExit(f"{metric.name} has no time")
            labels = frozenset((one.key, one.value.string_value) for one in point.attributes)
            series[metric.name.replace(".", "_"), labels] = point.as_int
    return series


def main(command):
    with tempfile.TemporaryDirectory() as scratch:
        directory = pathlib.Path(scratch)
        profile, log = directory / "p.json", directory / "audit.log"
        profile.write_text(json.dumps(PROFILE))
        record = "type=SECCOMP msg=audit(1.2:3): pid=7 comm=%s exe=\"/n\" sig=0 arch=c000003e syscall=%d compat=0 code=0x50001"
        # The audit system writes names with special bytes in hexadecimal. A denial keeps 16 programs, so each has its own.
        lines = [record % (name.hex().upper(), 100 + place) for place, name in enumerate(NAMES)]
        log.write_text("".join(line + "\n" for line in lines))
        arguments = ["why", profile, "--from", log, "--enosys-above", "off", "--format"]
        by_prometheus = of_prometheus(callgate(command, *arguments, "prometheus"))
        by_otlp = of_otlp(callgate(command, *arguments, "otlp"))
        # Prometheus gets unprintable characters as escapes, so the names differ, but not the numbers.
        names = lambda series: {name for name, _ in series}
        without_program = lambda series: sorted(
            (name, sorted(label for label in labels if label[0] not in ("program", "filter")), value)
            for (name, labels), value in series.items()
        )
        if without_program(by_prometheus) != without_program(by_otlp):
            raise SystemExit("the parsers of Prometheus and OpenTelemetry find different counters")
        programs = lambda series: {dict(labels).get("program") for (name, labels) in series if name.endswith("denials")}
        expected = {name.decode("utf-8", "replace") for name in NAMES}
        missing = expected - programs(by_otlp)
        if missing:
            raise SystemExit(f"OTLP lacks programs: {missing}")
        for name in ["nginx", 'quo"te', "back\\slash", 'a"} 7 #', "# HELP x", '{a="b"}', "\\", '\\\\"', "😀"]:
            if name not in programs(by_prometheus):
                raise SystemExit(f"Prometheus lacks the program {name!r}")
        recording = {"callgate": "recording", "version": 1, "calls": [{"arch": "x86_64", "nr": 165, "count": 2**62}]}
        path = directory / 'a"\\\x1bb.json'
        path.write_text(json.dumps(recording))
        odd = directory / 'p"\\\x1b.json'
        odd.write_text(json.dumps(PROFILE))
        for read, form in [(of_prometheus, "prometheus"), (of_otlp, "otlp")]:
            series = read(callgate(command, "check", path, odd, "--enosys-above", "off", "--format", form))
            denied = [value for (name, _), value in series.items() if name == "callgate_recorded_denials"]
            if denied != [2**62]:
                raise SystemExit(f"{form}: check: {series}")
        print(f"{len(by_otlp)} counters of {sorted(names(by_otlp))}: Prometheus and OpenTelemetry read the same")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]).resolve())

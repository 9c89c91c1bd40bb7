"""Checks documents with the schema of CycloneDX 1.5.

    python3 sbom.py FILE...
"""

import pathlib
import sys

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

validator = JsonStrictValidator(SchemaVersion.V1_5)
for name in sys.argv[1:]:
    error = validator.validate_str(pathlib.Path(name).read_text(encoding="utf-8"))
    if error is not None:
        raise SystemExit(f"{name}: {str(error).splitlines()[0]}")
print(f"{len(sys.argv) - 1} documents have the schema of CycloneDX 1.5")

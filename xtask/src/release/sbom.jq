# Makes a list of cargo-cyclonedx a document about a file: $file with the hash $sum, $version, the $time of the commit; $root is
# the directory of the tree, which identifiers of packages have, and $rust the version of the standard library.
walk(if type == "string" then split($root) | join("/callgate") else . end)
# Packages of this repository are not in a file of the machine that built them.
| walk(if type == "object" and has("purl") then .purl |= sub("\\?download_url=file:[^#]*"; "") else . end)
| .metadata.component as $package
| {
    "bom-ref": "std",
    "type": "library",
    "name": "rust-std",
    "version": $rust,
    "description": "The standard library of Rust, with the C library where the target is linked statically",
    "licenses": [{"expression": "MIT OR Apache-2.0"}]
  } as $std
| del(.serialNumber)
| .metadata.timestamp = $time
| .metadata.component = {
    "bom-ref": $file,
    "type": (if $file | endswith(".crate") then "library" else "file" end),
    "name": $file,
    "version": $version,
    "hashes": [{"alg": "SHA-256", "content": $sum}],
    "licenses": [{"expression": "MIT OR Apache-2.0"}]
  }
| .components = ([$package | del(.components)] + .components + [$std] | sort_by(."bom-ref"))
| .dependencies = (
    [{"ref": $file, "dependsOn": [$package."bom-ref", "std"]}, {"ref": "std"}] + .dependencies | sort_by(.ref)
  )

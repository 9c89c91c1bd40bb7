// The package in this version of Node.js, as a dependency.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import test from "node:test";

import { CallgateError, load, toBytes } from "callgate";

test("the package works in this version of Node.js", async () => {
  const callgate = await load();
  const program = callgate.compile({ preset: "container-default", kernel: "6.12" });
  assert.ok(program.proved && toBytes(program).length === 8 * program.insns);
  assert.throws(() => callgate.compile({ text: "ALLOW { wriet } DEFAULT KILL" }), CallgateError);
});

test("the types are complete", () => {
  for (const project of ["tsconfig.json", "tsconfig.node.json", "tsconfig.plain.json"]) {
    const tsc = ["node_modules/typescript/bin/tsc", "--project", project];
    execFileSync(process.execPath, tsc, { stdio: ["ignore", "inherit", "inherit"] });
  }
});

test("the module has a name of its own", () => {
  assert.ok(import.meta.resolve("callgate/callgate.wasm").endsWith("/node_modules/callgate/callgate.wasm"));
});

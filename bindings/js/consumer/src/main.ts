// What a page does with the package. `test/vite.test.mjs` reads what it writes.
import { CallgateError, load, type Callgate, type Explanation, type Program } from "callgate";

const callgate: Callgate = await load();
const source = { text: "ALLOW { read, write { fd == 1 } } DEFAULT KILL", name: "page.kafel" };
const program: Program = callgate.compile(source, { machine: "x86_64" });
const explanation: Explanation = callgate.explain(source, { machine: "x86_64", syscalls: ["write"] });
const lines: string[] = [`${program.insns} instructions, proved: ${program.proved}`, JSON.stringify(explanation.arches[0]?.groups)];
try {
  // Browsers do not say what their machine is.
  callgate.compile(source);
} catch (error) {
  if (!(error instanceof CallgateError)) throw error;
  lines.push(`${error.name}: ${error.diagnostics[0]?.help}`);
}
const answer = document.getElementById("answer");
if (answer) answer.textContent = lines.join("\n");

// What a program of Node.js does with the package; also the types that no environment declares must be enough for it.
import { CallgateError, load, toBytes, type Source, type Template } from "callgate";

const callgate = await load();
const source: Source = { text: "ALLOW { read { fd == $in } } DEFAULT KILL", format: "kafel" };
const template: Template = callgate.compileTemplate(source, { machine: "x86_64", optimize: "size" });
export const bytes: Uint8Array = toBytes(template.instantiate({ in: 7n }));

export function linesOf(text: string): (number | null)[] {
  try {
    callgate.compile({ text }, { machine: "x86_64" });
    return [];
  } catch (error) {
    if (error instanceof CallgateError) return error.diagnostics.map(({ line }) => line);
    throw error;
  }
}

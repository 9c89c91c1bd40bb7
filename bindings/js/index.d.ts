/** An instruction: code, jt, jf, k. */
export type Instruction = [number, number, number, number];

/** A filter, with exactly one of text, insns, hex, preset and expression. */
export type Source = Content & {
  name?: string;
  /** A name such as "docker" or "kafel", as before the colon of a source of the command, or "bpftext". */
  format?: string;
  part?: string;
  files?: Record<string, string>;
  arches?: string[];
  /** Required for profiles and units, such as "6.12". */
  kernel?: string;
  caps?: string;
  enosys_above?: "on" | "runc-1.1" | "off";
  /** The version of libseccomp that reads the names of syscalls, such as "2.5.3": rules for others have no effect. */
  libseccomp?: string;
  /** The version of runc that reads a profile, such as "1.1.12": its rule for new syscalls, and its libseccomp. */
  runc?: string;
  /** Whether a profile is read as crun does, without a rule for new syscalls. */
  crun?: boolean;
  systemd?: string;
  /** The compiler of minijail that decides what a policy means. */
  minijail_semantics?: "c" | "python";
  /** Whether unknown names of syscalls and invisible characters are errors. */
  strict?: boolean;
  endian?: "little" | "big";
  /** Macros with which C as text is read: "NAME=VALUE", or "NAME" for 1. */
  define?: string[];
  /** Macros that are not defined when C as text is read. */
  undefine?: string[];
  /** Values of variables. */
  set?: Values;
};

/** Values by the names of variables; text such as "0x10" and bigints have all digits of 64 bits. */
export type Values = Record<string, number | bigint | string>;

type Content =
  | { text: string }
  | { insns: Instruction[] }
  | { hex: string }
  | { preset: string }
  /** Such as "app + ptrace - preset:no-io-uring", of these sources, presets and syscalls. */
  | { expression: string; sources?: Record<string, Source> };

export interface Machine {
  /**
   * The architecture of the machine, such as "x86_64". The default is that of the process in Node.js, Deno and Bun. Browsers do
   * not say it: there, its absence is a CallgateError.
   */
  machine?: string;
}

export interface Comparing extends Machine {
  max?: number;
  /** Which bits of arguments count: all 64 (default of diff), or those that the kernel reads (default of subset). */
  arguments?: "filter" | "kernel";
}

export interface Compiling extends Machine {
  model?: "cached" | "uncached";
  optimize?: "speed" | "size" | "quick";
  instructions?: "all" | "basic";
  weights?: string;
}

export interface Diagnostic {
  severity: "error" | "warning";
  /** Null for a message about the request. */
  source: string | null;
  line: number | null;
  column: number | null;
  message: string;
  help: string;
}

export interface Warned {
  warnings: Diagnostic[];
}

export interface Program extends Warned {
  arches: string[];
  endian: "little" | "big";
  flags: string[];
  insns: number;
  /** The mean number of instructions executed by permitted syscalls for which every kernel runs the filter. */
  filtered_insns: number | null;
  /** The mean of all syscalls, which matters before Linux 5.11. */
  expected_insns: number | null;
  constant_allow: number;
  proved: boolean;
  program: Instruction[];
}

export interface Optimized extends Program {
  optimized: boolean;
  reason: string | null;
  before: { insns: number; filtered_insns: number | null; expected_insns: number | null; constant_allow: number };
}

export interface Verdict {
  verdict: string;
  value: number;
}

export interface Condition {
  arg: number;
  part: "whole" | "low" | "high";
  text: string;
  /** Numbers above 2 ** 53 are rounded; use text to show them. */
  ranges?: [number, number][];
  mask?: number;
  equals?: number;
  differs_from?: number;
  /** The relation to another argument, which is the instruction pointer if it is null. */
  relation?: "==" | "!=" | "<" | "<=" | ">" | ">=" | "shares a bit" | "shares no bit";
  other_arg?: number | null;
  other_part?: "whole" | "low" | "high";
  count?: string;
}

export type Outcome =
  | { kind: "always"; always: Verdict }
  | { kind: "depends"; clauses: { if: Condition[]; then: Verdict }[]; otherwise: Verdict }
  | { kind: "complex"; verdicts: Verdict[] };

export interface Explanation extends Warned {
  source: string;
  arches: {
    arch: string;
    groups: { outcome: Outcome; calls: { nr: number; name: string }[] }[];
    unnamed: { outcome: Outcome; numbers: [number, number][] }[];
  }[];
  other_arches: Verdict | null;
}

export interface Call {
  arch: string | null;
  arch_token: number;
  call: string | null;
  nr: number;
  args: number[];
  instruction_pointer: number;
}

/** The verdict for the example; and what the filter does with all syscalls of the group, if it is the same. */
export interface Decision extends Verdict {
  outcome: Outcome | null;
}

export interface Difference extends Call {
  a: Decision;
  b: Decision;
  alike: [number, number][];
}

export interface Simulated extends Call, Warned, Verdict {
  permitted: boolean;
  executed: number;
  constant_allow: boolean;
}

export type Level = "note" | "warning" | "error";

export interface Finding {
  /** The identifier of the check, which does not change, such as high-bits. */
  id: string;
  /** An error means that a program can evade a rule. */
  level: Level;
  filter: string;
  file: string;
  /** Null if the finding is about the filter as a whole. */
  line: number | null;
  column: number | null;
  arches: string[];
  syscalls: string[];
  title: string;
  message: string;
  help: string;
  /** Syscalls that show it, with the verdicts of the filter. */
  examples: (Call & Verdict & { text: string })[];
}

/** What lint found; the warnings of the reader are among the findings. */
export interface Findings extends Warned {
  source: string;
  findings: Finding[];
  below_level: number;
  silenced: number;
}

/** Why there is no result: what is wrong with a source, an option, a value, or the module that is loaded. */
export class CallgateError extends Error {
  constructor(diagnostics: Diagnostic[], options?: { cause?: unknown });
  /** All errors, with the warnings between them; the text of the error is that of the errors. */
  readonly diagnostics: Diagnostic[];
  /** Why the module could not be loaded. */
  readonly cause?: unknown;
}

export class Template {
  readonly variables: { name: string; bits: 32 | 64 }[];
  readonly warnings: Diagnostic[];
  /** The program for these values, one for each variable. Throws a CallgateError if one is missing, unknown or too large. */
  instantiate(values: Values): Program;
}

export class Callgate {
  /** `module` is a WebAssembly.Module, `keptMemory` the memory of an instance that is kept for further requests, in bytes; 16 MiB by default. `instantiate` makes the instances of a module in parts. */
  constructor(module: object, keptMemory?: number, instantiate?: (module: object) => object);
  /** The answer to a request, both as JSON text; the crate callgate-requests documents them. */
  answer(request: string): string;
  request(request: object): Warned;
  compile(source: Source, options?: Compiling): Program;
  /** Compiles a policy with variables, once for all values. */
  compileTemplate(source: Source, options?: Compiling): Template;
  optimize(source: Source, options?: Compiling): Optimized;
  merge(sources: Source[], options?: Compiling): Program;
  explain(source: Source, options?: Machine & { syscalls?: (string | number)[] }): Explanation;
  /** Mistakes in a filter, and ways to evade it, of this level (default: warning) and above. Checks are silenced by ID or ID=SYSCALL. */
  lint(source: Source, options?: Machine & { level?: Level; allow?: string[] }): Findings;
  diff(a: Source, b: Source, options?: Comparing): Warned & {
    same: boolean;
    arguments: "filter" | "kernel";
    more: boolean;
    differences: Difference[];
  };
  subset(a: Source, b: Source, options?: Comparing): Warned & {
    subset: boolean;
    arguments: "filter" | "kernel";
    /** What B denies and allows, though the kernel reads both as the same: why A counts as a subset. */
    ignored_bits: { denied: Call; allowed: Call | null } | null;
    more: boolean;
    witnesses: Difference[];
  };
  simulate(
    source: Source,
    call: { syscall: string | number; args?: (string | number)[]; arch?: string },
    options?: Compiling,
  ): Simulated;
}

/**
 * Loads the module: from its bytes (ArrayBuffer, Uint8Array), from a compiled WebAssembly.Module, from a URL, or by default from
 * the file of the package. A failure is a CallgateError. These types of a browser are not declared in every environment.
 */
export function load(from?: string | object): Promise<Callgate>;

/**
 * A program as the bytes of struct sock_filter, in the byte order of its machines: for bwrap --seccomp, or seccomp(2). A program
 * without its byte order is a CallgateError.
 */
export function toBytes(program: Pick<Program, "program" | "endian">): Uint8Array;

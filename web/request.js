// Requests to the core.

import { ELSEWHERE, FIELD, excess } from "./limits.js";

/** Conditions of profiles are about this version, unless one is given. */
const KERNEL = "6.18";

/** What units are read as, unless a version is given. */
const newest = { systemd: "" };

/** The newest version of systemd that the core knows. */
export function setNewest(systemd) {
  newest.systemd = systemd;
}

/** The names of the texts in messages, which differ, so that places in messages are unique. */
export function namesOf(state) {
  const [text, before] = [state.name || "filter", state.beforeName || "the older filter"];
  return { text, before: before === text ? `before/${before}` : before };
}

/** The texts of which an answer says something. */
export function textsOf(state) {
  return { text: state.text, before: state.view === "compare" ? state.before : "", log: state.view === "denied" ? state.log : "", tests: state.tests };
}

/** The request for a state; null if there is nothing to ask. */
export function requestOf(state) {
  const isLogAlone = state.view === "denied" && state.log.trim() !== "";
  if (state.text.trim() === "" && !isLogAlone) return null;
  // Texts that are put in are checked before; this one was typed.
  for (const text of [state.text, state.before, state.log, state.tests]) {
    const why = excess(text, FIELD);
    if (why) return { tooLong: `${why} ${ELSEWHERE}` };
  }
  if (state.text.trim() === "") return { view: "denied", log: state.log, arch: state.machine };
  const names = namesOf(state);
  const request = { view: state.view, source: source(state.text, names.text, state) };
  if (state.tests.trim() !== "") request.tests = state.tests;
  if (state.view === "compare") {
    if (state.before.trim() === "") return { ...request, view: "explanation", missing: "before" };
    // The format and variables are those of the filter above; the other one shows its own format.
    request.before = source(state.before, names.before, { ...state, format: "", set: "" });
  } else if (state.view === "denied") {
    if (state.log.trim() === "") return { ...request, view: "explanation", missing: "log" };
    request.log = state.log;
  } else if (state.view === "convert") {
    [request.to, request.closest] = [state.to, state.closest];
  } else if (state.view === "simulate") {
    if (state.call.trim() === "") return { ...request, view: "explanation", missing: "call" };
    request.call = state.call;
    if (state["call-arch"] !== "") request.arch = state["call-arch"];
  }
  return request;
}

function source(text, name, { format, machine, arches, kernel, systemd, caps, runtime, libseccomp, enosys, minijail, set }) {
  const source = { text, name, machine, kernel: kernel.trim() || KERNEL, systemd: systemd.trim() || newest.systemd };
  const given = {
    format, arches: arches.trim(), caps: caps.trim(), set: set.trim(), ...runtimeOf(runtime.trim()), libseccomp: libseccomp.trim(),
    enosys_above: enosys, minijail_semantics: minijail,
  };
  for (const [key, value] of Object.entries(given)) if (value !== "") source[key] = value;
  return source;
}

/** A runtime as the options of the command have it: `crun`, or a version of runc. */
function runtimeOf(runtime) {
  return /^crun$/i.test(runtime) ? { crun: "true" } : { runc: runtime.replace(/^runc[ :-]*/i, "") };
}

// The results of the tests of a filter: how many pass in the title, what fails below, and each beside its line in the editor.

import { linkPlaces } from "./places.js";
import { setHtml } from "./trusted.js";

const get = (id) => document.getElementById(id);

/** The results that are shown; null before the first answer and after a failure. */
let shown = null;

/** Shows the results of an answer; null if there are none. */
export function showTests(tests) {
  shown = tests;
  const chip = get("tests-status");
  const isEmpty = tests === null || tests.status === "";
  chip.hidden = isEmpty && get("tests").value.trim() === "";
  chip.textContent = isEmpty ? "not checked" : tests.status;
  chip.className = `chip ${isEmpty ? "neutral" : tests.failed > 0 ? "killed" : "allowed"}`;
  setHtml(get("tests-body"), tests?.body ?? "");
  linkPlaces(get("tests-body"), { tests: "tests" });
  markTests();
}

/** The same in a field that is new. */
export function markTests() {
  get("tests").results?.(shown?.lines ?? []);
}

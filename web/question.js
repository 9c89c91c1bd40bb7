// A question before something is done.

const get = (id) => document.getElementById(id);
let answer = null;

/** Asks, and returns whether to do it. A new question takes the place of an old one, whose answer is no. */
export function asks(text, yes) {
  dismiss();
  get("question-text").textContent = text;
  get("question-yes").textContent = yes;
  get("question").showModal();
  // What happens by mistake should change nothing.
  get("question-no").focus();
  return new Promise((resolve) => (answer = resolve));
}

/** Ends a question, whose answer is no. */
export function dismiss() {
  decide(false);
}

function decide(decision) {
  const resolve = answer;
  answer = null;
  if (get("question").open) get("question").close();
  resolve?.(decision);
}

get("question-yes").addEventListener("click", () => decide(true));
get("question-no").addEventListener("click", () => decide(false));
// The key Escape.
get("question").addEventListener("cancel", (event) => {
  event.preventDefault();
  decide(false);
});
get("question").addEventListener("close", () => decide(false));

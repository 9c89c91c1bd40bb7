// While an answer is awaited: a strip with Stop, and the old answer dimmed, so that it is not taken for the new one.

/** The time after which the page says that it works, in milliseconds: shorter waits would only flicker. */
const DELAY = 200;

/** How often the elapsed time is shown, in milliseconds. */
const TICK = 100;

const get = (id) => document.getElementById(id);
let timer;
let since = 0;

export function connectBusy(stop) {
  get("stop").addEventListener("click", stop);
}

/** An answer is awaited. A newer request continues the wait of an older one: the person has waited since then. */
export function begin() {
  if (timer !== undefined) return;
  since = performance.now();
  timer = setTimeout(tick, DELAY);
}

function tick() {
  get("busy").hidden = false;
  get("page-answer").classList.add("busy");
  get("panel").setAttribute("aria-busy", "true");
  get("elapsed").textContent = `${((performance.now() - since) / 1000).toFixed(1)} s`;
  timer = setTimeout(tick, TICK);
}

/** The newest request is answered. */
export function end() {
  clearTimeout(timer);
  timer = undefined;
  get("busy").hidden = true;
  get("page-answer").classList.remove("busy");
  get("panel").removeAttribute("aria-busy");
}

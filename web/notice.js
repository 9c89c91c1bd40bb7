// Short notices, which screen readers announce.

import { visible } from "./hidden.js";

/** How long a notice is shown, in milliseconds. */
const SHOWN = 6000;
let timer;

export function notify(text) {
  const notice = document.getElementById("notice");
  clearTimeout(timer);
  notice.textContent = visible(text);
  notice.hidden = false;
  timer = setTimeout(() => (notice.hidden = true), SHOWN);
}

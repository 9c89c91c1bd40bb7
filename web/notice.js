// Short notices, which screen readers announce.

/** How long a notice is shown, in milliseconds. */
const SHOWN = 6000;
let timer;

export function notify(text) {
  const notice = document.getElementById("notice");
  clearTimeout(timer);
  notice.textContent = text;
  notice.hidden = false;
  timer = setTimeout(() => (notice.hidden = true), SHOWN);
}

// What a conversion wrote: to the clipboard, or to a file.

import { notify } from "./notice.js";

const get = (id) => document.getElementById(id);
let file = null;

export function connectOutput(written) {
  file = written;
  for (const id of ["copy", "save"]) get(id).disabled = file === null;
}

export function clearOutput() {
  connectOutput(null);
}

get("copy").addEventListener("click", async () => {
  try {
    await navigator.clipboard.writeText(file.text);
    notify("Copied.");
  } catch {
    notify("The browser does not permit copying; save the file instead.");
  }
});

get("save").addEventListener("click", () => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([file.text], { type: "text/plain" }));
  link.download = file.name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
});

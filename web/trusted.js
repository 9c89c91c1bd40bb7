// The only places where text becomes HTML or the address of a script. The policy of the page permits no others.

const policy = globalThis.trustedTypes?.createPolicy("callgate", {
  createHTML: (html) => html,
  createScriptURL: (url) => {
    if (!["worker.js", "sw.js"].includes(url)) throw new Error("not a script of this page");
    return url;
  },
});

/** Shows HTML that the core wrote: it escapes all text that it was given. */
export function setHtml(element, html) {
  element.innerHTML = policy?.createHTML(html) ?? html;
}

/** The same as a fragment that is not shown. */
export function parsed(html) {
  const template = document.createElement("template");
  setHtml(template, html);
  return template.content;
}

/** The address of a script of this page. */
export function scriptUrl(url) {
  return policy?.createScriptURL(url) ?? url;
}

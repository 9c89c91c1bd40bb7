// Nothing leaves the browser.

import assert from "node:assert/strict";
import { test } from "node:test";
import { PROFILE, answered, noticed, opens, origin, ready, selects, sent, shows, withPage } from "./harness.mjs";

const STATIC = /^[a-z]*\.(html|js|css|svg|wasm|json|txt)$|^$/;

test("only files of the page are requested, and nothing while it is used", () =>
  withPage(async (page, { requests }) => {
    await opens(page, PROFILE);
    // It keeps the files of the page, which are requests as well.
    await page.waitForFunction(() => navigator.serviceWorker.controller !== null);
    const loaded = requests.length;
    for (const view of ["denied", "findings", "program", "compare", "convert", "simulate"]) await selects(page, view);
    await answered(page, () => page.fill("#call", "read"));
    await page.click("#share");
    await noticed(page, /address/);
    await shows(page, "<img src='https://example.org/x'> https://example.org");
    // The browser itself asks for the icon again when the address changes.
    const used = requests.slice(loaded).map((request) => request.url());
    assert.deepEqual(used.filter((url) => url !== `${origin}icon.svg`), []);
    for (const request of requests) {
      assert.equal(request.method(), "GET");
      assert.equal(request.postData(), null);
      const url = new URL(request.url());
      if (url.protocol === "blob:") continue;
      assert.ok(request.url().startsWith(origin), request.url());
      assert.match(url.pathname.slice(1), STATIC);
      assert.equal(url.search, "");
    }
  }));

test("the policy of the page forbids everything else", () =>
  withPage(async (page) => {
    const policy = await page.getAttribute("meta[http-equiv=Content-Security-Policy]", "content");
    assert.match(policy, /default-src 'none'/);
    assert.doesNotMatch(policy, /unsafe-inline|'unsafe-eval'|\*|https?:|data:/);
    const inline = await page.$$eval("*", (all) =>
      all.filter((one) => (one.localName === "script" && !one.src) || one.localName === "style" || [...one.attributes].some(({ name }) => name.startsWith("on"))).length,
    );
    assert.equal(inline, 0);
    const outcome = await page.evaluate(async () => {
      const blocked = [];
      addEventListener("securitypolicyviolation", (event) => blocked.push(event.effectiveDirective));
      const attempts = [() => fetch("https://example.invalid/"), () => (document.createElement("div").innerHTML = "<b></b>")];
      let failed = 0;
      for (const attempt of attempts) {
        try {
          await attempt();
        } catch {
          failed += 1;
        }
      }
      // Violations are reported a little later.
      for (let wait = 0; wait < 100 && blocked.length < 2; wait++) await new Promise((resolve) => setTimeout(resolve, 20));
      return [failed, blocked];
    });
    assert.equal(outcome[0], 2);
    assert.deepEqual(outcome[1].sort(), ["connect-src", "require-trusted-types-for"]);
  }, { ignoresErrors: true }));

test("the page works without a network once it is loaded", () =>
  withPage(async (page, { context }) => {
    // Until the service worker answers for this page.
    await page.waitForFunction(() => navigator.serviceWorker.controller !== null);
    await context.setOffline(true);
    await page.reload();
    await page.waitForSelector("html[data-ready]");
    assert.match(await shows(page, "ALLOW { read } DEFAULT KILL"), /^Allows: 1 of/);
  }));

test("what the page has loaded is not sent again for use without a network", async () => {
  sent.length = 0;
  await withPage((page) => page.waitForFunction(() => navigator.serviceWorker.controller !== null));
  for (const part of ["callgate.wasm", "rest.wasm"]) {
    const statuses = sent.filter(({ name }) => name === part).map(({ status }) => status);
    assert.deepEqual(statuses, [200, 304], part);
  }
});

test("two deployments on one origin keep their own files", () =>
  withPage(async (page) => {
    const names = () => page.evaluate(async () => (await caches.keys()).sort());
    await page.waitForFunction(() => navigator.serviceWorker.controller !== null);
    const [first] = await names();
    assert.ok(first.includes(` ${origin} `), first);
    await page.goto(`${origin}second/`);
    await ready(page);
    await page.waitForFunction((own) => navigator.serviceWorker.controller?.scriptURL === `${own}second/sw.js`, origin);
    const both = await names();
    assert.equal(both.length, 2, both.join());
    assert.ok(both.includes(first), both.join());
  }));

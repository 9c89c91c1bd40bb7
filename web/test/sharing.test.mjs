// Addresses that have a filter.

import assert from "node:assert/strict";
import { test } from "node:test";
import { answered, origin, selects, shows, withPage } from "./harness.mjs";

const POLICY = "// ü 🦀\nALLOW { read, socket(family) { family == AF_UNIX } } DEFAULT KILL\n";

test("a bookmark restores text, options and view", async () => {
  const address = await withPage(async (page) => {
    await shows(page, POLICY);
    await selects(page, "simulate");
    await answered(page, () => page.fill("#call", "socket(AF_INET)"));
    await page.evaluate(() => (document.getElementById("options").open = true));
    await answered(page, () => page.fill("#arches", "aarch64"));
    assert.equal(new URL(page.url()).hash, "");
    await page.click("#share");
    await page.waitForFunction(() => location.hash !== "");
    return page.url();
  });
  await withPage(
    async (page) => {
      assert.equal(await page.inputValue("#text"), POLICY);
      assert.equal(await page.inputValue("#arches"), "aarch64");
      assert.equal(await page.getAttribute("#tab-simulate", "aria-selected"), "true");
      await page.waitForSelector("#simulated");
      assert.match(await page.textContent("#status"), /^aarch64 socket\(AF_INET\): KILL/);
      await page.reload();
      await page.waitForSelector("#simulated");
      assert.equal(await page.inputValue("#text"), POLICY);
    },
    { fragment: address.slice(origin.length) },
  );
});

test("an address that was cut or changed has a message", async () => {
  const bomb = "v1=7cExAQAAAMKg9U9tDQ-g";
  for (const fragment of ["#v1=AAAA", "#v1=%%%", "#v1=", `#${bomb}`, `#v1=${"A".repeat(40_000)}`]) {
    await withPage(
      async (page) => {
        await page.waitForSelector("#notice:not([hidden])");
        assert.match(await page.textContent("#notice"), /a part of it is missing/);
        assert.match(await shows(page, POLICY), /^Allows: /);
      },
      { fragment },
    );
  }
});

test("other fragments are not filters", () =>
  withPage(
    async (page) => {
      assert.equal(await page.inputValue("#text"), "");
      assert.equal(await page.isVisible("#notice"), false);
    },
    { fragment: "#page-answer" },
  ));

test("a text that is too long for an address has a message", () =>
  withPage(async (page) => {
    await page.evaluate(() => {
      const bytes = crypto.getRandomValues(new Uint8Array(60_000));
      document.getElementById("text").value = [...bytes].map((byte) => byte.toString(16)).join("");
    });
    await page.click("#share");
    await page.waitForSelector("#notice:not([hidden])");
    assert.match(await page.textContent("#notice"), /the limit is 32,000/);
    assert.equal(new URL(page.url()).hash, "");
  }));

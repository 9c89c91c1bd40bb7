// The package in a page: built by Vite, and from its development server, in Chromium.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { chromium } from "playwright-core";
import { build, createServer, preview } from "vite";

const EXPECTED = [
  /^\d+ instructions, proved: true$/,
  /"name":"write"/,
  /^CallgateError: give the option machine/,
];
const root = new URL("..", import.meta.url).pathname;
const quiet = { root, logLevel: "warn", clearScreen: false };
let browser;

before(async () => {
  const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
  browser = await chromium.launch({ executablePath, args: process.getuid() === 0 ? ["--no-sandbox"] : [] });
});
after(() => browser?.close());

async function check(url) {
  const page = await browser.newPage();
  const errors = [];
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  await page.goto(url);
  const shown = page.locator("#answer");
  await shown.filter({ hasText: "CallgateError" }).waitFor({ timeout: 60_000 }).catch((error) => {
    throw new Error([error.message, ...errors].join("\n"));
  });
  const lines = (await shown.textContent()).split("\n");
  assert.equal(lines.length, EXPECTED.length);
  EXPECTED.forEach((expected, index) => assert.match(lines[index], expected));
  await page.close();
}

test("a build works, without warnings", async () => {
  const warnings = [];
  const onwarn = (warning) => warnings.push(warning.message);
  await build({ ...quiet, build: { rollupOptions: { onwarn } } });
  assert.deepEqual(warnings, []);
  const server = await preview({ ...quiet, preview: { port: 0, host: "127.0.0.1" } });
  try {
    await check(server.resolvedUrls.local[0]);
  } finally {
    await server.close();
  }
});

test("the development server works", async () => {
  const server = await createServer({ ...quiet, server: { port: 0, host: "127.0.0.1" } });
  await server.listen();
  try {
    await check(server.resolvedUrls.local[0]);
  } finally {
    await server.close();
  }
});

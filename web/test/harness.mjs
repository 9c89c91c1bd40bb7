// What the tests share: a server of static files, a browser for each file of tests, and the command.

import { after, before as beforeAll } from "node:test";
import { execFile } from "node:child_process";
import { createServer } from "node:http";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { chromium } from "playwright-core";
import { fileOf, send } from "../serve.mjs";

const ROOT = process.env.CALLGATE_WEB ?? "target/web";
const COMMAND = process.env.CALLGATE ?? "target/debug/callgate";

/** The machine of the command, as the page names it. */
export const MACHINE = { x64: "x86_64", arm64: "aarch64" }[process.arch] ?? "x86_64";

/** The project's own profile, in the format of Docker's. */
export const PROFILE = new URL("../../crates/callgate-formats/profiles/container-default.json", import.meta.url).pathname;

const scratch = mkdtempSync(join(tmpdir(), "callgate-web-"));

/** A file with this text. */
export function scratchFile(name, text) {
  const path = join(scratch, name);
  writeFileSync(path, text);
  return path;
}

/** The output of the command; its exit status does not matter, as lint and diff use it for their results. */
export function callgate(...args) {
  return new Promise((resolve, reject) => {
    const options = { maxBuffer: 1 << 26, timeout: 60_000 };
    execFile(COMMAND, args, options, (error, stdout, stderr) => {
      if (error && (typeof error.code !== "number" || error.code > 1)) reject(new Error(`callgate ${args.join(" ")}: ${stderr || error}`));
      else resolve(stdout);
    });
  });
}

/** By the name of a file: what happens before the server answers with it; an error becomes the status 503. */
export const before = new Map();

/** What the server answered: names of files, with the status. */
export const sent = [];

let browser;
let server;
export let origin;

async function start() {
  server = createServer(async (request, response) => {
    const path = new URL(request.url, "http://localhost").pathname;
    // A second deployment of the page on the same origin.
    const name = path.replace(/^\/(second\/)?/, "") || "index.html";
    try {
      await before.get(name)?.();
    } catch {
      return response.writeHead(503).end();
    }
    const file = await (name === "main.js" ? patient() : fileOf(ROOT, name, request.headers["accept-encoding"]));
    if (file === null) return response.writeHead(404).end();
    send(request, response, file);
    sent.push({ name, status: response.statusCode });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  origin = `http://127.0.0.1:${server.address().port}/`;
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"], timeout: 60_000 });
}

/** The scripts of the page, which stops a request after a time that is short for a busy machine. */
async function patient() {
  const { headers, content } = await fileOf(ROOT, "main.js");
  const [limit, longer] = ["LIMIT=5e3", "LIMIT=50_000"];
  const text = content.toString();
  if (!text.includes(limit)) throw new Error(`main.js has no \`${limit}\``);
  return { headers: { ...headers, "content-encoding": "gzip" }, content: gzipSync(text.replace(limit, longer)) };
}

async function stop() {
  await browser?.close();
  server?.close();
  server?.closeAllConnections();
}

beforeAll(start);
after(stop);

/** What Playwright itself writes to the console where a test blocks service workers, sometimes before the test ends. */
const BLOCKED = "Service Worker registration blocked by Playwright";

/** Runs a test with a new, loaded page. Messages on its console, errors of scripts and violations of its policy fail the test. */
export async function withPage(test, { options = {}, fragment = "", ignoresErrors = false, isReady = true } = {}) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 860 }, ...options });
  // Only a page that hangs takes this long, even on a busy machine.
  context.setDefaultTimeout(60_000);
  const requests = [];
  context.on("request", (request) => requests.push(request));
  const page = await context.newPage();
  const errors = [];
  page.on("console", (message) => {
    const isOurs = message.text() !== BLOCKED;
    if (["error", "warning"].includes(message.type()) && isOurs) errors.push(message.text());
  });
  page.on("pageerror", (error) => errors.push(error.message));
  try {
    await page.goto(`${origin}${fragment}`);
    if (isReady) await ready(page);
    const result = await test(page, { context, requests });
    if (errors.length > 0 && !ignoresErrors) throw new Error(`the page reported: ${errors.join("; ")}`);
    return result;
  } finally {
    await context.close();
  }
}

/** Waits until the page is ready, and selects the machine of the command. */
export async function ready(page) {
  await page.waitForSelector("html[data-ready]");
  await page.evaluate((machine) => {
    document.getElementById("machine").value = machine;
  }, MACHINE);
}

/** Waits for a notice that matches; notices are hidden after some seconds, but keep their text. */
export async function noticed(page, pattern) {
  await page.waitForFunction(([source, flags]) => new RegExp(source, flags).test(document.getElementById("notice").textContent), [pattern.source, pattern.flags]);
}

/** Drops a file with this content, whose reading takes some time or fails. */
export const drops = (page, name, text, { delay = 0, fails = false } = {}) =>
  page.evaluate(
    ({ name, text, delay, fails }) => {
      const file = new File([text], name);
      const read = file.arrayBuffer.bind(file);
      file.arrayBuffer = async () => {
        await new Promise((resolve) => setTimeout(resolve, delay));
        if (fails) throw new DOMException("a directory", "NotFoundError");
        return read();
      };
      const event = new Event("drop", { bubbles: true, cancelable: true });
      event.dataTransfer = { files: [file], types: ["Files"] };
      document.getElementById("text").dispatchEvent(event);
    },
    { name, text, delay, fails },
  );

/** Does something, and waits for the answer to it: the text for screen readers, which each answer sets. */
export async function answered(page, action) {
  await page.evaluate(() => (document.getElementById("status").textContent = ""));
  await action();
  await page.waitForFunction(() => document.getElementById("status").textContent !== "");
  return page.textContent("#status");
}

/** The text of a field. */
export const value = (page, id = "text") => page.evaluate((id) => document.getElementById(id).value, id);

/** Puts a text into a field, and waits for the answer. */
export const fills = (page, id, text) => answered(page, () => pastes(page, id, text));

/** Shows a text, and waits for its answer. */
export const shows = (page, text) => answered(page, () => pastes(page, "text", text));

/** Pastes a text in place of what a field has, as from the clipboard. True if the page read it. */
export const pastes = (page, id, text) =>
  page.evaluate(
    ([id, text]) => {
      const field = document.getElementById(id);
      field.focus();
      field.select();
      const clipboardData = new DataTransfer();
      clipboardData.setData("text/plain", text);
      const event = new ClipboardEvent("paste", { clipboardData, bubbles: true, composed: true, cancelable: true });
      // Only the browser itself pastes what the page does not handle. An editor has the focus inside.
      if (!(field.input ?? field).dispatchEvent(event)) return field.value === text.replace(/\r\n?/g, "\n");
      field.value = text;
      return field.dispatchEvent(new Event("input"));
    },
    [id, text],
  );

/** Opens a file, and waits for its answer. */
export const opens = (page, path) => answered(page, () => page.setInputFiles("#file", path));

/** Selects a tab, and waits for its answer. */
export const selects = (page, view) => answered(page, () => page.click(`#tab-${view}`));

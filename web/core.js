// The core in a worker, so that typing never waits for it.

import { scriptUrl } from "./trusted.js";

/** The time after which a request is stopped, in milliseconds. */
const LIMIT = 5000;

export class Core {
  #module = null;
  #worker = null;
  #running = null;
  #waiting = null;

  /**
   * The answer to a request. Null if a newer request took its place while it waited; `failure` says why there is none.
   */
  ask(request) {
    return new Promise((resolve) => {
      this.#waiting?.resolve(null);
      this.#waiting = { request, resolve };
      if (this.#running === null) this.#next();
    });
  }

  /** Answers a request if there is nothing else to do, so that the browser optimizes the module. */
  async warm(request) {
    if (this.#running === null) await this.ask(request);
  }

  async #next() {
    const job = this.#waiting;
    this.#waiting = null;
    this.#running = job;
    if (job === null) return;
    try {
      // The page loads the module, so that its policy applies; a new worker needs no new compilation.
      this.#module ??= await load();
      this.#worker ??= this.#start();
    } catch (error) {
      return this.#finish({ failure: `The core cannot be loaded: ${error.message}` });
    }
    job.timer = setTimeout(() => this.#stop(`This took longer than ${LIMIT / 1000} s and was stopped. The filter may be too complex for this page; the command callgate may still read it.`), LIMIT);
    const { waits, ...request } = job.request;
    this.#worker.postMessage(JSON.stringify(request));
  }

  #start() {
    const worker = new Worker(scriptUrl("worker.js"), { type: "module" });
    worker.addEventListener("message", ({ data }) => this.#finish(data));
    worker.addEventListener("error", () => this.#stop("The core failed. A filter that needs too much memory can be the reason."));
    worker.postMessage(this.#module);
    return worker;
  }

  /** Ends the worker, whose state is unknown. */
  #stop(failure) {
    this.#worker?.terminate();
    this.#worker = null;
    this.#finish({ failure });
  }

  #finish(answer) {
    const job = this.#running;
    if (job === null) return;
    clearTimeout(job.timer);
    job.resolve(job.request.waits ? { ...answer, waits: job.request.waits } : answer);
    this.#next();
  }

  /** Keeps the files of the page for use without a network. */
  async keepOffline() {
    try {
      await navigator.serviceWorker.register(scriptUrl("sw.js"));
    } catch {
      // Not possible in private windows and on unsafe addresses; the page works without it.
    }
  }
}

async function load() {
  const response = await fetch("callgate.wasm");
  if (!response.ok) throw new Error(`callgate.wasm: ${response.status}`);
  return WebAssembly.compile(await response.arrayBuffer());
}

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
    // The worker may have ended meanwhile, or be loading still, which is not the fault of the request.
    if (!(await this.#worker?.ready) || this.#running !== job) return;
    job.timer = setTimeout(() => this.#stop(`This took longer than ${LIMIT / 1000} s and was stopped. The filter may be too complex for this page; the command callgate may still read it.`), LIMIT);
    const { missing, ...request } = job.request;
    this.#worker.postMessage(JSON.stringify(request));
  }

  #start() {
    const worker = new Worker(scriptUrl("worker.js"), { type: "module" });
    // True if the worker is ready for requests, false if it failed before.
    worker.ready = new Promise((resolve) => {
      let isReady = false;
      worker.addEventListener("message", ({ data }) => {
        if (isReady) return this.#finish(data);
        isReady = true;
        resolve(true);
      });
      worker.addEventListener("error", () => {
        const memory = "The core failed. A filter that needs too much memory can be the reason.";
        this.#stop(isReady ? memory : "The core cannot be loaded: worker.js failed.");
        resolve(false);
      });
    });
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
    const { missing } = job.request;
    job.resolve(missing ? { ...answer, missing } : answer);
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

// The field of a filter: an element with the interface of a textarea, as far as the page uses it, around CodeMirror.
//
// The editor is in a shadow tree. There CodeMirror adopts style sheets instead of adding elements, so that the page's policy
// needs no exception for styles. The colours are the page's variables, which the tree inherits.

import { Annotation, EditorState, Compartment, Transaction } from "@codemirror/state";
import { EditorView, drawSelection, highlightActiveLine, highlightSpecialChars, keymap, lineNumbers, placeholder } from "@codemirror/view";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { autocompletion, completionKeymap } from "@codemirror/autocomplete";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { highlighting, languageNamed, languageOf } from "./languages.js";
import { results, showResults } from "./results.js";
import { complete, hover } from "./syscalls.js";
import { theme } from "./theme.js";

/** The number of inserted characters that are typed, and need no check before they are shown. */
const TYPED = 2;

/** What a place cites: a word, or a string. */
const WORD = /^(?:"(?:[^"\\]|\\.)*"|[\w@~-]+)/;

/** A change that the page itself makes: it has checked the text, and needs no event. */
const placed = Annotation.define();

export class FilterField extends HTMLElement {
  #view = null;
  #language = new Compartment();
  #own = null;
  #isFixed = false;
  #text = null;

  /**
   * `refusal` says why a text is not taken, or returns null; `refused` tells it. `language` is the name of the language, or null if the
   * text decides.
   */
  open({ label, hint, text, language, refusal, refused }) {
    const root = this.attachShadow({ mode: "open" });
    const limits = EditorState.transactionFilter.of((transaction) => {
      if (!transaction.docChanged || transaction.annotation(placed)) return transaction;
      let inserted = 0;
      transaction.changes.iterChanges((_from, _to, _start, _end, piece) => (inserted += piece.length));
      if (inserted <= TYPED) return transaction;
      const why = refusal(transaction.newDoc.toString());
      if (why === null) return transaction;
      refused(why);
      return [];
    });
    const changed = EditorView.updateListener.of((update) => {
      if (update.docChanged) {
        this.#text = null;
        const isOwn = update.transactions.some((one) => one.annotation(placed));
        if (update.transactions.some((one) => isReplaced(one))) this.dataset.name = "";
        this.#recognize();
        if (!isOwn) this.dispatchEvent(new Event("input", { bubbles: true }));
      }
      if (update.selectionSet || update.docChanged) this.dispatchEvent(new Event("caret", { bubbles: true }));
    });
    this.#isFixed = language !== null;
    this.#own = this.#isFixed ? languageNamed(language) : languageOf(text);
    // Escape leads back to the answer, if the text was reached from there.
    const leave = { key: "Escape", run: () => !this.dispatchEvent(new Event("leave", { bubbles: true, cancelable: true })) };
    const state = EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(), highlightSpecialChars(), history(), drawSelection(), bracketMatching(), highlightActiveLine(),
        highlightSelectionMatches(), highlighting, hover, theme, this.#isFixed ? results : lintGutter(), limits, changed, replacing,
        autocompletion({ override: [complete], icons: false }),
        this.#language.of(this.#own ?? []),
        placeholder(hint),
        EditorState.tabSize.of(2),
        EditorView.contentAttributes.of({ "aria-label": label, "aria-multiline": "true", tabindex: "0" }),
        keymap.of([...completionKeymap, ...searchKeymap, ...lintKeymap, leave, ...defaultKeymap, ...historyKeymap]),
      ],
    });
    this.#view = new EditorView({ state, root, parent: root });
  }

  #recognize() {
    if (this.#isFixed) return;
    const now = languageOf(this.#view.state.sliceDoc(0, 4000));
    if (now === this.#own) return;
    this.#own = now;
    queueMicrotask(() => this.#view.dispatch({ effects: this.#language.reconfigure(now ?? []) }));
  }

  /** The element that has the focus inside. */
  get input() {
    return this.#view.contentDOM;
  }

  get value() {
    return (this.#text ??= this.#view.state.doc.toString());
  }

  /** Replaces the text without an event; Undo takes it back. */
  set value(text) {
    if (text === this.value) return;
    this.#view.dispatch({
      changes: { from: 0, to: this.#view.state.doc.length, insert: text },
      selection: { anchor: 0 },
      annotations: [placed.of(true), Transaction.addToHistory.of(true)],
      scrollIntoView: true,
    });
  }

  get selectionStart() {
    return this.#view.state.selection.main.from;
  }

  get selectionEnd() {
    return this.#view.state.selection.main.to;
  }

  setSelectionRange(anchor, head) {
    const last = this.#view.state.doc.length;
    this.#view.dispatch({
      selection: { anchor: Math.min(anchor, last), head: Math.min(head, last) },
      effects: EditorView.scrollIntoView(Math.min(anchor, last), { y: "center" }),
    });
  }

  select() {
    this.#view.dispatch({ selection: { anchor: 0, head: this.#view.state.doc.length } });
  }

  focus() {
    this.#view.focus();
  }

  /** The line of the caret, from 1. */
  get line() {
    const { doc, selection } = this.#view.state;
    return doc.lineAt(selection.main.head).number;
  }

  /** The column of the caret, from 1, in characters. */
  get column() {
    const { doc, selection } = this.#view.state;
    const { from, text } = doc.lineAt(selection.main.head);
    return [...text.slice(0, selection.main.head - from)].length + 1;
  }

  /** Shows the results of tests beside their lines: `{ line, passes, text }`. */
  results(lines) {
    this.#view.dispatch({ effects: showResults(this.#view.state.doc, lines) });
  }

  /** Underlines places: `{ line, column, severity, text }`, both from 1, in characters. */
  mark(places) {
    const { doc } = this.#view.state;
    const diagnostics = places
      .filter(({ line }) => line >= 1 && line <= doc.lines)
      .map(({ line, column, severity, text }) => {
        const { from, to, text: content } = doc.line(line);
        // Columns count characters, and indices count units of UTF-16.
        const start = Math.min(to, from + [...content].slice(0, column - 1).join("").length);
        const word = WORD.exec(content.slice(start - from))?.[0].length ?? 1;
        return { from: start, to: Math.min(to, start + word), severity, message: text };
      });
    this.#view.dispatch(setDiagnostics(this.#view.state, diagnostics));
  }
}

/** Where a browser itself replaces coloured text, it gives the new text a style of its own, which the page's policy forbids. */
const replacing = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { state } = view;
    if (event.inputType !== "insertText" || !event.data || view.composing || state.selection.main.empty) return false;
    view.dispatch(state.replaceSelection(event.data), { userEvent: "input.type", scrollIntoView: true });
    event.preventDefault();
    return true;
  },
});

/** Whether a transaction replaces all of a text, whose name then is not that of the new one. */
function isReplaced(transaction) {
  if (!transaction.docChanged || transaction.annotation(placed)) return false;
  if (transaction.newDoc.length === 0) return true;
  let isWhole = false;
  transaction.changes.iterChanges((from, to) => (isWhole ||= from === 0 && to === transaction.startState.doc.length && to > 0));
  return isWhole;
}

customElements.define("filter-field", FilterField);

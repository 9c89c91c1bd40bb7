// The results of tests beside their lines: a mark in the gutter, a ground, and what the filter does at the end of the line.

import { RangeSet, StateEffect, StateField } from "@codemirror/state";
import { Decoration, EditorView, GutterMarker, WidgetType, gutter } from "@codemirror/view";

const change = StateEffect.define();

class Result extends WidgetType {
  constructor(text) {
    super();
    this.text = text;
  }

  eq(other) {
    return other.text === this.text;
  }

  toDOM() {
    const span = document.createElement("span");
    span.className = "cm-result";
    span.textContent = this.text;
    return span;
  }
}

class Mark extends GutterMarker {
  constructor(passes) {
    super();
    this.passes = passes;
  }

  eq(other) {
    return other.passes === this.passes;
  }

  toDOM() {
    const span = document.createElement("span");
    span.className = this.passes ? "cm-mark-passes" : "cm-mark-fails";
    span.textContent = this.passes ? "✓" : "✗";
    span.title = this.passes ? "passes" : "fails";
    return span;
  }
}

/** The effect that shows results in a document. */
export function showResults(doc, lines) {
  const place = ({ line, passes, text }) => ({ from: doc.line(line).from, to: doc.line(line).to, passes, text });
  return change.of(lines.filter(({ line }) => line >= 1 && line <= doc.lines).map(place));
}

/** The decorations and the marks. They move with the text until the next answer. */
const field = StateField.define({
  create: () => ({ shown: Decoration.none, marks: RangeSet.empty }),
  update(value, transaction) {
    let { shown, marks } = value;
    if (transaction.docChanged) [shown, marks] = [shown.map(transaction.changes), marks.map(transaction.changes)];
    for (const effect of transaction.effects) {
      if (!effect.is(change)) continue;
      shown = Decoration.set(
        effect.value.flatMap(({ from, to, passes, text }) => [
          Decoration.line({ class: passes ? "cm-passes" : "cm-fails" }).range(from),
          Decoration.widget({ widget: new Result(text), side: 1 }).range(to),
        ]),
        true,
      );
      marks = RangeSet.of(effect.value.map(({ from, passes }) => new Mark(passes).range(from)), true);
    }
    return { shown, marks };
  },
  provide: (own) => EditorView.decorations.from(own, ({ shown }) => shown),
});

export const results = [field, gutter({ class: "cm-results", markers: (view) => view.state.field(field).marks, initialSpacer: () => new Mark(true) })];

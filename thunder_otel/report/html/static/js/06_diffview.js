// Two texts side by side or in one column, equal stretches folded.
const CONTEXT = 3;

// left and right: {lines, language}. Returns {element, added, removed}.
function diffView(left, right, { split, anyNumbers, onName, onLine }) {
  const key = anyNumbers ? withoutNumbers : asWritten;
  const diff = diffLines(left.lines, right.lines, key);
  const added = diff.filter(([kind]) => kind === "+").length;
  const removed = diff.filter(([kind]) => kind === "-").length;
  const side = {
    a: { ...left, states: startStates(left.lines, left.language) },
    b: { ...right, states: startStates(right.lines, right.language) },
  };
  const view = { name: null, added, removed, open: new Set() };
  let rows = [];
  const lists = split ? ["a", "b"].map((which) => column(which)) : [column("both")];

  function column(which) {
    const list = new Lines({
      count: 0,
      label: { a: "before", b: "after", both: "difference" }[which],
      props: { class: `lines code diff clickable ${which}` },
      render: (i) => (rows[i].fold ? foldRow(rows[i], i) : which === "both" ? unifiedRow(rows[i]) : splitRow(rows[i], which)),
    });
    list.element.addEventListener("click", (event) => {
      const fold = event.target.closest("[data-fold]");
      if (fold) {
        view.open.add(Number(fold.dataset.fold));
        layout();
        return;
      }
      const row = event.target.closest("[data-line]");
      if (!row || String(getSelection()) !== "") return;
      const name = event.target.closest("[data-name]")?.dataset.name;
      const at = [Number(row.dataset.line), row.dataset.side];
      if (name) onName?.(name, ...at);
      else onLine?.(...at);
    });
    return list;
  }

  function layout() {
    const folded = foldEqual(diff, view.open);
    rows = split ? paired(folded) : withPartners(folded);
    const width = Math.max(widest(left.lines), widest(right.lines));
    for (const list of lists) list.resize(rows.length, width);
  }

  function source(which, line, marks) {
    const { lines, language, states } = side[which];
    return h("code", {}, withHits(coloured(lines[line], language, states[line], marks), view.name));
  }

  const foldRow = ({ fold, count }) =>
    h("div", { class: "row fold", role: "button", tabindex: "0", "data-fold": fold }, `⋯ ${plural(count, "equal line")}`);

  function unifiedRow({ kind, a, b, partner }) {
    const which = kind === "-" ? "a" : "b";
    const line = which === "a" ? a : b;
    return h(
      "div",
      { class: `row ${rowClass(kind)}`, "data-line": line, "data-side": which },
      h("span", { class: "ln" }, a < 0 ? "" : String(a + 1)),
      h("span", { class: "ln" }, b < 0 ? "" : String(b + 1)),
      h("span", { class: "sign" }, kind === "=" ? "" : kind),
      source(which, line, partner && marksOf(partner, which)),
    );
  }

  function splitRow({ a, b }, which) {
    const line = which === "a" ? a : b;
    if (line < 0) return h("div", { class: "row void" });
    const changed = a < 0 || b < 0 || !same(a, b);
    const kind = changed ? rowClass(which === "a" ? "-" : "+") : "";
    return h(
      "div",
      { class: `row ${kind}`, "data-line": line, "data-side": which },
      h("span", { class: "ln" }, String(line + 1)),
      source(which, line, changed && a >= 0 && b >= 0 ? marksOf([a, b], which) : null),
    );
  }

  const same = (a, b) => key(left.lines[a]) === key(right.lines[b]);
  const marksOf = ([a, b], which) => changedPart(left.lines[a], right.lines[b])?.[which === "a" ? 0 : 1] ?? null;

  layout();
  if (split) follow(lists[0].element, lists[1].element);
  view.element = h("div", { class: split ? "side-by-side" : "unified" }, lists.map((list) => list.element));
  view.mark = (name) => {
    view.name = name;
    for (const list of lists) list.refresh();
  };
  view.goToChange = (step) => {
    const list = lists[0];
    const top = Math.round(list.element.scrollTop / ROW);
    const changed = rows.map((row, i) => (isChange(row) && !isChange(rows[i - 1] ?? {}) ? i : -1)).filter((i) => i >= 0);
    const next = step > 0 ? changed.find((i) => i > top + CONTEXT) : changed.findLast((i) => i < top + CONTEXT);
    if (next !== undefined) for (const l of lists) l.element.scrollTop = Math.max(0, (next - CONTEXT) * ROW);
  };
  const isChange = (row) => !row.fold && row.kind !== undefined && row.kind !== "=";
  return view;
}

const rowClass = (kind) => ({ "+": "added", "-": "removed" })[kind] ?? "";

// Rows with long equal stretches replaced by one row each, unless opened.
function foldEqual(diff, open) {
  const rows = [];
  for (let i = 0; i < diff.length; ) {
    let end = i;
    while (end < diff.length && diff[end][0] === "=") end++;
    const head = i === 0 ? 0 : CONTEXT;
    const tail = end === diff.length ? 0 : CONTEXT;
    const hidden = end - i - head - tail;
    const row = ([kind, a, b]) => ({ kind, a, b });
    if (hidden > 4 && !open.has(i + 1)) {
      rows.push(...diff.slice(i, i + head).map(row), { fold: i + 1, count: hidden }, ...diff.slice(end - tail, end).map(row));
    } else for (let at = i; at < end; at++) rows.push(row(diff[at]));
    while (end < diff.length && diff[end][0] !== "=") rows.push(row(diff[end++]));
    i = end;
  }
  return rows;
}

// Calls visit(removed rows, added rows) for each changed stretch and pass(row) for the rest.
function stretches(rows, pass, visit) {
  for (let i = 0; i < rows.length; ) {
    if (rows[i].fold || rows[i].kind === "=") {
      pass(rows[i++]);
      continue;
    }
    const [gone, come] = [[], []];
    while (i < rows.length && !rows[i].fold && rows[i].kind !== "=") (rows[i].kind === "-" ? gone : come).push(rows[i++]);
    visit(gone, come);
  }
}

function paired(rows) {
  const out = [];
  stretches(rows, (row) => out.push(row), (gone, come) => {
    for (let i = 0; i < Math.max(gone.length, come.length); i++)
      out.push({ kind: "~", a: gone[i]?.a ?? -1, b: come[i]?.b ?? -1 });
  });
  return out;
}

function withPartners(rows) {
  const out = [];
  stretches(rows, (row) => out.push(row), (gone, come) => {
    const pair = (i) => (gone[i] && come[i] ? [gone[i].a, come[i].b] : undefined);
    gone.forEach((row, i) => out.push({ ...row, partner: pair(i) }));
    come.forEach((row, i) => out.push({ ...row, partner: pair(i) }));
  });
  return out;
}

function follow(left, right) {
  for (const [from, to] of [[left, right], [right, left]])
    from.addEventListener("scroll", () => {
      if (to.scrollTop !== from.scrollTop) to.scrollTop = from.scrollTop;
      if (to.scrollLeft !== from.scrollLeft) to.scrollLeft = from.scrollLeft;
    }, { passive: true });
}

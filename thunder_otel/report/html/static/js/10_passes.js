// The pass viewer: the list of passes on the left, the text or what changed in it on the right.
tabs.push({
  id: "passes",
  title: "Passes",
  key: "p",
  count: () => allCompiles.reduce((sum, compile) => sum + viewsOf(compile).filter((view) => view.changed).length, 0),
  render: renderPasses,
});

const MODES = [["unified", "Unified"], ["split", "Side by side"], ["text", "Text"]];
const PASS_ROW = 25;
const MAX_COUNTED = 6e6; // bytes of two texts
const REST = 300; // ms
const passes = { list: null, rows: [], open: new Set(), kind: "" };

async function renderPasses(container, place, isCurrent) {
  const compile = compileAt(place);
  if (!compile) return show(container, empty("No compile was recorded."));
  const views = viewsOf(compile);
  const view = views[place.v] ?? firstView(views);
  const kinds = [...new Set(views.map((one) => one.kind))];
  const kind = kinds.includes(place.kind) ? place.kind : "";
  const list = passList(compile, views, view, kind);
  const pane = h("div", { class: "pane" }, h("p", { class: "hint" }, "…"));
  const kept = container.querySelector(".pass-list .lines")?.scrollTop;
  const sameList = container.dataset.list === `${compileNumber(compile)} ${kind}`;
  const shown = await passPane(compile, views, view, place);
  if (!isCurrent()) return;
  show(container,
    h("div", { class: "toolbar" }, h("h2", {}, "Passes"), compileChooser(place),
      h("span", { class: "chips" }, chip("all", kind === "", () => change({ kind: undefined })),
        kinds.map((one) => chip([dot(one), one], kind === one, () => change({ kind: one }))))),
    compile.error && errorBox(compile.error),
    h("div", { class: "split" }, h("div", { class: "pass-list" }, list.element), pane));
  container.dataset.list = `${compileNumber(compile)} ${kind}`;
  show(pane, shown.element);
  if (sameList && kept) list.element.scrollTop = kept;
  list.scrollTo(Math.max(0, passes.rows.findIndex((row) => row.view === view)));
  list.refresh();
  shown.ready?.();
  countLines(views, list, isCurrent);
}

// Counts the lines that each pass changed, between two frames: what is recorded counts moved lines as unchanged. Only
// once the reader rests: a jump must not wait for a diff that nobody looks at.
async function countLines(views, list, isCurrent) {
  await pause(REST);
  for (const view of views) {
    if (!view.changed || !view.text || !view.base || view.counted) continue;
    if (report.texts[view.text].size + report.texts[view.base.text].size > MAX_COUNTED) continue;
    await pause(16);
    if (!isCurrent()) return;
    const [before, after] = [await linesOf(view.base.text), await linesOf(view.text)];
    if (!isCurrent()) return;
    const diff = diffLines(before, after);
    view.counted = true;
    view.trace.added = diff.filter(([kind]) => kind === "+").length;
    view.trace.removed = diff.filter(([kind]) => kind === "-").length;
    list.refresh();
  }
}

const firstView = (views) =>
  views.find((one) => one.text && one.kind === "computation") ?? views.find((one) => one.text) ?? views[0];

// Passes that changed nothing fold into one row between those that did.
function passRows(views, kind, compile, chosen) {
  const rows = [];
  let quiet = [];
  const flush = () => {
    if (!quiet.length) return;
    const key = `${compileNumber(compile)} ${quiet[0].at}`;
    const open = passes.open.has(key) || quiet.includes(chosen);
    rows.push({ fold: key, quiet, open });
    if (open) rows.push(...quiet.map((view) => ({ view })));
    quiet = [];
  };
  for (const view of views) {
    if (kind && view.kind !== kind) continue;
    if (view.changed && view.text) {
      flush();
      rows.push({ view });
    } else quiet.push(view);
  }
  flush();
  return rows;
}

function passList(compile, views, chosen, kind) {
  const slowest = Math.max(...views.map((view) => view.stage.took ?? 0), 1);
  const layout = () => (passes.rows = passRows(views, kind, compile, chosen));
  const list = new Lines({
    count: layout().length,
    height: PASS_ROW,
    label: "passes",
    props: { class: "lines pass-lines", role: "listbox" },
    render: (i) => (passes.rows[i].fold ? foldedRow(passes.rows[i]) : passRow(passes.rows[i].view)),
  });
  function foldedRow({ fold, quiet, open }) {
    return h("button", {
      type: "button",
      class: "row quiet-fold",
      "aria-expanded": String(open),
      onclick: () => {
        if (open) passes.open.delete(fold);
        else passes.open.add(fold);
        list.resize(layout().length);
      },
    }, `${open ? "▾" : "▸"} ${plural(quiet.length, "pass").replace("passs", "passes")} without change`);
  }
  function passRow(view) {
    const took = view.stage.took ?? 0;
    return h("a", {
      class: `row pass${view === chosen ? " current" : ""}${view.changed ? "" : " quiet"}${view.stage.error ? " failed" : ""}`,
      href: address({ ...placeNow(), v: view.at, b: undefined, line: undefined }),
      role: "option",
      "aria-selected": String(view === chosen),
      title: `${view.stage.name} · ${view.kind} · ${seconds(view.stage.took)}${view.trace?.error ? ` · ${view.trace.error}` : ""}`,
    },
      h("span", { class: "index" }, String(view.stage.index ?? "")), dot(view.kind),
      h("span", { class: "name" }, viewName(view)),
      view.changed ? delta(view.trace.added, view.trace.removed) : null,
      h("span", { class: "took" }, h("i", { style: { width: `${(took / slowest) * 100}%` } }), seconds(view.stage.took)));
  }
  return list;
}

async function passPane(compile, views, view, place) {
  const withText = views.filter((one) => one.text);
  const base = withText.includes(views[place.b]) ? views[place.b] : view.base;
  const narrow = innerWidth < 900;
  const wanted = place.m ?? (view.changed === false && place.b === undefined ? "text" : "unified");
  const mode = !base ? "text" : wanted === "split" && narrow ? "unified" : wanted;
  const head = h("div", { class: "pane-head" },
    h("h3", {}, dot(view.kind), viewName(view), h("small", {}, ` ${view.kind}${view.stage.index === undefined ? "" : ` · stage ${view.stage.index}`} · ${seconds(view.stage.took)}`)));
  if (view.stage.error) head.append(errorBox(view.stage.error));
  if (view.trace?.error) head.append(h("div", { class: "error" }, `The trace could not be printed: ${view.trace.error}`));
  if (!view.text)
    return { element: h("div", { class: "filled" }, head, empty(view.changed === false ? "Nothing changed in this pass." : "No text was kept of this pass (passes inside a region keep only the code that runs).")) };
  const controls = h("div", { class: "pane-controls" },
    h("span", { class: "chips" }, MODES.filter(([id]) => id !== "split" || !narrow).map(([id, label]) =>
      chip(label, mode === id, () => change({ m: id, v: view.at }), { disabled: id !== "text" && !base }))),
    mode !== "text" && h("label", {}, "against ", h("select", {
      id: "base",
      onchange: (event) => change({ b: event.target.value, v: view.at }),
    }, withText.filter((one) => one !== view).map((one) =>
      h("option", { value: one.at, selected: one === base }, `${one.stage.index ?? ""} ${viewName(one)} · ${one.kind}`)))),
    mode !== "text" && h("label", { title: "t12 and t34 count as equal" }, h("input", {
      type: "checkbox",
      id: "any-numbers",
      checked: place.n === "1",
      onchange: (event) => change({ n: event.target.checked ? "1" : undefined, v: view.at }),
    }), " ignore variable numbers"));
  head.append(controls);
  if (view.changed === false) controls.append(h("span", { class: "hint" }, "nothing changed: the text is that of the stage before"));
  const lines = await linesOf(view.text);
  const callbacks = (name, line, textId, viewer) => nameCard(name, textId, viewer, line);
  if (mode === "text") {
    const viewer = codeView(lines, "py", {
      label: "trace",
      onName: (name, line) => callbacks(name, line, view.text, viewer),
      onLine: (line) => {
        viewer.goTo(line);
        lineCard(compile, view, line);
      },
    });
    return { element: h("div", { class: "filled" }, head, viewer.element), ready: () => place.line && viewer.goTo(Number(place.line) - 1) };
  }
  const before = await linesOf(base.text);
  const diff = diffView({ lines: before, language: "py" }, { lines, language: "py" }, {
    split: mode === "split",
    anyNumbers: place.n === "1",
    onName: (name, line, side) => callbacks(name, line, side === "a" ? base.text : view.text, diff),
    onLine: (line, side) => lineCard(compile, side === "a" ? base : view, line),
  });
  controls.append(h("span", { class: "diff-total", id: "diff-total" }, delta(diff.added, diff.removed)),
    chip("↑", false, () => diff.goToChange(-1), { title: "previous change (Shift N)" }),
    chip("↓", false, () => diff.goToChange(1), { title: "next change (n)" }));
  passes.diff = diff;
  return { element: h("div", { class: "filled" }, head, diff.element) };
}

// Moves to the pass before or after, folded ones left out.
function stepPass(step) {
  const rows = passes.rows.filter((row) => row.view);
  const compile = compileAt(placeNow());
  const views = compile ? viewsOf(compile) : [];
  const chosen = views[placeNow().v] ?? firstView(views);
  const next = rows[rows.findIndex((row) => row.view === chosen) + step];
  if (next) change({ v: next.view.at, b: undefined, line: undefined });
}

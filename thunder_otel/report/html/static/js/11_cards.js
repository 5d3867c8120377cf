// What is known of a name or of a line: where it is made and used, where it comes from and what became of it.
const MAX_LISTED = 60;

async function nameCard(name, text, viewer, line) {
  const trace = await traceOf(text);
  const { made, uses, shape } = usesOf(trace, name);
  viewer.mark(name);
  const row = (at) =>
    h("li", {}, h("button", { type: "button", class: "code-link", onclick: () => showLine(text, at, name) },
      h("span", { class: "ln" }, String(at + 1)), h("code", {}, coloured(trace.lines[at].trim().slice(0, 300), "py"))));
  openCard(h("code", {}, name),
    shape && h("p", { class: "shape" }, shape),
    h("h3", {}, "Made by"),
    made < 0 ? empty("no line of this text") : h("ul", { class: "found", id: "made-by" }, row(made)),
    h("h3", {}, `Used in ${plural(uses.length, "line")}`),
    h("ul", { class: "found", id: "used-by" }, uses.slice(0, MAX_LISTED).map(row)),
    uses.length > MAX_LISTED && h("p", { class: "hint" }, `and ${uses.length - MAX_LISTED} more, marked in the text`));
}

// Shows a line of a text: in the viewer that is open if it holds that text, else in the pass view of its own.
function showLine(text, line) {
  const compile = compileAt(placeNow());
  const view = compile && viewsOf(compile).find((one) => one.text === text);
  if (view) go({ view: "passes", c: compileNumber(compile), v: view.at, m: "text", line: line + 1 });
}

async function lineCard(compile, view, line) {
  const trace = await traceOf(view.text);
  const operation = operationAt(trace, line);
  const source = operation?.source ?? trace.sources[trace.source[line]] ?? null;
  const content = [];
  if (source)
    content.push(h("h3", {}, "From"), h("p", { class: "source" }, h("span", { class: "path" }, `${source.file}:${source.at}`)),
      h("pre", { class: "code" }, coloured(source.text, "py")));
  if (operation) {
    content.push(h("h3", {}, "Operation"), h("pre", { class: "code" }, coloured(operation.text.slice(0, 600), "py")));
    if (operation.parts.length)
      content.push(h("h3", {}, `Made of ${plural(operation.parts.length, "operation")}`),
        h("ul", { class: "found", id: "line-parts" }, operation.parts.slice(0, MAX_LISTED).map((part) =>
          h("li", { style: { "padding-left": `${Math.max(0, part.depth - operation.depth - 1)}rem` } }, h("code", {}, coloured(part.text.slice(0, 200), "py"))))));
  }
  if (!source && !operation) content.push(h("pre", { class: "code" }, coloured(trace.lines[line].slice(0, 600), "py")));
  const became = h("div", { id: "became" }, h("p", { class: "hint" }, "looking…"));
  openCard(`Line ${line + 1}`, content, h("h3", {}, "Became"), became);
  show(became, await whatBecame(compile, operation, source && { ...source, ...turnAt(trace, line) }, view));
}

const lastWord = (name) => name.split(".").pop();

// The way of an operation through the later stages: by the names it made, else by its source line.
async function whatBecame(compile, operation, source, from) {
  const names = new Set(operation?.outputs.filter((name) => name !== "_"));
  const isSame = (one) => one.outputs.some((name) => names.has(name));
  const rows = [];
  const seen = new Set([from.text]);
  for (const view of viewsOf(compile)) {
    if (!view.text || seen.has(view.text) || view.kind === "region" || view.kind === "prologue") continue;
    seen.add(view.text);
    const trace = await traceOf(view.text);
    let found = trace.operations.filter(isSame);
    let unsure = false;
    if (!found.length && source) {
      // A pass gave new names: the source line tells which operation it is, and the new names lead on.
      const { sure, operations } = operationsOfTurn(trace, source, source);
      const alike = operations.filter((one) => lastWord(one.op) === lastWord(operation?.op ?? ""));
      found = alike.length ? alike : operations;
      unsure = !sure;
      if (sure) found[0]?.outputs.forEach((name) => name !== "_" && names.add(name));
    }
    found = found.sort((a, b) => a.depth - b.depth).slice(0, 2);
    if (found.length)
      rows.push(h("li", {},
        h("span", { class: "where" }, dot(view.kind), `${view.stage.index} ${viewName(view)}`, unsure ? h("small", {}, " · same source line") : null),
        found.map((one) => h("button", { type: "button", class: "code-link", onclick: () => showLine(view.text, one.line) },
          h("span", { class: "ln" }, String(one.line + 1)), h("code", {}, coloured(one.text.slice(0, 160), "py"))))));
  }
  const regions = await regionsOf(compile, isSame, source, operation);
  return [
    regions.length ? h("div", { id: "became-regions" }, regions) : null,
    rows.length ? h("ul", { class: "found", id: "became-ops" }, rows) : null,
    !rows.length && !regions.length ? empty("no operation of a later stage") : null,
  ];
}

// The regions that hold the operation by its names; when none does, those that hold its source line.
async function regionsOf(compile, isSame, source, operation) {
  const stages = stagesOf(compile, "region").filter((stage) => stage.region?.final && stage.region.text);
  const all = [];
  for (const stage of stages) {
    const trace = await traceOf(stage.region.text);
    const operations = trace.operations.filter((one) => one.depth > 0 && isSame(one));
    const whole = operation?.op === stage.region.name;
    const bySource = source && (stage.region.sources ?? []).includes(`${source.file}:${source.at}`);
    all.push({ stage, operations, whole, bySource });
  }
  const named = all.filter(({ operations, whole }) => operations.length || whole);
  const found = named.length ? named : all.filter(({ bySource }) => bySource);
  return Promise.all(found.map(async ({ stage, operations, whole }) =>
    h("section", { class: "became-region" },
      h("h4", {}, "region ", link(placeOf(stage), stage.region.name), h("small", {}, ` ${stage.kind} · ${stage.region.executor}`)),
      await kernelsOf(stage, source, operations.map((one) => lastWord(one.op)), whole))));
}

// The kernels of a region that compute a source line: by torch's comments where it writes them, else by the operations
// that a fused kernel's name lists.
async function kernelsOf(region, source, operations, everything) {
  const stages = stagesOf(region.compile, "kernel").filter((one) => one.kernel.region === region.region.name && one.kind === region.kind);
  const found = [];
  for (const stage of stages) {
    const names = new Set();
    const calls = stage.kernel.output ? kernelCalls(await textOf(stage.kernel.output)) : [];
    const code = region.region.code ? await traceOf(region.region.code) : null;
    if (code && source) for (const one of operationsOfTurn(code, source, source).operations) one.outputs.forEach((name) => names.add(name));
    const sure = new Set(calls.filter((call) => call.names.some((name) => names.has(name))).map((call) => call.kernel));
    const kernels = stage.kernel.kernels;
    const likely = kernels.filter(({ name }) => !sure.has(name) && operations.some((op) => op.length > 1 && `_${name}_`.includes(`_${op}_`)));
    const shown = everything ? kernels : [...kernels.filter(({ name }) => sure.has(name)), ...likely];
    const library = [...sure].filter((name) => !kernels.some((kernel) => kernel.name === name));
    for (const kernel of shown)
      found.push(h("li", {}, "kernel ", link({ view: "kernels", c: compileNumber(region.compile), k: stage.at, i: kernels.indexOf(kernel) }, kernel.name || `kernel ${kernels.indexOf(kernel)}`),
        !everything && !sure.has(kernel.name) ? h("small", {}, " by its name") : null));
    for (const name of library) found.push(h("li", {}, "library call ", h("code", {}, name)));
    if (!shown.length && !library.length)
      found.push(h("li", {}, link({ view: "kernels", c: compileNumber(region.compile), k: stage.at }, `${plural(kernels.length, "kernel")} of the region`)));
  }
  return found.length ? h("ul", { class: "found", id: "became-kernels" }, found) : null;
}

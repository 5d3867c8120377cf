// Fusion regions: what was fused into what, the operations inside, and what stayed out and why.
tabs.push({
  id: "regions",
  title: "Regions",
  key: "r",
  count: () => allStages.filter((stage) => stage.region?.final).length,
  render: renderRegions,
});

async function renderRegions(container, place, isCurrent) {
  const compile = compileAt(place);
  if (!compile) return show(container, empty("No compile was recorded."));
  const all = stagesOf(compile, "region").filter((stage) => stage.region);
  const final = all.filter((stage) => stage.region.final);
  const shown = place.all === "1" || !final.length ? all : final;
  const chosen = compile.run.stages[place.s];
  const toolbar = h("div", { class: "toolbar" }, h("h2", {}, "Regions"), compileChooser(place),
    all.length > final.length && final.length > 0 &&
      chip(`with ${all.length - final.length} that were fused again later`, place.all === "1", () => change({ all: place.all === "1" ? undefined : "1" })));
  if (!all.length && !stagesOf(compile, "fusion").length)
    return show(container, toolbar, empty("No fusion was recorded. Regions are recorded from the level nvfuser_region on."));
  const detail = chosen?.region ? await regionDetail(compile, chosen, place) : await overview(compile, final, place);
  if (!isCurrent()) return;
  show(container, toolbar,
    table(["region", "trace", "executor", "#operations", "#inputs", "#outputs", "#time"], shown.map((stage) =>
      h("tr", { class: stage === chosen ? "current" : stage.region.final ? "" : "quiet" },
        h("td", {}, link({ view: "regions", c: place.c, s: stage.at, all: place.all }, stage.region.name), stage.region.parent ? h("small", {}, ` in ${stage.region.parent}`) : null),
        h("td", {}, dot(stage.kind), stage.kind ?? ""),
        h("td", {}, [stage.region.executor, stage.region.version].filter(Boolean).join(" ")),
        h("td", { class: "num" }, stage.region.op_count !== undefined ? number(stage.region.op_count) : stage.region.final ? "" : "fused again later"),
        h("td", { class: "num" }, stage.region.inputs ? number(stage.region.inputs.length) : ""),
        h("td", { class: "num" }, stage.region.outputs ? number(stage.region.outputs.length) : ""),
        h("td", { class: "num" }, seconds(stage.took)))), { id: "regions" }),
    detail, unfused(compile), ledgers(compile));
}

// The final traces as small graphs: regions and the operations left between them.
async function overview(compile, final, place) {
  const sections = [];
  for (const kind of ["computation", "backward"]) {
    const view = viewsOf(compile).filter((one) => one.kind === kind && one.text && one.stage.role === "codegen").pop();
    if (!view) continue;
    const trace = await traceOf(view.text);
    const skip = /^(def|return|del|clear_mutable_collection|.*unpack.*|python_return)$/;
    const operations = trace.operations.filter((one) => one.depth === 1 && !skip.test(one.op));
    const names = final.map((stage) => stage.region.name);
    if (!operations.length) continue;
    const nodes = operationNodes(operations.slice(0, MAX_NODES), trace, {
      regions: names,
      onclick: (node) => {
        const stage = final.find((one) => one.region.name === node.operation?.op && one.kind === kind);
        if (stage) change({ view: "regions", s: stage.at, c: place.c });
        else operationCard(node, trace);
      },
    });
    const shown = fewInputs(nodes, kind);
    shown.push(...returned(trace, shown));
    sections.push(h("section", { class: "overview" },
      h("h3", {}, dot(kind), `${kind}: what runs`, h("small", {}, ` ${plural(operations.length, "step")}${operations.length > MAX_NODES ? `, the first ${MAX_NODES} drawn` : ""}`)),
      drawGraph(shown, `${kind} trace`)));
  }
  return h("div", { id: "overview", class: "overviews" }, sections);
}

// A model's parameters would hide the graph: past a few, the inputs of a step are one node.
function fewInputs(nodes, kind) {
  const inputs = new Set(nodes.filter((node) => node.kind === "input").map((node) => node.id));
  if (inputs.size <= 8) return nodes;
  const found = [];
  for (const node of nodes) {
    if (inputs.has(node.id)) continue;
    const mine = node.reads.filter((id) => inputs.has(id));
    if (mine.length) {
      const id = `in of ${node.id}`;
      found.push({ id, title: plural(new Set(mine).size, "input"), detail: kind === "backward" ? "gradients, saved" : "arguments, parameters", kind: "input", reads: [] });
      node.reads = [...node.reads.filter((one) => !inputs.has(one)), id];
    }
    found.push(node);
  }
  return found;
}

// What the trace returns, as one node.
function returned(trace, shown) {
  const line = trace.lines.findLast((one) => /^\s*return\b/.test(one)) ?? "";
  const names = new Set(line.match(NAME));
  const reads = shown.filter((node) => node.operation?.outputs.some((name) => names.has(name))).map((node) => node.id);
  return reads.length ? [{ id: "returned", title: "returned", detail: "", kind: "input", reads }] : [];
}

async function regionDetail(compile, stage, place) {
  const { region } = stage;
  const parts = [
    h("h3", { id: "region" }, link({ view: "regions", c: place.c }, "all"), " / ", dot(stage.kind), region.name),
    facts([
      ["executor", [region.executor, region.version].filter(Boolean).join(" ")],
      ["trace", stage.kind],
      region.parent && ["inside", region.parent],
      ["time to fuse", seconds(stage.took)],
      !region.final && ["", "This region does not run: it was fused again later."],
    ], "inline"),
  ];
  const kernels = stagesOf(compile, "kernel").filter((one) => one.kernel.region === region.name && one.kind === stage.kind);
  for (const one of kernels)
    parts.push(h("p", {}, "compiled to ", link(placeOf(one), plural(one.kernel.kernels.length, "kernel")), ` in ${seconds(one.took)}`));
  const tensors = (title, values) => values &&
    h("details", { class: "tensors" }, h("summary", {}, plural(values.length, title)),
      h("ul", {}, values.map((value) => h("li", {}, h("code", {}, value)))));
  parts.push(h("div", { class: "row-of" }, tensors("input", region.inputs), tensors("output", region.outputs), tensors("source line", region.sources)));
  if (region.text) {
    const trace = await traceOf(region.text);
    for (const value of [...(region.inputs ?? []), ...(region.outputs ?? [])]) {
      const at = value.indexOf(": ");
      if (at > 0) trace.shapes.set(value.slice(0, at), value.slice(at + 2));
    }
    const inner = trace.operations.filter((one) => one.depth > 0);
    const top = Math.min(...inner.map((one) => one.depth));
    const operations = inner.filter((one) => one.depth === top);
    const page = Number(place.page ?? 0);
    const first = page * MAX_NODES;
    const pages = Math.ceil(operations.length / MAX_NODES);
    if (pages > 1)
      parts.push(h("div", { class: "chips" }, Array.from({ length: pages }, (_, i) =>
        chip(`${i * MAX_NODES + 1}–${Math.min((i + 1) * MAX_NODES, operations.length)}`, i === page, () => change({ page: i || undefined })))));
    if (operations.length)
      parts.push(drawGraph(operationNodes(operations.slice(first, first + MAX_NODES), trace, { onclick: (node) => operationCard(node, trace) }), `operations of ${region.name}`));
    const viewer = codeView(trace.lines, "py", {
      label: "region",
      onName: (name, line) => nameCard(name, region.text, viewer, line),
    });
    parts.push(h("h3", {}, "Text"), h("div", { class: "short-code" }, viewer.element));
  }
  return h("div", { class: "region-detail" }, parts);
}

function operationCard(node, trace) {
  const one = node.operation;
  if (!one) return openCard(h("code", {}, node.title), facts([["input", node.detail]]));
  const found = operationAt(trace, one.line);
  openCard(h("code", {}, one.op),
    h("pre", { class: "code" }, coloured(one.text.slice(0, 800), "py")),
    facts(one.outputs.filter((name) => name !== "_").slice(0, 20).map((name) => [name, trace.shapes.get(name) ?? ""])),
    found?.source && h("p", { class: "path" }, `${found.source.file}:${found.source.at}`),
    found?.parts.length ? h("ul", { class: "found" }, found.parts.map((part) => h("li", {}, h("code", {}, coloured(part.text.slice(0, 200), "py"))))) : null);
}

// What the fusion passes left alone, by reason.
function unfused(compile) {
  const passes = stagesOf(compile, "fusion");
  const sections = passes.map((stage) => {
    const reasons = new Map();
    for (const [op, reason] of stage.fusion.unfused) reasons.set(reason, [...(reasons.get(reason) ?? []), op]);
    return h("section", {},
      h("h3", {}, `${stage.label}: ${plural(stage.fusion.regions ?? 0, "region")}, ${plural(stage.fusion.unfused.length, "operation")} left out`),
      [...reasons].map(([reason, ops]) =>
        h("details", { class: "reason", open: reasons.size < 4 }, h("summary", {}, reason || "no reason recorded", h("small", {}, ` ${ops.length}`)),
          h("ul", { class: "ops" }, ops.map((op) => h("li", {}, h("code", {}, op)))))));
  });
  return h("div", { id: "unfused" }, sections);
}

// Generated kernels with their source and launch facts, CUDA-graph captures as bars, recompiles as a table.
tabs.push({
  id: "kernels",
  title: "Kernels",
  key: "k",
  count: () => allStages.reduce((sum, stage) => sum + (stage.kernel?.kernels.length ?? 0), 0),
  render: renderKernels,
});

// A fact as the reader wants it: seconds and bytes in units that fit.
function factOf([key, value]) {
  if (typeof value === "number" && key.endsWith(" (s)")) return [key.slice(0, -4), seconds(value * 1e6)];
  if (typeof value === "number" && /\bbytes\b/.test(key)) return [key, bytes(value)];
  return [key, words(value)];
}

// A region compiled again for other inputs is told apart by its variant.
const variantOf = (stage) => stage.kernel.facts.find(([key]) => key === "variant")?.[1];

async function renderKernels(container, place, isCurrent) {
  const compile = compileAt(place);
  const stages = compile ? stagesOf(compile, "kernel") : [];
  const toolbar = h("div", { class: "toolbar" }, h("h2", {}, "Kernels"), compileChooser(place));
  if (!stages.length)
    return show(container, toolbar, empty("No kernel was compiled here. Kernels are recorded from the level nvfuser_code on, when a region first runs."));
  const stage = compile.run.stages[place.k]?.kernel ? compile.run.stages[place.k] : stages[0];
  const items = [
    ...stage.kernel.kernels.map((kernel) => ({ title: kernel.name || "kernel", text: kernel.text })),
    ...stage.kernel.others.map(({ title, text }) => ({ title, text })),
  ];
  const chosen = items[place.i] ?? items[0];
  const viewer = chosen ? codeView(await linesOf(chosen.text), report.texts[chosen.text].language, {
    label: "kernel source",
    onName: (name) => viewer.mark(name),
  }) : null;
  if (!isCurrent()) return;
  const wanted = (part) => address({ ...place, i: undefined, ...part });
  show(container, toolbar,
    h("div", { class: "split" },
      h("div", { class: "pass-list side-list" }, stages.map((one) =>
        h("section", {},
          h("h3", {}, h("a", { href: wanted({ k: one.at }) }, dot(one.kind), one.kernel.region || one.label), h("small", {}, `${variantOf(one) ? ` variant ${variantOf(one)}` : ""} ${seconds(one.took)}`)),
          h("ol", { start: 0 }, one.kernel.kernels.map((kernel, i) =>
            h("li", { class: one === stage && kernel.text === chosen?.text && i === items.indexOf(chosen) ? "current" : "" },
              h("a", { href: wanted({ k: one.at, i }), title: kernel.name }, kernel.name || `kernel ${i}`))),
          one.kernel.others.map((other, i) =>
            h("li", { class: one === stage && items.indexOf(chosen) === one.kernel.kernels.length + i ? "current" : "" },
              h("a", { href: wanted({ k: one.at, i: one.kernel.kernels.length + i }) }, other.title))))))),
      h("div", { class: "pane" }, h("div", { class: "filled" },
        h("div", { class: "pane-head" }, h("h3", { id: "kernel" }, chosen?.title ?? "no source"),
          facts([["region", stage.kernel.region], ["trace", stage.kind], ["compiled in", seconds(stage.took)],
            ...stage.kernel.facts.map(factOf)], "inline"),
          stage.error && errorBox(stage.error)),
        viewer?.element ?? empty("No source was kept.")))));
}

tabs.push({
  id: "graphs",
  title: "CUDA graphs",
  key: "c",
  count: () => allStages.filter((stage) => stage.role === "graph").length,
  render: renderGraphs,
});

function renderGraphs(container) {
  const captures = allStages.filter((stage) => stage.role === "graph");
  if (!captures.length) return show(container, h("h2", {}, "CUDA-graph captures"), empty("No CUDA graph was captured."));
  const longest = Math.max(...captures.map((stage) => stage.took ?? 0), 1);
  const bar = (stage) =>
    h("div", { class: "capture-bar", style: { width: `${((stage.took ?? longest) / longest) * 100}%` } }, stage.children.map((step) =>
      h("span", {
        class: `step step-${["static_inputs", "warmup", "record"].includes(step.label) ? step.label : "other"}`,
        style: { width: `${((step.took ?? 0) / (stage.took || 1)) * 100}%` },
        title: `${step.label} · ${seconds(step.took)}`,
      })));
  show(container,
    h("div", { class: "toolbar" }, h("h2", {}, "CUDA-graph captures"), h("span", { class: "legend" },
      ["static_inputs", "warmup", "record"].map((name) => h("span", {}, h("i", { class: `dot step-${name}` }), name.replace("_", " "))))),
    h("div", { id: "captures" }, captures.map((stage) =>
      h("section", { class: "capture" },
        h("h3", {}, stage.graph.name, h("small", {}, ` ${stage.run.label} · ${stage.compile ? compileName(stage.compile) : ""} · ${seconds(stage.took)}`)),
        bar(stage),
        h("p", { class: "steps" }, stage.children.map((step) => h("span", {}, `${step.label.replace("_", " ")} ${seconds(step.took)}`))),
        facts(stage.graph.facts.map(factOf), "inline"),
        stage.error && errorBox(stage.error)))));
}

const recompiles = allCompiles.filter((compile) => compile.guards.length);
tabs.push({ id: "recompiles", title: "Recompiles", key: "e", count: () => recompiles.length, render: renderRecompiles });

function renderRecompiles(container) {
  const again = allCompiles.filter((compile) => compile.guards.length || compile.compile_index > 0);
  if (!again.length)
    return show(container, h("h2", {}, "Recompiles"), empty("No function was compiled twice."));
  const lost = again.reduce((sum, compile) => sum + (compile.took ?? 0), 0);
  const rows = again.flatMap((compile) => {
    const guards = compile.guards.length ? compile.guards : [{ entry: null, check: "", message: compile.reason ?? "", expected: "", got: "" }];
    return guards.map((guard, i) =>
      h("tr", { class: i ? "more" : "first" },
        h("td", {}, i ? null : link({ view: "passes", c: compileNumber(compile) }, compileName(compile)), !i && report.runs.length > 1 ? h("small", {}, ` ${compile.run.label}`) : null),
        h("td", { class: "num" }, guard.entry ?? ""),
        h("td", {}, h("code", {}, guard.check || guard.message)),
        h("td", {}, h("code", {}, guard.expected || (guard.check ? guard.message : ""))),
        h("td", {}, h("code", {}, guard.got)),
        h("td", { class: "num" }, i ? "" : seconds(compile.took))));
  });
  show(container,
    h("div", { class: "toolbar" }, h("h2", {}, "Recompiles"), h("p", { class: "hint" }, `${plural(again.length, "compile")} that a fitting cache entry would have saved: ${seconds(lost)}`)),
    table(["compile", "#cached entry", "failed guard", "expected", "got", "#time lost"], rows, { id: "recompiles", class: "stack" }));
}

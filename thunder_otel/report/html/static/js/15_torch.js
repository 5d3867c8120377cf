// torch's side: what torch.compile recorded of itself, ThunderFX's graphs, and where and why graphs were broken.
const torchStages = allStages.filter((stage) => stage.torch);
const torchPlace = (stage, text) => ({ view: "torch", s: `${stage.run.at}.${stage.at}`, x: text });

if (torchStages.some((stage) => stage.torch.texts.length))
  tabs.push({
    id: "torch",
    title: "Torch",
    key: "o",
    count: () => torchStages.reduce((sum, stage) => sum + stage.torch.texts.length, 0),
    render: renderTorch,
  });

// The compile of torch's that a stage belongs to: the outermost one, or a kernel's compile.
function torchCompile(stage) {
  let owner = stage;
  for (let up = stage.up; up; up = up.up) if (up.role === "kernel" || up.role === "torch") owner = up;
  return owner;
}

async function renderTorch(container, place, isCurrent) {
  const withTexts = torchStages.filter((stage) => stage.torch.texts.length);
  const chosen = withTexts.find((stage) => `${stage.run.at}.${stage.at}` === place.s) ?? withTexts.find((stage) => report.texts[stage.torch.texts[0].text].language === "py") ?? withTexts[0];
  const text = chosen.torch.texts.find((one) => one.text === place.x) ?? chosen.torch.texts[0];
  const viewer = codeView(await linesOf(text.text), report.texts[text.text].language, { label: "text", onName: (name) => viewer.mark(name) });
  if (!isCurrent()) return;
  const groups = new Map();
  for (const stage of withTexts) {
    const owner = torchCompile(stage);
    groups.set(owner, [...(groups.get(owner) ?? []), stage]);
  }
  const item = (stage, one) =>
    h("li", { class: stage === chosen && one === text ? "current" : "" },
      link(torchPlace(stage, one.text), stage === torchCompile(stage) ? one.title : stage.label));
  const kept = container.querySelector(".side-list")?.scrollTop;
  const list = h("div", { class: "pass-list side-list" }, [...groups].map(([owner, stages]) =>
    h("section", {}, h("h3", {}, owner.label, h("small", {}, ` ${report.runs.length > 1 ? `${owner.run.label} · ` : ""}${seconds(owner.took)}`)),
      h("ul", {}, stages.map((stage) => stage.torch.texts.map((one) => item(stage, one)))))));
  show(container,
    h("div", { class: "toolbar" }, h("h2", {}, "torch.compile and ThunderFX")), broken(),
    h("div", { class: "split" }, list,
      h("div", { class: "pane" }, h("div", { class: "filled" },
        h("div", { class: "pane-head" }, h("h3", { id: "torch-text" }, chosen.label, h("small", {}, ` ${text.title} · ${seconds(chosen.took)}`))),
        viewer.element))));
  if (kept) list.scrollTop = kept;
  else list.querySelector(".current")?.scrollIntoView({ block: "nearest" });
}

// Graph breaks, and the operations that ThunderFX gave to another compiler.
function broken() {
  const breaks = torchStages.filter((stage) => stage.role === "torch" || !outer(stage, (up) => up.role === "torch"))
    .flatMap((stage) => stage.torch.breaks.map(([reason, source]) => ["graph break", source, "", reason]));
  const left = torchStages.flatMap((stage) => stage.torch.left.map(([op, reason, source]) => ["not taken by thunder", source, op, reason]));
  if (!breaks.length && !left.length) return null;
  return h("details", { open: breaks.length + left.length < 6 }, h("summary", {}, `${plural(breaks.length, "graph break")}, ${plural(left.length, "operation")} not taken by thunder`),
    table(["what", "where", "operation", "why"], [...breaks, ...left].map((row) =>
      h("tr", {}, row.map((value, i) => h("td", {}, !i ? value : value && h("code", {}, value.trim()))))), { id: "broken", class: "stack" }));
}

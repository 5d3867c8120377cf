// The flame chart: a lane for each rank and thread, a bar for each stage, only those in view and wide enough to see.
const timeline = { from: 0, to: 1, row: 20 }; // times in µs; the height of a row in pixels

tabs.push({ id: "timeline", title: "Timeline", key: "t", render: renderTimeline });

function lanesOf() {
  const lanes = [];
  for (const run of report.runs)
    for (const [t, thread] of run.threads.entries()) {
      const stages = run.stages.filter((stage) => stage.thread === t);
      if (!stages.length) continue;
      const ends = []; // the end of the last bar in each row: parents above, children below, no overlap
      for (const stage of [...stages].sort((a, b) => a.start - b.start || (b.end ?? Infinity) - (a.end ?? Infinity))) {
        const upper = stage.up && stage.up.thread === t && stage.start < (stage.up.end ?? Infinity) ? stage.up.row + 1 : 0;
        let row = upper;
        while ((ends[row] ?? -Infinity) > stage.start) row++;
        stage.row = row;
        ends[row] = stage.end ?? Infinity;
      }
      lanes.push({ run, thread, stages, rows: ends.length, many: run.threads.length > 1 });
    }
  return lanes;
}

const whole = () => {
  const from = Math.min(...allStages.map((stage) => stage.start));
  const to = Math.max(...allStages.map((stage) => stage.end ?? stage.start));
  return [from, Math.max(to, from + 1)];
};

function renderTimeline(container, place) {
  if (!allStages.length) return show(container, empty("No stage was recorded."));
  const lanes = lanesOf();
  timeline.row = lanes.length > 2 ? 18 : 26;
  const [first, last] = whole();
  const chosen = place.s ? report.runs[place.s.split(".")[0]]?.stages[place.s.split(".")[1]] : null;
  [timeline.from, timeline.to] = [first, last];
  const axis = h("div", { class: "axis" });
  const body = h("div", { class: "lanes" });
  const chart = h("div", { class: "chart", tabindex: "0", role: "application", "aria-label": "timeline" }, axis, body);
  const drawAll = () => {
    drawAxis(axis, first);
    for (const lane of lanes) drawLane(lane);
  };
  for (const lane of lanes) {
    lane.bars = h("div", { class: "bars", style: { height: `${lane.rows * timeline.row}px` } });
    body.append(h("section", { class: "lane" },
      h("h3", {}, lane.run.label, lane.many || report.runs.length === 1 ? h("small", {}, ` ${lane.thread}`) : null), lane.bars));
  }
  body.addEventListener("click", (event) => {
    const bar = event.target.closest("[data-stage]");
    if (event.detail <= 1) timeline.clicked = bar && !timeline.dragged ? stageAt(bar.dataset.stage) : null;
    if (timeline.clicked && event.detail <= 1) stageCard(timeline.clicked);
  });
  // The first click opened a card and with it moved the bars: the second one means the same bar.
  body.addEventListener("dblclick", () => timeline.clicked && zoomTo(timeline.clicked));
  const zoomTo = (stage) => {
    const pad = Math.max(1, (stage.took ?? 1) * 0.04);
    [timeline.from, timeline.to] = [stage.start - pad, (stage.end ?? last) + pad];
    drawAll();
  };
  const zoom = (factor, at = 0.5) => {
    const span = timeline.to - timeline.from;
    const wanted = Math.min(Math.max(span * factor, 5), (last - first) * 1.1);
    timeline.from += (span - wanted) * at;
    timeline.to = timeline.from + wanted;
    drawAll();
  };
  const pan = (part) => {
    const step = (timeline.to - timeline.from) * part;
    [timeline.from, timeline.to] = [timeline.from + step, timeline.to + step];
    drawAll();
  };
  const reset = () => {
    [timeline.from, timeline.to] = [first, last];
    drawAll();
  };
  timeline.keys = { "+": () => zoom(0.6), "=": () => zoom(0.6), "-": () => zoom(1 / 0.6), ArrowLeft: () => pan(-0.2), ArrowRight: () => pan(0.2), 0: reset };
  chart.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey && Math.abs(event.deltaX) <= Math.abs(event.deltaY) && !event.altKey && !event.shiftKey) return;
    event.preventDefault();
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) return pan((event.deltaX || event.deltaY) / 800);
    const box = body.getBoundingClientRect();
    zoom(Math.exp(event.deltaY / 300), (event.clientX - box.left) / box.width);
  }, { passive: false });
  dragToPan(body, pan);
  const button = (label, title, onclick) => h("button", { type: "button", class: "chip", title, onclick }, label);
  show(container,
    h("div", { class: "toolbar" },
      h("h2", {}, "Timeline"), legend(), h("span", { class: "spring" }),
      button("−", "zoom out (-)", () => zoom(1 / 0.6)), button("+", "zoom in (+)", () => zoom(0.6)), button("all", "everything (0)", reset)),
    h("p", { class: "hint" }, "Click a bar for its facts, double-click to zoom in; drag or ← → to move, + − or Ctrl-wheel to zoom."),
    chart);
  new ResizeObserver(drawAll).observe(body);
  if (chosen) {
    if (chosen.took !== null) zoomTo(chosen.up ?? chosen);
    stageCard(chosen);
  }
}

const stageAt = (key) => report.runs[key.split(".")[0]].stages[key.split(".")[1]];

const legend = () =>
  h("span", { class: "legend" }, ["prologue", "computation", "backward", "epilogue", "joint", "region", "other"].map((kind) =>
    h("span", {}, dot(kind), kind)));

function drawLane({ bars, stages }) {
  const width = bars.clientWidth || 1;
  const scale = width / (timeline.to - timeline.from);
  const found = [];
  const filled = []; // per row: the pixel up to which something is drawn
  for (const stage of stages) {
    const left = (stage.start - timeline.from) * scale;
    const right = stage.end === null ? width : (stage.end - timeline.from) * scale;
    if (right < 0 || left > width || (right < (filled[stage.row] ?? -1) + 1 && right - left < 1)) continue;
    filled[stage.row] = right;
    const visible = Math.max(0, left);
    const size = Math.max(Math.min(right, width) - visible, 1.5);
    found.push(h("div", {
      class: `bar kind-${kindClass(stage.kind)} role-${stage.role}${stage.error ? " failed" : ""}${stage.end === null ? " open" : ""}`,
      style: { left: `${visible}px`, width: `${size}px`, top: `${stage.row * timeline.row}px`, height: `${timeline.row - 2}px` },
      title: `${stage.name} · ${seconds(stage.took)}`,
      data: { stage: `${stage.run.at}.${stage.at}` },
    }, size > 34 ? stage.label : null));
  }
  bars.replaceChildren(...found);
}

function drawAxis(axis, first) {
  const span = timeline.to - timeline.from;
  const rough = span / Math.max(2, axis.clientWidth / 110);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough);
  const ticks = [];
  for (let at = Math.ceil((timeline.from - first) / step) * step; at <= timeline.to - first; at += step)
    ticks.push(h("span", { style: { left: `${((at + first - timeline.from) / span) * 100}%` } }, at === 0 ? "0" : seconds(at)));
  axis.replaceChildren(...ticks);
}

function dragToPan(body, pan) {
  let from = null;
  body.addEventListener("pointerdown", (event) => ([from, timeline.dragged] = [event.clientX, false]));
  for (const end of ["pointerup", "pointerleave", "pointercancel"]) body.addEventListener(end, () => (from = null));
  body.addEventListener("pointermove", (event) => {
    if (from === null || (!timeline.dragged && Math.abs(event.clientX - from) < 4)) return;
    timeline.dragged = true;
    pan((from - event.clientX) / body.clientWidth);
    from = event.clientX;
  });
}

function stageCard(stage) {
  openCard(stage.label,
    facts([
      ["span", stage.name],
      stage.kind && ["kind", h("span", {}, dot(stage.kind), stage.kind)],
      ["time", seconds(stage.took)],
      stage.took && stage.children.length ? ["of which own", seconds(ownTime(stage))] : null,
      ["rank", stage.run.label],
      ["thread", stage.run.threads[stage.thread]],
      stage.added !== undefined && ["lines", delta(stage.added, stage.removed)],
    ]),
    h("p", {}, link(placeOf(stage), "Open it →")),
    stage.error && errorBox(stage.error),
    h("details", {}, h("summary", {}, `${plural(Object.keys(stage.attributes).length, "attribute")}`),
      facts(Object.entries(stage.attributes).map(([key, value]) => [key, words(value)]))));
}

const ownTime = (stage) =>
  Math.max(0, stage.took - stage.children.reduce((sum, child) => sum + (child.end !== null && child.end <= stage.end ? child.took : 0), 0));

const errorBox = (error) =>
  h("div", { class: "error" }, h("strong", {}, error.type), h("p", {}, error.message),
    error.stacktrace && h("details", {}, h("summary", {}, "stack trace"), h("pre", {}, error.stacktrace)));

// A layered drawing of operations and the tensors between them: each node below the nodes it reads.
const NODE = { width: 168, height: 40, gapX: 16, gapY: 34 };
const MAX_NODES = 240;

// nodes: [{id, title, detail, kind, reads: [id, ...], onclick}], in an order in which readers come later.
function drawGraph(nodes, label) {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  for (const node of nodes) {
    node.from = [...new Set(node.reads)].map((id) => byId.get(id)).filter((one) => one && one !== node);
    node.to = [];
  }
  for (const node of nodes) node.from.forEach((one) => one.to.push(node));
  for (const node of nodes) node.layer = node.from.reduce((most, one) => Math.max(most, (one.layer ?? 0) + 1), 0);
  // Each moves down to just above its first reader: a parameter stands beside the operation that takes it.
  for (const node of [...nodes].reverse()) if (node.to.length) node.layer = Math.min(...node.to.map((one) => one.layer)) - 1;
  const layers = [];
  for (const node of nodes) (layers[node.layer] ??= []).push(node);
  place(layers);
  const used = layers.filter(Boolean);
  const width = Math.max(...used.map((layer) => layer.length)) * (NODE.width + NODE.gapX) + NODE.gapX;
  const height = used.length * (NODE.height + NODE.gapY) - NODE.gapY + 16;
  for (const [row, layer] of used.entries()) {
    const indent = (width - layer.length * (NODE.width + NODE.gapX)) / 2 + NODE.gapX / 2;
    for (const [i, node] of layer.entries()) {
      node.x = indent + i * (NODE.width + NODE.gapX);
      node.y = row * (NODE.height + NODE.gapY) + 8;
    }
  }
  const edges = nodes.flatMap((node) => node.from.map((from) => edge(from, node)));
  return h("div", { class: "graph" },
    svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label }, edges, nodes.map(box)));
}

// Two sweeps that put each node near the middle of what it reads, and then of what reads it.
function place(layers) {
  const middle = (nodes, node) => (nodes.length ? nodes.reduce((sum, one) => sum + one.slot, 0) / nodes.length : node.slot);
  const number = (layer) => layer.forEach((node, i) => (node.slot = i - layer.length / 2));
  const used = layers.filter(Boolean);
  used.forEach(number);
  for (const [order, side] of [[used, "from"], [[...used].reverse(), "to"], [used, "from"]])
    for (const layer of order) {
      for (const node of layer) node.wish = middle(node[side], node);
      layer.sort((a, b) => a.wish - b.wish);
      number(layer);
    }
}

function edge(from, to) {
  const [x1, y1] = [from.x + NODE.width / 2, from.y + NODE.height];
  const [x2, y2] = [to.x + NODE.width / 2, to.y];
  const bend = Math.max(14, (y2 - y1) / 2);
  return svg("path", { class: "edge", d: `M${x1} ${y1} C${x1} ${y1 + bend} ${x2} ${y2 - bend} ${x2} ${y2}` });
}

function box(node) {
  const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
  const activate = () => node.onclick?.(node);
  return svg("g", {
    class: `node ${node.kind}`,
    transform: `translate(${node.x} ${node.y})`,
    tabindex: "0",
    role: "button",
    onclick: activate,
    onkeydown: (event) => event.key === "Enter" && activate(),
  },
    svg("title", {}, `${node.title}\n${node.detail ?? ""}`),
    svg("rect", { width: NODE.width, height: NODE.height, rx: 6 }),
    svg("text", { x: NODE.width / 2, y: node.detail ? 17 : 25, class: "title" }, cut(node.title, 21)),
    node.detail ? svg("text", { x: NODE.width / 2, y: 32, class: "detail" }, cut(node.detail, 25)) : null);
}

// The nodes of a list of operations of a trace, with its inputs: only names made or read there.
function operationNodes(operations, trace, { regions = [], onclick }) {
  const makers = new Map();
  const nodes = [];
  const shapeOf = (name) => trace.shapes.get(name) ?? "";
  for (const [i, one] of operations.entries()) {
    const reads = (one.text.slice(one.text.indexOf(`${one.op}(`)).replace(/#.*$/, "").match(NAME) ?? []).slice(1);
    const first = one.outputs.find((name) => name !== "_") ?? "";
    const node = {
      id: `op${i}`,
      title: one.op.split(".").pop(),
      detail: one.outputs.length > 1 ? plural(one.outputs.length, "tensor") : [first, shapeOf(first)].filter(Boolean).join(" "),
      kind: regions.includes(one.op) ? "region" : "op",
      operation: one,
      reads: [],
      onclick,
    };
    for (const name of reads) {
      if (makers.has(name)) node.reads.push(makers.get(name));
      else if (/^(t|idx|x)\w*$/.test(name) && shapeOf(name)) {
        const id = `in ${name}`;
        makers.set(name, id);
        nodes.push({ id, title: name, detail: shapeOf(name), kind: "input", reads: [], onclick });
        node.reads.push(id);
      }
    }
    for (const name of one.outputs) makers.set(name, node.id);
    nodes.push(node);
  }
  return nodes;
}

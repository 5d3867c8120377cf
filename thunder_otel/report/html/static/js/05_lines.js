// A list of any length of which only the rows in view exist. Every row has the same height.
const ROW = 20;
const OVERSCAN = 12;

class Lines {
  // count: rows; width: characters of the widest row; render(i): the row's element.
  constructor({ count, width = 0, height = ROW, render, label, props = {} }) {
    this.render = render;
    this.height = height;
    this.rows = h("div", { class: "lines-rows" });
    this.space = h("div", { class: "lines-space" }, this.rows);
    this.element = h("div", { class: "lines", tabindex: "0", role: "region", "aria-label": label, ...props }, this.space);
    this.element.addEventListener("scroll", () => this.draw(), { passive: true });
    new ResizeObserver(() => this.draw()).observe(this.element);
    this.resize(count, width);
  }

  resize(count, width) {
    this.count = count;
    this.space.style.height = `${count * this.height}px`;
    if (width) this.space.style.minWidth = `calc(${Math.min(width, MAX_COLOURED)}ch + 7rem)`;
    this.refresh();
  }

  refresh() {
    this.from = -1;
    this.draw();
  }

  draw() {
    const { scrollTop, clientHeight } = this.element;
    const from = Math.max(0, Math.floor(scrollTop / this.height) - OVERSCAN);
    const to = Math.min(this.count, Math.ceil((scrollTop + (clientHeight || 600)) / this.height) + OVERSCAN);
    if (from === this.from && to === this.to) return;
    [this.from, this.to] = [from, to];
    const rows = [];
    for (let i = from; i < to; i++) rows.push(this.render(i));
    this.rows.style.transform = `translateY(${from * this.height}px)`;
    this.rows.replaceChildren(...rows);
  }

  scrollTo(row) {
    const { scrollTop, clientHeight } = this.element;
    const top = row * this.height;
    if (top < scrollTop + this.height || top > scrollTop + clientHeight - 2 * this.height)
      this.element.scrollTop = Math.max(0, top - clientHeight / 3);
    this.draw();
  }
}

const widest = (lines) => lines.reduce((most, line) => Math.max(most, line.length), 0);

// One text with line numbers. Clicks call onName(name, line) on a variable, else onLine(line).
function codeView(lines, language, { onName, onLine, label = "text" } = {}) {
  const states = startStates(lines, language);
  const view = { name: null, line: null, lines };
  const list = new Lines({
    count: lines.length,
    width: widest(lines),
    label,
    props: { class: `lines code${onLine ? " clickable" : ""}` },
    render: (i) =>
      h(
        "div",
        { class: `row${i === view.line ? " current" : ""}`, "data-line": i },
        h("span", { class: "ln" }, String(i + 1)),
        h("code", {}, withHits(coloured(lines[i], language, states[i]), view.name)),
      ),
  });
  list.element.addEventListener("click", (event) => {
    const row = event.target.closest(".row");
    if (!row || String(getSelection()) !== "") return;
    const name = event.target.closest("[data-name]")?.dataset.name;
    if (name && onName) onName(name, Number(row.dataset.line));
    else onLine?.(Number(row.dataset.line));
  });
  view.element = list.element;
  view.mark = (name, line) => {
    [view.name, view.line] = [name, line ?? view.line];
    list.refresh();
  };
  view.goTo = (line) => {
    view.line = line;
    list.refresh();
    list.scrollTo(line);
  };
  return view;
}

function withHits(parts, name) {
  if (name !== null)
    for (const part of parts) if (part.dataset?.name === name) part.classList.add("hit");
  return parts;
}

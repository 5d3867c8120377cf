// Keyboard moves, and the list of them.
const KEYS = [
  ["g then s t p r k c e o", "go to a part"],
  ["/", "search"],
  ["j k", "next, previous pass"],
  ["n N", "next, previous change"],
  ["u d x", "unified, side by side, text"],
  ["+ − ← → 0", "zoom, move and reset the timeline"],
  ["t", "light or dark"],
  ["Esc", "close the card"],
  ["?", "this list"],
];

const showKeys = () => openCard("Keys", facts(KEYS.map(([key, what]) => [h("kbd", {}, key), what])));

let afterG = -Infinity;
function onKey(event) {
  const inField = event.target.closest("input, select, textarea");
  if (event.key === "Escape") {
    if (inField) event.target.blur();
    else closeCard();
    return;
  }
  if (inField || event.ctrlKey || event.metaKey || event.altKey) return;
  const view = placeNow().view;
  const jump = performance.now() - afterG < 1500 && tabs.find((tab) => tab.key === event.key);
  afterG = event.key === "g" ? performance.now() : -Infinity;
  const act = jump
    ? () => go({ view: jump.id })
    : {
        "/": () => $("#search").focus(),
        "?": showKeys,
        t: () => $("#theme").click(),
        ...(view === "passes" && {
          j: () => stepPass(1),
          k: () => stepPass(-1),
          n: () => passes.diff?.goToChange(1),
          N: () => passes.diff?.goToChange(-1),
          u: () => change({ m: "unified" }),
          d: () => change({ m: "split" }),
          x: () => change({ m: "text" }),
        }),
        ...(view === "timeline" && timeline.keys),
      }[event.key];
  if (!act) return;
  event.preventDefault();
  act();
}

addEventListener("keydown", onKey);
let typing = 0;
$("#search").addEventListener("input", (event) => {
  clearTimeout(typing);
  typing = setTimeout(() => go({ view: "search", q: event.target.value }), 200);
});
$("#keys").addEventListener("click", showKeys);
start();

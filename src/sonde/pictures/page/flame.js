// A flame graph: the tree of stacks in rows. Data: docs/design/pictures.md.

const ROW = 18;
const CHARACTER = 7.23; // the width of one in 12 pixels of a monospaced font
const LEAST_WIDTH = 0.7;
const NARROW = 5; // what is narrower has no element of its own: there may be tens of thousands

// The same as in labels.py.
const OPERATOR = /operator(<=>|->\*|<<=|>>=|<<|>>|<=|>=|->|\(\)|<|>)/y;

function without(name, opening, closing) {
  let parts = "", depth = 0;
  for (let at = 0; at < name.length; ) {
    OPERATOR.lastIndex = at;
    const operator = depth ? null : OPERATOR.exec(name);
    if (operator) { parts += operator[0]; at += operator[0].length; continue; }
    const character = name[at++];
    if (character === opening) { if (++depth === 1) parts += opening + "…" + closing; }
    else if (character === closing && depth) depth--;
    else if (!depth) parts += character;
  }
  if (depth) return name;
  return (parts.endsWith("(…)") ? parts.slice(0, -3) : parts) || name;
}

function shorter(name) {
  const bare = without(name, "(", ")");
  const plain = without(bare, "<", ">");
  const colons = plain.lastIndexOf("::");
  const last = colons > 0 && colons + 2 < plain.length ? plain.slice(colons + 2) : plain;
  return [name, bare, plain, last];
}

function fitted(names, room) {
  if (room < 3) return "";
  return names.find((name) => name.length <= room) ?? names[names.length - 1].slice(0, room - 1) + "…";
}

// The tree as columns: node n has the depth, the frame, the value and, of two profiles, the earlier value.
class Tree {
  constructor(data) {
    [this.depth, this.frame, this.value, this.earlier, this.levels] = data.nodes;
    this.merged = data.merged;
    this.size = this.depth.length;
    this.end = new Array(this.size).fill(this.size);
    this.parent = new Array(this.size).fill(-1);
    this.self = this.value.slice();
    const path = [];
    for (let node = 0; node < this.size; node++) {
      while (path.length > this.depth[node]) this.end[path.pop()] = node;
      if (path.length) {
        this.parent[node] = path[path.length - 1];
        this.self[this.parent[node]] -= this.value[node];
      }
      path.push(node);
    }
    this.rows = this.depth.reduce((most, depth) => Math.max(most, depth), 0) + 1;
    this.use(this.value);
  }

  // Let these values be the widths.
  use(values) {
    this.width = values;
    this.left = new Array(this.size).fill(0);
    const next = [0];
    for (let node = 0; node < this.size; node++) {
      const depth = this.depth[node];
      this.left[node] = next[depth];
      next[depth] += values[node];
      next[depth + 1] = this.left[node];
    }
  }

  holds(node, inner) { return node <= inner && inner < this.end[node]; }

  children(node) {
    const found = [];
    for (let child = node + 1; child < this.end[node]; child = this.end[child]) found.push(child);
    return found;
  }
}

class Flame {
  constructor(place, data) {
    this.data = data;
    this.tree = new Tree(data);
    this.names = data.frames.map(() => null);
    this.zoomed = 0;
    this.at = 0;
    this.matches = null;
    this.isFlame = true;
    this.drawing = svg("svg", { id: "flame", role: "tree", "aria-label": data.title + ": " + data.subtitle });
    this.scroller = html("div", { id: "scroller" }, this.drawing);
    this.detail = html("div", { id: "detail", role: "status" });
    this.table = html("div", { id: "table", hidden: "" });
    place.append(header(data, ...this.tools()), this.legend(), this.scroller, this.table, this.detail);
    this.listen();
    this.draw();
    this.scroller.scrollTop = this.scroller.scrollHeight;
    this.tell(0);
  }

  tools() {
    this.matched = html("output", { id: "matched", for: "search", "aria-live": "polite" });
    this.field = html("input", {
      id: "search", type: "search", placeholder: "Search: text or regular expression", "aria-label": "Search functions",
      autocomplete: "off", spellcheck: "false", input: () => this.search(this.field.value),
      keydown: (event) => this.inField(event),
    });
    this.reset = html("button", { type: "button", id: "reset", disabled: "", click: () => this.zoom(0) }, "Reset zoom");
    const turn = html("button", {
      type: "button", id: "turn", title: "The root below or above", click: () => {
        this.isFlame = !this.isFlame;
        turn.textContent = this.isFlame ? "Root on top" : "Root below";
        this.draw();
        this.scroller.scrollTop = this.isFlame ? this.scroller.scrollHeight : 0;
      },
    }, "Root on top");
    const list = html("button", {
      type: "button", id: "list", "aria-expanded": "false", click: () => this.showTable(list),
    }, "Functions");
    return [this.matched, this.field, this.reset, turn, list, ...(this.data.earlier ? [this.widthsButton()] : [])];
  }

  // Of two profiles: frames as wide as they are, or as they were; what is gone is only seen so.
  widthsButton() {
    let isEarlier = false;
    const button = html("button", {
      type: "button", id: "widths", click: () => {
        isEarlier = !isEarlier;
        this.tree.use(isEarlier ? this.tree.earlier : this.tree.value);
        button.textContent = isEarlier ? "Widths: before" : "Widths: after";
        if (!this.tree.width[this.zoomed]) this.zoomed = 0;
        this.search(this.field.value);
        this.draw();
      },
    }, "Widths: after");
    return button;
  }

  legend() {
    const entries = this.data.legend.map(([key, text]) =>
      html("span", {}, svg("svg", { width: 14, height: 14, "aria-hidden": "true" },
        svg("rect", { width: 14, height: 14, rx: 2, class: key })), " " + text));
    const keys = "Click or Enter zooms · arrows move · Esc goes back · / searches";
    return html("div", { class: "legend" }, ...entries, html("span", { class: "keys" }, keys));
  }

  listen() {
    this.drawing.addEventListener("click", (event) => { const node = this.under(event); if (node >= 0) this.zoom(node); });
    this.drawing.addEventListener("pointermove", (event) => {
      const node = this.under(event);
      if (node >= 0 && node !== this.told) this.tell(node);
    });
    this.drawing.addEventListener("pointerleave", () => this.tell(this.at));
    this.drawing.addEventListener("focusin", (event) => this.point(Number(event.target.getAttribute("data-node"))));
    document.addEventListener("keydown", (event) => this.key(event));
    let width = this.scroller.clientWidth;
    new ResizeObserver(() => {
      if (Math.abs(this.scroller.clientWidth - width) < 1) return;
      width = this.scroller.clientWidth;
      this.draw();
    }).observe(this.scroller);
  }

  inField(event) {
    event.stopPropagation();
    if (event.key === "Escape") { this.field.value = ""; this.search(""); this.focus(this.at); }
    if (event.key === "Enter") this.toMatch();
  }

  // To the widest match in sight.
  toMatch() {
    let best = -1;
    for (let node = this.zoomed; node < this.tree.end[this.zoomed]; node++) {
      if (this.matches && this.matches[this.tree.frame[node]] && (best < 0 || this.tree.width[node] > this.tree.width[best])) best = node;
    }
    if (best >= 0) this.focus(best);
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const tree = this.tree, node = this.at;
    const seen = (each) => tree.width[each] > 0;
    const up = this.isFlame ? "ArrowUp" : "ArrowDown", down = this.isFlame ? "ArrowDown" : "ArrowUp";
    let to = null;
    if (event.key === "/") this.field.focus();
    else if (event.key === "Escape" || event.key === "Backspace") this.zoom(Math.max(tree.parent[this.zoomed], 0));
    else if (event.key === "Home") this.zoom(0);
    else if (!this.drawing.contains(document.activeElement)) return;
    else if (event.key === "Enter" || event.key === " ") this.zoom(node);
    else if (event.key === up) to = tree.children(node).find(seen);
    else if (event.key === down) to = tree.parent[node];
    else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      const row = tree.parent[node] < 0 ? [node] : tree.children(tree.parent[node]).filter(seen);
      to = row[row.indexOf(node) + (event.key === "ArrowLeft" ? -1 : 1)];
    } else return;
    event.preventDefault();
    if (to !== null && to !== undefined && to >= 0) this.focus(to);
  }

  // The keyboard's place; a frame too narrow to be seen is zoomed to.
  focus(node) {
    this.at = node;
    if (!this.groups.has(node)) { this.zoom(node); }
    const group = this.groups.get(node);
    if (group) group.focus();
  }

  point(node) {
    const earlier = this.groups.get(this.at), group = this.groups.get(node);
    if (earlier) earlier.setAttribute("tabindex", "-1");
    if (group) group.setAttribute("tabindex", "0");
    this.at = node;
    this.tell(node);
  }

  zoom(node) {
    if (!this.tree.width[node]) return;
    this.zoomed = node;
    this.at = node;
    this.reset.disabled = node === 0;
    this.draw();
    this.showMatched();
    this.tell(node);
  }

  search(text) {
    if (!text) this.matches = null;
    else {
      let test;
      try { const pattern = new RegExp(text, "i"); test = (name) => pattern.test(name); }
      catch { const low = text.toLowerCase(); test = (name) => name.toLowerCase().includes(low); }
      this.matches = this.data.frames.map(([name, module], index) => index > 0 && test(module ? module + "`" + name : name));
    }
    this.draw();
    this.showMatched();
  }

  // How much of what is in sight stands on or in a match; what lies in another match counts once.
  showMatched() {
    if (!this.matches) { this.matched.textContent = ""; return; }
    let sum = 0;
    const end = this.tree.end[this.zoomed];
    for (let node = this.zoomed; node < end; ) {
      const isMatch = this.matches[this.tree.frame[node]];
      if (isMatch) sum += this.tree.width[node];
      node = isMatch ? this.tree.end[node] : node + 1;
    }
    this.matched.textContent = "Matched: " + share(sum, this.tree.width[this.zoomed]);
  }

  // Frames in sight: those that the zoomed one stands on, full width, and what stands on it.
  *visible(pixels) {
    const tree = this.tree, scale = pixels / (tree.width[this.zoomed] || 1), origin = tree.left[this.zoomed];
    for (let node = tree.parent[this.zoomed]; node >= 0; node = tree.parent[node]) yield [node, 0, pixels, true];
    for (let node = this.zoomed; node < tree.end[this.zoomed]; ) {
      const width = tree.width[node] * scale;
      if (width < LEAST_WIDTH) { node = tree.end[node]; continue; }
      yield [node, (tree.left[node] - origin) * scale, width, false];
      node++;
    }
  }

  draw() {
    const pixels = Math.max(this.scroller.clientWidth - 2, 100);
    this.height = this.tree.rows * ROW;
    this.groups = new Map();
    this.boxes = Array.from({ length: this.tree.rows }, () => []);
    const narrow = new Map();
    for (const [node, x, width, isBelow] of this.visible(pixels)) {
      this.boxes[this.tree.depth[node]].push([x, width, node]);
      if (width >= NARROW) this.groups.set(node, this.group(node, x, width, isBelow));
      else this.outline(narrow, node, x, width);
    }
    const hadFocus = this.drawing.contains(document.activeElement);
    const tabbed = this.groups.get(this.at) || this.groups.get(this.zoomed);
    if (tabbed) tabbed.setAttribute("tabindex", "0");
    this.drawing.setAttribute("width", pixels);
    this.drawing.setAttribute("height", this.height);
    // One by one: there may be more of them than a call can have arguments.
    const drawn = document.createDocumentFragment();
    for (const [look, parts] of narrow) drawn.append(svg("path", { class: look, d: parts.join("") }));
    for (const group of this.groups.values()) drawn.append(group);
    this.drawing.replaceChildren(drawn);
    if (hadFocus && tabbed) tabbed.focus();
  }

  // The frame that is drawn there, -1 where none is.
  under(event) {
    const box = this.drawing.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    const row = this.boxes[Math.floor((this.isFlame ? this.height - y : y) / ROW)] || [];
    let low = 0, high = row.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (row[middle][0] <= x) low = middle + 1; else high = middle;
    }
    return low && x < row[low - 1][0] + row[low - 1][1] ? row[low - 1][2] : -1;
  }

  top(node) {
    const depth = this.tree.depth[node];
    return this.isFlame ? this.height - (depth + 1) * ROW : depth * ROW;
  }

  fill(node) {
    return this.tree.levels ? "d" + this.tree.levels[node] : this.data.frames[this.tree.frame[node]][2];
  }

  look(node) {
    return !this.matches ? "" : this.matches[this.tree.frame[node]] ? " match" : " other";
  }

  // All narrow frames that look alike are one path.
  outline(paths, node, x, width) {
    const look = "narrow " + this.fill(node) + this.look(node), shown = Math.max(width - (width > 2 ? 0.6 : 0), 0.4).toFixed(2);
    if (!paths.has(look)) paths.set(look, []);
    paths.get(look).push(`M${x.toFixed(2)} ${this.top(node) + 0.5}h${shown}v${ROW - 1}h-${shown}z`);
  }

  group(node, x, width, isBelow) {
    const tree = this.tree, y = this.top(node);
    const group = svg("g", {
      "data-node": node, class: "frame" + this.look(node) + (isBelow ? " below" : ""), role: "treeitem", tabindex: "-1",
      "aria-level": tree.depth[node] + 1, "aria-label": this.sentence(node),
    }, svg("rect", { x: x.toFixed(2), y: y + 0.5, width: (width - 0.6).toFixed(2), height: ROW - 1, rx: 2, class: this.fill(node) }));
    const label = fitted(this.namesOf(tree.frame[node]), Math.floor((width - 7) / CHARACTER));
    if (label) group.append(svg("text", { x: (x + 3.5).toFixed(2), y: y + 13 }, label));
    return group;
  }

  namesOf(frame) {
    return (this.names[frame] = this.names[frame] || shorter(this.data.frames[frame][0]));
  }

  sentence(node) {
    const name = this.data.frames[this.tree.frame[node]][0];
    return name + ", " + share(this.tree.value[node], this.tree.value[0]) + (this.data.earlier ? ", " + this.change(node) : "");
  }

  change(node) {
    const tree = this.tree;
    const before = tree.earlier[node] / (tree.earlier[0] || 1), after = tree.value[node] / (tree.value[0] || 1);
    const points = 100 * (after - before);
    return (points > 0 ? "+" : points < 0 ? "−" : "±") + Math.abs(points).toFixed(2) + " points (before "
      + share(tree.earlier[node], tree.earlier[0]) + ")";
  }

  tell(node) {
    this.told = node;
    const tree = this.tree, [name, module] = this.data.frames[tree.frame[node]];
    const merged = this.merged(node);
    const parts = [grouped(tree.value[node]) + (this.data.unit && " " + this.data.unit), share(tree.value[node], tree.value[0])];
    if (this.zoomed) parts.push(share(tree.value[node], tree.value[this.zoomed]) + " of the view");
    if (tree.self[node] && !merged) parts.push("itself " + share(tree.self[node], tree.value[0]));
    if (this.data.earlier) parts.push(this.change(node));
    if (module) parts.push("in " + module);
    this.detail.replaceChildren(
      html("b", {}, merged ? grouped(merged) + " frames too narrow to be kept" : name),
      html("span", {}, parts.join(" · ")));
  }

  merged(node) { return this.tree.merged[node] || 0; }

  showTable(button) {
    const isShown = this.table.hasAttribute("hidden");
    button.setAttribute("aria-expanded", String(isShown));
    this.table.toggleAttribute("hidden", !isShown);
    if (!isShown) return;
    const rows = this.functions().slice(0, 200).map(([frame, self, total]) => {
      const [name, module] = this.data.frames[frame];
      const find = () => { this.field.value = "^" + (module ? module + "`" : "") + name.replace(/[\\^$.*+?()[\]{}|\/]/g, "\\$&") + "$"; this.search(this.field.value); };
      return html("tr", {}, html("td", {}, share(self, this.tree.value[0])), html("td", {}, share(total, this.tree.value[0])),
        html("td", {}, html("button", { type: "button", click: find }, name), html("small", {}, module)));
    });
    this.table.replaceChildren(html("table", {},
      html("thead", {}, html("tr", {}, html("th", {}, "itself"), html("th", {}, "with callees"), html("th", {}, "function"))),
      html("tbody", {}, ...rows)));
  }

  // [frame, itself, with what it calls]: of a recursive function only the outermost frame counts.
  functions() {
    const tree = this.tree, self = new Map(), total = new Map(), open = new Map();
    for (let node = 1; node < tree.size; node++) {
      const frame = tree.frame[node];
      if (this.merged(node)) continue;
      self.set(frame, (self.get(frame) || 0) + tree.self[node]);
      if ((open.get(frame) || 0) > node) continue;
      open.set(frame, tree.end[node]);
      total.set(frame, (total.get(frame) || 0) + tree.value[node]);
    }
    return [...self].map(([frame, own]) => [frame, own, total.get(frame)]).sort((a, b) => b[1] - a[1] || b[2] - a[2]);
  }
}

start((place, data) => new Flame(place, data));

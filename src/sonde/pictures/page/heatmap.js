// A heat map: columns of time, rows of values. Data: docs/design/pictures.md.

const CHARACTER = 7.23; // the width of one in 12 pixels of a monospaced font
const LEVELS = 9;
const LEAST_ROW = 2;
const MOST_ROW = 28;
const AXIS = 22;

// The least of 1, 2, 5 times a power of ten that is at least so large; the same as in heat_view.py.
function niceStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((digit) => digit * power).find((step) => step >= least * (1 - 1e-9));
}

class Heatmap {
  constructor(place, data) {
    this.data = data;
    this.columns = data.edges.length - 1;
    this.rows = data.rows.length;
    this.views = [[0, this.columns]];
    this.at = null;
    this.use(0);
    this.drawing = svg("svg", {
      id: "heatmap", role: "application", tabindex: "0", "aria-label": data.title + ": " + data.subtitle + ". Arrows move",
    });
    this.scroller = html("div", { id: "scroller", class: "top" }, this.drawing);
    this.detail = html("div", { id: "detail", role: "status" });
    this.table = html("div", { id: "table", hidden: "" });
    place.append(header(data, ...this.tools()), this.legend(), this.scroller, this.table, this.detail);
    this.listen();
    this.draw();
  }

  tools() {
    const keys = html("select", { id: "key", "aria-label": "Key", change: () => this.choose(Number(keys.value)) },
      ...this.data.series.map(([name], number) => html("option", { value: number }, number ? name : "all keys")));
    this.reset = html("button", { type: "button", id: "reset", disabled: "", click: () => this.show([0, this.columns]) }, "Whole time");
    this.list = html("button", { type: "button", id: "list", "aria-expanded": "false", click: () => this.toggleTable() }, "Distribution");
    return [...(this.data.series.length > 1 ? [keys] : []), this.reset, this.list];
  }

  // From one value a cell to as many as any cell has.
  legend() {
    const shades = Array.from({ length: LEVELS }, (_, level) => svg("rect", { x: level * 14, width: 14, height: 14, class: "h" + (level + 1) }));
    this.scale = html("span", { id: "scale" });
    const keys = "Drag or Enter zooms in time · arrows move · Esc goes back";
    return html("div", { class: "legend" }, html("span", {}, svg("svg", { width: 14 * LEVELS, height: 14, "aria-hidden": "true" }, ...shades)),
      this.scale, html("span", { class: "keys" }, keys));
  }

  // Let this key's cells be drawn: by column, counts by row.
  use(number) {
    const numbers = this.data.series[number][1];
    this.counts = Array.from({ length: this.columns }, () => new Map());
    this.levels = new Map();
    for (let at = 0; at < numbers.length; at += 4) {
      this.counts[numbers[at]].set(numbers[at + 1], numbers[at + 2]);
      this.levels.set(numbers[at] * this.rows + numbers[at + 1], numbers[at + 3]);
    }
  }

  choose(number) {
    this.use(number);
    this.draw();
  }

  get view() { return this.views[this.views.length - 1]; }

  seconds(column) { return (this.data.edges[column] - this.data.edges[0]) / 1e9; }

  draw() {
    const pixels = Math.max(this.scroller.clientWidth - 2, 200);
    const room = Math.max(this.scroller.clientHeight - AXIS - 4, 100);
    this.row = Math.min(MOST_ROW, Math.max(LEAST_ROW, Math.floor(room / this.rows)));
    this.left = 8 + CHARACTER * Math.max(...this.data.rows.map(([label]) => label.length));
    this.width = pixels - this.left - 4;
    this.height = this.row * this.rows;
    const [first, end] = this.view;
    this.origin = this.seconds(first);
    this.pixelsPerSecond = this.width / Math.max(this.seconds(end) - this.origin, 1e-9);
    this.cursor = svg("rect", { class: "cell", visibility: "hidden" });
    this.band = svg("rect", { class: "column", visibility: "hidden", y: 0, height: this.height });
    this.drawing.setAttribute("width", pixels);
    this.drawing.setAttribute("height", this.height + AXIS);
    this.drawing.replaceChildren(...this.cells(first, end), ...this.rowLabels(), ...this.ticks(end), this.band, this.cursor);
    this.tellScale();
    this.tell();
    if (!this.table.hasAttribute("hidden")) this.fillTable();
  }

  x(column) { return this.left + (this.seconds(column) - this.origin) * this.pixelsPerSecond; }

  // All cells of a colour are one path.
  cells(first, end) {
    const tall = this.row - (this.row > 4 ? 0.6 : 0);
    const parts = Array.from({ length: LEVELS + 1 }, () => []);
    for (let column = first; column < end; column++) {
      const x = this.x(column), whole = this.x(column + 1) - x, width = Math.max(whole - (whole > 4 ? 0.6 : 0), 0.5);
      for (const row of this.counts[column].keys()) {
        const y = this.height - (row + 1) * this.row;
        parts[this.levels.get(column * this.rows + row)].push(`M${x.toFixed(1)} ${y}h${width.toFixed(1)}v${tall}h-${width.toFixed(1)}z`);
      }
    }
    return parts.flatMap((each, level) => (each.length ? [svg("path", { class: "h" + level, d: each.join("") })] : []));
  }

  rowLabels() {
    const every = Math.ceil(13 / this.row), found = [];
    for (let row = 0; row < this.rows; row += every) {
      const y = this.height - (row + 0.5) * this.row + 4;
      found.push(svg("text", { class: "axis", x: this.left - 6, y, "text-anchor": "end" }, this.data.rows[row][0]));
    }
    return found;
  }

  ticks(end) {
    const last = this.seconds(end), step = niceStep(Math.max(last - this.origin, 1e-9) / Math.max(this.width / 110, 1)), found = [];
    for (let tick = Math.ceil(this.origin / step - 1e-6); tick * step <= last; tick++) {
      const x = this.left + (tick * step - this.origin) * this.pixelsPerSecond;
      found.push(svg("line", { class: "grid", x1: x, x2: x, y1: this.height, y2: this.height + 5 }));
      found.push(svg("text", { class: "axis", x: x + 3, y: this.height + 16 }, Number((tick * step).toPrecision(9)) + " s"));
    }
    return found;
  }

  tellScale() {
    let most = 0;
    for (const column of this.counts) for (const count of column.values()) most = Math.max(most, count);
    this.scale.textContent = most ? `up to ${grouped(most)} values a cell, by square root` : "no values";
  }

  // [column, row] under the pointer, or null.
  place(event) {
    const box = this.drawing.getBoundingClientRect();
    const column = this.columnAt(event.clientX - box.left), row = Math.floor((this.height - (event.clientY - box.top)) / this.row);
    return column < 0 || row < 0 || row >= this.rows ? null : [column, row];
  }

  columnAt(x) {
    const time = this.origin + (x - this.left) / this.pixelsPerSecond, [first, end] = this.view;
    if (time < this.origin || time >= this.seconds(end)) return -1;
    let low = first, high = end;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (this.seconds(middle) <= time) low = middle; else high = middle;
    }
    return low;
  }

  listen() {
    this.drawing.addEventListener("pointermove", (event) => this.move(event));
    this.drawing.addEventListener("pointerdown", (event) => {
      this.from = this.place(event);
      if (this.from) this.drawing.setPointerCapture(event.pointerId);
    });
    this.drawing.addEventListener("pointerup", (event) => this.release(event));
    this.drawing.addEventListener("pointercancel", () => { this.from = null; this.tell(); });
    document.addEventListener("keydown", (event) => this.key(event));
    let size = "";
    new ResizeObserver(() => {
      const now = this.scroller.clientWidth + "x" + this.scroller.clientHeight;
      if (now !== size) this.draw();
      size = now;
    }).observe(this.scroller);
  }

  // The columns between where a drag began and the pointer, also where that has left the picture.
  dragged(event) {
    const box = this.drawing.getBoundingClientRect();
    const x = Math.min(Math.max(event.clientX - box.left, this.left), this.left + this.width - 0.01);
    const to = this.columnAt(x);
    return [Math.min(this.from[0], to), Math.max(this.from[0], to) + 1];
  }

  move(event) {
    const place = this.place(event);
    if (place) this.at = place;
    this.tell();
    if (this.from) this.mark(...this.dragged(event));
  }

  release(event) {
    if (!this.from) return;
    const [first, end] = this.dragged(event);
    this.from = null;
    if (end - first > 1) this.show([first, end]);
  }

  mark(first, end) {
    this.band.setAttribute("x", this.x(first));
    this.band.setAttribute("width", this.x(end) - this.x(first));
    this.band.setAttribute("visibility", "visible");
  }

  show(view) {
    if (view[0] === this.view[0] && view[1] === this.view[1]) return;
    if (view[0] === 0 && view[1] === this.columns) this.views = [view];
    else this.views.push(view);
    this.reset.disabled = this.views.length === 1;
    if (this.at && (this.at[0] < view[0] || this.at[0] >= view[1])) this.at = null;
    this.draw();
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") {
      if (this.views.length > 1) this.views.pop();
      this.reset.disabled = this.views.length === 1;
      this.draw();
    } else if (document.activeElement !== this.drawing) return;
    else if (event.key === "Enter") this.zoomIn();
    else if (event.key.startsWith("Arrow")) this.step(event.key);
    else return;
    event.preventDefault();
  }

  step(key) {
    const [first, end] = this.view, [column, row] = this.at || [first, 0];
    const across = { ArrowLeft: -1, ArrowRight: 1 }[key] || 0, up = { ArrowUp: 1, ArrowDown: -1 }[key] || 0;
    if (this.at) {
      this.at = [Math.min(Math.max(column + across, first), end - 1), Math.min(Math.max(row + up, 0), this.rows - 1)];
    } else this.at = [column, row];
    this.tell();
  }

  // A quarter of the time in sight, around the cursor.
  zoomIn() {
    const [first, end] = this.view, length = Math.max(Math.ceil((end - first) / 4), 1);
    const middle = this.at ? this.at[0] : (first + end) >> 1;
    const from = Math.min(Math.max(middle - (length >> 1), first), end - length);
    this.show([from, from + length]);
  }

  tell() {
    this.band.setAttribute("visibility", "hidden");
    this.cursor.setAttribute("visibility", this.at ? "visible" : "hidden");
    if (!this.at) {
      this.detail.replaceChildren(html("span", {}, "Point at a cell to see what it stands for."));
      return;
    }
    const [column, row] = this.at, count = this.counts[column].get(row) || 0;
    const whole = [...this.counts[column].values()].reduce((sum, each) => sum + each, 0);
    this.cursor.setAttribute("x", this.x(column));
    this.cursor.setAttribute("y", this.height - (row + 1) * this.row);
    this.cursor.setAttribute("width", Math.max(this.x(column + 1) - this.x(column), 1));
    this.cursor.setAttribute("height", this.row);
    this.detail.replaceChildren(html("b", {}, this.data.rows[row][1]), html("span", {},
      [grouped(count) + (count === 1 ? " value" : " values"), share(count, whole) + " of " + grouped(whole),
        this.seconds(column).toFixed(3) + " s to " + this.seconds(column + 1).toFixed(3) + " s"].join(" · ")));
  }

  toggleTable() {
    const isShown = this.table.hasAttribute("hidden");
    this.list.setAttribute("aria-expanded", String(isShown));
    this.table.toggleAttribute("hidden", !isShown);
    if (isShown) this.fillTable();
  }

  // The histogram of the time in sight, the greatest values on top as in the picture.
  fillTable() {
    const sums = new Array(this.rows).fill(0), [first, end] = this.view;
    for (let column = first; column < end; column++) for (const [row, count] of this.counts[column]) sums[row] += count;
    const whole = sums.reduce((sum, each) => sum + each, 0), most = Math.max(...sums, 1);
    const rows = sums.map((sum, row) => html("tr", {}, html("td", {}, this.data.rows[row][1]), html("td", {}, grouped(sum)),
      html("td", {}, share(sum, whole)), html("td", {}, svg("svg", { width: 300, height: 11, "aria-hidden": "true" },
        svg("rect", { width: (300 * sum) / most, height: 11, class: "h5" }))))).reverse();
    this.table.replaceChildren(html("table", {},
      html("thead", {}, html("tr", {}, ...["values", "count", "share", ""].map((text) => html("th", {}, text)))),
      html("tbody", {}, ...rows)));
  }
}

start((place, data) => new Heatmap(place, data));

"use strict";
// What all pictures share: elements, data, the stage, the theme. Names come from files that anybody can write, so they
// become text nodes and attributes only, never markup.

const XHTML = "http://www.w3.org/1999/xhtml";
const SVG = "http://www.w3.org/2000/svg";

function made(space, tag, attributes, children) {
  const element = document.createElementNS(space, tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value !== null) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

const html = (tag, attributes, ...children) => made(XHTML, tag, attributes, children);
const svg = (tag, attributes, ...children) => made(SVG, tag, attributes, children);

// The data are JSON or, where they are many, that deflated and in base 64.
async function contents() {
  const element = document.getElementById("data");
  const text = element.textContent.trim();
  if (element.getAttribute("type") === "application/json") return JSON.parse(text);
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

// Where to draw. An SVG that stands alone shows its static view until it is replaced by the same page that HTML has.
function stage() {
  const root = document.documentElement;
  if (root.namespaceURI !== SVG) return document.getElementById("picture");
  document.getElementById("static").remove();
  root.removeAttribute("viewBox");
  root.setAttribute("width", "100%");
  root.setAttribute("height", "100%");
  const page = html("div", { id: "picture" });
  root.append(svg("foreignObject", { width: "100%", height: "100%" }, page));
  return page;
}

function share(part, whole) {
  if (!whole || !part) return "0 %";
  const percent = (100 * part) / whole;
  const digits = Math.abs(percent) >= 9.995 ? 1 : Math.abs(percent) >= 0.095 ? 2 : 3;
  return percent.toFixed(digits) + " %";
}

const grouped = (number) => number.toLocaleString("en-US", { maximumFractionDigits: 3 });

// As the system has it, light, dark: one button goes round.
function themeButton() {
  const themes = ["auto", "light", "dark"];
  let at = 0;
  const button = html("button", {
    type: "button", id: "theme", title: "Light, dark, or as the system has it",
    click() {
      at = (at + 1) % themes.length;
      if (at) document.documentElement.setAttribute("data-theme", themes[at]);
      else document.documentElement.removeAttribute("data-theme");
      button.textContent = "Theme: " + themes[at];
    },
  }, "Theme: auto");
  return button;
}

function header(data, ...tools) {
  return html("header", {},
    html("div", { class: "titles" }, html("h1", {}, data.title), html("p", { id: "subtitle" }, data.subtitle)),
    html("div", { class: "tools" }, ...tools, themeButton()));
}

async function start(draw) {
  // Before the stage: where data cannot be read the static view stays.
  const data = await contents();
  draw(stage(), data);
}

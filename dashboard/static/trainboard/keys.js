// Keyboard shortcuts; the dialog #shortcuts lists them and turns them off (WCAG 2.1.4). A list's rows are the elements
// with data-row: the first link in one is its job.
"use strict";

const OFF = "shortcuts-off";
const dialog = document.getElementById("shortcuts");
const box = document.getElementById("shortcuts-on");

const rows = () => [...document.querySelectorAll("[data-row]")].filter((row) => row.offsetParent);
const current = () => document.activeElement?.closest("[data-row]");

function move(step) {
  const all = rows();
  const at = all.indexOf(current());
  const next = all[at < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + step, 0), all.length - 1)];
  next?.querySelector("a")?.focus();
}

const actions = {
  "/": () => document.getElementById("search")?.focus(),
  n: () => document.querySelector("a.btn.go[href*='/jobs/new/']")?.click(),
  j: () => move(1),
  k: () => move(-1),
  a: () => current()?.querySelector("[data-actions] :is(a, button)")?.focus(),
  x: () => current()?.querySelector("input[type=checkbox]")?.click(),
  "?": () => dialog.showModal(),
};

function isTyping(element) {
  return element.closest("input:not([type=checkbox], [type=radio]), select, textarea, [contenteditable], dialog[open]");
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (!Object.hasOwn(actions, event.key) || isTyping(event.target)) return;
  if (localStorage.getItem(OFF) && event.key !== "?") return;
  event.preventDefault();
  actions[event.key]();
});

box.checked = !localStorage.getItem(OFF);
box.addEventListener("change", () => {
  if (box.checked) localStorage.removeItem(OFF);
  else localStorage.setItem(OFF, "1");
});
for (const button of document.querySelectorAll("[data-shortcuts]")) {
  button.hidden = false;
  button.addEventListener("click", () => dialog.showModal());
}

// A menu closes when the focus or a click leaves it, and with Escape.
document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
});
document.addEventListener("keydown", (event) => {
  const menu = event.key === "Escape" && event.target.closest("details.menu[open]");
  if (!menu) return;
  menu.open = false;
  menu.querySelector("summary").focus();
});

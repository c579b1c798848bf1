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

// Ctrl+K opens a dialog that finds pages, which are the links of the navigation, and jobs, which the server searches.
const jump = document.getElementById("jump");
const jumpBox = jump.querySelector("input");
const found = () => [...jump.querySelectorAll("#jump-found a")];

function listPages() {
  const words = jumpBox.value.toLowerCase().split(/\s+/).filter(Boolean);
  const links = [...document.querySelectorAll("nav a[href], .top > a.btn.go, .inbox-link, details.account a")].filter(
    (link, at, all) => all.findIndex((other) => other.href === link.href) === at,
  );
  const name = (link) => (link.querySelector(".word") ?? link.firstChild).textContent.trim();
  const fitting = links.filter((link) => name(link) && words.every((word) => name(link).toLowerCase().includes(word)));
  const items = fitting.slice(0, words.length ? 6 : 20).map((link) => {
    const item = document.createElement("li");
    const copy = item.appendChild(document.createElement("a"));
    copy.href = link.href;
    copy.textContent = name(link);
    return item;
  });
  document.getElementById("jump-pages").replaceChildren(...items);
}

document.addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey || event.key.toLowerCase() !== "k") return;
  event.preventDefault();
  if (jump.open) return jump.close();
  jumpBox.value = "";
  document.getElementById("jump-jobs").replaceChildren();
  listPages();
  jump.showModal();
});
jumpBox.addEventListener("input", listPages);
jump.addEventListener("click", (event) => event.target === jump && jump.close());
jump.addEventListener("keydown", (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step) return;
  event.preventDefault();
  const all = [jumpBox, ...found()];
  all[(all.indexOf(document.activeElement) + step + all.length) % all.length].focus();
});
jump.querySelector("form").addEventListener("submit", (event) => {
  const first = found()[0];
  if (!first) return; // the history says that nothing matches, and with which words one can search
  event.preventDefault();
  first.click();
});

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

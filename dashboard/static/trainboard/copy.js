// Copy buttons, and nothing else. A button names the element whose text it copies: <button data-copy="id" hidden>.
// It stays hidden where a script does not run or the clipboard is closed, for it could do nothing there.
// The page says in data-copied of its body what a button reads afterwards.
"use strict";

function show(root) {
  if (!navigator.clipboard) return;
  for (const button of root.querySelectorAll("button[data-copy]")) button.hidden = false;
}

async function copy(button) {
  const source = document.getElementById(button.dataset.copy);
  button.dataset.label ??= button.textContent; // a second click finds the other word on it
  await navigator.clipboard.writeText(source.value ?? source.textContent);
  button.textContent = document.body.dataset.copied;
  setTimeout(() => { button.textContent = button.dataset.label; }, 1500);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-copy]");
  if (button) copy(button);
});
document.addEventListener("htmx:load", (event) => show(event.target));
document.addEventListener("DOMContentLoaded", () => show(document));

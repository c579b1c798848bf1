// Parts of a page that renew themselves. htmx asks for them; what is open, ticked or typed in them stays as it is, and
// the page says since when there is no answer. Such a part has data-live and hx-swap="morph"; a mark in the page,
// <span data-live-mark data-lost="No connection since" hidden>, shows the time of the last answer.
"use strict";

htmx.defineExtension("morph", {
  isInlineSwap: (style) => style === "morph",
  handleSwap: (style, target, fragment) =>
    style === "morph" && Idiomorph.morph(target, fragment.children, { morphStyle: "outerHTML" }),
});

const READ_TIME = 10_000; // milliseconds until a message about what was done has been read
const HIDDEN_PAUSE = 30_000; // milliseconds between updates of a tab that nobody sees
let lastAnswer = Date.now();

// An answer does not know what the reader has opened, ticked or typed since the page was drawn.
const touched = new WeakSet();
document.addEventListener("input", (event) => touched.add(event.target));
Idiomorph.defaults.callbacks.beforeNodeMorphed = (shown, sent) => {
  if (shown instanceof HTMLDetailsElement && sent instanceof HTMLDetailsElement) {
    sent.open = shown.open;
  } else if (touched.has(shown) && sent instanceof HTMLInputElement) {
    sent.toggleAttribute("checked", shown.checked);
    if (shown.type !== "checkbox" && shown.type !== "radio") sent.setAttribute("value", shown.value);
  } else if (touched.has(shown) && sent instanceof HTMLTextAreaElement) {
    sent.textContent = shown.value;
  }
  return true;
};
Idiomorph.defaults.ignoreActiveValue = true;

const isLive = (event) => event.target instanceof Element && event.target.hasAttribute("data-live");

function mark(text, lost) {
  for (const each of document.querySelectorAll("[data-live-mark]")) {
    each.hidden = false;
    each.classList.toggle("lost", lost);
    const said = lost ? `${each.dataset.lost} ${text}` : `${each.dataset.live} ${text}`;
    if (each.textContent !== said) each.textContent = said;
  }
}

// The server's clock, for that of a browser may be wrong, in the time zone of the page.
function clock(xhr) {
  const sent = xhr.getResponseHeader("Date");
  const { timeZone } = document.documentElement.dataset;
  return sent ? new Date(sent).toLocaleTimeString("en-GB", { timeZone }) : "";
}

let shown = "";
document.addEventListener("htmx:beforeRequest", (event) => {
  if (isLive(event) && document.hidden && Date.now() - lastAnswer < HIDDEN_PAUSE) event.preventDefault();
});
document.addEventListener("htmx:afterRequest", (event) => {
  if (!isLive(event)) return;
  const { xhr } = event.detail;
  if (xhr.status >= 200 && xhr.status < 400) {
    lastAnswer = Date.now();
    shown = clock(xhr);
    mark(shown, false);
    if (xhr.status === 200 && performance.now() > READ_TIME) { // what it was about has changed
      for (const message of document.querySelectorAll('main > .notice[role="status"]:not(.bad, .warn)')) message.remove();
    }
  } else {
    mark(shown, true);
  }
});

// compose.js keeps a form for the way back to it, over a sign-in or the page of a form that was not sent; any other page
// ends that way. It may hold passwords.
if (!document.querySelector("#compose, [data-keeps-form]") && !location.search.includes("next=")) {
  sessionStorage.removeItem("compose-unsaved");
}

// What is typed when the session has ended, or when somebody signed in again in another window, is not lost: it stays in
// this tab, and becomes a draft as soon as the same person opens the form again.
"use strict";

const UNSAVED = "compose-unsaved";
const composeForm = () => document.getElementById("compose");
const owner = (form) => form.getAttribute("data-user"); // form.dataset is its field of that name

function keep() {
  const form = composeForm();
  const fields = [...new FormData(form)].filter(([name]) => name !== "csrfmiddlewaretoken");
  sessionStorage.setItem(UNSAVED, JSON.stringify({ user: owner(form), fields }));
}

async function restore() {
  const form = composeForm();
  const { user, fields } = JSON.parse(sessionStorage.getItem(UNSAVED) ?? "{}");
  sessionStorage.removeItem(UNSAVED);
  if (!fields || user !== owner(form) || form.hasAttribute("data-posted")) return;
  const answer = await fetch(document.getElementById("draft").getAttribute("hx-post"), {
    method: "POST",
    headers: { "X-CSRFToken": form.elements.csrfmiddlewaretoken.value },
    body: new URLSearchParams(fields),
  });
  const address = answer.headers.get("HX-Replace-Url"); // none where the job was requested meanwhile
  if (address) location.replace(address);
}

// The form is sent only while the site answers: the browser's own error page would take away what was typed. The answer
// to a check must not take the browser away from a form that is being submitted.
let submitting = false;
let answers = false;
addEventListener("pageshow", () => (submitting = answers = false));
document.addEventListener("submit", async (event) => {
  if (event.target !== composeForm()) return;
  keep();
  if (answers) return;
  event.preventDefault();
  if (submitting) return; // a second click
  submitting = true;
  // A redirect is an answer too: a proxy may want a new sign-in.
  const asked = fetch("/healthz", { redirect: "manual", signal: AbortSignal.timeout(10_000) });
  answers = await asked.then(({ status }) => status < 500, () => false);
  document.getElementById("unsent").hidden = answers;
  if (answers) composeForm().requestSubmit(event.submitter);
  else submitting = false;
});

// Above the limit of checks a minute, the form says so and checks again by itself when the site takes it.
let again;
function wait(xhr) {
  const note = document.getElementById("check-waits");
  if (!note) return;
  note.hidden = xhr.status !== 429;
  clearTimeout(again);
  if (note.hidden) return;
  note.textContent = note.dataset.text;
  const seconds = Number(xhr.getResponseHeader("Retry-After")) || 2;
  again = setTimeout(() => composeForm().dispatchEvent(new Event("change")), seconds * 1000);
}
document.addEventListener("htmx:beforeOnLoad", (event) => {
  const { xhr } = event.detail;
  if (event.target === composeForm()) wait(xhr);
  if (xhr.status !== 403 && !xhr.getResponseHeader("HX-Refresh")) return;
  event.preventDefault();
  if (submitting) return;
  keep();
  location.assign(location.pathname + location.search);
});
// While somebody is in the text, it stays as it is typed. What the site knows of it must stay too: with the digest of
// another text, the site would take this one for edited, and the form would never be written into it again.
document.addEventListener("htmx:oobBeforeSwap", ({ detail }) => {
  if (document.activeElement.id === "request" && ["request", "text-digest"].includes(detail.target.id)) {
    detail.shouldSwap = false;
  }
});
restore();

// The first field has the focus, unless the page points at another. On a touch screen that would open the keyboard.
const isFree = document.activeElement === document.body && !document.querySelector("[autofocus]") && !location.hash;
if (isFree && matchMedia("(pointer: fine)").matches) document.getElementById("id_name").focus({ preventScroll: true });

// The rules of a policy are moved by dragging or by buttons, and removed by a button. What is posted stays the position
// and the mark of each rule, which are fields to fill in where this script does not run.
const list = document.querySelector("[data-rules]");
const markOf = (rule) => rule.querySelector("[name$='-DELETE']:not([name*='-further-'])");
const rules = () => [...list.querySelectorAll("[data-rule]")];
let dragged = null;

function renumber() {
  rules().forEach((rule, at) => {
    rule.querySelector("[name$='-ORDER']").value = at + 1;
    rule.querySelector("[data-number]").textContent = at + 1;
    rule.ariaLabel = rule.ariaLabel.replace(/\d+/, at + 1);
  });
}

function move(rule, step) {
  const other = rules()[rules().indexOf(rule) + step];
  if (!other) return;
  if (step < 0) other.before(rule);
  else other.after(rule);
  renumber();
}

function showMark(rule) {
  const box = markOf(rule);
  const button = rule.querySelector("[data-remove]");
  button.dataset.remove ||= button.textContent;
  button.textContent = box.checked ? button.dataset.keep : button.dataset.remove;
  rule.classList.toggle("removed", box.checked);
}

if (list) {
  for (const rule of rules()) {
    rule.querySelector("[data-by-hand]").hidden = true;
    for (const each of rule.querySelectorAll("[data-moves], [data-handle]")) each.hidden = false;
    showMark(rule);
  }
  list.addEventListener("click", (event) => {
    const button = event.target.closest("[data-move], [data-remove]");
    const rule = button?.closest("[data-rule]");
    if (button?.dataset.move) {
      move(rule, Number(button.dataset.move));
      button.focus(); // a moved element loses the focus
    } else if (button) {
      const box = markOf(rule);
      box.checked = !box.checked;
      showMark(rule);
    }
  });
  // Only the handle starts a drag, so that text in the rule can still be selected.
  list.addEventListener("pointerdown", (event) => {
    const rule = event.target.closest("[data-rule]");
    if (rule) rule.draggable = Boolean(event.target.closest("[data-handle]"));
  });
  list.addEventListener("dragstart", (event) => {
    dragged = event.target.closest("[data-rule]");
    dragged?.classList.add("dragged");
  });
  list.addEventListener("dragover", (event) => {
    const over = event.target.closest("[data-rule]");
    if (!dragged || !over) return;
    event.preventDefault();
    const box = over.getBoundingClientRect();
    if (over !== dragged) over[event.clientY < box.top + box.height / 2 ? "before" : "after"](dragged);
  });
  list.addEventListener("dragend", () => {
    dragged?.classList.remove("dragged");
    dragged = null;
    renumber();
  });
}

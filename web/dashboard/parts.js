// Parts that several pages use: lists with search and pages, dialogs, facts.
import { count, h, keep, setText } from "./dom.js";
import { ask } from "./server.js";

const SEARCH_MS = 200;

/**
 * A table of rows that come by the stream. `columns`: { title, value(row) -> text or element, end: right-aligned }.
 */
export function table({ label, columns, key = (row) => row.id, href, empty }) {
  const body = h("tbody"), nothing = h("p.empty", { hidden: true }, empty);
  const head = columns.map(({ title, end }) => h("th", { scope: "col", class: end && "end" }, title));
  const grid = h("table", { "aria-label": label }, h("thead", h("tr", head)), body);
  const make = () => h("tr", columns.map(({ end, wide }) => h("td", { class: [end && "end", wide && "wide"].filter(Boolean).join(" ") || null })));
  const update = (row, item) => {
    columns.forEach(({ value, link }, i) => {
      const cell = row.children[i], shown = value(item);
      if (shown instanceof Node) {
        if (cell.firstChild?.isEqualNode(shown) !== true) cell.replaceChildren(shown);
      } else if (link && href) {
        if (!cell.firstChild) cell.append(h("a", { href: href(item) }));
        setText(cell.firstChild, shown);
      } else setText(cell, shown);
    });
  };
  return {
    element: h("div.scroll", { tabindex: "0", role: "region", "aria-label": label }, grid, nothing),
    show(rows) {
      keep(body, rows, key, make, update);
      grid.hidden = rows.length === 0;
      nothing.hidden = rows.length > 0;
    },
  };
}

/** A list with search, selection of a kind, and pages. `field`: where an event of the view has the rows. */
export function list(frame, { title, view, field, columns, href, empty, hint }) {
  const query = { view, search: "", kind: "", after: 0 }, before = [];
  const rows = table({ label: title, columns, href, empty });
  const found = h("p.found", { role: "status" });
  const kinds = h("div.kinds", { role: "group", "aria-label": "Kinds" });
  const go = (changes) => {
    Object.assign(query, changes);
    frame.refresh();
  };
  let timer;
  const search = h("input", {
    type: "search", placeholder: hint, "aria-label": hint, maxlength: 64, spellcheck: "false",
    oninput: () => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        before.length = 0;
        go({ search: search.value, after: 0 });
      }, SEARCH_MS);
    },
  });
  const previous = h("button", { type: "button", onclick: () => go({ after: before.pop() ?? 0 }) }, "Previous");
  const next = h("button", {
    type: "button",
    onclick: () => {
      before.push(query.after);
      go({ after: Number(next.dataset.after) });
    },
  }, "Next");
  const choose = (kind) => {
    before.length = 0;
    go({ kind: query.kind === kind ? "" : kind, after: 0 });
  };
  return {
    query,
    element: h("div", h("div.tools", h("h1", title), search, found), kinds, rows.element,
      h("div.pager", previous, next)),
    take(name, data) {
      if (name !== "view") return;
      rows.show(data[field]);
      const isAll = data.found === data.count;
      setText(found, isAll ? `${count(data.count)} in all` : `${count(data.found)} of ${count(data.count)}`);
      previous.disabled = query.after === 0;
      next.disabled = data.next === 0;
      next.dataset.after = data.next;
      previous.parentElement.hidden = previous.disabled && next.disabled;
      keep(kinds, data.kinds ?? [], ([kind]) => kind, ([kind]) => h("button.chip", { type: "button", onclick: () => choose(kind) },
        h("span", kind), h("small")), (chip, [kind, number]) => {
        setText(chip.lastChild, count(number));
        chip.setAttribute("aria-pressed", String(query.kind === kind));
      });
    },
    close: () => clearTimeout(timer),
  };
}

/** A list of facts: `show([[term, text or element], ...])`. */
export function facts() {
  const element = h("dl.facts");
  return {
    element,
    show(list) {
      keep(element, list.filter(([, value]) => value !== undefined && value !== null), ([term]) => term,
        ([term]) => h("div", h("dt", term), h("dd")), (row, [, value]) => {
          const cell = row.lastChild;
          if (!(value instanceof Node)) setText(cell, value);
          else if (cell.firstChild?.isEqualNode(value) !== true) cell.replaceChildren(value);
        });
    },
  };
}

/** Asks for a confirmation, then sends the request. Resolves to whether it was carried out. */
export function confirm({ title, text, action, method, path, reason }) {
  const dialog = document.querySelector("#dialog");
  const problem = h("p.bad", { role: "alert" });
  const input = reason && h("input", { maxlength: 127, placeholder: reason, "aria-label": reason });
  return new Promise((resolve) => {
    const cancel = h("button", { type: "button", onclick: () => dialog.close("") }, "Cancel");
    const send = h("button.danger", {
      type: "button",
      onclick: async () => {
        send.disabled = true;
        const query = input?.value ? "?reason=" + encodeURIComponent(input.value) : "";
        try {
          await ask(method, path + query);
          dialog.close("done");
        } catch (error) {
          setText(problem, error.message);
          send.disabled = false;
        }
      },
    }, action);
    dialog.replaceChildren(h("h2", { id: "dialog-title" }, title), h("p", text), input, problem,
      h("div.buttons", cancel, send));
    dialog.returnValue = "";
    dialog.onclose = () => resolve(dialog.returnValue === "done");
    dialog.showModal();
    (input ?? cancel).focus();
  });
}

/** A button for a change, which says why it is off when the server takes no changes. */
export function changeButton(frame, text, onclick) {
  const button = h("button.danger", { type: "button", onclick }, text);
  return {
    element: button,
    update() {
      const mayWrite = frame.state.hello?.may_write;
      button.disabled = !mayWrite;
      button.title = mayWrite ? "" : "Changes are off: set admin_write = true, or give the server an admin_token";
    },
  };
}

/** A coloured word for a state. */
export const tag = (text, kind) => h("span.tag" + (kind ? "." + kind : ""), text);

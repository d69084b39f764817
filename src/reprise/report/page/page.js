// Without scripts the page is complete: tables are then plain and cards open by hand.
import DataTable from "{{ table_script }}";

// Numbers; rows without one come last in either order.
const numbers = (sign) => (a, b) => (a === "") - (b === "") || sign * (a - b);
DataTable.type("measured", { order: { asc: numbers(1), desc: numbers(-1) } });

for (const table of document.querySelectorAll("table.searched")) {
  const scroll = table.parentElement;
  const lists = table.dataset.lists.split(", ");
  const heads = [...table.tHead.rows[0].cells].map((head) => head.innerText.trim());
  const list = { extend: "searchList", ajaxOnly: false, search: false };
  // A verdict is chosen from a list: a search for "reproduced" finds "not reproduced" as well.
  const filter = (name) =>
    lists.includes(name)
      ? { extend: "dropdown", icon: "search", text: `Choose in ${name}`, content: [{ ...list }] }
      : { extend: "searchDropdown", text: `Search in ${name}`, placeholder: "[title]" };
  new DataTable(table, {
    paging: false,
    order: [],
    info: true,
    layout: { topStart: "search", topEnd: null, bottomStart: "info", bottomEnd: null },
    columnDefs: heads.map((name, targets) => ({
      targets,
      columnControl: [{ extend: "order", text: `Order by ${name}` }, filter(name)],
    })),
    ordering: { indicators: false, handler: false },
  });
  // The table alone scrolls, not the search above it.
  const container = table.closest(".dt-container");
  scroll.replaceWith(container);
  table.before(scroll);
  scroll.append(table);
  // The fields of an opened filter have no name but that of the dialogue they stand in.
  new MutationObserver(() => {
    for (const field of container.querySelectorAll(".dtcc-dropdown :is(input, select)")) {
      field.setAttribute("aria-label", field.closest(".dtcc-dropdown").getAttribute("aria-label"));
    }
  }).observe(container, { childList: true });
}

// A link to a card opens it.
const open = () => {
  const card = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (card instanceof HTMLDetailsElement) {
    card.open = true;
    card.scrollIntoView();
  }
};
addEventListener("hashchange", open);
open();

const dark = matchMedia("(prefers-color-scheme: dark)");
const follow = () => document.documentElement.classList.toggle("dark", dark.matches);
dark.addEventListener("change", follow);
follow();

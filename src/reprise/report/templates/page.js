// Without scripts the page is complete: tables are then plain and cards open by hand.
import DataTable from "{{ table_script }}";

for (const table of document.querySelectorAll("table.searched")) {
  new DataTable(table, {
    paging: false,
    order: [],
    info: true,
    layout: { topStart: "search", topEnd: null, bottomStart: "info", bottomEnd: null },
    columnControl: ["order", "searchDropdown"],
    ordering: { indicators: false, handler: false },
  });
  const scroll = document.createElement("div");
  scroll.className = "scroll";
  table.before(scroll);
  scroll.append(table);
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

let before = [];
addEventListener("beforeprint", () => {
  before = [...document.querySelectorAll("details:not([open])")];
  before.forEach((card) => (card.open = true));
});
addEventListener("afterprint", () => before.forEach((card) => (card.open = false)));

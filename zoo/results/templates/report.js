"use strict";

// Sorts a table by a column, numerically if its cells have numbers; rows without a number come last.
function sortTable(table, column, descending) {
  const key = (row) => {
    const cell = row.cells[column];
    if (!("value" in cell.dataset)) return cell.textContent.trim().toLowerCase();
    return cell.dataset.value === "" ? null : Number(cell.dataset.value);
  };
  const compare = (a, b) => {
    if (a.key === null || b.key === null) return (a.key === null) - (b.key === null);
    return (a.key < b.key ? -1 : a.key > b.key ? 1 : 0) * (descending ? -1 : 1);
  };
  const rows = [...table.tBodies[0].rows].map((row) => ({ row, key: key(row) }));
  rows.sort(compare);
  table.tBodies[0].append(...rows.map((entry) => entry.row));
}

for (const table of document.querySelectorAll("table.sortable")) {
  for (const head of table.tHead.rows[0].cells) {
    head.querySelector("button").addEventListener("click", () => {
      const number = head.classList.contains("number") && !("least" in head.dataset);
      const current = head.getAttribute("aria-sort");
      const descending = current ? current === "ascending" : number;
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", descending ? "descending" : "ascending");
      sortTable(table, head.cellIndex, descending);
    });
  }
}

// Shows only the rows that contain every typed word.
for (const input of document.querySelectorAll("input.filter")) {
  const rows = [...document.getElementById(input.dataset.table).tBodies[0].rows];
  const count = document.querySelector(`[data-count="${input.dataset.table}"]`);
  const show = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const text = [...row.cells].filter((cell) => !("value" in cell.dataset))
        .map((cell) => cell.textContent.toLowerCase()).join(" ");
      row.hidden = !words.every((word) => text.includes(word));
      shown += !row.hidden;
    }
    count.textContent = words.length ? `${shown} of ${rows.length} rows` : "";
  };
  input.addEventListener("input", show);
  show();
}

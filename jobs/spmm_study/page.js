// A click, or Enter, on a heading sorts its table: ascending, descending, and back in the original order.
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0], rows = [...body.rows];
  const number = text => { const found = text.replace(/,/g, "").match(/^[±\s]*(-?[\d.]+(e[+-]?\d+)?)(\s*[kMG]?B\b)?/i);
    return found ? found[1] * ({ k: 1e3, M: 1e6, G: 1e9 }[(found[3] || "").trim()[0]] || 1) : NaN; };
  const compare = (column, sign) => (a, b) => {
    const [x, y] = [a, b].map(row => row.cells[column].textContent.trim());
    if ((x === "-") !== (y === "-")) return x === "-" ? 1 : -1;  // missing values last
    return sign * (number(x) - number(y) || x.localeCompare(y, undefined, { numeric: true }));
  };
  [...table.tHead.rows[0].cells].forEach((head, column, heads) => {
    head.tabIndex = 0;
    head.title = "sort";
    head.setAttribute("aria-sort", "none");
    const sort = () => {
      const next = { none: "ascending", ascending: "descending", descending: "none" }[head.getAttribute("aria-sort")];
      heads.forEach(other => other.setAttribute("aria-sort", "none"));
      head.setAttribute("aria-sort", next);
      body.append(...(next === "none" ? rows : [...rows].sort(compare(column, next === "ascending" ? 1 : -1))));
    };
    head.addEventListener("click", sort);
    head.addEventListener("keydown", event => { if (event.key === "Enter") sort(); });
  });
}


"use strict";
// Shows the branch of the message that the address names (page.html#m12). Links in the tree and beside messages lead to
// such addresses, so the browser's Back button works too.
{
  const column = document.querySelector("main");
  const fold = document.querySelector("#tree details");
  const pane = document.querySelector("#tree details > div");
  const trunk = document.querySelector("#tree .trunk");
  const isWide = matchMedia("(min-width: 900px)").matches;

  // Messages by id: the article, the link in the tree, the line that leads to it from above, the parent's id and the
  // children's ids, oldest first. The id "" is above all messages.
  const messages = new Map([["", { children: [] }]]);
  // The child that is shown below a message, or was shown last.
  const chosen = new Map();
  // The ids of the branch in the column, from the top.
  let shown = [...document.querySelectorAll("main > article")].map((article) => article.id);

  const number = (id) => Number(id.slice(1));
  const links = [...document.querySelectorAll("#tree a")];
  const lines = document.querySelector("#tree .lines").getAttribute("d").split("M");
  links.forEach((link, index) => {
    messages.set(link.getAttribute("href").slice(1), { link, line: "M" + lines[index + 1], children: [] });
    link.setAttribute("tabindex", "-1");
  });
  for (const article of document.querySelectorAll("article")) {
    const parent = article.getAttribute("data-parent") || "";
    Object.assign(messages.get(article.id), { article, parent });
    messages.get(parent).children.push(article.id);
    article.setAttribute("tabindex", "-1");
  }
  for (const message of messages.values()) message.children.sort((one, other) => number(one) - number(other));
  for (const id of shown) chosen.set(messages.get(id).parent, id);
  for (const branch of document.querySelectorAll("main > details")) branch.remove();

  const below = (id) => chosen.get(id) || messages.get(id).children[messages.get(id).children.length - 1];

  // Returns the branch of a message: all messages above it, itself, and those below it that were shown last.
  function branchOf(id) {
    const branch = [];
    for (let at = id; at; at = messages.get(at).parent) branch.push(at);
    branch.reverse();
    for (const at of branch) chosen.set(messages.get(at).parent, at);
    for (let at = below(id); at; at = below(at)) branch.push(at);
    return branch;
  }

  // Puts a branch into the column and marks it in the tree. Messages that are shown already stay as they are.
  function show(branch) {
    let same = 0;
    while (same < shown.length && shown[same] === branch[same]) same += 1;
    messages.get(shown[shown.length - 1]).link.removeAttribute("aria-current");
    for (const id of shown.slice(same)) {
      messages.get(id).article.remove();
      messages.get(id).link.classList.remove("on");
    }
    for (const id of branch.slice(same)) {
      column.append(messages.get(id).article);
      messages.get(id).link.classList.add("on");
    }
    messages.get(branch[branch.length - 1]).link.setAttribute("aria-current", "true");
    trunk.setAttribute("d", branch.map((id) => messages.get(id).line).join(""));
    shown = branch;
  }

  // Only one link of the tree is reached with Tab; arrow keys go to the others.
  let stop = links[0];
  function moveStop(link) {
    stop.setAttribute("tabindex", "-1");
    link.setAttribute("tabindex", "0");
    stop = link;
  }

  function isInSight(article) {
    const box = article.getBoundingClientRect();
    return box.top < innerHeight && box.bottom > 0;
  }

  // Scrolls the tree so that a link of it is in sight.
  function reveal(link) {
    const circle = link.querySelector("circle");
    const x = Number(circle.getAttribute("cx"));
    const y = Number(circle.getAttribute("cy"));
    if (x < pane.scrollLeft || x > pane.scrollLeft + pane.clientWidth) pane.scrollLeft = x - pane.clientWidth / 2;
    if (y < pane.scrollTop || y > pane.scrollTop + pane.clientHeight) pane.scrollTop = y - pane.clientHeight / 2;
  }

  // Goes to the message that the address names; without one, back to the first branch. A version that replaces another
  // one stays in its place on the screen.
  const first = shown[shown.length - 1];
  function follow() {
    const id = location.hash.slice(1);
    if (id && !messages.has(id)) return;
    const { article, link, parent } = messages.get(id || first);
    const origin = document.activeElement;
    const rel = origin && origin.closest(".versions") ? origin.getAttribute("rel") : null;
    const before = messages.get(shown[shown.indexOf(parent) + 1]);
    const staysInPlace = before && before.article !== article && before.parent === parent && isInSight(before.article);
    show(branchOf(id || first));
    moveStop(link);
    for (const old of document.querySelectorAll(".here")) old.classList.remove("here");
    if (!id) return;
    reveal(link);
    if (!staysInPlace) {
      article.classList.add("here");
      article.scrollIntoView();
    }
    // Whoever goes through the versions can go on with the same key.
    const next = rel && (article.querySelector(".versions [rel=" + rel + "]") || article.querySelector(".versions a"));
    (next || article).focus({ preventScroll: true });
  }

  // Returns the link beside, above or below another one in the tree; null if there is none.
  function neighbour(link, key) {
    const { parent, children } = messages.get(link.getAttribute("href").slice(1));
    const row = (other) => other && other.querySelector("circle").getAttribute("cy");
    const at = links.indexOf(link);
    const beside = { ArrowLeft: links[at - 1], ArrowRight: links[at + 1] }[key];
    if (beside) return row(beside) === row(link) ? beside : null;
    return { ArrowUp: messages.get(parent).link, ArrowDown: children.length && messages.get(children[0]).link }[key];
  }

  function onKey(event) {
    const { key, target } = event;
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    const link = target.closest("#tree a");
    const article = target.closest("article");
    if (key === "Escape" && fold.open && !isWide) {
      fold.open = false;
      fold.querySelector("summary").focus();
    } else if (event.altKey && (key === "ArrowUp" || key === "ArrowDown")) {
      const current = article ? shown.indexOf(article.id) : shown.findIndex((id) => isInSight(messages.get(id).article));
      const next = messages.get(shown[current + (key === "ArrowUp" ? -1 : 1)]);
      if (next) next.article.focus();
    } else if (event.altKey || !key.startsWith("Arrow")) {
      return;
    } else if (link) {
      const next = neighbour(link, key);
      if (next) {
        moveStop(next);
        reveal(next);
        next.focus({ preventScroll: true });
      }
    } else if (article && !target.closest("pre") && (key === "ArrowLeft" || key === "ArrowRight")) {
      const version = article.querySelector(".versions [rel=" + (key === "ArrowLeft" ? "prev" : "next") + "]");
      if (!version) return;
      version.click();
    } else {
      return;
    }
    event.preventDefault();
  }

  fold.open = isWide;
  addEventListener("hashchange", follow);
  addEventListener("keydown", onKey);
  fold.addEventListener("click", (event) => {
    if (event.target.closest("a") && !isWide) fold.open = false;
  });
  follow();
}

// A small document for tests of page scripts: elements with attributes, classes, a few selectors, focus and events.
// `load` makes it from nested lists: [tag, attributes, children].
"use strict";
var listeners = {};
var innerHeight = 100;
var location = {
  value: "",
  get hash() { return this.value && "#" + this.value; },
  set hash(name) {
    name = name.replace("#", "");
    if (name === this.value) return;
    this.value = name;
    (listeners.hashchange || []).forEach((listener) => listener({}));
  },
};
var isWide = true;
function matchMedia() { return { matches: isWide }; }
function addEventListener(type, listener) { (listeners[type] = listeners[type] || []).push(listener); }

class Element {
  constructor(tag, attributes, children) {
    this.tag = tag;
    this.attributes = attributes;
    this.parent = null;
    this.children = [];
    this.listeners = {};
    this.top = 0;
    this.calls = [];
    this.open = "open" in attributes;
    this.scrollTop = this.scrollLeft = 0;
    this.clientWidth = this.clientHeight = 100;
    this.append(...children);
    const element = this;
    const set = (classes) => element.setAttribute("class", classes.join(" "));
    this.classList = {
      add(name) { if (!element.classes.includes(name)) set([...element.classes, name]); },
      remove(name) { set(element.classes.filter((one) => one !== name)); },
    };
  }
  get id() { return this.attributes.id || ""; }
  get classes() { return (this.attributes.class || "").split(" ").filter((name) => name); }
  getAttribute(name) { return name in this.attributes ? this.attributes[name] : null; }
  setAttribute(name, value) { this.attributes[name] = String(value); }
  removeAttribute(name) { delete this.attributes[name]; }
  append(...children) {
    for (const child of children) {
      child.remove();
      child.parent = this;
      this.children.push(child);
    }
  }
  remove() {
    if (this.parent) this.parent.children.splice(this.parent.children.indexOf(this), 1);
    this.parent = null;
    if (document.activeElement && document.activeElement.isIn(this)) document.activeElement = null;
  }
  isIn(other) { return this === other || (this.parent !== null && this.parent.isIn(other)); }
  isCompound(selector) {
    const parts = selector.match(/^[a-z]+|#[\w-]+|\.[\w-]+|\[\w+=\w+\]/g) || [];
    if (parts.join("") !== selector) throw new Error("not supported: " + selector);
    return parts.every((part) => {
      if (part[0] === "#") return this.id === part.slice(1);
      if (part[0] === ".") return this.classes.includes(part.slice(1));
      if (part[0] === "[") return this.getAttribute(part.slice(1, part.indexOf("="))) === part.slice(part.indexOf("=") + 1, -1);
      return this.tag === part;
    });
  }
  matches(selector) {
    const parts = selector.split(" ");
    if (!this.isCompound(parts.pop())) return false;
    if (!parts.length) return true;
    const isChild = parts[parts.length - 1] === ">";
    if (isChild) parts.pop();
    const above = parts.join(" ");
    if (isChild) return this.parent !== null && this.parent.matches(above);
    return this.parent !== null && this.parent.closest(above) !== null;
  }
  closest(selector) { return this.matches(selector) ? this : this.parent && this.parent.closest(selector); }
  querySelectorAll(selector) {
    const found = [];
    for (const child of this.children) {
      if (child.matches(selector)) found.push(child);
      found.push(...child.querySelectorAll(selector));
    }
    return found;
  }
  querySelector(selector) { return this.querySelectorAll(selector)[0] || null; }
  getBoundingClientRect() { return { top: this.top, bottom: this.top + 10 }; }
  scrollIntoView() { this.calls.push("scrollIntoView"); }
  focus() { document.activeElement = this; }
  addEventListener(type, listener) { (this.listeners[type] = this.listeners[type] || []).push(listener); }
  click() {
    for (let at = this; at; at = at.parent) (at.listeners.click || []).forEach((listener) => listener({ target: this }));
    if (this.tag === "a") location.hash = this.getAttribute("href");
  }
}

var document = new Element("html", {}, []);
document.activeElement = null;

function made([tag, attributes, children]) { return new Element(tag, attributes, children.map(made)); }
function load(page) { document.append(made(JSON.parse(page))); }

// Presses a key where the focus is. Returns whether the page used it.
function press(key, altKey = false) {
  let isUsed = false;
  const target = document.activeElement || document.querySelector("main");
  const event = { key, altKey, target, ctrlKey: false, metaKey: false, shiftKey: false, preventDefault() { isUsed = true; } };
  listeners.keydown.forEach((listener) => listener(event));
  return isUsed;
}

function state() {
  return JSON.stringify({
    shown: document.querySelectorAll("main > article").map((article) => article.id),
    all: document.querySelectorAll("article").length,
    marked: document.querySelectorAll("#tree .on").map((link) => link.getAttribute("href").slice(1)),
    current: document.querySelectorAll("#tree a").filter((link) => link.getAttribute("aria-current")).map((link) => link.getAttribute("href").slice(1)),
    stops: document.querySelectorAll("#tree a").filter((link) => link.getAttribute("tabindex") === "0").map((link) => link.getAttribute("href").slice(1)),
    here: document.querySelectorAll(".here").map((article) => article.id),
    trunk: document.querySelector("#tree .trunk").getAttribute("d"),
    focus: document.activeElement && (document.activeElement.id || document.activeElement.getAttribute("rel") || document.activeElement.getAttribute("href") || document.activeElement.tag),
    isOpen: document.querySelector("#tree details").open,
  });
}

// What is folded stands compressed in the page and is unpacked where it is unfolded.
const unpack = async (name) => {
  const held = document.querySelector(`script[data-name="${CSS.escape(name)}"]`);
  const bytes = Uint8Array.from(atob(held.textContent), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
};
const fill = async (details) => {
  const box = details.querySelector(":scope > .lazy[data-block]");
  if (!box) return;
  const name = box.dataset.block;
  box.removeAttribute("data-block");
  box.innerHTML = await unpack(name);
};
document.addEventListener("toggle", ({ target }) => target.open && fill(target), true);

// An address is a path: "rrntn/paper/experiments/s-rnn-100" lies in what "rrntn", "rrntn/paper", … unfold to.
const go = async () => {
  const steps = decodeURIComponent(location.hash.slice(1)).split("/");
  let found = null;
  for (let length = 1; length <= steps.length; length++) {
    const step = document.getElementById(steps.slice(0, length).join("/"));
    if (!step) continue;
    found = step;
    if (step instanceof HTMLDetailsElement) {
      step.open = true;
      await fill(step);
    }
  }
  found?.scrollIntoView();
};
addEventListener("hashchange", go);
if (location.hash) go();

const field = document.querySelector(".search input");
const list = document.querySelector(".search ul");
let index = null;
field.form.addEventListener("submit", (event) => event.preventDefault());
field.addEventListener("input", async () => {
  index ??= JSON.parse(await unpack("index"));
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = words.length ? index.filter(([, text]) => words.every((word) => text.toLowerCase().includes(word))) : [];
  // A name comes before what begins with it. Of all else, what has most of the words in its address comes first.
  const asked = words.join(" ");
  const rank = ([address]) => {
    const name = address.split("/").at(-1).toLowerCase();
    const parts = address.toLowerCase().split(/\W+/);
    return name === asked ? 0 : name.startsWith(asked) ? 1 : 2 + words.filter((word) => !parts.includes(word)).length;
  };
  found.sort((one, other) => rank(one) - rank(other));
  list.replaceChildren(
    ...found.slice(0, 30).map(([address, text]) => {
      const link = Object.assign(document.createElement("a"), { href: `#${address}`, textContent: text });
      const item = document.createElement("li");
      item.append(link);
      return item;
    }),
    ...(words.length && !found.length ? ["Nothing found."] : []),
  );
});

// What is folded stands compressed in the page and is unpacked where it is unfolded.
const unpackText = async (name) => {
  const script = document.querySelector(`script[data-name="${CSS.escape(name)}"]`);
  const bytes = Uint8Array.from(atob(script.textContent), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
};
const fillDetails = async (details) => {
  const box = details.querySelector(":scope > .lazy[data-block]");
  if (!box) return;
  const name = box.dataset.block;
  box.removeAttribute("data-block");
  box.innerHTML = await unpackText(name);
};
document.addEventListener("toggle", ({ target }) => target.open && fillDetails(target), true);

// An address is a path: "rrntn/paper/experiments/s-rnn-100" lies in what "rrntn", "rrntn/paper", … unfold to.
const openAddress = async () => {
  const steps = decodeURIComponent(location.hash.slice(1)).split("/");
  let last = null;
  for (let length = 1; length <= steps.length; length++) {
    const element = document.getElementById(steps.slice(0, length).join("/"));
    if (!element) continue;
    last = element;
    if (element instanceof HTMLDetailsElement) {
      element.open = true;
      await fillDetails(element);
    }
  }
  last?.scrollIntoView();
};
addEventListener("hashchange", openAddress);
if (location.hash) openAddress();

const field = document.querySelector(".search input");
const list = document.querySelector(".search ul");
let index = null;
field.form.addEventListener("submit", (event) => event.preventDefault());
field.addEventListener("input", async () => {
  index ??= JSON.parse(await unpackText("index"));
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  const matches = words.length
    ? index.filter(([, text]) => words.every((word) => text.toLowerCase().includes(word)))
    : [];
  // A name comes before what begins with it. Of all else, what has most of the words in its address comes first.
  const query = words.join(" ");
  const rank = ([address]) => {
    const name = address.split("/").at(-1).toLowerCase();
    const parts = address.toLowerCase().split(/\W+/);
    return name === query ? 0 : name.startsWith(query) ? 1 : 2 + words.filter((word) => !parts.includes(word)).length;
  };
  matches.sort((first, second) => rank(first) - rank(second));
  list.replaceChildren(
    ...matches.slice(0, 30).map(([address, text]) => {
      const link = Object.assign(document.createElement("a"), { href: `#${address}`, textContent: text });
      const item = document.createElement("li");
      item.append(link);
      return item;
    }),
    ...(words.length && !matches.length ? ["Nothing found."] : []),
  );
});

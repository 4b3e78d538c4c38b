// Turns the modules in this page into addresses that `import` knows, then starts the viewer.
(async () => {
  const stop = (text) => {
    const note = document.getElementById("note");
    note.textContent = text;
    note.hidden = false;
  };
  if (!("DecompressionStream" in window) || !HTMLScriptElement.supports?.("importmap")) {
    stop("This browser is too old to show the page; any current Firefox, Chrome, Edge or Safari can.");
    return;
  }
  const unpack = async (text) => {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).arrayBuffer();
  };
  const imports = {};
  const address = (name, content) => {
    imports[name] = URL.createObjectURL(new Blob([content], { type: "text/javascript" }));
  };
  for (const script of document.querySelectorAll("script[data-packed]")) {
    address(script.dataset.packed, await unpack(script.textContent));
  }
  for (const script of document.querySelectorAll("script[data-module]")) {
    address(script.dataset.module, script.textContent);
  }
  const map = document.createElement("script");
  map.type = "importmap";
  map.textContent = JSON.stringify({ imports });
  document.head.append(map);
  const settings = JSON.parse(document.getElementById("scene").textContent);
  const numbers = await unpack(document.getElementById("numbers").textContent);
  const { start } = await import("liegeo/viewer.js");
  try {
    window.liegeo = start(settings, numbers);
  } catch (error) {
    if (!(error instanceof Error) || !/WebGL/.test(error.message)) throw error;
    stop("This browser shows no 3-D graphics (WebGL is off or missing).");
  }
})();

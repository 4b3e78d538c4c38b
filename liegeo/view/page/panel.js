// Controls around the picture: they change the stage and the clock, and show what these say.

import { short } from "liegeo/plot.js";

const get = (id) => document.getElementById(id);

const TOGGLES = {
  joints: "joints", grid: "grid", axes: "axes", shadows: "shadows", traces: "traces", arrows: "arrows",
  colors: "displacement", wireframe: "wires",
};
const SPEEDS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10];
const PLAY = "M4 2l10 6-10 6z", PAUSE = "M3.5 2h3v12h-3zM9.5 2h3v12h-3z";

function element(name, attributes = {}, ...children) {
  const made = Object.assign(document.createElement(name), attributes);
  made.append(...children);
  return made;
}

export class Panel {
  constructor(stage, clock, settings) {
    this.stage = stage;
    this.clock = clock;
    const { runs } = stage;
    const some = (what) => runs.some((run) => run.description[what].length > 0);
    this.flexible = runs.some((run) => run.bodies.some((body) => body.modes > 0));
    this.#toggles({ traces: some("traces"), arrows: some("arrows"), colors: this.flexible });
    this.#scales(some("arrows"));
    this.#bodies(settings);
    this.#marks();
    this.#bar();
    this.#keys();
    for (const button of document.querySelectorAll("[data-view]")) {
      button.addEventListener("click", () => this.view(button.dataset.view));
    }
    get("follow").append(...runs[0].bodies.map(({ name }) => element("option", { value: name, textContent: name })));
    get("follow").addEventListener("change", (event) => {
      stage.follow(event.target.value || null);
      clock.refresh();
    });
    document.body.classList.toggle("bare", window.innerWidth <= 640);
    this.#expanded();
  }

  // With one frame alone there is nothing to play, but joints and modes can be moved by hand.
  arrange(alone) {
    for (const id of ["play", "back", "forth", "time", "speed", "loop"]) get(id).disabled = alone;
    get("bar").classList.toggle("still", alone);
    if (alone && !get("joint-sliders").children.length && !get("mode-sliders").children.length) this.#sliders();
  }

  #toggles(there) {
    for (const [option, text] of Object.entries(TOGGLES)) {
      if (there[option] === false) continue;
      const box = element("input", { type: "checkbox", id: `show-${option}`, checked: this.stage.options[option] });
      box.addEventListener("change", () => this.show(option, box.checked));
      get("toggles").append(element("label", {}, box, text));
    }
  }

  show(option, value) {
    this.stage.set(option, value);
    const box = get(`show-${option}`);
    if (box) box.checked = value;
    this.clock.refresh();
    this.scaleBar();
  }

  #scales(arrows) {
    const { stage } = this;
    get("scales").hidden = !this.flexible && !arrows;
    get("magnify-row").hidden = !this.flexible;
    get("arrows-row").hidden = !arrows;
    const magnify = get("magnify");
    magnify.value = Math.log10(stage.magnify);
    magnify.addEventListener("input", () => {
      // It stays at exactly one when it comes near.
      const power = Math.abs(magnify.value) < 0.03 ? 0 : Number(magnify.value);
      this.magnify(10 ** power, false);
    });
    magnify.addEventListener("change", () => this.magnify(stage.magnify, true));
    get("magnify-value").textContent = short(stage.magnify);
    get("arrows-value").textContent = "1.000";
    get("arrows").addEventListener("input", (event) => {
      stage.arrowScale = 10 ** Number(event.target.value);
      get("arrows-value").textContent = short(stage.arrowScale);
      this.clock.refresh();
    });
  }

  magnify(factor, settled = true) {
    this.stage.magnify = factor;
    get("magnify").value = Math.log10(factor);
    get("magnify-value").textContent = short(factor);
    // Traces go through all frames, so they wait until the slider rests.
    if (settled) this.stage.traces();
    this.clock.refresh();
  }

  scaleBar() {
    get("scale-row").hidden = !this.stage.options.colors;
    get("scale-end").textContent = `${short(this.stage.largestDisplacement())} m`;
  }

  #bodies(settings) {
    const { stage } = this;
    stage.runs[0].bodies.forEach(({ name, color }) => {
      const made = stage.sets.flatMap((set) => set.bodies.filter((body) => body.name === name));
      const box = element("input", { type: "checkbox", checked: true });
      const swatch = element("span", { className: "swatch" });
      swatch.style.background = color;
      const label = element("label", {}, box, swatch, element("span", { textContent: name }));
      box.addEventListener("change", () => {
        for (const { group } of made) group.visible = box.checked;
        stage.dirty = true;
      });
      const light = (on) => {
        for (const { material } of made) material.emissive.set(on ? "#555b66" : "#000000");
        stage.dirty = true;
      };
      label.addEventListener("pointerenter", () => light(true));
      label.addEventListener("pointerleave", () => light(false));
      get("bodies").append(element("li", {}, label));
    });
    const choose = settings.choose && stage.runs.length > 1;
    get("choice-row").hidden = !choose;
    if (choose) {
      const choice = get("choice");
      choice.append(...stage.runs.map((run, k) => element("option", { value: k, textContent: run.label })));
      const chosen = () => {
        stage.choose(Number(choice.value));
        get("status").textContent = stage.runs[choice.value].label;
        this.clock.refresh();
      };
      choice.addEventListener("change", chosen);
      chosen();
    } else if (stage.runs.length > 1) {
      const labels = stage.runs.map((run, k) => `${run.label}${k ? " (pale)" : ""}`);
      get("status").textContent = labels.join(", ");
    }
  }

  #marks() {
    const { stage } = this;
    const { traces, arrows } = stage.sets[0];
    get("marks-row").hidden = !traces.length && !arrows.length;
    const add = (name, color) => {
      const swatch = element("span", { className: "swatch thin" });
      swatch.style.background = color;
      get("marks").append(element("li", {}, swatch, name));
    };
    for (const { name, ribbon } of traces) add(name, `#${ribbon.material.uniforms.color.value.getHexString()}`);
    for (const { name, arrow } of arrows) add(name, `#${arrow.shaft.material.color.getHexString()}`);
  }

  #bar() {
    const { clock } = this;
    get("play").addEventListener("click", () => clock.toggle());
    get("back").addEventListener("click", () => clock.step(-1));
    get("forth").addEventListener("click", () => clock.step(1));
    get("time").addEventListener("input", (event) => clock.seek(Number(event.target.value)));
    get("loop").addEventListener("change", (event) => (clock.loop = event.target.checked));
    this.speeds = [...new Set([...SPEEDS, clock.speed])].sort((a, b) => a - b);
    get("speed").append(...this.speeds.map((s) => element("option", { value: s, textContent: `${s} ×` })));
    get("speed").value = clock.speed;
    get("speed").addEventListener("change", (event) => clock.setSpeed(Number(event.target.value)));
    get("help-button").addEventListener("click", () => get("help").showModal());
    get("panel-button").addEventListener("click", () => this.#fold());
  }

  #fold() {
    document.body.classList.toggle("bare");
    this.#expanded();
    document.dispatchEvent(new Event("fold"));
  }

  // Width of the picture that lies under the panel; a narrow page has it below.
  covered() {
    const wide = window.innerWidth > 640 && !document.body.classList.contains("bare");
    return wide ? get("panel").offsetWidth + 12 : 0;
  }

  #expanded() {
    get("panel-button").setAttribute("aria-expanded", String(!document.body.classList.contains("bare")));
  }

  #keys() {
    const { clock } = this;
    const faster = (by) => {
      const place = this.speeds.indexOf(clock.speed) + by;
      if (this.speeds[place]) clock.setSpeed(this.speeds[place]);
    };
    const keys = {
      " ": () => clock.toggle(),
      ArrowLeft: (event) => clock.step(event.shiftKey ? -10 : -1),
      ArrowRight: (event) => clock.step(event.shiftKey ? 10 : 1),
      Home: () => clock.seek(clock.start),
      End: () => clock.seek(clock.end),
      ",": () => faster(-1),
      ".": () => faster(1),
      l: () => get("loop").click(),
      h: () => this.view("home"),
      f: () => this.view("fit"),
      x: () => this.view("x"),
      y: () => this.view("y"),
      z: () => this.view("z"),
      p: () => this.#fold(),
      "?": () => get("help").showModal(),
    };
    window.addEventListener("keydown", (event) => {
      const { target } = event;
      if (event.ctrlKey || event.metaKey || event.altKey || get("help").open || target.closest?.("select")) return;
      // Controls keep the keys that they use themselves.
      if (event.key === " " && target.closest?.("button, summary, input[type=checkbox]")) return;
      if (target.type === "range" && target.id !== "time" && event.key.length > 1) return;
      const action = keys[event.key];
      if (!action) return;
      event.preventDefault();
      action(event);
    });
  }

  view(name) {
    const { stage } = this;
    // A live page may have nothing to look at yet.
    if (!stage.points) return;
    if (name === "home") stage.home();
    else if (name === "fit") stage.fit();
    else {
      const side = this.looked === name ? 1 : -1;
      this.looked = side < 0 ? name : null;
      // Straight down the vertical the camera would have no upright; so nearly.
      stage.look({
        x: stage.vector(-side, 0, 0), y: stage.vector(0, side, 0), z: stage.vector(0, 1e-4 * side, -side),
      }[name]);
      return;
    }
    this.looked = null;
  }

  #sliders() {
    const { stage, clock } = this;
    const add = (box, name, range, step, action) => {
      const value = element("output", { textContent: "0" });
      const slider = element("input", { type: "range", min: -range, max: range, step, value: 0 });
      slider.addEventListener("input", () => {
        value.textContent = short(Number(slider.value));
        action(Number(slider.value));
        clock.refresh();
      });
      slider.addEventListener("change", () => {
        stage.traces();
        clock.refresh();
      });
      get(box).append(element("label", {}, `${name} `, value, slider));
    };
    const run = stage.runs[0];
    run.bodies.forEach((body, b) => {
      // A joint in a loop does not move alone.
      if (body.screw && !run.description.closed) {
        const turns = body.screw.slice(0, 3).some((x) => x !== 0);
        const range = turns ? Math.PI : stage.size;
        add("joint-sliders", body.joint, range, range / 200, (value) => (body.moved = value));
      }
      const { skin } = stage.sets[0].bodies[b];
      for (let k = 0; skin && k < Math.min(body.modes, 12); k++) {
        // At the end of its slider a mode moves some point by a fifth of the size.
        const n = skin.vertices.length;
        const largest = skin.modes.subarray(k * n, (k + 1) * n).reduce((a, x) => Math.max(a, Math.abs(x)), 0);
        const range = largest > 0 ? (0.2 * stage.size) / largest : 1;
        add("mode-sliders", `${body.name}.eta[${k}]`, range, range / 200, (value) => (run.added[body.first + k] = value));
      }
    });
    for (const what of ["joint", "mode"]) {
      const row = get(`${what}s-row`);
      row.hidden = !get(`${what}-sliders`).children.length;
      row.open = true;
    }
  }

  // Called with every picture.
  update() {
    const { clock } = this;
    const slider = get("time");
    slider.min = clock.start;
    slider.max = clock.end;
    slider.value = clock.time;
    get("clock").textContent = `${clock.time.toFixed(clock.digits)} s`;
    get("play-icon").setAttribute("d", clock.playing ? PAUSE : PLAY);
    get("play").setAttribute("aria-label", clock.playing ? "Pause" : "Play");
    get("speed").value = clock.speed;
  }

  status(text) {
    get("status").textContent = text;
  }
}

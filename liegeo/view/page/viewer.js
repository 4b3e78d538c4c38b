// The viewer: runs, the stage, the clock and the panel, and the handle `window.liegeo`.

import { Vector3 } from "three";
import { Arrays, fromBase64 } from "liegeo/data.js";
import { Run } from "liegeo/motion.js";
import { Stage } from "liegeo/stage.js";
import { Plot } from "liegeo/plot.js";
import { Panel } from "liegeo/panel.js";

class Clock {
  constructor(runs, speed) {
    this.runs = runs;
    this.speed = speed;
    this.playing = false;
    this.loop = true;
    this.live = false;
    this.changed = true;
    this.range();
    this.time = this.start;
  }

  range() {
    const there = this.runs.filter((run) => run.length);
    this.start = there.length ? Math.min(...there.map((run) => run.start)) : 0;
    this.end = there.length ? Math.max(...there.map((run) => run.end)) : 0;
    const span = this.end - this.start;
    this.digits = span > 0 ? Math.min(Math.max(3 - Math.floor(Math.log10(span)), 0), 9) : 3;
  }

  get alone() {
    return this.end <= this.start;
  }

  refresh() {
    this.changed = true;
  }

  seek(time) {
    this.time = Math.min(Math.max(time, this.start), this.end);
    this.refresh();
  }

  step(by) {
    this.pause();
    const [run] = this.runs;
    if (!run.length) return;
    // A hair before a frame counts as on it: sliders round.
    const [frame, share] = run.locate(this.time);
    const from = frame + (share > (by < 0 ? 1e-6 : 1 - 1e-6) ? 1 : 0);
    this.seek(run.time(Math.min(Math.max(from + by, 0), run.length - 1)));
  }

  play() {
    if (this.alone && !this.live) return;
    if (this.time >= this.end && !this.live) this.seek(this.start);
    this.playing = true;
    this.refresh();
  }

  pause() {
    this.playing = false;
    this.refresh();
  }

  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }

  setSpeed(speed) {
    this.speed = speed;
    this.refresh();
  }

  advance(seconds) {
    if (!this.playing) return;
    let time = this.time + seconds * this.speed;
    if (time > this.end) {
      // While frames come in, the newest one is waited at.
      if (this.live || !this.loop) time = this.end;
      else time = this.start + ((time - this.start) % (this.end - this.start || 1));
      if (!this.live && !this.loop) this.playing = false;
    }
    this.seek(time);
  }
}

function listen(viewer) {
  const { clock, panel, stage } = viewer;
  const source = new EventSource("frames");
  let known = false;
  clock.live = true;
  panel.status("waiting for the run …");
  source.addEventListener("open", () => {
    for (const run of stage.runs) run.clear();
  });
  source.addEventListener("message", (event) => {
    const message = JSON.parse(event.data);
    if (message.frames) {
      stage.runs[0].append(message.frames, fromBase64(message.data));
      clock.range();
      // The picture is arranged by the first frames, and again when there are four times as many.
      if (!known || stage.runs[0].length > 4 * known) {
        stage.measure();
        if (!known) stage.home();
        known = stage.runs[0].length;
      } else {
        stage.sets.forEach((set) => set.scales());
        stage.traces();
      }
      clock.refresh();
      panel.status("live");
    } else {
      source.close();
      clock.live = false;
      viewer.finished = true;
      panel.status(message.end || "run complete");
      if (stage.runs[0].length) stage.measure();
      panel.arrange(clock.alone);
      clock.refresh();
    }
  });
  source.addEventListener("error", () => {
    source.close();
    clock.live = false;
    panel.status("the run has gone");
  });
}

export function start(settings, numbers) {
  const arrays = new Arrays(numbers);
  const runs = settings.runs.map((run) => new Run(run, arrays));
  const canvas = document.getElementById("view");
  const clock = new Clock(runs, settings.speed);
  const stage = new Stage(canvas, runs, arrays, settings);
  const panel = new Panel(stage, clock, settings);
  const viewer = { stage, clock, panel, finished: !settings.live };

  let plot = null;
  if (runs[0].description.plots.length) {
    document.getElementById("plots").hidden = false;
    const legend = document.getElementById("plot-legend");
    plot = new Plot(document.getElementById("plot"), legend, runs, (time) => clock.seek(time));
  }

  const resize = () => {
    stage.resize(canvas.clientWidth, canvas.clientHeight, panel.covered());
    plot?.resize();
    clock.refresh();
  };
  new ResizeObserver(resize).observe(canvas);
  resize();
  document.addEventListener("fold", resize);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    stage.theme();
    if (plot) plot.still = null;
    clock.refresh();
  });

  const tip = document.getElementById("tip");
  canvas.addEventListener("pointermove", (event) => {
    const name = event.buttons || clock.playing
      ? null
      : stage.under((2 * event.offsetX) / canvas.clientWidth - 1, 1 - (2 * event.offsetY) / canvas.clientHeight);
    tip.hidden = !name;
    tip.textContent = name ?? "";
    tip.style.left = `${event.offsetX}px`;
    tip.style.top = `${event.offsetY}px`;
  });
  canvas.addEventListener("pointerleave", () => (tip.hidden = true));

  let pictures = 0;
  const draw = () => {
    if (clock.changed && runs[0].length) {
      clock.changed = false;
      stage.show(clock.time);
      panel.update();
      if (stage.options.colors) panel.scaleBar();
      plot?.draw(clock.time, clock.start, clock.end);
    }
    if (stage.render()) pictures += 1;
  };
  let before = performance.now();
  const loop = (now) => {
    clock.advance(Math.min(0.25, Math.max(0, (now - before) / 1000)));
    before = now;
    draw();
    requestAnimationFrame(loop);
  };

  if (settings.live) {
    clock.playing = true;
    listen(viewer);
  } else {
    stage.measure();
    stage.home();
    panel.arrange(clock.alone);
    if (!matchMedia("(prefers-reduced-motion: reduce)").matches) clock.play();
  }
  requestAnimationFrame(loop);
  return handle(viewer, draw, () => pictures);
}

// What tests, and people at the console, can ask and set.  Runs are counted from 0.
function handle(viewer, draw, pictures) {
  const { stage, clock, panel } = viewer;
  const body = (name, run) => stage.sets[run].bodies.find((one) => one.name === name);
  const named = (list, name) => list.find((one) => one.name === name);
  const now = (action) => {
    action();
    clock.refresh();
    draw();
  };
  return {
    get time() { return clock.time; },
    get range() { return [clock.start, clock.end]; },
    get playing() { return clock.playing; },
    get speed() { return clock.speed; },
    get magnification() { return stage.magnify; },
    get finished() { return viewer.finished; },
    get pictures() { return pictures(); },
    bodies: (run = 0) => stage.runs[run].bodies.map(({ name }) => name),
    frames: (run = 0) => stage.runs[run].length,
    times: (run = 0) => Array.from(stage.runs[run].tracks.t.data.subarray(0, stage.runs[run].length)),
    play: () => clock.play(),
    pause: () => clock.pause(),
    seek: (time) => now(() => clock.seek(time)),
    setSpeed: (speed) => clock.setSpeed(speed),
    magnify: (factor) => now(() => panel.magnify(factor)),
    show: (option, value) => now(() => panel.show(option, value)),
    choose: (run) => now(() => {
      const choice = document.getElementById("choice");
      choice.value = run;
      choice.dispatchEvent(new Event("change"));
    }),
    shown: () => stage.sets.flatMap((set, k) => (set.group.visible ? [k] : [])),
    look: (x, y, z) => now(() => stage.look(new Vector3(x, y, z))),
    // of a body: position and quaternion (x, y, z, w) as drawn
    position: (name, run = 0) => body(name, run).group.position.toArray(),
    quaternion: (name, run = 0) => body(name, run).group.quaternion.toArray(),
    // vertices of a flexible body in the world, as drawn
    vertices: (name, run = 0) => {
      const { skin, group } = body(name, run);
      group.updateMatrixWorld();
      const point = new Vector3();
      return Array.from({ length: skin.moved.length / 3 }, (_, k) =>
        point.fromArray(skin.moved, 3 * k).applyMatrix4(group.matrixWorld).toArray());
    },
    trace: (name, run = 0) => Array.from(named(stage.sets[run].traces, name).points),
    arrow: (name, run = 0) => {
      const { origin, vector, arrow } = named(stage.sets[run].arrows, name);
      return { origin: origin.toArray(), vector: vector.toArray(), visible: arrow.visible && stage.options.arrows };
    },
  };
}

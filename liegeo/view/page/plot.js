// Curves below the picture: a row for each unit, with a cursor at the present time.

const COLORS = ["#3b7dd8", "#e08a1e", "#2fa57b", "#c65d9b", "#8a6fd1", "#d2603a", "#4fb0c6", "#a3a847"];
const LEFT = 70, RIGHT = 14, ROW = 84, GAP = 12;

export class Plot {
  constructor(canvas, legend, runs, seek) {
    this.canvas = canvas;
    this.runs = runs;
    const columns = runs[0].description.plots;
    const units = [...new Set(columns.map((column) => column.unit))];
    this.rows = units.map((unit) => ({
      unit, columns: columns.flatMap((column, k) => (column.unit === unit ? [{ ...column, k, color: COLORS[k % COLORS.length] }] : [])),
    }));
    this.values = [];
    for (const { columns } of this.rows) {
      for (const column of columns) {
        const item = document.createElement("li");
        const swatch = document.createElement("span");
        swatch.className = "swatch";
        swatch.style.background = column.color;
        const value = document.createElement("output");
        item.append(swatch, `${column.name} `, value);
        legend.append(item);
        this.values.push([column, value]);
      }
    }
    canvas.style.height = `${ROW * this.rows.length}px`;
    const drag = (event) => {
      if (event.buttons & 1) seek(this.start + ((event.offsetX - LEFT) / (this.width - LEFT - RIGHT)) * (this.end - this.start));
    };
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      drag(event);
    });
    canvas.addEventListener("pointermove", drag);
  }

  resize() {
    const ratio = Math.min(window.devicePixelRatio, 2);
    this.width = this.canvas.clientWidth;
    this.height = this.canvas.clientHeight;
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.ratio = ratio;
    this.still = null;
  }

  // The curves themselves, drawn once and kept.
  #curves(start, end) {
    const still = document.createElement("canvas");
    still.width = this.canvas.width;
    still.height = this.canvas.height;
    const context = still.getContext("2d");
    context.scale(this.ratio, this.ratio);
    const ink = getComputedStyle(document.documentElement);
    const faint = ink.getPropertyValue("--line"), text = ink.getPropertyValue("--quiet");
    context.font = "11px system-ui, sans-serif";
    const x = (t) => LEFT + ((t - start) / (end - start || 1)) * (this.width - LEFT - RIGHT);
    this.rows.forEach(({ unit, columns }, r) => {
      const top = r * ROW + GAP / 2, height = ROW - GAP;
      let low = Infinity, high = -Infinity;
      for (const run of this.runs) {
        for (const { k } of columns) {
          const [a, b] = run.tracks.plotted.range(k);
          low = Math.min(low, a);
          high = Math.max(high, b);
        }
      }
      if (!(high > low)) [low, high] = [low - 1, low + 1];
      const y = (v) => top + height - 4 - ((v - low) / (high - low)) * (height - 8);
      context.fillStyle = text;
      context.textAlign = "right";
      context.textBaseline = "top";
      context.fillText(short(high), LEFT - 6, top);
      context.textBaseline = "bottom";
      context.fillText(short(low), LEFT - 6, top + height);
      context.textBaseline = "middle";
      context.fillText(unit, LEFT - 6, top + height / 2);
      context.strokeStyle = faint;
      context.lineWidth = 1;
      context.strokeRect(LEFT + 0.5, top + 0.5, this.width - LEFT - RIGHT, height);
      if (low < 0 && high > 0) {
        context.beginPath();
        context.moveTo(LEFT, y(0));
        context.lineTo(this.width - RIGHT, y(0));
        context.stroke();
      }
      context.lineWidth = 1.6;
      context.lineJoin = "round";
      this.runs.forEach((run, number) => {
        context.setLineDash(number ? [5, 4] : []);
        for (const { k, color } of columns) {
          context.strokeStyle = color;
          context.beginPath();
          for (let i = 0; i < run.length; i++) {
            const value = run.tracks.plotted.at(i, 0, k);
            if (i) context.lineTo(x(run.time(i)), y(value));
            else context.moveTo(x(run.time(i)), y(value));
          }
          context.stroke();
        }
      });
      context.setLineDash([]);
    });
    return still;
  }

  draw(time, start, end) {
    if (!this.width || !this.runs[0].length) return;
    if (!this.still || this.start !== start || this.end !== end) {
      Object.assign(this, { start, end });
      this.still = this.#curves(start, end);
    }
    const context = this.canvas.getContext("2d");
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    context.drawImage(this.still, 0, 0);
    context.scale(this.ratio, this.ratio);
    const x = LEFT + ((time - start) / (end - start || 1)) * (this.width - LEFT - RIGHT);
    context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--accent");
    context.fillRect(x - 0.75, 0, 1.5, this.height);
    const run = this.runs[0];
    for (const [{ k, unit }, value] of this.values) {
      value.textContent = `${short(run.tracks.plotted.at(run.frame, run.share, k))} ${unit}`;
    }
  }
}

export function short(number) {
  if (number === 0) return "0";
  const size = Math.abs(number);
  return size >= 1e5 || size < 1e-3 ? number.toExponential(2) : number.toPrecision(4);
}

// Where everything is at a given time: poses between frames, deformation magnified, places that deform.
//
// With X the pose of a body, N(η) that of a node in it (exp(Φ_r η) R₀, p₀ + Φ_t η, and terms of second order), a child C
// on a parent P is kept at its joint when η is magnified to k η:
//   J = (X_P N_P(η))⁻¹ X_C N_C(η),   X_C' = X_P' N_P(kη) J N_C(kη)⁻¹.

import { Quaternion, Vector3 } from "three";
import { Track } from "liegeo/data.js";

export class Pose {
  constructor(numbers) {
    this.p = new Vector3();
    this.q = new Quaternion();
    if (numbers) {
      this.p.fromArray(numbers, 0);
      this.q.fromArray(numbers, 3);
    }
  }

  copy(other) {
    this.p.copy(other.p);
    this.q.copy(other.q);
    return this;
  }

  // this ← this · other
  then(other) {
    this.p.add(point.copy(other.p).applyQuaternion(this.q));
    this.q.multiply(other.q);
    return this;
  }

  invert() {
    this.q.conjugate();
    this.p.applyQuaternion(this.q).negate();
    return this;
  }
}

const point = new Vector3();
const turn = new Quaternion();
const other = new Quaternion();

// q ← exp(θ)
function fromRotationVector(q, x, y, z) {
  const angle = Math.hypot(x, y, z);
  const s = angle > 1e-8 ? Math.sin(0.5 * angle) / angle : 0.5;
  return q.set(s * x, s * y, s * z, Math.cos(0.5 * angle));
}

// A place on a body, or in the world (body −1), which may deform.
export class Anchor {
  constructor(description, arrays) {
    this.body = description.body;
    this.rest = new Pose(description.pose);
    this.modes = description.modes && arrays.get(description.modes);
    this.second = description.second && arrays.get(description.second);
    this.n = description.modes ? description.modes.shape[1] : 0;
    this.moved = new Float64Array(6);
  }

  // Its pose in the body, for the modal coordinates eta[start …].
  inBody(eta, start, out) {
    out.copy(this.rest);
    if (!this.modes) return out;
    const { n, modes, second, moved } = this;
    for (let d = 0; d < 6; d++) {
      let sum = 0;
      for (let k = 0; k < n; k++) {
        let slope = modes[d * n + k];
        if (second) {
          for (let l = 0; l < n; l++) slope += 0.5 * second[(d * n + k) * n + l] * eta[start + l];
        }
        sum += slope * eta[start + k];
      }
      moved[d] = sum;
    }
    out.q.premultiply(fromRotationVector(turn, moved[0], moved[1], moved[2]));
    out.p.x += moved[3];
    out.p.y += moved[4];
    out.p.z += moved[5];
    return out;
  }
}

export class Run {
  constructor(description, arrays) {
    this.description = description;
    this.label = description.label;
    let modes = 0;
    this.bodies = description.bodies.map((body) => {
      const made = {
        ...body,
        first: modes,
        outer: new Anchor(body.outer, arrays),
        inner: new Anchor(body.inner, arrays),
        pose: new Pose(),
        shown: new Pose(),
        // how far a slider has moved its joint
        moved: 0,
      };
      modes += body.modes;
      return made;
    });
    const count = (what) => description[what].length;
    this.tracks = {
      t: new Track(1),
      position: new Track(3 * this.bodies.length),
      quaternion: new Track(4 * this.bodies.length),
      eta: new Track(modes),
      spin: new Track(this.bodies.filter((body) => body.spin).length),
      vectors: new Track(3 * count("arrows")),
      plotted: new Track(count("plots")),
    };
    this.eta = new Float64Array(modes);
    this.shown = new Float64Array(modes);
    // what sliders add to modal coordinates
    this.added = new Float64Array(modes);
    this.frame = 0;
    this.share = 0;
    if (description.frames) this.append(description.frames, arrays);
  }

  append(frames, arrays) {
    const rows = frames.t.shape[0];
    for (const [name, track] of Object.entries(this.tracks)) track.append(arrays.get(frames[name]), rows);
  }

  clear() {
    for (const track of Object.values(this.tracks)) track.length = 0;
  }

  get length() {
    return this.tracks.t.length;
  }

  time(i) {
    return this.tracks.t.data[i];
  }

  get start() {
    return this.time(0);
  }

  get end() {
    return this.time(this.length - 1);
  }

  // The last frame that is not after the time, and how much of the way to the next one has gone.
  locate(time) {
    let low = 0, high = this.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.time(middle) <= time) low = middle;
      else high = middle - 1;
    }
    const last = low === this.length - 1;
    const share = last ? 0 : (time - this.time(low)) / (this.time(low + 1) - this.time(low));
    return [low, Math.min(Math.max(share, 0), 1)];
  }

  show(time, magnify) {
    [this.frame, this.share] = this.locate(time);
    this.evaluate(this.frame, this.share, magnify);
  }

  evaluate(i, s, magnify) {
    const { position, quaternion, eta } = this.tracks;
    let changed = false;
    for (let k = 0; k < this.eta.length; k++) {
      this.eta[k] = eta.at(i, s, k);
      this.shown[k] = magnify * this.eta[k] + this.added[k];
      changed ||= this.shown[k] !== this.eta[k];
    }
    this.bodies.forEach((body, b) => {
      body.pose.p.set(position.at(i, s, 3 * b), position.at(i, s, 3 * b + 1), position.at(i, s, 3 * b + 2));
      body.pose.q.fromArray(quaternion.data, i * quaternion.width + 4 * b).normalize();
      if (s > 0) {
        other.fromArray(quaternion.data, (i + 1) * quaternion.width + 4 * b).normalize();
        body.pose.q.slerp(other, s);
      }
      body.shown.copy(body.pose);
      changed ||= body.moved !== 0;
    });
    if (changed) for (const body of this.bodies) this.#follow(body);
  }

  // Parents stand before their children, so that theirs is known.
  #follow(body) {
    const parent = body.parent < 0 ? null : this.bodies[body.parent];
    const outer = (eta) => body.outer.inBody(eta, parent ? parent.first : 0, new Pose());
    const inner = (eta) => body.inner.inBody(eta, body.first, new Pose());
    const node = new Pose();
    if (parent) node.copy(parent.pose);
    const joint = node.then(outer(this.eta)).invert().then(body.pose).then(inner(this.eta));
    if (body.moved !== 0) joint.then(this.#screw(body));
    const shown = body.shown;
    if (parent) shown.copy(parent.shown).then(outer(this.shown));
    else shown.copy(outer(this.shown));
    shown.then(joint).then(inner(this.shown).invert());
  }

  // exp of what a slider has moved a joint of one screw, (w, v) with v along w.
  #screw(body) {
    const [wx, wy, wz, vx, vy, vz] = body.screw.map((x) => x * body.moved);
    const out = new Pose();
    fromRotationVector(out.q, wx, wy, wz);
    out.p.set(vx, vy, vz);
    return out;
  }

  // Where an anchor is now.
  place(anchor, out) {
    const body = anchor.body < 0 ? null : this.bodies[anchor.body];
    const local = anchor.inBody(this.shown, body ? body.first : 0, new Pose());
    return body ? out.copy(body.shown).then(local) : out.copy(local);
  }
}

// What is drawn: bodies, joints, springs, traces, arrows, the ground, light, and the camera.

import {
  Box3, BufferAttribute, Color, DirectionalLight, DoubleSide, Group, HemisphereLight, Mesh, MeshBasicMaterial, MeshStandardMaterial,
  PCFShadowMap, PerspectiveCamera, PlaneGeometry, Raycaster, Scene, ShadowMaterial, SphereGeometry,
  SRGBColorSpace, Vector2, Vector3, WebGLRenderer, BoxGeometry,
} from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";
import { Anchor, Pose } from "liegeo/motion.js";
import { Arrow, coil, cylinder, ground, letter, partGeometries, Ribbon, scaleColor, spread, surface } from "liegeo/geometry.js";

const Z = new Vector3(0, 0, 1);
// Frames that are looked at to find how far everything goes.
const LOOKS = 48;
const AXES = [["x", "#d9534f"], ["y", "#3f9d4f"], ["z", "#3b7dd8"]];
const KINDS = { force: "#e5484d", moment: "#8e5bd6" };
const TRACES = ["#e08a1e", "#3b7dd8", "#2fa57b", "#c65d9b", "#8a6fd1", "#4fb0c6"];

function style(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

export class Stage {
  constructor(canvas, runs, arrays, settings) {
    this.runs = runs;
    this.size = Math.max(...runs.map((run) => run.description.size));
    this.options = {
      joints: true, grid: true, axes: true, traces: true, arrows: true, shadows: true, wireframe: false, colors: false,
    };
    this.magnify = settings.magnify;
    this.arrowScale = 1;
    this.time = 0;
    this.followed = null;
    this.reach = 1;

    this.renderer = new WebGLRenderer({ canvas, antialias: true });
    this.renderer.outputColorSpace = SRGBColorSpace;
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = PCFShadowMap;
    this.scene = new Scene();
    this.camera = new PerspectiveCamera(35, 1, 0.01, 1000);
    this.camera.up.copy(Z);
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.enableDamping = true;
    this.controls.dampingFactor = 0.12;
    this.controls.zoomToCursor = true;
    this.controls.addEventListener("change", () => (this.dirty = true));

    this.#light();
    this.#ground();
    // Runs of which one is shown at a time are all as solid as the first.
    this.sets = runs.map((run, k) => new RunSet(this, run, arrays, settings.choose ? 0 : k));
    if (settings.choose) this.choose(0);
    this.theme();
    this.dirty = true;
  }

  #light() {
    this.sky = new HemisphereLight(0xffffff, 0x8c8f96, 1.6);
    this.sky.position.copy(Z);
    this.sun = new DirectionalLight(0xffffff, 2.2);
    this.sun.castShadow = true;
    this.sun.shadow.mapSize.set(2048, 2048);
    this.sun.shadow.radius = 3;
    this.sun.shadow.intensity = 0.75;
    this.fill = new DirectionalLight(0xdfe8ff, 0.7);
    this.scene.add(this.sky, this.sun, this.sun.target, this.fill, this.fill.target);
  }

  #ground() {
    this.grid = ground();
    this.shadow = new Mesh(new PlaneGeometry(2, 2), new ShadowMaterial({ opacity: 0.22 }));
    this.shadow.receiveShadow = true;
    this.axes = new Group();
    const thickness = 0.004 * this.size;
    for (const [k, [name, color]] of AXES.entries()) {
      const direction = new Vector3().setComponent(k, 1);
      const arrow = new Arrow(new MeshBasicMaterial({ color }), "force", thickness);
      arrow.set(new Vector3(), direction, 0.22 * this.size);
      const text = letter(name, color);
      text.position.copy(direction).multiplyScalar(0.255 * this.size);
      text.scale.setScalar(0.07 * this.size);
      this.axes.add(arrow, text);
    }
    const gravity = new Vector3(...this.runs[0].description.gravity);
    this.scene.add(this.grid, this.shadow, this.axes);
    if (gravity.length() > 0) {
      // Hangs beside the axes, and says which way things fall.
      this.down = new Group();
      const arrow = new Arrow(new MeshBasicMaterial({ color: "#8d949e" }), "force", thickness);
      const start = new Vector3(-0.07, -0.07, 0).multiplyScalar(this.size);
      arrow.set(start, gravity, 0.16 * this.size);
      const text = letter("g", "#8d949e");
      text.position.copy(gravity).setLength(0.2 * this.size).add(start);
      text.scale.setScalar(0.07 * this.size);
      this.down.add(arrow, text);
      this.axes.add(this.down);
    }
  }

  theme() {
    this.scene.background = new Color(style("--sky"));
    this.grid.material.uniforms.color.value.set(style("--grid"));
    this.shadow.material.opacity = Number(style("--shade"));
    this.sky.groundColor.set(style("--bounce"));
    this.dirty = true;
  }

  // Corners of what is seen during the runs.
  #outermost() {
    this.points = [];
    for (const { run, bodies, lines } of this.sets) {
      const n = run.length;
      for (let k = 0; k < Math.min(LOOKS, n); k++) {
        run.evaluate(n > 1 ? Math.round((k * (n - 1)) / (Math.min(LOOKS, n) - 1)) : 0, 0, this.magnify);
        run.bodies.forEach((body, b) => {
          for (const corner of bodies[b].corners) {
            this.points.push(corner.clone().applyQuaternion(body.shown.q).add(body.shown.p));
          }
        });
        for (const { a, b } of lines) for (const end of [a, b]) this.points.push(run.place(end, here).p.clone());
      }
    }
    if (!this.points.length) this.points.push(this.vector(-1, -1, -1), this.vector(1, 1, 1));
  }

  // How far everything goes; the ground lies below it, or at z = 0 if nothing comes deeper.
  measure() {
    this.#outermost();
    const box = new Box3().setFromPoints(this.points);
    this.box = box;
    this.radius = Math.max(0.5 * box.getSize(new Vector3()).length(), 1e-9);
    this.center = box.getCenter(new Vector3());
    // Axes and arrows are seen beside many small bodies too.
    this.reach = Math.max(1, (0.3 * this.radius) / this.size);
    this.axes.scale.setScalar(this.reach);
    const floor = box.min.z > -0.02 * this.radius ? Math.min(0, box.min.z) : box.min.z - 0.02 * this.radius;
    // A thing that flies far above z = 0 gets its ground too.
    const height = box.min.z > 4 * this.radius ? box.min.z - 0.5 * this.radius : floor;
    const step = 10 ** Math.floor(Math.log10(0.45 * this.radius));
    const reach = 5 * this.radius;
    this.grid.material.uniforms.step.value = step * (this.radius / step > 10 ? 2 : 1);
    this.grid.material.uniforms.radius.value = reach;
    this.grid.material.uniforms.middle.value.set(this.center.x, this.center.y);
    for (const plane of [this.grid, this.shadow]) {
      plane.position.set(this.center.x, this.center.y, height);
      plane.scale.setScalar(reach);
    }
    this.shadow.position.z -= 1e-3 * this.radius;
    this.#aim();
    this.sets.forEach((set) => set.scales());
    this.traces();
  }

  #aim() {
    const { center, radius } = this;
    this.sun.target.position.copy(center);
    this.sun.position.set(-0.5, -0.7, 1.5).multiplyScalar(3 * radius).add(center);
    this.fill.target.position.copy(center);
    this.fill.position.set(1, 0.6, 0.3).multiplyScalar(3 * radius).add(center);
    const camera = this.sun.shadow.camera;
    const wide = 1.5 * radius;
    Object.assign(camera, { left: -wide, right: wide, top: wide, bottom: -wide, near: radius, far: 12 * radius });
    camera.updateProjectionMatrix();
    this.sun.shadow.normalBias = 0.004 * radius;
  }

  // The direction from which motion is seen best: across the plane in which it happens, if there is one.
  home() {
    const extent = this.box.getSize(new Vector3());
    const largest = Math.max(extent.x, extent.y, extent.z);
    const direction = new Vector3(0.62, -1, 0.5);
    if (extent.z < 0.3 * largest) direction.set(0.35, -0.9, 0.85);
    else if (extent.y < 0.45 * largest) direction.set(0.4, -1, 0.28);
    else if (extent.x < 0.45 * largest) direction.set(1, -0.4, 0.28);
    this.look(direction);
  }

  // See everything from this direction.
  look(direction) {
    const back = direction.clone().normalize();
    const right = new Vector3().crossVectors(Z, back).normalize();
    const up = new Vector3().crossVectors(back, right);
    const high = Math.tan((this.camera.fov * Math.PI) / 360);
    const wide = high * this.free;
    // At the middle of what is seen from there, and as near as its outermost points allow, with a margin.
    const seen = new Box3().setFromPoints(
      this.points.map((point) => new Vector3(point.dot(right), point.dot(up), point.dot(back))));
    const middle = seen.getCenter(new Vector3());
    const { target } = this.controls;
    target.copy(right).multiplyScalar(middle.x).addScaledVector(up, middle.y).addScaledVector(back, middle.z);
    let distance = 0;
    const point = new Vector3();
    for (const one of this.points) {
      point.copy(one).sub(target);
      const side = Math.max(Math.abs(point.dot(right)) / wide, Math.abs(point.dot(up)) / high);
      distance = Math.max(distance, point.dot(back) + side);
    }
    distance = Math.max(1.12 * distance, 0.1 * this.radius);
    this.camera.position.copy(back).setLength(distance).add(target);
    this.camera.near = 0.002 * this.radius;
    this.camera.far = 60 * this.radius;
    this.camera.updateProjectionMatrix();
    this.controls.minDistance = 0.02 * this.radius;
    this.controls.maxDistance = 20 * this.radius;
    this.controls.update();
    this.dirty = true;
  }

  vector(x, y, z) {
    return new Vector3(x, y, z);
  }

  fit() {
    this.#outermost();
    this.show(this.time);
    this.look(this.camera.position.clone().sub(this.controls.target));
  }

  // `covered` pixels at the right lie under the panel: what is looked at stands in the middle of the others.
  resize(width, height, covered = 0) {
    this.renderer.setPixelRatio(Math.min(window.devicePixelRatio, 2));
    this.renderer.setSize(width, height, false);
    this.camera.aspect = width / Math.max(height, 1);
    this.free = Math.max(width - covered, 0.3 * width) / Math.max(height, 1);
    this.camera.setViewOffset(width, height, covered / 2, 0, width, height);
    const pixels = this.renderer.getDrawingBufferSize(new Vector2());
    for (const set of this.sets) {
      for (const { ribbon } of set.traces) {
        ribbon.material.uniforms.size.value.copy(pixels);
        ribbon.material.uniforms.width.value = 2.2 * this.renderer.getPixelRatio();
      }
    }
    this.dirty = true;
  }

  // Show one run alone.
  choose(number) {
    this.sets.forEach((set, k) => (set.group.visible = k === number));
    this.dirty = true;
  }

  set(option, value) {
    this.options[option] = value;
    this.dirty = true;
  }

  // Paths of frames depend on how much deformation is magnified.
  traces() {
    this.sets.forEach((set) => set.draw());
    this.dirty = true;
  }

  follow(name) {
    this.followed = name;
    this.last = null;
  }

  show(time) {
    this.time = time;
    const seen = this.sets.filter((set) => set.group.visible);
    for (const set of seen) {
      set.run.show(time, this.magnify);
      if (this.options.colors) set.measure();
    }
    for (const set of seen) {
      set.update();
    }
    this.#carry();
    this.dirty = true;
  }

  // The camera moves with the body that it follows.
  #carry() {
    const body = this.followed && this.runs[0].bodies.find((one) => one.name === this.followed);
    if (!body) return;
    if (this.last) {
      const step = body.shown.p.clone().sub(this.last);
      this.camera.position.add(step);
      this.controls.target.add(step);
    }
    this.last = body.shown.p.clone();
  }

  render() {
    this.controls.update();
    if (!this.dirty) return false;
    this.dirty = false;
    const { joints, grid, axes, traces, arrows, shadows, wireframe } = this.options;
    this.grid.visible = grid;
    this.shadow.visible = shadows;
    this.sun.castShadow = shadows;
    this.axes.visible = axes;
    for (const set of this.sets) {
      set.joints.visible = joints && set.group.visible;
      set.ribbons.visible = traces && set.group.visible;
      set.vectors.visible = arrows && set.group.visible;
      for (const material of set.materials) material.wireframe = wireframe;
    }
    this.renderer.render(this.scene, this.camera);
    return true;
  }

  // One scale for all runs, so that they can be compared.
  largest(kind) {
    return Math.max(...this.sets.map((set) => set.largest[kind]));
  }

  largestDisplacement() {
    return Math.max(0, ...this.sets.flatMap((set) => set.bodies.map(({ skin }) => skin?.largest ?? 0)));
  }

  // The body under a point of the canvas, in −1 … 1.
  under(x, y) {
    this.ray ??= new Raycaster();
    this.ray.setFromCamera(new Vector2(x, y), this.camera);
    const seen = this.sets.map((set) => set.group).filter((group) => group.visible);
    const hit = this.ray.intersectObjects(seen, true).find((one) => one.object.userData.body);
    return hit ? hit.object.userData.body : null;
  }
}

// All that belongs to one run.
class RunSet {
  constructor(stage, run, arrays, number) {
    this.stage = stage;
    this.run = run;
    this.group = new Group();
    this.ribbons = new Group();
    this.vectors = new Group();
    this.joints = new Group();
    this.materials = [];
    // Every run after the first one is a ghost.
    this.ghost = number > 0;
    const { description } = run;
    this.bodies = run.bodies.map((body) => this.#body(body, arrays));
    this.#world(description.world ?? [], arrays);
    this.marks = description.joints.map((joint) => this.#joint(joint, arrays));
    this.lines = description.lines.map((line) => this.#line(line, arrays));
    this.traces = description.traces.map(({ name, anchor }, k) => {
      const ribbon = new Ribbon(TRACES[k % TRACES.length], 2);
      ribbon.material.uniforms.opacity.value = this.ghost ? 0.45 : 1;
      this.ribbons.add(ribbon);
      return { name, anchor: new Anchor(anchor, arrays), ribbon, points: new Float64Array(0) };
    });
    this.arrows = description.arrows.map(({ name, kind, axes, anchor }) => {
      const material = this.#material(KINDS[kind]);
      // Seen through the bodies that they act in.
      Object.assign(material, { depthTest: false, transparent: true, opacity: this.ghost ? 0.35 : 0.92 });
      const arrow = new Arrow(material, kind, 0.008 * stage.size);
      arrow.traverse((one) => (one.renderOrder = 10));
      this.vectors.add(arrow);
      return { name, kind, axes, arrow, anchor: new Anchor(anchor, arrays), origin: new Vector3(), vector: new Vector3() };
    });
    stage.scene.add(this.group, this.ribbons, this.vectors, this.joints);
  }

  #material(color) {
    const material = new MeshStandardMaterial({ color, roughness: 0.55, metalness: 0.05 });
    if (this.ghost) Object.assign(material, { transparent: true, opacity: 0.3, depthWrite: false });
    this.materials.push(material);
    return material;
  }

  #mesh(geometry, material, name) {
    const mesh = new Mesh(geometry, material);
    mesh.castShadow = mesh.receiveShadow = !this.ghost;
    mesh.userData.body = name;
    return mesh;
  }

  // What does not move.
  #world(parts, arrays) {
    for (const part of parts) {
      const place = new Pose(part.pose);
      for (const [geometry] of partGeometries(part, arrays)) {
        const mesh = this.#mesh(geometry, this.#material(part.color ?? "#aeb4bd"), "world");
        mesh.material.side = DoubleSide;
        mesh.position.copy(place.p);
        mesh.quaternion.copy(place.q);
        this.group.add(mesh);
      }
    }
  }

  #body(body, arrays) {
    const group = new Group();
    const made = { group, name: body.name, skin: null, corners: [] };
    const material = this.#material(body.color);
    made.material = material;
    const box = new Box3();
    for (const part of body.parts) {
      const place = new Pose(part.pose);
      for (const [geometry, dark] of partGeometries(part, arrays)) {
        let paint = part.color && part.color !== body.color ? this.#material(part.color) : material;
        if (dark) {
          paint = this.#material(body.color);
          paint.color.multiplyScalar(0.35);
        }
        // Meshes that people bring may be open, or turned inside out.
        if (part.kind === "mesh") paint.side = DoubleSide;
        const mesh = this.#mesh(geometry, paint, body.name);
        mesh.position.copy(place.p);
        mesh.quaternion.copy(place.q);
        mesh.updateMatrix();
        group.add(mesh);
        geometry.computeBoundingBox();
        box.union(geometry.boundingBox.clone().applyMatrix4(mesh.matrix));
      }
    }
    if (body.skin) {
      const vertices = arrays.get(body.skin.vertices);
      const geometry = surface(vertices, arrays.get(body.skin.triangles));
      const mesh = this.#mesh(geometry, material, body.name);
      mesh.frustumCulled = false;
      group.add(mesh);
      geometry.computeBoundingBox();
      box.union(geometry.boundingBox);
      made.skin = {
        mesh, vertices, modes: arrays.get(body.skin.modes), moved: Float64Array.from(vertices), largest: null,
      };
    }
    if (!box.isEmpty()) {
      const { min, max } = box;
      for (const x of [min.x, max.x]) {
        for (const y of [min.y, max.y]) for (const z of [min.z, max.z]) made.corners.push(new Vector3(x, y, z));
      }
    }
    this.group.add(group);
    return made;
  }

  #joint({ name, kind, axis, anchor }, arrays) {
    const size = this.stage.size;
    const shapes = {
      hinge: () => cylinder(0.024 * size, 0.09 * size, 32),
      slide: () => new BoxGeometry(0.04 * size, 0.04 * size, 0.12 * size),
      plane: () => new BoxGeometry(0.08 * size, 0.08 * size, 0.006 * size),
      ball: () => new SphereGeometry(0.03 * size, 32, 20),
    };
    this.steel ??= this.#material("#70767f");
    const mesh = new Mesh(shapes[kind](), this.steel);
    mesh.castShadow = !this.ghost;
    const turn = new Pose();
    if (kind === "hinge" || kind === "slide") turn.q.setFromUnitVectors(Z, new Vector3(...axis).normalize());
    this.joints.add(mesh);
    return { name, mesh, turn, anchor: new Anchor(anchor, arrays) };
  }

  #line({ name, kind, a, b }, arrays) {
    const mesh = this.#mesh(undefined, this.#material("#8d949e"), name);
    mesh.frustumCulled = false;
    this.group.add(mesh);
    return { kind, mesh, a: new Anchor(a, arrays), b: new Anchor(b, arrays), length: -1 };
  }

  // What scales are made of: the largest force and moment of the run, but for rare peaks, and later the largest
  // displacement of each skin.
  scales() {
    const { vectors } = this.run.tracks;
    this.largest = {};
    for (const kind of Object.keys(KINDS)) {
      let largest = 0, squares = 0, count = 0;
      this.arrows.forEach((arrow, k) => {
        for (let i = 0; arrow.kind === kind && i < vectors.length; i++) {
          const at = i * vectors.width + 3 * k;
          const size = Math.hypot(vectors.data[at], vectors.data[at + 1], vectors.data[at + 2]);
          if (size > largest) largest = size;
          squares += size * size;
          count += 1;
        }
      });
      this.largest[kind] = Math.min(largest, 2 * Math.sqrt(squares / Math.max(count, 1)));
    }
    for (const { skin } of this.bodies) if (skin) skin.largest = null;
  }

  // Largest displacements of skins that are not known yet, from about a hundred frames.
  measure() {
    const { eta } = this.run.tracks;
    this.run.bodies.forEach((body, b) => {
      const { skin } = this.bodies[b];
      if (!skin || skin.largest !== null) return;
      skin.largest = 0;
      const step = Math.max(1, Math.floor(eta.length / 100));
      for (let i = 0; i < eta.length; i += step) {
        const distances = displacements(skin, eta.data.subarray(i * eta.width + body.first), body.modes);
        for (const distance of distances) skin.largest = Math.max(skin.largest, distance);
      }
    });
  }

  draw() {
    const place = new Pose();
    for (const trace of this.traces) trace.points = new Float64Array(3 * this.run.length);
    if (!this.traces.length) return;
    for (let i = 0; i < this.run.length; i++) {
      this.run.evaluate(i, 0, this.stage.magnify);
      for (const { anchor, points } of this.traces) this.run.place(anchor, place).p.toArray(points, 3 * i);
    }
    for (const { ribbon, points } of this.traces) ribbon.set(points);
  }

  update() {
    const { run } = this;
    let wheel = 0;
    run.bodies.forEach((body, b) => {
      const { group, skin } = this.bodies[b];
      group.position.copy(body.shown.p);
      group.quaternion.copy(body.shown.q);
      if (body.spin) {
        const angle = run.tracks.spin.at(run.frame, run.share, wheel++);
        turned.q.setFromAxisAngle(turned.p.set(...body.spin), angle);
        group.quaternion.multiply(turned.q);
      }
      if (skin) this.#bend(body, skin);
    });
    for (const { mesh, turn, anchor } of this.marks) {
      run.place(anchor, here).then(turn);
      mesh.position.copy(here.p);
      mesh.quaternion.copy(here.q);
    }
    for (const line of this.lines) this.#stretch(line);
    const frame = run.frame + run.share;
    for (const { ribbon } of this.traces) ribbon.material.uniforms.shown.value = frame;
    this.arrows.forEach((one, k) => this.#point(one, k));
  }

  #bend(body, skin) {
    const { vertices, modes, moved, mesh } = skin;
    moved.set(vertices);
    const n = vertices.length;
    for (let k = 0; k < body.modes; k++) {
      const eta = this.run.shown[body.first + k];
      if (eta !== 0) for (let j = 0, m = k * n; j < n; j++, m++) moved[j] += eta * modes[m];
    }
    spread(mesh.geometry, moved);
    const painted = this.stage.options.colors;
    if (painted) this.#paint(body, skin);
    if (mesh.material.vertexColors !== painted) {
      mesh.material.vertexColors = painted;
      mesh.material.color.set(painted ? "#ffffff" : body.color);
      mesh.material.needsUpdate = true;
    }
  }

  // Colours from displacement, as a share of the largest one of the runs.
  #paint(body, skin) {
    const eta = this.run.eta.slice(body.first, body.first + body.modes);
    eta.forEach((_, k) => (eta[k] += this.run.added[body.first + k]));
    const distances = displacements(skin, eta, body.modes);
    const { geometry } = skin.mesh;
    const { source } = geometry.userData;
    if (!geometry.attributes.color) {
      geometry.setAttribute("color", new BufferAttribute(new Float32Array(3 * source.length), 3));
    }
    const colors = geometry.attributes.color.array;
    const scale = this.stage.largestDisplacement();
    source.forEach((v, k) => scaleColor(scale > 0 ? distances[v] / scale : 0, colors, 3 * k));
    geometry.attributes.color.needsUpdate = true;
  }

  #stretch(line) {
    const a = this.run.place(line.a, here).p.clone();
    const b = this.run.place(line.b, here).p;
    const length = Math.max(a.distanceTo(b), 1e-9);
    const size = this.stage.size;
    if (Math.abs(length - line.length) > 1e-4 * length) {
      line.length = length;
      line.mesh.geometry.dispose();
      line.mesh.geometry = line.kind === "spring"
        ? coil(length, 0.03 * size, 0.005 * size)
        : cylinder(0.008 * size, length, 20).translate(0, 0, length / 2);
    }
    line.mesh.position.copy(a);
    line.mesh.quaternion.setFromUnitVectors(Z, b.clone().sub(a).divideScalar(length));
  }

  #point(one, k) {
    const { run, stage } = this;
    const { vectors } = run.tracks;
    one.vector.set(
      vectors.at(run.frame, run.share, 3 * k),
      vectors.at(run.frame, run.share, 3 * k + 1),
      vectors.at(run.frame, run.share, 3 * k + 2),
    );
    run.place(one.anchor, here);
    one.origin.copy(here.p);
    if (one.axes === "body") one.vector.applyQuaternion(run.bodies[one.anchor.body].shown.q);
    else if (one.axes === "frame") one.vector.applyQuaternion(here.q);
    const largest = stage.largest(one.kind);
    const length = largest > 0 ? (0.5 * stage.size * stage.reach * stage.arrowScale * one.vector.length()) / largest : 0;
    one.arrow.scale.setScalar(stage.reach);
    one.arrow.set(one.origin, one.vector, length / stage.reach);
  }
}

const here = new Pose();
const turned = new Pose();

// How far modal coordinates move each vertex of a skin.
function displacements({ vertices, modes }, eta, count) {
  const n = vertices.length;
  const moved = new Float64Array(n);
  for (let k = 0; k < count; k++) for (let j = 0, m = k * n; j < n; j++, m++) moved[j] += eta[k] * modes[m];
  return Float64Array.from({ length: n / 3 }, (_, v) => Math.hypot(moved[3 * v], moved[3 * v + 1], moved[3 * v + 2]));
}

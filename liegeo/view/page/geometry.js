// Shapes of things: skins with sharp edges, arrows, springs, ribbons, the ground.

import {
  BoxGeometry, BufferAttribute, BufferGeometry, CanvasTexture, Color, ConeGeometry, Curve, CylinderGeometry, DoubleSide,
  Group, Mesh, PlaneGeometry, ShaderMaterial, SphereGeometry, Sprite, SpriteMaterial, SRGBColorSpace, TubeGeometry, Vector2,
  Vector3,
} from "three";

// Edges sharper than this stay edges when light falls on them.
const CREASE = Math.cos((35 * Math.PI) / 180);

function faceNormals(vertices, triangles) {
  const normals = new Float32Array(triangles.length);
  const a = new Vector3(), b = new Vector3(), c = new Vector3();
  for (let f = 0; f < triangles.length; f += 3) {
    a.fromArray(vertices, 3 * triangles[f]);
    b.fromArray(vertices, 3 * triangles[f + 1]).sub(a);
    c.fromArray(vertices, 3 * triangles[f + 2]).sub(a);
    b.cross(c).normalize().toArray(normals, f);
  }
  return normals;
}

// Vertices of a surface, one copy for each smooth part that meets there: `source` says of which vertex, `index` which
// copies make triangles.
export function creased(vertices, triangles) {
  const normals = faceNormals(vertices, triangles);
  const dot = (f, g) =>
    normals[3 * f] * normals[3 * g] + normals[3 * f + 1] * normals[3 * g + 1] + normals[3 * f + 2] * normals[3 * g + 2];
  const corners = Array.from({ length: vertices.length / 3 }, () => []);
  triangles.forEach((vertex, corner) => corners[vertex].push(corner));
  const source = [];
  const index = new Uint32Array(triangles.length);
  corners.forEach((around, vertex) => {
    const left = new Set(around);
    for (const first of around) {
      if (!left.delete(first)) continue;
      const copy = source.push(vertex) - 1;
      const part = [first];
      for (const corner of part) {
        index[corner] = copy;
        for (const next of left) {
          if (dot(Math.floor(corner / 3), Math.floor(next / 3)) > CREASE) {
            left.delete(next);
            part.push(next);
          }
        }
      }
    }
  });
  return { source: Uint32Array.from(source), index };
}

export function surface(vertices, triangles) {
  const { source, index } = creased(vertices, triangles);
  const geometry = new BufferGeometry();
  geometry.setIndex(new BufferAttribute(index, 1));
  geometry.setAttribute("position", new BufferAttribute(new Float32Array(3 * source.length), 3));
  geometry.userData = { source };
  spread(geometry, vertices);
  geometry.computeBoundingSphere();
  return geometry;
}

// Give every copy the place of its vertex.
export function spread(geometry, vertices) {
  const { source } = geometry.userData;
  const position = geometry.attributes.position.array;
  for (let k = 0; k < source.length; k++) {
    position[3 * k] = vertices[3 * source[k]];
    position[3 * k + 1] = vertices[3 * source[k] + 1];
    position[3 * k + 2] = vertices[3 * source[k] + 2];
  }
  geometry.attributes.position.needsUpdate = true;
  geometry.computeVertexNormals();
}

// A cylinder along z, as liegeo has it; three.js has them along y.
export function cylinder(radius, length, sides = 40) {
  return new CylinderGeometry(radius, radius, length, sides).rotateX(Math.PI / 2);
}

// What a shape is made of: geometries, and whether they are drawn darker, as marks.
export function partGeometries(part, arrays) {
  switch (part.kind) {
    case "box":
      return [[new BoxGeometry(...part.size), false]];
    case "sphere":
      return [[new SphereGeometry(part.radius, 40, 24).rotateX(Math.PI / 2), false]];
    case "cylinder":
      return [[cylinder(part.radius, part.length), false]];
    case "mesh":
      return [[surface(arrays.get(part.vertices), arrays.get(part.triangles)), false]];
    case "wheel": {
      // Without marks nobody would see it turn.
      const { radius, length } = part;
      const marks = [0, 1, 2].map((k) =>
        new BoxGeometry(1.7 * radius, 0.12 * radius, 1.04 * length).rotateZ((k * Math.PI) / 3));
      return [[cylinder(radius, length, 64), false], ...marks.map((mark) => [mark, true])];
    }
    default:
      throw new Error(`unknown shape ${part.kind}`);
  }
}

// An arrow along z that is set to a length; moments have two heads.
export class Arrow extends Group {
  constructor(material, kind, thickness) {
    super();
    this.shaft = new Mesh(cylinder(thickness, 1, 16), material);
    this.heads = (kind === "moment" ? [0, 1] : [0]).map(() => {
      const head = new Mesh(new ConeGeometry(2.4 * thickness, 6 * thickness, 24).rotateX(Math.PI / 2), material);
      this.add(head);
      return head;
    });
    this.head = 6 * thickness;
    this.add(this.shaft);
  }

  set(origin, vector, length) {
    this.visible = length > 1e-6 * this.head;
    if (!this.visible) return;
    this.position.copy(origin);
    this.quaternion.setFromUnitVectors(Z, this.direction.copy(vector).normalize());
    // Short arrows shrink as a whole.
    const scale = Math.min(1, length / (1.6 * this.head));
    const head = this.head * scale;
    this.heads.forEach((one, k) => {
      one.scale.setScalar(scale);
      one.position.z = length - head / 2 - 0.7 * k * head;
    });
    const shaft = Math.max(length - head, 1e-9);
    this.shaft.scale.set(scale, scale, shaft);
    this.shaft.position.z = shaft / 2;
  }

  direction = new Vector3();
}

const Z = new Vector3(0, 0, 1);

class Coil extends Curve {
  constructor(length, radius, turns) {
    super();
    Object.assign(this, { length, radius, turns });
  }

  getPoint(share, out = new Vector3()) {
    // straight at both ends
    const inside = Math.min(Math.max((share - 0.12) / 0.76, 0), 1);
    const open = this.radius * Math.min(1, 12 * Math.min(inside, 1 - inside));
    const angle = 2 * Math.PI * this.turns * inside;
    return out.set(open * Math.cos(angle), open * Math.sin(angle), share * this.length);
  }
}

export function coil(length, radius, thickness) {
  return new TubeGeometry(new Coil(length, radius, 9), 220, thickness, 6);
}

// A line of some pixels' width, turned to the camera.
export class Ribbon extends Mesh {
  constructor(color, width) {
    super(new BufferGeometry(), new ShaderMaterial({
      uniforms: {
        color: { value: new Color(color) }, width: { value: width }, size: { value: new Vector2(1, 1) },
        opacity: { value: 1 }, shown: { value: 1e9 },
      },
      vertexShader: `
        attribute vec3 before, after;
        attribute float side, number;
        uniform vec2 size;
        uniform float width;
        varying float at;
        vec2 pixel(vec4 p) { return p.xy / max(abs(p.w), 1e-9) * size; }
        void main() {
          mat4 all = projectionMatrix * modelViewMatrix;
          vec4 here = all * vec4(position, 1.0);
          vec2 along = pixel(all * vec4(after, 1.0)) - pixel(all * vec4(before, 1.0));
          along = length(along) > 1e-6 ? normalize(along) : vec2(1.0, 0.0);
          here.xy += side * width * vec2(-along.y, along.x) / size * here.w;
          gl_Position = here;
          at = number;
        }`,
      // What is still to come is faint.
      fragmentShader: `
        uniform vec3 color;
        uniform float opacity, shown;
        varying float at;
        void main() {
          gl_FragColor = vec4(color, opacity * (at <= shown ? 1.0 : 0.25));
          #include <colorspace_fragment>
        }`,
      transparent: true, depthWrite: false, side: DoubleSide,
    }));
    this.frustumCulled = false;
  }

  // Points are x, y, z of one after another.
  set(points) {
    const n = points.length / 3;
    const attributes = { position: [], before: [], after: [] };
    for (const [name, shift] of [["position", 0], ["before", -1], ["after", 1]]) {
      const out = new Float32Array(6 * n);
      for (let k = 0; k < n; k++) {
        const from = 3 * Math.min(Math.max(k + shift, 0), n - 1);
        for (let d = 0; d < 3; d++) out[6 * k + d] = out[6 * k + 3 + d] = points[from + d];
      }
      attributes[name] = new BufferAttribute(out, 3);
    }
    const side = new Float32Array(2 * n), number = new Float32Array(2 * n);
    const index = [];
    for (let k = 0; k < n; k++) {
      side[2 * k] = 1;
      side[2 * k + 1] = -1;
      number[2 * k] = number[2 * k + 1] = k;
      if (k) index.push(2 * k - 2, 2 * k - 1, 2 * k, 2 * k, 2 * k - 1, 2 * k + 1);
    }
    this.geometry.dispose();
    this.geometry = new BufferGeometry();
    for (const [name, attribute] of Object.entries(attributes)) this.geometry.setAttribute(name, attribute);
    this.geometry.setAttribute("side", new BufferAttribute(side, 1));
    this.geometry.setAttribute("number", new BufferAttribute(number, 1));
    this.geometry.setIndex(index);
  }
}

// A level grid that fades with the distance from its middle.
export function ground() {
  const material = new ShaderMaterial({
    uniforms: {
      color: { value: new Color() }, step: { value: 1 }, radius: { value: 10 }, middle: { value: new Vector2() },
    },
    vertexShader: `
      uniform vec2 middle;
      varying vec2 at, away;
      void main() {
        vec4 world = modelMatrix * vec4(position, 1.0);
        at = world.xy;
        away = world.xy - middle;
        gl_Position = projectionMatrix * viewMatrix * world;
      }`,
    fragmentShader: `
      uniform vec3 color;
      uniform float step, radius;
      varying vec2 at, away;
      float lines(vec2 p, float width) {
        vec2 d = abs(fract(p - 0.5) - 0.5) / (fwidth(p) * width);
        return 1.0 - min(min(d.x, d.y), 1.0);
      }
      void main() {
        float strength = max(0.25 * lines(at / step, 1.1), 0.5 * lines(at / (5.0 * step), 1.2));
        float fade = 1.0 - smoothstep(0.25, 1.0, length(away) / radius);
        gl_FragColor = vec4(color, strength * fade);
        #include <colorspace_fragment>
      }`,
    transparent: true, depthWrite: false, side: DoubleSide,
  });
  return new Mesh(new PlaneGeometry(2, 2), material);
}

// A letter that faces the camera.
export function letter(text, color) {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 64;
  const context = canvas.getContext("2d");
  context.font = "600 44px system-ui, sans-serif";
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillStyle = color;
  context.fillText(text, 32, 34);
  const map = new CanvasTexture(canvas);
  map.colorSpace = SRGBColorSpace;
  return new Sprite(new SpriteMaterial({ map, depthWrite: false, transparent: true }));
}

// From 0 to 1: dark blue, teal, green, yellow, of even steps in lightness.
const SCALE = [[0.18, 0.2, 0.55], [0.13, 0.45, 0.62], [0.13, 0.64, 0.56], [0.47, 0.79, 0.36], [0.98, 0.88, 0.2]];

export function scaleColor(share, out, at) {
  const x = Math.min(Math.max(share, 0), 1) * (SCALE.length - 1);
  const k = Math.min(Math.floor(x), SCALE.length - 2);
  color.setRGB(
    ...[0, 1, 2].map((c) => SCALE[k][c] + (x - k) * (SCALE[k + 1][c] - SCALE[k][c])), "srgb").toArray(out, at);
}

const color = new Color();

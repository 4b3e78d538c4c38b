// Arrays as the page gets them: one run of bytes, and where each array stands in it.

const TYPES = { f4: Float32Array, f8: Float64Array, u4: Uint32Array };

export class Arrays {
  constructor(buffer) {
    this.buffer = buffer;
  }

  // A view of the numbers that a reference {at, shape, type} stands for.
  get(reference) {
    const length = reference.shape.reduce((a, b) => a * b, 1);
    return new TYPES[reference.type](this.buffer, reference.at, length);
  }
}

export function fromBase64(text) {
  return new Arrays(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer);
}

// Rows of numbers, one a frame, to which more can be added.
export class Track {
  constructor(width) {
    this.width = width;
    this.length = 0;
    this.data = new Float64Array(0);
  }

  append(numbers, rows) {
    const used = this.length * this.width;
    const needed = used + numbers.length;
    if (needed > this.data.length) {
      // A page that is not live never grows, so it takes what it needs and no more.
      const room = new Float64Array(used ? 2 * needed : needed);
      room.set(this.data.subarray(0, used));
      this.data = room;
    }
    this.data.set(numbers, used);
    this.length += rows;
  }

  // Number k of frame i, and of the way s to the next one.
  at(i, s, k) {
    const here = this.data[i * this.width + k];
    return s > 0 ? here + s * (this.data[(i + 1) * this.width + k] - here) : here;
  }

  // Smallest and largest of column k.
  range(k) {
    let low = Infinity, high = -Infinity;
    for (let i = 0; i < this.length; i++) {
      const value = this.data[i * this.width + k];
      if (value < low) low = value;
      if (value > high) high = value;
    }
    return [low, high];
  }
}

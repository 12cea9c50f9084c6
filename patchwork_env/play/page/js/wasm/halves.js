/** Numbers of 16 bits as numbers of 32 bits. */

/**
 * @param {Uint16Array} halves
 * @param {Float32Array} target
 */
export function expandHalves(halves, target) {
  const bits = new Uint32Array(target.buffer, target.byteOffset, target.length);
  for (let k = 0; k < bits.length; k++) bits[k] = bitsOf(halves[k]);
}

/** The bits of a float of 32 bits for those of one of 16 bits. */
function bitsOf(half) {
  const sign = (half & 0x8000) << 16;
  const exponent = (half >> 10) & 0x1f;
  const fraction = half & 0x3ff;
  if (exponent > 0) return sign | ((exponent + 112) << 23) | (fraction << 13);
  if (fraction === 0) return sign;
  const shift = Math.clz32(fraction) - 21; // the first bit becomes the one that is not stored
  return sign | ((113 - shift) << 23) | (((fraction << shift) & 0x3ff) << 13);
}

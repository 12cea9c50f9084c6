/** An optional quiet sound for every move. */

import { recall, remember } from "./storage.js";

const SECONDS = 0.09;
let context = null;

export const hasSound = () => recall("sound") ?? false;
export const setSound = (wanted) => remember("sound", wanted);

/** @param {import("./view.js").App} app */
export function mountSound(app) {
  app.session.addEventListener("change", ({ detail }) => {
    if (!detail.animate || !hasSound()) return;
    const { over, mover } = app.session.position;
    for (const pitch of over ? [392, 523, 659] : [mover === app.perspective() ? 330 : 247]) beep(pitch, over ? 6 : 1);
  });
}

function beep(pitch, length) {
  context ??= new AudioContext();
  const [tone, volume] = [context.createOscillator(), context.createGain()];
  const end = context.currentTime + length * SECONDS;
  tone.type = "triangle";
  tone.frequency.value = pitch;
  volume.gain.setValueAtTime(0.12, context.currentTime);
  volume.gain.exponentialRampToValueAtTime(0.001, end);
  tone.connect(volume).connect(context.destination);
  tone.start();
  tone.stop(end);
}

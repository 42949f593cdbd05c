import type { Detection } from "../lib/index.js";

/** Okabe-Ito sky blue and orange: told apart with any colour vision. */
const BOX = "#56b4e9";
const POINT = "#e69f00";

/** Draws boxes and keypoints over a picture of `width` x `height` pixels. */
export function drawDetections(
  canvas: HTMLCanvasElement,
  width: number,
  height: number,
  detections: readonly Detection[],
): void {
  if (canvas.width !== width || canvas.height !== height) {
    canvas.width = width;
    canvas.height = height;
  }
  const context = canvas.getContext("2d");
  if (!context) return;
  context.clearRect(0, 0, width, height);
  const unit = Math.max(1, width / 320);
  context.lineWidth = 1.5 * unit;
  context.font = `${8 * unit}px system-ui, sans-serif`;
  for (const box of detections) {
    context.strokeStyle = BOX;
    context.strokeRect(box.x, box.y, box.width, box.height);
    const label = `${Math.round(box.score * 100)} %`;
    context.fillStyle = BOX;
    const labelWidth = context.measureText(label).width + 4 * unit;
    context.fillRect(box.x, box.y - 10 * unit, labelWidth, 10 * unit);
    context.fillStyle = "#0b1117";
    context.fillText(label, box.x + 2 * unit, box.y - 2 * unit);
    context.fillStyle = POINT;
    for (const point of box.keypoints) {
      context.beginPath();
      context.arc(point.x, point.y, 1.6 * unit, 0, 2 * Math.PI);
      context.fill();
    }
  }
}

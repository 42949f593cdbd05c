import type { Detection } from "../lib/index.js";
import { visiblePart } from "./detector.js";

/** Okabe-Ito sky blue and orange: told apart with any colour vision. */
const BOX = "#56b4e9";
const POINT = "#e69f00";
/** Over the parts of the picture that the detector does not look at. */
const UNSEEN = "rgb(5 8 11 / 45%)";

/** Empties the canvas. */
export function clearOverlay(canvas: HTMLCanvasElement): void {
  canvas.getContext("2d")?.clearRect(0, 0, canvas.width, canvas.height);
}

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
  const part = visiblePart(width, height);
  context.fillStyle = UNSEEN;
  context.fillRect(0, 0, part.x, height);
  context.fillRect(part.x + part.width, 0, part.x, height);
  context.fillRect(0, 0, width, part.y);
  context.fillRect(0, part.y + part.height, width, part.y);
  const unit = Math.max(1, Math.max(width, height) / 320);
  context.lineWidth = 1.5 * unit;
  context.font = `600 ${8 * unit}px system-ui, sans-serif`;
  for (const box of detections) {
    context.strokeStyle = BOX;
    context.strokeRect(box.x, box.y, box.width, box.height);
    const label = `${Math.round(box.score * 100)} %`;
    const [labelWidth, labelHeight] = [context.measureText(label).width + 6 * unit, 11 * unit];
    const top = box.y >= labelHeight ? box.y - labelHeight : box.y;
    context.fillStyle = BOX;
    context.fillRect(box.x - context.lineWidth / 2, top, labelWidth, labelHeight);
    context.fillStyle = "#0b1117";
    context.fillText(label, box.x + 2 * unit, top + 8.5 * unit);
    context.fillStyle = POINT;
    for (const point of box.keypoints) {
      context.beginPath();
      context.arc(point.x, point.y, 1.8 * unit, 0, 2 * Math.PI);
      context.fill();
    }
  }
}

// ONNX files small enough to be written by hand.

function varint(n) {
  const bytes = [];
  for (; n >= 0x80; n = Math.floor(n / 128)) bytes.push((n % 128) | 0x80);
  bytes.push(n);
  return bytes;
}

const number = (field, n) => [...varint(field << 3), ...varint(n)];
const bytes = (field, content) => [...varint((field << 3) | 2), ...varint(content.length), ...content];
const text = (field, words) => bytes(field, [...Buffer.from(words)]);
const floats = (values) => [...Buffer.from(Float32Array.from(values).buffer)];

/** Name, float32, shape. */
function port(name, shape) {
  const dims = shape.flatMap((dim) => bytes(1, number(1, dim)));
  return [...text(1, name), ...bytes(2, bytes(1, [...number(1, 1), ...bytes(2, dims)]))];
}

const node = (op, inputs, output) => [...inputs.flatMap((name) => text(1, name)), ...text(2, output), ...text(4, op)];

const constant = (name, shape, values) => [
  ...shape.flatMap((dim) => number(1, dim)),
  ...number(2, 1),
  ...text(8, name),
  ...bytes(9, floats(values)),
];

function model(name, nodes, constants, shape) {
  const graph = [
    ...nodes.flatMap((one) => bytes(1, one)),
    ...text(2, name),
    ...constants.flatMap((one) => bytes(5, one)),
    ...bytes(11, port("x", shape)),
    ...bytes(12, port("y", shape)),
  ];
  return [...number(1, 8), ...bytes(7, graph), ...bytes(8, number(2, 13))];
}

/** `y = x + 1`, float32 of one shape. */
export function increment(shape, name = "increment") {
  return model(name, [node("Add", ["x", "one"], "y")], [constant("one", [1], [1])], shape);
}

/** `x` of [n, n] multiplied `times` times by a matrix with `1 / n` everywhere: work that can be measured. */
export function multiplications(n, times) {
  const nodes = Array.from({ length: times }, (_, i) =>
    node("MatMul", [i === 0 ? "x" : `x${i}`, "w"], i === times - 1 ? "y" : `x${i + 1}`),
  );
  return model("multiplications", nodes, [constant("w", [n, n], new Array(n * n).fill(1 / n))], [n, n]);
}

/** `y = Unserved(Unknown(x))`: two operators that nobody has. */
export function unserved() {
  return model("unserved", [node("Unknown", ["x"], "h"), node("Unserved", ["h"], "y")], [], [4]);
}

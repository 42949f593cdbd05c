// Model files small enough to be written by hand: inputs that come out as they went in.

function varint(n) {
  const bytes = [];
  for (; n >= 0x80; n = Math.floor(n / 128)) bytes.push((n % 128) | 0x80);
  return [...bytes, n];
}

const number = (field, n) => [...varint(field * 8), ...varint(n)];
const bytes = (field, content) => [...varint(field * 8 + 2), ...varint(content.length), ...content];
const text = (field, value) => bytes(field, [...new TextEncoder().encode(value)]);

/** Numbers of ONNX's TensorProto.DataType. */
const DTYPES = { float32: 1, uint8: 2, float16: 10 };

function port({ name, shape, dtype = "float32" }) {
  const dims = shape.flatMap((size) => bytes(1, typeof size === "string" ? text(2, size) : number(1, size)));
  const tensor = [...number(1, DTYPES[dtype]), ...bytes(2, dims)];
  return [...text(1, name), ...bytes(2, bytes(1, tensor))];
}

/** A model with one Identity node for each pair: `{ input, output, shape, dtype? }`; a dimension that is a name stays open. */
export function identityModel(pairs) {
  const graph = [
    ...pairs.flatMap(({ input, output }) => bytes(1, [...text(1, input), ...text(2, output), ...text(4, "Identity")])),
    ...text(2, "identity"),
    ...pairs.flatMap((pair) => bytes(11, port({ ...pair, name: pair.input }))),
    ...pairs.flatMap((pair) => bytes(12, port({ ...pair, name: pair.output }))),
  ];
  return new Uint8Array([...number(1, 8), ...bytes(7, graph), ...bytes(8, number(2, 16))]);
}

import { defineConfig } from "vite";

export default defineConfig({
  root: import.meta.dirname,
  base: "./",
  publicDir: false,
  assetsInclude: ["**/*.onnx", "**/*.tflite", "**/*.wgsl"],
  server: { port: 5173, watch: { ignored: ["**/target/**", "**/dist/**", "**/dist-demo/**", "**/test-results/**"] } },
  optimizeDeps: { entries: ["index.html"] },
  build: { outDir: "dist-demo", emptyOutDir: true, target: "es2023", assetsInlineLimit: 0 },
});

import { version } from "../lib/index.js";

const app = document.querySelector<HTMLElement>("#app");
if (app) app.textContent = `frameway ${await version()}`;

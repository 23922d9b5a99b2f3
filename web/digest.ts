/* A fingerprint of the sources, kept beside the build, so that a stale build is noticed. */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const WATCHED = ["src", "public"];
const FILES = ["index.html", "package-lock.json", "vite.config.ts"];

/** Return the sha256 over the names and contents of everything that goes into the build. */
export function sourceDigest(root: string): string {
  const nested = WATCHED.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1)),
  );
  const paths = [...FILES, ...nested].map((path) => path.replaceAll("\\", "/")).sort();
  const whole = createHash("sha256");
  for (const path of paths) {
    const own = createHash("sha256").update(readFileSync(join(root, path))).digest("hex");
    whole.update(`${path} ${own}\n`);
  }
  return whole.digest("hex");
}

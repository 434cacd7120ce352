import { execFileSync } from 'node:child_process'
import type { BuildOptions } from 'esbuild'

/**
 * How the program `berth` is bundled: an entry named `berth`, and in `parts` one file for each command, because a
 * process that parses all of them at its start is ready 130 ms later.
 */
export const cliBundle: BuildOptions = {
  entryPoints: { berth: 'packages/cli/src/main.ts' },
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node24',
  // Some of the bundled packages are CommonJS and call `require` for modules of Node.
  banner: {
    js: "import { createRequire as berthRequire } from 'node:module'; const require = berthRequire(import.meta.url);",
  },
  external: ['@berth/server'],
  chunkNames: 'parts/[name]-[hash]',
}

/** Returns the text of `berth --help` as the built program at `entry` writes it, which the launcher prints from a file. */
export function helpOf(entry: string): Buffer {
  return execFileSync(process.execPath, [entry, '--help'])
}

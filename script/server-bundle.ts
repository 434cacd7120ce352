import { hash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { decode, encode, type SourceMapSegment } from '@jridgewell/sourcemap-codec'
import type { BuildOptions } from 'esbuild'

const root = join(import.meta.dirname, '..')

/** Returns the sources of the doors of the service: the exports of its package, and the thread that it starts by a path. */
export function serverEntries(): Readonly<Record<string, string>> {
  const manifest = readFileSync(join(root, 'packages/server/package.json'), 'utf8')
  const { exports }: { exports: Record<string, string | { types: string; default: string }> } = JSON.parse(manifest)
  const doors = Object.values(exports).flatMap(door => (typeof door === 'string' ? [] : [door]))
  return {
    ...Object.fromEntries(doors.map(door => [basename(door.default, '.js'), join('packages/server', door.types)])),
    'output-worker': 'packages/core/src/sessions/outputs/output-worker.ts',
  }
}

/** The migrations, which a service reads from the checkout, by paths from the repository's root. */
export const migrations = globSync('packages/platform/src/storage/migrations/*.sql', { cwd: root }).sort()

const digestOf = (path: string): string => hash('sha256', readFileSync(join(root, path)))

/**
 * How the service is bundled: a file for each door, and parts that they share. Started from it, a service takes two thirds of
 * the processor time and of the memory that its sources take (docs/benchmarks.md).
 */
export const serverBundle: BuildOptions = {
  entryPoints: serverEntries(),
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node24',
  // Some of the bundled packages are CommonJS and call `require` for modules of Node.
  banner: {
    js: "import { createRequire as berthRequire } from 'node:module'; const require = berthRequire(import.meta.url);",
  },
  define: { BUILT_MIGRATIONS: JSON.stringify(migrations.map(digestOf).join()) },
  // A service loads these when it first needs them, and a later build may have replaced its parts by then.
  external: [
    ...['anthropic', 'google', 'openai', 'openai-compatible'].map(provider => `@ai-sdk/${provider}`),
    ...['@aws-sdk/client-s3', '@opentelemetry/exporter-trace-otlp-proto', 'oidc-provider', 'openid-client'],
  ],
  // Errors and plugins are told apart by the names of their classes.
  keepNames: true,
  sourcemap: 'linked',
  sourcesContent: false,
  chunkNames: '[name]-[hash]',
}

/**
 * Reduces a source map to the lines of our own sources, which is all that a stack trace needs: a process reads the whole
 * map at its start, and the full one takes 200 MB of its memory.
 */
export function sourceLines(text: string): string {
  const map: { readonly sources: readonly string[]; readonly mappings: string } = JSON.parse(text)
  const own = map.sources.filter(source => !source.includes('node_modules/'))
  const numbers = map.sources.map(source => own.indexOf(source))
  const lines = decode(map.mappings).map((segments): SourceMapSegment[] => {
    const [, source = -1, line = 0] = segments.find(segment => segment.length > 1) ?? []
    const number = numbers[source] ?? -1
    // Without a segment of its own, a line counts to the source of the line before it.
    return [number === -1 ? [0] : [0, number, line, 0]]
  })
  return JSON.stringify({ version: 3, sources: own, names: [], mappings: encode(lines) })
}

/** Makes bundles with esbuild, each anew only if one of its inputs has changed. */
import {
  chmodSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { BuildOptions } from 'esbuild'

/** One bundle, by paths from the repository's root. */
export interface Bundle {
  readonly entry: string
  readonly output: string
  readonly options: BuildOptions
  /** Files that change the bundle besides those that it imports; some may be absent. */
  readonly besides?: readonly string[]
  /** Changes the source map of a file before it is written. */
  readonly map?: (map: string) => string
  /** Completes the bundle once it is written. */
  readonly finish?: () => void
}

const root = join(import.meta.dirname, '..')

/** Inputs of every bundle besides its own sources. */
export const common = [
  'package-lock.json',
  'packages/server/package.json',
  ...['build', 'bundle', 'cli-bundle', 'engine-bundle', 'server-bundle'].map(name => `script/${name}.ts`),
]

/** Returns the size and modification time of files, by their paths from the repository's root. */
export function fingerprint(inputs: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    inputs.map(input => {
      const found = statSync(join(root, input), { throwIfNoEntry: false })
      return [input, found === undefined ? 'absent' : `${found.size} ${found.mtimeMs}`]
    }),
  )
}

/** Returns the files that a bundle was made from, by their paths from the repository's root. */
export function inputsOf(output: string): readonly string[] {
  return Object.keys(JSON.parse(readFileSync(recordOf(output), 'utf8')))
}

/** Returns the path of a bundle's record, such as `dist/.supervisor.js.inputs`. */
function recordOf(output: string): string {
  return join(root, dirname(output), `.${basename(output)}.inputs`)
}

function isCurrent(output: string): boolean {
  if (!existsSync(join(root, output)) || !existsSync(recordOf(output))) return false
  const recorded: ReturnType<typeof fingerprint> = JSON.parse(readFileSync(recordOf(output), 'utf8'))
  const now = fingerprint(Object.keys(recorded))
  return Object.entries(recorded).every(([input, state]) => now[input] === state)
}

/** Makes a bundle unless it is the one of its inputs. A rename replaces each file: a sandbox may be reading the old one. */
export async function makeIfChanged({ entry, output, options, besides = [], map, finish }: Bundle): Promise<void> {
  if (!existsSync(join(root, entry)) || isCurrent(output)) return
  console.error(`building ${output}`)
  const { build } = await import('esbuild')
  const begunMs = Date.now()
  const isSplit = options.splitting === true
  const result = await build({
    format: 'esm',
    logLevel: 'warning',
    entryPoints: [entry],
    ...options,
    absWorkingDir: root,
    bundle: true,
    metafile: true,
    write: false,
    legalComments: 'none',
    ...(isSplit ? { outdir: dirname(output) } : { outfile: output }),
  })
  const inputs = Object.keys(result.metafile.inputs).filter(input => existsSync(join(root, input)))
  // Entries come last, so that whoever reads one finds its parts, which have a digest in their names.
  const isEntry = (path: string) => Number(!/-[0-9A-Z]{8}\.js/.test(path))
  const written = result.outputFiles.toSorted((one, other) => isEntry(one.path) - isEntry(other.path))
  for (const { path, contents, text } of written) {
    replaceFile(path, map !== undefined && path.endsWith('.map') ? map(text) : contents)
  }
  if (isSplit) removeOldParts(dirname(output), new Set(written.map(({ path }) => path)))
  finish?.()
  // An input was saved during the build. Without a record, the next run builds again.
  if (inputs.some(input => statSync(join(root, input)).mtimeMs >= begunMs)) rmSync(recordOf(output), { force: true })
  else replaceFile(recordOf(output), JSON.stringify(fingerprint([...common, ...besides, ...inputs])))
}

/** Removes the parts of earlier builds. A program that was started before may miss one; its next start has them all. */
function removeOldParts(folder: string, current: ReadonlySet<string>): void {
  for (const name of globSync('**/*.js{,.map}', { cwd: join(root, folder) })) {
    const path = join(root, folder, name)
    if (!current.has(path)) rmSync(path, { force: true })
  }
}

/** Writes a file whole, in the place of an older one. */
export function replaceFile(path: string, content: string | Uint8Array, mode?: number): void {
  mkdirSync(dirname(path), { recursive: true })
  const temporary = `${path}.${process.pid}`
  writeFileSync(temporary, content)
  if (mode !== undefined) chmodSync(temporary, mode)
  renameSync(temporary, path)
}

/**
 * Builds the bundles for places that cannot run the sources: sandboxes, and installations elsewhere. It rebuilds a
 * bundle if any of its inputs has changed, and replaces it by a rename, because sandboxes may be reading the old one.
 */
import { execFileSync } from 'node:child_process'
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
import { cliBundle, helpOf } from './cli-bundle.ts'
import { compiledSession, engineOptions, sessionBundle, sessionOptions } from './engine-bundle.ts'

/** One bundle, by paths from the repository's root. */
interface Bundle {
  readonly entry: string
  readonly output: string
  readonly options: BuildOptions
  /** Completes the bundle once it is written. */
  readonly finish?: () => void
}

const root = join(import.meta.dirname, '..')
const forNode: BuildOptions = { platform: 'node', target: 'node24', external: ['@berth/server'] }

const bundles: readonly Bundle[] = [
  {
    entry: 'packages/supervisor/src/supervisor.ts',
    output: 'packages/supervisor/dist/supervisor.js',
    options: forNode,
  },
  { entry: 'packages/supervisor/src/shell.ts', output: 'packages/supervisor/dist/shell.js', options: forNode },
  {
    entry: 'packages/supervisor/src/tree/program.ts',
    output: 'packages/supervisor/dist/tree.cjs',
    // Every seal starts this program, and CommonJS is ready 10 ms sooner than a module.
    options: { ...forNode, format: 'cjs' },
  },
  {
    entry: 'packages/supervisor/src/apply/program.ts',
    output: 'packages/supervisor/dist/apply.cjs',
    // Every apply starts this program, so it is CommonJS for the same reason.
    options: { ...forNode, format: 'cjs' },
  },
  {
    entry: 'packages/server/src/sandboxes/pod/part/main.ts',
    // The one of the server's programs that runs in a sandbox, so it lies with those of the sandbox.
    output: 'packages/supervisor/dist/pod.cjs',
    options: { ...forNode, format: 'cjs' },
  },
  {
    entry: 'packages/engine/src/session/loaded-late.ts',
    output: sessionBundle,
    options: { ...forNode, ...sessionOptions },
  },
  {
    entry: 'packages/engine/src/main.ts',
    // Beside the supervisor's bundle, because sandboxes mount one directory of bundles.
    output: 'packages/supervisor/dist/engine.cjs',
    options: { ...forNode, ...engineOptions },
  },
  { entry: 'packages/client/src/index.ts', output: 'packages/client/dist/index.js', options: { platform: 'neutral' } },
  {
    entry: 'packages/cli/src/main.ts',
    output: 'packages/cli/dist/berth.js',
    options: cliBundle,
    finish: () =>
      replaceFile(join(root, 'packages/cli/dist/help.txt'), helpOf(join(root, 'packages/cli/dist/berth.js'))),
  },
]

/** Scripts that sandboxes run unchanged. */
const scripts = ['berth-present', 'berth-git-credential', 'berth-token', 'gh', 'pod-agent'].map(name => ({
  from: `packages/supervisor/src/${name}`,
  to: `packages/supervisor/dist/${name}`,
}))

/** Inputs of every bundle besides its own sources. */
const common = ['package-lock.json', 'script/build.ts', 'script/cli-bundle.ts', 'script/engine-bundle.ts']

/** Size and modification time of each input; if they are equal, no input has changed. */
type Fingerprint = Readonly<Record<string, string>>

function fingerprint(inputs: readonly string[]): Fingerprint {
  return Object.fromEntries(
    inputs.map(input => {
      const found = statSync(join(root, input), { throwIfNoEntry: false })
      return [input, found === undefined ? 'absent' : `${found.size} ${found.mtimeMs}`]
    }),
  )
}

/** Returns the path of a bundle's record, such as `dist/.supervisor.js.inputs`. */
function recordOf(bundle: Bundle): string {
  return join(root, dirname(bundle.output), `.${basename(bundle.output)}.inputs`)
}

function isCurrent(bundle: Bundle): boolean {
  if (!existsSync(join(root, bundle.output)) || !existsSync(recordOf(bundle))) return false
  const recorded: Fingerprint = JSON.parse(readFileSync(recordOf(bundle), 'utf8'))
  const now = fingerprint(Object.keys(recorded))
  return Object.entries(recorded).every(([input, state]) => now[input] === state)
}

async function make(bundle: Bundle): Promise<void> {
  console.error(`building ${bundle.output}`)
  const { build } = await import('esbuild')
  const begunMs = Date.now()
  const result = await build({
    format: 'esm',
    entryPoints: [bundle.entry],
    ...bundle.options,
    absWorkingDir: root,
    bundle: true,
    metafile: true,
    write: false,
    logLevel: 'warning',
    legalComments: 'none',
    ...(isSplit(bundle) ? { outdir: dirname(bundle.output) } : { outfile: bundle.output }),
  })
  const inputs = Object.keys(result.metafile.inputs).filter(input => existsSync(join(root, input)))
  // The entry comes last, so that whoever reads it finds its parts.
  const written = result.outputFiles.toSorted((one, other) => depth(other.path) - depth(one.path))
  for (const file of written) replaceFile(file.path, file.contents)
  removeOldParts(bundle, new Set(written.map(file => file.path)))
  bundle.finish?.()
  // An input was saved during the build. Without a record, the next run builds again.
  if (inputs.some(input => statSync(join(root, input)).mtimeMs >= begunMs)) rmSync(recordOf(bundle), { force: true })
  else replaceFile(recordOf(bundle), JSON.stringify(fingerprint([...common, ...inputs])))
}

function isSplit(bundle: Bundle): boolean {
  return bundle.options.splitting === true
}

function depth(path: string): number {
  return path.split('/').length
}

/** Removes the parts of earlier builds. A program that was started before may miss one; its next start has them all. */
function removeOldParts(bundle: Bundle, current: ReadonlySet<string>): void {
  if (!isSplit(bundle)) return
  const folder = join(root, dirname(bundle.output), 'parts')
  for (const name of globSync('*.js', { cwd: folder })) {
    if (!current.has(join(folder, name))) rmSync(join(folder, name), { force: true })
  }
}

function replaceFile(path: string, content: string | Uint8Array, mode?: number): void {
  mkdirSync(dirname(path), { recursive: true })
  const temporary = `${path}.${process.pid}`
  writeFileSync(temporary, content)
  if (mode !== undefined) chmodSync(temporary, mode)
  renameSync(temporary, path)
}

/** Compresses the files of the console and of the site. */
const precompressed = 'script/lib/precompress.ts'

/** The console's page: one build of many files, so its record is the digest of everything it is made from. */
async function makeConsole(): Promise<void> {
  const folder = join(root, 'packages/console')
  if (!existsSync(join(folder, 'index.html'))) return
  const record = join(folder, 'dist/.inputs')
  const sources = ['console/{src,build}', 'client/src', 'contract/src'].map(path => `packages/${path}/**/*.*`)
  const own = [
    'packages/console/index.html',
    'packages/console/vite.config.ts',
    'packages/console/package.json',
    precompressed,
  ]
  const inputs = [...common, ...own, ...globSync(sources, { cwd: root })].sort()
  const state = JSON.stringify(fingerprint(inputs))
  if (existsSync(record) && readFileSync(record, 'utf8') === state) return
  console.error('building packages/console/dist')
  // Vite takes the mode of React from here, and a test that builds has another one.
  process.env.NODE_ENV = 'production'
  const { build } = await import('vite')
  await build({ configFile: join(folder, 'vite.config.ts'), logLevel: 'warn' })
  replaceFile(record, state)
}

/** The documentation's site: like the console, one build of many files. */
function makeSite(): void {
  const record = join(root, 'packages/site/dist/.inputs')
  const pages = ['docs/**/*.*', '*.md', 'packages/*/*.md', 'examples/**/*.*', 'deploy/**/*.*', 'script/**/*.ts']
  const own = ['packages/site/{src,browser}/**/*.*', 'packages/site/package.json', precompressed]
  const inputs = [...common, ...globSync([...pages, ...own], { cwd: root })]
    .filter(path => !/node_modules|(?:^|\/)dist\//.test(path))
    .sort()
  const state = JSON.stringify(fingerprint(inputs))
  if (existsSync(record) && readFileSync(record, 'utf8') === state) return
  if (!existsSync(join(root, 'node_modules/@11ty/eleventy'))) {
    console.error('left out packages/site/dist: its generator is missing, `npm ci` installs it')
    return
  }
  console.error('building packages/site/dist')
  // The generator resolves paths against its working directory, and this process keeps its caller's.
  execFileSync(process.execPath, [join(root, 'packages/site/src/build.ts')], { cwd: root, stdio: 'inherit' })
  replaceFile(record, state)
}

/** The engine's compiled code, made again with its bundle and for another Node. */
async function makeCode(): Promise<void> {
  const folder = 'packages/supervisor/dist'
  const record = join(root, folder, '.engine.code.inputs')
  if (!existsSync(join(root, sessionBundle))) return
  const state = JSON.stringify([process.version, process.arch, fingerprint([sessionBundle, 'script/engine-bundle.ts'])])
  if (existsSync(record) && readFileSync(record, 'utf8') === state) return
  console.error(`building the compiled engine in ${folder}`)
  const { name, content } = await compiledSession()
  replaceFile(join(root, folder, name), content)
  for (const old of globSync('engine-*.code', { cwd: join(root, folder) })) {
    if (old !== name) rmSync(join(root, folder, old), { force: true })
  }
  replaceFile(record, state)
}

for (const { from, to } of scripts) {
  const content = readFileSync(join(root, from))
  const current = existsSync(join(root, to)) && readFileSync(join(root, to)).equals(content)
  if (!current) replaceFile(join(root, to), content, 0o755)
}
for (const bundle of bundles) {
  if (existsSync(join(root, bundle.entry)) && !isCurrent(bundle)) await make(bundle)
}
await makeCode()
await makeConsole()
makeSite()

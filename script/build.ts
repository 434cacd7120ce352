/**
 * Builds what does not run from the sources: the service and its command, the programs of sandboxes, the console and the
 * documentation. It rebuilds only what has other inputs than before. `node script/build.ts bundles` leaves out the console
 * and the documentation, which only browsers need.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, globSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { BuildOptions } from 'esbuild'
import { type Bundle, common, fingerprint, makeIfChanged, replaceFile } from './bundle.ts'
import { cliBundle, helpOf } from './cli-bundle.ts'
import { compiledSession, engineOptions, sessionBundle, sessionOptions } from './engine-bundle.ts'
import { migrations, serverBundle, sourceLines } from './server-bundle.ts'

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
    entry: 'packages/supervisor/src/demonstration.ts',
    output: 'packages/supervisor/dist/demonstration.js',
    options: forNode,
  },
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
    entry: 'packages/sandboxes/src/pod/part/main.ts',
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
  {
    entry: 'packages/server/src/main.ts',
    output: 'packages/server/dist/main.js',
    options: serverBundle,
    // The packages that this checkout may lack.
    besides: ['packages/kubernetes/package.json', 'packages/triggers/package.json', ...migrations],
    map: sourceLines,
  },
]

/** Scripts that sandboxes run unchanged. */
const scripts = ['berth-present', 'berth-git-credential', 'berth-token', 'gh', 'pod-agent'].map(name => ({
  from: `packages/supervisor/src/${name}`,
  to: `packages/supervisor/dist/${name}`,
}))

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
for (const bundle of bundles) await makeIfChanged(bundle)
await makeCode()
if (process.argv[2] !== 'bundles') {
  await makeConsole()
  makeSite()
}

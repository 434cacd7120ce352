import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { BuildOptions, Plugin } from 'esbuild'

/**
 * Modules of the engine's SDK that never run in a sandbox: terminal interfaces, other providers and their catalogs,
 * package managers, and loaders of extensions. Without them the bundle has a fifth of its size. Without the loaders, it
 * contains nothing that could load code from a workspace.
 */
const leftOut: readonly RegExp[] = [
  /^@earendil-works\/pi-tui$/,
  /^@earendil-works\/pi-ai\/providers\/all$/,
  /^\.\/providers\/(all|faux)\.js$/,
  /^(jiti|highlight\.js|marked|undici|proper-lockfile|hosted-git-info|semver|cross-spawn|grok-mermaid)(\/|$)/,
  /^@(silvia-odwyer|aws-sdk|smithy)\//,
  /^https?-proxy-agent$/,
  /\/modes\//,
  /\/export-html\//,
  /\/(package-manager|bug-report|radius|remote-catalog-provider|main)\.js$/,
  /(?:\/api|^\.)\/(azure|bedrock|cloudflare|google-vertex|mistral|openai-codex|openrouter|pi-messages|openai-completions)[a-z-]*\.js$/,
]

/** Modules of the engine that stand for the clients of providers, each with all of it that the SDK uses. */
const clients: Readonly<Record<string, string>> = {
  '@anthropic-ai/sdk': 'packages/engine/src/gateway/clients/anthropic.ts',
  '@google/genai': 'packages/engine/src/gateway/clients/genai.ts',
}

/** Validates the answers of MCP servers; the servers have already done so themselves. */
const validator = '@modelcontextprotocol/client/_shims'

/** Exports that other modules need from the omitted ones merely to load. */
const standIns: Readonly<Record<string, string>> = {
  '@earendil-works/pi-tui': 'module.exports = { Container: class {}, Text: class {} }',
  '@earendil-works/pi-ai/providers/all':
    'module.exports = { builtinModels: () => ({}), builtinProviders: () => [], getBuiltinModelDataGeneratedAt: () => 0 }',
  './providers/all.js': 'module.exports = { builtinModels: () => ({}) }',
  [validator]: 'module.exports = { CORS_IS_POSSIBLE: false, DefaultJsonSchemaValidator: class {} }',
}

const sdk = /node_modules\/@earendil-works\/pi-/

const trimmed: Plugin = {
  name: 'engine',
  setup(build) {
    build.onResolve({ filter: /.*/ }, async ({ path, importer, kind, resolveDir, pluginData }) => {
      if (pluginData === 'resolved') return undefined
      if (path === validator) return { path, namespace: 'left-out' }
      const client = sdk.test(importer) ? clients[path] : undefined
      if (client !== undefined) return { path: join(import.meta.dirname, '..', client) }
      if (sdk.test(importer) && leftOut.some(pattern => pattern.test(path))) return { path, namespace: 'left-out' }
      if (!sdk.test(importer) && !path.startsWith('@earendil-works/')) return undefined
      // The packages do not declare it, but the engine needs no side effect of importing their modules.
      const resolved = await build.resolve(path, { importer, kind, resolveDir, pluginData: 'resolved' })
      return resolved.external || !sdk.test(resolved.path) ? resolved : { ...resolved, sideEffects: false }
    })
    build.onLoad({ filter: /.*/, namespace: 'left-out' }, ({ path }) => ({
      contents: standIns[path] ?? 'module.exports = {}',
    }))
  },
}

/** The engine without its protocol, which `engineOptions` embeds in the final file. */
export const sessionBundle = 'packages/engine/dist/session.cjs'

/**
 * Embeds the session's bundle in the engine's as text and compiles it on first use, because parsing it takes longer
 * than all other work before the answer to `initialize`.
 */
const embedded: Plugin = {
  name: 'session',
  setup(build) {
    const path = join(import.meta.dirname, '..', sessionBundle)
    build.onResolve({ filter: /\/loaded-late\.ts$/ }, () => ({ path }))
    build.onLoad({ filter: /\/session\.cjs$/ }, async () => ({ contents: lateModule(await readFile(path, 'utf8')) }))
  },
}

/**
 * Compiled code of the session lies beside the engine's bundle: with it the session is ready in 0.15 s instead of 0.45
 * (measured). V8 compares only the length of a source with what code was compiled from, so the file's name holds the
 * digest. An engine that is not of this build, and a Node that is not, compile for themselves.
 */
const lateModule = (source: string) => `
  const Module = require('node:module')
  const { readFileSync } = require('node:fs')
  const { Script } = require('node:vm')
  const late = new Module(__filename)
  let cachedData
  try { cachedData = readFileSync(__dirname + '/${codeName(source)}') } catch {}
  const script = new Script(Module.wrap(${JSON.stringify(source)}), { filename: __filename + '.session', cachedData })
  script.runInThisContext().call(late.exports, late.exports, require, late, __filename, __dirname)
  module.exports = late.exports`

const codeName = (source: string) => `engine-${createHash('sha256').update(source).digest('hex').slice(0, 16)}.code`

/** Loads the session in a process of its own, and returns what Node compiled, with the name that the engine looks for. */
export async function compiledSession(): Promise<{ readonly name: string; readonly content: Buffer }> {
  const path = join(import.meta.dirname, '..', sessionBundle)
  const program = `
    const Module = require('node:module')
    const source = Module.wrap(require('node:fs').readFileSync(process.argv[1], 'utf8'))
    const script = new (require('node:vm').Script)(source, { filename: process.argv[1] })
    const late = new Module(process.argv[1])
    script.runInThisContext().call(late.exports, late.exports, require, late, process.argv[1], '/')
    process.stdout.write(script.createCachedData())`
  const options = { encoding: 'buffer', maxBuffer: 64 * 1024 ** 2 } as const
  const { stdout } = await promisify(execFile)(process.execPath, ['-e', program, path], options)
  return { name: codeName(await readFile(path, 'utf8')), content: stdout }
}

/** CommonJS is ready sooner than a module. `bundleUrl` replaces the SDK's `import.meta.url`. */
const common: BuildOptions = {
  format: 'cjs',
  minifyWhitespace: true,
  // Short lines, so that an error in a bundle shows a readable line.
  lineLimit: 200,
  // `require` in their place: the session is compiled as a script, and all that it imports late is Node's own.
  supported: { 'dynamic-import': false },
}

export const sessionOptions: BuildOptions = {
  ...common,
  define: { 'import.meta.url': 'bundleUrl' },
  banner: { js: "const bundleUrl=require('node:url').pathToFileURL(__filename).href;" },
  plugins: [trimmed],
}

export const engineOptions: BuildOptions = { ...common, plugins: [embedded] }

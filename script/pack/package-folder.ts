import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

export const root = join(import.meta.dirname, '../..')

/** A manifest as it is published: without anything of the workspace. */
export type Manifest = Readonly<Record<string, unknown>> & { readonly name: string; readonly version: string }

/** Reads the manifest of a package of the workspace. */
export function readManifest(name: string): { readonly version: string; readonly license: string } {
  return JSON.parse(readFileSync(join(root, 'packages', name, 'package.json'), 'utf8'))
}

/** Writes the files that every published package has: its manifest, what it says of itself, and the licences. */
export function writeCommonFiles(folder: string, source: string, manifest: Manifest, inputs: readonly string[]): void {
  mkdirSync(folder, { recursive: true })
  for (const name of ['README.md', 'CHANGELOG.md']) cpSync(join(root, 'packages', source, name), join(folder, name))
  cpSync(join(root, 'LICENSE'), join(folder, 'LICENSE'))
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  const licences = bundledPackages(inputs).map(licenceOf)
  writeFileSync(join(folder, 'THIRD_PARTY_LICENSES'), `${licences.join(`\n${'-'.repeat(80)}\n\n`)}`)
}

/** Returns the folders of the packages that a bundle's inputs come from. */
function bundledPackages(inputs: readonly string[]): string[] {
  const folders = inputs.flatMap(input => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1] ?? [])
  return [...new Set(folders)].sort()
}

function licenceOf(folder: string): string {
  const path = join(root, folder)
  const { name, version, license } = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'))
  const file = readdirSync(path).find(each => /^licen[cs]e(\.|$)/i.test(each))
  const text = file === undefined ? '' : `\n${readFileSync(join(path, file), 'utf8')}`
  return `${name} ${version} (${license})\n${text}`
}

/** Writes a file, with the folders above it. */
export function writeInto(path: string, content: string | Uint8Array): void {
  if (!existsSync(dirname(path))) mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content)
}

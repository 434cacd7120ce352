import { createHash } from 'node:crypto'
import { readdir, readFile, stat } from 'node:fs/promises'
import { extname, join, relative, sep } from 'node:path'

/** Codings in which a file may lie beside itself, smallest first. */
const codings = [
  { name: 'br', suffix: '.br' },
  { name: 'zstd', suffix: '.zst' },
  { name: 'gzip', suffix: '.gz' },
] as const

/** One form of a file's content. */
export interface Variant {
  /** A content coding; null for the file itself. */
  readonly coding: string | null
  readonly file: string
  readonly bytes: number
}

/** A file that the page loads. */
export interface Asset {
  readonly type: string
  /** The codings that the build has made, then the file itself. */
  readonly variants: readonly [...Variant[], Variant]
  /** Absent if the name holds a hash of the content, so that a browser never asks again. */
  readonly tag: string | null
}

/** The page as it was built. */
export interface BuiltPage {
  readonly index: string
  /** By path, such as `/assets/index-B3f9.js`. */
  readonly assets: ReadonlyMap<string, Asset>
}

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.jpg': 'image/jpeg',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.map': 'application/json; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.wasm': 'application/wasm',
  '.webmanifest': 'application/manifest+json',
  '.webp': 'image/webp',
  '.woff2': 'font/woff2',
}

/**
 * Reads the page that the build has made. Only files that are there now are ever served, so no request names a file.
 * @returns null if there is none
 */
export async function readBuiltPage(directory: string): Promise<BuiltPage | null> {
  const index = await readFile(join(directory, 'index.html'), 'utf8').catch(error => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw error
  })
  if (index === null) return null
  const assets = await readAssets(directory)
  assets.delete('/index.html')
  return { index, assets }
}

/** Returns every file below a directory that is not another one in a coding, by path, such as `/robots.txt`. */
export async function readAssets(directory: string): Promise<Map<string, Asset>> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true })
  const files = entries
    .filter(entry => entry.isFile() && !entry.name.startsWith('.'))
    .map(entry => join(entry.parentPath, entry.name))
  const sizes = new Map(await Promise.all(files.map(async file => [file, (await stat(file)).size] as const)))
  const assets = new Map<string, Asset>()
  for (const [file, bytes] of sizes) {
    const path = `/${relative(directory, file).split(sep).join('/')}`
    if (isCoded(file, sizes)) continue
    const coded = codings.flatMap(({ name, suffix }) => {
      const size = sizes.get(file + suffix)
      return size === undefined ? [] : [{ coding: name, file: file + suffix, bytes: size }]
    })
    assets.set(path, {
      type: types[extname(file)] ?? 'application/octet-stream',
      variants: [...coded, { coding: null, file, bytes }],
      tag: path.startsWith('/assets/') ? null : await tagOf(file),
    })
  }
  return assets
}

/** Whether a file is another one in a coding. */
const isCoded = (file: string, files: ReadonlyMap<string, number>): boolean =>
  codings.some(({ suffix }) => file.endsWith(suffix) && files.has(file.slice(0, -suffix.length)))

const tagOf = async (file: string): Promise<string> =>
  `"${createHash('sha256')
    .update(await readFile(file))
    .digest('base64url')}"`

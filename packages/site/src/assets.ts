import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import type { Assets } from './layout.ts'

const browser = join(import.meta.dirname, '../browser')

/** Writes the site's own style, scripts and icon. @param folder of the site */
export async function writeAssets(root: string, folder: string): Promise<Assets> {
  mkdirSync(join(folder, 'assets'), { recursive: true })
  const write = (name: string, suffix: string, content: string | Uint8Array) => {
    const hash = createHash('sha256').update(content).digest('base64url').slice(0, 8)
    const place = `assets/${name}-${hash}.${suffix}`
    writeFileSync(join(folder, place), content)
    return place
  }
  const bundled = async (entry: string, format: 'iife' | 'esm' = 'iife') => {
    const options = { bundle: true, minify: true, write: false, target: 'es2022', legalComments: 'none' } as const
    const external = ['/inter.woff2']
    const { outputFiles } = await build({ ...options, external, entryPoints: [join(browser, entry)], format })
    return outputFiles[0]?.contents ?? new Uint8Array()
  }
  // The console's palette loads it, too: its name stays.
  writeFileSync(join(folder, 'find.js'), await bundled('find.js', 'esm'))
  return {
    style: write('site', 'css', await bundled('site.css')),
    theme: write('theme', 'js', await bundled('before-paint.js')),
    script: write('site', 'js', await bundled('site.js')),
    icon: write('icon', 'svg', readFileSync(join(root, 'packages/console/src/assets/icon.svg'))),
  }
}

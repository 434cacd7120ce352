import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** Where `vite build` leaves the page. */
export const dist: string = join(import.meta.dirname, '../dist')
const assets = join(dist, 'assets')

/** Returns the files that a chunk imports before it can run, itself included. */
function withImports(name: string, seen = new Set<string>()): Set<string> {
  if (seen.has(name)) return seen
  seen.add(name)
  if (!name.endsWith('.js')) return seen
  const source = readFileSync(join(assets, name), 'utf8')
  for (const [, , file = ''] of source.matchAll(/(?:^|[;}])(import|export)\b[^"'`();]*["'`]\.\/([\w.-]+)["'`]/g)) {
    withImports(file, seen)
  }
  return seen
}

/** Returns the chunk that is named after a module. */
function chunkOf(module: string): string {
  const chunk = readdirSync(assets).find(name => name.startsWith(`${module}-`) && name.endsWith('.js'))
  if (chunk === undefined) throw new Error(`the build has no ${module}`)
  return chunk
}

function initialFiles(page: string): Set<string> {
  const index = readFileSync(join(dist, 'index.html'), 'utf8')
  const named = [...index.matchAll(/\/assets\/([\w.-]+\.(?:js|css))/g)].map(([, name = '']) => name)
  return [...named, chunkOf(page)].reduce((seen, name) => withImports(name, seen), new Set<string>())
}

const compressed = (files: Iterable<string>) =>
  [...files].reduce((sum, name) => sum + statSync(join(assets, `${name}.gz`)).size, 0)

/** Returns the compressed size of everything that must arrive before a page can be used. */
export const initialBytes = (page: string): number => compressed(initialFiles(page))

/** Returns the compressed size of a module that a page loads later, without the parts that the page has by then. */
export const laterBytes = (page: string, module: string): number =>
  compressed(withImports(chunkOf(module)).difference(initialFiles(page)))

/** Lists the routes' modules in the build. */
export const builtPages = (): string[] =>
  readdirSync(assets).flatMap(name => /^([\w-]+-page)-[\w-]{8}\.js$/.exec(name)?.[1] ?? [])

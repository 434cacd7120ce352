import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { parseSync } from 'oxc-parser'

/** One file's import of another file or of a package. */
export interface Import {
  /** Path from the repository's root. */
  readonly from: string
  /** Path from the root for a relative specifier; otherwise the specifier as written. */
  readonly to: string
  /** True if the import disappears at run time. */
  readonly typeOnly: boolean
  /** True for a relative specifier without a file. */
  readonly missing: boolean
}

/** Reads every import of the TypeScript files below `root` that match `patterns`. */
export function readImports(root: string, patterns: readonly string[]): Import[] {
  const files = globSync([...patterns], { cwd: root, exclude: path => path.includes('node_modules') })
  return files
    .filter(file => statSync(join(root, file)).isFile())
    .sort()
    .flatMap(file => importsOf(root, file))
}

function importsOf(root: string, file: string): Import[] {
  const source = readFileSync(join(root, file), 'utf8')
  const parsed = parseSync(file, source)
  const problem = parsed.errors[0]
  if (problem !== undefined) throw new Error(`${file}: ${problem.message}`)
  const { staticImports, staticExports, dynamicImports } = parsed.module
  const found: { specifier: string; typeOnly: boolean }[] = []
  for (const { moduleRequest, entries } of staticImports) {
    found.push({ specifier: moduleRequest.value, typeOnly: entries.length > 0 && entries.every(entry => entry.isType) })
  }
  for (const { entries } of staticExports) {
    for (const { moduleRequest, isType } of entries) {
      if (moduleRequest !== null) found.push({ specifier: moduleRequest.value, typeOnly: isType })
    }
  }
  for (const { moduleRequest } of dynamicImports) {
    const literal = /^(['"])(.*)\1$/.exec(source.slice(moduleRequest.start, moduleRequest.end))
    if (literal?.[2] !== undefined) found.push({ specifier: literal[2], typeOnly: false })
  }
  return found.map(({ specifier, typeOnly }) => {
    if (!specifier.startsWith('.')) return { from: file, to: specifier, typeOnly, missing: false }
    const target = resolve(root, dirname(file), specifier)
    return { from: file, to: relative(root, target), typeOnly, missing: !existsSync(target) }
  })
}

/** Finds cycles of files that import one another at run time; each path ends where it began. */
export function findCycles(imports: readonly Import[]): string[][] {
  const edges = new Map<string, string[]>()
  for (const { from, to, typeOnly } of imports) {
    if (!typeOnly && /\.tsx?$/.test(to)) edges.set(from, [...(edges.get(from) ?? []), to])
  }
  const cycles: string[][] = []
  const finished = new Set<string>()
  const visit = (file: string, path: readonly string[]): void => {
    const at = path.indexOf(file)
    if (at >= 0) cycles.push([...path.slice(at), file])
    if (at >= 0 || finished.has(file)) return
    for (const next of edges.get(file) ?? []) visit(next, [...path, file])
    finished.add(file)
  }
  for (const file of edges.keys()) visit(file, [])
  return cycles
}

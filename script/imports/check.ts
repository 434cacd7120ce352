import { findCycles, readImports } from './module-graph.ts'
import { rulesOf } from './rules.ts'
import { checkStatements } from './statements.ts'

/** Returns every import and statement that breaks a rule, one line each. */
export function checkImports(root: string): string[] {
  const imports = readImports(root, ['packages/*/{src,test}/**/*.{ts,tsx}', 'bench/**/*.ts', 'script/**/*.ts'])
  const rules = rulesOf(root)
  const broken = imports.flatMap(edge =>
    rules.filter(rule => rule.forbids(edge)).map(rule => `${edge.from} → ${edge.to}: ${rule.because}`),
  )
  const cycles = findCycles(imports).map(path => `${path.join(' → ')}: a cycle`)
  return [...broken, ...cycles, ...checkStatements(root)]
}

import { asObject } from '../../json.ts'

const touching: readonly string[] = ['read', 'edit', 'write', 'present_file']

/** Returns the paths of the files that a call of a tool reads or changes, as the model gave them. */
export function touchedPaths(name: string, args: unknown): string[] {
  const { path, input } = asObject(args)
  if (touching.includes(name)) return typeof path === 'string' && path !== '' ? [path] : []
  if (name !== 'apply_patch' || typeof input !== 'string') return []
  return [...input.matchAll(/^\*\*\* (?:Add|Delete|Update) File: (.+)$/gm)].map(([, file = '']) => file)
}

import { maxIssues, type RequestIssue } from './issue.ts'

type Path = readonly (string | number)[]

/**
 * Maximum depth of a value. No body of the contract comes near it, and the limit keeps the recursion from exhausting
 * the stack.
 */
const maxDepth = 64

const message = 'must not hold U+0000 or an unpaired surrogate'

const isFaulty = (text: string) => text.includes('\0') || !text.isWellFormed()

/** Returns an issue for every string in a JSON value, keys included, that PostgreSQL text cannot hold. */
export function textIssues(value: unknown): readonly RequestIssue[] {
  if (isSound(value, 0)) return []
  const issues: RequestIssue[] = []
  collect(value, [], issues)
  return issues.slice(0, maxIssues)
}

/** Returns whether there are no issues, the usual case, without allocating the paths that reporting needs. */
function isSound(value: unknown, depth: number): boolean {
  if (typeof value === 'string') return !isFaulty(value)
  if (typeof value !== 'object' || value === null) return true
  if (depth === maxDepth) return false
  if (Array.isArray(value)) return value.every(item => isSound(item, depth + 1))
  for (const key in value) {
    if (isFaulty(key) || !isSound(value[key as keyof typeof value], depth + 1)) return false
  }
  return true
}

function collect(value: unknown, path: Path, issues: RequestIssue[]): void {
  if (issues.length >= maxIssues) return
  if (typeof value === 'string') {
    if (isFaulty(value)) issues.push({ path, message })
  } else if (typeof value === 'object' && value !== null) {
    if (path.length === maxDepth) issues.push({ path, message: `must not be nested deeper than ${maxDepth}` })
    else if (Array.isArray(value)) for (const [index, item] of value.entries()) collect(item, [...path, index], issues)
    else for (const [key, member] of Object.entries(value)) collectMember(key, member, path, issues)
  }
}

function collectMember(key: string, member: unknown, path: Path, issues: RequestIssue[]): void {
  const inside = [...path, key.toWellFormed()]
  if (isFaulty(key)) issues.push({ path: inside, message: `${message} in its name` })
  collect(member, inside, issues)
}

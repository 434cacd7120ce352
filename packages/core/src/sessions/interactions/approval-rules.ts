import { normalize } from 'node:path/posix'
import type { Approval } from '@berth/contract'
import { commandWords } from '@berth/platform/kit/command-words.ts'
import { fitsHost } from '@berth/platform/network/host-pattern.ts'
import type { ApprovalRule, CommandPattern, PathPattern } from '@berth/platform/settings/approval-rules.ts'
import { likenessOf } from './interaction.ts'

/** An approval with its organization and runtime. */
export interface Proposal {
  readonly organizationId: string
  readonly runtime: string
  readonly approval: Pick<Approval, 'toolName' | 'kind' | 'confinement' | 'input' | 'destination'>
}

/** Returns true if a rule allows the approval. A rule does not allow input that it cannot read for certain. */
export const isAllowed = (rules: readonly ApprovalRule[], proposal: Proposal): boolean =>
  rules.some(rule => covers(rule, proposal))

function covers(rule: ApprovalRule, { organizationId, runtime, approval }: Proposal): boolean {
  const { toolName, toolKind, confinement } = likenessOf(approval)
  return (
    holds(rule.organizations, organizationId) &&
    holds(rule.runtimes, runtime) &&
    holds(rule.tools, toolName) &&
    holds(rule.kinds, toolKind) &&
    holds(rule.confinements, confinement) &&
    (rule.commands === undefined || isCommandOf(rule.commands, approval.input ?? {})) &&
    (rule.paths === undefined || isWithin(rule.paths, approval.input ?? {})) &&
    (rule.hosts === undefined || isHostOf(rule.hosts, approval.destination))
  )
}

const holds = (list: readonly string[] | undefined, value: string) => list === undefined || list.includes(value)

/** Returns true if a destination is a host, or a host and its port, that one of the patterns names. */
function isHostOf(patterns: readonly string[], destination: string | undefined): boolean {
  const [, host] = /^([a-z0-9._-]+)(?::\d{1,5})?$/.exec(destination ?? '') ?? []
  return host !== undefined && patterns.some(pattern => fitsHost(host, pattern))
}

type Input = Readonly<Record<string, unknown>>

function isCommandOf(patterns: readonly CommandPattern[], { command }: Input): boolean {
  const given = commandWords(command)
  if (given === null) return false
  return patterns.some(
    ({ words, more }) =>
      (more ? given.length >= words.length : given.length === words.length) &&
      words.every((word, index) => word === given[index]),
  )
}

/** Returns true if the input names at least one path and all its paths are within the patterns. */
function isWithin(patterns: readonly PathPattern[], input: Input): boolean {
  const paths = namedPaths(input)
  return paths.length > 0 && paths.every(path => patterns.some(pattern => matchesPath(pattern, path)))
}

/** Returns the paths of the files that an agent is about to use, from the fields in which agents name them. */
function namedPaths(input: Input): unknown[] {
  const own = ['path', 'file_path', 'filePath'].map(name => input[name])
  const listed = [input['locations'], input['content']].flatMap(list => (Array.isArray(list) ? list : []))
  return [...own, ...listed.map(item => (item as Input | null)?.['path'])].filter(path => path !== undefined)
}

/** Matches the path as given: one that is relative, or leads through `..`, names another place than it seems to. */
function matchesPath({ path, below }: PathPattern, given: unknown): boolean {
  if (typeof given !== 'string' || !given.startsWith('/') || normalize(given) !== given) return false
  return given === path || (below && given.startsWith(path === '/' ? path : `${path}/`))
}

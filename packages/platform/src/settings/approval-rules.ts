import { normalize } from 'node:path/posix'
import { confinements, toolKinds } from '@berth/contract'
import Type, { type StaticDecode } from 'typebox'
import { commandWords } from '../kit/command-words.ts'
import { checked, closed, parsed, readBySchema, text } from './schema.ts'

/** The words of a command, in order. With `more`, any words may follow. */
export interface CommandPattern {
  readonly words: readonly string[]
  readonly more: boolean
}

/** A path. With `below`, it includes everything below the path. */
export interface PathPattern {
  readonly path: string
  readonly below: boolean
}

/**
 * A rule by which an operator allows approvals without people (docs/interactions.md). A request matches if it meets one
 * entry of each list that the rule has. No rule denies: people decide whatever no rule allows.
 */
export type ApprovalRule = StaticDecode<typeof rule>

/** A name of a host in lower case, or `*.` and a name for all names below it. */
const hostPattern = '^(\\*\\.)?([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\\.)+[a-z0-9-]{2,63}$'

const list = <T extends Type.TSchema>(item: T) => Type.Optional(Type.Array(item, { minItems: 1 }))

const members = closed({
  organizations: list(Type.String({ pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' })),
  runtimes: list(text),
  tools: list(text),
  kinds: list(Type.Enum(toolKinds)),
  confinements: Type.Array(Type.Enum(confinements), { minItems: 1, default: ['sandbox'] }),
  commands: list(parsed(readCommand, 'must be the words of one command, with " *" at its end for any others')),
  paths: list(parsed(readPath, 'must be an absolute path, with "/**" at its end for all that is below it')),
  hosts: list(Type.String({ pattern: hostPattern })),
})

/** Kinds of tools whose effect a single path describes. A command may touch any file, and a move has a second path. */
const kindsWithPaths: readonly string[] = ['read', 'search', 'edit', 'delete']

const rule = checked(
  checked(
    checked(
      members,
      ({ tools, kinds, commands, paths, hosts }) =>
        [tools, kinds, commands, paths, hosts].some(one => one !== undefined),
      'must name tools, kinds, commands, paths or hosts',
    ),
    ({ hosts, confinements }) => hosts === undefined || confinements.every(one => one === 'network'),
    'names hosts, so its confinements must be network',
  ),
  ({ kinds, paths }) => paths === undefined || kinds?.every(kind => kindsWithPaths.includes(kind)) === true,
  `names paths, so its kinds must be of ${kindsWithPaths.join(', ')}`,
)

const rules = closed({ allow: Type.Array(rule) })

/**
 * Reads the file of approval rules.
 * @throws StartError that names the file, the place and the problem
 */
export const parseApprovalRules = (json: string, file: string): readonly ApprovalRule[] =>
  readBySchema(rules, json, file).allow

function readCommand(pattern: string): CommandPattern | undefined {
  const more = pattern.endsWith(' *')
  const words = commandWords(more ? pattern.slice(0, -2) : pattern)
  return words === null ? undefined : { words, more }
}

function readPath(pattern: string): PathPattern | undefined {
  const below = pattern.endsWith('/**')
  const path = below ? pattern.slice(0, -3) || '/' : pattern
  return path.startsWith('/') && normalize(path) === path && !/[*?[\]]/.test(path) ? { path, below } : undefined
}

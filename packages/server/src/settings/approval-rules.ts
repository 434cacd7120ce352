import { normalize } from 'node:path/posix'
import { confinements, toolKinds } from '@berth/contract'
import { commandWords } from '../kit/command-words.ts'
import { JsonNode, parseJson } from './json-node.ts'

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
export interface ApprovalRule {
  readonly organizations?: readonly string[]
  readonly runtimes?: readonly string[]
  readonly tools?: readonly string[]
  readonly kinds?: readonly string[]
  readonly confinements: readonly string[]
  readonly commands?: readonly CommandPattern[]
  readonly paths?: readonly PathPattern[]
}

/** Kinds of tools whose effect a single path describes. A command may touch any file, and a move has a second path. */
const kindsWithPaths = ['read', 'search', 'edit', 'delete']
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/**
 * Reads the file of approval rules.
 * @throws StartError that names the file, the place and the problem
 */
export function parseApprovalRules(text: string, file: string): readonly ApprovalRule[] {
  const root = new JsonNode(parseJson(text, file), { file, path: '', variables: {} })
  return root.require(root.object('allow').allow, 'allow').array().map(readRule)
}

function readRule(node: JsonNode): ApprovalRule {
  const members = node.object('organizations', 'runtimes', 'tools', 'kinds', 'confinements', 'commands', 'paths')
  const { organizations, runtimes, tools, kinds, commands, paths } = members
  if (tools === undefined && kinds === undefined && commands === undefined && paths === undefined) {
    node.fail('must name tools, kinds, commands or paths')
  }
  const known = kinds?.array(1).map(item => item.oneOf(toolKinds))
  if (paths !== undefined && known?.every(kind => kindsWithPaths.includes(kind)) !== true) {
    node.fail(`names paths, so its kinds must be of ${kindsWithPaths.join(', ')}`)
  }
  return {
    ...(organizations !== undefined && { organizations: organizations.array(1).map(item => item.string(uuid)) }),
    ...(runtimes !== undefined && { runtimes: runtimes.array(1).map(item => item.string()) }),
    ...(tools !== undefined && { tools: tools.array(1).map(item => item.string()) }),
    ...(known !== undefined && { kinds: known }),
    confinements: members.confinements?.array(1).map(item => item.oneOf(confinements)) ?? ['sandbox'],
    ...(commands !== undefined && { commands: commands.array(1).map(readCommand) }),
    ...(paths !== undefined && { paths: paths.array(1).map(readPath) }),
  }
}

function readCommand(node: JsonNode): CommandPattern {
  const text = node.string()
  const more = text.endsWith(' *')
  const words = commandWords(more ? text.slice(0, -2) : text)
  return words === null
    ? node.fail('must be the words of one command, with " *" at its end for any others')
    : { words, more }
}

function readPath(node: JsonNode): PathPattern {
  const text = node.string()
  const below = text.endsWith('/**')
  const path = below ? text.slice(0, -3) || '/' : text
  if (!path.startsWith('/') || normalize(path) !== path || /[*?[\]]/.test(path)) {
    node.fail('must be an absolute path, with "/**" at its end for all that is below it')
  }
  return { path, below }
}

import type { EnvironmentDraft } from '@berth/client'
import { knownService } from '@berth/contract/known-services'

/** A member of a foreign file that an environment does not take over, and why. */
export interface LeftOut {
  readonly member: string
  readonly reason: string
}

/** The result of importing a foreign file. */
export interface Imported {
  readonly document: EnvironmentDraft
  readonly leftOut: readonly LeftOut[]
}

type Members = Readonly<Record<string, unknown>>

/** Formats of foreign files. */
export type ForeignFormat = 'devcontainer' | 'cursor'

const notApplied = 'sandboxes do not use it'
const noImage = 'no image is built; name what the sandbox lacks in `packages`'
/** Why a known member is left out; others have no counterpart. */
const reasons: ReadonlyMap<string, string> = new Map(
  Object.entries({
    image: 'every sandbox has the system of its host; name what it lacks in `packages`',
    build: noImage,
    dockerFile: noImage,
    dockerComposeFile: noImage,
    snapshot: 'it belongs to the service that made it',
    forwardPorts: notApplied,
    portsAttributes: notApplied,
    ports: notApplied,
    customizations: 'it is for an editor',
    terminals: 'nothing is kept running beside the agent',
    start: 'nothing is kept running beside the agent',
    initializeCommand: 'it is for the machine of a developer',
    postStartCommand: 'a setup script runs once in each sandbox',
    postAttachCommand: 'it is for an editor',
  }),
)

const setupMembers = {
  devcontainer: ['onCreateCommand', 'updateContentCommand', 'postCreateCommand'],
  cursor: ['install'],
} as const
const variableMembers = { devcontainer: ['containerEnv', 'remoteEnv'], cursor: ['env'] } as const
/** Features of a devcontainer that install Debian packages, which they name in their option `packages`. */
const aptFeature = /\/apt-(?:get-)?packages(?::|$)/
/** Members that say nothing about the sandbox. */
const silent = new Set(['$schema', 'name', 'features', 'secrets'])

/** Turns a `devcontainer.json` or Cursor's `environment.json` into a document; `fallbackName` is used if it has no name. */
export function importDocument(format: ForeignFormat, members: Members, fallbackName: string): Imported {
  const leftOut: LeftOut[] = []
  // Names come from a file; on a plain object, `__proto__` would be lost.
  const variables: Record<string, string> = Object.create(null)
  const commands: string[] = []
  for (const member of setupMembers[format]) {
    if (members[member] === undefined) continue
    const lines = commandLines(members[member])
    if (lines === null) leftOut.push({ member, reason: 'it is no command' })
    else commands.push(...lines)
  }
  for (const member of variableMembers[format]) {
    for (const [name, value] of entriesOf(members[member])) {
      const reason = variableFault(name, value)
      if (reason === null) variables[name] = String(value)
      else leftOut.push({ member: `${member}.${name}`, reason: `${reason}${asSecret(name)}` })
    }
  }
  const packages = new Set<string>()
  for (const [feature, options] of entriesOf(members['features'])) {
    const named = aptFeature.test(feature) ? packagesIn(options) : null
    if (named === null) leftOut.push({ member: `features.${feature}`, reason: 'install it in the setup script' })
    for (const name of named ?? []) packages.add(name)
  }
  const secrets = entriesOf(members['secrets'])
  for (const [secret] of secrets) {
    const reason = asSecret(secret) || `; write it with \`berth env secrets set ${secret}\``
    leftOut.push({ member: `secrets.${secret}`, reason: `a file holds no values${reason}` })
  }
  const taken = new Set<string>([...silent, ...setupMembers[format], ...variableMembers[format]])
  for (const member of Object.keys(members)) {
    if (!taken.has(member)) leftOut.push({ member, reason: reasons.get(member) ?? 'an environment has no counterpart' })
  }
  const { name } = members
  const setup = commands.length === 0 ? '' : `set -e\n${commands.join('\n')}\n`
  const named = typeof name === 'string' && name.trim() !== '' ? name.trim() : fallbackName
  const withPackages = packages.size === 0 ? {} : { packages: [...packages] }
  return { document: { name: named, setup, variables, ...withPackages }, leftOut }
}

/** Returns a command as lines of bash; an object's commands, which may run at once, run one after the other. */
function commandLines(command: unknown): string[] | null {
  if (typeof command === 'string') return command.trim() === '' ? [] : [command]
  if (Array.isArray(command)) {
    const words = command.filter(word => typeof word === 'string')
    return words.length === command.length && words.length > 0 ? [words.map(quoted).join(' ')] : null
  }
  if (typeof command !== 'object' || command === null) return null
  const all = Object.values(command).map(commandLines)
  return all.every(lines => lines !== null) ? all.flat() : null
}

/** Returns the names in the option of a feature that installs packages; null if there are none. */
function packagesIn(options: unknown): readonly string[] | null {
  const packages = new Map(entriesOf(options)).get('packages')
  if (typeof packages !== 'string') return null
  const names = packages.split(/[\s,]+/).filter(name => name !== '')
  return names.length === 0 ? null : names
}

/** Quotes a word for bash. */
const quoted = (word: string): string => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)

function variableFault(name: string, value: unknown): string | null {
  if (!/^[A-Za-z_][A-Za-z0-9_]{0,127}$/.test(name)) return 'it is no name of a variable'
  if (typeof value !== 'string') return 'its value is no text'
  return value.includes('${') ? `its value refers to \`${value}\`, which is replaced nowhere` : null
}

/** Returns the words that propose to write a known service's key so that no program of a sandbox has it; '' for others. */
function asSecret(name: string): string {
  const known = knownService(name)
  if (known === null) return ''
  return `; write it with \`berth env secrets set ${name} --egress\`, so that ${known.egress.hosts.join(' and ')} alone get it`
}

const entriesOf = (value: unknown): [string, unknown][] =>
  typeof value === 'object' && value !== null ? Object.entries(value) : []
